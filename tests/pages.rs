// SPDX-License-Identifier: GPL-2.0-or-later
//! The man pages and completions that are installed.

#[path = "../packaging/pages/main.rs"]
#[allow(dead_code, reason = "its own main")]
mod pages;

use std::fs;
use std::process::Command;
use surgent::policy::settings::Settings;

fn succeeds(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {said}");
}

#[test]
fn every_subcommand_has_a_page_and_completions() {
    let share = tempfile::tempdir().unwrap();
    pages::write(share.path()).unwrap();
    let read = |name: &str| {
        fs::read_to_string(share.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let bash = read("bash-completion/completions/surgent");
    let table = surgent::cli::command();
    for subcommand in table.get_subcommands() {
        let name = subcommand.get_name();
        let page = format!("man/man1/surgent-{name}.1");
        if subcommand.is_hide_set() {
            assert!(
                !share.path().join(&page).exists() && !bash.contains(name),
                "{name} is shown"
            );
            continue;
        }
        let text = read(&page).replace("\\-", "-");
        for option in subcommand
            .get_arguments()
            .filter(|argument| !argument.is_hide_set())
            .filter_map(|argument| argument.get_long())
        {
            assert!(text.contains(&format!("--{option}")), "{page} lacks --{option}");
            assert!(
                bash.contains(&format!("--{option}")),
                "completions lack --{option}"
            );
        }
        succeeds(
            Command::new("mandoc")
                .args(["-Tlint", "-Werror"])
                .arg(share.path().join(&page)),
        );
    }
    let mut names: Vec<&str> = table
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
        .map(clap::Command::get_name)
        .collect();
    names.sort_unstable();
    let installed = include_str!("../slurm-headers/shims.mk")
        .lines()
        .find_map(|line| line.strip_prefix("SUBCOMMANDS := "));
    assert_eq!(installed, Some(&*names.join(" ")), "what `make install` installs");
    assert!(read("man/man1/surgent.1").contains("surgent\\-run(1)"));
    succeeds(
        Command::new("bash")
            .arg("-n")
            .arg(share.path().join("bash-completion/completions/surgent")),
    );
    for other in [
        "zsh/site-functions/_surgent",
        "fish/vendor_completions.d/surgent.fish",
    ] {
        assert!(read(other).contains("drill"), "{other}");
    }
}

/// The page is written by hand.
#[test]
fn the_page_of_the_plugins_names_them_all_and_their_files() {
    const PAGE: &str = "packaging/man/surgent-plugin.8";
    let text = include_str!("../packaging/man/surgent-plugin.8");
    let shims = include_str!("../slurm-headers/shims.mk")
        .lines()
        .find_map(|line| line.strip_prefix("SHIMS := "))
        .expect("the plugins");
    for plugin in shims.split(' ').chain(["spank_surgent", "libsurgent"]) {
        assert!(
            text.contains(&format!("Pa {plugin}.so")),
            "{PAGE} lacks {plugin}.so"
        );
    }
    let audit = Settings::default().audit.file;
    for (code, file) in [
        (include_str!("../src/host/config.rs"), "surgent.toml"),
        (include_str!("../src/host/state.rs"), "surgent.state"),
        (include_str!("../src/host/records.rs"), "surgent.plans"),
        (&format!("{audit:?}"), &audit),
    ] {
        assert!(
            code.contains(&format!("{file:?}")),
            "the code does not name {file}"
        );
        assert!(text.contains(&format!("Pa {file}")), "{PAGE} lacks {file}");
    }
    let path = format!("{}/{PAGE}", env!("CARGO_MANIFEST_DIR"));
    let lint = Command::new("mandoc").args(["-Tlint", &path]).output().unwrap();
    let said = String::from_utf8_lossy(&lint.stdout).into_owned();
    // What mandoc knows of other pages depends on the machine.
    let mut said = said
        .lines()
        .filter(|line| !line.contains("mandoc.db") && !line.contains("referenced manual not found"));
    assert_eq!(said.next(), None);
}
