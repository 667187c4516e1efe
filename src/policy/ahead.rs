// SPDX-License-Identifier: GPL-2.0-or-later
//! Free places of urgent jobs that fit as things are. Slurm may take a while to start them, or have its own reasons not to,
//! and those behind them who have asked others to make way must not take these places for theirs meanwhile: they would
//! let their victims go, and whoever is then without a place would ask the next.

use super::book::{Book, Campaign, Phase};
use super::facts::PlaceInQueue;
use super::fit::Ledger;
use super::het::untested_max_s;
use super::ids::JobId;
use super::party::Party;
use super::places::Places;
use super::units::UnixTime;
use std::cmp::Reverse;

/// Free places that were set aside in this step, and for whom.
#[derive(Default)]
pub struct FreePlaces(Vec<(JobId, Places)>);

impl FreePlaces {
    /// Sets these aside for one job of `party`.
    pub fn set_aside(&mut self, party: &Party<'_>, places: Places, ledger: &mut Ledger) {
        party.reserve(ledger, &places);
        self.0.push((party.id(), places));
    }

    /// Those of this job, once for each of its tasks.
    pub fn take(&mut self, job: JobId) -> Option<Places> {
        let at = self.0.iter().position(|(of, _)| *of == job)?;
        Some(self.0.swap_remove(at).1)
    }
}

/// Who waits without anybody making way; the first in the queue comes last.
pub struct Ahead<'a>(Vec<&'a Party<'a>>);

impl<'a> Ahead<'a> {
    /// All of these.
    pub fn new(book: &Book, parties: &'a [Party<'a>], now: UnixTime) -> Self {
        let mut waiting: Vec<_> = parties
            .iter()
            .filter(|party| !party.is_blocked() && !is_untested(party, now))
            .flat_map(|party| std::iter::repeat_n(party, without_campaign(book, party)))
            .collect();
        waiting.sort_by_key(|party| Reverse(party.place_in_queue()));
        Self(waiting)
    }

    /// Sets free places aside for those who stand before the job of `campaign`, which is at `position` in the queue: other
    /// tasks of the same array too, unless its victims are leaving.
    pub fn set_aside(
        &mut self,
        campaign: &Campaign,
        position: PlaceInQueue,
        ledger: &mut Ledger,
        free: &mut FreePlaces,
    ) {
        let leaving = matches!(campaign.phase, Phase::Open { .. } | Phase::Requeued { .. });
        let is_ahead = |party: &Party<'_>| match leaving {
            true => party.place_in_queue() < position,
            false => party.place_in_queue() <= position,
        };
        while let Some(party) = self.0.pop_if(|party| is_ahead(party)) {
            if let Some(places) = party.place(ledger) {
                free.set_aside(party, places, ledger);
            }
        }
    }
}

/// Slurm has yet to try it.
pub fn is_untested(party: &Party<'_>, now: UnixTime) -> bool {
    !party.is_tested() && now - party.submit() < untested_max_s(party)
}

/// Other than [`super::step`] does for those who ask others, this counts a job of which a campaign is being wound up: it may
/// be let go because it fits.
fn without_campaign(book: &Book, party: &Party<'_>) -> usize {
    let of_it = || book.campaigns_of(party.id());
    if of_it().any(|campaign| matches!(campaign.phase, Phase::GivenUp { .. })) {
        return 0;
    }
    let claiming = of_it().filter(|campaign| campaign.claims()).count();
    party.tasks_served().saturating_sub(claiming)
}
