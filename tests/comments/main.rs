// SPDX-License-Identifier: GPL-2.0-or-later
//! What holds for every comment and every AdminComment, seen from outside the crate.

#[path = "../support/directive_model.rs"]
mod directive_model;
mod directives;
mod documentation;
mod generate;
mod record;
