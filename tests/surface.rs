// SPDX-License-Identifier: GPL-2.0-or-later
//! `slurm-headers/surface.toml` is the truth about what the shims touch of Slurm: the built plugins import exactly
//! the listed symbols, this machine's Slurm exports each of them where the list says, and the C sources use
//! exactly the listed fields.
//!
//! What needs built plugins or an installed Slurm says so and passes where there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Surface {
    symbols: BTreeMap<String, BTreeMap<String, String>>,
    records: BTreeMap<String, Record>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    pointers: Vec<String>,
    #[serde(default)]
    follow: BTreeMap<String, String>,
    fields: BTreeMap<String, String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn surface() -> Surface {
    let path = root().join("slurm-headers/surface.toml");
    let text = fs::read_to_string(&path).expect("surface.toml can be read");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// --- symbols ---

/// The names that `nm -D` lists for `file`, without their versions.
fn dynamic_symbols(file: &Path, which: &str) -> BTreeSet<String> {
    let output = Command::new("nm")
        .args(["-D", which])
        .arg(file)
        .output()
        .expect("nm (binutils) runs");
    assert!(output.status.success(), "nm cannot read {}", file.display());
    String::from_utf8(output.stdout)
        .expect("symbols are ASCII")
        .lines()
        .filter(|line| !line.split_whitespace().any(|word| word == "w"))
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| !name.contains("@GLIBC"))
        .map(|name| name.split('@').next().unwrap_or(name).to_owned())
        .collect()
}

/// The built plugins, or a reason why there are none to look at.
fn built_shims() -> Result<(PathBuf, Vec<PathBuf>), String> {
    let directory =
        std::env::var_os("SURGENT_PLUGINS").map_or_else(|| root().join("target/plugins"), PathBuf::from);
    let shims = [
        "job_submit_surgent.so",
        "preempt_surgent.so",
        "site_factor_surgent.so",
        "spank_surgent.so",
    ]
    .map(|name| directory.join(name));
    match shims.iter().find(|path| !path.exists()) {
        Some(missing) => Err(format!("{} is not built (make shims)", missing.display())),
        None => Ok((directory, shims.to_vec())),
    }
}

#[test]
fn the_plugins_import_exactly_the_listed_symbols() {
    let (directory, shims) = match built_shims() {
        Ok(built) => built,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let imported: BTreeSet<String> = shims
        .iter()
        .flat_map(|shim| dynamic_symbols(shim, "--undefined-only"))
        .collect();
    let (of_core, of_slurm): (BTreeSet<_>, BTreeSet<_>) = imported
        .into_iter()
        .partition(|name| name.starts_with("surgent_"));

    let listed: BTreeSet<String> = surface()
        .symbols
        .into_values()
        .flat_map(BTreeMap::into_keys)
        .collect();
    assert_eq!(
        of_slurm, listed,
        "left: what the plugins import, right: what surface.toml lists"
    );

    let exported = dynamic_symbols(&directory.join("libsurgent.so"), "--defined-only");
    let missing: Vec<_> = of_core.difference(&exported).collect();
    assert!(
        missing.is_empty(),
        "the plugins need {missing:?} of libsurgent.so, which does not export them"
    );
}

/// The installed slurmctld and the libslurmfull.so that it loads.
fn installed_slurm() -> Result<[(&'static str, PathBuf); 2], String> {
    let slurmctld = ["/usr/sbin/slurmctld", "/usr/local/sbin/slurmctld"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.exists())
        .ok_or("no slurmctld is installed here")?;
    let output = Command::new("ldd").arg(&slurmctld).output().expect("ldd runs");
    let library = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .find(|word| word.starts_with('/') && word.contains("libslurmfull"))
        .map(PathBuf::from)
        .ok_or("this slurmctld does not load a libslurmfull.so")?;
    Ok([("slurmctld", slurmctld), ("libslurmfull", library)])
}

#[test]
fn the_installed_slurm_exports_each_listed_symbol() {
    let files = match installed_slurm() {
        Ok(files) => files,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let surface = surface();
    assert_eq!(
        surface.symbols.keys().collect::<Vec<_>>(),
        ["libslurmfull", "slurmctld"]
    );
    for (name, file) in files {
        let exported = dynamic_symbols(&file, "--defined-only");
        let missing: Vec<_> = surface.symbols[name]
            .keys()
            .filter(|symbol| !exported.contains(*symbol))
            .collect();
        assert!(
            missing.is_empty(),
            "{} does not export {missing:?}",
            file.display()
        );
    }
}

// --- fields ---

/// The C sources of the shims, each as its words and punctuation.
fn sources() -> Vec<(PathBuf, Vec<String>)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("src/shim"))
        .expect("src/shim can be read")
        .map(|entry| entry.expect("src/shim can be read").path())
        .filter(|path| path.file_name().is_some_and(|name| name != "layout.c"))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "c" || extension == "h")
        })
        .collect();
    paths.push(root().join("slurm-headers/compat.h"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a source can be read");
            let tokens = tokens(&code_only(&text));
            (path, tokens)
        })
        .collect()
}

