// SPDX-License-Identifier: GPL-2.0-or-later
//! Large clusters.

use crate::cluster::{Dice, Size, random};
use surgent::policy::fit::Ledger;
use surgent::policy::plan::{Constraints, Outcome, plan};

#[test]
fn look() {
    for seed in 0..24 {
        let mut dice = Dice(seed);
        let size = Size {
            nodes: 200,
            jobs: 1500,
            span: 8,
            wanted: 24,
        };
        let (facts, settings) = random(&mut dice, size);
        let t = std::time::Instant::now();
        let ledger = Ledger::of(&facts);
        let lt = t.elapsed();
        let t = std::time::Instant::now();
        let outcome = plan(&facts, &ledger, &facts.waiting[0], &Constraints { patience_over: true, ..Default::default() }, &settings);
        match outcome {
            Outcome::Stop(plan) => println!("{seed}: {} jobs, {lt:?} {:?}: {} victims, nodes {} total {:.0} >= {:.0}", facts.running.len(), t.elapsed(), plan.victims.len(), plan.nodes.len(), plan.total_gpu_s, plan.at_least_gpu_s),
            Outcome::Fits { .. } => println!("{seed}: fits {:?}", t.elapsed()),
            Outcome::NoSet { .. } => println!("{seed}: none {:?}", t.elapsed()),
            Outcome::Wait(wait) => println!("{seed}: wait {wait:?}"),
        }
    }
}
