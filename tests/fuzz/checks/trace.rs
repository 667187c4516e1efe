// SPDX-License-Identifier: GPL-2.0-or-later
//! A trace is a file of somebody else's.

use std::io::BufReader;
use surgent::replay::trace::{self, COUNT_MAX, TIME_MAX_S, TraceError};

/// The whole of the input is a trace.
pub fn trace(bytes: &[u8]) {
    let read = trace::read(bytes);
    // The same from a file, which arrives in parts.
    assert_eq!(trace::read(BufReader::with_capacity(7, bytes)), read);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    match read {
        Ok(trace) => {
            assert!(!trace.jobs.is_empty() && trace.jobs.len() <= lines);
            assert!(trace.jobs.is_sorted_by_key(|job| job.submit_s));
            for job in &trace.jobs {
                assert!(job.line >= 1 && job.line <= lines as u64, "{job:?}");
                assert!((1..=TIME_MAX_S).contains(&job.run_s), "{job:?}");
                assert!((1..=COUNT_MAX).contains(&i64::from(job.gpus)), "{job:?}");
                assert!(
                    job.training.is_none_or(|training| training.epochs >= 1),
                    "{job:?}"
                );
            }
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!sentence.contains('\n') && sentence.len() < 2000, "{sentence}");
            if let TraceError::Line { line, .. } = error {
                assert!(line >= 1 && line <= lines as u64, "{sentence}");
            }
        }
    }
}
