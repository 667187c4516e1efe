// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries out what [`machine`](super::machine) decides.

use super::direct::Introduction;
use super::environment::{JobEnvironment, REPORT, RESTART_COUNT, RESUME, SAVE_REQUEST};
use super::machine::{Action, Answer, Cause, Circumstances, Event, Machine, Training};
use super::output::{Heard, Output, Streams};
use super::program::Program;
use super::progress::{Progress, seconds};
use super::report::Report;
use super::reports::Reports;
use super::requests::Requests;
use super::run::Run;
use super::saving::{self, Saving};
use super::say::say;
use super::signals::{ASK_SIGNAL_NAME, DRILL_SIGNAL, Received};
use super::time::Clock;
use super::told::Told;
use super::voice::Voice;
use crate::policy::directives::{Key, SaveKind, SaveSignal, SignalTarget};
use crate::slurm::job::Job;
use rustix::process::Signal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long the end of the job may wait for its last progress to be published.
const FINISH_LIMIT: Duration = Duration::from_secs(5);

/// How many wrong reports are complained about.
const COMPLAINTS_MAX: u32 = 3;

/// What reaches the main thread from the others.
pub enum Happening {
    /// A signal to this process.
    Signal(Received),
    /// The program may have written a report.
    ReportsChanged,
    /// The program has ended.
    Exited,
    /// slurmctld has taken an acknowledgement.
    Acknowledged,
    /// The program's output says this.
    OutputRead(Heard),
    /// AdminComment was looked at.
    Looked(Cause, Answer),
    /// Something about a save.
    Saving(saving::Message),
}

/// One program under `surgent run`, from its start to its end.
pub struct Shell<'a> {
    run: &'a Run,
    environment: &'a JobEnvironment,
    /// How the program is asked, and how its save is seen.
    saving: Saving,
    clock: Clock,
    machine: Machine,
    progress: Progress,
    sender: Sender<Happening>,
    reports: Option<Reports>,
    requests: Option<Requests>,
    complaints: u32,
    /// The program's output, where progress is read from it.
    output: Option<Output>,
    told: Told,
    program: Option<Program>,
    /// The job and the thread that publishes in it, where this process speaks for it.
    voice: Option<Voice>,
}

impl<'a> Shell<'a> {
    /// Nothing is started yet. The shell itself keeps a `sender`, for what its program and its threads do.
    pub fn new(
        run: &'a Run,
        environment: &'a JobEnvironment,
        job: Option<Job>,
        reports: Option<Reports>,
        sender: Sender<Happening>,
    ) -> Self {
        let voice = job.filter(|_| environment.speaks()).map(|job| {
            let (to_main, answers) = (sender.clone(), sender.clone());
            let acknowledged = move || _ = to_main.send(Happening::Acknowledged);
            let looked = move |cause, answer| _ = answers.send(Happening::Looked(cause, answer));
            Voice::new(job, acknowledged, looked)
        });
        let to_main = sender.clone();
        let heard = move |message| _ = to_main.send(Happening::Saving(message));
        let command: Vec<String> = run
            .command
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        let saving = Saving::new(&run.saving, &command, voice.is_some(), heard);
        let output = voice.as_ref().filter(|_| run.reads_output).map(|_| {
            let to_main = sender.clone();
            let read = move |heard| _ = to_main.send(Happening::OutputRead(heard));
            Output::new(run.pattern.clone(), saving.saved_line().cloned(), read)
        });
        let circumstances = Circumstances {
            speaks: voice.is_some(),
            is_alone: environment.ranks == 1,
            can_ask: saving.can_ask(),
            save: run.save.unwrap_or(SaveKind::Step),
        };
        Self {
            run,
            environment,
            saving,
            clock: Clock::start(),
            machine: Machine::new(circumstances),
            progress: Progress::new(run.epochs, environment.min_interval),
            sender,
            requests: reports
                .as_ref()
                .and_then(|reports| reports.path().parent())
                .map(Requests::in_folder),
            reports,
            complaints: 0,
            output,
            told: Told::new(run.epochs),
            program: None,
            voice,
        }
    }

