// SPDX-License-Identifier: GPL-2.0-or-later
//! scontrol, scancel and squeue: what they are told goes to the model, unless they are made to go wrong.

use crate::wire;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, thread};

/// `program` is in the folder `bin` of a round. A file beside it says how it goes wrong; without it, it does not.
pub fn run(program: &Path, arguments: impl Iterator<Item = String>) -> ExitCode {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    match fs::read_to_string(program.with_extension("fault")).as_deref() {
        Ok("fail") => return complain(&name, "out of order"),
        Ok("hang") => thread::sleep(Duration::from_secs(1000)),
        Ok("slow") => thread::sleep(Duration::from_secs(2)),
        _ => {}
    }
    let folder = program.ancestors().nth(2).unwrap_or(Path::new("."));
    let words: Vec<String> = [name.to_string()].into_iter().chain(arguments).collect();
    match wire::call::<Result<String, String>>(folder, &words) {
        Ok(Ok(answer)) => {
            print!("{answer}");
            ExitCode::SUCCESS
        }
        Ok(Err(complaint)) => complain(&name, &complaint),
        Err(error) => complain(&name, &error.to_string()),
    }
}

fn complain(name: &str, what: &str) -> ExitCode {
    eprintln!("{name}: {what}");
    ExitCode::FAILURE
}
