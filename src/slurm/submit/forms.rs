// SPDX-License-Identifier: GPL-2.0-or-later
//! The forms in which sbatch takes the values of its options.

use crate::policy::units::Seconds;

/// What `--nodes` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCount {
    /// At least so many.
    pub min: u32,
    /// At most so many; `None` without a limit.
    pub max: Option<u32>,
}

/// One entry of `--gres`, or of `--gpus` and its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresCount {
    /// Such as `gpu`.
    pub name: String,
    /// Such as `a100`.
    pub model: Option<String>,
    /// How many.
    pub count: u64,
}

/// What `--array` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskCount {
    /// How many tasks there are.
    pub tasks: u32,
    /// Of these, so many may run at once.
    pub at_once: u32,
}

/// Slurm has no larger array, whatever `MaxArraySize` says.
const ARRAY_MAX: u32 = 4_000_001;

/// A count such as that of tasks.
///
/// # Errors
/// A sentence that says what would be right.
pub fn count(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("{text:?} is no count; write a whole number from 1 on")),
        Ok(count) => Ok(count),
    }
}

/// `2`, `2-4`, `2-`, `1k`.
///
/// # Errors
/// A sentence that says what would be right.
pub fn nodes(text: &str) -> Result<NodeCount, String> {
    let wrong = || {
        format!("{text:?} is no count of nodes; write one such as 2, or the least and the most such as 2-4")
    };
    let number = |text: &str| match scaled(text, 1024) {
        Some(count) if count > 0 => u32::try_from(count).map_err(|_| wrong()),
        _ => Err(wrong()),
    };
    let count = match text.split_once('-') {
        None => {
            let count = number(text)?;
            NodeCount {
                min: count,
                max: Some(count),
            }
        }
        Some((min, max)) => NodeCount {
            min: number(min)?,
            max: if max.is_empty() { None } else { Some(number(max)?) },
        },
    };
    match count.max.is_some_and(|max| max < count.min) {
        true => Err(format!(
            "{text:?} has the most nodes before the least; write the least first"
        )),
        false => Ok(count),
    }
}

/// Memory in MiB: `4000`, `4000M`, `4G`, `4GB`, `1T`; KiB are rounded up.
///
/// # Errors
/// A sentence that says what would be right.
pub fn memory_mib(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no amount of memory; write MiB such as 4000, or with a unit such as 4G");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let amount: u64 = digits.parse().map_err(|_| wrong())?;
    let mib = match unit.to_ascii_lowercase().as_str() {
        "" | "m" | "mb" => Some(amount),
        "k" | "kb" => Some(amount.div_ceil(1024)),
        "g" | "gb" => amount.checked_mul(1024),
        "t" | "tb" => amount.checked_mul(1024 * 1024),
        _ => None,
    };
    // The upper bits say in Slurm what the amount is for.
    mib.filter(|mib| *mib < 1 << 60).ok_or_else(wrong)
}

/// `gpu:2`, `gpu:a100:2,shard:1`, `gpu`, `none`.
///
/// # Errors
/// A sentence that says what would be right.
pub fn gres(text: &str) -> Result<Vec<GresCount>, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Vec::new());
    }
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    let read: Option<Vec<GresCount>> = entries.map(gres_entry).collect();
    match read {
        Some(read) if !read.is_empty() => Ok(asked_for(read)),
        _ => Err(format!(
            "{text:?} are no generic resources; write them as in gpu:2 or gpu:a100:2,shard:1"
        )),
    }
}

fn gres_entry(entry: &str) -> Option<GresCount> {
    let entry = entry.strip_prefix("gres:").unwrap_or(entry);
    let (name, rest) = entry.split_once(':').unwrap_or((entry, "1"));
    of_kind(name, rest)
}

/// `2`, `a100:2`, `a100:2,h100:1`.
///
/// # Errors
/// A sentence that says what would be right.
pub fn gpus(text: &str) -> Result<Vec<GresCount>, String> {
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    let read: Option<Vec<GresCount>> = entries.map(|entry| of_kind("gpu", entry)).collect();
    match read {
        Some(read) if !read.is_empty() => Ok(asked_for(read)),
        _ => Err(format!(
            "{text:?} is no count of GPUs; write one such as 2, or with their type such as a100:2"
        )),
    }
}

