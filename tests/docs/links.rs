// SPDX-License-Identifier: GPL-2.0-or-later
//! Links within the tree lead somewhere, and every page can be reached.

use crate::markdown::{Page, root};
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Page, file and anchor of each link that stays within the tree.
fn links(page: &Page) -> Vec<(PathBuf, String)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let prose = page.prose();
    let targets = link.captures_iter(&prose).map(|link| link[1].to_owned());
    let within = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    within
        .map(|target| {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = page.path.parent().unwrap_or(Path::new(""));
            let file = match file {
                "" => page.path.clone(),
                file => plain(&folder.join(file)),
            };
            (file, anchor.to_owned())
        })
        .collect()
}

/// `docs/../README.md` as `README.md`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        for (file, anchor) in links(&page) {
            count += 1;
            let shown = format!("{}: {}#{anchor}", page.path.display(), file.display());
            if !root().join(&file).exists() {
                wrong.push(format!("{shown}: there is no such file"));
            } else if !anchor.is_empty() && !Page::read(&file).anchors().contains(&anchor) {
                wrong.push(format!("{shown}: there is no such heading"));
            }
        }
    }
    assert!(count > 50, "only {count} links were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_index_names_every_page_of_docs() {
    let index = Page::read(Path::new("docs/README.md"));
    let linked: BTreeSet<PathBuf> = links(&index).into_iter().map(|(file, _)| file).collect();
    for page in Page::all() {
        if page.path.starts_with("docs") && page.path != index.path {
            assert!(
                linked.contains(&page.path),
                "docs/README.md has no link to {}",
                page.path.display()
            );
        }
    }
}
