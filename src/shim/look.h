/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at the cluster, in one hold of Slurm's locks or in several.
 *
 * Each hold walks all jobs. A running job that has been copied in an earlier hold and still holds what it held then is passed
 * by; the others are copied. Where that would take too long the hold ends early, and what was copied is known to the next one.
 * The hold that comes to the end is the last: it adds all that is no running job, and all nodes, and has the core forget what
 * is no more. So what the core has in the end is what this one hold saw, but for what a running job says of itself, which
 * may be as old as the look. No pointer to anything of Slurm's is kept from one hold to the next.
 */
#ifndef SURGENT_LOOK_H
#define SURGENT_LOOK_H

#include <time.h>

#include "arena.h"
#include "compat.h"
#include "job_copies.h"
#include "known_nodes.h"
#include "node_names.h"
#include "surgent.h"

typedef struct surgent_look {
	const surgent_sink_t *sink;
	surgent_arena_t arena; /* emptied after each record */
	surgent_known_nodes_t known_nodes; /* emptied after each hold */
	int result;            /* SURGENT_SNAPSHOT_* */
	time_t now;
	bool loses_place; /* a job that is requeued */
	surgent_node_names_t names;
	surgent_job_copies_t copies;
	uint32_t hold;     /* the number of this hold, from 1 on */
	uint64_t until_ns; /* by surgent_clock_ns(): the hold is to end then */
} surgent_look_t;

/* A clock that nobody can set. */
uint64_t surgent_clock_ns(void);

/* How many entries the group that begins at `first` has, of `count` in all. */
size_t surgent_look_group(size_t first, size_t count);

/*
 * The jobs, under the locks of a hold. Whether this was the last hold; it is not if the hold was to end before all running
 * jobs were copied. Where look->result is not SURGENT_SNAPSHOT_OK afterwards, the look has failed.
 */
bool surgent_look_at_jobs(surgent_look_t *look);

/* Has the core forget all jobs that it was given. */
void surgent_look_forget_jobs(surgent_look_t *look);

#endif
