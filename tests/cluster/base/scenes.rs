// SPDX-License-Identifier: GPL-2.0-or-later
//! Small scenes in which normal jobs preempt normal jobs, by the tiers of their partitions or by their QOS.

use crate::support::{Cluster, JobId, LIMIT, Outcome};
use std::collections::BTreeSet;

/// Stays, and tells of each warning.
const STAYER: &str = r#"
srun --nodes=1 --ntasks=1 bash -c '
    trap "echo warned" TERM
    echo "up $SLURM_RESTART_COUNT"
    while :; do sleep 1 & wait $!; done
'
"#;

/// Where scenes are played.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub cluster: &'a Cluster,
    /// What decides who preempts whom: the option of sbatch that names it.
    pub by: &'static str,
}

/// What became of each job of a scene.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    scene: &'static str,
    jobs: Vec<SeenJob>,
}

#[derive(Debug, PartialEq, Eq)]
struct SeenJob {
    name: String,
    state: String,
    reason: String,
    exit: String,
    nodes: String,
    restarts: u32,
    notices: BTreeSet<String>,
}

struct Scene<'a> {
    site: Site<'a>,
    name: &'static str,
    jobs: Vec<(String, JobId)>,
}

impl<'a> Scene<'a> {
    fn new(site: Site<'a>, name: &'static str) -> Self {
        Self {
            site,
            name,
            jobs: Vec::new(),
        }
    }

    /// Submits a job that takes whole nodes.
    fn submit(&mut self, name: &str, class: &str, nodes: &str, script: &str) -> Outcome<JobId> {
        let full_name = format!("{}-{name}", self.name);
        let id = self.site.cluster.sbatch(
            &[
                "--exclusive",
                "--requeue",
                &format!("--job-name={full_name}"),
                &format!("{}={class}", self.site.by),
                nodes,
            ],
            script,
        )?;
        self.jobs.push((full_name, id));
        Ok(id)
    }

    /// A job that runs on these nodes when this returns.
    fn stays(&mut self, name: &str, class: &str, nodes: &str) -> Outcome<JobId> {
        let id = self.submit(name, class, &format!("--nodelist={nodes}"), STAYER)?;
        self.site.cluster.wait_for_state(id, "RUNNING", LIMIT)?;
        self.site
            .cluster
            .wait_for_output(&format!("{}-{name}", self.name), "up", LIMIT)?;
        Ok(id)
    }

    /// Waits until nobody is on the way out, takes down what is seen, and clears the cluster.
    fn end(self) -> Outcome<Seen> {
        let mut jobs = Vec::new();
        let cluster = self.site.cluster;
        cluster.wait_for("all jobs to be where they end up", LIMIT, |cluster| {
            let states = cluster.ask("squeue", &["-h", "-o", "%T"])?;
            Ok(!states.contains("COMPLETING"))
        })?;
        for (name, id) in &self.jobs {
            let job = cluster.job(*id)?;
            let nodes = job.get("NodeList");
            jobs.push(SeenJob {
                name: name.clone(),
                state: job.state().to_owned(),
                reason: job.get("Reason").to_owned(),
                exit: job.get("ExitCode").to_owned(),
                nodes: nodes.to_owned(),
                restarts: job.restarts(),
                notices: notices(&cluster.output(name)),
            });
        }
        for (_, id) in &self.jobs {
            // One that is over already is no failure.
            let _ = cluster.ask("scancel", &[&id.to_string()]);
        }
        cluster.wait_for("all nodes to be idle", LIMIT, |cluster| {
            let states = cluster.ask("sinfo", &["-h", "-N", "-o", "%T"])?;
            Ok(states.lines().all(|state| state == "idle"))
        })?;
        Ok(Seen {
            scene: self.name,
            jobs,
        })
    }
}

impl Seen {
    fn states(&self) -> Vec<(&str, u32)> {
        self.jobs
            .iter()
            .map(|job| (job.state.as_str(), job.restarts))
            .collect()
    }
}

/// What the job was told of its end, without the times. Several programs write it at once, in no order.
fn notices(output: &str) -> BTreeSet<String> {
    let notice = |line: &str| match line.split_once(" CANCELLED AT ") {
        Some((who, when)) => {
            let cause = when.split_once(' ').map_or("", |(_, cause)| cause);
            Some(format!("{who} {cause}"))
        }
        None => (line == "warned").then(|| line.to_owned()),
    };
    output.lines().filter_map(notice).collect()
}

const SHORT: &str = "echo high";

/// Those that do not depend on the order that slurm.conf asks for.
pub fn all(site: Site<'_>) -> Outcome<Vec<Seen>> {
    let scenes = [
        requeued,
        cancelled,
        graced,
        spared,
        of_one_class,
        the_smallest_first,
    ];
    scenes.into_iter().map(|scene| scene(site)).collect()
}

