/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that takes the place of what somebody asked for, and keeps that.
 *
 * Slurm goes through all records that one request changes (the tasks of an array, the components of a heterogeneous job)
 * with one description of it, and comes back with that later where it puts a record off. So what was written there for one
 * record is still there for the next. What was asked for is kept behind the end of the text, in the same block of memory:
 * it goes where the text goes and is gone with it, so it cannot be taken for that of another request.
 */
#ifndef SURGENT_ASKED_TEXT_H
#define SURGENT_ASKED_TEXT_H

/* `text` in place of `asked`; both are copied, and Slurm is to free it. */
char *surgent_text_in_place_of(const char *text, const char *asked);

/* What `text`, which Slurm has allocated, is in place of; NULL if it is what was asked for itself, or NULL. */
const char *surgent_asked_for(const char *text);

#endif
