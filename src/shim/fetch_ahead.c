/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fetch_ahead.h"

#include "fit.h"
#include "views.h"

#define LINE_BYTES 64

static inline void fetch(const void *memory, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += LINE_BYTES)
		__builtin_prefetch((const char *)memory + at);
}

#define FETCH_FIELD(record, field) __builtin_prefetch(&(record)->field)

/* Gives the first of a list of generic resources; nearly all lists have one. */
static void *fetch_first(surgent_list_t list)
{
	gres_state_t *gres = list && surgent_is_known(SURGENT_GRES) ? slurm_list_peek(list) : NULL;

	if (gres)
		FETCH_FIELD(gres, gres_data);
	return gres;
}

/* --- jobs --- */

/* What the record points to. */
static void fetch_parts(const job_record_t *job)
{
	const job_details_t *details = job->details;

	FETCH_FIELD(details, magic);
	FETCH_FIELD(details, requeue);
	FETCH_FIELD(details, whole_node);
	fetch(job->job_resrcs, sizeof(*job->job_resrcs));
	fetch(job->comment, 2 * LINE_BYTES);
	fetch(job->admin_comment, LINE_BYTES);
	fetch(job->gres_list_alloc, 2 * LINE_BYTES);
}

/* And what that points to. Gives the first generic resource that the job holds. */
static void *fetch_arrays(const job_record_t *job)
{
	const job_resources_t *held = job->job_resrcs;

	if (held && surgent_is_known(SURGENT_RESOURCES)) {
		fetch(held->node_bitmap, LINE_BYTES);
		fetch(held->core_bitmap, LINE_BYTES);
		fetch(held->memory_allocated, LINE_BYTES);
		fetch(held->nodes, 1);
	}
	return fetch_first(job->gres_list_alloc);
}

static void fetch_bit(const job_resources_t *held, const surgent_node_names_t *names)
{
	if (held && surgent_is_known(SURGENT_RESOURCES) && held->node_bitmap && held->nhosts == 1 && held->nodes)
		surgent_node_names_fetch(names, held->nodes, held->node_bitmap);
}

static void fetch_gres_arrays(const gres_state_t *gres)
{
	const gres_job_state_t *job_gres = gres->gres_data;

	if (job_gres && surgent_is_known(SURGENT_JOB_GRES)) {
		fetch(job_gres->type_name, 1);
		fetch(job_gres->gres_cnt_node_alloc, LINE_BYTES);
	}
}

/* The lines of the record that surgent_stamp() and the question whether a job matters read. */
static void fetch_stamp(const job_record_t *job)
{
	FETCH_FIELD(job, magic);
	FETCH_FIELD(job, admin_comment);
	__builtin_prefetch(&SURGENT_JOB_ID(job));
	FETCH_FIELD(job, job_resrcs);
	FETCH_FIELD(job, job_state);
	FETCH_FIELD(job, preempt_time);
	FETCH_FIELD(job, priority);
	FETCH_FIELD(job, restart_cnt);
	FETCH_FIELD(job, start_time);
}

void surgent_fetch_stamps(job_record_t **jobs, size_t count)
{
	if (!surgent_is_known(SURGENT_JOB))
		return;
	for (size_t i = 0; i < count; i++)
		fetch_stamp(jobs[i]);
	for (size_t i = 0; i < count; i++) {
		const job_record_t *job = jobs[i];

		/* Whoever reads it next says that it is none. */
		if (job->magic != JOB_MAGIC)
			return;
		if (surgent_view_holds(job))
			FETCH_FIELD(job->job_resrcs, nhosts);
		else
			FETCH_FIELD(job, comment);
	}
}

void surgent_fetch_jobs(job_record_t **jobs, size_t count, const surgent_node_names_t *names)
{
	gres_state_t *gres[SURGENT_FETCH_GROUP];

	/* The first of all is read as it comes. */
	if (!surgent_is_known(SURGENT_JOB))
		return;
	for (size_t i = 0; i < count; i++)
		fetch(jobs[i], sizeof(*jobs[i]));
	/* Whoever reads it next says that it is none. */
	for (size_t i = 0; i < count; i++) {
		if (jobs[i]->magic != JOB_MAGIC)
			return;
	}
	for (size_t i = 0; i < count; i++)
		fetch_parts(jobs[i]);
	for (size_t i = 0; i < count; i++)
		gres[i] = fetch_arrays(jobs[i]);
	for (size_t i = 0; i < count; i++) {
		if (gres[i]) {
			fetch(gres[i]->gres_name, 1);
			fetch(gres[i]->gres_data, sizeof(gres_job_state_t));
		}
		fetch_bit(jobs[i]->job_resrcs, names);
	}
	for (size_t i = 0; i < count; i++) {
		if (gres[i])
			fetch_gres_arrays(gres[i]);
	}
}

/* --- nodes --- */

static void fetch_node_gres(const gres_state_t *gres)
{
	const gres_node_state_t *node_gres = gres->gres_data;

	if (node_gres && surgent_is_known(SURGENT_NODE_GRES) && node_gres->type_cnt) {
		fetch(node_gres->type_cnt_avail, 1);
		fetch(node_gres->type_name, 1);
	}
}

void surgent_fetch_node_names(node_record_t **nodes, size_t count)
{
	if (!surgent_is_known(SURGENT_NODE))
		return;
	for (size_t i = 0; i < count; i++) {
		if (nodes[i]) {
			FETCH_FIELD(nodes[i], magic);
			FETCH_FIELD(nodes[i], name);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] && nodes[i]->magic == NODE_MAGIC)
			fetch(nodes[i]->name, 1);
	}
}

void surgent_fetch_nodes(node_record_t **nodes, size_t count)
{
	gres_state_t *gres[SURGENT_FETCH_GROUP];

	if (!surgent_is_known(SURGENT_NODE))
		return;
	for (size_t i = 0; i < count; i++)
		fetch(nodes[i], sizeof(*nodes[i]));
	/* Whoever reads it next says that it is none. */
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] && nodes[i]->magic != NODE_MAGIC)
			return;
	}
	for (size_t i = 0; i < count; i++) {
		const node_record_t *node = nodes[i];

		if (node) {
			fetch(node->name, 1);
			fetch(node->features_act, 1);
			fetch(node->gres_list, 2 * LINE_BYTES);
		}
	}
	for (size_t i = 0; i < count; i++)
		gres[i] = nodes[i] ? fetch_first(nodes[i]->gres_list) : NULL;
	for (size_t i = 0; i < count; i++) {
		if (gres[i]) {
			fetch(gres[i]->gres_name, 1);
			fetch(gres[i]->gres_data, sizeof(gres_node_state_t));
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (gres[i])
			fetch_node_gres(gres[i]);
	}
}
