/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To read a job takes a few hundred instructions and some thirty cache misses, of which each takes as long as all of
 * these. So the memory of a group of jobs is fetched before the first is read: the waiting is then for all at once.
 */
#ifndef SURGENT_FETCH_AHEAD_H
#define SURGENT_FETCH_AHEAD_H

#include "compat.h"
#include "node_names.h"

/* So many at a time; with more, what was fetched first would be gone from the cache again. */
#define SURGENT_FETCH_GROUP ((size_t)16)

/* To be called before the stamps and states of these jobs are read, SURGENT_FETCH_GROUP of them at most. Changes nothing. */
void surgent_fetch_stamps(job_record_t **jobs, size_t count);

/* To be called before these jobs are read, SURGENT_FETCH_GROUP of them at most. Changes nothing. */
void surgent_fetch_jobs(job_record_t **jobs, size_t count, const surgent_node_names_t *names);

/* The same of the names of nodes. There may be empty slots among them. */
void surgent_fetch_node_names(node_record_t **nodes, size_t count);

/* The same of all that a node view says. */
void surgent_fetch_nodes(node_record_t **nodes, size_t count);

#endif
