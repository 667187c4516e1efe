// SPDX-License-Identifier: GPL-2.0-or-later
//! Who may be urgent: by user and group, account, QOS and partition.

use super::People;
use crate::policy::admission::applicant::{Applicant, Label};
use crate::policy::admission::settings::AdmissionSettings;

/// At most so many names of a list are told.
const NAMED_MAX: usize = 8;
/// Of a name that a user wrote at most so much is told.
const NAME_MAX_CHARS: usize = 64;

/// Whether a job is among those who may be urgent.
///
/// # Errors
/// What of it is not, and by which rule.
pub(super) fn judge(
    settings: &AdmissionSettings,
    people: &People,
    applicant: &Applicant<'_>,
) -> Result<(), String> {
    let user = applicant.user.0;
    if people.denied.has(applicant) {
        return Err(format!(
            "user {user} may not have urgent jobs (admission.deny_users, admission.deny_groups)"
        ));
    }
    let anybody = settings.allow_users.is_empty() && settings.allow_groups.is_empty();
    if !anybody && !people.allowed.has(applicant) {
        let users = some_of(&settings.allow_users);
        let groups = some_of(&settings.allow_groups);
        return Err(format!(
            "urgent jobs are for the users {users} and the members of the groups {groups} only, and user {user} is none of \
             them (admission.allow_users, admission.allow_groups)"
        ));
    }
    for rule in [
        NameRule {
            what: "account",
            option: "--account",
            matters: settings.goes_by_account(),
            label: applicant.account,
            allow: &settings.allow_accounts,
            deny: &settings.deny_accounts,
            keys: ["allow_accounts", "deny_accounts"],
        },
        NameRule {
            what: "QOS",
            option: "--qos",
            matters: settings.goes_by_qos(),
            label: applicant.qos,
            allow: &settings.allow_qos,
            deny: &settings.deny_qos,
            keys: ["allow_qos", "deny_qos"],
        },
        NameRule {
            what: "partition",
            option: "--partition",
            matters: !settings.allow_partitions.is_empty() || !settings.deny_partitions.is_empty(),
            label: applicant.partition,
            allow: &settings.allow_partitions,
            deny: &settings.deny_partitions,
            keys: ["allow_partitions", "deny_partitions"],
        },
    ] {
        rule.judge()?;
    }
    Ok(())
}

/// What is said of accounts, QOS or partitions.
struct NameRule<'a> {
    what: &'static str,
    option: &'static str,
    matters: bool,
    label: Label<'a>,
    allow: &'a [String],
    deny: &'a [String],
    keys: [&'static str; 2],
}

impl NameRule<'_> {
    fn judge(&self) -> Result<(), String> {
        let Self { what, option, .. } = self;
        let [allow_key, deny_key] = self.keys;
        if !self.matters {
            return Ok(());
        }
        let names = match self.label {
            Label::Is(names) => names,
            Label::Unseen => return Ok(()),
            // What Slurm will fill in is not known before it is too late to say anything to the user.
            Label::Unsaid => {
                return Err(format!(
                    "an urgent job has to say its {what} here ({option}=NAME), as this site has rules for urgent jobs by {what}"
                ));
            }
            Label::Absent if self.allow.is_empty() => return Ok(()),
            Label::Absent => {
                return Err(format!(
                    "urgent jobs are for the {what} {} only, and this job has none (admission.{allow_key})",
                    some_of(self.allow)
                ));
            }
        };
        // It may run in any of several partitions, so every one counts.
        for name in names.split(',') {
            let is_in = |list: &[String]| list.iter().any(|entry| entry.eq_ignore_ascii_case(name));
            let shown = shown(name);
            if is_in(self.deny) {
                return Err(format!(
                    "{what} {shown} may not have urgent jobs (admission.{deny_key})"
                ));
            }
            if !self.allow.is_empty() && !is_in(self.allow) {
                return Err(format!(
                    "urgent jobs are for the {what} {} only, and this job's is {shown} (admission.{allow_key})",
                    some_of(self.allow)
                ));
            }
        }
        Ok(())
    }
}

/// A name that a user wrote, as it is told: in one line of bounded length.
pub(super) fn shown(name: &str) -> String {
    name.chars()
        .take(NAME_MAX_CHARS)
        .flat_map(char::escape_debug)
        .collect()
}

/// The names of a list as they are told; "(none)" of none.
fn some_of(list: &[String]) -> String {
    if list.is_empty() {
        return "(none)".to_owned();
    }
    let mut text = list[..list.len().min(NAMED_MAX)].join(", ");
    if list.len() > NAMED_MAX {
        text += " and others";
    }
    text
}
