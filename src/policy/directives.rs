// SPDX-License-Identifier: GPL-2.0-or-later
//! Directives in a job's comment.
