// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent run` and `surgent report` from outside: real programs, real signals, real exit codes.

mod bench;
mod follow;
mod output;
mod outside;
mod publish;
mod python;
mod report;
mod request;
mod saving;
mod signs;