/// Without comments and `#include` lines, whose file names look like fields.
fn code_only(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("#include"))
        .collect();
    let text = lines.join("\n");
    let mut code = String::new();
    let mut rest = text.as_str();
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code + rest
}

/// Words, `->`, and every other character by itself; no blanks.
fn tokens(code: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens: Vec<String> = Vec::new();
    let mut after_blank = true;
    for c in code.chars() {
        let joins = tokens.last().is_some_and(|last| {
            !after_blank && (is_word(c) && last.chars().all(is_word) || c == '>' && last == "-")
        });
        match tokens.last_mut() {
            Some(last) if joins => last.push(c),
            _ if c.is_whitespace() => {}
            _ => tokens.push(c.to_string()),
        }
        after_blank = c.is_whitespace();
    }
    tokens
}

/// What follows the name at `at` by `->` or `.`, e.g. `details`, `requeue`. `(job)->x`, of macros, counts as `job->x`.
fn member_chain(tokens: &[String], at: usize) -> Vec<&str> {
    let mut next = at + 1;
    if tokens.get(next).is_some_and(|token| token == ")")
        && tokens[..at].last().is_some_and(|token| token == "(")
    {
        next += 1;
    }
    let mut chain = Vec::new();
    while tokens
        .get(next)
        .is_some_and(|token| token == "->" || token == ".")
    {
        chain.extend(tokens.get(next + 1).map(String::as_str));
        next += 2;
    }
    chain
}

#[test]
fn the_sources_use_exactly_the_listed_fields() {
    let surface = surface();
    let record_of: BTreeMap<&str, &str> = surface
        .records
        .iter()
        .flat_map(|(record, listed)| {
            listed
                .pointers
                .iter()
                .map(move |name| (name.as_str(), record.as_str()))
        })
        .collect();
    let mut used = BTreeSet::new();

    for (path, tokens) in sources() {
        for (at, token) in tokens.iter().enumerate() {
            let begins_chain = at == 0 || (tokens[at - 1] != "->" && tokens[at - 1] != ".");
            let mut record = record_of.get(token.as_str()).copied().filter(|_| begins_chain);
            for field in member_chain(&tokens, at) {
                let Some(name) = record else { break };
                let listed = &surface.records[name];
                assert!(
                    listed.fields.contains_key(field),
                    "{} uses {name}.{field}, which surface.toml does not list",
                    path.display()
                );
                used.insert((name, field.to_owned()));
                record = listed.follow.get(field).map(String::as_str);
            }
        }
    }

    let listed: BTreeSet<(&str, String)> = surface
        .records
        .iter()
        .flat_map(|(name, record)| {
            record
                .fields
                .keys()
                .map(move |field| (name.as_str(), field.clone()))
        })
        .collect();
    let unused: Vec<_> = listed.difference(&used).collect();
    assert!(
        unused.is_empty(),
        "surface.toml lists fields that no source uses: {unused:?}"
    );
}

#[test]
fn each_pointer_to_a_record_has_a_listed_name() {
    let surface = surface();
    for (path, tokens) in sources() {
        for window in tokens.windows(3) {
            let [record, star, name] = window else { continue };
            let Some(listed) = surface.records.get(record).filter(|_| star == "*") else {
                continue;
            };
            // "job_record_t *)" is a cast or a type alone.
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            assert!(
                !is_name || listed.pointers.contains(name),
                "{} calls a {record} \"{name}\"; use one of {:?}, or add the name to surface.toml",
                path.display(),
                listed.pointers
            );
        }
    }
}

/// What is recorded of Slurm's releases is what the shims use: each record, and each of its fields.
#[test]
fn the_recorded_layouts_are_of_exactly_the_listed_fields() {
    let path = root().join("slurm-headers/layouts.h");
    let text = fs::read_to_string(&path).expect("layouts.h can be read");
    let rows = |macro_name: &str| -> BTreeSet<String> {
        let begin = format!("{macro_name}(");
        text.lines()
            .filter_map(|line| line.strip_prefix(&begin)?.split_once(", SURGENT_COLUMN"))
            .map(|(named, _)| named.replace(", ", "."))
            .collect()
    };
    let records = surface().records;
    let sizes: BTreeSet<String> = records.keys().cloned().collect();
    let fields: BTreeSet<String> = records
        .iter()
        .flat_map(|(name, record)| record.fields.keys().map(move |field| format!("{name}.{field}")))
        .collect();
    let hint = "run slurm-headers/record-layouts; left: layouts.h, right: surface.toml";
    assert_eq!(rows("SURGENT_SIZE"), sizes, "{hint}");
    assert_eq!(rows("SURGENT_AT"), fields, "{hint}");
}
