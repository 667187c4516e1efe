// SPDX-License-Identifier: GPL-2.0-or-later
//! How large the cluster is, how long it is measured, and what limits follow from that.

use crate::common::number;
use crate::support::Outcome;
use std::net::TcpListener;
use std::time::Duration;

/// Two jobs fill a node.
const JOBS_PER_NODE: u32 = 2;
/// Below those that the kernel gives to outgoing connections, and below those that clusters of tests take.
const PORTS: std::ops::Range<u16> = 1_100..10_500;

/// How large the cluster is, and how long it is measured.
#[derive(Clone, Copy)]
pub struct Size {
    /// Nodes, each of them a slurmd.
    pub nodes: u32,
    /// Jobs that wait.
    pub waiting: u32,
    /// How often each site has its turn.
    pub rounds: u32,
    /// How long it is measured each time.
    pub turn: Duration,
}

impl Size {
    /// From the environment.
    pub fn from_environment() -> Outcome<Self> {
        let nodes = number("SURGENT_BENCH_NODES", 300)?;
        Ok(Self {
            nodes,
            waiting: number("SURGENT_BENCH_WAITING", 7 * nodes)?,
            rounds: number("SURGENT_BENCH_ROUNDS", 5)?,
            turn: Duration::from_secs(number("SURGENT_BENCH_TURN_S", 60)?.into()),
        })
    }

    /// Jobs that run.
    pub fn running(self) -> u32 {
        self.nodes * JOBS_PER_NODE
    }

    /// The lines of slurm.conf that follow from the size, but those that say what nodes there are.
    pub fn limits(self) -> String {
        format!(
            // Nodes are late to answer where one machine plays all of them.
            "MaxJobCount={jobs}\n\
             MaxArraySize={jobs}\n\
             TreeWidth=65000\n\
             SlurmdTimeout=36000\n\
             BatchStartTimeout=3600\n\
             DebugFlags=NO_CONF_HASH\n",
            jobs = 2 * (self.running() + self.waiting) + 10_000,
        )
    }

    /// The first of so many ports in a row as there are nodes, on which nobody listens.
    pub fn free_ports(self) -> Outcome<u16> {
        let mut held: Vec<TcpListener> = Vec::new();
        for port in PORTS {
            match TcpListener::bind(("0.0.0.0", port)) {
                Ok(listener) => held.push(listener),
                Err(_) => held.clear(),
            }
            if held.len() == self.nodes as usize {
                return Ok(port - (held.len() - 1) as u16);
            }
        }
        Err(format!(
            "there are no {} free ports in a row in {PORTS:?}: a smaller SURGENT_BENCH_NODES will do",
            self.nodes
        )
        .into())
    }
}
