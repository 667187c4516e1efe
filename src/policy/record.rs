// SPDX-License-Identifier: GPL-2.0-or-later
//! Surgent's own record in a job's AdminComment.
