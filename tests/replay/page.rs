// SPDX-License-Identifier: GPL-2.0-or-later
//! The page of `surgent replay --html` in a real browser, from a small phone's width to a large screen's.

use crate::cli::Bench;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Browsers that print a page as it is once its scripts have run.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn browser() -> Option<Command> {
    let answers = |name: &&&str| {
        let mut asked = Command::new(**name);
        asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    BROWSERS.iter().find(answers).map(Command::new)
}

#[test]
fn nothing_on_the_page_is_wider_than_the_screen_nor_cut_off() {
    let Some(mut browser) = browser() else {
        // Nobody to hear it is no reason to fail.
        let _ = writeln!(
            std::io::stderr(),
            "skipped, for no chromium is installed: the page of surgent replay in a browser"
        );
        return;
    };
    let bench = Bench::new();
    bench.trace(300);
    let output = bench.run(&["--urgent", "10%", "--html", "page.html"]);
    assert!(output.status.success(), "{output:?}");
    std::fs::write(bench.path("look.html"), include_str!("look.html")).unwrap();
    let address = format!("file://{}", bench.path("look.html").display());
    let output = browser
        // Without a sandbox it runs as root; the page is our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--allow-file-access-from-files", "--virtual-time-budget=60000"])
        .arg(format!("--user-data-dir={}", bench.path("browser").display()))
        .arg(address)
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = page
        .split_once("<body>")
        .and_then(|(_, body)| body.split_once("</body>"))
        .map(|(found, _)| found.trim().to_owned());
    let found: Value = serde_json::from_str(&found.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {page}\n{}", String::from_utf8_lossy(&output.stderr)));
    let widths = found.as_array().unwrap();
    assert_eq!(widths.len(), 4, "{found}");
    for width in widths {
        assert_eq!(width["charts"], 3, "{width}");
        assert_eq!(
            (&width["overflow"], &width["cut"]),
            (&0.into(), &0.into()),
            "{width}"
        );
        assert_eq!(width["wide"], Value::Array(Vec::new()), "{width}");
    }
}
