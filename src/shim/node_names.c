/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "node_names.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static size_t hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ (hash >> 15);
}

bool surgent_node_names_init(surgent_node_names_t *names, size_t nodes)
{
	size_t slots = 16;

	while (slots < 2 * nodes)
		slots *= 2;
	names->slots = calloc(slots, sizeof(*names->slots));
	names->mask = slots - 1;
	names->texts = calloc(nodes + 1, sizeof(*names->texts));
	names->count = nodes;
	return names->slots && names->texts;
}

void surgent_node_names_free(surgent_node_names_t *names)
{
	free(names->slots);
	free(names->texts);
	surgent_arena_free(&names->arena);
	*names = (surgent_node_names_t){ 0 };
}

bool surgent_node_names_add(surgent_node_names_t *names, const char *name, uint32_t index)
{
	size_t at;

	if (!name)
		return true;
	at = hash(name) & names->mask;
	while (names->slots[at])
		at = (at + 1) & names->mask;
	names->slots[at] = index + 1;
	names->texts[index] = surgent_arena_text(&names->arena, name);
	return names->texts[index];
}

bool surgent_node_names_has(const surgent_node_names_t *names, const char *name, uint32_t index)
{
	const char *text = index < names->count ? names->texts[index] : NULL;

	return text && name ? !strcmp(text, name) : !text && !name;
}

void surgent_node_names_fetch(const surgent_node_names_t *names, const char *name, const bitstr_t *map)
{
	/* Behind a head of two words, in every release so far; elsewhere this fetches in vain. */
	const uintptr_t words = (uintptr_t)map + 2 * sizeof(*map);
	const uint32_t slot = names->slots[hash(name) & names->mask];

	if (slot)
		__builtin_prefetch((const void *)(words + (slot - 1) / 8));
}

bitoff_t surgent_node_names_find(const surgent_node_names_t *names, const char *name, bitstr_t *map)
{
	const bitoff_t size = slurm_bit_size(map);

	/* The bitmap has the last word, so names need not be compared. */
	for (size_t at = hash(name) & names->mask; names->slots[at]; at = (at + 1) & names->mask) {
		const bitoff_t bit = (bitoff_t)names->slots[at] - 1;

		if (bit < size && slurm_bit_test(map, bit))
			return bit;
	}
	return -1;
}
