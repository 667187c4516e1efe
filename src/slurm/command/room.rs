// SPDX-License-Identifier: GPL-2.0-or-later
//! How many commands there are at a time, with those that were killed and do not end.
//!
//! A process that waits for a file system that is gone ends when that comes back, and not when it is killed. Each such has
//! a place here until then: slurmctld must not gather them without end.

use super::{Bounds, EXIT_CHECK};
use std::process::Child;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// So many there are at most.
pub const COMMANDS_MAX: usize = 8;

/// Why there is no place for another command.
pub(super) enum NoPlace {
    /// All are held by commands that were killed and have not ended.
    Full,
    /// None came free in time.
    Time,
    /// The caller does not want one any more.
    Stop,
}

/// Places for [`COMMANDS_MAX`] commands.
#[derive(Debug)]
pub(super) struct Room(Mutex<Taken>);

#[derive(Debug)]
struct Taken {
    running: usize,
    /// Killed, and not vanished.
    lingering: Vec<Child>,
}

/// A command's place; free again once it is dropped.
#[derive(Debug)]
pub(super) struct Place<'a>(&'a Room);

impl Room {
    /// All places are free.
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Taken {
            running: 0,
            lingering: Vec::new(),
        }))
    }

    /// Takes a place, until `end` at the latest. Those that run are waited for, those that linger are not.
    pub(super) fn take(&self, end: Instant, bounds: &Bounds<'_>) -> Result<Place<'_>, NoPlace> {
        loop {
            if (bounds.stop)() {
                return Err(NoPlace::Stop);
            }
            {
                let mut taken = self.taken();
                taken
                    .lingering
                    .retain_mut(|child| matches!(child.try_wait(), Ok(None)));
                if taken.lingering.len() >= COMMANDS_MAX {
                    return Err(NoPlace::Full);
                }
                if taken.running + taken.lingering.len() < COMMANDS_MAX {
                    taken.running += 1;
                    return Ok(Place(self));
                }
            }
            if end <= Instant::now() {
                return Err(NoPlace::Time);
            }
            std::thread::sleep(EXIT_CHECK);
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Place<'_> {
    /// The command was killed and has not ended: it keeps the place until it does.
    pub(super) fn keep_for(self, child: Child) {
        // Who drops the place gives it back afterwards; so it is never counted too little.
        self.0.taken().lingering.push(child);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken().running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CommandError, Environment, run_in};
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    fn bounds(limit_ms: u64) -> Bounds<'static> {
        Bounds {
            limit: Duration::from_millis(limit_ms),
            stop: &|| false,
        }
    }

    fn try_one(room: &Room, limit_ms: u64) -> Result<Vec<u8>, CommandError> {
        let environment = Environment::bare(None);
        run_in(
            room,
            "echo".as_ref(),
            &["done"],
            &environment,
            &bounds(limit_ms),
            100,
        )
    }

    /// Commands that were killed and do not end cannot be had in a test; these have not been killed.
    fn linger(room: &Room, count: usize) {
        for _ in 0..count {
            let end = Instant::now() + Duration::from_secs(10);
            let place = room.take(end, &bounds(10_000)).ok().unwrap();
            // With nothing of this process's that somebody might wait for, should the test fail.
            let mut command = Command::new("sleep");
            command.arg("1000").stdout(Stdio::null()).stderr(Stdio::null());
            place.keep_for(command.spawn().unwrap());
        }
    }

    fn end(room: &Room, count: usize) {
        let mut taken = room.taken();
        for child in taken.lingering.iter_mut().take(count) {
            child.kill().unwrap();
            // As it ends by itself: nobody has waited for it.
            while !std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
                .unwrap()
                .contains(") Z ")
            {
                std::thread::sleep(EXIT_CHECK);
            }
        }
    }

    #[test]
    fn nothing_is_started_beside_eight_that_do_not_end_and_they_are_waited_for_when_they_do() {
        let room = Room::new();
        linger(&room, COMMANDS_MAX - 1);
        assert_eq!(try_one(&room, 10_000).unwrap(), b"done\n");
        linger(&room, 1);
        let error = try_one(&room, 10_000).unwrap_err();
        assert!(matches!(error, CommandError::Start { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("8 commands that were killed have not ended"),
            "{error}"
        );
        end(&room, 1);
        assert_eq!(try_one(&room, 10_000).unwrap(), b"done\n");
        assert_eq!(room.taken().lingering.len(), COMMANDS_MAX - 1, "it was reaped");
        end(&room, COMMANDS_MAX);
        assert!(try_one(&room, 10_000).is_ok());
        let taken = room.taken();
        assert_eq!((taken.running, taken.lingering.len()), (0, 0));
    }

    #[test]
    fn one_that_runs_is_waited_for_but_no_longer_than_the_command_has() {
        let room = Room::new();
        linger(&room, COMMANDS_MAX - 1);
        let place = room.take(Instant::now(), &bounds(10_000)).ok().unwrap();
        assert!(matches!(try_one(&room, 20), Err(CommandError::TimedOut { .. })));
        std::thread::scope(|scope| {
            scope.spawn(|| drop(place));
            assert!(try_one(&room, 10_000).is_ok());
        });
        end(&room, COMMANDS_MAX);
    }
}
