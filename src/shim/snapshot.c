/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <stddef.h>
#include <stdlib.h>

#include "fetch_ahead.h"
#include "fit.h"
#include "gres_views.h"
#include "look.h"
#include "views.h"

uint64_t surgent_clock_ns(void)
{
	struct timespec now;

	/* With a pointer to a clock that every kernel has, it cannot fail. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

size_t surgent_look_group(size_t first, size_t count)
{
	return count - first < SURGENT_FETCH_GROUP ? count - first : SURGENT_FETCH_GROUP;
}

/* --- nodes --- */

/* The name of the node in this slot, NULL if that is empty; false if what is there is no node. */
static bool name_of(size_t index, const char **name)
{
	const node_record_t *node = node_record_table_ptr[index];

	*name = NULL;
	if (!node)
		return true;
	if (!surgent_fits(SURGENT_NODE, node) || node->magic != NODE_MAGIC)
		return false;
	*name = node->name;
	return true;
}

/* Whether each node has the index that it had in the hold before. */
static bool indexes_are_the_same(const surgent_look_t *look)
{
	const size_t count = (size_t)node_record_count;
	const char *name;

	if (count != look->names.count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_node_names(node_record_table_ptr + i, surgent_look_group(i, count));
		if (!name_of(i, &name) || !surgent_node_names_has(&look->names, name, (uint32_t)i))
			return false;
	}
	return true;
}

static int note_names(surgent_look_t *look)
{
	const size_t count = (size_t)node_record_count;
	const char *name;

	surgent_node_names_free(&look->names);
	if (!surgent_node_names_init(&look->names, count))
		return SURGENT_SNAPSHOT_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_node_names(node_record_table_ptr + i, surgent_look_group(i, count));
		if (!name_of(i, &name))
			return SURGENT_SNAPSHOT_BAD_LAYOUT;
		if (!surgent_node_names_add(&look->names, name, (uint32_t)i))
			return SURGENT_SNAPSHOT_NO_MEMORY;
	}
	return SURGENT_SNAPSHOT_OK;
}

static void visit_node(surgent_look_t *look, const node_record_t *node, uint32_t index)
{
	surgent_node_view_t view;

	if (!surgent_fits(SURGENT_NODE, node) || node->magic != NODE_MAGIC) {
		look->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	view = surgent_view_node(node, index);
	if (!surgent_view_node_gres(node, &look->arena, &view)) {
		look->result = SURGENT_SNAPSHOT_NO_MEMORY;
		return;
	}
	if (surgent_has_misfit()) {
		look->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	look->sink->node(look->sink->context, &view);
	surgent_arena_reset(&look->arena);
}

static void walk_nodes(surgent_look_t *look)
{
	const size_t count = (size_t)node_record_count;

	for (size_t i = 0; i < count && look->result == SURGENT_SNAPSHOT_OK; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_nodes(node_record_table_ptr + i, surgent_look_group(i, count));
		/* A slot that a dynamic node left is empty. */
		if (node_record_table_ptr[i])
			visit_node(look, node_record_table_ptr[i], (uint32_t)i);
	}
}

/* --- all --- */

static bool loses_place(void)
{
	return SURGENT_REQUEUE_TAKES_PLACE && slurm_conf.priority_type && strstr(slurm_conf.priority_type, "basic");
}

/* What is done under the locks. Whether the look is over. */
static bool look_once(surgent_look_t *look)
{
	/* QOS records belong to the association manager, whose lock comes after slurmctld's. */
	assoc_mgr_lock_t qos_lock = { .qos = READ_LOCK };
	bool is_last;

	/* Slurm makes these early and fills them under its write locks; a slurmctld in standby has none. */
	if (!job_list || !node_record_table_ptr || node_record_count <= 0) {
		look->result = SURGENT_SNAPSHOT_NOT_READY;
		return true;
	}
	/* What a copied job holds is told by indexes. */
	if (look->hold == 1 || !indexes_are_the_same(look)) {
		surgent_look_forget_jobs(look);
		look->result = note_names(look);
		if (look->result != SURGENT_SNAPSHOT_OK)
			return true;
	}
	look->loses_place = loses_place();
	assoc_mgr_lock(&qos_lock);
	is_last = surgent_look_at_jobs(look);
	assoc_mgr_unlock(&qos_lock);
	if (is_last && look->result == SURGENT_SNAPSHOT_OK)
		walk_nodes(look);
	return is_last || look->result != SURGENT_SNAPSHOT_OK;
}

/* Until when this hold may last; without a limit where the look has been going on for long. */
static uint64_t hold_until_ns(const surgent_look_t *look, uint64_t begun_ns, uint64_t now_ns)
{
	const surgent_sink_t *sink = look->sink;

	if (look->hold >= sink->holds_max || now_ns - begun_ns >= sink->divide_for_ns)
		return UINT64_MAX;
	return now_ns + sink->hold_ns;
}

int surgent_snapshot(const surgent_sink_t *sink)
{
	const slurmctld_lock_t read_locks = {
		.conf = READ_LOCK,
		.job = READ_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
	};
	surgent_look_t look = { .sink = sink, .result = SURGENT_SNAPSHOT_OK, .now = time(NULL) };
	const uint64_t begun_ns = surgent_clock_ns();
	bool is_over = false;
	uint32_t nodes = 0, jobs = 0;

	/* Without the locks these may be out of date at once, which does no harm. */
	if (job_list && node_record_count > 0) {
		nodes = (uint32_t)node_record_count;
		jobs = (uint32_t)slurm_list_count(job_list);
	}
	sink->expect(sink->context, nodes, jobs);
	if (!surgent_job_copies_init(&look.copies, jobs))
		return SURGENT_SNAPSHOT_NO_MEMORY;

	while (!is_over) {
		const uint64_t asked_ns = surgent_clock_ns();
		uint64_t locked_ns, free_ns;

		look.hold++;
		lock_slurmctld(read_locks);
		locked_ns = surgent_clock_ns();
		look.until_ns = hold_until_ns(&look, begun_ns, locked_ns);
		is_over = look_once(&look);
		/* Who waits to write is given the locks before this thread can have them again. */
		unlock_slurmctld(read_locks);
		free_ns = surgent_clock_ns();
		sink->locked(sink->context, locked_ns - asked_ns, free_ns - locked_ns);
	}

	surgent_arena_free(&look.arena);
	surgent_node_names_free(&look.names);
	surgent_job_copies_free(&look.copies);
	return look.result;
}

void surgent_nudge(void)
{
	/*
	 * Wakes the scheduler's own thread; takes only a mutex of its own, in every release. Not the full queue: urgent
	 * jobs stand at its head, and a long queue would take seconds.
	 */
	schedule(false);
}
