// SPDX-License-Identifier: GPL-2.0-or-later
//! `surgent replay`: what a way of serving urgent jobs would have done to a trace of jobs.

pub mod trace;
