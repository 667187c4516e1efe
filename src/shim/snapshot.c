/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "arena.h"
#include "compat.h"
#include "fetch_ahead.h"
#include "fit.h"
#include "gres_views.h"
#include "job_parts.h"
#include "request.h"
#include "views.h"

typedef struct walk {
	const surgent_sink_t *sink;
	surgent_arena_t arena; /* emptied after each record */
	int result;            /* SURGENT_SNAPSHOT_* */
	time_t now;
	bool loses_place; /* a job that is requeued */
	surgent_node_names_t names;
	job_record_t **jobs; /* all of them, in the order of Slurm's list */
	size_t job_count;
	size_t job_capacity;
} walk_t;

/* Slurm's list function goes on with the next. */
#define GO_ON 0

/* How many of `count` entries the group that begins at `first` has. */
static size_t group_from(size_t first, size_t count)
{
	return count - first < SURGENT_FETCH_GROUP ? count - first : SURGENT_FETCH_GROUP;
}

/* --- nodes --- */

static void visit_node(walk_t *walk, const node_record_t *node, uint32_t index)
{
	surgent_node_view_t view;

	if (!surgent_fits(SURGENT_NODE, node) || node->magic != NODE_MAGIC) {
		walk->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	view = surgent_view_node(node, index);
	if (!surgent_view_node_gres(node, &walk->arena, &view)) {
		walk->result = SURGENT_SNAPSHOT_NO_MEMORY;
		return;
	}
	if (surgent_has_misfit()) {
		walk->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	walk->sink->node(walk->sink->context, &view);
	surgent_node_names_add(&walk->names, node->name, index);
	surgent_arena_reset(&walk->arena);
}

static void walk_nodes(walk_t *walk)
{
	const size_t count = (size_t)node_record_count;

	if (!surgent_node_names_init(&walk->names, count)) {
		walk->result = SURGENT_SNAPSHOT_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < count && walk->result == SURGENT_SNAPSHOT_OK; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_nodes(node_record_table_ptr + i, group_from(i, count));
		/* A slot that a dynamic node left is empty. */
		if (node_record_table_ptr[i])
			visit_node(walk, node_record_table_ptr[i], (uint32_t)i);
	}
}

/* --- jobs --- */

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
		return (job->job_state & JOB_COMPLETING) || surgent_view_is_urgent(job);
	}
}

/* Slurm's own rules about who is not preempted, beside what the plugin says. */
static bool is_exempt(job_record_t *job, time_t now)
{
#if SURGENT_HAS_PREEMPT_PARAMETERS
	static const char key[] = "min_exempt_priority=";
	const char *limit = slurm_conf.preempt_params ? strcasestr(slurm_conf.preempt_params, key) : NULL;

	if (limit && strtoul(limit + sizeof(key) - 1, NULL, 10) < job->priority)
		return true;
#endif
	return now < acct_policy_get_preemptable_time(job);
}

static bool loses_place(void)
{
	return SURGENT_REQUEUE_TAKES_PLACE && slurm_conf.priority_type && strstr(slurm_conf.priority_type, "basic");
}

static bool view_parts(walk_t *walk, job_record_t *job, surgent_job_view_t *view)
{
	const surgent_sink_t *sink = walk->sink;

	if (view->state == SURGENT_STATE_ENDED)
		return true;
	surgent_view_job_names(job, view);
	view->qos = job->qos_ptr && surgent_fits(SURGENT_QOS, job->qos_ptr) ? job->qos_ptr->name : NULL;
	if (view->state == SURGENT_STATE_PENDING)
		return !sink->wants_request(sink->context, view) || surgent_view_request(job, &walk->arena, view);
	if (is_exempt(job, walk->now))
		view->flags |= SURGENT_JOB_EXEMPT;
	if (walk->loses_place)
		view->flags |= SURGENT_JOB_LOSES_PLACE;
	return surgent_view_holdings(job, &walk->names, &walk->arena, view);
}

