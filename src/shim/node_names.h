/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which node a job of one node runs on. Slurm keeps that as a bitmap of all nodes, in which a single bit takes long to be
 * found, and as a name. Here the name says which bit to try first. The names also tell whether the nodes have their
 * indexes still: a reconfiguration or `scontrol delete node` between two holds of the locks may have moved them.
 */
#ifndef SURGENT_NODE_NAMES_H
#define SURGENT_NODE_NAMES_H

#include "arena.h"
#include "compat.h"

/* Starts as {0}. */
typedef struct surgent_node_names {
	uint32_t *slots; /* index of a node, plus one */
	size_t mask;     /* number of slots, a power of two, less one */
	const char **texts; /* of each index the name, or NULL */
	size_t count;
	surgent_arena_t arena;
} surgent_node_names_t;

/* Room for so many nodes; false when memory is out. */
bool surgent_node_names_init(surgent_node_names_t *names, size_t nodes);
void surgent_node_names_free(surgent_node_names_t *names);

/* The node of this index, below the number of nodes, is called so; NULL: it has no name. False when memory is out. */
bool surgent_node_names_add(surgent_node_names_t *names, const char *name, uint32_t index);

/* Whether `name`, NULL for none, is what was added for this index. */
bool surgent_node_names_has(const surgent_node_names_t *names, const char *name, uint32_t index);

/* Fetches the word of `map` that surgent_node_names_find() will look at first. */
void surgent_node_names_fetch(const surgent_node_names_t *names, const char *name, const bitstr_t *map);

/* The bit of `map`, which has one bit set, that stands for the node `name`; -1 if the name does not help. */
bitoff_t surgent_node_names_find(const surgent_node_names_t *names, const char *name, bitstr_t *map);

#endif
