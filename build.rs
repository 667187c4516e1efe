// SPDX-License-Identifier: GPL-2.0-or-later
//! Turns `slurm-headers/surgent.h` into Rust (bindgen) and has the C compiler agree with it (cc).
//!
//! No Slurm headers are needed: only the shims know Slurm, and `make shims` builds those.

use std::path::PathBuf;

const CONTRACT: &str = "slurm-headers/surgent.h";
const LAYOUT: &str = "src/shim/layout.c";

fn main() {
    println!("cargo::rerun-if-changed={CONTRACT}");
    println!("cargo::rerun-if-changed={LAYOUT}");

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    bindgen::Builder::default()
        .header(CONTRACT)
        .allowlist_item("surgent_.*|SURGENT_.*")
        .blocklist_function("surgent_.*")
        .derive_default(true)
        .layout_tests(true)
        .generate()
        .unwrap_or_else(|error| {
            panic!("{CONTRACT} could not be read by bindgen ({error}). bindgen needs libclang: on Debian, apt-get install libclang-dev")
        })
        .write_to_file(out.join("surgent_h.rs"))
        .expect("OUT_DIR can be written");

    // What cc makes of the same header, for the test that both sides see one layout.
    cc::Build::new()
        .file(LAYOUT)
        .include("slurm-headers")
        .warnings_into_errors(true)
        .compile("surgent_layout");

    // The core stays mapped once loaded: its thread and thread-locals outlive a dlclose.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Shims link to the core by this name and find it beside themselves.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsurgent.so");
}
