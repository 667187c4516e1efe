// SPDX-License-Identifier: GPL-2.0-or-later
//! What the documentation names is there: pages and headings that links lead to, commands, options, settings, messages.

mod changelog;
mod claims;
mod links;
mod markdown;
mod messages;
mod names;
