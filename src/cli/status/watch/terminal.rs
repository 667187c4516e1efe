// SPDX-License-Identifier: GPL-2.0-or-later
//! The terminal while it is drawn on, and what comes from whoever watches.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGCONT, SIGINT, SIGTERM, SIGWINCH};
use std::io::{IsTerminal as _, Read as _, Result, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A screen of its own, without a cursor; lines that are too long for it are cut.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Rows of a terminal that does not tell.
const ROWS: u16 = 24;

/// The terminal, which is as before once this is dropped.
pub(super) struct Terminal {
    /// What it did with keys before, where they come from a terminal.
    before: Option<Termios>,
}

impl Terminal {
    /// From now on it is for this.
    pub(super) fn enter() -> Result<Self> {
        let input = std::io::stdin();
        let before = match input.is_terminal() {
            true => Some(tcgetattr(&input)?),
            false => None,
        };
        let terminal = Self { before };
        terminal.prepare()?;
        Ok(terminal)
    }

    /// Also after somebody else had it: keys come at once and are not shown, Ctrl-C and Ctrl-Z stay what they are.
    pub(super) fn prepare(&self) -> Result<()> {
        if let Some(before) = &self.before {
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            tcsetattr(std::io::stdin(), OptionalActions::Now, &modes)?;
        }
        write(ENTER)
    }

    /// Draws `text` as far as there are rows for it, and `foot` below.
    pub(super) fn draw(&self, text: &str, foot: &str) -> Result<()> {
        let rows = console::Term::stdout()
            .size_checked()
            .map_or(ROWS, |(rows, _)| rows);
        write(&frame(text, foot, usize::from(rows)))
    }
}

/// What draws `text` and `foot` on so many rows over what was there.
fn frame(text: &str, foot: &str, rows: usize) -> String {
    let room = rows.saturating_sub(1);
    let lines: Vec<&str> = text.lines().collect();
    let shown = match lines.len() <= room {
        true => lines.len(),
        false => room.saturating_sub(1),
    };
    let mut frame = "\x1b[H".to_owned();
    for line in &lines[..shown] {
        frame += line;
        frame += "\x1b[K\r\n";
    }
    if shown < lines.len() {
        frame += &format!(
            "({} more lines: make the window larger)\x1b[K\r\n",
            lines.len() - shown
        );
    }
    frame + foot + "\x1b[K\x1b[J"
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // There is nobody to complain to where the terminal is gone.
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// What whoever watches wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// No more of it.
    End,
    /// A look now: asked for by a key, or the terminal has another size, or is ours again.
    Again,
}

/// Keys and signals.
pub(super) struct Input {
    ends: UnixStream,
    changes: UnixStream,
    /// Keys can still come.
    has_keys: bool,
}

impl Input {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            ends: signals(&[SIGINT, SIGTERM])?,
            changes: signals(&[SIGWINCH, SIGCONT])?,
            has_keys: std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
        })
    }

    /// Waits for at most so long.
    pub(super) fn wait(&mut self, most: Duration) -> Result<Option<Sign>> {
        let keys = std::io::stdin();
        let [ended, changed, typed] = {
            let mut polled = vec![
                PollFd::from_borrowed_fd(self.ends.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.changes.as_fd(), PollFlags::IN),
            ];
            if self.has_keys {
                polled.push(PollFd::from_borrowed_fd(keys.as_fd(), PollFlags::IN));
            }
            // At most a day, by the option's own bound.
            let most = Timespec {
                tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(most.subsec_nanos()),
            };
            match poll(&mut polled, Some(&most)) {
                Ok(_) => {}
                Err(Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            [0, 1, 2].map(|at| polled.get(at).is_some_and(|fd| !fd.revents().is_empty()))
        };
        if ended {
            return Ok(Some(Sign::End));
        }
        if changed {
            let mut many = [0; 64];
            let _ = self.changes.read(&mut many)?;
            return Ok(Some(Sign::Again));
        }
        match typed {
            true => self.key(),
            false => Ok(None),
        }
    }

    fn key(&mut self) -> Result<Option<Sign>> {
        let mut bytes = [0; 64];
        let count = rustix::io::read(std::io::stdin(), &mut bytes)?;
        // The terminal is gone, or Ctrl-D.
        self.has_keys = count > 0;
        let mut keys = bytes[..count].iter();
        Ok(keys.find_map(|key| match key {
            b'q' | b'Q' => Some(Sign::End),
            b' ' | b'\n' | b'\r' => Some(Sign::Again),
            _ => None,
        }))
    }
}

/// A byte comes here for each of these signals.
fn signals(signals: &[i32]) -> Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, write.try_clone()?)?;
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_for_the_window_is_said() {
        let rows = |rows| frame("1\n2\n3\n4\n", "foot", rows);
        assert_eq!(
            rows(5),
            "\x1b[H1\x1b[K\r\n2\x1b[K\r\n3\x1b[K\r\n4\x1b[K\r\nfoot\x1b[K\x1b[J"
        );
        let cut = rows(4);
        assert!(
            cut.contains("2\x1b[K") && cut.contains("(2 more lines"),
            "{cut:?}"
        );
        assert_eq!(cut.matches("\r\n").count(), 3, "{cut:?}");
    }
}
