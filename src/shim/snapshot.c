/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include "arena.h"
#include "compat.h"
#include "gres_views.h"
#include "job_parts.h"
#include "request.h"
#include "views.h"

typedef struct walk {
	const surgent_sink_t *sink;
	surgent_arena_t arena;
	int result; /* SURGENT_SNAPSHOT_* */
} walk_t;

/* What Slurm's list function wants to hear. */
#define GO_ON 0
#define STOP (-1)

static int fail(walk_t *walk, int result)
{
	walk->result = result;
	return STOP;
}

/* --- nodes --- */

static int visit_node(walk_t *walk, const node_record_t *node, uint32_t index)
{
	surgent_node_view_t view;

	if (node->magic != NODE_MAGIC)
		return fail(walk, SURGENT_SNAPSHOT_BAD_LAYOUT);
	view = surgent_view_node(node, index);
	if (!surgent_view_node_gres(node, &walk->arena, &view))
		return fail(walk, SURGENT_SNAPSHOT_NO_MEMORY);
	walk->sink->node(walk->sink->context, &view);
	surgent_arena_reset(&walk->arena);
	return GO_ON;
}

static void walk_nodes(walk_t *walk)
{
	for (int i = 0; i < node_record_count; i++) {
		/* A slot that a dynamic node left is empty. */
		if (node_record_table_ptr[i] && visit_node(walk, node_record_table_ptr[i], (uint32_t)i) == STOP)
			return;
	}
}

/* --- jobs --- */

static bool layout_fits(const job_record_t *job)
{
	return job->magic == JOB_MAGIC && (!job->details || job->details->magic == DETAILS_MAGIC) &&
	       (!job->part_ptr || job->part_ptr->magic == PART_MAGIC);
}

static bool has_text(const char *text)
{
	return text && text[0];
}

static bool matters(const job_record_t *job, uint32_t state)
{
	switch (state) {
	case SURGENT_STATE_RUNNING:
	case SURGENT_STATE_SUSPENDED:
		return true;
	case SURGENT_STATE_PENDING:
		return (job->job_state & JOB_COMPLETING) || has_text(job->comment) || has_text(job->admin_comment);
	default:
		return (job->job_state & JOB_COMPLETING) != 0;
	}
}

/* The QOS record belongs to the association manager, whose lock comes after slurmctld's. */
static bool view_qos(const job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view)
{
	assoc_mgr_lock_t lock = { .qos = READ_LOCK };
	bool has_name;

	if (!job->qos_ptr)
		return true;
	assoc_mgr_lock(&lock);
	has_name = job->qos_ptr->name != NULL;
	view->qos = surgent_arena_text(arena, job->qos_ptr->name);
	assoc_mgr_unlock(&lock);
	return view->qos || !has_name;
}

/* Slurm's own rules about who is not preempted, beside what the plugin says. */
static bool is_exempt(job_record_t *job)
{
#if SURGENT_HAS_PREEMPT_PARAMETERS
	static const char key[] = "min_exempt_priority=";
	const char *limit = slurm_conf.preempt_params ? strcasestr(slurm_conf.preempt_params, key) : NULL;

	if (limit && strtoul(limit + sizeof(key) - 1, NULL, 10) < job->priority)
		return true;
#endif
	/* Takes the association manager's lock itself, as it does when Slurm asks it from within the same locks. */
	return acct_policy_is_job_preempt_exempt(job);
}

static bool view_parts(const surgent_sink_t *sink, job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view)
{
	if (view->state == SURGENT_STATE_ENDED)
		return true;
	surgent_view_job_names(job, view);
	if (!view_qos(job, arena, view))
		return false;
	if (view->state == SURGENT_STATE_PENDING)
		return !sink->wants_request(sink->context, view) || surgent_view_request(job, arena, view);
	if (is_exempt(job))
		view->flags |= SURGENT_JOB_EXEMPT;
	return surgent_view_holdings(job, arena, view);
}

static int visit_job(void *item, void *context)
{
	job_record_t *job = item;
	walk_t *walk = context;
	surgent_job_view_t view;

	if (!layout_fits(job))
		return fail(walk, SURGENT_SNAPSHOT_BAD_LAYOUT);
	if (!matters(job, surgent_view_state(job)))
		return GO_ON;
	view = surgent_view_job(job);
	if (!view_parts(walk->sink, job, &walk->arena, &view))
		return fail(walk, SURGENT_SNAPSHOT_NO_MEMORY);
	walk->sink->job(walk->sink->context, &view);
	surgent_arena_reset(&walk->arena);
	return GO_ON;
}

static void walk_all(walk_t *walk)
{
	/* Slurm makes these early and fills them under its write locks; a slurmctld in standby has none. */
	if (!job_list || !node_record_table_ptr || node_record_count <= 0) {
		walk->result = SURGENT_SNAPSHOT_NOT_READY;
		return;
	}
	walk_nodes(walk);
	if (walk->result == SURGENT_SNAPSHOT_OK)
		slurm_list_for_each_ro(job_list, visit_job, walk);
}

int surgent_snapshot(const surgent_sink_t *sink)
{
	const slurmctld_lock_t read_locks = {
		.conf = READ_LOCK,
		.job = READ_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
	};
	walk_t walk = { .sink = sink, .result = SURGENT_SNAPSHOT_OK };

	lock_slurmctld(read_locks);
	walk_all(&walk);
	unlock_slurmctld(read_locks);

	surgent_arena_free(&walk.arena);
	return walk.result;
}

void surgent_nudge(void)
{
	/*
	 * Wakes the scheduler's own thread; takes only a mutex of its own, in every release. Not the full queue: urgent
	 * jobs stand at its head, and a long queue would take seconds.
	 */
	schedule(false);
}
