// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner: one thread that looks, decides and acts, and sleeps while no urgent job waits.
//!
//! Also asleep it does its chores: it sees to changed settings, and writes down what hooks have noted.

use super::admission::Admission;
use super::audit::Journal;
use super::config::{ConfigFile, SETTLES_IN};
use super::core::{Core, Host, unix_now};
use super::guard::{self, Hook, hook};
use super::queue::Turns;
use super::records::{Choice, Records};
use super::state::{Kept, StateFile};
use super::users::Users;
use super::views::{Collector, LockTimes, Tape};
use super::{abi, act};
use crate::policy::audit::{self, Entry, Event};
use crate::policy::book::{Action, Book, Phase};
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::plan::Outcome;
use crate::policy::settings::{Base, Mode, Settings};
use crate::policy::snapshot::SnapshotView;
use crate::policy::step::{is_idle, step_and_tell};
use crate::policy::units::UnixTime;
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
/// A change of `surgent.toml` is noticed after this at the latest: one call of `stat`.
const CHORES_EVERY: Duration = Duration::from_secs(10);
/// A clock that differs by less has not been stepped: it runs a bit fast or slow, or a look took its time.
const STEP_MIN_S: i64 = 5;
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
        let start = (Duration::ZERO, false);
        let (limit, asleep) = planner.as_ref().map_or(start, |planner| planner.rest(core));
        let rung = core.wake.wait(limit, asleep);
        if core.is_stopping() {
            if let Some(planner) = &mut planner {
                hook(Hook::Planner, (), || planner.write_noted(core));
            }
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
            current.do_chores(core, &host);
            if rung || current.is_due() {
                current.turn(core, &host);
            } else {
                current.admission.age(core, &core.settings.load());
            }
            true
        });
        if !survived {
            // What it was in the middle of stands in the state file and in the jobs' records.
            core.gate.shut_all();
            current = Planner::new(&host);
            current.rest_for(Next::In(TURN_EVERY));
        }
        planner = Some(current);
    }
}

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// When woken.
    Asleep,
    /// After this, or when woken.
    In(Duration),
    /// Nothing is under way, but there are urgent jobs to be counted: after this, or when woken.
    CountIn(Duration),
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
    /// The base that was asked for, and of which shim.
    base: Option<(Base, Arc<Host>)>,
    state: Option<StateFile>,
    /// Why the state file could not be written the last time; said once.
    store_complaint: Option<String>,
    records: Option<Records>,
    users: Users,
    admission: Admission,
    book: Option<Book>,
    awaited: Option<Awaited>,
    journal: Option<Journal>,
    /// When to look again; `None` is when woken.
    due: Option<Instant>,
    /// Whether something is under way.
    is_busy: bool,
    /// Waiting jobs at whose class the last snapshot looked.
    looked_at: BTreeSet<JobId>,
    clock: Clock,
    /// Not before this are Slurm's locks taken again.
    locks_free_until: Option<Instant>,
    /// Memory for the next snapshot, while one follows the other.
    tape: Tape,
    /// What the last look took.
    look_took: LookTimes,
    queue: Turns,
}

/// What a look took.
#[derive(Clone, Copy, Debug, Default)]
struct LookTimes {
    locks: LockTimes,
    /// To make facts of what was copied.
    read: Duration,
}

/// What the clock showed last, and when that was by a clock that nobody can set.
#[derive(Clone, Copy, Debug, Default)]
struct Clock(Option<(UnixTime, Instant)>);

impl Clock {
    /// By how many seconds the clock was stepped between the last look and this one.
    fn step_at(&mut self, now: UnixTime) -> Option<i64> {
        let last = self.0.replace((now, Instant::now()));
        let (shown, at) = last?;
        let passed_s = i64::try_from(at.elapsed().as_secs()).ok()?;
        let by_s = now.0.saturating_sub(shown.0).saturating_sub(passed_s);
        (by_s.abs() >= STEP_MIN_S).then_some(by_s)
    }
}

