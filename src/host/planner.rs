// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner: one thread that looks, decides and acts, and sleeps while no urgent job waits.

use super::admission::Admission;
use super::config::ConfigFile;
use super::core::{Core, Host, unix_now};
use super::guard::{self, Hook, hook};
use super::records::{Choice, Records};
use super::state::{Kept, StateFile};
use super::users::Users;
use super::views::{Collector, LockTimes, Tape};
use super::{abi, act};
use crate::policy::book::{Book, Phase};
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::plan::Outcome;
use crate::policy::settings::{Mode, Settings};
use crate::policy::snapshot::SnapshotView;
use crate::policy::step::{is_idle, step_and_tell};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// While something is under way.
const TURN_EVERY: Duration = Duration::from_millis(1000);
/// While Slurm has the word, or victims are on their way back.
const TURN_SOON: Duration = Duration::from_millis(200);
/// After a submission, until its record is there.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(20);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(640);
/// A job that was announced and has not appeared by now was refused by Slurm.
const LOOK_FOR: Duration = Duration::from_secs(5);
/// Slurm's locks are left alone for at least this many times as long as they were taken.
const REST_FACTOR: u32 = 10;
/// And for at least this long.
const REST_MIN: Duration = Duration::from_millis(10);
/// A planner that sleeps looks whether the settings have changed.
const TEND_EVERY: Duration = Duration::from_secs(10);
/// Slurm is still loading its state.
const NOT_READY_AGAIN: Duration = Duration::from_secs(1);

static RUNNING: Mutex<bool> = Mutex::new(false);

/// Starts the planner unless it runs.
pub fn start() {
    let mut running = RUNNING.lock().unwrap_or_else(|poison| poison.into_inner());
    if *running {
        return;
    }
    let spawned = std::thread::Builder::new().name("surgent".into()).spawn(main);
    match spawned {
        Ok(_) => *running = true,
        Err(error) => log::error!("the planner thread could not be started ({error}); no job will make way"),
    }
}

fn main() {
    let core = Core::get();
    core.wake.listen();
    let mut planner: Option<Planner> = None;
    loop {
        let (limit, asleep) = planner.as_ref().map_or((Duration::ZERO, false), Planner::rest);
        let rung = core.wake.wait(limit, asleep);
        if core.is_stopping() {
            let mut running = RUNNING.lock().unwrap_or_else(|poison| poison.into_inner());
            // A shim may have attached again meanwhile, and then counts on this thread.
            if core.is_stopping() {
                core.gate.shut_all();
                *running = false;
                return;
            }
        }
        if guard::is_latched() {
            core.gate.shut_all();
            planner = Some(Planner::default());
            continue;
        }
        let Some(host) = core.host.load_full() else {
            planner = Some(Planner::default());
            continue;
        };
        let mut current = planner.take().unwrap_or_else(|| Planner::new(&host));
        let survived = hook(Hook::Planner, false, || {
            if rung || !asleep || current.tend(core) {
                current.turn(core, &host);
            }
            true
        });
        if !survived {
            // What it was in the middle of stands in the state file and in the jobs' records.
            core.gate.shut_all();
            current = Planner::new(&host);
            current.next = Next::In(TURN_EVERY);
        }
        planner = Some(current);
    }
}

/// When to look again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// When woken.
    #[default]
    Asleep,
    /// After this, or when woken.
    In(Duration),
    /// Nothing is under way, but there are urgent jobs to be counted: then, or when woken.
    At(Instant),
}

/// A submission that was announced and whose record is not there yet.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    since: Instant,
    every: Duration,
}

#[derive(Debug, Default)]
struct Planner {
    config: Option<ConfigFile>,
    state: Option<StateFile>,
    records: Option<Records>,
    users: Users,
    admission: Admission,
    book: Option<Book>,
    awaited: Option<Awaited>,
    next: Next,
    /// Waiting jobs at whose class the last snapshot looked.
    looked_at: BTreeSet<JobId>,
    /// Not before this are Slurm's locks taken again.
    locks_free_until: Option<Instant>,
    /// Memory for the next snapshot, while one follows the other.
    tape: Tape,
    /// What the last look took.
    look_took: LookTimes,
}

/// What a look took.
#[derive(Clone, Copy, Debug, Default)]
struct LookTimes {
    locks: LockTimes,
    /// To make facts of what was copied.
    read: Duration,
}

