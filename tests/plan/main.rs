// SPDX-License-Identifier: GPL-2.0-or-later
//! Plans: the best set of victims, compared with brute force on small clusters and with long searches on large ones.

mod bounded;
mod claims;
mod climb;
mod cluster;
mod documentation;
mod het;
mod kept;
mod large;
mod long;
mod oracle;
mod parts;
mod pitfalls;
mod savetimes;
mod small;
mod tables;
mod together;
