// SPDX-License-Identifier: GPL-2.0-or-later
//! Every key of surgent.toml is on the man page and in the annotated example, with its true default, and on one page of docs.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use surgent::policy::settings::Settings;

const MAN: &str = "packaging/man/surgent.toml.5";
const MAN_TEXT: &str = include_str!("../packaging/man/surgent.toml.5");
const EXAMPLE: &str = include_str!("../packaging/examples/surgent.toml");
const ADMIN: &str = include_str!("../docs/admin.md");
const QUEUE: &str = include_str!("../docs/queue.md");

/// All keys as in `victims.step_s`, with their defaults: whatever `Settings` has. `Null` is no default.
fn keys() -> BTreeMap<String, Value> {
    fn collect(prefix: &str, value: &Value, keys: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let dot = if prefix.is_empty() { "" } else { "." };
                    collect(&format!("{prefix}{dot}{name}"), value, keys);
                }
            }
            value => {
                keys.insert(prefix.to_owned(), value.clone());
            }
        }
    }
    let mut keys = BTreeMap::new();
    let defaults = serde_json::to_value(Settings::default()).unwrap();
    collect("", &defaults, &mut keys);
    // One that is left out here could be forgotten everywhere.
    for known in [
        "victims.step_s",
        "queue.urgent_order",
        "admission.budget.gpu_hours_in_all",
    ] {
        assert!(keys.contains_key(known), "{known} is not in {keys:?}");
    }
    keys
}

/// What the man page says of a key.
#[derive(Debug, Default)]
struct Entry {
    kind: String,
    default: String,
    example: String,
}

/// The man page by key. It stands in `.Ss Table victims` as `.It Ic step_s`, with what follows `.Em Type :`,
/// `.Em Default :` and `.Dl`.
fn man_page() -> BTreeMap<String, Entry> {
    let mut entries = BTreeMap::new();
    let mut table = String::new();
    let mut key = None;
    let mut lines = MAN_TEXT.lines();
    while let Some(line) = lines.next() {
        let line = line.replace("\\(dq", "\"");
        if let Some(heading) = line.strip_prefix(".Ss ") {
            let name = heading.strip_prefix("Table ");
            table = name.map(|name| format!("{name}.")).unwrap_or_default();
        } else if let Some(name) = line.strip_prefix(".It Ic ") {
            key = Some(format!("{table}{name}"));
        } else if line == ".El" {
            key = None;
        }
        let Some(key) = &key else { continue };
        let entry: &mut Entry = entries.entry(key.clone()).or_default();
        let mut next = || lines.next().unwrap_or_default().replace("\\(dq", "\"");
        if line == ".Em Type :" {
            entry.kind = next();
        } else if line == ".Em Default :" {
            let default = next();
            default
                .strip_prefix(".Li ")
                .unwrap_or_default()
                .clone_into(&mut entry.default);
        } else if let Some(example) = line.strip_prefix(".Dl ") {
            example.clone_into(&mut entry.example);
        }
    }
    entries
}

/// The value that TOML has for `text`, in the form of [`keys`]: every number is one, and `none` is no default.
fn value(text: &str) -> Option<Value> {
    if text == "none" {
        return Some(Value::Null);
    }
    let table: toml::Table = toml::from_str(&format!("value = {text}")).ok()?;
    serde_json::to_value(&table["value"]).ok()
}

fn are_equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[test]
fn the_man_page_describes_every_key_and_no_other() {
    let keys = keys();
    let page = man_page();
    for (key, default) in &keys {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        let entry = page.get(key).unwrap_or_else(|| {
            panic!(
                "{MAN} does not describe {key}. Add, under `.Ss Table {table}`:\n.It Ic {name}\n.Em Type :\nseconds, 0 or \
                 more.\n.Em Default :\n.Li {default}\n.Pp\nWhat it means.\n.Pp\n.Dl {name} = ..."
            )
        });
        assert!(
            entry.kind.ends_with('.'),
            "{MAN}, {key}: the line after `.Em Type :` is to say type and unit"
        );
        let said = value(&entry.default);
        let default_text = match default {
            Value::Null => "none".to_owned(),
            default => default.to_string(),
        };
        assert!(
            said.is_some_and(|said| are_equal(&said, default)),
            "{MAN}, {key}: the line after `.Em Default :` is to be `.Li {default_text}`, it says {:?}",
            entry.default
        );
        let example = match table {
            "" => entry.example.clone(),
            table => format!("[{table}]\n{}", entry.example),
        };
        assert!(
            entry.example.starts_with(&format!("{name} = ")),
            "{MAN}, {key}: `.Dl {name} = ...` is to give an example"
        );
        match Settings::parse(&example) {
            Ok(settings) => assert_ne!(
                settings,
                Settings::default(),
                "{MAN}, {key}: the example is the default"
            ),
            Err(error) => panic!("{MAN}, {key}: the example cannot be used: {error}"),
        }
    }
    for key in page.keys() {
        assert!(
            keys.contains_key(key),
            "{MAN} describes {key}, which surgent.toml cannot have"
        );
    }
}

