// SPDX-License-Identifier: GPL-2.0-or-later
//! A place for one test: the real `surgent`, real programs, and where a job is needed, small scripts that play Slurm's
//! commands on two files. What a real slurmctld does with the same is for the cluster tests.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything takes on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Prints the files `comment` and `admin` in the two forms that surgent asks for.
const SQUEUE: &str = r#"#!/bin/sh
echo "$@" >> "$BENCH/squeue.log"
case "$5" in
--format) printf '\036%s\037' "$4"; cat "$BENCH/comment"; printf '\035\n' ;;
--Format) printf '%-12s' "$4"; cat "$BENCH/admin"; printf '\n' ;;
esac
"#;

/// Writes the file `comment`, whole, after as many failures as the file `failures` counts.
const SCONTROL: &str = r#"#!/bin/sh
failures=$(cat "$BENCH/failures")
if [ "$failures" -gt 0 ]; then
    echo $((failures - 1)) > "$BENCH/failures"
    echo "Unable to contact slurm controller (connect failure)" >&2
    exit 1
fi
case "$1 $2" in
"update JobId=$SLURM_JOB_ID")
    printf '%s' "${3#Comment=}" > "$BENCH/comment.new"
    mv "$BENCH/comment.new" "$BENCH/comment"
    printf '%s\n' "$3" >> "$BENCH/updates" ;;
*) echo "$@" >> "$BENCH/other" ;;
esac
"#;

/// A training program: reports, saves on USR1, and says what happens to it in the file `story`.
const TRAIN: &str = r#"
import json, os, signal, sys, time
bench = os.environ["BENCH"]
def tell(what):
    with open(bench + "/story", "a") as story:
        story.write(what + "\n")
def report(**values):
    with open(os.environ["SURGENT_REPORT"], "a") as reports:
        reports.write(json.dumps(values) + "\n")
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
signal.signal(signal.SIGTERM, lambda *_: tell("term"))
tell("start resume=" + os.environ.get("SURGENT_RESUME", "no"))
while not os.path.exists(bench + "/end"):
    time.sleep(0.01)
    if os.path.exists(bench + "/epoch"):
        report(epoch=int(open(bench + "/epoch").read()), epochs=90)
        os.remove(bench + "/epoch")
    if asked:
        asked.clear()
        tell("asked")
        open(bench + "/model", "w").close()
        report(saved=bench + "/model")
        if os.path.exists(bench + "/exit-after-save"):
            tell("exit")
            while os.path.exists(bench + "/linger"):
                time.sleep(0.01)
            sys.exit(75)
tell("end")
sys.exit(3)
"#;

pub struct Bench {
    folder: tempfile::TempDir,
}

/// A running `surgent run`, in a process group of its own, ended with the test.
pub struct Running(Child);