    /// Starts the program and follows it to its end; the exit code for this process.
    pub fn run(mut self, happenings: &Receiver<Happening>) -> u8 {
        if let Some(code) = self.start(self.environment.restarts > 0) {
            return code;
        }
        let introduction = self.introduction();
        if let Some(voice) = &mut self.voice {
            voice.publisher.introduce(introduction);
            // A request may have come while nobody listened yet.
            voice.look(Cause::Check);
        }
        loop {
            let happened = match happenings.recv_timeout(self.wait()) {
                Ok(happening) => self.happened(happening),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                // The shell itself holds a sender.
                Err(RecvTimeoutError::Disconnected) => return u8::MAX,
            };
            if let Some(code) = self.act(happened) {
                return self.end(code);
            }
            let now = self.clock.now();
            let due = self.machine.on(Event::Tick, now);
            if let Some(code) = self.act(due) {
                return self.end(code);
            }
            if let Some(code) = self.follow_save() {
                return self.end(code);
            }
            self.publish_what_is_due();
        }
    }

    fn introduction(&self) -> Introduction {
        let target = if self.environment.is_step {
            SignalTarget::Steps
        } else {
            SignalTarget::Full
        };
        let ask = ASK_SIGNAL_NAME
            .parse()
            .ok()
            .map(|signal| SaveSignal { signal, target });
        Introduction {
            signal: ask.filter(|_| self.saving.can_ask() || self.is_watched()),
            save: self.run.save,
            epochs: self.run.epochs,
        }
    }

    /// Whether the program looks for requests itself.
    fn is_watched(&self) -> bool {
        self.requests.as_ref().is_some_and(Requests::is_watched)
    }

    /// The program looks for requests from now on; no signal is needed.
    fn watched(&mut self) -> Vec<Action> {
        if let Some(requests) = &mut self.requests {
            requests.watch();
        }
        self.saving.stop_detecting();
        if let Some(voice) = &self.voice {
            voice.publisher.introduce(self.introduction());
        }
        self.machine.on(Event::CanSave, self.clock.now())
    }

    /// Passes a request on: by the file to a program that looks there, else by signal or command.
    fn pass(&mut self) {
        let result = match &mut self.requests {
            Some(requests) if requests.is_watched() => requests.make(),
            _ => {
                if let Some(program) = &self.program {
                    let reports = self.reports.as_ref().map(|reports| reports.path().to_owned());
                    self.saving.ask(program.pid(), reports);
                }
                Ok(())
            }
        };
        if let Err(error) = result {
            self.complain(&format!("the request to save cannot be written ({error})"));
        }
    }

    /// How long nothing is to be done if nothing happens.
    fn wait(&self) -> Duration {
        const LONG: Duration = Duration::from_secs(3600);
        let now = self.clock.now().monotonic;
        let publication = self.voice.as_ref().and_then(|_| self.progress.due());
        let next = [self.machine.next_tick(), publication]
            .into_iter()
            .flatten()
            .min();
        let wait = next.map_or(LONG, |next| next.saturating_sub(now));
        let look = self.saving.wait(self.machine.is_waiting());
        look.map_or(wait, |look| look.min(wait))
    }

    fn happened(&mut self, happening: Happening) -> Vec<Action> {
        match happening {
            Happening::Signal(received) => self.signalled(received),
            Happening::ReportsChanged => self.read_reports(false),
            Happening::OutputRead(heard) => self.output_read(&heard, false),
            Happening::Exited => {
                // What it wrote last is heard before its end.
                let mut actions = self.read_reports(true);
                let code = self.program.take().map_or(u8::MAX, Program::reap);
                if let Some(heard) = self.output.as_mut().map(Output::finish) {
                    actions.extend(self.output_read(&heard, code == 0));
                }
                // The end itself is told to the machine once it is known what it means.
                if self.saving.exited(code) && self.machine.awaits_save() {
                    actions.extend(self.saved(Duration::ZERO));
                }
                actions
            }
            Happening::Saving(message) => match self.saving.heard(&message) {
                Some(ago) => self.saved(ago),
                None => Vec::new(),
            },
            Happening::Acknowledged => self.machine.on(Event::Acknowledged, self.clock.now()),
            Happening::Looked(cause, answer) => {
                let counts = self.voice.as_mut().is_some_and(Voice::looked);
                match counts {
                    true => self.machine.on(Event::Looked(cause, answer), self.clock.now()),
                    false => Vec::new(),
                }
            }
        }
    }