/// `rest` is a count, a model, or both.
fn of_kind(name: &str, rest: &str) -> Option<GresCount> {
    let (model, count) = match (rest.split_once(':'), scaled(rest, 1024)) {
        (Some((model, count)), _) => (Some(model), scaled(count, 1024)?),
        (None, Some(count)) => (None, count),
        (None, None) => (Some(rest), 1),
    };
    let is_word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let is_name = |text: &str| text.starts_with(char::is_alphabetic) && is_word(text);
    // As in `3090`; where no count follows that is one itself.
    let is_model = |text: &str| text.starts_with(char::is_alphanumeric) && is_word(text);
    (is_name(name) && model.is_none_or(is_model)).then(|| GresCount {
        name: name.to_owned(),
        model: model.map(str::to_owned),
        count,
    })
}

/// A count of 0 asks for nothing.
fn asked_for(mut read: Vec<GresCount>) -> Vec<GresCount> {
    read.retain(|one| one.count > 0);
    read
}

/// A time limit: minutes, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM` or `D-HH:MM:SS`; `None` without a limit. Slurm keeps whole
/// minutes, rounded up.
///
/// # Errors
/// A sentence that says what would be right.
pub fn time_limit_s(text: &str) -> Result<Option<Seconds>, String> {
    if ["unlimited", "infinite"].contains(&text.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let parse = || -> Option<u64> {
        let (days, rest) = match text.split_once('-') {
            Some((days, rest)) => (Some(whole(days)?), rest),
            None => (None, text),
        };
        let parts: Vec<u64> = rest.split(':').map(whole).collect::<Option<_>>()?;
        let in_day_s = match (days, &parts[..]) {
            (None, [minutes]) => minutes.checked_mul(60)?,
            (None, [minutes, seconds]) => minutes.checked_mul(60)?.checked_add(*seconds)?,
            (Some(_), [hours]) => hours.checked_mul(3600)?,
            (Some(_), [hours, minutes]) => hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?,
            (_, [hours, minutes, seconds]) => hours
                .checked_mul(3600)?
                .checked_add(minutes.checked_mul(60)?)?
                .checked_add(*seconds)?,
            _ => return None,
        };
        days.unwrap_or(0).checked_mul(86_400)?.checked_add(in_day_s)
    };
    match parse().map(|limit_s| limit_s.div_ceil(60)) {
        // Slurm takes 0 for none.
        Some(0) => Ok(None),
        Some(minutes) if minutes < u64::from(u32::MAX) => Ok(Some(Seconds(minutes as f64 * 60.0))),
        _ => Err(format!(
            "{text:?} is no time limit; write minutes such as 90, or one of MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS"
        )),
    }
}

/// `0-15`, `1,3,5-7`, `1-9:2`, `0-99%4`.
///
/// # Errors
/// A sentence that says what would be right.
pub fn array(text: &str) -> Result<TaskCount, String> {
    let parse = || -> Option<TaskCount> {
        let (list, most) = match text.split_once('%') {
            Some((list, most)) => (list, Some(u32::try_from(whole(most)?).ok()?)),
            None => (text, None),
        };
        let mut tasks = std::collections::BTreeSet::new();
        for part in list.split(',') {
            let (range, step) = part.split_once(':').unwrap_or((part, "1"));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last, step) = (whole(first)?, whole(last)?, whole(step)?);
            if first > last || last >= u64::from(ARRAY_MAX) || step == 0 {
                return None;
            }
            tasks.extend((first..=last).step_by(usize::try_from(step).ok()?));
        }
        let tasks = u32::try_from(tasks.len()).ok()?;
        Some(TaskCount {
            tasks,
            at_once: most
                .filter(|most| *most > 0)
                .map_or(tasks, |most| most.min(tasks)),
        })
    };
    parse().ok_or_else(|| {
        format!("{text:?} are no tasks of an array; write them as in 0-15, 1,3,5-7, 1-9:2 or 0-99%4")
    })
}

fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A number, perhaps with a suffix `k`, `m`, `g`, `t` or `p`, each of which stands for one `step` more.
fn scaled(text: &str, step: u64) -> Option<u64> {
    let power = match text.bytes().last()?.to_ascii_lowercase() {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return whole(text),
    };
    whole(&text[..text.len() - 1])?.checked_mul(step.checked_pow(power)?)
}