impl Bench {
    /// Outside Slurm.
    pub fn outside() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        bench.write("train.py", TRAIN);
        bench
    }

    /// In the batch script of job 17.
    pub fn in_job(comment: impl AsRef<[u8]>) -> Self {
        let bench = Self::outside();
        fs::create_dir(bench.path("bin")).expect("a folder");
        for (name, text) in [("squeue", SQUEUE), ("scontrol", SCONTROL)] {
            bench.command(name, text);
        }
        bench.write("comment", comment);
        bench.write("admin", "(null)");
        bench.write("failures", "0");
        bench
    }

    /// Puts a command in front of the search path.
    pub fn command(&self, name: &str, text: &str) {
        let path = Path::new("bin").join(name);
        self.write(&path, text);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).expect("its own file");
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        // By rename, so that nobody reads one half of it.
        let (path, new) = (self.path(&name), self.path("new"));
        fs::write(&new, content).expect("its own folder");
        fs::rename(new, path).expect("its own folder");
    }

    /// The file's content; empty while there is none.
    pub fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// `surgent` with these arguments, in the bench's environment.
    pub fn surgent(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_surgent"));
        command
            .args(args)
            .env("BENCH", self.path(""))
            // Temporary files as well, for what a killed surgent leaves behind.
            .env("TMPDIR", self.path(""))
            .current_dir(self.path(""));
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("SLURM_") || name_text.starts_with("SURGENT_") {
                command.env_remove(&name);
            }
        }
        command.env("SURGENT_MIN_INTERVAL_S", "0");
        if self.path("bin").exists() {
            let path = std::env::var("PATH").unwrap_or_default();
            command.env("PATH", format!("{}:{path}", self.path("bin").display()));
            command.env("SLURM_JOB_ID", "17");
        }
        command
    }

    /// Starts `surgent run OPTIONS -- python3 train.py` and waits until the program is there.
    pub fn train(&self, options: &[&str]) -> Running {
        self.train_with(options, |_| {})
    }

    pub fn train_with(&self, options: &[&str], change: impl FnOnce(&mut Command)) -> Running {
        let args = [&["run"], options, &["--", "python3", "train.py"]].concat();
        let mut command = self.surgent(&args);
        change(&mut command);
        let running = Running::start(&mut command);
        self.until("the program has started", || self.read("story").contains("start"));
        running
    }

    /// Lets the program report its last epoch and end with exit code 3.
    pub fn finish(&self) {
        self.write("epoch", "90");
        self.until("the last epoch is reported", || !self.path("epoch").exists());
        self.write("end", "");
    }

    /// Records a request to save for the urgent job 99.
    pub fn ask(&self) {
        let record = format!(
            "surgent{{class=normal ask=99 asked={0} deadline={1}}}",
            now(),
            now() + 600
        );
        self.write("admin", record);
    }

    /// Waits for something that is to happen.
    pub fn until(&self, what: &str, has_happened: impl Fn() -> bool) {
        let start = Instant::now();
        while !has_happened() {
            let files = ["story", "comment", "updates", "other", "stderr"].map(|name| self.read(name));
            assert!(
                start.elapsed() < LIMIT,
                "{what}: not so after {LIMIT:?}\n{files:#?}"
            );
            sleep(Duration::from_millis(5));
        }
    }

    pub fn until_comment_has(&self, part: &str) {
        self.until(part, || self.read("comment").contains(part));
    }

    pub fn until_story_has(&self, part: &str) {
        self.until(part, || self.read("story").contains(part));
    }
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self::start_as_is(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// With its standard error in a file, so that it can be read meanwhile.
    pub fn start_with_stderr(command: &mut Command, stderr: fs::File) -> Self {
        Self::start_as_is(command.stdout(Stdio::piped()).stderr(stderr))
    }

    /// With the outputs that the command has.
    pub fn start_as_is(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).process_group(0).spawn();
        Self(child.expect("surgent can be started"))
    }

    /// As Slurm does it: to every process of the group.
    pub fn signal_all(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).expect("it runs");
    }

    /// To `surgent` alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.0.id()).expect("a process id")).expect("not 0")
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_some()
    }

    /// Waits for the end; exit code, standard output and standard error.
    pub fn end(mut self) -> (i32, String, String) {
        let start = Instant::now();
        while !self.has_ended() {
            assert!(start.elapsed() < LIMIT, "surgent has not ended after {LIMIT:?}");
            sleep(Duration::from_millis(5));
        }
        // What the program has left behind holds the pipes open.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let read = |pipe: Option<&mut dyn std::io::Read>| {
            let mut text = String::new();
            if let Some(pipe) = pipe {
                pipe.read_to_string(&mut text).expect("text");
            }
            text
        };
        let stdout = read(self.0.stdout.as_mut().map(|pipe| pipe as _));
        let stderr = read(self.0.stderr.as_mut().map(|pipe| pipe as _));
        let code = self
            .0
            .wait()
            .expect("a child")
            .code()
            .expect("surgent was not killed");
        (code, stdout, stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program as well, where a test has failed.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Exit code, standard output and standard error.
pub fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().expect("not killed"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs()
}
