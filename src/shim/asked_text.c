/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "asked_text.h"

#include <string.h>

#include "compat.h"

/* Stands, with its NUL, between the two texts. */
static const char mark[] = "surgent: in place of";

char *surgent_text_in_place_of(const char *text, const char *asked)
{
	const size_t text_size = strlen(text) + 1;
	const size_t asked_size = strlen(asked) + 1;
	char *block = xmalloc(text_size + sizeof(mark) + asked_size);

	memcpy(block, text, text_size);
	memcpy(block + text_size, mark, sizeof(mark));
	memcpy(block + text_size + sizeof(mark), asked, asked_size);
	return block;
}

const char *surgent_asked_for(const char *text)
{
	size_t size, text_size;

	if (!text)
		return NULL;
	/* Slurm's own strings end where their blocks do. One that came by the network may hold anything behind its NUL. */
	size = xsize((void *)text);
	text_size = strnlen(text, size) + 1;
	if (size <= text_size + sizeof(mark) || text[size - 1] || memcmp(text + text_size, mark, sizeof(mark)))
		return NULL;
	return text + text_size + sizeof(mark);
}
