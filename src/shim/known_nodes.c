/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "known_nodes.h"

#include <stdlib.h>
#include <string.h>

const surgent_nodes_t *surgent_known_nodes_find(const surgent_known_nodes_t *known, const part_record_t *part,
						time_t duration_s)
{
	for (size_t i = 0; i < known->count; i++) {
		const surgent_nodes_t *kept = &known->entries[i];

		if (kept->part == part && kept->duration_s == duration_s)
			return kept;
	}
	return NULL;
}

void surgent_known_nodes_add(surgent_known_nodes_t *known, const surgent_nodes_t *found)
{
	const size_t bytes = found->count * sizeof(*found->nodes);
	uint32_t *nodes = NULL;

	if (known->count < SURGENT_KNOWN_NODES_MAX)
		nodes = malloc(bytes ? bytes : 1);
	if (!nodes)
		return;
	memcpy(nodes, found->nodes, bytes);
	known->entries[known->count] = *found;
	known->entries[known->count].nodes = nodes;
	known->count++;
}

void surgent_known_nodes_free(surgent_known_nodes_t *known)
{
	for (size_t i = 0; i < known->count; i++)
		free((void *)known->entries[i].nodes);
	*known = (surgent_known_nodes_t){ 0 };
}