/// Notes whom a request has reached.
fn note_delivered(book: &mut Book, done: &[&Action]) {
    for action in done {
        let Action::Ask { job, .. } = action else { continue };
        let campaigns = book.campaigns.iter_mut();
        let asked = campaigns.flat_map(|campaign| &mut campaign.victims);
        for asked in asked.filter(|asked| asked.job == *job) {
            asked.delivered = true;
        }
    }
}

impl Planner {
    fn new(host: &Host) -> Self {
        Self {
            config: Some(ConfigFile::beside(&host.slurm_conf)),
            state: Some(StateFile::within(&host.state_dir)),
            records: Some(Records::within(&host.state_dir)),
            journal: Some(Journal::within(&host.state_dir)),
            // To take up what the state file says.
            due: Some(Instant::now()),
            ..Self::default()
        }
    }

    /// For how long to wait at most, and whether nothing is under way.
    fn rest(&self, core: &Core) -> (Duration, bool) {
        let due = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        // Without a file of settings this planner only waits for a shim, or for the end.
        let queue = self.config.as_ref().and_then(|_| self.queue.rest(&core.queue));
        let rest = [due, queue].into_iter().flatten().min();
        let chores_in = self.chores_in();
        (rest.map_or(chores_in, |rest| rest.min(chores_in)), !self.is_busy)
    }

    fn rest_for(&mut self, next: Next) {
        self.due = match next {
            Next::Asleep => None,
            Next::In(time) | Next::CountIn(time) => Some(Instant::now() + time),
        };
        self.is_busy = matches!(next, Next::In(_));
    }

    fn is_due(&self) -> bool {
        self.due.is_some_and(|due| due <= Instant::now())
    }

    fn chores_in(&self) -> Duration {
        let settling = self.config.as_ref().is_some_and(ConfigFile::is_settling);
        if settling { SETTLES_IN } else { CHORES_EVERY }
    }

    /// What is to be seen to whether or not an urgent job waits.
    fn do_chores(&mut self, core: &Core, host: &Arc<Host>) {
        core.gate.forget_shut();
        let changed = self.read_settings(core);
        let settings = core.settings.load();
        self.see_to_base(settings.base, host);
        let new_people = self.admission.find_again(core, &settings);
        if changed || new_people {
            self.due = Some(Instant::now());
        }
        self.write_noted(core);
        self.store_again();
        if changed || self.queue.rest(&core.queue) == Some(Duration::ZERO) {
            self.queue.take(&core.queue);
        }
    }

    fn turn(&mut self, core: &Core, host: &Arc<Host>) {
        let next = self.look_and_decide(core, host);
        if next == Next::Asleep {
            self.tape = Tape::default();
        }
        self.rest_for(next);
    }

    fn look_and_decide(&mut self, core: &Core, host: &Arc<Host>) -> Next {
        let settings = core.settings.load_full();
        let mut book = match self.book.take() {
            Some(book) => book,
            None => self.load_book(),
        };
        if core.wake.take_fresh() {
            self.awaited = Some(Awaited {
                since: Instant::now(),
                every: LOOK_EVERY_MIN,
            });
        }
        if settings.mode == Mode::Off && book.campaigns.is_empty() {
            self.book = Some(book);
            self.awaited = None;
            return Next::Asleep;
        }
        let next = match self.look(core, host) {
            Some(mut facts) => {
                if let Some(by_s) = self.clock.step_at(facts.now) {
                    log::info!("the clock was stepped by {by_s} s; what is under way has as long as before");
                    book.clock_stepped(by_s, facts.now);
                }
                let charged = self.admission.look(core, &mut facts, &settings, &book);
                self.decide(core, host, &facts, &settings, &mut book, charged)
            }
            None => Next::In(NOT_READY_AGAIN),
        };
        self.book = Some(book);
        next
    }

