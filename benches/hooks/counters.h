/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often anything in this process asks the C library for memory or for a lock. */
#ifndef COUNTERS_H
#define COUNTERS_H

extern unsigned long counted_allocations;
extern unsigned long counted_locks;

#endif
