// SPDX-License-Identifier: GPL-2.0-or-later
//! The tables of docs/evaluation.md: `make evaluation`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use surgent::policy::settings::Settings;
use surgent::replay::figures::Figures;
use surgent::replay::sim::{Case, replay};
use surgent::replay::trace::{self, Trace};
use surgent::replay::way::{Order, Saves, WAYS, Way};
use surgent::replay::workload::{Assumptions, Machine, Workload};

const MACHINE: Machine = Machine {
    nodes: 60,
    gpus_per_node: 8,
};

const TRACES: [(&str, &str); 2] = [("Helios", "helios_15k.csv"), ("Philly", "philly_15k_users.csv")];

/// The tables are of the first.
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

const SURGENT: Way = Way::Surgent { saves: true };

fn main() -> ExitCode {
    let folder = std::env::var_os("SURGENT_TRACES").map_or_else(|| "../shared/traces".into(), PathBuf::from);
    for (name, file) in TRACES {
        let path = folder.join(file);
        match read(&path) {
            Ok(trace) => evaluate(name, file, &trace),
            Err(sentence) => {
                eprintln!("{}: {sentence}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn read(path: &Path) -> Result<Trace, String> {
    let file =
        File::open(path).map_err(|error| format!("{error}; name the folder of the traces in TRACES"))?;
    trace::read(BufReader::new(file)).map_err(|error| error.to_string())
}

/// The figures of all ways, for one seed.
struct Comparison {
    figures: Vec<(Way, Figures)>,
}

impl Comparison {
    fn new(trace: &Trace, seed: u64) -> Self {
        let assumptions = Assumptions {
            seed,
            ..Assumptions::default()
        };
        let workload = Workload::new(trace, MACHINE, &assumptions);
        let settings = Settings::default();
        let figures = WAYS.map(|way| {
            let case = Case {
                machine: MACHINE,
                jobs: &workload.jobs,
                way,
                settings: &settings,
                keeps_epochs: true,
                seed,
            };
            (way, Figures::of(&workload.jobs, MACHINE, &replay(case, |_| true)))
        });
        Self {
            figures: figures.into(),
        }
    }

    /// The least of `value` among some ways.
    fn least(&self, among: impl Fn(Way) -> bool, value: impl Fn(&Figures) -> f64) -> f64 {
        let chosen = self.figures.iter().filter(|(way, _)| among(*way));
        chosen
            .map(|(_, figures)| value(figures))
            .fold(f64::INFINITY, f64::min)
    }
}

/// Whether this is an order of Slurm's own that saves nothing.
fn is_stock(way: Way) -> bool {
    matches!(
        way,
        Way::InOrder {
            order: Order::Youngest | Order::FewestNodes,
            saves: Saves::Never | Saves::GraceOnly
        }
    )
}

fn saves(way: Way) -> bool {
    matches!(
        way,
        Way::InOrder {
            saves: Saves::InGrace,
            ..
        }
    )
}

fn evaluate(name: &str, file: &str, trace: &Trace) {
    let seeds = SEEDS.map(|seed| Comparison::new(trace, seed));
    println!(
        "## {name}\n\n`surgent replay {file} --nodes {} --gpus-per-node {} --seed {}`\n",
        MACHINE.nodes, MACHINE.gpus_per_node, SEEDS[0]
    );
    println!(
        "| policy | urgent wait | lost GPU-h | victims | normal jobs' mean wait |\n|---|---|---|---|---|"
    );
    for (way, figures) in &seeds[0].figures {
        println!(
            "| {way} | {}, {} | {:.3} | {:.2} | {} |",
            time(figures.urgent_wait_s.p50),
            time(figures.urgent_wait_s.p95),
            figures.lost_gpu_h_per_start,
            figures.victims_per_start,
            time(figures.normal_wait_s.mean),
        );
    }
    let lost = |figures: &Figures| figures.lost_gpu_h_per_start;
    let wait_p95_s = |figures: &Figures| figures.urgent_wait_s.p95;
    let is_surgent = |way: Way| way == SURGENT;
    let of_seeds = |value: &dyn Fn(&Comparison) -> f64| seeds.iter().map(value).collect::<Vec<f64>>();
    let times_less =
        |others: fn(Way) -> bool| of_seeds(&|seed| seed.least(others, lost) / seed.least(is_surgent, lost));
    let losses = of_seeds(&|seed| seed.least(is_surgent, lost));
    let waits_s = of_seeds(&|seed| seed.least(is_surgent, wait_p95_s));
    let saving_waits_s = of_seeds(&|seed| seed.least(saves, wait_p95_s));
    println!(
        "\n| with seeds {} to {} | least | most |\n|---|---|---|",
        SEEDS[0],
        SEEDS[SEEDS.len() - 1]
    );
    let row = |what: &str, values: Vec<f64>, shown: &dyn Fn(f64) -> String| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        println!("| {what} | {} | {} |", shown(least), shown(most));
    };
    row("GPU-hours lost per urgent start with Surgent", losses, &|hours| {
        format!("{hours:.3}")
    });
    row(
        "times as much with the best order of Slurm's that saves nothing",
        times_less(is_stock),
        &|times| format!("{times:.1}"),
    );
    row(
        "times as much with the best order that saves",
        times_less(saves),
        &|times| format!("{times:.1}"),
    );
    row("95th percentile of the urgent waits with Surgent", waits_s, &time);
    row("the same with the best order that saves", saving_waits_s, &time);
    println!();
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s if s < 360_000.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}
