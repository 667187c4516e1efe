// SPDX-License-Identifier: GPL-2.0-or-later
//! Progress that is read from the program's output: the output itself stays as it is, whatever becomes of the monitor.

use crate::bench::{Bench, Running};
use rustix::process::Signal;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

/// Prints three epochs, half of it to standard error, and waits in the second until the file `go` is there.
const PRINTS: &str = r#"
import os, sys, time
bench = os.environ["BENCH"]
for epoch in range(1, 4):
    print(f"Epoch {epoch}/3", flush=True)
    for step in range(0, 11):
        sys.stderr.write(f"\r{step * 10:3d}%|{'#' * step:<10}| {step}/10 [00:0{step // 10}<00:01,  9.00it/s]")
        sys.stderr.flush()
        while epoch == 2 and step == 5 and not os.path.exists(bench + "/go"):
            time.sleep(0.01)
    sys.stderr.write("\n")
print("kind of stdout", os.fstat(1).st_mode >> 12, flush=True)
"#;

/// What it prints into one file.
fn printed(kind: u32) -> String {
    let bar = |step: u32| {
        format!(
            "\r{:3}%|{:<10}| {step}/10 [00:0{}<00:01,  9.00it/s]",
            step * 10,
            "#".repeat(step as usize),
            step / 10
        )
    };
    let bars: String = (0..=10).map(bar).collect();
    let epochs: String = (1..=3)
        .map(|epoch| format!("Epoch {epoch}/3\n{bars}\n"))
        .collect();
    format!("{epochs}kind of stdout {kind}\n")
}

fn surgent(bench: &Bench, options: &[&str]) -> Command {
    bench.write("prints.py", PRINTS);
    bench.surgent(&[&["run"], options, &["--", "python3", "prints.py"]].concat())
}

#[test]
fn a_file_is_followed_and_the_program_has_it_to_itself() {
    let bench = Bench::in_job("");
    let path = bench.path("slurm.out");
    fs::write(&path, "Epoch 7/9\nfrom the run before\n").expect("its own folder");
    let file = OpenOptions::new().append(true).open(&path).expect("it is there");
    let mut command = surgent(&bench, &[]);
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a file"))
        .stderr(file);
    let mut child = command.spawn().expect("surgent can be started");
    // The last refresh of the bar counts only when something follows it.
    bench.until_comment_has("epoch=1.4 epochs=3");
    bench.write("go", "");
    assert!(child.wait().expect("a child").success());
    let expected = format!("Epoch 7/9\nfrom the run before\n{}", printed(8));
    assert_eq!(bench.read("slurm.out"), expected);
    assert!(
        bench.read("comment").contains("epoch=3 epochs=3"),
        "{}",
        bench.read("comment")
    );
}

#[test]
fn a_pipe_stays_a_pipe_and_both_outputs_stay_in_order() {
    let bench = Bench::in_job("");
    let (mut output, pipe) = std::io::pipe().expect("a pipe");
    let mut command = surgent(&bench, &[]);
    command
        .stdin(Stdio::null())
        .stdout(pipe.try_clone().expect("a pipe"))
        .stderr(pipe);
    let mut child = command.spawn().expect("surgent can be started");
    // It holds the ends that are written to.
    drop(command);
    bench.until_comment_has("epoch=1.4 epochs=3");
    bench.write("go", "");
    let mut read = String::new();
    output.read_to_string(&mut read).expect("text");
    assert!(child.wait().expect("a child").success());
    assert_eq!(read, printed(1));
    assert!(
        bench.read("comment").contains("epoch=3 epochs=3"),
        "{}",
        bench.read("comment")
    );
}

#[test]
fn bytes_of_any_kind_and_any_number_go_through_unchanged() {
    let bench = Bench::in_job("");
    let script = "import os, random\nrandom.seed(1)\nfor _ in range(300):\n    os.write(1, random.randbytes(random.randint(1, 200000)))\n    os.write(2, b'Epoch 1/3\\n')\n";
    let digest = |through: Option<&str>| {
        let mut command = bench.surgent(&["run", "--", "python3", "-c", script]);
        if through.is_none() {
            command = Command::new("python3");
            command.args(["-c", script]);
        }
        let output = command.output().expect("it can be started");
        assert!(output.status.success());
        (output.stdout.len(), sum(&output.stdout), output.stderr)
    };
    let plain = digest(None);
    let (length, checksum, err) = digest(Some("surgent"));
    assert_eq!((length, checksum), (plain.0, plain.1));
    assert_eq!(String::from_utf8_lossy(&err), String::from_utf8_lossy(&plain.2));
}

