// SPDX-License-Identifier: GPL-2.0-or-later
//! AdminComment is an administrator's, and perhaps another plugin's: any bytes.

use surgent::policy::directives::Urgency;
use surgent::policy::ids::JobId;
use surgent::policy::record::{Record, Stop};
use surgent::policy::units::UnixTime;

/// The whole of the input is an AdminComment.
pub fn record(bytes: &[u8]) {
    let found = Record::read(bytes);
    if let Some(found) = &found {
        assert_eq!(Record::is_urgent_fast(bytes), found.class == Urgency::Urgent);
        let written = found.write_into(bytes);
        let again = Record::read(&written).expect("what was written can be read");
        let Record {
            waits_for, unknown, ..
        } = again.clone();
        assert!(found.waits_for == waits_for && found.unknown.starts_with(&unknown));
        assert_eq!(
            Record {
                unknown: found.unknown.clone(),
                ..again
            },
            *found
        );
        assert_eq!(again_written(&written), written, "a second time nothing changes");
    }
    let mut own = found.unwrap_or_else(|| Record::new(Urgency::Normal));
    own.ask = Some(JobId(17));
    own.note_stop(Stop {
        urgent: JobId(17),
        at: UnixTime(1_764_410_000),
        saved: Some(true),
    });
    let written = own.write_into(bytes);
    assert!(written.len() <= bytes.len() + own.to_string().len() + 1);
    assert_eq!(own.write_into(&written), written, "the last writer counts");
    if !bytes.starts_with(b"surgent{") {
        assert!(
            written.ends_with(bytes),
            "the text of others is kept byte for byte"
        );
    }
}

fn again_written(text: &[u8]) -> Vec<u8> {
    Record::read(text).map_or_else(Vec::new, |record| record.write_into(text))
}