impl Planner {
    fn new(host: &Host) -> Self {
        Self {
            config: Some(ConfigFile::beside(&host.slurm_conf)),
            state: Some(StateFile::within(&host.state_dir)),
            records: Some(Records::within(&host.state_dir)),
            ..Self::default()
        }
    }

    /// For how long to wait at most, and whether nothing is under way.
    fn rest(&self) -> (Duration, bool) {
        match self.next {
            Next::Asleep => (TEND_EVERY, true),
            Next::In(time) => (time, false),
            Next::At(time) => (
                time.saturating_duration_since(Instant::now()).min(TEND_EVERY),
                true,
            ),
        }
    }

    /// What a planner does that nothing has woken. Whether it is to take a turn.
    fn tend(&mut self, core: &Core) -> bool {
        let new_settings = self.read_settings(core);
        let new_people = self.admission.tend(core, &core.settings.load());
        let due = matches!(self.next, Next::At(time) if time <= Instant::now());
        due || new_settings || new_people
    }

    fn turn(&mut self, core: &Core, host: &Arc<Host>) {
        self.read_settings(core);
        let settings = core.settings.load_full();
        let first = self.book.is_none();
        let mut book = match self.book.take() {
            Some(book) => book,
            None => self.load_book(),
        };
        if core.wake.take_fresh() {
            self.awaited = Some(Awaited {
                since: Instant::now(),
                every: LOOK_EVERY_MIN,
            });
        } else if first && book.campaigns.is_empty() && !settings.admission.counts() {
            // Just loaded, and nothing is under way: whatever waits will be asked about by Slurm.
            self.book = Some(book);
            self.next = Next::Asleep;
            return;
        }
        if settings.mode == Mode::Off && book.campaigns.is_empty() {
            self.book = Some(book);
            self.awaited = None;
            self.next = Next::Asleep;
            return;
        }
        self.next = match self.look(core, host) {
            Some(mut facts) => {
                self.admission.look(core, &mut facts, &settings, &book);
                self.decide(core, host, &facts, &settings, &mut book)
            }
            None => Next::In(NOT_READY_AGAIN),
        };
        self.book = Some(book);
        if self.next == Next::Asleep {
            self.tape = Tape::default();
        }
    }

    fn decide(
        &mut self,
        core: &Core,
        host: &Host,
        facts: &Facts,
        settings: &Settings,
        book: &mut Book,
    ) -> Next {
        let begun = Instant::now();
        let before = (settings.records.snapshots > 0).then(|| book.clone());
        let mut choices = Vec::new();
        let actions = step_and_tell(book, facts, settings, &mut |decision| {
            if let Outcome::Stop(plan) = decision.outcome {
                let victims = plan.victims.iter().map(|victim| victim.job).collect();
                choices.push((decision.urgent, victims));
            }
        });
        self.log_times(facts, begun.elapsed());
        // Written before anybody is asked: whoever was asked is known after a crash, too.
        self.store(book);
        let reached = act::carry_out(core, host, facts, &actions, &settings.commands);
        for asked in book
            .campaigns
            .iter_mut()
            .flat_map(|campaign| &mut campaign.victims)
            .filter(|asked| reached.contains(&asked.job))
        {
            asked.delivered = true;
        }
        if let Some(before) = before {
            self.keep(
                &SnapshotView::of(facts, settings, &before),
                facts,
                choices,
                settings,
            );
        }
        // Only what this snapshot looked at: a change that was noted since is for the next one.
        let still_changing: Vec<_> = facts.parked.iter().map(|job| job.id).collect();
        let looked_at = std::mem::take(&mut self.looked_at);
        core.forget_reclass(looked_at.into_iter().filter(|job| !still_changing.contains(job)));
        self.pace(core, book, facts, settings)
    }

