// SPDX-License-Identifier: GPL-2.0-or-later
//! Asks Slurm's commands.

use super::assemble::{AsUrgent, Parts, Site, facts, is_waiting_urgent};
use super::defaults;
use super::details::Details;
use super::list::{self, Listed};
use super::places::{self, Nodes, Places, partitions, reservations};
use super::texts::{self, TEXTS, WHOLE_TEXTS};
use super::waiting::WISHES;
use super::{Seen, ShowError};
use crate::policy::ids::JobId;
use crate::policy::resources::GresTable;
use crate::policy::units::UnixTime;
use crate::slurm::command::{Bounds, CommandError, Environment, run_up_to};
use crate::slurm::config::{Config, Version};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Each command has so long; with 50,000 jobs one takes a few seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Each may print so much: 50,000 jobs are about 100 MB.
const OUTPUT_BYTES_MAX: usize = 400 << 20;

/// So many jobs are asked about in one command.
const JOBS_EACH: usize = 1000;

/// So many jobs whose numbers others claim are asked about one by one; of more, what they hold is spread evenly.
const ALONE_MAX: usize = 32;

/// The release from which on a requeued job gets a new priority.
const REQUEUE_TAKES_PLACE: Version = Version {
    major: 24,
    minor: 5,
    micro: 0,
};

/// Looks at the whole cluster. Needs no rights; what the site hides from this user is missing and said in
/// [`Seen::gaps`].
///
/// # Errors
///
/// Where one of Slurm's commands gives no answer.
pub fn look(environment: &Environment) -> Result<Seen, ShowError> {
    Ok(look_as(environment, &|_| false)?.0)
}

/// The same, with waiting jobs that `as_urgent` names taken for urgent, and with the places where jobs may run.
///
/// # Errors
///
/// As [`look`].
pub fn look_as(environment: &Environment, as_urgent: &AsUrgent<'_>) -> Result<(Seen, Places), ShowError> {
    let config = Config::ask(environment)?;
    let slurm = Slurm::new(environment);
    let mut gaps: Vec<String> = hidden(&config).into_iter().collect();

    let (mut jobs, unread) = list::read(&slurm.squeue(&list::format())?);
    if unread > 0 {
        gaps.push(format!(
            "{unread} lines of squeue could not be read, and their jobs are missing"
        ));
    }
    let names = slurm.texts(&mut jobs, &mut gaps)?;
    let urgent: Vec<JobId> = jobs
        .iter()
        .filter(|job| is_waiting_urgent(job, as_urgent))
        .map(|job| job.job.id)
        .collect();
    let wishes = slurm.squeue_of(&urgent, &WISHES.format())?.concat();
    let mut table = GresTable::default();
    let nodes = Nodes::read(&slurm.show("node")?, &mut table);
    let printed = slurm.show("partition")?;
    let partitions = partitions(&printed, &nodes);
    let defaults = defaults::read(&printed);
    let reservations = reservations(&slurm.show("reservation")?, &nodes);
    let records = slurm.show("job")?;
    let details = Details::of(&records);
    let contested = details.contested();
    if contested.len() > ALONE_MAX {
        gaps.push(format!(
            "texts of some jobs pass for {} other jobs; what those hold on each node is an estimate",
            contested.len()
        ));
    }
    let mut alone = HashMap::new();
    for id in contested.into_iter().take(ALONE_MAX) {
        // What cannot be told of one job is taken as unknown; the others are still worth showing.
        if let Ok(printed) = slurm.scontrol(&["job", &id.to_string()]) {
            alone.insert(id, printed);
        }
    }
    let parts = Parts {
        now: now(),
        site: site(&config),
        nodes,
        partitions,
        reservations,
        jobs: &jobs,
        names: &names,
        details,
        alone: &alone,
        as_urgent,
        wishes: &wishes,
    };
    let facts = facts(&parts, table);
    let places = Places {
        nodes: parts.nodes,
        partitions: parts.partitions,
        reservations: parts.reservations,
        consumes_memory: parts.site.consumes_memory,
        memory: defaults::memory_of_site(&config),
        defaults,
    };
    let seen = Seen {
        facts,
        jobs: jobs.into_iter().map(|listed| listed.job).collect(),
        controller: config.controllers().next().unwrap_or_default().to_owned(),
        version: config
            .version()
            .map(|version| version.to_string())
            .unwrap_or_default(),
        gaps,
    };
    Ok((seen, places))
}

