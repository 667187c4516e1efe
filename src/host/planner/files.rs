// SPDX-License-Identifier: GPL-2.0-or-later
//! What the planner keeps on disk: its book, the audit, and the facts behind its plans.

use super::Planner;
use crate::host::core::{Core, unix_now};
use crate::host::records::Choice;
use crate::host::state::Kept;
use crate::policy::audit::{Entry, Event};
use crate::policy::book::Book;
use crate::policy::facts::Facts;
use crate::policy::ids::JobId;
use crate::policy::notes;
use crate::policy::settings::{Mode, Settings};
use crate::policy::snapshot::SnapshotView;

impl Planner {
    pub(super) fn load_book(&mut self) -> Book {
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

    pub(super) fn store(&mut self, book: &Book) {
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
    pub(super) fn store_again(&mut self) {
        if self.store_complaint.is_some()
            && let Some(book) = self.book.take()
        {
            self.store(&book);
            self.book = Some(book);
        }
    }

    pub(super) fn write_events(&mut self, settings: &Settings, facts: &Facts, events: Vec<Event>) {
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|event| Entry {
                at: facts.now,
                shadow: settings.mode == Mode::Shadow,
                event,
            })
            .collect();
        self.meter.count(&entries);
        self.write_audit(settings, &entries, 0);
    }

    /// What is left to be written when slurmctld ends, where it has been this one's to write.
    pub(super) fn write_last(&mut self, core: &Core) {
        if self.control.is_some() {
            self.write_noted(core);
            self.meter.write(self.state_now(core));
        }
    }

    /// What hooks have noted since the last time.
    pub(super) fn write_noted(&mut self, core: &Core) {
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

    pub(super) fn keep(
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
}
