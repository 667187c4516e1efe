// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the things are that a cluster is made of.

use super::{Failure, Outcome};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const DAEMONS: [&str; 3] = ["slurmctld", "slurmd", "munged"];
const SEARCH: [&str; 5] = [
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
];

/// The path of a daemon. Debian keeps them in /usr/sbin, which an ordinary PATH does not name.
pub fn daemon(name: &str) -> Outcome<PathBuf> {
    SEARCH.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists()).ok_or_else(|| {
        Failure::from(format!(
            "{name} is not installed, so no cluster can be started: run `make setup` as root, or set SURGENT_NO_CLUSTER=1 \
             to skip the tests that need a cluster."
        ))
    })
}

/// Checks that all is installed that a cluster needs.
pub fn check() -> Outcome {
    DAEMONS.iter().try_for_each(|name| daemon(name).map(drop))
}

/// Year and month of the installed Slurm's release, such as (22, 5).
pub fn slurm_version() -> Outcome<(u32, u32)> {
    let output = Command::new(daemon("slurmctld")?).arg("-V").output();
    let answer = output.map_err(|error| format!("slurmctld -V: {error}"))?;
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut numbers = answer
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .split('.')
        .map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(year)), Some(Ok(month))) => Ok((year, month)),
        _ => Err(format!("slurmctld -V answered {answer:?}, which holds no version such as 22.05.8.").into()),
    }
}

/// Slurm's own plugin directory.
pub fn stock_plugins() -> Outcome<PathBuf> {
    let multiarch = format!("/usr/lib/{}-linux-gnu/slurm-wlm", env::consts::ARCH);
    [
        &multiarch,
        "/usr/lib64/slurm",
        "/usr/lib/slurm",
        "/usr/local/lib/slurm",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|folder| folder.join("select_cons_tres.so").exists())
    .ok_or_else(|| {
        format!("Slurm's plugins are neither in {multiarch} nor at the other usual places: run `make setup` as root.").into()
    })
}

/// The folder with the built shims and the core: $SURGENT_PLUGINS, else target/plugins.
pub fn plugins() -> Outcome<PathBuf> {
    built("SURGENT_PLUGINS", "plugins")
}

/// The same with a core that can be made to panic: $SURGENT_PLUGINS_FAULTS, else target/plugins-faults.
pub fn plugins_with_faults() -> Outcome<PathBuf> {
    built("SURGENT_PLUGINS_FAULTS", "plugins-faults")
}

fn built(variable: &str, folder: &str) -> Outcome<PathBuf> {
    let path = env::var_os(variable).map_or_else(|| target().join(folder), PathBuf::from);
    if path.join("preempt_surgent.so").exists() {
        return path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()).into());
    }
    Err(format!(
        "{} holds no preempt_surgent.so: run `make shims`, or set {variable}.",
        path.display()
    )
    .into())
}

/// The program `surgent`: $SURGENT_BIN, else the one that cargo built beside this one.
pub fn surgent() -> Outcome<PathBuf> {
    if let Some(path) = env::var_os("SURGENT_BIN").or(option_env!("CARGO_BIN_EXE_surgent").map(Into::into)) {
        return Ok(path.into());
    }
    // An example or a test lies one folder below the programs.
    let here = env::current_exe().map_err(|error| format!("this program's own path is unknown: {error}"))?;
    let path = here.ancestors().nth(2).map(|folder| folder.join("surgent"));
    path.filter(|path| path.exists())
        .ok_or_else(|| "the program surgent is not built: run `make build`, or set SURGENT_BIN.".into())
}

/// The training program.
pub fn trainer() -> PathBuf {
    root().join("tests/demo/train.py")
}

/// The Python package `surgent`, which need not be installed to be imported from its `src`.
pub fn python_package() -> PathBuf {
    root().join("packaging/python")
}

/// The python3 of `target/NAME`, where `make target/NAME/installed` has put all that it was to.
pub fn installed_python(name: &str) -> Option<PathBuf> {
    let folder = target().join(name);
    let is_whole = folder.join("installed").exists();
    is_whole.then(|| folder.join("bin/python3"))
}

/// The script that ends a cluster.
pub fn keeper() -> PathBuf {
    root().join("tests/support/keeper.sh")
}

/// The digits data that the training program learns from.
pub fn digits() -> Outcome<PathBuf> {
    let path = target().join("demo-data/digits.csv.gz");
    match path.exists() {
        true => Ok(path),
        false => Err(format!("{0} is missing: run tests/demo/get-data {0}", path.display()).into()),
    }
}

/// The top of this checkout.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// `target` of this checkout: what `make` fills besides cargo's own.
fn target() -> PathBuf {
    root().join("target")
}
