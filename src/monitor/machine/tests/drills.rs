// SPDX-License-Identifier: GPL-2.0-or-later

use super::*;

#[test]
fn stories_of_drills() {
    let stories: &[(&str, Story)] = &[
        (
            "saves and goes on; the next one is asked anew",
            &[
                (5, Event::Drill, ""),
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 2"),
                (8, Event::Acknowledged, ""),
                (9, Event::Drill, ""),
                (9, Event::Ready, "pass say"),
                (10, Event::Terminate, ""),
            ],
        ),
        (
            "saves and ends: starts again at once",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 2"),
                (7, EXITED, "say resume"),
            ],
        ),
        (
            "dies of the signal: starts again",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (6, DIED, "say resume"),
            ],
        ),
        (
            "fails long after a drill that it did not answer",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (600, DIED, "say end 138"),
            ],
        ),
        (
            "finishes during a drill",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (6, FINISHED, "end 0"),
            ],
        ),
        (
            "a request that comes while it saves is served by that save",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (6, ASKED, ""),
                (6, Event::Ready, ""),
                (7, SAVED, "saved=10007 in 2"),
                (7, EXITED, "say"),
                (9, Event::Terminate, "end 143"),
            ],
        ),
        (
            "a request that comes after it asks again",
            &[
                (5, Event::Drill, ""),
                (5, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 2"),
                (8, ASKED, ""),
                (8, Event::Ready, "pass say"),
            ],
        ),
        (
            "one that comes during a request, or after its save, asks nothing",
            &[
                (5, ASKED, ""),
                (5, Event::Ready, "pass say"),
                (6, Event::Drill, ""),
                (6, Event::Ready, ""),
                (7, SAVED, "saved=10007 in 2"),
                (8, Event::Drill, ""),
                (8, Event::Ready, ""),
                (9, EXITED, "say"),
                (9, Event::Drill, "saved=10009"),
            ],
        ),
        (
            "outlives a request that is called off before the program can be asked",
            &[
                (5, Event::Drill, ""),
                (6, ASKED, ""),
                (7, CALLED_OFF, ""),
                (7, CALLED_OFF, ""),
                (8, Event::Ready, "pass say"),
                (9, SAVED, "saved=10009 in 1"),
            ],
        ),
        (
            "outlives a request that came before it",
            &[
                (5, ASKED, ""),
                (6, Event::Drill, ""),
                (7, Event::Ready, "pass say"),
                (8, CALLED_OFF, ""),
                (9, SAVED, "saved=10009 in 2"),
                (9, EXITED, "say resume"),
            ],
        ),
        (
            "outlives the deadline of a request",
            &[
                (5, ASKED, ""),
                (6, Event::Drill, ""),
                (100, Event::Tick, "say"),
                (101, Event::Ready, "pass say"),
                (102, SAVED, "saved=10102 in 1"),
            ],
        ),
        (
            "is answered only once",
            &[
                (5, Event::Drill, ""),
                (6, Event::Ready, "pass say"),
                (7, SAVED, "saved=10007 in 1"),
                (8, ASKED, ""),
                (8, CALLED_OFF, ""),
                (8, Event::Ready, ""),
            ],
        ),
    ];
    tell(ALONE, stories);
    let mute: Story = &[
        (5, Event::Drill, ""),
        (5, Event::Ready, "pass say"),
        (6, EXITED, "end 3"),
    ];
    tell(MUTE, &[("a rank that does not speak passes it on", mute)]);
    let cannot = Circumstances {
        can_ask: false,
        ..ALONE
    };
    tell(cannot, &[("nothing makes it save", &[(5, Event::Drill, "say")])]);
}
