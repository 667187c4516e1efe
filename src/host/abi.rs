// SPDX-License-Identifier: GPL-2.0-or-later
//! `slurm-headers/surgent.h` as bindgen reads it.
#![allow(missing_docs, non_camel_case_types, clippy::all, clippy::pedantic)]
#![allow(clippy::undocumented_unsafe_blocks)]

include!(concat!(env!("OUT_DIR"), "/surgent_h.rs"));
