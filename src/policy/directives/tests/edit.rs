// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of what an edit leaves.

use crate::policy::directives::{Key, edit, edit_fitting};

type Changes<'a> = &'a [(Key, &'a str)];

fn edited(comment: impl AsRef<[u8]>, changes: Changes) -> Result<String, String> {
    let changes: Vec<_> = changes
        .iter()
        .map(|(key, value)| (*key, (*value).to_owned()))
        .collect();
    let edited = edit(comment.as_ref(), &changes).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(edited).unwrap())
}

#[test]
fn edits_of_text() {
    let table: [(&str, Changes, &str); 14] = [
        (
            "",
            &[(Key::Epoch, "12"), (Key::Epochs, "90")],
            "epoch=12 epochs=90",
        ),
        (" \n", &[(Key::At, "5")], " \n at=5"),
        ("my run", &[(Key::Saved, "1764410000")], "my run saved=1764410000"),
        ("my run,\n", &[(Key::At, "5")], "my run,\n at=5"),
        ("a; EPOCH=12;b", &[(Key::Epoch, "13.5")], "a; EPOCH=13.5;b"),
        ("epoch=1 x epoch=1", &[(Key::Epoch, "2")], "epoch=2 x epoch=2"),
        ("epoch=12/90", &[(Key::Epoch, "13")], "epoch=13/90"),
        ("epoch=12/90", &[(Key::Epoch, "13/91")], "epoch=13/91"),
        ("epoch=12/90", &[(Key::Epochs, "100")], "epoch=12/100"),
        (
            "epochs=90 epoch=12",
            &[(Key::Epoch, "12/100")],
            "epochs=100 epoch=12/100",
        ),
        (
            "epochs=90 x",
            &[(Key::Epoch, "95"), (Key::Epochs, "100")],
            "epochs=100 x epoch=95",
        ),
        ("urgent", &[(Key::Saved, "7")], "urgent urgency=urgent saved=7"),
        (" Urgent ", &[(Key::Urgency, "normal")], " Urgent  urgency=normal"),
        ("epochs=oops", &[(Key::Epochs, "90")], "epochs=90"),
    ];
    for (comment, changes, expected) in table {
        assert_eq!(edited(comment, changes).as_deref(), Ok(expected), "{comment}");
    }
}

#[test]
fn edits_of_json() {
    let table: [(&str, Changes, &str); 9] = [
        (
            "{}",
            &[(Key::Epoch, "12"), (Key::Signal, "USR1@batch")],
            r#"{"epoch":12,"signal":"USR1@batch"}"#,
        ),
        (" { } ", &[(Key::Epoch, "12/90")], r#" { "epoch":"12/90"} "#),
        (
            "{ \"a\" : [1] }\n",
            &[(Key::At, "7")],
            "{ \"a\" : [1] ,\"at\":7}\n",
        ),
        (
            r#"{"epoch":"12/90","a":1}"#,
            &[(Key::Epoch, "13")],
            r#"{"epoch":"13/90","a":1}"#,
        ),
        (
            r#"{"epoch": 12 ,"a":1}"#,
            &[(Key::Epoch, "13/90")],
            r#"{"epoch": "13/90" ,"a":1}"#,
        ),
        (
            r#"{"epoch":1,"\u0065poch":1}"#,
            &[(Key::Epoch, "2")],
            r#"{"epoch":2,"\u0065poch":2}"#,
        ),
        // A new epoch with a total lengthens a member and adds another.
        (
            r#"{"epochs":9}"#,
            &[(Key::Epoch, "12/90")],
            r#"{"epochs":90,"epoch":"12/90"}"#,
        ),
        (
            r#"{"epochs":[9]}"#,
            &[(Key::Epochs, "0090")],
            r#"{"epochs":"0090"}"#,
        ),
        (
            "{draft} ä",
            &[(Key::Saved, "7"), (Key::At, "8")],
            "saved=7 {draft} ä at=8",
        ),
    ];
    for (comment, changes, expected) in table {
        assert_eq!(edited(comment, changes).as_deref(), Ok(expected), "{comment}");
    }
}

#[test]
fn edits_that_are_refused() {
    let table: [(&str, Changes, &str); 6] = [
        (
            "",
            &[(Key::Save, "step urgency=urgent")],
            "save=\"step urgency=urgent\" is not known",
        ),
        ("", &[(Key::Epochs, "")], "epochs=\"\" is not a whole number"),
        (
            "epochs=90",
            &[(Key::Epoch, "95")],
            "epoch=95 is more than epochs=90",
        ),
        (
            "epochs=oops",
            &[(Key::Epoch, "5")],
            "epochs=\"oops\" is not a whole number",
        ),
        ("{\"epoch\":", &[(Key::Epoch, "5")], "the comment begins with {"),
        (
            &"x".repeat(1020),
            &[(Key::At, "5")],
            "with these directives the comment would be 1025 bytes long, and Slurm takes 1024 at most; shorten its \
             other text",
        ),
    ];
    for (comment, changes, sentence) in table {
        let refusal = edited(comment, changes).unwrap_err();
        assert!(refusal.starts_with(sentence), "{refusal}");
    }
    assert!(edited("x".repeat(1019), &[(Key::At, "5")]).is_ok());
}

#[test]
fn what_does_not_fit_is_dropped_from_the_end() {
    let changes = [
        (Key::Epoch, "12/90".to_owned()),
        (Key::At, "7".to_owned()),
        (Key::SaveS, "3".to_owned()),
    ];
    let fitted = |free: usize| edit_fitting("x".repeat(1024 - free).as_bytes(), &changes);
    let added = |free: usize| String::from_utf8(fitted(free).0[1024 - free..].to_vec()).unwrap();
    assert_eq!(
        (added(30).as_str(), fitted(30).1),
        (" epoch=12/90 at=7 save_s=3", 0)
    );
    assert_eq!((added(25).as_str(), fitted(25).1), (" epoch=12/90 at=7", 1));
    assert_eq!((added(12).as_str(), fitted(12).1), (" epoch=12/90", 2));
    assert_eq!((added(11).as_str(), fitted(11).1), ("", 3));
    assert_eq!(edit_fitting(b"{epoch:", &changes), (b"{epoch:".to_vec(), 3));
    assert_eq!(edit_fitting(b"urgent", &[]), (b"urgent".to_vec(), 0));
}
