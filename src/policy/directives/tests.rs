// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of what is read, what is refused and with which sentence, and what an edit leaves.