    fn decide(
        &mut self,
        core: &Core,
        host: &Host,
        facts: &Facts,
        settings: &Settings,
        book: &mut Book,
        mut events: Vec<Event>,
    ) -> Next {
        let begun = Instant::now();
        let before = book.clone();
        let mut choices = Vec::new();
        let mut decided = Vec::new();
        let actions = step_and_tell(book, facts, settings, &mut |decision| {
            if let Outcome::Stop(plan) = decision.outcome {
                let victims = plan.victims.iter().map(|victim| victim.job).collect();
                choices.push((decision.urgent, victims));
            }
            decided.extend(audit::decided(decision, facts));
        });
        self.log_times(facts, begun.elapsed());
        let step = audit::Step {
            before: &before,
            facts,
            mode: settings.mode,
        };
        events.extend(audit::of_step(&step, book, decided));
        // Written before anybody is asked: whoever was asked is known after a crash, too. The audit comes first, as what
        // the book says to have been told is not told again.
        self.write_events(settings, facts, events);
        self.store(book);
        let done = act::carry_out(core, host, facts, &actions, &settings.commands);
        note_delivered(book, &done);
        self.write_events(settings, facts, audit::of_actions(&done, facts));
        if settings.records.snapshots > 0 {
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
                Some(time) => Next::CountIn(time),
                None => Next::Asleep,
            },
        }
    }

    /// Once for each change, also where the plugin could not be loaded: the shim has said so then.
    fn see_to_base(&mut self, wanted: Base, host: &Arc<Host>) {
        let asked = self.base.as_ref();
        if asked.is_some_and(|(base, of)| *base == wanted && Arc::ptr_eq(of, host)) {
            return;
        }
        let number = match wanted {
            Base::None => abi::SURGENT_BASE_NONE,
            Base::Qos => abi::SURGENT_BASE_QOS,
            Base::PartitionPrio => abi::SURGENT_BASE_PARTITION_PRIO,
        };
        // SAFETY: the shim's own function, which stays mapped; this thread holds no lock of Slurm's.
        unsafe { (host.use_base)(number) };
        self.base = Some((wanted, Arc::clone(host)));
    }

    /// Whether there are new ones.
    fn read_settings(&mut self, core: &Core) -> bool {
        let Some(config) = &mut self.config else {
            return false;
        };
        let at_start = config.is_unread();
        let settings = match config.changed() {
            None => return false,
            Some(Ok(settings)) => settings,
            Some(Err(sentence)) if at_start => {
                // The defaults are not what this site wants, and there are no others.
                log::error!("{sentence}; Surgent is off until that is mended");
                Settings {
                    mode: Mode::Off,
                    ..Settings::default()
                }
            }
            Some(Err(sentence)) => {
                log::error!("{sentence}; the settings in force stay");
                return false;
            }
        };
        log::info!("settings read; mode {:?}", settings.mode);
        self.users = Users::named(&settings.victims.exempt_users);
        self.admission.settings_changed(core, &settings);
        core.settings.store(Arc::new(settings));
        true
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
        let Some(state) = self.state.as_mut() else { return };
        match state.store(book, self.admission.ledger()) {
            Ok(()) => {
                if self.store_complaint.take().is_some() {
                    log::info!("the state file is written again");
                }
            }
            Err(sentence) => {
                if self.store_complaint.as_ref() != Some(&sentence) {
                    log::error!("{sentence}");
                    self.store_complaint = Some(sentence);
                }
            }
        }
    }

    /// What could not be written when something was last under way may be written now.
    fn store_again(&mut self) {
        if self.store_complaint.is_some()
            && let Some(book) = self.book.take()
        {
            self.store(&book);
            self.book = Some(book);
        }
    }

    fn write_events(&mut self, settings: &Settings, facts: &Facts, events: Vec<Event>) {
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|event| Entry {
                at: facts.now,
                shadow: settings.mode == Mode::Shadow,
                event,
            })
            .collect();
        self.write_audit(settings, &entries, 0);
    }

    /// What hooks have noted since the last time.
    fn write_noted(&mut self, core: &Core) {
        let (entries, lost) = core.audit_queue.take();
        self.write_audit(&core.settings.load(), &entries, lost);
    }

    fn write_audit(&mut self, settings: &Settings, entries: &[Entry], lost: u64) {
        let Some(journal) = &mut self.journal else { return };
        match journal.write(&settings.audit, unix_now(), entries, lost) {
            Ok(Some(sentence)) => log::info!("{sentence}"),
            Ok(None) => {}
            Err(sentence) => log::error!("{sentence}"),
        }
    }

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
