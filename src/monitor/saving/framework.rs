// SPDX-License-Identifier: GPL-2.0-or-later
//! What is known of a training framework by the command line that starts it.

use super::role::program;
use crate::policy::directives::SignalName;

/// How a framework saves on request.
#[derive(Clone, Debug, PartialEq)]
pub struct Framework {
    /// Its name, for people.
    pub name: &'static str,
    /// The signal that makes it save; `None` where there is none.
    pub signal: Option<SignalName>,
    /// A pattern for the line that it prints when it has saved.
    pub saved_line: Option<&'static str>,
}

/// What submitit is told by its user.
const SUBMITIT_SIGNAL: &str = "SUBMITIT_PREEMPT_SIGNAL";
/// By this JAX is told to listen for SIGTERM.
const JAX_SERVICE: &str = "JAX_ENABLE_PREEMPTION_SERVICE";

/// The framework that `command` starts, also behind launchers and srun; `None` where it cannot be known.
pub fn framework(command: &[String], variable: impl Fn(&str) -> Option<String>) -> Option<Framework> {
    let has = |words: &[&str]| command.iter().any(|arg| words.contains(&arg.as_str()));
    let begins = |beginnings: &[&str]| {
        command
            .iter()
            .any(|arg| beginnings.iter().any(|beginning| arg.starts_with(beginning)))
    };
    let known = |name, signal: &str, saved_line| Framework {
        name,
        signal: signal.parse().ok(),
        saved_line,
    };
    let none = |name| Framework {
        name,
        signal: None,
        saved_line: None,
    };
    if has(&["submitit.core._submit"]) {
        let signal = variable(SUBMITIT_SIGNAL).unwrap_or_else(|| "USR2".to_owned());
        // It says so once its state is written and the job is back in the queue.
        return Some(known("submitit", &signal, Some("Requeued job")));
    }
    if has(&["--exit-signal-handler"]) {
        let line = "successfully saved checkpoint";
        return Some(known("Megatron-LM", "TERM", Some(line)));
    }
    if is_switched_on(command, &["--enable_jit_checkpoint", "--enable-jit-checkpoint"]) {
        return Some(known("Transformers with JIT checkpoints", "TERM", None));
    }
    if begins(&["lingua.", "apps.main.train", "apps.mamba.train", "apps.fastRNN."]) {
        return Some(known("Lingua", "USR2", None));
    }
    if begins(&["fairseq-train", "fairseq-hydra-train", "fairseq_cli."]) {
        return Some(none("fairseq"));
    }
    if program(command) == "composer" {
        return Some(none("Composer"));
    }
    let is_on = |value: String| ["1", "true", "on", "yes"].contains(&value.to_ascii_lowercase().as_str());
    if variable(JAX_SERVICE).is_some_and(is_on) {
        return Some(known("JAX with its preemption service", "TERM", None));
    }
    None
}

/// Whether an option that may have a value is there and not "False".
fn is_switched_on(command: &[String], options: &[&str]) -> bool {
    let is_off = |value: &str| ["false", "0", "no"].contains(&value.to_ascii_lowercase().as_str());
    command
        .iter()
        .enumerate()
        .any(|(at, arg)| match arg.split_once('=') {
            Some((option, value)) => options.contains(&option) && !is_off(value),
            None => {
                options.contains(&arg.as_str()) && !command.get(at + 1).is_some_and(|value| is_off(value))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal_of(line: &str, variables: &[(&str, &str)]) -> Option<Option<&'static str>> {
        let command: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        framework(&command, variable).map(|known| known.signal.map(SignalName::as_str))
    }

    #[test]
    fn table_of_frameworks() {
        let table = [
            ("python -u -m submitit.core._submit /logs", Some(Some("USR2"))),
            (
                "torchrun pretrain_gpt.py --exit-signal-handler --lr 1",
                Some(Some("TERM")),
            ),
            ("python run.py --enable_jit_checkpoint", Some(Some("TERM"))),
            ("python run.py --enable_jit_checkpoint True", Some(Some("TERM"))),
            ("python run.py --enable_jit_checkpoint False", None),
            ("srun python -m apps.main.train config=x", Some(Some("USR2"))),
            ("fairseq-train data", Some(None)),
            ("composer -n 8 train.py", Some(None)),
            ("python train.py", None),
        ];
        for (line, expected) in table {
            assert_eq!(signal_of(line, &[]), expected, "{line}");
        }
        let submitit = signal_of("python -m submitit.core._submit /l", &[(SUBMITIT_SIGNAL, "USR1")]);
        assert_eq!(submitit, Some(Some("USR1")));
        assert_eq!(
            signal_of("python t.py", &[(JAX_SERVICE, "true")]),
            Some(Some("TERM"))
        );
        assert_eq!(signal_of("python t.py", &[(JAX_SERVICE, "0")]), None);
    }
}