    fn log_times(&self, facts: &Facts, decision: Duration) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let LookTimes { locks, read } = self.look_took;
        // Up to five times a second, so not at a level at which sites usually run.
        log::trace!(
            "looked at {} nodes and {} running jobs: {:.2} ms until Slurm's locks were had, {:.2} ms under them, {:.2} ms \
             to read what was copied, {:.2} ms to decide",
            facts.nodes.len(),
            facts.running.len(),
            ms(locks.waited),
            ms(locks.held),
            ms(read),
            ms(decision),
        );
    }

    fn pace(&mut self, core: &Core, book: &Book, facts: &Facts, settings: &Settings) -> Next {
        let soon = book
            .campaigns
            .iter()
            .any(|campaign| matches!(campaign.phase, Phase::Open { .. } | Phase::Releasing { .. }));
        let look = self.awaited.as_mut().map(|awaited| {
            let every = awaited.every;
            awaited.every = (every * 2).min(LOOK_EVERY_MAX);
            every
        });
        if self
            .awaited
            .is_some_and(|awaited| awaited.since.elapsed() > LOOK_FOR)
        {
            self.awaited = None;
        }
        let idle = is_idle(book, facts) && facts.parked.is_empty();
        let under_way = match (soon, idle) {
            (true, _) => Some(TURN_SOON),
            (false, false) => Some(TURN_EVERY),
            (false, true) => None,
        };
        match [under_way, look].into_iter().flatten().min() {
            Some(time) => Next::In(time),
            None => match self.admission.look_in(core, facts, settings) {
                Some(time) => Next::At(Instant::now() + time),
                None => Next::Asleep,
            },
        }
    }

    /// Whether there are new ones.
    fn read_settings(&mut self, core: &Core) -> bool {
        match self.config.as_mut().and_then(ConfigFile::changed) {
            Some(Ok(settings)) => {
                log::info!("settings read; mode {:?}", settings.mode);
                self.users = Users::named(&settings.victims.exempt_users);
                self.admission.settings_changed(core, &settings);
                core.settings.store(Arc::new(settings));
                true
            }
            Some(Err(sentence)) => {
                log::error!("{sentence}");
                false
            }
            None => false,
        }
    }

    fn load_book(&mut self) -> Book {
        let Some(state) = self.state.as_mut() else {
            return Book::default();
        };
        let kept = state.load().unwrap_or_else(|sentence| {
            log::error!("{sentence}");
            Kept::default()
        });
        self.admission.load(kept.ledger);
        kept.book.after_restart()
    }

    fn store(&mut self, book: &Book) {
        if let Some(Err(sentence)) = self
            .state
            .as_mut()
            .map(|state| state.store(book, self.admission.ledger()))
        {
            log::error!("{sentence}");
        }
    }

    /// After the requests are out: nobody waits for this file.
    fn keep(
        &mut self,
        snapshot: &SnapshotView<'_>,
        facts: &Facts,
        choices: Vec<Choice>,
        settings: &Settings,
    ) {
        let Some(records) = &mut self.records else { return };
        if settings.mode == Mode::On {
            records.forget_last();
        }
        let mut urgent: Vec<JobId> = choices.iter().map(|(urgent, _)| *urgent).collect();
        urgent.dedup();
        let most = settings.records.snapshots as usize;
        match records.keep(snapshot, facts.now, choices, most) {
            Some(Ok(path)) => log::info!("{}", notes::kept(&urgent, &path.display().to_string())),
            Some(Err(sentence)) => log::error!("{sentence}"),
            None => {}
        }
    }

    /// A snapshot; `None` where there is none to be had now.
    fn look(&mut self, core: &Core, host: &Host) -> Option<Facts> {
        if let Some(until) = self.locks_free_until {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        self.looked_at = core.reclass_noted();
        let tape = std::mem::take(&mut self.tape);
        let mut collector = Collector::new(unix_now(), self.looked_at.clone(), self.users.clone(), tape);
        let sink = collector.sink();
        let called = Instant::now();
        // SAFETY: the shim's own function, which stays mapped; this thread holds no lock of Slurm's, and `sink`
        // and the collector behind it outlive the call.
        let outcome = unsafe { (host.snapshot)(&raw const sink) };
        let begun = Instant::now();
        let locks = collector.lock_times().unwrap_or(LockTimes {
            waited: Duration::ZERO,
            held: begun - called,
        });
        self.locks_free_until = Some(begun + (locks.held * REST_FACTOR).max(REST_MIN));
        let (facts, tape) = collector.finish();
        self.tape = tape;
        self.look_took = LookTimes {
            locks,
            read: begun.elapsed(),
        };
        match u32::try_from(outcome) {
            Ok(abi::SURGENT_SNAPSHOT_OK) => {
                if facts.is_none() {
                    log::error!("a snapshot had a record that could not be read; looking again");
                }
                facts
            }
            Ok(abi::SURGENT_SNAPSHOT_NOT_READY) => None,
            Ok(abi::SURGENT_SNAPSHOT_NO_MEMORY) => {
                log::error!("no memory for a look at the cluster; looking again");
                None
            }
            _ => {
                guard::latch(
                    "Slurm's records are not laid out as this shim expects: it was built for another release of \
                     Slurm; build the shims again with the headers of this one",
                );
                None
            }
        }
    }
}
