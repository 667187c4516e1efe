// SPDX-License-Identifier: GPL-2.0-or-later
//! The subcommands, options and settings that the documentation names exist.

use crate::markdown::Page;
use regex::Regex;
use serde_json::Value;
use surgent::policy::settings::Settings;

#[test]
fn every_subcommand_and_its_options_exist() {
    // Up to what ends the command: a comment, a pipe, the program behind ` -- `.
    let call = Regex::new(r"\bsurgent ([a-z]+)\b((?:[^|#;&)]*?)(?: -- |[|#;&)]|$))").unwrap();
    let option = Regex::new(r"(?:^|\s)--([a-z][a-z-]+)").unwrap();
    let table = surgent::cli::command();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        for code in page.code() {
            // What is called so in lists of plugins and packages is no call.
            if code.contains("JobSubmitPlugins=") || code.contains("apt") {
                continue;
            }
            for call in call.captures_iter(&code) {
                count += 1;
                let shown = format!("{}: {}", page.path.display(), call[0].trim());
                let Some(subcommand) = table.find_subcommand(&call[1]) else {
                    wrong.push(format!("{shown}: there is no such subcommand"));
                    continue;
                };
                for option in option.captures_iter(&call[2]) {
                    let is_known = |argument: &clap::Arg| argument.get_long() == Some(&option[1]);
                    if &option[1] != "help" && !subcommand.get_arguments().any(is_known) {
                        wrong.push(format!("{shown}: it has no --{}", &option[1]));
                    }
                }
            }
        }
    }
    assert!(count > 50, "only {count} calls were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_setting_exists() {
    let settings = serde_json::to_value(Settings::default()).unwrap();
    let tables: Vec<&str> = settings
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| value.is_object().then_some(name.as_str()))
        .collect();
    let key = Regex::new(&format!(r"^(?:{})\.[a-z_]+(?:\.[a-z_]+)?$", tables.join("|"))).unwrap();
    let line = Regex::new(r"^([a-z][a-z_]+) = \S").unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in Page::all() {
        for span in page.spans() {
            let is_known = match line.captures(&span) {
                // Code of another language.
                Some(_) if span.contains('(') => continue,
                Some(line) => has_key(&settings, &line[1]),
                None if key.is_match(&span) => settings
                    .pointer(&format!("/{}", span.replace('.', "/")))
                    .is_some(),
                None => continue,
            };
            count += 1;
            if !is_known {
                wrong.push(format!("{}: {span}", page.path.display()));
            }
        }
        for (kind, text) in page.blocks() {
            if kind == "toml" {
                count += 1;
                if let Err(error) = Settings::parse(text) {
                    wrong.push(format!("{}: {error}: {text}", page.path.display()));
                }
            }
        }
    }
    assert!(count > 50, "only {count} settings were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a key of this name is in some table.
fn has_key(settings: &Value, name: &str) -> bool {
    settings
        .as_object()
        .is_some_and(|table| table.contains_key(name) || table.values().any(|value| has_key(value, name)))
}
