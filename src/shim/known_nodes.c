/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "known_nodes.h"

#include <stdlib.h>
#include <string.h>

const surgent_nodes_t *surgent_known_nodes_find(const surgent_known_nodes_t *known, const part_record_t *part,
						time_t duration_s)
{
	for (size_t i = 0; i < SURGENT_KNOWN_NODES_MAX; i++) {
		const surgent_nodes_t *kept = &known->entries[i];

		if (kept->part == part && kept->duration_s == duration_s)
			return kept;
	}
	return NULL;
}

void surgent_known_nodes_add(surgent_known_nodes_t *known, const surgent_nodes_t *found)
{
	surgent_nodes_t *slot = &known->entries[known->next];
	const size_t bytes = found->count * sizeof(*found->nodes);
	uint32_t *nodes = malloc(bytes ? bytes : 1);

	if (!nodes)
		return;
	memcpy(nodes, found->nodes, bytes);
	free((void *)slot->nodes);
	*slot = *found;
	slot->nodes = nodes;
	known->next = (known->next + 1) % SURGENT_KNOWN_NODES_MAX;
}

void surgent_known_nodes_free(surgent_known_nodes_t *known)
{
	for (size_t i = 0; i < SURGENT_KNOWN_NODES_MAX; i++)
		free((void *)known->entries[i].nodes);
	*known = (surgent_known_nodes_t){ 0 };
}