    fn signalled(&mut self, received: Received) -> Vec<Action> {
        let is_in_job = self.environment.job.is_some();
        match received.signal {
            Signal::URG if is_in_job => self.machine.on(Event::AskSignal, self.clock.now()),
            DRILL_SIGNAL if is_in_job && !received.is_from_terminal => {
                self.machine.on(Event::Drill, self.clock.now())
            }
            Signal::TERM if is_in_job => self.machine.on(Event::Terminate, self.clock.now()),
            // Slurm signals the program itself, and so does a terminal.
            Signal::URG | DRILL_SIGNAL => Vec::new(),
            _ if is_in_job || received.is_from_terminal => Vec::new(),
            signal => {
                if let Some(program) = &self.program {
                    program.signal(signal);
                }
                Vec::new()
            }
        }
    }

    fn read_reports(&mut self, is_end: bool) -> Vec<Action> {
        let Some(mut reports) = self.reports.take() else {
            return Vec::new();
        };
        let mut actions = Vec::new();
        let read = reports.read(is_end, |line| match Report::parse(line) {
            Ok(None) => {}
            Ok(Some(report)) => actions.extend(self.reported(&report)),
            Err(error) => self.complain(&error.to_string()),
        });
        if let Err(error) = read {
            self.complain(&format!("reports cannot be read ({error})"));
        }
        match reports.restore() {
            Ok(false) => {}
            Ok(true) => say(
                "the file for reports was removed, and is there again; leave $TMPDIR alone while the job runs",
            ),
            Err(error) => self.complain(&format!(
                "the file for reports was removed ({error}); nothing is heard of reports"
            )),
        }
        self.reports = Some(reports);
        actions
    }

    fn reported(&mut self, report: &Report) -> Vec<Action> {
        let now = self.clock.now();
        let mut actions = Vec::new();
        if report.epoch.is_some() && self.told.report() {
            self.progress.begin_anew(report.total().or(self.run.epochs));
        }
        if report.epoch.is_some() || report.epochs.is_some() {
            // A report may have been read late, but never before it was made.
            let age_s = report.at.map_or(0.0, |at| now.unix.0 as f64 - at);
            let age = Duration::try_from_secs_f64(age_s).unwrap_or_default();
            self.progress
                .report(report.epoch, report.total(), now.monotonic.saturating_sub(age));
        }
        if report.epoch.is_some() {
            actions.extend(self.machine.on(Event::Progressed, now));
        }
        if report.can_save == Some(true) && !self.is_watched() {
            actions.extend(self.watched());
        }
        match report.has_saved() {
            Ok(true) => actions.extend(self.saved(Duration::ZERO)),
            Ok(false) => {}
            Err(error) => self.complain(&error.to_string()),
        }
        actions
    }

    fn saved(&mut self, ago: Duration) -> Vec<Action> {
        self.machine.on(Event::Saved { ago }, self.clock.now())
    }

    /// What the program has printed since: that it has saved, and how far it is, where it does not report that.
    fn output_read(&mut self, heard: &Heard, has_succeeded: bool) -> Vec<Action> {
        let mut actions = Vec::new();
        if heard.has_saved && self.machine.awaits_save() {
            actions.extend(self.saved(Duration::ZERO));
        }
        let now = self.clock.now();
        let Some(stand) = self.told.read(&heard.reading, has_succeeded) else {
            return actions;
        };
        self.progress.stand(&stand, now.monotonic);
        if stand.ends_epoch {
            actions.extend(self.machine.on(Event::Progressed, now));
        }
        actions
    }

    fn complain(&mut self, sentence: &str) {
        self.complaints = self.complaints.saturating_add(1);
        if self.complaints <= COMPLAINTS_MAX {
            say(sentence);
        }
    }