/// Fletcher's checksum.
fn sum(bytes: &[u8]) -> (u64, u64) {
    bytes.iter().fold((0, 0), |(one, two), byte| {
        let one = (one + u64::from(*byte)) % 4_294_967_295;
        (one, (two + one) % 4_294_967_295)
    })
}

#[test]
fn the_training_goes_on_when_the_monitor_is_killed() {
    for has_pipe in [false, true] {
        let bench = Bench::in_job("");
        bench.write(
            "prints.py",
            format!("{PRINTS}\nopen(bench + '/story', 'a').write('through')\n"),
        );
        let mut command = bench.surgent(&["run", "--", "python3", "prints.py"]);
        let file = File::create(bench.path("out")).expect("its own folder");
        let running = if has_pipe {
            Running::start(&mut command)
        } else {
            let mut running =
                Running::start_as_is(command.stdout(file.try_clone().expect("a file")).stderr(file));
            assert!(!running.has_ended());
            running
        };
        bench.until_comment_has("epochs=3");
        running.signal(Signal::KILL);
        bench.write("go", "");
        bench.until_story_has("through");
        drop(running);
    }
}

#[test]
fn a_device_that_is_no_pipe_and_no_file_is_left_alone() {
    let bench = Bench::in_job("");
    let mut command = bench.surgent(&["run", "--", "python3", "-c", "import os; os.mkdir('/proc/self/x') if os.readlink('/proc/self/fd/1') != '/dev/null' else print('x')"]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.expect("surgent can be started").success());
}

#[test]
fn explicit_reports_win_over_the_output() {
    let bench = Bench::in_job("");
    let script = "echo Epoch 5/9; surgent() { :; }; echo '{\"epoch\": 2, \"epochs\": 4}' >> $SURGENT_REPORT; sleep 0.5; echo Epoch 8/9";
    let output = bench
        .surgent(&["run", "--", "sh", "-c", script])
        .output()
        .expect("surgent can be started");
    assert!(output.status.success());
    let comment = bench.read("comment");
    assert!(comment.contains("epoch=2 epochs=4"), "{comment}");
}

#[test]
fn a_pattern_of_the_users_own_and_no_reading_at_all() {
    for (options, part) in [
        (
            &["--pattern", r"lap (?P<epoch>\d+) of (?P<epochs>\d+)"][..],
            "epoch=3 epochs=8",
        ),
        (&["--ignore-output"], "save=none"),
    ] {
        let bench = Bench::in_job("");
        let args = [
            &["run"],
            options,
            &["--", "sh", "-c", "echo Epoch 5/9; echo lap 3 of 8"],
        ]
        .concat();
        let output = bench.surgent(&args).output().expect("surgent can be started");
        assert!(output.status.success());
        let comment = bench.read("comment");
        assert!(
            comment.contains(part) && !comment.contains("epoch=4"),
            "{comment}"
        );
    }
}

#[test]
fn a_program_that_fails_after_its_last_epoch_is_not_finished() {
    let bench = Bench::in_job("");
    let output = bench
        .surgent(&["run", "--", "sh", "-c", "echo Epoch 3/3 loss: 0.5; exit 1"])
        .output();
    assert_eq!(output.expect("surgent can be started").status.code(), Some(1));
    assert!(
        bench.read("comment").contains("epoch=2.999"),
        "{}",
        bench.read("comment")
    );
}

#[test]
fn a_file_that_grows_fast_is_read_in_part_and_its_end_in_whole() {
    let bench = Bench::in_job("");
    let file = File::create(bench.path("out")).expect("its own folder");
    let script = "for e in range(1, 6):\n    print(f'Epoch {e}/5 loss: 0.5')\n    for _ in range(200000): print('nothing of interest, with 3 numbers: 1/2')\nprint('Epoch 5/5 loss: 0.1')\n";
    let mut command = bench.surgent(&["run", "--", "python3", "-c", script]);
    let status = command
        .stdout(file.try_clone().expect("a file"))
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("surgent can be started").success());
    assert!(
        bench.read("comment").contains("epoch=5 epochs=5"),
        "{}",
        bench.read("comment")
    );
    let mut head = [0; 9];
    let file = File::open(bench.path("out")).expect("it is there");
    file.read_exact_at(&mut head, 0).expect("it was written");
    assert_eq!(&head, b"Epoch 1/5");
}
