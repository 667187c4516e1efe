// SPDX-License-Identifier: GPL-2.0-or-later
//! A job that does not exist, put among those that wait, as if it had been submitted now and were urgent.

use super::options::Submission;
use crate::policy::admission::applicant::need_of;
use crate::policy::admission::urgent_priority;
use crate::policy::directives::Urgency;
use crate::policy::facts::{Application, Choice, Facts, MemoryRequest, Request, WaitingJob};
use crate::policy::ids::{GroupId, JobId, NodeIndex, UserId};
use crate::policy::labels::{Labels, Name};
use crate::policy::node_set::NodeSet;
use crate::policy::record::Record;
use crate::policy::units::Seconds;
use crate::slurm::show::hostlist;
use crate::slurm::show::places::Places;
use crate::slurm::show::waiting::{Cluster, Where};
use crate::slurm::submit::{Defaults, Sharing};
use nix::unistd::{Gid, Uid, User};

/// Adds it to `facts` and gives the number that it goes by: one more than that of any job there. `places` are where jobs
/// may run; in a snapshot only the nodes are known.
///
/// # Errors
/// A sentence where Slurm would not take it, or more would have to be known.
pub(super) fn submit(
    asked: &Submission,
    facts: &mut Facts,
    places: Option<&Places>,
) -> Result<JobId, String> {
    let user = UserId(Uid::current().as_raw());
    let request = match places {
        Some(places) => in_cluster(asked, user, facts, places)?,
        None => in_snapshot(asked, user, facts)?,
    };
    let limit_s = match (asked.time_limit(), places) {
        (Some(limit_s), _) => limit_s,
        (None, Some(places)) => first_default(&partitions(asked, places)?, places)
            .and_then(|defaults| defaults.time_s)
            .map(|limit_s| Seconds(limit_s as f64)),
        (None, None) => None,
    };
    let id = next_number(facts);
    let (tasks, at_once) = asked.array.map_or((1, 1), |array| (array.tasks, array.at_once));
    let name = |text: &Option<String>| text.as_deref().map(|text| Name::from(text.to_ascii_lowercase()));
    let login = User::from_uid(Uid::current()).ok().flatten();
    let application = Application {
        user,
        group: Some(GroupId(Gid::current().as_raw())),
        labels: Labels {
            user: login.map(|user| Name::from(user.name)),
            account: name(&asked.account),
            qos: name(&asked.qos),
            partition: request
                .choices
                .first()
                .map(|choice| Name::from(choice.partition.as_str()))
                .filter(|name| !name.as_str().is_empty()),
        },
        array: None,
        need: need_of(&request, &facts.gres, (tasks, at_once), limit_s),
    };
    facts.waiting.push(WaitingJob {
        tasks: at_once,
        application: Some(application),
        record: Some(Record::new(Urgency::Urgent)),
        ..WaitingJob::new(id, urgent_priority(false), facts.now, request)
    });
    Ok(id)
}

fn next_number(facts: &Facts) -> JobId {
    let running = facts.running.iter().map(|job| job.id);
    let waiting = facts.waiting.iter().map(|job| job.id);
    let others = facts.parked.iter().map(|job| job.id);
    let ended = facts.ended.iter().map(|job| job.id);
    let last = running.chain(waiting).chain(others).chain(ended).max();
    JobId(last.map_or(1, |last| last.0.saturating_add(1)))
}

