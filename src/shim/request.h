/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a pending job asks for, and where it may run. All memory is of the arena. */
#ifndef SURGENT_REQUEST_H
#define SURGENT_REQUEST_H

#include "arena.h"
#include "compat.h"
#include "known_nodes.h"
#include "surgent.h"

/*
 * Fills in the request_* fields, `choices` and `required`; false when memory is out. `known` is of this hold of the locks.
 */
bool surgent_view_request(const job_record_t *job, surgent_arena_t *arena, surgent_known_nodes_t *known,
			  surgent_job_view_t *view);

#endif
