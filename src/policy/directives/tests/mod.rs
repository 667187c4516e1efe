// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables for reading and for editing comments. What holds for every comment is in tests/comments.

mod edit;
mod option;
mod read;