fn in_cluster(
    asked: &Submission,
    user: UserId,
    facts: &mut Facts,
    places: &Places,
) -> Result<Request, String> {
    let names = partitions(asked, places)?;
    let listed = |list: &Option<String>, option: &str| nodes_of(list, option, |name| places.nodes.find(name));
    let required = listed(&asked.nodelist, "--nodelist")?;
    let excluded = listed(&asked.exclude, "--exclude")?;
    let options = asked.options();
    let of_partition = first_default(&names, places).copied().unwrap_or_default();
    let defaults = Defaults {
        memory: match of_partition.memory {
            MemoryRequest::Unsaid => places.memory,
            said => said,
        },
        cpus_per_gpu: of_partition.cpus_per_gpu,
        mem_per_gpu_mib: of_partition.mem_per_gpu_mib,
        shares_memory: places.consumes_memory,
    };
    let mut request = options.request(user, &required, &defaults, &mut facts.gres)?;
    request.in_reservation = asked.reservation.is_some();
    if let Some(name) = &asked.reservation
        && !places.reservations.iter().any(|one| one.name == *name)
    {
        return Err(format!("--reservation: there is no reservation {name:?}"));
    }
    request.choices = Where {
        partitions: &names.join(","),
        reservation: asked.reservation.as_deref(),
        time_limit_s: asked.time_limit().flatten(),
        excluded: &excluded.into_iter().collect(),
        shares: options.sharing == Some(Sharing::Oversubscribe),
    }
    .choices(&Cluster {
        nodes: &places.nodes,
        partitions: &places.partitions,
        reservations: &places.reservations,
        now: facts.now,
        consumes_memory: places.consumes_memory,
    });
    if let Some(constraint) = &asked.constraint
        && crate::policy::features::Constraint::parse(constraint).is_none()
    {
        return Err(format!(
            "--constraint: {constraint:?} are no features as Slurm writes them, such as \"ib&a100\", \"a|b\" or \"[a*2&b*1]\""
        ));
    }
    let features: Vec<(NodeIndex, &[u8])> = places
        .nodes
        .features
        .iter()
        .map(|(node, features)| (*node, features.as_slice()))
        .collect();
    request.constrain(
        asked.constraint.as_deref().unwrap_or_default().as_bytes(),
        &features,
    );
    Ok(request)
}

/// In a snapshot there are no partitions, features or defaults: the job may use any node.
fn in_snapshot(asked: &Submission, user: UserId, facts: &mut Facts) -> Result<Request, String> {
    let unknown = [
        (!asked.partition.is_empty(), "partition"),
        (asked.constraint.is_some(), "constraint"),
        (asked.reservation.is_some(), "reservation"),
    ];
    if let Some((_, name)) = unknown.iter().find(|(asked, _)| *asked) {
        return Err(format!(
            "--{name}: a snapshot does not have what is needed for this; leave it out, or ask the cluster itself without --snapshot"
        ));
    }
    let find = |name: &str| {
        let node = facts.nodes.iter().find(|node| node.name == name);
        node.map(|node| node.index)
    };
    let required = nodes_of(&asked.nodelist, "--nodelist", find)?;
    let excluded = nodes_of(&asked.exclude, "--exclude", find)?;
    let options = asked.options();
    let candidates = facts.nodes.iter().map(|node| node.index);
    let candidates: NodeSet = candidates.filter(|node| !excluded.contains(node)).collect();
    let mut request = options.request(user, &required, &Defaults::default(), &mut facts.gres)?;
    request.choices = vec![Choice {
        nodes: candidates,
        ..Choice::default()
    }];
    Ok(request)
}

/// The partitions that it may run in: all known, and at least one.
fn partitions(asked: &Submission, places: &Places) -> Result<Vec<String>, String> {
    let names = match (&asked.partition[..], &places.defaults.partition) {
        ([], Some(default)) => vec![default.clone()],
        ([], None) => {
            return Err(
                "this cluster has no default partition; say with --partition where it is to run".to_owned(),
            );
        }
        (names, _) => names.to_vec(),
    };
    let known = |name: &&String| places.partitions.contains_key(*name);
    match names.iter().find(|name| !known(name)) {
        Some(unknown) => {
            let mut known: Vec<&str> = places.partitions.keys().map(String::as_str).collect();
            known.sort_unstable();
            Err(format!(
                "--partition: there is no partition {unknown:?}; there are {}",
                known.join(", ")
            ))
        }
        None => Ok(names),
    }
}

fn first_default<'a>(
    partitions: &[String],
    places: &'a Places,
) -> Option<&'a crate::slurm::show::defaults::JobDefaults> {
    places.defaults.of.get(partitions.first()?)
}

/// The nodes of a list, sorted, each once.
fn nodes_of(
    list: &Option<String>,
    option: &str,
    find: impl Fn(&str) -> Option<NodeIndex>,
) -> Result<Vec<NodeIndex>, String> {
    let Some(list) = list else { return Ok(Vec::new()) };
    if list.contains('/') {
        return Err(format!(
            "{option}: {list:?} is a file; write the nodes themselves, as in n[1-4,7]"
        ));
    }
    let names = hostlist::expand(list);
    if names.is_empty() {
        return Err(format!(
            "{option}: {list:?} are no nodes; write them as in n[1-4,7]"
        ));
    }
    let found = |name: &String| find(name).ok_or_else(|| format!("{option}: there is no node {name:?}"));
    let mut nodes: Vec<NodeIndex> = names.iter().map(found).collect::<Result<_, _>>()?;
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}
