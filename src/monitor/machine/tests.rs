// SPDX-License-Identifier: GPL-2.0-or-later

mod drills;

use super::*;
use crate::policy::ids::JobId;
use crate::policy::units::UnixTime;

/// The wall clock at the monitor's start.
const START_UNIX: i64 = 10_000;

const ASK: Ask = Ask {
    by: JobId(17),
    asked: Some(UnixTime(START_UNIX + 5)),
    deadline: Some(UnixTime(START_UNIX + 100)),
};
const ALONE: Circumstances = Circumstances {
    speaks: true,
    is_alone: true,
    can_ask: true,
    save: SaveKind::Step,
};
const MUTE: Circumstances = Circumstances {
    speaks: false,
    is_alone: false,
    ..ALONE
};
const FIRST_OF_MANY: Circumstances = Circumstances {
    is_alone: false,
    ..ALONE
};

const ASKED: Event = Event::Looked(Cause::Signal, Answer::Asked(ASK));
const CALLED_OFF: Event = Event::Looked(Cause::Signal, Answer::NotAsked);
const UNKNOWN: Event = Event::Looked(Cause::Signal, Answer::Unknown);
const CHECKED: Event = Event::Looked(Cause::Check, Answer::Asked(ASK));
const CHECKED_OFF: Event = Event::Looked(Cause::Check, Answer::NotAsked);
const SAVED: Event = Event::Saved { ago: Duration::ZERO };
const DIED: Event = Event::Exited {
    code: 138,
    training: Training::Unknown,
};
const ENDED_UNFINISHED: Event = Event::Exited {
    code: 0,
    training: Training::Unfinished,
};
const EXITED: Event = Event::Exited {
    code: 3,
    training: Training::Unknown,
};
const FINISHED: Event = Event::Exited {
    code: 0,
    training: Training::Finished,
};

/// A story: at this second, this happens, and this is done about it. Of what is said only that something is.
type Story = &'static [(u64, Event, &'static str)];

