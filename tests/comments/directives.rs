// SPDX-License-Identifier: GPL-2.0-or-later
//! Properties of `policy::directives`, with a model of an edit as the oracle.

use crate::directive_model::{over, share_a_key};
use crate::generate::{Change, change, changes, comment, text, two_changes};
use proptest::prelude::*;
use surgent::policy::directives::{COMMENT_MAX_BYTES, Directives, edit, edit_fitting, parse};

/// What a comment says after a change, by the rules of the documentation.
fn apply(before: Directives, (key, value): &Change) -> Directives {
    let new = parse(format!("{key}={value}").as_bytes()).unwrap();
    over(new, before)
}

/// How many bytes at the beginning and at the end two texts have in common, none of the shorter counted twice.
fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    let before = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let rest = (&a[before..], &b[before..]);
    before
        + rest
            .0
            .iter()
            .rev()
            .zip(rest.1.iter().rev())
            .take_while(|(x, y)| x == y)
            .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_refusal_is_one_short_line(comment in comment()) {
        if let Err(error) = parse(&comment) {
            let sentence = error.to_string();
            prop_assert!(!sentence.chars().any(char::is_control), "{sentence:?}");
            prop_assert!(sentence.chars().count() < 900, "{sentence}");
        }
    }

    #[test]
    fn blanks_around_a_comment_change_nothing(comment in comment()) {
        let padded = [b" \n", comment.as_slice(), b"\t "].concat();
        prop_assert_eq!(parse(&padded).ok(), parse(&comment).ok());
    }

    #[test]
    fn an_edit_is_read_back_and_changes_nothing_else(comment in comment(), changes in changes()) {
        let after = edit(&comment, &changes);
        let Ok(before) = parse(&comment) else { return Ok(()) };
        let expected = changes.iter().fold(before, apply);
        let is_possible = !matches!((expected.epoch, expected.epochs), (Some(done), Some(all)) if done > f64::from(all));
        match after {
            Ok(after) => {
                prop_assert!(after.len() <= COMMENT_MAX_BYTES);
                prop_assert_eq!(parse(&after).unwrap(), expected);
                prop_assert_eq!(edit(&after, &changes).unwrap(), after, "the same edit again");
            }
            Err(error) => prop_assert!(!is_possible || comment.len() > COMMENT_MAX_BYTES - 200, "{error}"),
        }
    }

    #[test]
    fn an_edit_of_one_key_touches_one_spot(comment in comment(), change in change()) {
        let Ok(before) = parse(&comment) else { return Ok(()) };
        if share_a_key(&before, &apply(Directives::default(), &change)) {
            return Ok(());
        }
        if let Ok(after) = edit(&comment, &[change]) {
            prop_assert_eq!(common_bytes(&comment, &after), comment.len(), "{}", after.escape_ascii());
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands(
        before in text(), (old, new) in two_changes(), after in text(), again in any::<bool>(),
    ) {
        let key = old.0;
        let twice = if again { format!("; {key}=VALUE") } else { String::new() };
        let fill = |value: &str| {
            let middle = format!(" {key}=VALUE{twice} ").replace("VALUE", value);
            [before.as_slice(), middle.as_bytes(), after.as_slice()].concat()
        };
        // Only where no other place of the same key is around.
        let around = parse(&[before.as_slice(), b" ", &after].concat());
        if !around.is_ok_and(|around| !share_a_key(&around, &apply(Directives::default(), &old))) {
            return Ok(());
        }
        if let Ok(edited) = edit(&fill(&old.1), std::slice::from_ref(&new)) {
            prop_assert_eq!(edited, fill(&new.1));
        }
    }

    #[test]
    fn what_fits_is_a_beginning_of_the_changes(comment in comment(), changes in changes(), fill in 0..1100_usize) {
        let mut comment = comment;
        if comment.first() != Some(&b'{') {
            comment.extend(std::iter::repeat_n(b'x', fill));
        }
        let (fitted, dropped) = edit_fitting(&comment, &changes);
        let kept = &changes[..changes.len() - dropped];
        if kept.is_empty() {
            prop_assert_eq!(&fitted, &comment);
        } else {
            prop_assert_eq!(edit(&comment, kept).unwrap(), fitted);
        }
        for more in kept.len() + 1..=changes.len() {
            prop_assert!(edit(&comment, &changes[..more]).is_err());
        }
    }
}
