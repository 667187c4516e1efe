// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading what a comment and an AdminComment say.

use crate::{median, ratio};
use std::hint::black_box;
use surgent::policy::directives;
use surgent::policy::record::Record;

/// Each is read so often at a stretch.
const TIMES: u32 = 1000;

pub fn comments() {
    let comment = black_box(
        &b"resnet sweep 7 epochs=90 epoch=12.25 epoch_s=318 at=1764410000 save=step save_s=12 saved=1764409000 signal=USR1@batch"[..],
    );
    let record =
        black_box(&b"surgent{class=normal first=1764410000 preempted=1 by=17} note of an administrator"[..]);
    println!("comments; x: as many times as looking at each byte once");
    let reading = median(41, || {
        (0..TIMES)
            .map(|_| black_box(comment).iter().filter(|byte| **byte == b'=').count())
            .sum::<usize>()
    });
    let show = |name: &str, run: &dyn Fn() -> bool| {
        let time = median(41, || (0..TIMES).filter(|_| run()).count());
        println!(
            "  {name:34} {:6.1} ns ({:5.1} x)",
            time.as_secs_f64() * 1e9 / f64::from(TIMES),
            ratio(time, reading)
        );
    };
    show("urgent or not, by the record", &|| {
        Record::is_urgent_fast(black_box(record))
    });
    show("the whole record", &|| Record::read(black_box(record)).is_some());
    show("a comment without directives", &|| {
        directives::parse(black_box(b"my third attempt with the larger batch")).is_ok()
    });
    show("urgent or not, by a comment", &|| {
        directives::parse(black_box(b"urgency=urgent")).is_ok()
    });
    show("a comment with nine directives", &|| {
        directives::parse(black_box(comment)).is_ok()
    });
}
