// SPDX-License-Identifier: GPL-2.0-or-later
//! The `surgent` command.

fn main() -> std::process::ExitCode {
    surgent::cli::main()
}
