// SPDX-License-Identifier: GPL-2.0-or-later
//! Choices with which a search once went wrong, with the best known by construction.

use crate::cluster::{Dice, NOW};
use crate::{parts, tables};
use surgent::policy::directives;
use surgent::policy::facts::{Facts, Holding, RunningJob};
use surgent::policy::fit::Ledger;
use surgent::policy::ids::NodeIndex;
use surgent::policy::plan::{Constraints, Outcome, Plan, plan};
use surgent::policy::request::Request;
use surgent::policy::resources::Amounts;
use surgent::policy::settings::Settings;
use surgent::policy::units::UnixTime;

/// A job alone on its node.
#[derive(Clone, Copy)]
struct Tenant {
    /// What it holds of the node's eight.
    gpus: u64,
    save_s: u32,
    priority: u32,
}

/// Nodes of eight GPUs with one tenant each.
fn cluster(tenants: &[Tenant], request: Request, gpus_per_job: u64) -> Facts {
    let mut facts = Facts::at(UnixTime(NOW));
    let gpu = facts.gres.id("gpu", None);
    for (index, tenant) in (0..).zip(tenants) {
        let gpus = |count: u64| {
            let mut amounts = Amounts::new(count as u32, 1000 * count);
            amounts.add_gres(gpu, count);
            amounts
        };
        facts.nodes.push(parts::node(index, gpus(8)));
        let comment = format!(
            "signal=USR1@batch save_s={} priority={}",
            tenant.save_s, tenant.priority
        );
        facts.running.push(RunningJob {
            holdings: vec![Holding {
                node: NodeIndex(index),
                amounts: gpus(tenant.gpus),
            }],
            directives: directives::parse(comment.as_bytes()).ok(),
            ..tables::job(index + 1, "")
        });
    }
    let request = Request {
        candidates: (0..).map(NodeIndex).take(tenants.len()).collect(),
        gres: parts::in_all(gpu, gpus_per_job),
        ..request
    };
    facts.waiting.push(parts::waiting(1_000_000, request));
    facts
}

fn decide(facts: &Facts) -> Plan {
    let settings = Settings::parse("[urgent]\nwait_weight = 1\n").unwrap();
    let outcome = plan(
        facts,
        &Ledger::of(facts),
        &facts.waiting[0],
        &Constraints::default(),
        &settings,
    );
    match outcome {
        Outcome::Stop(plan) => plan,
        outcome => panic!("{outcome:?}"),
    }
}

/// By the page on policy, with the defaults; without the waiting.
fn cost(tenant: &Tenant) -> f64 {
    let weight = 10f64.powf((f64::from(tenant.priority) - 50.0) / 50.0);
    tenant.gpus as f64 * (1.0 + f64::from(tenant.save_s) + 60.0) * weight
}

/// Each node has one GPU to spare, of which the urgent job wants one more than there are. There are far more such nodes
/// than a search of the cheapest would look at, and with any of them left out more victims are needed than one.
#[test]
fn what_many_nodes_give_for_nothing_is_used() {
    for seed in 0..20 {
        let mut dice = Dice(seed);
        let count = dice.within(200, 600);
        let tenants: Vec<Tenant> = (0..count)
            .map(|_| Tenant {
                gpus: 7,
                save_s: dice.within(1, 200) as u32,
                priority: dice.within(0, 100) as u32,
            })
            .collect();
        let request = Request {
            min_nodes: 1,
            cpus_per_task: 1,
            ..Request::default()
        };
        let plan = decide(&cluster(&tenants, request, count + 1));
        let best = tenants
            .iter()
            .map(|tenant| cost(tenant) + f64::from(tenant.save_s))
            .fold(f64::INFINITY, f64::min);
        assert_eq!(plan.victims.len(), 1, "seed {seed}");
        assert!(
            (plan.total_gpu_s - best).abs() < 1e-6 * best,
            "seed {seed}: {} and not {best}",
            plan.total_gpu_s
        );
    }
}

/// Whole nodes are wanted, one tenant each, so the best set for each waiting time is known: the cheapest of those who are
/// ready by then. It may be ready later or sooner than the first set that comes to mind.
#[test]
fn sets_that_are_ready_later_or_sooner_are_tried() {
    let (mut later, mut sooner) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let wanted = dice.within(2, 12) as usize;
        let times: Vec<u32> = (0..dice.within(2, 5))
            .map(|_| dice.within(1, 250) as u32)
            .collect();
        let tenants: Vec<Tenant> = (0..dice.within(40, 90))
            .map(|_| Tenant {
                gpus: 8,
                save_s: dice.pick(&times),
                priority: dice.within(0, 40) as u32,
            })
            .collect();
        let request = Request {
            min_nodes: wanted as u32,
            cpus_per_task: 1,
            cpus_per_node: 8,
            ..Request::default()
        };
        let plan = decide(&cluster(&tenants, request, 0));
        let by = |ready_s: u32| {
            let mut costs: Vec<f64> = tenants
                .iter()
                .filter(|tenant| tenant.save_s <= ready_s)
                .map(cost)
                .collect();
            costs.sort_by(f64::total_cmp);
            (costs.len() >= wanted).then(|| costs[..wanted].iter().sum::<f64>() + f64::from(ready_s))
        };
        let totals = times.iter().filter_map(|time| Some((by(*time)?, *time)));
        let (best, ready_s) = totals.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!(
            (plan.total_gpu_s - best).abs() < 1e-6 * best,
            "seed {seed}: {} and not {best}",
            plan.total_gpu_s
        );
        later += usize::from(Some(&ready_s) == times.iter().max());
        sooner += usize::from(Some(&ready_s) != times.iter().max());
    }
    println!("{later} of the best sets are ready last, {sooner} before");
    assert!(later > 50 && sooner > 50);
}
