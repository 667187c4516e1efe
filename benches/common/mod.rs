// SPDX-License-Identifier: GPL-2.0-or-later
//! What the benches on a real slurmctld share: how they are run, how a cluster is filled, and what slurmctld says of
//! itself. Each of them uses a part.

mod controller;
mod filling;
mod run;

pub use controller::{Look, Rpc, Sdiag, after, cpu_s, looks, planner_cpu_s, quantile, rss_mib};
pub use filling::wait_until_started;
pub use run::{number, run};
