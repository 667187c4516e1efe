// SPDX-License-Identifier: GPL-2.0-or-later
//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, comments behind semicolons. It knows
//! processors only; each is taken for a GPU.

use super::lines::Lines;
use super::{COUNT_MAX, Collected, TIME_MAX_S, TraceError, TraceJob};
use std::io::BufRead;

const FIELDS: usize = 18;

/// The fields that are read, by place and name.
const SUBMIT: (usize, &str) = (1, "submit time");
const RUN: (usize, &str) = (3, "run time");
const ALLOCATED: (usize, &str) = (4, "allocated processors");
const REQUESTED: (usize, &str) = (7, "requested processors");
const LIMIT: (usize, &str) = (8, "requested time");
const USER: (usize, &str) = (11, "user");

pub fn is_first_line(line: &str) -> bool {
    line.starts_with(';') || numbers(line).is_some_and(|numbers| numbers.len() == FIELDS)
}

fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split_whitespace().map(|field| field.parse().ok()).collect()
}

pub fn read(
    first: &str,
    number: u64,
    lines: &mut Lines<impl BufRead>,
    collected: &mut Collected,
) -> Result<(), TraceError> {
    read_one((number, first), collected)?;
    while let Some(line) = lines.next_line()? {
        read_one(line, collected)?;
    }
    Ok(())
}

fn read_one((line, text): (u64, &str), collected: &mut Collected) -> Result<(), TraceError> {
    if text.starts_with(';') {
        return Ok(());
    }
    let fields = numbers(text).filter(|fields| fields.len() == FIELDS);
    let fields = fields.ok_or_else(|| {
        TraceError::at(
            line,
            format!("not the {FIELDS} numbers of a job; is the trace cut off here?"),
        )
    })?;
    // -1 says that something is not known.
    let whole = |(at, name): (usize, &str), max: i64| {
        let value = fields[at];
        match (-1.0..=max as f64).contains(&value) {
            true if value < 0.0 => Ok(None),
            true => Ok(Some(value as i64)),
            false => Err(TraceError::at(
                line,
                format!("the {name} is {value}, not a number from 0 to {max}, or -1"),
            )),
        }
    };
    let submit_s = whole(SUBMIT, TIME_MAX_S)?;
    let run_s = whole(RUN, TIME_MAX_S)?.filter(|run_s| *run_s > 0);
    let allocated = whole(ALLOCATED, COUNT_MAX)?.filter(|count| *count > 0);
    let processors = allocated.or(whole(REQUESTED, COUNT_MAX)?.filter(|count| *count > 0));
    let limit_s = whole(LIMIT, TIME_MAX_S)?.filter(|limit_s| *limit_s > 0);
    let user = whole(USER, i64::from(u32::MAX))?.map(|user| user.to_string());
    let (Some(submit_s), Some(run_s), Some(gpus)) = (submit_s, run_s, processors) else {
        collected.skip("without submit time, run time or processors");
        return Ok(());
    };
    let user = collected.user(&user.unwrap_or_default());
    collected.add(TraceJob {
        line,
        user,
        submit_s,
        run_s,
        limit_s,
        nodes: None,
        gpus: gpus as u32,
        training: None,
        is_urgent: None,
    })
}
