// SPDX-License-Identifier: GPL-2.0-or-later
//! `--watch`: the same again and again, until q, Ctrl-C or SIGTERM.

mod terminal;

use super::screen::{Screen, local};
use crate::policy::units::UnixTime;
use console::Style;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};
use terminal::{Input, Sign, Terminal};

/// While Slurm is asked, its answer is looked for this often.
const ANSWER_CHECK: Duration = Duration::from_millis(100);

/// Asks what there is to show on such a screen.
pub(super) type Show = dyn Fn(&Screen) -> Result<String, String> + Send + Sync;

/// Shows it every `every_s` seconds. On a terminal the screen is drawn anew; elsewhere one comes after the other.
///
/// # Errors
/// Where Slurm does not answer at first. Later the last screen stays, and says so.
pub(super) fn watch(every_s: u32, show: Arc<Show>) -> Result<(), String> {
    let every = Duration::from_secs(every_s.into());
    let fault = |error: std::io::Error| format!("the terminal cannot be used: {error}");
    let mut input = Input::new().map_err(fault)?;
    let mut view = View {
        every_s,
        terminal: None,
        last: None,
        trouble: None,
    };
    loop {
        let begun = Instant::now();
        let answer = ask(&show, super::screen());
        // Slurm's commands take seconds where slurmctld is busy. Whoever wants to leave is not kept by that: the thread
        // that asks ends with this process, and the command by itself.
        let answer = loop {
            match answer.try_recv() {
                Ok(answer) => break answer,
                Err(TryRecvError::Disconnected) => break Err("no answer".to_owned()),
                Err(TryRecvError::Empty) => {}
            }
            if input.wait(ANSWER_CHECK).map_err(fault)? == Some(Sign::End) {
                return Ok(());
            }
        };
        view.take(answer)?;
        // From now on there is something to draw.
        if view.terminal.is_none() && std::io::stdout().is_terminal() {
            view.terminal = Some(Terminal::enter().map_err(fault)?);
        }
        if view.draw().is_err() {
            // Nobody reads this any more.
            return Ok(());
        }
        loop {
            let left = every.saturating_sub(begun.elapsed());
            match input.wait(left).map_err(fault)? {
                Some(Sign::End) => return Ok(()),
                Some(Sign::Again) => {
                    if let Some(terminal) = &view.terminal {
                        terminal.prepare().map_err(fault)?;
                    }
                    break;
                }
                None if every.saturating_sub(begun.elapsed()).is_zero() => break,
                None => {}
            }
        }
    }
}

fn ask(show: &Arc<Show>, screen: Screen) -> Receiver<Result<String, String>> {
    let (sender, answer) = channel();
    let show = Arc::clone(show);
    thread::spawn(move || {
        // Nobody waits for it where the watch has ended meanwhile.
        let _ = sender.send(show(&screen));
    });
    answer
}

/// What is on the screen.
struct View {
    every_s: u32,
    terminal: Option<Terminal>,
    /// The last that there was to show.
    last: Option<String>,
    /// Why it is not of now.
    trouble: Option<String>,
}

impl View {
    fn take(&mut self, answer: Result<String, String>) -> Result<(), String> {
        match (answer, &self.last) {
            (Ok(text), _) => {
                self.last = Some(text);
                self.trouble = None;
            }
            (Err(sentence), None) => return Err(sentence),
            (Err(sentence), Some(_)) => {
                let now = UnixTime(jiff::Timestamp::now().as_second());
                self.trouble = Some(format!("Not of now ({}): {sentence}", local(now)));
            }
        }
        Ok(())
    }

    fn draw(&self) -> std::io::Result<()> {
        let text = self.last.as_deref().unwrap_or_default();
        let screen = super::screen();
        let trouble = self.trouble.as_deref().map(|sentence| screen.fill(sentence, ""));
        match &self.terminal {
            Some(terminal) => {
                let trouble =
                    trouble.map(|text| screen.paint(Style::new().red(), text.trim_end().to_owned()) + "\n");
                let foot = format!("Every {} s; space: now, q: end", self.every_s);
                let foot = screen.paint(Style::new().dim(), foot);
                terminal.draw(&(trouble.unwrap_or_default() + text), &foot)
            }
            None => {
                let mut out = std::io::stdout().lock();
                match trouble {
                    Some(trouble) => out.write_all(trouble.as_bytes())?,
                    None => out.write_all(text.as_bytes())?,
                }
                out.flush()
            }
        }
    }
}
