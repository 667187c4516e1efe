// SPDX-License-Identifier: GPL-2.0-or-later
//! What is read from the output of training programs.

mod command;
mod fixtures;
mod properties;
mod samples;
