// SPDX-License-Identifier: GPL-2.0-or-later
//! What happens to a job when it is submitted or changed.

pub mod applicant;
pub mod ask;
pub mod desk;
pub mod ledger;
pub mod review;
pub mod rules;
pub mod settings;
pub mod usage;

use self::rules::Refusal;
use self::settings::Refuse;
use super::directives::{self, Urgency, UrgencyOption};
use super::record::Record;
use super::settings::Mode;
use super::units::{Seconds, UnixTime};
use std::borrow::Cow;

/// Priority of an urgent job: above what the ordinary priority plugins give, below Slurm's own special values.
pub const URGENT_PRIORITY: u32 = 0xffff_f000;

/// Priority of a component of an urgent heterogeneous job: before all normal jobs, behind all other urgent ones. Slurm's
/// main scheduler starts nothing behind such a component in its partition, not even on the nodes of victims.
const URGENT_HET_PRIORITY: u32 = URGENT_PRIORITY - 1;

/// The priority of an urgent job; of a component of a heterogeneous one if `het`.
pub fn urgent_priority(het: bool) -> u32 {
    match het {
        true => URGENT_HET_PRIORITY,
        false => URGENT_PRIORITY,
    }
}

const HET_NOTE: &str = "all components of an urgent heterogeneous job start together, by Slurm's backfill scheduler. Once \
                        those who make way have saved, that may take another minute";

/// A save that is claimed for later than this from now is not believed.
const CLOCK_SKEW_MAX_S: Seconds = Seconds(300.0);

/// A submission.
#[derive(Clone, Copy, Debug)]
pub struct Submission<'a> {
    /// The job's comment.
    pub comment: Option<&'a [u8]>,
    /// Its AdminComment, which only an administrator can have set.
    pub admin_comment: Option<&'a [u8]>,
    /// Its user said neither `--requeue` nor `--no-requeue`.
    pub requeue_unset: bool,
    /// It is submitted held.
    pub held: bool,
    /// It has a batch script.
    pub batch: bool,
    /// It is a component of a heterogeneous job.
    pub component: Option<Component>,
    /// What `--urgency` says.
    pub option: UrgencyOption<'a>,
}

/// Which component of a heterogeneous job is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The first.
    First,
    /// Another one.
    Later,
}

/// What to change in a submission; the default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// The new comment.
    pub comment: Option<Vec<u8>>,
    /// The new AdminComment.
    pub admin_comment: Option<Vec<u8>>,
    /// The new priority.
    pub priority: Option<u32>,
    /// Make it requeueable.
    pub requeue: bool,
    /// A sentence for its user.
    pub note: Option<String>,
}

/// Who decides whether a job may be urgent, and what becomes of one that may not.
pub struct Door<'a> {
    /// What becomes of it.
    pub refuse: Refuse,
    /// Asked at most once, and only about a job that would be urgent; told whether it is urgent already.
    pub judge: &'a mut dyn FnMut(bool) -> Result<(), Refusal>,
}

/// Looks at a submission. A job without directives is left exactly as it is.
///
/// # Errors
/// A sentence for the user, where the comment has malformed directives, `--urgency` contradicts it, or the job may not be
/// urgent.
pub fn submit(job: &Submission<'_>, now: UnixTime, mode: Mode, door: Door<'_>) -> Result<Admission, String> {
    let given = job.comment.unwrap_or_default();
    if mode == Mode::Off || (given.is_empty() && job.option.value.is_none()) {
        return Ok(Admission::default());
    }
    let comment = job.option.write_into(given).map_err(|error| error.to_string())?;
    let directives = directives::parse(&comment).map_err(|error| error.to_string())?;
    if directives.is_empty() {
        return Ok(Admission::default());
    }
    let touch = mode == Mode::On;
    let mut class = directives.urgency.unwrap_or(Urgency::Normal);
    let mut note = None;
    if touch && class == Urgency::Urgent {
        match (door.judge)(false) {
            // Once is enough for all components.
            Ok(()) => note = (job.component == Some(Component::First)).then(|| HET_NOTE.to_owned()),
            Err(refusal) => {
                note = Some(made_normal(&refusal, door.refuse)?);
                class = Urgency::Normal;
            }
        }
    }
    let record = Record {
        first: Some(now),
        ..Record::new(class)
    };
    let urgent = class == Urgency::Urgent;
    Ok(Admission {
        comment: match comment {
            Cow::Owned(written) => Some(written),
            Cow::Borrowed(_) => None,
        },
        admin_comment: Some(record.write_into(job.admin_comment.unwrap_or_default())),
        priority: (touch && urgent && !job.held).then_some(urgent_priority(job.component.is_some())),
        requeue: touch && !urgent && job.batch && job.requeue_unset,
        note,
    })
}

