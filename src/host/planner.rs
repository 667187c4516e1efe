// SPDX-License-Identifier: GPL-2.0-or-later
//! The planner: one thread that looks, decides and acts, and sleeps while no urgent job waits.
//!
//! Also asleep it does its chores: it sees to changed settings, and writes down what hooks have noted.

mod cleaning;
mod clock;
mod files;
mod look;

use super::admission::Admission;
use super::audit::Journal;
use super::config::{ConfigFile, SETTLES_IN};
use super::core::{Control, Core, Host};
use super::guard::{self, Hook, hook};
use super::metrics::Meter;
use super::people::{Finder, Named, Users};
use super::queue::Turns;
use super::reclass::Changes;
use super::records::Records;
use super::state::StateFile;
use super::views::Tape;
use super::{abi, act};
use crate::policy::audit::{self, Event};
use crate::policy::book::{Action, Book, Phase};
use crate::policy::facts::Facts;
use crate::policy::metrics::State;
use crate::policy::plan::Outcome;
use crate::policy::settings::{Base, Mode, Settings};
use crate::policy::snapshot::SnapshotView;
use crate::policy::step::{is_idle, step_and_tell};
use cleaning::Cleaning;
use clock::Clock;
use look::LookTimes;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// While something is under way.
const TURN_EVERY: Duration = Duration::from_millis(1000);
/// While Slurm has the word.
const TURN_SOON: Duration = Duration::from_millis(200);
/// While nothing is left but to watch who made way a moment ago, for the sake of the next slurmctld.
const WATCH_EVERY: Duration = Duration::from_secs(2);
/// After a submission, until its record is there.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(20);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(640);
/// A job that was announced and has not appeared by now was refused by Slurm.
const LOOK_FOR: Duration = Duration::from_secs(5);
/// A change of `surgent.toml` is noticed after this at the latest: one call of `stat`.
const CHORES_EVERY: Duration = Duration::from_secs(10);
/// Slurm is still loading its state, or another slurmctld is in control.
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
    let mut planner: Option<Planner> = None;
    loop {
        let start = (Duration::ZERO, false);
        let (limit, asleep) = planner.as_ref().map_or(start, |planner| planner.rest(core));
        let rung = core.wake.wait(limit, asleep);
        if core.is_stopping() {
            if let Some(planner) = &mut planner {
                hook(Hook::Planner, (), || planner.write_last(core));
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
            let mut aside = Planner::aside(planner.take(), core);
            if aside.control.is_some() {
                aside.meter.write_if_due(aside.state_now(core));
            }
            planner = Some(aside);
            continue;
        }
        let Some(host) = core.host.load_full() else {
            planner = Some(Planner::aside(planner.take(), core));
            continue;
        };
        let mut current = Planner::now(planner.take(), core, &host);
        let survived = hook(Hook::Planner, false, || {
            current.do_chores(core, &host);
            if current.control.is_none() {
                current.rest_for(Next::In(NOT_READY_AGAIN));
                return true;
            }
            if rung || current.is_due() {
                current.turn(core, &host);
            } else {
                current.admission.age(core, &core.settings.load());
            }
            current.meter.write_if_due(current.state_now(core));
            true
        });
        if !survived {
            // What it was in the middle of stands in the state file and in the jobs' records.
            core.gate.shut_all();
            current = Planner::new(&host, current.meter);
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
    /// Of which time in control it is. Before that no file of what is under way is read and none is written, since another
    /// slurmctld may be at it.
    control: Option<Control>,
    config: Option<ConfigFile>,
    /// The base that was asked for, and of which shim.
    base: Option<(Base, Arc<Host>)>,
    state: Option<StateFile>,
    /// Why the state file could not be written the last time; said once.
    store_complaint: Option<String>,
    records: Option<Records>,
    finder: Finder,
    /// Whose jobs are left alone.
    users: Users,
    admission: Admission,
    book: Option<Book>,
    awaited: Option<Awaited>,
    journal: Option<Journal>,
    meter: Meter,
    /// When to look again; `None` is when woken.
    due: Option<Instant>,
    /// Whether something is under way.
    is_busy: bool,
    /// Urgent jobs that waited for room at the last look, by tasks.
    waiting: u64,
    /// Waiting jobs at whose class the last snapshot looked.
    looked_at: Changes,
    clock: Clock,
    cleaning: Cleaning,
    /// Not before this are Slurm's locks taken again.
    locks_free_until: Option<Instant>,
    /// Memory for the next snapshot, while one follows the other.
    tape: Tape,
    /// What the last look took.
    look_took: LookTimes,
    queue: Turns,
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
    /// One that knows nothing yet, but goes on to count.
    fn new(host: &Host, meter: Meter) -> Self {
        Self {
            meter: meter.within(&host.state_dir),
            config: Some(ConfigFile::beside(&host.slurm_conf)),
            state: Some(StateFile::within(&host.state_dir)),
            records: Some(Records::within(&host.state_dir)),
            journal: Some(Journal::within(&host.state_dir)),
            // To take up what the state file says.
            due: Some(Instant::now()),
            ..Self::default()
        }
    }

    /// The one that there was, unless this slurmctld has lost control meanwhile: then all that is known is of the past, and
    /// another one's to go on with.
    fn now(earlier: Option<Self>, core: &Core, host: &Host) -> Self {
        let control = host.control();
        let is_lost = |earlier: &Self| earlier.control.is_some() && earlier.control != control;
        if earlier.as_ref().is_some_and(is_lost) {
            log::info!(
                "this slurmctld has lost control; what was under way is for the next one to go on with"
            );
            core.gate.shut_all();
            core.desk().forget();
        }
        let current = earlier.filter(|earlier| !is_lost(earlier));
        let current = current.unwrap_or_else(|| Self::new(host, Meter::default()));
        Self { control, ..current }
    }

    /// One that does nothing, in the place of another.
    fn aside(earlier: Option<Self>, core: &Core) -> Self {
        let meter = earlier.map(|earlier| earlier.meter).unwrap_or_default();
        match core.host.load_full() {
            Some(host) => Self {
                control: host.control(),
                meter: meter.within(&host.state_dir),
                ..Self::default()
            },
            None => Self {
                meter,
                ..Self::default()
            },
        }
    }

    /// What is so now, for the meter.
    fn state_now(&self, core: &Core) -> State {
        let campaigns = self.book.iter().flat_map(|book| &book.campaigns);
        let mode = core.settings.load().mode;
        State {
            mode,
            latched: guard::is_latched(),
            campaigns: campaigns.filter(|campaign| campaign.claims()).count() as u64,
            // Nobody looks while it is off.
            waiting: if mode == Mode::Off { 0 } else { self.waiting },
        }
    }

    /// For how long to wait at most, and whether nothing is under way.
    fn rest(&self, core: &Core) -> (Duration, bool) {
        let due = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        // Without a file of settings this planner only waits for a shim, or for the end.
        let queue = self.config.as_ref().and_then(|_| self.queue.rest(&core.queue));
        let rest = [due, queue, self.meter.due_in()].into_iter().flatten().min();
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
        let found = self.finder.find_again(&settings);
        let new_people = found.is_some_and(|named| self.take_named(core, named));
        if changed || new_people {
            self.due = Some(Instant::now());
        }
        if self.control.is_none() {
            return;
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
        if settings.mode == Mode::Off && book.campaigns.is_empty() && book.stops.is_empty() {
            self.book = Some(book);
            self.awaited = None;
            return Next::Asleep;
        }
        let next = match self.look(core, host) {
            Some(mut facts) => {
                if let Some(by_s) = self.clock.step() {
                    log::info!("the clock was stepped by {by_s} s; what is under way has as long as before");
                    book.clock_stepped(by_s, facts.now);
                    self.admission.clock_stepped(core, by_s, facts.now);
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
        self.note_times(facts, begun.elapsed());
        let waiting = facts.waiting.iter().filter(|job| job.hindrance.is_none());
        self.waiting = waiting.map(|job| u64::from(job.tasks)).sum();
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
        let commands = act::carry_out(core, host, facts, &actions, &settings.commands);
        let done = commands.done;
        self.meter.ran_commands(done.len() as u64, commands.failed as u64);
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
        let still_changing = facts.parked.iter().map(|job| job.id).collect();
        core.reclass
            .settle(&std::mem::take(&mut self.looked_at), &still_changing);
        self.pace(core, book, facts, settings)
    }

    fn pace(&mut self, core: &Core, book: &Book, facts: &Facts, settings: &Settings) -> Next {
        let mut campaigns = book.campaigns.iter();
        let soon = campaigns.any(|campaign| matches!(campaign.phase, Phase::Open { .. }));
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
            (false, true) => (!book.stops.is_empty()).then_some(WATCH_EVERY),
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
        let named = self.finder.find(&settings);
        self.take_named(core, named);
        self.admission.settings_changed(core, &settings);
        core.settings.store(Arc::new(settings));
        true
    }

    /// Whether these are others than before.
    fn take_named(&mut self, core: &Core, named: Named) -> bool {
        let others_exempt = self.users != named.exempt;
        self.users = named.exempt;
        self.admission.set_people(core, named.people) || others_exempt
    }
}
