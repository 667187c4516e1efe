/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of a partition for jobs that exclude none and have no say about reservations: of many waiting jobs, most have the
 * same. To find them takes a step for each node of the cluster, under Slurm's locks. Valid within one hold of these.
 */
#ifndef SURGENT_KNOWN_NODES_H
#define SURGENT_KNOWN_NODES_H

#include <time.h>

#include "compat.h"

/* Pairs of a partition and a time limit. The first ones stay, so that nobody's list is freed. */
#define SURGENT_KNOWN_NODES_MAX 64

typedef struct surgent_nodes {
	const part_record_t *part;
	time_t duration_s; /* of the job: a reservation that begins later is not in its way */
	const uint32_t *nodes;
	uint32_t count;
} surgent_nodes_t;

/* Starts as {0}. */
typedef struct surgent_known_nodes {
	surgent_nodes_t entries[SURGENT_KNOWN_NODES_MAX];
	size_t count;
} surgent_known_nodes_t;

/* NULL where they are not known. */
const surgent_nodes_t *surgent_known_nodes_find(const surgent_known_nodes_t *known, const part_record_t *part,
						time_t duration_s);

/* Keeps a copy where there is room for one. */
void surgent_known_nodes_add(surgent_known_nodes_t *known, const surgent_nodes_t *found);

void surgent_known_nodes_free(surgent_known_nodes_t *known);

#endif
