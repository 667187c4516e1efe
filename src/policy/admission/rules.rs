// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a job may be urgent: permissions, then limits, then the budget. The first rule that it breaks is named.

mod permission;

use self::permission::shown;
use super::applicant::{Applicant, Need};
use super::settings::AdmissionSettings;
use super::usage::Usage;
use crate::policy::facts::Hindrance;
use crate::policy::ids::{GroupId, UserId};
use std::collections::BTreeSet;

/// Users by number, each by itself or as members of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circle {
    /// Users who are named, and members of groups that are named.
    pub users: BTreeSet<UserId>,
    /// Those groups: a user's own group does not list him as a member.
    pub groups: BTreeSet<GroupId>,
}

impl Circle {
    fn has(&self, applicant: &Applicant<'_>) -> bool {
        self.users.contains(&applicant.user)
            || applicant.group.is_some_and(|group| self.groups.contains(&group))
    }
}

/// The users and groups of the settings, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct People {
    /// Of `allow_users` and `allow_groups`.
    pub allowed: Circle,
    /// Of `deny_users` and `deny_groups`.
    pub denied: Circle,
}

/// Why a job may not be urgent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What kind of rule it breaks.
    pub kind: Kind,
    /// Which rule, how much is used and what is left.
    pub sentence: String,
}

/// What kind of rule a job breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is not among those who may.
    Permission,
    /// There are as many urgent jobs as there may be.
    Limit,
    /// The budget is used up.
    Budget,
}

impl Kind {
    /// Its name in the audit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Limit => "limit",
            Self::Budget => "budget",
        }
    }

    /// What keeps such a job from being planned for.
    pub fn hindrance(self) -> Hindrance {
        match self {
            Self::Permission => Hindrance::AdmissionPermission,
            Self::Limit => Hindrance::AdmissionLimit,
            Self::Budget => Hindrance::AdmissionBudget,
        }
    }
}

/// Whether a job may be urgent. Limits and budget are not looked at where `usage` is not known yet.
///
/// # Errors
/// The first rule that it breaks.
pub fn judge(
    settings: &AdmissionSettings,
    people: &People,
    usage: Option<&Usage>,
    applicant: &Applicant<'_>,
) -> Result<(), Refusal> {
    permission::judge(settings, people, applicant).map_err(|sentence| refusal(Kind::Permission, sentence))?;
    let Some(usage) = usage else { return Ok(()) };
    limits(settings, usage, applicant).map_err(|sentence| refusal(Kind::Limit, sentence))?;
    budget(settings, usage, applicant).map_err(|sentence| refusal(Kind::Budget, sentence))
}

fn refusal(kind: Kind, sentence: String) -> Refusal {
    Refusal { kind, sentence }
}

// --- limits ---

fn limits(settings: &AdmissionSettings, usage: &Usage, applicant: &Applicant<'_>) -> Result<(), String> {
    let need = &applicant.need;
    let account = applicant.account.name();
    let of_account = account.map(|name| usage.of_account(name));
    let shown = shown(account.unwrap_or_default());
    for (table, who, limits, tally) in [
        (
            "per_user",
            format!("user {}", applicant.user.0),
            settings.per_user,
            Some(usage.of_user(applicant.user)),
        ),
        (
            "per_account",
            format!("account {shown}"),
            settings.per_account,
            of_account,
        ),
        (
            "in_all",
            "this cluster".to_owned(),
            settings.in_all,
            Some(usage.of_all()),
        ),
    ] {
        let Some(tally) = tally else { continue };
        for (key, what, limit, used, more) in [
            (
                "running",
                "urgent jobs that run or may start",
                limits.running,
                tally.running,
                need.at_once,
            ),
            (
                "waiting",
                "urgent jobs that wait",
                limits.waiting,
                tally.waiting,
                need.waiting,
            ),
            (
                "gpus",
                "GPUs in urgent jobs that run or may start",
                limits.gpus,
                tally.gpus,
                need.gpus_at_once(),
            ),
            (
                "nodes",
                "nodes in urgent jobs that run or may start",
                limits.nodes,
                tally.nodes,
                need.nodes_at_once(),
            ),
        ] {
            let Some(limit) = limit.map(u64::from) else {
                continue;
            };
            if used.saturating_add(more) > limit && more > 0 {
                let left = limit.saturating_sub(used);
                return Err(format!(
                    "{who} may have {limit} {what}, has {used}, so {left} are left, and this job counts as {more}{} \
                     (admission.{table}.{key})",
                    parts(need, key)
                ));
            }
        }
    }
    Ok(())
}

/// How a job comes to count as so much.
fn parts(need: &Need, key: &str) -> String {
    let tasks = match need.at_once {
        1 => String::new(),
        tasks => format!("{tasks} tasks × "),
    };
    match key {
        "gpus" if need.at_once > 1 => format!(" ({tasks}{} GPUs)", need.gpus),
        "nodes" if need.at_once > 1 => format!(" ({tasks}{} nodes)", need.nodes),
        _ => String::new(),
    }
}

// --- budget ---

fn budget(settings: &AdmissionSettings, usage: &Usage, applicant: &Applicant<'_>) -> Result<(), String> {
    let budget = &settings.budget;
    let account = applicant.account.name();
    for (key, who, limit_h, used_h) in [
        (
            "gpu_hours_per_user",
            format!("user {} has", applicant.user.0),
            budget.gpu_hours_per_user,
            Some(usage.spent.by_user(applicant.user)),
        ),
        (
            "gpu_hours_per_account",
            format!("account {} has", shown(account.unwrap_or_default())),
            budget.gpu_hours_per_account,
            account.map(|name| usage.spent.by_account(name)),
        ),
        (
            "gpu_hours_in_all",
            "all urgent jobs together have".to_owned(),
            budget.gpu_hours_in_all,
            Some(usage.spent.all),
        ),
    ] {
        let (Some(limit_h), Some(used_h)) = (limit_h, used_h) else {
            continue;
        };
        if used_h >= limit_h {
            return Err(format!(
                "{who} used {} of {} urgent GPU-hours in the last {} h, so none are left{}; they come back as that time \
                 passes (admission.budget.{key})",
                hours(used_h),
                hours(limit_h),
                budget.window_h,
                may_need(&applicant.need)
            ));
        }
    }
    Ok(())
}

/// What a job may use up, and how that comes about; nothing where it has no GPUs or no time limit.
fn may_need(need: &Need) -> String {
    let Some(limit_h) = need.time_limit_s.map(|limit| limit.0 / 3600.0) else {
        return String::new();
    };
    if need.gpus == 0 {
        return String::new();
    }
    let total_h = need.gpus.saturating_mul(need.waiting) as f64 * limit_h;
    let tasks = match need.waiting {
        1 => String::new(),
        tasks => format!("{tasks} tasks × "),
    };
    format!(
        ", and this job may need {} more ({tasks}{} GPUs × {} h)",
        hours(total_h),
        need.gpus,
        hours(limit_h)
    )
}

/// Hours as people read them: as few digits as tell them apart.
fn hours(hours: f64) -> String {
    let digits = match hours {
        hours if hours >= 10.0 => 1,
        hours if hours >= 0.1 => 2,
        _ => 4,
    };
    let text = format!("{hours:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests;
