// SPDX-License-Identifier: GPL-2.0-or-later
//! What kind of program a command line starts.

use std::borrow::Cow;
use std::path::Path;

/// What a process does with a signal that is meant for the training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It trains, or hands the signal on as srun does. What it has started are its own workers.
    Program,
    /// It starts programs and dies of the signal, or ends them after it.
    Launcher,
    /// The same, but if it handles the signal, that is what its author wants.
    Shell,
    /// The same, and it hands USR1 and USR2 on to all its ranks, on other nodes too.
    Mpi,
}

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
const MPI: [&str; 6] = ["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"];
const LAUNCHERS: [&str; 38] = [
    // By name or as a script.
    "torchrun",
    "accelerate",
    "accelerate-launch",
    "deepspeed",
    "horovodrun",
    "composer",
    "colossalai",
    "fabric",
    "hydra_pmi_proxy",
    "orted",
    "prted",
    // Modules of Python.
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "accelerate.commands.accelerate_cli",
    "deepspeed.launcher.launch",
    "deepspeed.launcher.runner",
    "composer.cli.launcher",
    "lightning.fabric.cli",
    // What is put in front of a program.
    "env",
    "nice",
    "ionice",
    "time",
    "timeout",
    "nohup",
    "setsid",
    "stdbuf",
    "numactl",
    "taskset",
    "tini",
    "nsys",
    "ncu",
    "singularity",
    "apptainer",
    "conda",
    "micromamba",
    "uv",
    "poetry",
];
/// How a container's supervisor names itself.
const CONTAINERS: [&str; 2] = ["Singularity runtime parent", "Apptainer runtime parent"];

/// The role of a process with these arguments, its name the first of them.
pub fn role(args: &[String]) -> Role {
    let Some(first) = args.first() else {
        return Role::Program;
    };
    if CONTAINERS.iter().any(|name| first.starts_with(name)) {
        return Role::Launcher;
    }
    let name = program(args);
    let is = |names: &[&str]| names.contains(&name.as_str());
    if is(&SHELLS) {
        Role::Shell
    } else if is(&MPI) {
        Role::Mpi
    } else if is(&LAUNCHERS) || name.starts_with("torch.distributed.elastic") {
        Role::Launcher
    } else {
        Role::Program
    }
}

/// What runs: the name of the program, or of the script or module that Python runs.
pub fn program(args: &[String]) -> String {
    // A login shell's name begins with a dash.
    let base = |path: &str| file_name(path).trim_start_matches('-').to_owned();
    let Some((first, rest)) = args.split_first() else {
        return String::new();
    };
    if !is_python(first) {
        return base(first);
    }
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "-m" => return rest.next().cloned().unwrap_or_default(),
            "-c" => return String::new(),
            "-X" | "-W" | "--check-hash-based-pycs" => _ = rest.next(),
            option if option.starts_with("-m") => return option[2..].to_owned(),
            option if option.starts_with('-') => {}
            script => {
                let name = base(script);
                return name.strip_suffix(".py").unwrap_or(&name).to_owned();
            }
        }
    }
    String::new()
}

/// The last part of a path.
pub fn file_name(path: &str) -> Cow<'_, str> {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy()
}

/// Whether this is Python's interpreter.
pub fn is_python(name: &str) -> bool {
    let name = file_name(name);
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_roles() {
        let table = [
            ("python train.py", Role::Program),
            (
                "/opt/env/bin/python3.11 -u -X dev train.py --epochs 3",
                Role::Program,
            ),
            ("srun python train.py", Role::Program),
            ("torchrun --nproc-per-node 4 train.py", Role::Launcher),
            ("/usr/bin/python /opt/env/bin/torchrun train.py", Role::Launcher),
            ("python -m torch.distributed.run train.py", Role::Launcher),
            ("python -mtorch.distributed.launch train.py", Role::Launcher),
            (
                "/opt/env/bin/python /opt/env/bin/accelerate launch train.py",
                Role::Launcher,
            ),
            ("python -u /opt/env/bin/deepspeed train.py", Role::Launcher),
            ("mpirun -np 4 python train.py", Role::Mpi),
            ("bash run.sh", Role::Shell),
            ("-bash", Role::Shell),
            ("numactl --localalloc python train.py", Role::Launcher),
            ("python -c import_torchrun", Role::Program),
            ("pythonic torchrun", Role::Program),
            ("", Role::Program),
        ];
        for (line, expected) in table {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(role(&args), expected, "{line}");
        }
        assert_eq!(role(&["Apptainer runtime parent".to_owned()]), Role::Launcher);
    }
}
