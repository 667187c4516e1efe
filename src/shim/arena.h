/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scratch memory of one snapshot: many small requests, all given back at once. */
#ifndef SURGENT_ARENA_H
#define SURGENT_ARENA_H

#include <stddef.h>

typedef struct surgent_arena_block surgent_arena_block_t;

/* Starts as {0}. */
typedef struct surgent_arena {
	surgent_arena_block_t *first;
	surgent_arena_block_t *current;
} surgent_arena_t;

/* `count` objects of `size` bytes, zeroed, valid until the next reset. NULL when memory is out. */
void *surgent_arena_alloc(surgent_arena_t *arena, size_t count, size_t size);

/* A copy of `text`, or NULL when memory is out or `text` is NULL. */
char *surgent_arena_text(surgent_arena_t *arena, const char *text);

/* Forgets all objects and keeps the memory for the next ones. */
void surgent_arena_reset(surgent_arena_t *arena);

/* Gives the memory back to the system. */
void surgent_arena_free(surgent_arena_t *arena);

#endif