/// Slurm's commands, set to print what can be read again.
/// The names of all partitions.
///
/// # Errors
///
/// As [`look`].
pub fn partition_names(environment: &Environment) -> Result<BTreeSet<String>, CommandError> {
    let slurm = Slurm::new(environment);
    Ok(places::partition_names(&slurm.show("partition")?))
}

struct Slurm(Environment);

impl Slurm {
    fn new(environment: &Environment) -> Self {
        // Seconds instead of local time; arrays with all of their tasks.
        let environment = environment.with("SLURM_TIME_FORMAT", "%s");
        Self(environment.with("SLURM_BITSTR_LEN", "0"))
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<Vec<u8>, CommandError> {
        let bounds = Bounds {
            limit: LIMIT,
            stop: &|| false,
        };
        run_up_to(program.as_ref(), args, &self.0, &bounds, OUTPUT_BYTES_MAX)
    }

    fn scontrol(&self, what: &[&str]) -> Result<Vec<u8>, CommandError> {
        let args = [&["--all", "--details", "--oneliner", "show"], what].concat();
        self.run("scontrol", &args)
    }

    fn show(&self, what: &str) -> Result<Vec<u8>, CommandError> {
        self.scontrol(&[what])
    }

    fn squeue(&self, format: &str) -> Result<Vec<u8>, CommandError> {
        self.run(
            "squeue",
            &["--noheader", "--all", "--states=all", "--Format", format],
        )
    }

    /// Of these jobs only, in several parts.
    fn squeue_of(&self, jobs: &[JobId], format: &str) -> Result<Vec<Vec<u8>>, CommandError> {
        let ask = |some: &[JobId]| {
            let list: Vec<String> = some.iter().map(JobId::to_string).collect();
            let jobs = format!("--jobs={}", list.join(","));
            let asked = self.run(
                "squeue",
                &["--noheader", "--all", "--states=all", &jobs, "--Format", format],
            );
            match asked {
                // The only one has ended meanwhile and is forgotten.
                Err(error) if error.to_string().contains("Invalid job id") => Ok(Vec::new()),
                asked => asked,
            }
        };
        jobs.chunks(JOBS_EACH).map(ask).collect()
    }

    /// Puts names and comments into the jobs; the names byte for byte.
    fn texts(&self, jobs: &mut [Listed], gaps: &mut Vec<String>) -> Result<Vec<Vec<u8>>, ShowError> {
        let mut names = vec![Vec::new(); jobs.len()];
        let printed = self.squeue(&TEXTS.format())?;
        let cut = texts::put(&TEXTS, &printed, jobs, &mut names).ok_or(ShowError::NoTable)?;
        drop(printed);
        let mut still_cut = 0;
        for some in cut.chunks(JOBS_EACH) {
            match self.squeue_of(some, &WHOLE_TEXTS.format()) {
                Ok(parts) => {
                    let cut = texts::put(&WHOLE_TEXTS, &parts.concat(), jobs, &mut names);
                    still_cut += cut.ok_or(ShowError::NoTable)?.len();
                }
                // Of the other jobs there are many tasks with the same number.
                Err(CommandError::TooMuch { .. }) => still_cut += some.len(),
                Err(error) => return Err(error.into()),
            }
        }
        if still_cut > 0 {
            gaps.push(format!(
                "{still_cut} jobs have longer texts than could be read; the ends are missing"
            ));
        }
        Ok(names)
    }
}

fn site(config: &Config) -> Site {
    let select = config.get("SelectTypeParameters").unwrap_or_default();
    let has = |word: &str| select.contains(word);
    let by_priority = config
        .get("PriorityType")
        .is_some_and(|kind| kind.contains("basic"));
    let exempt = config
        .list("PreemptParameters")
        .find_map(|one| one.strip_prefix("min_exempt_priority="));
    Site {
        consumes_cpus: has("CPU") || has("CORE") || has("SOCKET"),
        consumes_memory: has("MEMORY"),
        loses_place: by_priority
            && config
                .version()
                .is_some_and(|version| version >= REQUEUE_TAKES_PLACE),
        exempt_above: exempt.and_then(|limit| limit.parse().ok()),
    }
}

/// What the site hides from ordinary users.
fn hidden(config: &Config) -> Option<String> {
    let private: Vec<&str> = config
        .list("PrivateData")
        .filter(|what| ["jobs", "nodes", "partitions", "reservations", "all"].contains(what))
        .collect();
    (!private.is_empty()).then(|| {
        format!(
            "this site hides {} of others from ordinary users (PrivateData in slurm.conf): what is hidden from you is missing here",
            private.join(", ")
        )
    })
}

fn now() -> UnixTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixTime(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
