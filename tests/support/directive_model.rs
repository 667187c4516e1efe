// SPDX-License-Identifier: GPL-2.0-or-later
//! What a comment says after a change, by the rules of the documentation: the oracle of properties and of fuzzing.

use surgent::policy::directives::Directives;

/// `new`, and where it says nothing `old`.
pub fn over(new: Directives, old: Directives) -> Directives {
    Directives {
        urgency: new.urgency.or(old.urgency),
        epochs: new.epochs.or(old.epochs),
        epoch: new.epoch.or(old.epoch),
        epoch_s: new.epoch_s.or(old.epoch_s),
        at: new.at.or(old.at),
        save: new.save.or(old.save),
        save_s: new.save_s.or(old.save_s),
        saved: new.saved.or(old.saved),
        signal: new.signal.or(old.signal),
        priority: new.priority.or(old.priority),
    }
}

/// Whether both say something about one and the same key.
pub fn share_a_key(a: &Directives, b: &Directives) -> bool {
    let names = |directives| serde_json::to_value(directives).expect("they can be written");
    let (a, b) = (names(a), names(b));
    let mut keys = a.as_object().into_iter().flatten();
    keys.any(|(key, value)| !value.is_null() && !b[key].is_null())
}
