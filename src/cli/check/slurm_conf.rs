// SPDX-License-Identifier: GPL-2.0-or-later
//! What slurm.conf has to say for Surgent to work.

use super::finding::{Finding, Level};
use crate::slurm::config::Config;

/// A victim whose program ignores SIGTERM holds its nodes for this long without anybody minding much.
const KILL_WAIT_MAX_S: u64 = 60;

const RESTART: &str = "and restart slurmctld";

/// Slurm's job_submit plugins that change nothing in a job.
const ONLOOKERS: [&str; 3] = ["logging", "require_timelimit", "throttle"];

/// All findings about the settings that slurmctld runs with.
pub fn findings(config: &Config) -> Vec<Finding> {
    let rules: [fn(&Config) -> Option<Finding>; 10] = [
        preempt_type,
        preempt_mode,
        job_submit,
        site_factor,
        select_type,
        scheduler_type,
        kill_wait,
        requeue,
        sched_delay,
        accounting,
    ];
    rules.iter().filter_map(|rule| rule(config)).collect()
}

/// What keeps a slurmctld with preempt/surgent from starting, by slurm.conf alone: Slurm takes no PreemptType with
/// PreemptMode off, which is what it is where it is not set.
pub fn keeps_from_starting(file: &Config) -> Option<Finding> {
    let is_ours = file.get("PreemptType") == Some("preempt/surgent");
    let found = is_ours.then(|| preempt_mode(file))??;
    (found.level == Level::Error).then(|| Finding {
        found: format!(
            "{}; slurmctld does not start so, unless a file that is included sets it",
            found.found
        ),
        ..found
    })
}

fn shown<'a>(config: &'a Config, key: &str) -> &'a str {
    config.get(key).unwrap_or("not set")
}

fn preempt_type(config: &Config) -> Option<Finding> {
    let found = shown(config, "PreemptType");
    Some(match found {
        "preempt/surgent" => Finding::ok("PreemptType", found),
        _ => Finding::error(
            "PreemptType",
            format!("{found}: no job ever makes way by Surgent's choice"),
            format!("write PreemptType=preempt/surgent in slurm.conf, {RESTART}"),
        ),
    })
}

/// Victims are requeued whatever it says; it is for the jobs that the base stops.
fn preempt_mode(config: &Config) -> Option<Finding> {
    let found = shown(config, "PreemptMode");
    let has = |wanted: &str| {
        config
            .list("PreemptMode")
            .any(|mode| mode.eq_ignore_ascii_case(wanted))
    };
    Some(if has("requeue") || has("cancel") {
        Finding::ok("PreemptMode", found)
    } else if has("suspend") || has("gang") {
        Finding::warning(
            "PreemptMode",
            format!("{found}: Slurm suspends no job for another as it does without Surgent (docs/limits.md)"),
            format!("write PreemptMode=REQUEUE or PreemptMode=CANCEL, {RESTART}"),
        )
    } else {
        Finding::error(
            "PreemptMode",
            format!("{found}: Slurm preempts nobody"),
            format!("write PreemptMode=REQUEUE, {RESTART}"),
        )
    })
}

fn job_submit(config: &Config) -> Option<Finding> {
    let found = shown(config, "JobSubmitPlugins");
    let mut plugins = config.list("JobSubmitPlugins").map(name_of);
    if !plugins.any(|plugin| plugin == "surgent") {
        return Some(Finding::error(
            "JobSubmitPlugins",
            format!("{found}: no comment is read, and no job becomes urgent"),
            format!("add surgent to JobSubmitPlugins, as the last, {RESTART}"),
        ));
    }
    let behind: Vec<&str> = plugins.filter(|plugin| !ONLOOKERS.contains(plugin)).collect();
    Some(match behind.is_empty() {
        true => Finding::ok("JobSubmitPlugins", found),
        false => Finding::warning(
            "JobSubmitPlugins",
            format!(
                "{found}: Surgent judges a job before {} may change its comment or partition",
                behind.join(", ")
            ),
            format!("write surgent as the last of JobSubmitPlugins, {RESTART}"),
        ),
    })
}

/// Slurm takes plugin names with and without their kind.
fn name_of(plugin: &str) -> &str {
    plugin.rsplit('/').next().unwrap_or_default()
}

fn site_factor(config: &Config) -> Option<Finding> {
    if shown(config, "PriorityType") != "priority/multifactor" {
        return Some(Finding::note(
            "PriorityType",
            format!(
                "{}: urgent jobs come first, the others in Slurm's own order",
                shown(config, "PriorityType")
            ),
        ));
    }
    let found = shown(config, "PrioritySiteFactorPlugin");
    Some(match name_of(found) == "surgent" {
        true => Finding::ok("PrioritySiteFactorPlugin", found),
        false => Finding::warning(
            "PrioritySiteFactorPlugin",
            format!(
                "{found}: the queue of normal jobs does not know of their epochs, nor of who was preempted"
            ),
            format!("write PrioritySiteFactorPlugin=site_factor/surgent, {RESTART}"),
        ),
    })
}

fn select_type(config: &Config) -> Option<Finding> {
    let found = shown(config, "SelectType");
    Some(match found {
        "select/cons_tres" => Finding::ok("SelectType", found),
        _ => Finding::warning(
            "SelectType",
            format!("{found}: plans are made for select/cons_tres, and may not fit what this allots"),
            format!("write SelectType=select/cons_tres, {RESTART}"),
        ),
    })
}

fn scheduler_type(config: &Config) -> Option<Finding> {
    (shown(config, "SchedulerType") != "sched/backfill").then(|| {
        Finding::warning(
            "SchedulerType",
            format!(
                "{}: heterogeneous urgent jobs are never started; before Slurm 24.11, with priority/basic, others come first \
                 if submitted before",
                shown(config, "SchedulerType")
            ),
            format!("write SchedulerType=sched/backfill, {RESTART}"),
        )
    })
}

