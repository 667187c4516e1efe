// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes the man pages and the completions of `surgent` from the table that also makes its `--help`.

use clap::Command;
use clap_complete::Shell;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Where each shell looks for completions, below `share`.
const COMPLETIONS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "surgent"),
    (Shell::Zsh, "zsh/site-functions", "_surgent"),
    (Shell::Fish, "fish/vendor_completions.d", "surgent.fish"),
];

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("pages FOLDER: writes man pages and completions below FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pages: {}: {error}", Path::new(&folder).display());
            ExitCode::FAILURE
        }
    }
}

/// Writes all of them below `share`.
pub fn write(share: &Path) -> io::Result<()> {
    let man = share.join("man/man1");
    fs::create_dir_all(&man)?;
    let mut surgent = surgent::cli::command().disable_help_subcommand(true);
    surgent.build();
    page(&surgent, &man)?;
    for subcommand in surgent.get_subcommands().filter(|command| !command.is_hide_set()) {
        page(subcommand, &man)?;
    }
    for (shell, folder, file) in COMPLETIONS {
        let folder = share.join(folder);
        fs::create_dir_all(&folder)?;
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut typed(), "surgent", &mut text);
        fs::write(folder.join(file), text)?;
    }
    Ok(())
}

/// What people type: without the subcommands that programs call.
fn typed() -> Command {
    let surgent = surgent::cli::command();
    let shown = surgent
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .cloned();
    Command::new("surgent")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(shown)
}

/// The page of one command; a subcommand's is that of `surgent-run`, say, as git's are.
fn page(command: &Command, man: &Path) -> io::Result<()> {
    let name = command
        .get_display_name()
        .unwrap_or(command.get_name())
        .to_owned();
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .section("1")
        .manual("Surgent")
        .render(&mut text)?;
    // What stands below the options: exit codes, variables, examples.
    let text = String::from_utf8_lossy(&text).replace(".SH EXTRA", ".SH NOTES");
    fs::write(man.join(format!("{name}.1")), text)
}
