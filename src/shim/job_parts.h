/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a running job holds: the part of its view that needs memory. All of it is of the arena; each returns false when it is out. */
#ifndef SURGENT_JOB_PARTS_H
#define SURGENT_JOB_PARTS_H

#include "arena.h"
#include "compat.h"
#include "node_names.h"
#include "surgent.h"

/* What a running or suspended job holds on each of its nodes. */
bool surgent_view_holdings(const job_record_t *job, const surgent_node_names_t *names, surgent_arena_t *arena,
			   surgent_job_view_t *view);

#endif