#[test]
fn stories_of_a_program_that_runs_alone() {
    let stories: &[(&str, Story)] = &[
        ("an ordinary end", &[(9, EXITED, "end 3")]),
        (
            "asked, saved, goes on, taken",
            &[
                (5, Event::AskSignal, "look"),
                (5, ASKED, ""),
                (6, Event::Ready, "pass say"),
                (8, SAVED, "saved=10008 in 2"),
                (8, Event::Acknowledged, ""),
                (9, Event::Progressed, ""),
                (9, Event::Terminate, "kill"),
                (
                    9,
                    Event::Exited {
                        code: 137,
                        training: Training::Unknown,
                    },
                    "end 143",
                ),
            ],
        ),
        (
            "asked, saved, ends, held, taken",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 2"),
                (7, EXITED, "say"),
                (20, Event::Tick, ""),
                (37, Event::Tick, "look"),
                (37, CHECKED, ""),
                (40, Event::Terminate, "end 143"),
            ],
        ),
        (
            "asked, saved, finished: nothing is held",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 2"),
                (7, FINISHED, "end 0"),
            ],
        ),
        (
            "asked, ends without a save",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (7, EXITED, "say end 3"),
            ],
        ),
        (
            "finishes after the request without a save",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (7, FINISHED, "end 0"),
            ],
        ),
        (
            "ends before it was ready",
            &[(5, ASKED, ""), (6, EXITED, "end 3")],
        ),
        (
            "saves of its own accord before it was ready",
            &[
                (5, ASKED, ""),
                (6, SAVED, "saved=10006"),
                (7, Event::Ready, ""),
                (7, EXITED, "say"),
            ],
        ),
        (
            "saves that nobody asked for",
            &[(5, SAVED, "note"), (6, EXITED, "end 3")],
        ),
        (
            "a save again after the one that was asked for",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, Event::Acknowledged, ""),
                (16, SAVED, "note"),
                (17, Event::Terminate, "kill"),
            ],
        ),
        (
            "slurmctld's clock is ahead",
            &[
                (1, ASKED, ""),
                (1, Event::Ready, "pass say"),
                (2, SAVED, "saved=10005 in 1"),
            ],
        ),
        (
            "asked again while it runs: signalled again",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (8, ASKED, ""),
                (8, Event::Ready, "pass say"),
                (9, SAVED, "saved=10009 in 1"),
            ],
        ),
        (
            "asked again while held: acknowledged again, nobody is disturbed",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, EXITED, "say"),
                (8, ASKED, "saved=10008"),
            ],
        ),
        (
            "called off before it was ready",
            &[
                (5, ASKED, ""),
                (6, CALLED_OFF, ""),
                (7, Event::Ready, ""),
                (8, EXITED, "end 3"),
            ],
        ),
        (
            "called off while it saves, ends for the signal: starts again",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, CALLED_OFF, ""),
                (7, SAVED, "note"),
                (7, EXITED, "say resume"),
                (9, EXITED, "end 3"),
            ],
        ),
        (
            "called off, goes on, ends much later by itself",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, CALLED_OFF, ""),
                (80, EXITED, "end 3"),
            ],
        ),
        (
            "called off, goes on with another epoch, ends soon by itself",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, CALLED_OFF, ""),
                (8, Event::Progressed, ""),
                (9, EXITED, "end 3"),
            ],
        ),
        (
            "called off while held, by signal and by check",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, EXITED, "say"),
                (9, CALLED_OFF, "say resume"),
                (15, ASKED, ""),
                (15, Event::Ready, "pass say"),
                (16, SAVED, "saved=10016 in 1"),
                (16, EXITED, "say"),
                (46, Event::Tick, "look"),
                (46, CHECKED_OFF, "say resume"),
            ],
        ),
        (
            "saved, called off, then taken for another reason: not killed",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, Event::Acknowledged, ""),
                (7, CALLED_OFF, ""),
                (8, Event::Terminate, ""),
                (9, EXITED, "end 143"),
            ],
        ),
        (
            "taken without a save: it may still end by itself",
            &[
                (5, Event::Terminate, ""),
                (
                    9,
                    Event::Exited {
                        code: 0,
                        training: Training::Unknown,
                    },
                    "end 143",
                ),
            ],
        ),
        (
            "saved, and slurmctld does not know yet: not killed",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, Event::Terminate, ""),
            ],
        ),
        (
            "not ready up to the deadline",
            &[
                (5, ASKED, ""),
                (99, Event::Tick, ""),
                (100, Event::Tick, "say"),
                (101, Event::Ready, ""),
                (102, EXITED, "end 3"),
            ],
        ),
        (
            "nobody takes what is held",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, EXITED, "say"),
                (700, Event::Tick, "look"),
                (731, Event::Tick, "say resume"),
            ],
        ),
        (
            "Slurm does not tell why: a request, said once",
            &[
                (5, UNKNOWN, "say"),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, UNKNOWN, ""),
                (7, Event::Ready, "pass say"),
                (8, SAVED, "saved=10008 in 1"),
                (8, EXITED, "say"),
                (9, UNKNOWN, "saved=10009"),
                (639, Event::Tick, "say resume"),
            ],
        ),
        (
            "asked again on its way out: the save answers that as well",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, ASKED, ""),
                (8, EXITED, "saved=10008 say"),
                (9, Event::Terminate, "end 143"),
            ],
        ),
        (
            "asked again on its way out, and the signal passed on: the same",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, ASKED, ""),
                (7, Event::Ready, "pass say"),
                (8, EXITED, "saved=10008 say"),
            ],
        ),
        (
            "asked again on its way out, and called off",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, ASKED, ""),
                (7, CALLED_OFF, ""),
                (8, EXITED, "say resume"),
            ],
        ),
        (
            "asked again, signalled and called off on its way out",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, ASKED, ""),
                (7, Event::Ready, "pass say"),
                (7, CALLED_OFF, ""),
                (8, EXITED, "say resume"),
            ],
        ),
        (
            "asked again long after its save, or after another epoch: that save is no answer",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (7, Event::Progressed, ""),
                (8, ASKED, ""),
                (8, Event::Progressed, ""),
                (8, Event::Ready, "pass say"),
                (9, SAVED, "saved=10009 in 1"),
                (75, ASKED, ""),
                (75, Event::Ready, "pass say"),
                (76, EXITED, "say end 3"),
            ],
        ),
        (
            "a drill on its way out",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, CALLED_OFF, ""),
                (7, Event::Drill, ""),
                (8, EXITED, "saved=10008 say resume"),
            ],
        ),
        (
            "a request from before the start counts, one that is over does not",
            &[
                (101, CHECKED, ""),
                (101, Event::Ready, ""),
                (102, Event::Looked(Cause::Check, Answer::Unknown), ""),
                (103, CHECKED_OFF, ""),
            ],
        ),
        (
            "a request from before the start",
            &[(1, CHECKED, ""), (1, Event::Ready, "pass say")],
        ),
    ];
    tell(ALONE, stories);
}

