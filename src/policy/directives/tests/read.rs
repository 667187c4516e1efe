// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of what is read, and of what is refused with which sentence.

use crate::policy::directives::*;

fn says(comment: impl AsRef<[u8]>) -> Directives {
    let comment = comment.as_ref();
    parse(comment)
        .unwrap_or_else(|error| panic!("{:?} is refused: {error}", comment.escape_ascii().to_string()))
}

fn refusal(comment: impl AsRef<[u8]>) -> String {
    let comment = comment.as_ref();
    match parse(comment) {
        Ok(says) => panic!("{:?} is accepted: {says:?}", comment.escape_ascii().to_string()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_key_is_read_from_text_and_from_json() {
    let expected = Directives {
        urgency: Some(Urgency::Normal),
        epochs: Some(90),
        epoch: Some(12.25),
        epoch_s: Some(Seconds(340.5)),
        at: Some(UnixTime(1_764_410_000)),
        save: Some(SaveKind::Step),
        save_s: Some(Seconds(0.0)),
        saved: Some(UnixTime(1_764_410_020)),
        signal: Some("USR1@steps".parse().unwrap()),
        priority: Some(100),
    };
    let text = "urgency=normal epochs=90 epoch=12.25 epoch_s=340.5 at=1764410000 save=step save_s=0 \
                saved=1764410020 signal=USR1@steps priority=100";
    assert_eq!(says(text), expected);
    assert_eq!(says(text.to_uppercase().replace("@STEPS", "@Steps")), expected);
    assert_eq!(says(text.replace(' ', ",")), expected);
    assert_eq!(says(text.replace(' ', " ;\t\r\n,")), expected);
    assert_eq!(says(format!("run 7: ResNet, {text}; lr=0.1 and so on")), expected);
    let json = r#"{"urgency":"normal","epochs":90,"epoch":12.25,"epoch_s":"340.5","at":"1764410000","save":"step",
        "save_s":0,"saved":1764410020,"SIGNAL":"USR1@steps","priority":100,"run":{"epoch":[5]},"urgent":null}"#;
    assert_eq!(says(json), expected);
    assert_eq!(says(format!("\n {json}\t ")), expected);
}

#[test]
fn the_one_word_urgent_is_a_directive_and_only_alone() {
    let urgent = Directives {
        urgency: Some(Urgency::Urgent),
        ..Directives::default()
    };
    for comment in [
        "urgent",
        " Urgent\n",
        "URGENT",
        "urgency=urgent",
        "{\"urgency\":\"urgent\"}",
    ] {
        assert_eq!(says(comment), urgent, "{comment:?}");
    }
    for comment in [
        "urgent!",
        "urgent,",
        "very urgent",
        "\"urgent\"",
        "urgency",
        "urgency urgent",
    ] {
        assert!(says(comment).is_empty(), "{comment:?}");
    }
}

#[test]
fn comments_without_directives_are_left_alone() {
    let free: [&[u8]; 19] = [
        b"",
        b" \t\n",
        b"a note of mine",
        b"lr=0.1 batch=64 last_epoch=7 epoch-s=3 my.epoch=x",
        b"=5 = == =urgent",
        b"epoch 12 of 90, epoch: 12",
        b"--epochs=ninety",
        b"epochs = 90",
        b"{",
        b"{}",
        b"{draft} see wiki",
        b"{\"note\": \"epoch=nan\"}",
        b"{\"last_epoch\": 3,",
        b"{\"my epoch\": 3",
        b"{my-epoch: 3, my.epoch: 3, \xc3\xa4epoch: 3",
        b"[\"urgency\", {\"epoch\":-1}]",
        b"{\"deep\":{\"epochs\":-3}}",
        b"\xff\xfe urgent\xc3 \xffepoch=1",
        b"{\xff: 1}",
    ];
    for comment in free {
        assert!(
            says(comment).is_empty(),
            "{:?}",
            comment.escape_ascii().to_string()
        );
    }
}

#[test]
fn values_at_their_limits() {
    assert_eq!(says("epochs=1").epochs, Some(1));
    assert_eq!(says("epochs=1000000000").epochs, Some(EPOCHS_MAX));
    assert_eq!(says("epochs=0090").epochs, Some(90));
    assert_eq!(says("epoch=0").epoch, Some(0.0));
    assert_eq!(
        says("epoch=-0").epoch.map(|epoch| epoch.to_string()).as_deref(),
        Some("0")
    );
    assert_eq!(says("epoch=1e3").epoch, Some(1000.0));
    assert_eq!(says("epoch=90/90").epoch, Some(90.0));
    assert_eq!(says("epoch_s=0.001").epoch_s, Some(Seconds(0.001)));
    assert_eq!(says("save_s=31536000").save_s, Some(Seconds(SECONDS_MAX)));
    assert_eq!(says("at=0").at, Some(UnixTime(0)));
    assert_eq!(says("saved=4102444800").saved, Some(TIME_MAX));
    assert_eq!(says("priority=0").priority, Some(0));
    let beyond = [
        "epochs=0",
        "epochs=1000000001",
        "epochs=99999999999999999999",
        "epochs=9e1",
        "epochs=+9",
        "epochs=90.0",
        "epochs=",
        "epoch=-0.5",
        "epoch=1e10",
        "epoch=1e999",
        "epoch=inf",
        "epoch=",
        "epoch=/90",
        "epoch=1/",
        "epoch=1/0",
        "epoch=1/2/3",
        "epoch_s=0",
        "epoch_s=-1",
        "epoch_s=NaN",
        "epoch_s=31536001",
        "save_s=-1",
        "at=-1",
        "at=1.5",
        "at=4102444801",
        "at=now",
        "saved=1764410000000",
        "priority=101",
        "priority=-1",
        "priority=high",
        "save=always",
        "save=\"step\"",
        "signal=",
        "signal=USR1@",
        "signal=@batch",
        "signal=USR1@batch@steps",
    ];
    for comment in beyond {
        refusal(comment);
    }
}

#[test]
fn the_total_may_stand_behind_the_epoch() {
    for comment in [
        "epoch=12/90",
        "epoch=12/90 epochs=90",
        "epochs=90 epoch=12.0 epoch=12/90",
        r#"{"epoch":"12/90"}"#,
    ] {
        let says = says(comment);
        assert_eq!((says.epoch, says.epochs), (Some(12.0), Some(90)), "{comment}");
    }
}

#[test]
fn twice_the_same_is_fine() {
    assert_eq!(says("epochs=90 epochs=090").epochs, Some(90));
    assert_eq!(
        says("signal=USR1 signal=sigusr1@BATCH").signal,
        says("signal=USR1@batch").signal
    );
    assert_eq!(says(r#"{"epoch":12,"Epoch":"12.0"}"#).epoch, Some(12.0));
}

#[test]
fn refusals_are_exact_sentences() {
    let table = [
        (
            "urgency=urgnt",
            r#"urgency="urgnt" is not known; write urgency=urgent or urgency=normal"#,
        ),
        (
            "epochs=-3",
            r#"epochs="-3" is not a whole number from 1 to 1000000000; write the total number of epochs, such as epochs=90"#,
        ),
        (
            "epoch=nan",
            r#"epoch="nan" does not say how many epochs are done (a number from 0 to 1000000000); write the epochs completed so far, such as epoch=12.25 or epoch=12/90"#,
        ),
        (
            "epoch=12/many",
            r#"epoch="12/many" does not say behind its slash how many epochs there are, a whole number from 1 to 1000000000; write the epochs completed so far and the total, such as epoch=12/90"#,
        ),
        (
            "epoch_s=0",
            r#"epoch_s="0" is not a number of seconds above 0 to 31536000 (365 days); write how many seconds an epoch takes, such as epoch_s=340.5"#,
        ),
        (
            "save_s=soon",
            r#"save_s="soon" is not a number of seconds from 0 to 31536000 (365 days); write how many seconds a save takes, such as save_s=20"#,
        ),
        (
            "at=1764410000000",
            r#"at="1764410000000" is not a time in whole seconds since 1970 (at most 4102444800, the year 2100); write what `date +%s` prints, such as at=1764410000"#,
        ),
        (
            "save=yes",
            r#"save="yes" is not known; write save=step (can save at any step), save=epoch (only at an epoch's end) or save=none"#,
        ),
        (
            "signal=FOO",
            r#"signal="FOO" is not a signal that scancel knows by name; write one of HUP INT QUIT ABRT ALRM TERM USR1 USR2 URG CONT TSTP TTIN TTOU XCPU, such as signal=USR1@batch"#,
        ),
        (
            "signal=SIGKILL@batch",
            r#"signal="SIGKILL@batch" cannot be caught, so that the program could not save; write one of HUP INT QUIT ABRT ALRM TERM USR1 USR2 URG CONT TSTP TTIN TTOU XCPU, such as signal=USR1@batch"#,
        ),
        (
            "signal=USR1@all",
            r#"signal="USR1@all" goes to nobody that Surgent knows; write @batch (the batch shell), @steps (every step) or @full (both) behind the signal's name"#,
        ),
        (
            "priority=200",
            r#"priority="200" is not a whole number from 0 to 100; write how much the job is worth keeping, such as priority=50"#,
        ),
        (
            "epochs=90 and epochs=80",
            r#"epochs="90" and epochs="80" contradict each other; write only one of them"#,
        ),
        (
            "epoch=12/90 epochs=80",
            r#"epoch="12/90" and epochs="80" contradict each other; write only one of them"#,
        ),
        (
            r#"{"urgency":"urgent","urgency":"normal"}"#,
            r#"urgency="urgent" and urgency="normal" contradict each other; write only one of them"#,
        ),
        (
            "epoch=95/90",
            "epoch=95 is more than epochs=90; write the epochs completed so far, at most the total",
        ),
        (
            r#"{"urgency": "urgent""#,
            r#"the comment begins with { and names urgency, but it is not one JSON object (EOF while parsing an object at line 1 column 20); mend the JSON, or write urgency=... as text that does not begin with {"#,
        ),
        (
            r#"{"urgency": true}"#,
            r#"urgency="true" is not known; write urgency=urgent or urgency=normal"#,
        ),
    ];
    for (comment, sentence) in table {
        assert_eq!(refusal(comment), sentence);
    }
}

#[test]
fn sentences_show_bad_bytes_escaped_and_cut() {
    assert!(
        refusal(b"urgency=\xffx\x1b[2J\"\xe2\x80\xa8")
            .starts_with(r#"urgency="\xffx\u{1b}[2J\"\u{2028}" is"#)
    );
    let long = refusal(format!("save={}", "é".repeat(100_000)));
    assert!(
        long.starts_with(&format!("save=\"{}\"... is not known", "é".repeat(60))),
        "{long}"
    );
}

#[test]
fn broken_json_is_refused_only_if_it_names_a_directive() {
    let broken = [
        "{\"epoch\": 12",
        "{'epoch' : 12}",
        "{epoch: 12}",
        "{EPOCHS=90}",
        "{draft} urgency=urgent",
        "{\"a\":1} epochs=90",
        "{\"a\":1,}\n\"saved\"\t:1",
        "{\"a\":1}{\"at\":1}",
        "{note: fine, at: 5}",
        "{\"x\":1:epoch:2",
    ];
    for comment in broken {
        assert!(
            refusal(comment).starts_with("the comment begins with { and names "),
            "{comment}"
        );
    }
    assert!(refusal(b"{\"epoch\": 12, \"note\": \"\xff\"}").contains("invalid UTF-8"));
}

#[test]
fn long_and_deep_comments_end_well() {
    let long = 1_000_000;
    assert!(says(vec![b'='; long]).is_empty());
    assert!(says(vec![b'{'; long]).is_empty());
    assert!(says("{\"a\":".repeat(long)).is_empty());
    assert!(says("{: ".repeat(long)).is_empty());
    assert!(says(format!("{{\"a\":{}{}}}", "[".repeat(long), "]".repeat(long))).is_empty());
    assert_eq!(says("epochs=90 ".repeat(long / 10)).epochs, Some(90));
    assert!(refusal(format!("{{{}epoch:", "\"".repeat(long))).len() < 400);
    refusal(format!("epoch={}", "9".repeat(long)));
}

#[test]
fn signals_are_those_that_scancel_knows() {
    for name in "HUP INT QUIT ABRT ALRM TERM USR1 USR2 URG CONT TSTP TTIN TTOU XCPU".split(' ') {
        let canonical = format!("{name}@batch");
        for written in [
            name.to_owned(),
            name.to_lowercase(),
            format!("SIG{name}"),
            format!("sig{name}@Batch"),
        ] {
            assert_eq!(written.parse::<SaveSignal>().unwrap().to_string(), canonical);
        }
    }
    for written in ["KILL", "sigstop", "SIGKILL@steps"] {
        assert_eq!(
            written.parse::<SaveSignal>(),
            Err(SignalError::Uncatchable),
            "{written}"
        );
    }
    // PIPE and CHLD are known to later releases only, and a number means another signal on another machine.
    for written in ["", "SIG", "FOO", "10", "PIPE", "CHLD", "USR1 ", "SIGSIGUSR1", "é"] {
        assert_eq!(
            written.parse::<SaveSignal>(),
            Err(SignalError::Unknown),
            "{written}"
        );
    }
}

#[test]
fn directives_go_through_serde_as_they_are_written() {
    let all = says("urgency=urgent epoch=12/90 save=none signal=TERM@full at=7");
    let json = serde_json::to_string(&all).unwrap();
    assert!(json.contains(r#""signal":"TERM@full""#), "{json}");
    assert_eq!(serde_json::from_str::<Directives>(&json).unwrap(), all);
}
