// SPDX-License-Identifier: GPL-2.0-or-later
//! Carrying out what a step decided: gates and nudges at once, the rest by Slurm's own commands.
//!
//! Commands run on a few threads side by side, each with a time limit, and never while a lock is held. One that
//! fails is logged and left: the next step sees from the facts that its work is not done.

mod complaints;

use self::complaints::Complaints;
use super::core::{Control, Core, Host};
use super::logger::printable;
use crate::policy::book::Action;
use crate::policy::directives::{SaveSignal, Urgency};
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::record::Record;
use crate::policy::settings::CommandSettings;
use crate::policy::units::{Seconds, UnixTime};
use crate::slurm::command::{Bounds, COMMANDS_MAX, CommandError, Environment, run};
use crate::slurm::ending::Ending;
use crate::slurm::job::target_options;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// scancel tells Slurm's "not now", of a job that is suspended, say, from no other failure: after 5 s it tries again, then
/// after 6, ten times in all. By then a new look at the cluster knows better.
const SIGNAL_LIMIT: Duration = Duration::from_millis(4500);

/// One command names at most so many jobs, which is well within its time limit.
const REQUEUED_MAX: usize = 500;

/// The planner's signal for "look at your record again", which bystanders ignore by default; only a monitor that
/// asked to be called so is told of a request that was taken back.
const MONITOR_SIGNAL: &str = "URG";

/// What has become of those actions that take a command of Slurm's.
#[derive(Debug, Default)]
pub struct Commands<'a> {
    /// They are done.
    pub done: Vec<&'a Action>,
    /// So many have failed. What came too late for a job that had ended is neither.
    pub failed: usize,
}

