// SPDX-License-Identifier: GPL-2.0-or-later
//! Replays of a trace of a real cluster.

use crate::{allocations, median, ratio};
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::time::Duration;
use surgent::policy::settings::Settings;
use surgent::replay::sim::{Case, Replayed, replay};
use surgent::replay::trace;
use surgent::replay::way::{WAYS, Way};
use surgent::replay::workload::{Assumptions, Machine, Workload};

/// The machine of the goal, on which the trace leaves room, and a smaller one that it fills.
const MACHINES: [u32; 2] = [100, 60];

fn lines(path: &PathBuf) -> usize {
    let file = File::open(path).expect("the trace can be read");
    BufReader::new(file).lines().map_while(Result::ok).count()
}

fn read(path: &PathBuf) -> trace::Trace {
    let file = File::open(path).expect("the trace can be read");
    trace::read(BufReader::new(file)).expect("a trace")
}

pub fn replays() {
    let folder = std::env::var_os("SURGENT_TRACES").map_or_else(|| "../shared/traces".into(), PathBuf::from);
    let path = folder.join("helios_15k.csv");
    if !path.exists() {
        println!(
            "\nreplays: skipped, for there is no {}; name its folder in SURGENT_TRACES",
            path.display()
        );
        return;
    }
    let counting = median(9, || lines(&path));
    let reading = median(9, || read(&path));
    let trace = read(&path);
    println!(
        "\nreplays of Helios, one thread; reading the trace takes {:.1} ms, {:.1} times what counting its lines takes",
        reading.as_secs_f64() * 1e3,
        ratio(reading, counting)
    );
    let settings = Settings::default();
    for nodes in MACHINES {
        let machine = Machine {
            nodes,
            gpus_per_node: 8,
        };
        let workload = Workload::new(&trace, machine, &Assumptions::default());
        println!(
            "  {} jobs on {nodes} nodes with 8 GPUs each; x: as many times as without stopping anybody, or as reading the trace",
            workload.jobs.len()
        );
        let run = |way: Way| -> Replayed {
            let case = Case {
                machine,
                jobs: &workload.jobs,
                way,
                settings: &settings,
                keeps_epochs: true,
                seed: 1,
            };
            replay(case, |_| true)
        };
        let never = median(3, || run(Way::Never));
        for way in WAYS {
            let time = median(3, || run(way));
            let peak_bytes = allocations::peak_bytes_of(|| {
                black_box(run(way));
            });
            show(way, time, never, reading, peak_bytes);
        }
    }
}

fn show(way: Way, time: Duration, never: Duration, reading: Duration, peak_bytes: usize) {
    println!(
        "    {way:20} {:7.0} ms ({:4.1} x, {:5.0} x) {:6.1} MiB",
        time.as_secs_f64() * 1e3,
        ratio(time, never),
        ratio(time, reading),
        peak_bytes as f64 / f64::from(1 << 20),
    );
}
