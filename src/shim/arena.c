/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 * 1024)
#define ALIGNMENT sizeof(max_align_t)

struct surgent_arena_block {
	surgent_arena_block_t *next;
	size_t capacity;
	size_t used;
	max_align_t bytes[];
};

static surgent_arena_block_t *new_block(size_t bytes)
{
	const size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	surgent_arena_block_t *block = malloc(sizeof(*block) + capacity);

	if (block)
		*block = (surgent_arena_block_t){ .capacity = capacity };
	return block;
}

/* The first block from the current one on that has room; a new one at the end if none has. */
static surgent_arena_block_t *block_with_room(surgent_arena_t *arena, size_t bytes)
{
	surgent_arena_block_t **link = arena->current ? &arena->current : &arena->first;

	while (*link && (*link)->capacity - (*link)->used < bytes)
		link = &(*link)->next;
	if (!*link)
		*link = new_block(bytes);
	return *link;
}

void *surgent_arena_alloc(surgent_arena_t *arena, size_t count, size_t size)
{
	surgent_arena_block_t *block;
	size_t bytes;
	void *object;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	block = block_with_room(arena, bytes);
	if (!block)
		return NULL;
	object = (char *)block->bytes + block->used;
	block->used += bytes;
	arena->current = block;
	return memset(object, 0, bytes);
}

char *surgent_arena_text(surgent_arena_t *arena, const char *text)
{
	const size_t bytes = text ? strlen(text) + 1 : 0;
	char *copy = text ? surgent_arena_alloc(arena, bytes, 1) : NULL;

	return copy ? memcpy(copy, text, bytes) : NULL;
}

void surgent_arena_reset(surgent_arena_t *arena)
{
	for (surgent_arena_block_t *block = arena->first; block; block = block->next)
		block->used = 0;
	arena->current = arena->first;
}

void surgent_arena_free(surgent_arena_t *arena)
{
	while (arena->first) {
		surgent_arena_block_t *next = arena->first->next;

		free(arena->first);
		arena->first = next;
	}
	arena->current = NULL;
}
