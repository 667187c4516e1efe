// SPDX-License-Identifier: GPL-2.0-or-later
//! Log lines go through Slurm's own log, each beginning with `surgent: `.

use super::abi;
use crate::policy::line::on_one_line;
use arc_swap::ArcSwapOption;
use bstr::ByteSlice;
use std::ffi::{CString, c_char};
use std::sync::Arc;

/// A line longer than this is cut: no text may fill the log.
const LINE_MAX_BYTES: usize = 2000;

/// How a shim writes a line to Slurm's log.
pub type LogFn = unsafe extern "C" fn(level: u32, line: *const c_char);

struct Logger {
    write: ArcSwapOption<LogFn>,
}

static LOGGER: Logger = Logger {
    write: ArcSwapOption::const_empty(),
};

/// From now on lines go through `write`.
pub fn install(write: LogFn) {
    LOGGER.write.store(Some(Arc::new(write)));
    // It fails only where a logger is installed already: then that is this one.
    if log::set_logger(&LOGGER).is_ok() {
        log::set_max_level(log::LevelFilter::Trace);
    }
}

/// `text` as it may appear in a log: one line, printable, of bounded length.
pub fn printable(text: &[u8]) -> String {
    on_one_line(&text[..text.len().min(LINE_MAX_BYTES)].to_str_lossy())
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let level = match record.level() {
            log::Level::Error => abi::SURGENT_LOG_ERROR,
            // Slurm has no level between error and info; a warning must be seen.
            log::Level::Warn | log::Level::Info => abi::SURGENT_LOG_INFO,
            log::Level::Debug => abi::SURGENT_LOG_VERBOSE,
            log::Level::Trace => abi::SURGENT_LOG_DEBUG,
        };
        let mut line = format!("surgent: {}", record.args()).replace(['\n', '\0'], " ");
        if line.len() > LINE_MAX_BYTES {
            let end = (0..=LINE_MAX_BYTES)
                .rev()
                .find(|at| line.is_char_boundary(*at))
                .unwrap_or_default();
            line.truncate(end);
            line.push_str(" ...");
        }
        let (Some(write), Ok(line)) = (self.write.load_full(), CString::new(line)) else {
            return;
        };
        // SAFETY: `write` is the log function of a shim, which stays mapped (-z nodelete); `line` is a C string
        // that outlives the call. Slurm's log takes only its own mutex, so any thread may call it.
        unsafe { write(level, line.as_ptr()) };
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_readable_and_stays_on_its_line() {
        assert_eq!(printable(b"no such job 7"), "no such job 7");
        assert_eq!(printable(b"a\nsurgent: b\x1b[2J"), "a\\nsurgent: b\\u{1b}[2J");
        assert_eq!(printable("\u{e4}\u{6f22}".as_bytes()), "\u{e4}\u{6f22}");
        assert_eq!(printable(&[b'x'; 5000]).len(), LINE_MAX_BYTES);
    }
}
