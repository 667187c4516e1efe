// SPDX-License-Identifier: GPL-2.0-or-later
//! What the user says of saving, and what becomes of it for the program at hand.

use super::checkpoint::Places;
use super::command::SaveCommand;
use super::framework::framework;
use super::role::{file_name, program};
use crate::monitor::say::say;
use crate::monitor::signals;
use crate::policy::directives::SignalName;
use regex::bytes::Regex;
use rustix::process::Signal;

/// srun ends its step on these, rather than pass them on.
const ENDS_SRUN: [&str; 4] = ["TERM", "INT", "QUIT", "HUP"];

/// What dies of USR1 and USR2 when srun passes them on to every process of a step.
const DIES: [&str; 6] = [
    "torchrun",
    "accelerate",
    "deepspeed",
    "composer",
    "torch.distributed.run",
    "torch.distributed.launch",
];

/// By this torchrun is told which signals to pass on.
const TORCHRUN_SIGNALS: &str = "TORCHELASTIC_SIGNALS_TO_HANDLE";

/// What the user says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The signal that makes the program save.
    pub signal: SignalChoice,
    /// A command that makes it save, in place of a signal.
    pub command: Option<SaveCommand>,
    /// Where its checkpoints are.
    pub places: Places,
    /// The line that it prints when it has saved.
    pub saved_line: Option<Regex>,
    /// Exit codes that it ends with only when it has saved.
    pub saved_exits: Vec<u8>,
}

/// The signal that makes the program save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SignalChoice {
    /// To be found out.
    #[default]
    Unsaid,
    /// There is none.
    Never,
    /// This one.
    Given(SignalName),
}

/// How the program is asked.
#[derive(Clone, Debug)]
pub enum Way {
    /// Not at all.
    None,
    /// By this signal.
    Signal(Signal),
    /// By this command.
    Command(SaveCommand),
}

impl Options {
    /// What is done for the program that `command` starts; and whether a signal is to be looked for while it runs.
    pub(super) fn choose(
        mut self,
        command: &[String],
        variable: impl Fn(&str) -> Option<String>,
        tells: bool,
    ) -> (Self, Way, bool) {
        let tell = |sentence: &str| {
            if tells {
                say(sentence);
            }
        };
        if let Some(save_command) = self.command.take() {
            return (self, Way::Command(save_command), false);
        }
        let known = match self.signal {
            SignalChoice::Never => return (self, Way::None, false),
            SignalChoice::Given(signal) => (Some(signal), None),
            SignalChoice::Unsaid => match framework(command, &variable) {
                None => return (self, Way::None, true),
                Some(framework) => (framework.signal, Some(framework)),
            },
        };
        let (Some(signal), found) = known else {
            return (self, Way::None, false);
        };
        if let Some(hindrance) = hindrance(command, signal, &variable) {
            tell(&hindrance);
            return (self, Way::None, false);
        }
        if let Some(framework) = found {
            tell(&format!(
                "{} saves when it gets SIG{signal}, and is asked by it",
                framework.name
            ));
            let line = framework.saved_line.and_then(|line| Regex::new(line).ok());
            self.saved_line = self.saved_line.or(line);
        }
        let way = signals::by_name(signal.as_str()).map_or(Way::None, Way::Signal);
        (self, way, false)
    }
}

/// Why the program cannot be asked by this signal, in a sentence.
fn hindrance(
    command: &[String],
    signal: SignalName,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    if program(command) != "srun" {
        return None;
    }
    let better = "write `srun surgent run ... -- COMMAND` in place of `surgent run ... -- srun COMMAND`";
    if ENDS_SRUN.contains(&signal.as_str()) {
        return Some(format!(
            "the program is not asked to save: srun ends its step when it gets SIG{signal}; {better}"
        ));
    }
    let launcher = command
        .iter()
        .map(|arg| file_name(arg))
        .find(|name| DIES.contains(&name.as_ref()))?;
    let passes_on = variable(TORCHRUN_SIGNALS).is_some_and(|names| names.contains(signal.as_str()));
    (!passes_on).then(|| {
        format!("the program is not asked to save: {launcher} dies when srun passes SIG{signal} on to it; {better}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(line: &str, signal: &str) -> String {
        let command: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let options = Options {
            signal: match signal {
                "" => SignalChoice::Unsaid,
                "none" => SignalChoice::Never,
                name => SignalChoice::Given(name.parse().expect("known")),
            },
            ..Options::default()
        };
        let (options, way, is_open) = options.choose(&command, |_| None, false);
        let way = match way {
            Way::None if is_open => "open",
            Way::None => "none",
            Way::Signal(Signal::TERM) => "TERM",
            Way::Signal(Signal::USR1) => "USR1",
            Way::Signal(_) => "other",
            Way::Command(_) => "command",
        };
        format!("{way}{}", if options.saved_line.is_some() { " line" } else { "" })
    }

    #[test]
    fn table_of_ways() {
        let table = [
            ("python train.py", "", "open"),
            ("python train.py", "none", "none"),
            ("python train.py", "USR1", "USR1"),
            ("torchrun pretrain.py --exit-signal-handler", "", "TERM line"),
            ("torchrun pretrain.py --exit-signal-handler", "USR1", "USR1"),
            ("fairseq-train data", "", "none"),
            ("srun python train.py", "USR1", "USR1"),
            ("srun python train.py", "TERM", "none"),
            ("srun -n2 /env/bin/torchrun train.py", "USR1", "none"),
            ("torchrun train.py", "USR1", "USR1"),
        ];
        for (line, signal, expected) in table {
            assert_eq!(way(line, signal), expected, "{line} with {signal}");
        }
    }

    #[test]
    fn torchrun_behind_srun_may_be_told_to_pass_the_signal_on() {
        let command: Vec<String> = ["srun", "torchrun", "t.py"].map(str::to_owned).into();
        let told = |_: &str| Some("SIGTERM,SIGUSR1".to_owned());
        let signal = "USR1".parse().expect("known");
        assert_eq!(hindrance(&command, signal, told), None);
        assert!(hindrance(&command, signal, |_| None).is_some());
    }
}