#[test]
fn the_examples_of_the_man_page_and_of_the_admin_page_can_be_used() {
    let literal = MAN_TEXT.split(".Bd -literal\n").nth(1).unwrap();
    let section = ADMIN.split("## surgent.toml").nth(1).unwrap();
    let fenced = section.split("```toml\n").nth(1).unwrap();
    for text in [
        literal.split(".Ed").next().unwrap(),
        fenced.split("```").next().unwrap(),
    ] {
        assert_ne!(Settings::parse(text).unwrap(), Settings::default());
    }
}

/// The value of a key such as `victims.step_s` in a file.
fn find(file: &toml::Table, key: &str) -> Option<Value> {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut tables = table.split('.').filter(|name| !name.is_empty());
    let table = tables.try_fold(file, |table, name| table.get(name)?.as_table())?;
    serde_json::to_value(table.get(name)?).ok()
}

#[test]
fn the_annotated_example_has_every_key_with_its_default() {
    let file = "packaging/examples/surgent.toml";
    let read = |text: &str| -> toml::Table {
        toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    // A key without a default stands there as `#key = value`; comments are `# words`.
    let lines = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(key) if key.starts_with(|first: char| first.is_ascii_lowercase()) => key,
        _ => line,
    });
    let all_set: String = lines.map(|line| format!("{line}\n")).collect();
    let (as_it_is, all) = (read(EXAMPLE), read(&all_set));
    for (key, default) in keys() {
        if default.is_null() {
            assert!(
                find(&all, &key).is_some(),
                "{file} is to have `#... = ...` for {key}, which has no default, with a value that is likely"
            );
            continue;
        }
        let value = find(&as_it_is, &key);
        assert!(
            value.as_ref().is_some_and(|value| are_equal(value, &default)),
            "{file} is to have {key} = {default}, behind a comment that says what it means; it has {value:?}"
        );
    }
    assert_eq!(Settings::parse(EXAMPLE), Ok(Settings::default()), "{file}");
    Settings::parse(&all_set).unwrap_or_else(|error| panic!("{file}, with all keys set: {error}"));
}

#[test]
fn one_page_has_every_key() {
    let rows = [ADMIN, QUEUE].into_iter().flat_map(str::lines);
    let names: Vec<&str> = rows
        .filter_map(|row| row.strip_prefix("| `")?.split(" |").next())
        .collect();
    for key in keys().keys() {
        let rows = names.iter().filter(|names| {
            let mut names = names.split(", ").map(|name| name.trim_matches('`'));
            names.any(|name| name == key)
        });
        assert_eq!(
            rows.count(),
            1,
            "docs/admin.md and docs/queue.md are to have one row for `{key}`"
        );
    }
}

#[test]
fn the_man_page_is_set_without_a_complaint() {
    let page = format!("{}/{MAN}", env!("CARGO_MANIFEST_DIR"));
    let checks = [
        ("mandoc", vec!["-Tlint", &page]),
        ("groff", vec!["-ww", "-mdoc", "-Tutf8", "-z", &page]),
    ];
    for (program, arguments) in checks {
        let Ok(output) = Command::new(program).args(arguments).output() else {
            eprintln!("skipped, for {program} is not installed: a look at {MAN}");
            continue;
        };
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        // What mandoc knows of other pages depends on the machine.
        let said: Vec<&str> = said.lines().filter(|line| !line.contains("mandoc.db")).collect();
        assert_eq!(said, Vec::<&str>::new(), "{program}");
    }
}
