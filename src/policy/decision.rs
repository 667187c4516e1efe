// SPDX-License-Identifier: GPL-2.0-or-later
//! What a step decided for an urgent job, for whoever keeps or shows it.

use super::ids::JobId;
use super::plan::Outcome;

/// What was decided for one urgent job, or for one task of an urgent array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision<'a> {
    /// For whom.
    pub urgent: JobId,
    /// What.
    pub outcome: &'a Outcome,
}

/// Is told of each decision as it is made.
pub type Listener<'a> = dyn FnMut(Decision<'_>) + 'a;
