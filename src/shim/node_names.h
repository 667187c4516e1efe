/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which node a job of one node runs on. Slurm keeps that as a bitmap of all nodes, in which a single bit takes long to be
 * found, and as a name. Here the name says which bit to try first.
 */
#ifndef SURGENT_NODE_NAMES_H
#define SURGENT_NODE_NAMES_H

#include "compat.h"

/* Starts as {0}. */
typedef struct surgent_node_names {
	uint32_t *slots; /* index of a node, plus one */
	size_t mask;     /* number of slots, a power of two, less one */
} surgent_node_names_t;

/* Room for so many nodes; false when memory is out. */
bool surgent_node_names_init(surgent_node_names_t *names, size_t nodes);
void surgent_node_names_free(surgent_node_names_t *names);

/* To be called at most once for each node that there is room for. */
void surgent_node_names_add(surgent_node_names_t *names, const char *name, uint32_t index);

/* Fetches the word of `map` that surgent_node_names_find() will look at first. */
void surgent_node_names_fetch(const surgent_node_names_t *names, const char *name, const bitstr_t *map);

/* The bit of `map`, which has one bit set, that stands for the node `name`; -1 if the name does not help. */
bitoff_t surgent_node_names_find(const surgent_node_names_t *names, const char *name, bitstr_t *map);

#endif