static void visit_job(walk_t *walk, job_record_t *job)
{
	surgent_job_view_t view;

	if (!surgent_job_fits(job)) {
		walk->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	if (!matters(job, surgent_view_state(job)))
		return;
	view = surgent_view_job(job);
	if (!view_parts(walk, job, &view)) {
		walk->result = SURGENT_SNAPSHOT_NO_MEMORY;
		return;
	}
	if (surgent_has_misfit()) {
		walk->result = SURGENT_SNAPSHOT_BAD_LAYOUT;
		return;
	}
	walk->sink->job(walk->sink->context, &view);
	surgent_arena_reset(&walk->arena);
}

static int note_job(void *item, void *context)
{
	walk_t *walk = context;

	if (walk->job_count < walk->job_capacity)
		walk->jobs[walk->job_count++] = item;
	return GO_ON;
}

static void walk_jobs(walk_t *walk)
{
	/* Nobody adds to the list or takes from it without the job lock. */
	walk->job_capacity = (size_t)slurm_list_count(job_list);
	walk->jobs = malloc((walk->job_capacity + 1) * sizeof(*walk->jobs));
	if (!walk->jobs) {
		walk->result = SURGENT_SNAPSHOT_NO_MEMORY;
		return;
	}
	slurm_list_for_each_ro(job_list, note_job, walk);
	for (size_t i = 0; i < walk->job_count && walk->result == SURGENT_SNAPSHOT_OK; i++) {
		if (i % SURGENT_FETCH_GROUP == 0)
			surgent_fetch_jobs(walk->jobs + i, group_from(i, walk->job_count), &walk->names);
		visit_job(walk, walk->jobs[i]);
	}
}

static void walk_all(walk_t *walk)
{
	/* QOS records belong to the association manager, whose lock comes after slurmctld's. */
	assoc_mgr_lock_t qos_lock = { .qos = READ_LOCK };

	/* Slurm makes these early and fills them under its write locks; a slurmctld in standby has none. */
	if (!job_list || !node_record_table_ptr || node_record_count <= 0) {
		walk->result = SURGENT_SNAPSHOT_NOT_READY;
		return;
	}
	walk_nodes(walk);
	if (walk->result != SURGENT_SNAPSHOT_OK)
		return;
	walk->loses_place = loses_place();
	assoc_mgr_lock(&qos_lock);
	walk_jobs(walk);
	assoc_mgr_unlock(&qos_lock);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	/* With a pointer to a clock that every kernel has, it cannot fail. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A core that is older than this shim lacks the later functions. */
#define SINK_HAS(sink, function)                                                                               \
	((sink)->size >= offsetof(surgent_sink_t, function) + sizeof((sink)->function) && (sink)->function)

int surgent_snapshot(const surgent_sink_t *sink)
{
	const slurmctld_lock_t read_locks = {
		.conf = READ_LOCK,
		.job = READ_LOCK,
		.node = READ_LOCK,
		.part = READ_LOCK,
	};
	walk_t walk = { .sink = sink, .result = SURGENT_SNAPSHOT_OK, .now = time(NULL) };
	uint64_t asked_ns, locked_ns, free_ns;

	/* Without the locks these may be out of date at once, which does no harm. */
	if (SINK_HAS(sink, expect) && job_list && node_record_count > 0)
		sink->expect(sink->context, (uint32_t)node_record_count, (uint32_t)slurm_list_count(job_list));

	asked_ns = clock_ns();
	lock_slurmctld(read_locks);
	locked_ns = clock_ns();
	walk_all(&walk);
	unlock_slurmctld(read_locks);
	free_ns = clock_ns();

	surgent_arena_free(&walk.arena);
	surgent_node_names_free(&walk.names);
	free(walk.jobs);
	if (SINK_HAS(sink, locked))
		sink->locked(sink->context, locked_ns - asked_ns, free_ns - locked_ns);
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
