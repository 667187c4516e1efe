// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent follow`: the output files of a task that knows nothing of Surgent.

use crate::bench::{Bench, Running, now};
use rustix::process::{Pid, Signal};
use std::fs;
use std::process::{Command, Stdio};

/// Does what the file `next` says, again and again.
const TASK: &str = r#"
import os, time
bench = os.environ["BENCH"] + "/"
def say(text):
    os.write(1, (text + "\n").encode())
def to(name, flags=os.O_APPEND):
    os.dup2(os.open(bench + name, os.O_CREAT | os.O_WRONLY | flags), 1)
while not os.path.exists(bench + "end"):
    time.sleep(0.01)
    if os.path.exists(bench + "next"):
        exec(open(bench + "next").read())
        os.remove(bench + "next")
"#;

/// Starts the task with what the shell makes of `redirections`.
fn start(bench: &Bench, redirections: &str) -> Running {
    bench.write("task.py", TASK);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec python3 task.py {redirections}")])
        .env("BENCH", bench.path(""))
        .current_dir(bench.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let task = Running::start_as_is(&mut command);
    // From here on it has the outputs that it is to have.
    act(bench, "");
    task
}

/// Has the task do something, and waits until it has.
fn act(bench: &Bench, action: &str) {
    bench.write("next", action);
    bench.until("the task has done so", || !bench.path("next").exists());
}

fn command(bench: &Bench, task: &Running, options: &[&str]) -> Command {
    let mut command = bench.surgent(&[&["follow"], options].concat());
    command
        // A job of its own: of job 17 there are others, in other tests, under `surgent run`.
        .env("SLURM_JOB_ID", task.pid().to_string())
        .env("SLURM_TASK_PID", task.pid().to_string())
        .env("SLURM_PROCID", "0");
    command
}

/// Starts a follower, and waits until it reads the file `out`.
fn follow(bench: &Bench, task: &Running) -> Running {
    let follower = Running::start(&mut command(bench, task, &[]));
    bench.until("the file is open", || has_open(follower.pid(), "out"));
    follower
}

/// The follower ends with its task, well and without a word.
fn assert_ends_with(bench: &Bench, task: Running, follower: Running) {
    bench.write("end", "");
    task.end();
    assert_eq!(follower.end(), (0, String::new(), String::new()));
}

#[test]
fn progress_is_published_and_nothing_is_said_of_saving() {
    let bench = Bench::in_job("my run signal=USR1@batch");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    act(&bench, "say('Epoch 1/9')");
    bench.until_comment_has("my run signal=USR1@batch epoch=0 epochs=9 at=");
    act(&bench, "say('Epoch 2/9')");
    bench.until_comment_has("epoch=1 epochs=9");
    act(&bench, "say('Epoch 3/9')");
    bench.until_comment_has("epoch_s=");
    assert!(!bench.read("comment").contains("save="));
    assert_ends_with(&bench, task, follower);
}

#[test]
fn what_an_earlier_run_has_written_is_not_read_again() {
    let bench = Bench::in_job("");
    bench.write("out", "Epoch 57/90\nEpoch 58/90");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    act(&bench, "say('Epoch 3/90')");
    bench.until_comment_has("epoch=2 epochs=90");
    assert_eq!(updates(&bench), 1);
    assert_ends_with(&bench, task, follower);
}

#[test]
fn a_file_that_is_cut_off_and_one_that_takes_its_place_are_followed() {
    let bench = Bench::in_job("");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    // By steps that cannot be foreseen from those before them.
    act(&bench, "say('no news, ' * 100 + '\\nEpoch 1/9')");
    bench.until_comment_has("epoch=0 ");
    // As logrotate does with copytruncate.
    act(&bench, "os.ftruncate(1, 0)");
    act(&bench, "say('\\nEpoch 2/9')");
    bench.until_comment_has("epoch=1 ");
    // Renamed, it is written to as before.
    fs::rename(bench.path("out"), bench.path("out.1")).expect("its own folder");
    act(&bench, "say('Epoch 5/9')");
    bench.until_comment_has("epoch=4 ");
    // And then a new one, by a program that opens it anew; it is read from its beginning.
    act(&bench, "to('out', os.O_TRUNC); say('Epoch 9/9')");
    bench.until_comment_has("epoch=8 ");
    assert_ends_with(&bench, task, follower);
}

#[test]
fn a_file_that_comes_late_is_followed() {
    let bench = Bench::in_job("");
    let task = start(&bench, ">&- 2>&-");
    let follower = Running::start(&mut command(&bench, &task, &[]));
    act(&bench, "to('late')");
    bench.until("the file is open", || has_open(follower.pid(), "late"));
    act(&bench, "say('Epoch 5/9')");
    bench.until_comment_has("epoch=4 epochs=9");
    assert_ends_with(&bench, task, follower);
}

#[test]
fn what_is_no_file_is_left_alone_at_once() {
    for redirections in ["> /dev/null 2>&1", "2>&1 | cat >> out"] {
        let bench = Bench::in_job("");
        // Behind a pipe the shell starts the task as its child.
        let shell = start(&bench, &format!("{redirections} & echo $! > task.pid; wait"));
        bench.until("the task is known", || bench.read("task.pid").ends_with('\n'));
        let task = match redirections.contains('|') {
            true => first_child_of(&shell),
            false => shell.pid().to_string(),
        };
        let output = command(&bench, &shell, &[]).env("SLURM_TASK_PID", task).output();
        assert_eq!(output.expect("surgent can be started").status.code(), Some(0));
        assert!(!bench.path("end").exists() && bench.read("squeue.log").is_empty());
        bench.write("end", "");
        shell.end();
    }
}

#[test]
fn what_is_no_training_gets_nothing_into_its_comment() {
    let bench = Bench::in_job("words");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    for line in [
        "copying file 3 of 9",
        "step 3/10: unpacking",
        "\\r 50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\\r",
        "\\r 60%|######    | 6/10 [00:06<00:04,  1.00it/s]\\r",
    ] {
        act(&bench, &format!("say('{line}')"));
    }
    until_looked(&bench, &follower);
    act(&bench, "say('Epoch 1/3')");
    bench.until_comment_has("words epoch=0 epochs=3");
    assert_eq!(updates(&bench), 1);
    assert_ends_with(&bench, task, follower);
}

#[test]
fn surgent_run_in_the_same_job_is_the_only_one_to_speak() {
    let bench = Bench::in_job("");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    let run = bench.train_with(&[], |run| _ = run.env("SLURM_JOB_ID", task.pid().to_string()));
    bench.until_comment_has("save=none");
    act(&bench, "say('Epoch 1/9')");
    assert_eq!(follower.end().0, 0);
    bench.write("epoch", "4");
    bench.until_comment_has("epoch=4 epochs=90");
    assert!(!bench.read("updates").contains("epochs=9 "));
    drop(run);
}

#[test]
fn whoever_else_speaks_for_the_job_is_not_contradicted() {
    let others = [
        format!("epoch=4 epochs=90 at={}", now() + 1000),
        "signal=URG@full".to_owned(),
    ];
    for comment in others {
        let bench = Bench::in_job(&comment);
        let task = start(&bench, ">>out 2>&1");
        let follower = follow(&bench, &task);
        act(&bench, "say('Epoch 1/9')");
        assert_eq!(follower.end().0, 0);
        assert_eq!(bench.read("comment"), comment);
        drop(task);
    }
}

#[test]
fn signals_to_the_whole_job_and_a_slurmctld_that_is_away_do_not_matter() {
    let bench = Bench::in_job("");
    bench.write("failures", "3");
    let task = start(&bench, ">>out 2>&1");
    let follower = follow(&bench, &task);
    for signal in [Signal::USR1, Signal::USR2, Signal::TERM, Signal::HUP] {
        follower.signal_all(signal);
    }
    act(&bench, "say('Epoch 1/9')");
    bench.until_comment_has("epoch=0 epochs=9");
    assert_ends_with(&bench, task, follower);
}

#[test]
fn only_the_first_process_of_a_step_is_followed() {
    let bench = Bench::in_job("");
    let task = start(&bench, ">>out 2>&1");
    for options in [&[][..], &["--detach"]] {
        let mut command = command(&bench, &task, options);
        command.env("SLURM_STEP_ID", "0").env("SLURM_PROCID", "1");
        assert_eq!(
            command.output().expect("surgent can be started").status.code(),
            Some(0)
        );
    }
    assert_eq!(followers(&bench), []);
}

#[test]
fn a_task_prolog_comes_back_at_once_and_what_it_started_ends_with_the_task() {
    let bench = Bench::in_job("");
    let task = start(&bench, ">>out 2>&1");
    // Its outputs are pipes, which it must not leave open.
    let output = command(&bench, &task, &["--detach"]).output();
    let output = output.expect("surgent can be started");
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let follower = followers(&bench)[0];
    bench.until("the file is open", || has_open(follower, "out"));
    act(&bench, "say('Epoch 1/9')");
    bench.until_comment_has("epoch=0 epochs=9");
    bench.write("end", "");
    task.end();
    bench.until("no follower is left", || followers(&bench).is_empty());
}

#[test]
fn outside_a_job_it_says_so_and_harms_nobody() {
    let bench = Bench::outside();
    let output = bench.surgent(&["follow", "--detach"]).output();
    let output = output.expect("surgent can be started");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to follow"));
}

/// Whether the process has opened the bench's file of that name.
fn has_open(process: Pid, name: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
    files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok())
        .any(|path| path.ends_with(name))
}

/// Waits until the follower has looked at the task once more.
fn until_looked(bench: &Bench, follower: &Running) {
    let reads = || {
        let io = fs::read_to_string(format!("/proc/{}/io", follower.pid())).expect("it runs");
        let count = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        count
            .and_then(|count| count.parse::<u32>().ok())
            .expect("a number")
    };
    let before = reads();
    // More than one look makes.
    bench.until("it has looked", || reads() > before + 8);
}

/// How often the comment was written, which is noted after it has been.
fn updates(bench: &Bench) -> usize {
    bench.until("an update is noted", || !bench.read("updates").is_empty());
    bench.read("updates").lines().count()
}

fn first_child_of(process: &Running) -> String {
    let pid = process.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("it runs");
    children.split(' ').next().expect("a child").to_owned()
}

/// Every `surgent follow` on this bench.
fn followers(bench: &Bench) -> Vec<Pid> {
    let folder = format!("BENCH={}\0", bench.path("").display());
    let is_ours = |pid: &Pid| {
        let has = |file: &str, part: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(part)
        };
        has("cmdline", "surgent\0follow\0") && has("environ", &folder)
    };
    let processes = fs::read_dir("/proc").expect("there is /proc").flatten();
    processes
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(is_ours)
        .collect()
}