/// Carries out `actions`.
pub fn carry_out<'a>(
    core: &Core,
    host: &Host,
    facts: &Facts,
    actions: &'a [Action],
    settings: &CommandSettings,
) -> Commands<'a> {
    let mut commands = Vec::new();
    for action in actions {
        match action {
            Action::Say(sentence) => log::info!("{sentence}"),
            Action::OpenGate { urgent, victims } => core.gate.open(*urgent, victims.clone()),
            Action::ShutGate { urgent } => core.gate.shut(*urgent),
            // SAFETY: the shim's own function, which stays mapped; this thread holds no lock of Slurm's.
            Action::Nudge => unsafe { (host.nudge)() },
            _ => commands.push(action),
        }
    }
    if commands.is_empty() {
        return Commands::default();
    }
    // What the facts say of who runs is true of now, not of after other commands.
    commands.sort_by_key(|action| !matches!(action, Action::Requeue { .. } | Action::RequeueEnded { .. }));
    let runner = Runner::new(core, host, settings);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let failed = AtomicUsize::new(0);
    let work = || {
        while let Some(action) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
            match runner.carry_out(action, facts) {
                Ok(()) => done
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner())
                    .push(*action),
                Err(error) if error.is_too_late() => {
                    log::debug!(
                        "{}: the job has ended meanwhile",
                        printable(error.to_string().as_bytes())
                    );
                }
                Err(error) => {
                    failed.fetch_add(1, Ordering::Relaxed);
                    complain(&error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..commands.len().min(COMMANDS_MAX) {
            // Without a thread the others, or this one, do its work.
            let _ = std::thread::Builder::new()
                .name("surgent-cmd".into())
                .spawn_scoped(scope, work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(|poison| poison.into_inner());
    let failed = failed.into_inner();
    Commands { done, failed }
}

fn complain(error: &CommandError) {
    static COMPLAINTS: Mutex<Complaints> = Mutex::new(Complaints::new());
    let text = error.to_string();
    let mut complaints = COMPLAINTS.lock().unwrap_or_else(|poison| poison.into_inner());
    if complaints.is_news(&text, Instant::now()) {
        log::error!("{}", printable(text.as_bytes()));
    }
}

/// For `scontrol update`: a waiting job may start at once.
const NOW: &str = "StartTime=now";

/// And it may start after this.
fn in_time(time_s: Seconds) -> String {
    format!("{NOW}+{}", time_s.0.ceil())
}

struct Runner<'a> {
    core: &'a Core,
    host: &'a Host,
    /// What was decided is true of this time in control only.
    control: Option<Control>,
    scontrol: PathBuf,
    scancel: PathBuf,
    environment: Environment,
    limit: Duration,
}

impl<'a> Runner<'a> {
    fn new(core: &'a Core, host: &'a Host, settings: &CommandSettings) -> Self {
        Self {
            core,
            host,
            control: host.control(),
            scontrol: locate(&settings.scontrol),
            scancel: locate(&settings.scancel),
            environment: Environment::bare(Some(&host.slurm_conf)),
            limit: Duration::from_secs(settings.timeout_s),
        }
    }

    fn carry_out(&self, action: &Action, facts: &Facts) -> Result<(), CommandError> {
        match *action {
            Action::Ask {
                job,
                urgent,
                asked,
                deadline,
                signal,
            } => {
                let running = facts.job(job);
                self.rewrite(job, facts, &[], |record| {
                    // Slurm forgets these when it requeues the job.
                    record.first = record.first.or(running.and_then(|job| job.submit));
                    record.place = running.and_then(|job| job.traits.place);
                    record.ask = Some(urgent);
                    record.asked = Some(asked);
                    record.deadline = Some(deadline);
                })?;
                let how = match signal {
                    Some(signal) => {
                        self.signal(job, facts, signal)?;
                        signal.to_string()
                    }
                    None => "no save possible".to_owned(),
                };
                log::info!("{}", notes::asked(job, urgent, &how, &readable(deadline)));
                Ok(())
            }
            Action::CallOff { job, signal } => {
                self.rewrite(job, facts, &[], forget_request)?;
                log::info!("{}", notes::called_off(job));
                // Slurm refuses to signal a suspended job, and scancel tries again and again meanwhile.
                let hears = facts.job(job).is_some_and(|job| !job.traits.suspended);
                let signal = signal.filter(|signal| hears && signal.signal.as_str() == MONITOR_SIGNAL);
                if let Some(signal) = signal {
                    self.signal(job, facts, signal)?;
                }
                Ok(())
            }
            Action::Restore { job, stop, delayed } => {
                let mut more = Vec::new();
                if delayed {
                    more.push(NOW.to_owned());
                }
                more.extend(place(facts, job).map(|place| format!("Priority={place}")));
                self.rewrite(job, facts, &more, |record| {
                    forget_request(record);
                    record.note_stop(stop);
                })?;
                log::info!("{}", notes::restored(job, stop, delayed));
                Ok(())
            }
            Action::ShowWait {
                urgent,
                ref waits_for,
            } => {
                self.rewrite(urgent, facts, &[], |record| {
                    record.waits_for.clone_from(waits_for)
                })?;
                Ok(())
            }
            Action::Reclass {
                job,
                class,
                held,
                place,
            } => {
                if class == Urgency::Normal && !held {
                    // Slurm's word for "give it the priority that it would have by itself". Before the record, by which it
                    // is seen that something is left to be done.
                    let args = ["release".into(), address(facts, job).into()];
                    self.run(&self.scontrol, &args)?;
                }
                let place = (class == Urgency::Urgent && !held).then(|| format!("Priority={place}"));
                self.rewrite(job, facts, place.as_slice(), |record| record.class = class)?;
                log::info!("job {job} is {} now", class.as_str());
                Ok(())
            }
            Action::Requeue { ref jobs } => {
                for some in jobs.chunks(REQUEUED_MAX) {
                    let some: Vec<String> = some.iter().map(|job| address(facts, *job)).collect();
                    self.requeue_incomplete(&some.join(","))?;
                }
                Ok(())
            }
            Action::StartNow { job } => {
                let address = address(facts, job);
                self.start_at(&address, NOW)?;
                log::info!("{}", notes::hastened(&address));
                Ok(())
            }
            Action::RequeueEnded { job, restart_in_s } => {
                let address = address(facts, job);
                self.requeue_incomplete(&address)?;
                restart_in_s.map_or(Ok(()), |time_s| self.start_at(&address, &in_time(time_s)))
            }
            Action::Revive { job, restart_in_s } => self.revive(job, restart_in_s),
            Action::Say(_) | Action::OpenGate { .. } | Action::ShutGate { .. } | Action::Nudge => Ok(()),
        }
    }

    /// Changes Surgent's record of a job; all other text in its AdminComment stays.
    fn rewrite(
        &self,
        job: JobId,
        facts: &Facts,
        more: &[String],
        change: impl FnOnce(&mut Record),
    ) -> Result<(), CommandError> {
        let Some(current) = admin_comment(facts, job) else {
            return Ok(());
        };
        let mut record = Record::read(current).unwrap_or_else(|| Record::new(Urgency::Normal));
        change(&mut record);
        let mut text = b"AdminComment=".to_vec();
        text.extend(record.write_into(current));
        let mut args = vec![
            OsString::from("update"),
            OsString::from(format!("JobId={}", address(facts, job))),
            OsString::from_vec(text),
        ];
        args.extend(more.iter().map(OsString::from));
        self.run(&self.scontrol, &args)
    }

    /// Requeues a job whose script died of a signal of Slurm's, with this delay instead of Slurm's.
    fn revive(&self, job: JobId, restart_in_s: Seconds) -> Result<(), CommandError> {
        let squeue = locate("squeue");
        let ending = self.bounded(self.limit, |bounds| {
            Ending::of(job, squeue.as_os_str(), &self.environment, bounds)
        })?;
        if let Some(ending) = ending.filter(Ending::is_of_a_kill) {
            let requeue = ["requeue".into(), OsString::from(&ending.address)];
            self.run(&self.scontrol, &requeue)?;
            log::info!("{}", notes::revived(job));
            // Its record may be of before the request, so that nobody would restore it.
            self.start_at(&ending.address, &in_time(restart_in_s))?;
        }
        Ok(())
    }

    /// Slurm leaves those alone that have ended meanwhile.
    fn requeue_incomplete(&self, jobs: &str) -> Result<(), CommandError> {
        let args = ["requeue".into(), "Incomplete".into(), jobs.into()];
        self.run(&self.scontrol, &args)
    }

    /// Lets a waiting job start then, and no sooner.
    fn start_at(&self, job: &str, start: &str) -> Result<(), CommandError> {
        let args = ["update".into(), format!("JobId={job}").into(), start.into()];
        self.run(&self.scontrol, &args)
    }

    fn signal(&self, job: JobId, facts: &Facts, signal: SaveSignal) -> Result<(), CommandError> {
        let to = target_options(signal.target);
        let mut args: Vec<OsString> = to.iter().map(OsString::from).collect();
        args.push(format!("--signal={}", signal.signal.as_str()).into());
        args.push(address(facts, job).into());
        self.run_for(self.limit.min(SIGNAL_LIMIT), &self.scancel, &args)
    }

    fn run(&self, program: &Path, args: &[OsString]) -> Result<(), CommandError> {
        self.run_for(self.limit, program, args)
    }

    fn run_for(&self, limit: Duration, program: &Path, args: &[OsString]) -> Result<(), CommandError> {
        self.bounded(limit, |bounds| {
            run(program.as_os_str(), args, &self.environment, bounds)
        })?;
        Ok(())
    }

    fn bounded<T>(&self, limit: Duration, work: impl FnOnce(&Bounds<'_>) -> T) -> T {
        work(&Bounds {
            limit,
            stop: &|| self.core.is_stopping() || self.host.control() != self.control,
        })
    }
}

fn admin_comment(facts: &Facts, job: JobId) -> Option<&Vec<u8>> {
    let running = facts.job(job).map(|job| &job.admin_comment);
    let parked = || {
        facts
            .parked
            .iter()
            .find(|parked| parked.id == job)
            .map(|job| &job.admin_comment)
    };
    let waiting = || {
        facts
            .waiting
            .iter()
            .find(|waiting| waiting.id == job)
            .map(|job| &job.admin_comment)
    };
    running.or_else(parked).or_else(waiting)
}

/// How Slurm's commands are told which job is meant. By its own number, one task of an array, the last to start, would
/// stand for all of them, and so would the first component of a heterogeneous job.
fn address(facts: &Facts, job: JobId) -> String {
    let running = facts.job(job).and_then(|job| job.array);
    let parked = || facts.parked.iter().find(|parked| parked.id == job)?.array;
    let component = || facts.waiting.iter().find(|waiting| waiting.id == job)?.het;
    match (running.or_else(parked), component()) {
        (Some(task), _) => task.to_string(),
        (None, Some(component)) => format!("{}+{}", component.leader, component.offset),
        (None, None) => job.to_string(),
    }
}

/// The priority that a requeued job had, if Slurm has given it another. One that is held would be released by it.
fn place(facts: &Facts, job: JobId) -> Option<u32> {
    let parked = facts
        .parked
        .iter()
        .find(|parked| parked.id == job && !parked.held);
    parked?.record.as_ref()?.place
}

fn forget_request(record: &mut Record) {
    record.ask = None;
    record.asked = None;
    record.deadline = None;
    record.place = None;
}

/// A time as people read it, in UTC.
fn readable(time: UnixTime) -> String {
    jiff::Timestamp::from_second(time.0).map_or_else(|_| time.to_string(), |time| time.to_string())
}

/// A command by name is looked for beside slurmctld first (`sbin/slurmctld`, `bin/scontrol`), then where systems
/// keep commands. An absolute path also lets the system start it without copying slurmctld's page tables.
fn locate(command: &str) -> PathBuf {
    let named = Path::new(command);
    if command.contains('/') {
        return named.to_owned();
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|daemon| Some(daemon.parent()?.parent()?.join("bin")));
    let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
    beside
        .into_iter()
        .chain(usual)
        .map(|folder| folder.join(named))
        .find(|path| path.is_file())
        .unwrap_or_else(|| OsStr::from_bytes(command.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::facts::{Component, WaitingJob};
    use crate::policy::request::Request;

    fn waiting(id: u32, het: Option<Component>) -> WaitingJob {
        WaitingJob {
            het,
            ..WaitingJob::new(JobId(id), 1, UnixTime(0), Request::default())
        }
    }

    #[test]
    fn a_component_is_addressed_by_itself() {
        let component = |offset, of| Component {
            leader: JobId(10),
            offset,
            of,
        };
        let mut facts = Facts::at(UnixTime(0));
        facts.waiting = vec![
            waiting(9, None),
            waiting(10, Some(component(0, Some(2)))),
            waiting(11, Some(component(1, None))),
        ];
        let addresses = [9, 10, 11].map(|id| address(&facts, JobId(id)));
        assert_eq!(addresses, ["9", "10+0", "10+1"]);
    }
}