fn kill_wait(config: &Config) -> Option<Finding> {
    let wait_s = config.seconds("KillWait")?;
    let found = format!("{wait_s} s");
    Some(match wait_s <= KILL_WAIT_MAX_S {
        true => Finding::ok("KillWait", found),
        false => Finding::warning(
            "KillWait",
            format!("{found}: a victim that ignores SIGTERM holds its nodes for so long after its save"),
            "write KillWait=30; jobs under `surgent run` end at once either way",
        ),
    })
}

fn requeue(config: &Config) -> Option<Finding> {
    (config.get("JobRequeue") == Some("0")).then(|| {
        Finding::warning(
            "JobRequeue",
            "0: a job without a directive in its comment, and without --requeue, is never a victim",
            "write JobRequeue=1, where training jobs may be started again",
        )
    })
}

fn sched_delay(config: &Config) -> Option<Finding> {
    let is_set = config
        .list("SchedulerParameters")
        .any(|parameter| parameter.starts_with("batch_sched_delay="));
    (!is_set).then(|| {
        Finding::note(
            "SchedulerParameters",
            "no batch_sched_delay: normal jobs wait up to 3 s for their first look; urgent ones do not, as Surgent wakes \
             the scheduler",
        )
    })
}

fn accounting(config: &Config) -> Option<Finding> {
    if shown(config, "AccountingStorageType") != "accounting_storage/slurmdbd" {
        return Some(Finding::note(
            "AccountingStorageType",
            format!(
                "{}: sacct cannot show later who was preempted for whom",
                shown(config, "AccountingStorageType")
            ),
        ));
    }
    let found = shown(config, "AccountingStoreFlags");
    Some(
        match config
            .list("AccountingStoreFlags")
            .any(|flag| flag == "job_comment")
        {
            true => Finding::ok("AccountingStoreFlags", found),
            false => Finding::warning(
                "AccountingStoreFlags",
                format!("{found}: sacct does not show what jobs said of their training"),
                format!("add job_comment to AccountingStoreFlags, {RESTART}"),
            ),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
PreemptType = preempt/surgent
PreemptMode = REQUEUE
JobSubmitPlugins = lua,surgent
PriorityType = priority/multifactor
PrioritySiteFactorPlugin = site_factor/surgent
SelectType = select/cons_tres
SchedulerType = sched/backfill
SchedulerParameters = bf_interval=30,batch_sched_delay=0
KillWait = 30 sec
JobRequeue = 1
AccountingStorageType = accounting_storage/slurmdbd
AccountingStoreFlags = job_comment
";

    #[test]
    fn a_good_configuration_is_good() {
        let found = findings(&Config::parse(GOOD));
        assert!(
            found.iter().all(|finding| finding.level == Level::Ok),
            "{found:?}"
        );
    }

    #[test]
    fn what_keeps_slurmctld_from_starting_is_seen_in_the_file_alone() {
        let level = |text: &str| keeps_from_starting(&Config::parse(text)).map(|finding| finding.level);
        assert_eq!(level("PreemptType=preempt/surgent\n"), Some(Level::Error));
        assert_eq!(
            level("PreemptType=preempt/surgent\nPreemptMode=OFF\n"),
            Some(Level::Error)
        );
        assert_eq!(level("PreemptType=preempt/surgent\nPreemptMode=REQUEUE\n"), None);
        assert_eq!(level("PreemptType=preempt/qos\n"), None);
    }

    #[test]
    fn a_plugin_that_only_looks_may_stand_behind() {
        let found = findings(&Config::parse(&format!(
            "{GOOD}JobSubmitPlugins = lua,job_submit/surgent,require_timelimit\n"
        )));
        assert!(
            found.iter().all(|finding| finding.level == Level::Ok),
            "{found:?}"
        );
    }

    #[test]
    fn each_line_that_is_wrong_is_named_with_what_to_change() {
        let table = [
            ("PreemptType = preempt/qos", Level::Error),
            ("PreemptMode = OFF", Level::Error),
            ("PreemptMode = (null)", Level::Error),
            ("PreemptMode = SUSPEND,GANG", Level::Warning),
            ("JobSubmitPlugins = lua", Level::Error),
            ("JobSubmitPlugins = (null)", Level::Error),
            ("JobSubmitPlugins = surgent,lua", Level::Warning),
            (
                "JobSubmitPlugins = job_submit/surgent,job_submit/all_partitions",
                Level::Warning,
            ),
            ("PriorityType = priority/basic", Level::Note),
            ("PrioritySiteFactorPlugin = site_factor/none", Level::Warning),
            ("SelectType = select/linear", Level::Warning),
            ("SchedulerType = sched/builtin", Level::Warning),
            ("KillWait = 600 sec", Level::Warning),
            ("JobRequeue = 0", Level::Warning),
            ("SchedulerParameters = (null)", Level::Note),
            ("AccountingStorageType = accounting_storage/none", Level::Note),
            ("AccountingStoreFlags = (null)", Level::Warning),
        ];
        for (line, level) in table {
            let found = findings(&Config::parse(&format!("{GOOD}{line}\n")));
            let wrong: Vec<_> = found
                .iter()
                .filter(|finding| finding.level != Level::Ok)
                .collect();
            let about = line.split(' ').next().expect("a key");
            assert_eq!(wrong.len(), 1, "{line}: {wrong:?}");
            assert_eq!(
                (wrong[0].about.as_str(), wrong[0].level),
                (about, level),
                "{line}"
            );
            assert_eq!(wrong[0].change.is_some(), level >= Level::Warning, "{line}");
        }
    }
}
