/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's generic resources as the core sees them. All memory is of the arena; each returns false when it is out. */
#ifndef SURGENT_GRES_VIEWS_H
#define SURGENT_GRES_VIEWS_H

#include "arena.h"
#include "compat.h"
#include "surgent.h"

/* What the node has: one entry for each type, and one without type for what has none. */
bool surgent_view_node_gres(const node_record_t *node, surgent_arena_t *arena, surgent_node_view_t *view);

/* Adds what the job holds to `holdings`, which has one entry for each of the job's nodes, in order. */
bool surgent_view_held_gres(const job_record_t *job, surgent_arena_t *arena, surgent_holding_t *holdings,
			    uint32_t holding_count);

/* What the job asks for. */
bool surgent_view_requested_gres(const job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view);

#endif
