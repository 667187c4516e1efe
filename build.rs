// SPDX-License-Identifier: GPL-2.0-or-later
//! Turns `slurm-headers/surgent.h` into Rust (bindgen) and has the C compiler agree with it (cc).
//!
//! No Slurm headers are needed: only the shims know Slurm, and `make shims` builds those.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

const CONTRACT: &str = "slurm-headers/surgent.h";
const LAYOUT: &str = "src/shim/layout.c";

fn main() {
    println!("cargo::rerun-if-changed={CONTRACT}");
    println!("cargo::rerun-if-changed={LAYOUT}");

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    bindings()
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

fn bindings() -> bindgen::Bindings {
    let builder = bindgen::Builder::default()
        .header(CONTRACT)
        .allowlist_item("surgent_.*|SURGENT_.*")
        .blocklist_function("surgent_.*")
        .derive_default(true)
        .layout_tests(true);
    // bindgen panics where it finds no libclang, with a page of its own words.
    std::panic::set_hook(Box::new(|_| ()));
    let generated = std::panic::catch_unwind(AssertUnwindSafe(|| builder.generate()));
    drop(std::panic::take_hook());
    match generated {
        Ok(Ok(bindings)) => bindings,
        Ok(Err(error)) => fail(&format!("{CONTRACT} could not be read: {error}")),
        Err(_) => fail(
            "libclang, by which bindgen reads C headers, was not found: install it (Debian: apt-get install libclang-dev), \
             or set LIBCLANG_PATH to the folder that holds it",
        ),
    }
}

/// Ends the build with one sentence for whoever builds.
fn fail(sentence: &str) -> ! {
    println!("cargo::error={sentence}");
    std::process::exit(1)
}