fn requeued(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "requeued");
    for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "n3"), ("d", "n4")] {
        scene.stays(name, "low", node)?;
    }
    let high = scene.submit("high", "high", "--nodes=2", SHORT)?;
    cluster.wait_for_state(high, "COMPLETED", LIMIT)?;
    let seen = scene.end()?;
    let requeued = seen.states().iter().filter(|job| **job == ("PENDING", 1)).count();
    assert_eq!(requeued, 2, "{seen:?}");
    Ok(seen)
}

fn cancelled(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "cancelled");
    scene.stays("a", "cancelled", "n[1-4]")?;
    // Several nodes come free, in no order.
    let high = scene.submit("high", "high", "--nodelist=n1", SHORT)?;
    cluster.wait_for_state(high, "COMPLETED", LIMIT)?;
    let seen = scene.end()?;
    assert_eq!(seen.states()[0], ("PREEMPTED", 0), "{seen:?}");
    Ok(seen)
}

fn graced(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "graced");
    let warned = scene.stays("a", "graced", "n[1-4]")?;
    // Several nodes come free, in no order.
    let high = scene.submit("high", "high", "--nodelist=n1", SHORT)?;
    cluster.wait_for_output("graced-a", "warned", LIMIT)?;
    assert_eq!(cluster.job(warned)?.state(), "RUNNING", "it has five seconds");
    cluster.wait_for_state(high, "COMPLETED", 2 * LIMIT)?;
    let seen = scene.end()?;
    assert_eq!(seen.states()[0], ("PENDING", 1), "{seen:?}");
    Ok(seen)
}

fn spared(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "spared");
    scene.stays("a", "spared", "n[1-2]")?;
    scene.stays("b", "low", "n3")?;
    scene.stays("c", "low", "n4")?;
    let too_many = scene.submit("three", "high", "--nodes=3", SHORT)?;
    wait_for_reason(cluster, too_many, "Resources")?;
    let fits = scene.submit("one", "high", "--nodelist=n4", SHORT)?;
    cluster.ask("scontrol", &["top", &fits.to_string()])?;
    cluster.wait_for_state(fits, "COMPLETED", LIMIT)?;
    let seen = scene.end()?;
    assert_eq!(
        seen.states()[..4],
        [("RUNNING", 0), ("RUNNING", 0), ("PENDING", 1), ("PENDING", 0)],
        "{seen:?}"
    );
    Ok(seen)
}

fn of_one_class(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "class");
    scene.stays("a", "high", "n[1-4]")?;
    let other = scene.submit("b", "high", "--nodes=1", SHORT)?;
    wait_for_reason(cluster, other, "Resources")?;
    let lower = scene.submit("c", "low", "--nodes=1", SHORT)?;
    cluster.wait_for("the last one to be tried", LIMIT, |cluster| {
        Ok(["Resources", "Priority"].contains(&cluster.job(lower)?.get("Reason")))
    })?;
    let seen = scene.end()?;
    assert_eq!(seen.states(), [("RUNNING", 0), ("PENDING", 0), ("PENDING", 0)]);
    Ok(seen)
}

fn the_smallest_first(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "smallest");
    scene.stays("two", "low", "n[1-2]")?;
    scene.stays("one", "low", "n3")?;
    scene.stays("other", "low", "n4")?;
    let high = scene.submit("high", "high", "--nodes=1", SHORT)?;
    cluster.wait_for_state(high, "COMPLETED", LIMIT)?;
    let seen = scene.end()?;
    assert_eq!(seen.states()[0], ("RUNNING", 0), "{seen:?}");
    Ok(seen)
}

pub fn the_youngest_first(site: Site<'_>) -> Outcome<Seen> {
    let cluster = site.cluster;
    let mut scene = Scene::new(site, "youngest");
    for (name, node) in [("a", "n4"), ("b", "n2"), ("c", "n1"), ("d", "n3")] {
        scene.stays(name, "low", node)?;
        // Slurm counts starts in whole seconds.
        std::thread::sleep(std::time::Duration::from_millis(1100));
    }
    let high = scene.submit("high", "high", "--nodes=2", SHORT)?;
    cluster.wait_for_state(high, "COMPLETED", LIMIT)?;
    let seen = scene.end()?;
    let requeued = ("PENDING", 1);
    assert_eq!(seen.states()[2..4], [requeued, requeued], "{seen:?}");
    Ok(seen)
}

/// Waits until Slurm has tried the job, and says this of it.
pub fn wait_for_reason(cluster: &Cluster, id: JobId, reason: &str) -> Outcome {
    cluster.wait_for(&format!("job {id} to wait for {reason}"), LIMIT, |cluster| {
        Ok(cluster.job(id)?.get("Reason") == reason)
    })
}