/// What its user is told of a job that is made normal.
///
/// # Errors
/// What he is told where it is refused instead.
fn made_normal(refusal: &Refusal, refuse: Refuse) -> Result<String, String> {
    let sentence = &refusal.sentence;
    match refuse {
        Refuse::Reject => Err(format!("{sentence}; without urgency=urgent it would be accepted")),
        Refuse::Normal => Ok(format!("{sentence}; so this is a normal job")),
    }
}

/// A change that somebody asks for, and the job as it is.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The comment asked for; `None` leaves it.
    pub comment: Option<&'a [u8]>,
    /// The AdminComment asked for; Slurm lets only administrators do so.
    pub admin_comment: Option<&'a [u8]>,
    /// The AdminComment as it is.
    pub current_admin_comment: Option<&'a [u8]>,
    /// It waits.
    pub pending: bool,
    /// Its account, QOS, partition or size is to change.
    pub alters: bool,
}

/// What to do about a change; the default is to let it pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amendment {
    /// The AdminComment to write instead of the one that was asked for.
    pub admin_comment: Option<Vec<u8>>,
    /// The class of a waiting job is not what it was: the planner has to look at it.
    pub reclass: bool,
    /// The planner has to look: something that it reads has changed.
    pub wake: bool,
    /// A sentence for its user.
    pub note: Option<String>,
}

/// Looks at a change.
///
/// # Errors
/// A sentence for the user, where the new comment has malformed or impossible directives, or the job may not be urgent.
pub fn modify(change: &Change<'_>, now: UnixTime, mode: Mode, door: Door<'_>) -> Result<Amendment, String> {
    if mode == Mode::Off {
        return Ok(Amendment::default());
    }
    let record = change.current_admin_comment.and_then(Record::read);
    let mut amendment = Amendment::default();
    let mut wants = record.as_ref().map(|record| record.class);
    if let Some(comment) = change.comment {
        let directives = directives::parse(comment).map_err(|error| error.to_string())?;
        let class = record.as_ref().map_or(Urgency::Normal, |record| record.class);
        if let Some(saved) = directives.saved
            && saved - now > CLOCK_SKEW_MAX_S
        {
            return Err(format!(
                "saved={saved} lies in the future: it is {now} now; check the clock of the node"
            ));
        }
        if change.pending {
            let wanted = directives.urgency.unwrap_or(Urgency::Normal);
            amendment.reclass = wanted != class;
            wants = Some(wanted);
        } else if directives.urgency == Some(Urgency::Urgent) && class != Urgency::Urgent {
            return Err(
                "the urgency of a job cannot be raised once it runs; it would protect nothing but itself"
                    .into(),
            );
        }
        amendment.wake = amendment.reclass || record.is_some() || !directives.is_empty();
    }
    let is_urgent = record
        .as_ref()
        .is_some_and(|record| record.class == Urgency::Urgent);
    let matters = change.pending && wants == Some(Urgency::Urgent) && (!is_urgent || change.alters);
    if mode == Mode::On
        && matters
        && let Err(refusal) = (door.judge)(is_urgent)
    {
        if is_urgent {
            return Err(format!("{}; the job stays as it is", refusal.sentence));
        }
        amendment.note = Some(made_normal(&refusal, door.refuse)?);
        amendment.reclass = false;
    }
    if let (Some(asked), Some(record)) = (change.admin_comment, record)
        && Record::read(asked).is_none()
    {
        // Another tool writes over our record; its text is kept, and so is the record.
        amendment.admin_comment = Some(record.write_into(asked));
    }
    Ok(amendment)
}
