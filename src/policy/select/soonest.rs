// SPDX-License-Identifier: GPL-2.0-or-later
//! Without stopping anybody: when enough jobs have ended by themselves.

use super::problem::Problem;
use super::spare::give_back;
use super::trial::{Pace, Trial};
use super::{Candidate, Terms};
use crate::policy::facts::RunningJob;
use crate::policy::fit::{Demand, Ledger};
use crate::policy::ids::NodeIndex;
use crate::policy::looks::Looks;
use smallvec::smallvec;

/// Jobs whose end makes room.
#[derive(Clone, Debug, PartialEq)]
pub struct Soonest {
    /// As places in what was given, in order.
    pub jobs: Vec<usize>,
    /// When the last of them has ended, in seconds from now.
    pub after_s: f64,
    /// Nodes on which the urgent job fits then.
    pub nodes: Vec<NodeIndex>,
}

/// The first moment at which `demand` fits because some of `ending` (in the order of their ids, each with the seconds
/// until it ends) have ended; `None` where it does not even when all have.
pub fn soonest(
    ledger: &Ledger,
    demand: &Demand,
    ending: &[(&RunningJob, f64)],
    looks: &Looks,
) -> Option<Soonest> {
    let candidates: Vec<Candidate<'_>> = ending
        .iter()
        .map(|&(job, ready_s)| Candidate {
            job,
            terms: smallvec![Terms {
                price_gpu_s: 0.0,
                ready_s,
            }],
        })
        .collect();
    let problem = Problem::new(ledger, demand, &candidates, 1.0, looks)?;
    let ends_s: Vec<f64> = problem.jobs.iter().map(|job| job.terms[0].ready_s).collect();
    let mut order: Vec<u32> = (0..).take(problem.jobs.len()).collect();
    order.sort_by(|a, b| {
        let end = |job: u32| ends_s[job as usize];
        end(*a).total_cmp(&end(*b)).then(a.cmp(b))
    });
    let mut trial = Trial::new(&problem);
    let mut pace = Pace::default();
    for job in order {
        if trial.fits_by_now(&mut pace) {
            break;
        }
        trial.set(job, true);
    }
    // Only those whose end is needed are waited for.
    give_back(&mut trial, &ends_s);
    Some(Soonest {
        nodes: trial.nodes()?,
        after_s: problem.total(trial.gone.iter().copied()).1,
        jobs: trial
            .found()
            .victims
            .into_iter()
            .map(|origin| origin as usize)
            .collect(),
    })
}