#[test]
fn stories_of_ends_without_a_save() {
    let asked: [(u64, Event, &str); 2] = [(5, ASKED, ""), (5, Event::Ready, "pass say")];
    let table: [(&str, Event, &str); 4] = [
        (
            "epochs are left: back into the queue",
            ENDED_UNFINISHED,
            "say requeue",
        ),
        (
            "it may be finished or not",
            Event::Exited {
                code: 0,
                training: Training::Unknown,
            },
            "say end 0",
        ),
        ("a failure is shown as one", DIED, "say end 138"),
        ("finished", FINISHED, "end 0"),
    ];
    for (name, event, expected) in table {
        let mut machine = Machine::new(ALONE);
        for (second, event, _) in asked {
            _ = machine.on(event, at(second));
        }
        let done: Vec<_> = machine.on(event, at(6)).iter().map(shown).collect();
        assert_eq!(done.join(" "), expected, "{name}");
    }
}

#[test]
fn the_time_that_a_checkpoint_lay_still_is_no_part_of_the_save() {
    let mut machine = Machine::new(ALONE);
    _ = machine.on(ASKED, at(10));
    _ = machine.on(Event::Ready, at(10));
    let ago = Duration::from_secs(5);
    let done: Vec<_> = machine
        .on(Event::Saved { ago }, at(18))
        .iter()
        .map(shown)
        .collect();
    assert_eq!(done, ["saved=10013 in 3"]);
}

#[test]
fn stories_of_others() {
    tell(
        MUTE,
        &[(
            "a rank that does not speak passes the signal on and ends with its program",
            &[
                (5, Event::AskSignal, ""),
                (5, Event::Ready, "pass say"),
                (6, EXITED, "end 3"),
            ],
        )],
    );
    tell(
        FIRST_OF_MANY,
        &[(
            "a rank that speaks holds, and cannot start the others",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, SAVED, "saved=10006 in 1"),
                (6, EXITED, "say"),
                (9, CALLED_OFF, "say requeue"),
                (10, Event::Terminate, "end 143"),
            ],
        )],
    );
    tell(
        Circumstances {
            can_ask: false,
            ..ALONE
        },
        &[(
            "nothing makes it save",
            &[(5, ASKED, ""), (5, Event::Ready, ""), (6, EXITED, "end 3")],
        )],
    );
    tell(
        Circumstances {
            can_ask: false,
            ..ALONE
        },
        &[(
            "it says only later that it can save",
            &[
                (5, ASKED, ""),
                (6, Event::CanSave, "look"),
                (6, CHECKED, ""),
                (6, Event::Ready, "pass say"),
                (7, Event::CanSave, ""),
                (8, SAVED, "saved=10008 in 2"),
            ],
        )],
    );
    tell(
        Circumstances {
            save: SaveKind::Epoch,
            ..ALONE
        },
        &[(
            "the wait for the epoch's end is no part of the save",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (50, Event::Progressed, ""),
                (53, SAVED, "saved=10053 in 3"),
            ],
        )],
    );
}

fn tell(circumstances: Circumstances, stories: &[(&str, Story)]) {
    for (name, story) in stories {
        let mut machine = Machine::new(circumstances);
        for (step, (second, event, expected)) in story.iter().enumerate() {
            let done: Vec<_> = machine.on(*event, at(*second)).iter().map(shown).collect();
            assert_eq!(done.join(" "), *expected, "{name}, step {step}: {event:?}");
        }
    }
}

fn at(second: u64) -> Now {
    Now {
        monotonic: Duration::from_secs(second),
        unix: UnixTime(START_UNIX + i64::try_from(second).expect("small")),
    }
}

fn shown(action: &Action) -> String {
    match action {
        Action::Look(_) => "look".to_owned(),
        Action::Pass => "pass".to_owned(),
        Action::Acknowledge { saved, save_s: None } => format!("saved={saved}"),
        Action::Acknowledge {
            saved,
            save_s: Some(save_s),
        } => format!("saved={saved} in {}", save_s.0),
        Action::NoteSave => "note".to_owned(),
        Action::Resume => "resume".to_owned(),
        Action::Requeue => "requeue".to_owned(),
        Action::Kill => "kill".to_owned(),
        Action::End(code) => format!("end {code}"),
        Action::Say(_) => "say".to_owned(),
    }
}