    /// Carries out actions; the exit code if this is the end.
    fn act(&mut self, actions: Vec<Action>) -> Option<u8> {
        for action in actions {
            match action {
                Action::Look(cause) => {
                    if let Some(voice) = &mut self.voice {
                        voice.look(cause);
                    }
                }
                Action::Pass => self.pass(),
                Action::Acknowledge { saved, save_s } => {
                    self.progress.save(saved);
                    let mut changes = self.progress.publish(self.clock.now());
                    // Behind `saved`, without which it is of little use.
                    changes.splice(1..1, save_s.map(|save_s| (Key::SaveS, seconds(save_s))));
                    if let Some(voice) = &self.voice {
                        voice.publisher.acknowledge(changes);
                    }
                }
                Action::NoteSave => self.progress.save(self.clock.now().unix),
                Action::Resume => {
                    self.progress.interrupt();
                    if let Some(output) = &self.output {
                        output.restart();
                    }
                    if let Some(code) = self.start(true) {
                        return Some(code);
                    }
                }
                Action::Requeue => {
                    if let Some(voice) = &self.voice {
                        voice.requeue();
                    }
                }
                Action::Kill => {
                    // Slurm may be as quick: the folder goes first.
                    self.reports = None;
                    if let Some(program) = &self.program {
                        program.signal(Signal::KILL);
                    }
                }
                Action::End(code) => return Some(code),
                Action::Say(sentence) => say(&sentence),
            }
        }
        None
    }

    /// Starts the program; an exit code if it cannot be started.
    fn start(&mut self, is_resumed: bool) -> Option<u8> {
        let report = self.reports.as_ref().map(|reports| reports.path().into());
        let request = self.requests.as_mut().map(|requests| {
            requests.begin();
            requests.path().into()
        });
        let environment = [
            (REPORT, report),
            (SAVE_REQUEST, request),
            (RESUME, is_resumed.then(|| "1".into())),
            (RESTART_COUNT, Some(self.environment.restarts.to_string().into())),
        ];
        let to_main = self.sender.clone();
        let exited = move || _ = to_main.send(Happening::Exited);
        let streams = match self.output.as_mut().map(Output::connect) {
            None => Streams::default(),
            Some(Ok(streams)) => streams,
            Some(Err(error)) => {
                say(&format!(
                    "the program's output is not read ({error}); it runs all the same"
                ));
                self.output = None;
                Streams::default()
            }
        };
        match Program::start(&self.run.command, &environment, streams, exited) {
            Ok(program) => {
                self.program = Some(program);
                None
            }
            Err(error) => {
                say(&error.to_string());
                Some(error.exit_code())
            }
        }
    }

    /// What the request to save needs from time to time; an exit code if this is the end.
    fn follow_save(&mut self) -> Option<u8> {
        let program = self.program.as_ref().map(Program::pid);
        if self.saving.detect(program) {
            if let (Some(voice), Some(signal)) = (&self.voice, self.saving.signal_name()) {
                say(&format!(
                    "the program handles SIG{signal}, and is asked by it to save (if it does not, give --save-signal none)"
                ));
                voice.publisher.introduce(self.introduction());
            }
            let actions = self.machine.on(Event::CanSave, self.clock.now());
            self.act(actions);
        }
        self.saving
            .follow(self.machine.is_waiting(), self.machine.awaits_save());
        let is_watched = self.is_watched();
        if let Some(program) = program
            && self.machine.is_waiting()
            && self.saving.is_ready(program, is_watched)
        {
            let actions = self.machine.on(Event::Ready, self.clock.now());
            self.act(actions);
        }
        let code = self.saving.ended(self.machine.awaits_save())?;
        let training = match (self.progress.is_finished(), self.progress.has_epochs_left()) {
            (true, _) => Training::Finished,
            (false, true) => Training::Unfinished,
            (false, false) => Training::Unknown,
        };
        let actions = self
            .machine
            .on(Event::Exited { code, training }, self.clock.now());
        self.act(actions)
    }

    fn publish_what_is_due(&mut self) {
        let now = self.clock.now();
        let is_due = self.progress.due().is_some_and(|due| due <= now.monotonic);
        if let Some(voice) = self.voice.as_ref().filter(|_| is_due) {
            voice.publisher.set(self.progress.publish(now));
        }
    }

    /// The last word: how far the training came, so that a job that is started again knows.
    fn end(mut self, code: u8) -> u8 {
        // Where Slurm takes the allocation away there is no time for it.
        let is_taken = self.machine.is_terminated();
        if let Some(voice) = self.voice.take().filter(|_| !is_taken) {
            if self.progress.has_news() {
                voice.publisher.set(self.progress.publish(self.clock.now()));
            }
            voice.publisher.finish(FINISH_LIMIT);
        }
        code
    }
}
