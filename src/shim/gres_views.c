/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gres_views.h"

#include "fit.h"
#include "sentinels.h"

/* Slurm's list function knows only "go on" (0) and "stop" (negative). */
#define GO_ON 0

static size_t list_length(surgent_list_t list)
{
	return list ? (size_t)slurm_list_count(list) : 0;
}

static void walk(surgent_list_t list, ListForF visit, void *context)
{
	if (list)
		slurm_list_for_each_ro(list, visit, context);
}

/* --- what a node has --- */

typedef struct node_gres {
	surgent_gres_t *entries; /* NULL while counting */
	uint32_t count;
} node_gres_t;

static void add_node_entry(node_gres_t *has, const char *name, const char *type, uint64_t count)
{
	if (!count)
		return;
	if (has->entries)
		has->entries[has->count] = (surgent_gres_t){ .name = name, .type = type, .count = count };
	has->count++;
}

static int visit_node_gres(void *item, void *context)
{
	const gres_state_t *gres = item;
	const gres_node_state_t *node_gres = surgent_gres_counts(gres, SURGENT_NODE_GRES);
	uint64_t untyped;

	if (!node_gres)
		return GO_ON;
	untyped = surgent_amount(node_gres->gres_cnt_avail);
	for (uint16_t i = 0; i < node_gres->type_cnt && node_gres->type_cnt_avail && node_gres->type_name; i++) {
		const uint64_t typed = surgent_amount(node_gres->type_cnt_avail[i]);

		add_node_entry(context, gres->gres_name, node_gres->type_name[i], typed);
		untyped -= typed < untyped ? typed : untyped;
	}
	add_node_entry(context, gres->gres_name, NULL, untyped);
	return GO_ON;
}

bool surgent_view_node_gres(const node_record_t *node, surgent_arena_t *arena, surgent_node_view_t *view)
{
	node_gres_t has = { 0 };

	walk(node->gres_list, visit_node_gres, &has);
	if (!has.count)
		return true;
	has.entries = surgent_arena_alloc(arena, has.count, sizeof(*has.entries));
	if (!has.entries)
		return false;
	has.count = 0;
	walk(node->gres_list, visit_node_gres, &has);
	view->gres = has.entries;
	view->gres_count = has.count;
	return true;
}

/* --- what a job holds --- */

typedef struct held_gres {
	surgent_holding_t *holdings;
	uint32_t holding_count;
	surgent_gres_t *entries; /* `stride` for each holding */
	size_t stride;
} held_gres_t;

static int visit_held_gres(void *item, void *context)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job_gres = surgent_gres_counts(gres, SURGENT_JOB_GRES);
	held_gres_t *into = context;

	/* A gres that is not consumed has a node_cnt of 0 and is held by nobody. */
	if (!job_gres || !job_gres->gres_cnt_node_alloc)
		return GO_ON;
	for (uint32_t i = 0; i < into->holding_count && i < job_gres->node_cnt; i++) {
		surgent_holding_t *holding = &into->holdings[i];
		const uint64_t count = surgent_amount(job_gres->gres_cnt_node_alloc[i]);

		/* The list was counted before; its lock is not held between, the job lock is. */
		if (!count || holding->gres_count >= into->stride)
			continue;
		into->entries[i * into->stride + holding->gres_count++] = (surgent_gres_t){
			.name = gres->gres_name,
			.type = job_gres->type_name,
			.count = count,
		};
	}
	return GO_ON;
}

bool surgent_view_held_gres(const job_record_t *job, surgent_arena_t *arena, surgent_holding_t *holdings,
			    uint32_t holding_count)
{
	held_gres_t into = {
		.holdings = holdings,
		.holding_count = holding_count,
		.stride = list_length(job->gres_list_alloc),
	};

	if (!into.stride)
		return true;
	into.entries = surgent_arena_alloc(arena, holding_count * into.stride, sizeof(*into.entries));
	if (!into.entries)
		return false;
	for (uint32_t i = 0; i < holding_count; i++)
		holdings[i].gres = &into.entries[i * into.stride];
	walk(job->gres_list_alloc, visit_held_gres, &into);
	return true;
}

/* --- what a job asks for --- */

typedef struct requested_gres {
	surgent_gres_request_t *entries;
	size_t capacity;
	bool memory_set; /* the job says itself how much memory it wants */
	surgent_job_view_t *view;
} requested_gres_t;

/* --mem-per-gpu, or the partition's default for it. */
static uint64_t memory_each_mib(const gres_job_state_t *job_gres)
{
	return surgent_amount(job_gres->mem_per_gres ? job_gres->mem_per_gres : job_gres->def_mem_per_gres);
}

static int visit_requested_gres(void *item, void *context)
{
	const gres_state_t *gres = item;
	const gres_job_state_t *job_gres = surgent_gres_counts(gres, SURGENT_JOB_GRES);
	requested_gres_t *requested = context;
	surgent_job_view_t *view = requested->view;

	if (!job_gres || view->request_gres_count >= requested->capacity)
		return GO_ON;
	requested->entries[view->request_gres_count++] = (surgent_gres_request_t){
		.name = gres->gres_name,
		.type = job_gres->type_name,
		.per_node = surgent_amount(job_gres->gres_per_node),
		.per_job = surgent_amount(job_gres->gres_per_job),
		.per_task = surgent_amount(job_gres->gres_per_task),
		.per_socket = surgent_amount(job_gres->gres_per_socket),
		/* The same of CPUs. */
		.cpus_each = job_gres->cpus_per_gres ? job_gres->cpus_per_gres : job_gres->def_cpus_per_gres,
		.cpus_by_job = job_gres->cpus_per_gres != 0,
		.memory_each_mib = requested->memory_set ? 0 : memory_each_mib(job_gres),
	};
	return GO_ON;
}

bool surgent_view_requested_gres(const job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view)
{
	requested_gres_t requested = {
		.capacity = list_length(job->gres_list_req),
		.memory_set = (job->bit_flags & JOB_MEM_SET) != 0,
		.view = view,
	};

	if (!requested.capacity)
		return true;
	requested.entries = surgent_arena_alloc(arena, requested.capacity, sizeof(*requested.entries));
	if (!requested.entries)
		return false;
	view->request_gres = requested.entries;
	walk(job->gres_list_req, visit_requested_gres, &requested);
	return true;
}
