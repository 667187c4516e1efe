// SPDX-License-Identifier: GPL-2.0-or-later
//! What reading along costs, for a program that prints 100 MB/s: `cargo bench --bench progress`.
//!
//! A pipe is compared with `cat`, which hands on the same bytes and reads none of them.

mod processes;

use processes::{Usage, watch};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MB_PER_S: u64 = 100;
const SECONDS: u64 = 4;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("produce") {
        // The reader of the output may have gone.
        let _ = produce();
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["squeue", "scontrol"] {
        let path = folder.path().join(name);
        fs::write(&path, "#!/bin/sh\nexit 0\n").expect("its own folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its own file");
    }
    println!("A program prints {MB_PER_S} MB/s for {SECONDS} s:");
    let cat = through_cat();
    show("cat, a pipe", &cat, &cat);
    show(
        "surgent run, a pipe",
        &surgent(folder.path(), Stdio::piped()),
        &cat,
    );
    let file = File::create(folder.path().join("out")).expect("its own folder");
    show("surgent run, a file", &surgent(folder.path(), file.into()), &cat);
    readers();
}

fn show(what: &str, usage: &Usage, cat: &Usage) {
    let percent = usage.cpu.as_secs_f64() / usage.wall.as_secs_f64() * 100.0;
    let per_10_mb = percent * 10.0 / (usage.bytes as f64 / 1e6 / usage.wall.as_secs_f64());
    println!(
        "  {what:<22} {:>5.0} MB/s  {per_10_mb:>5.2} % of a core per 10 MB/s  {:>5.2} times cat  {:>5.1} MiB",
        usage.bytes as f64 / 1e6 / usage.wall.as_secs_f64(),
        usage.cpu.as_secs_f64() / cat.cpu.as_secs_f64().max(0.01),
        usage.memory_kib as f64 / 1024.0,
    );
}

/// Lines of a training, at the rate, to standard output.
fn produce() -> io::Result<()> {
    let mut block = Vec::new();
    let mut number = 0;
    while block.len() < 1_000_000 {
        number += 1;
        writeln!(
            block,
            "2026-02-03 04:05:06,789 INFO worker {number}: batch of 64 loaded in 0.012 s from /data/part-{number:05}.tar"
        )?;
        if number % 20 == 0 {
            write!(
                block,
                "\rEpoch 3:  45%|####5     | {number}/100000 [12:34<15:00, 99.90it/s, loss=0.123]"
            )?;
        }
    }
    let begin = Instant::now();
    let mut output = io::stdout().lock();
    for second_part in 1..=MB_PER_S * SECONDS {
        output.write_all(&block)?;
        let due = Duration::from_secs_f64(second_part as f64 / MB_PER_S as f64);
        sleep(due.saturating_sub(begin.elapsed()));
    }
    Ok(())
}

fn producer() -> String {
    std::env::current_exe()
        .expect("this program")
        .display()
        .to_string()
}

fn through_cat() -> Usage {
    let mut source = Command::new(producer())
        .arg("produce")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let output = source.stdout.take().expect("it is a pipe");
    let mut cat = Command::new("cat")
        .stdin(output)
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat is there");
    let usage = watch(&mut cat, "cat");
    source.wait().expect("a child");
    usage
}

fn surgent(bin: &Path, output: Stdio) -> Usage {
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut child = Command::new(env!("CARGO_BIN_EXE_surgent"))
        .args(["run", "--", &producer(), "produce"])
        .env("PATH", path)
        .env("SLURM_JOB_ID", "17")
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .expect("surgent can be started");
    watch(&mut child, "surgent")
}

/// The readers alone, without a limit.
fn readers() {
    let mut text = Vec::new();
    for number in 0..200_000 {
        let _ = writeln!(
            text,
            "2026-02-03 04:05:06,789 INFO worker {number}: batch of 64 loaded in 0.012 s from /data/part.tar"
        );
    }
    let begin = Instant::now();
    let mut reader = surgent::progress::Reader::new(None);
    reader.feed(&text);
    let took = begin.elapsed();
    println!(
        "The readers alone: {:.0} MB/s of log lines without progress",
        text.len() as f64 / 1e6 / took.as_secs_f64()
    );
}
