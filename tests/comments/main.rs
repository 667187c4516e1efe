// SPDX-License-Identifier: GPL-2.0-or-later
//! What holds for every comment and every AdminComment, seen from outside the crate.

mod directives;
mod documentation;
mod generate;
mod record;
