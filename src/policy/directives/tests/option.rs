// SPDX-License-Identifier: GPL-2.0-or-later

use crate::policy::directives::{COMMENT_MAX_BYTES, UrgencyOption, parse};

fn write(option: &str, comment: &[u8]) -> Result<String, String> {
    let option = UrgencyOption {
        value: Some(option.as_bytes()),
        other: None,
    };
    let written = option.write_into(comment).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

#[test]
fn the_comment_says_afterwards_what_the_option_says() {
    for (option, comment, expected) in [
        ("urgent", "", "urgency=urgent"),
        ("URGENT", "", "urgency=urgent"),
        ("normal", "", "urgency=normal"),
        ("urgent", "my run; epochs=90", "my run; epochs=90 urgency=urgent"),
        (
            "urgent",
            r#"{"epochs": 90}"#,
            r#"{"epochs": 90,"urgency":"urgent"}"#,
        ),
        ("urgent", "{draft} see wiki", "urgency=urgent {draft} see wiki"),
        // It says so already.
        ("urgent", "urgent", "urgent"),
        ("urgent", "Urgency=URGENT, please", "Urgency=URGENT, please"),
        ("normal", r#"{"urgency": "normal"}"#, r#"{"urgency": "normal"}"#),
    ] {
        assert_eq!(
            write(option, comment.as_bytes()),
            Ok(expected.to_owned()),
            "{option}, {comment}"
        );
        let read = parse(expected.as_bytes()).unwrap().urgency.unwrap();
        assert!(option.eq_ignore_ascii_case(read.as_str()), "{expected}");
    }
}

#[test]
fn without_the_option_the_comment_is_not_even_read() {
    for comment in [&b"urgency=urgnt"[..], b"", b"\xff{"] {
        assert_eq!(UrgencyOption::default().write_into(comment).unwrap(), comment);
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_a_sentence() {
    for (option, comment, sentence) in [
        (
            "urgnt",
            "",
            r#"--urgency="urgnt" is not known; write --urgency=urgent or --urgency=normal"#,
        ),
        (
            "",
            "urgent",
            r#"--urgency="" is not known; write --urgency=urgent or --urgency=normal"#,
        ),
        (
            "(null)",
            "",
            r#"--urgency="(null)" is not known; write --urgency=urgent or --urgency=normal"#,
        ),
        (
            "urgent\nurgency=urgent",
            "",
            r#"--urgency="urgent\nurgency=urgent" is not known; write --urgency=urgent or --urgency=normal"#,
        ),
        (
            "normal",
            "urgent",
            "--urgency=normal and the comment, which says urgency=urgent, contradict each other; write only one of them",
        ),
        (
            "urgent",
            r#"{"urgency": "normal"}"#,
            "--urgency=urgent and the comment, which says urgency=normal, contradict each other; write only one of them",
        ),
        (
            "urgent",
            "save=yes",
            "save=\"yes\" is not known; write save=step (can save at any step), save=epoch (only at an epoch's end) or \
             save=none",
        ),
    ] {
        assert_eq!(write(option, comment.as_bytes()), Err(sentence.to_owned()));
    }
}

#[test]
fn two_different_values_are_refused_and_a_value_that_is_no_text_too() {
    let two = UrgencyOption {
        value: Some(b"normal"),
        other: Some(b"urgent"),
    };
    assert_eq!(
        two.write_into(b"").unwrap_err().to_string(),
        r#"--urgency="normal" and --urgency="urgent" contradict each other; give it once"#
    );
    let bytes = UrgencyOption {
        value: Some(b"\xffurgent"),
        other: None,
    };
    assert!(
        bytes
            .write_into(b"")
            .unwrap_err()
            .to_string()
            .starts_with(r#"--urgency="\xffurgent" is not"#)
    );
}

#[test]
fn a_comment_without_room_is_kept_and_the_submission_refused() {
    let room = b"urgency=urgent".len() + 1;
    let fits = vec![b'x'; COMMENT_MAX_BYTES - room];
    assert_eq!(write("urgent", &fits).unwrap().len(), COMMENT_MAX_BYTES);
    let full = vec![b'x'; COMMENT_MAX_BYTES - room + 1];
    assert_eq!(
        write("urgent", &full).unwrap_err(),
        "--urgency=urgent is kept in the job's comment: with these directives the comment would be 1025 bytes long, and \
         Slurm takes 1024 at most; shorten its other text"
    );
    assert!(
        write("normal", &[&full[..], b" urgency=normal"].concat()).is_ok(),
        "nothing is added"
    );
}
