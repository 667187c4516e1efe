/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "request.h"

#include "bits.h"
#include "fit.h"
#include "gres_views.h"
#include "reservations.h"
#include "sentinels.h"
#include "views.h"

#define GO_ON 0
#define STOP (-1)

/* --- memory, CPUs, tasks --- */

static void view_memory_request(const job_details_t *details, surgent_job_view_t *view)
{
	const uint64_t memory = details->pn_min_memory;

	view->request_memory_mib = memory == NO_VAL64 ? 0 : memory & ~MEM_PER_CPU;
	if (memory != NO_VAL64 && (memory & MEM_PER_CPU))
		view->flags |= SURGENT_JOB_MEM_PER_CPU;
	/* 0 stands for all memory of the node (--mem=0, or nothing said and no default), if memory is shared out at all. */
	if (!view->request_memory_mib && (slurm_conf.select_type_param & SURGENT_SELECT_MEMORY))
		view->flags |= SURGENT_JOB_ALL_MEMORY;
}

/* --hint=nomultithread, --threads-per-core, --ntasks-per-core. */
static uint32_t usable_cpus_per_core(const job_details_t *details)
{
	const multi_core_data_t *mc = details->mc_ptr;
	uint32_t usable = SURGENT_NONE32;

	if (!mc)
		return usable;
	if (mc->ntasks_per_core && mc->ntasks_per_core != INFINITE16 && mc->ntasks_per_core != NO_VAL16)
		usable = mc->ntasks_per_core * (details->cpus_per_task ? details->cpus_per_task : 1);
	if (mc->threads_per_core != NO_VAL16 && mc->threads_per_core < usable)
		usable = mc->threads_per_core;
	return usable;
}

static void view_numbers(const job_details_t *details, surgent_job_view_t *view)
{
	view->request_min_nodes = details->min_nodes;
	view->request_max_nodes = surgent_u32_given(details->max_nodes);
	view->request_min_cpus = details->min_cpus;
	view->request_tasks = surgent_u32_given(details->num_tasks);
	view->request_tasks_per_node = surgent_u16_given(details->ntasks_per_node);
	view->request_cpus_per_task = surgent_u16_given(details->cpus_per_task);
	view->request_cpus_per_node = details->pn_min_cpus == NO_VAL ? 0 : details->pn_min_cpus;
	view->request_cpus_per_core = usable_cpus_per_core(details);
	view->request_sockets = details->mc_ptr ? surgent_u16_given(details->mc_ptr->sockets_per_node) : SURGENT_NONE32;
	view->expands_job_id = details->expanding_jobid;
}

/* --- where --- */

typedef struct places {
	const job_record_t *job;
	surgent_arena_t *arena;
	surgent_known_nodes_t *known;
	surgent_choice_t *choices;
	uint32_t capacity;
	uint32_t count;
	bool no_memory;
} places_t;

/* Slurm's rule for the kind of node that a job is given in a partition. */
static uint32_t choice_flags(const job_record_t *job, const part_record_t *part)
{
	const bool forced = (part->max_share & SHARED_FORCE) != 0;
	const bool wanted = part->max_share > 1 && job->details->share_res == 1;
	uint32_t flags = 0;

	if (part->max_share == 0)
		flags |= SURGENT_CHOICE_WHOLE_NODE;
	else if (forced || wanted)
		flags |= SURGENT_CHOICE_SHARED;
	if (part->flags & PART_FLAG_EXCLUSIVE_USER)
		flags |= SURGENT_CHOICE_USER_NODE;
	return flags;
}

/* The nodes of the partition that the job may use; false when memory is out. */
static bool find_nodes(places_t *places, surgent_nodes_t *found)
{
	const part_record_t *part = found->part;
	const job_details_t *details = places->job->details;
	bitstr_t *excluded = details->exc_node_bitmap;
	bool *usable = surgent_arena_alloc(places->arena, (size_t)node_record_count, sizeof(*usable));
	uint32_t *nodes = surgent_arena_alloc(places->arena, (size_t)node_record_count, sizeof(*nodes));

	if (!usable || !nodes)
		return false;
	if (part->node_bitmap) {
		SURGENT_FOR_BITS(inx, part->node_bitmap) {
			usable[inx] = !excluded || !slurm_bit_test(excluded, inx);
		}
	}
	surgent_apply_reservations(places->job, part, usable);
	for (int i = 0; i < node_record_count; i++) {
		if (usable[i])
			nodes[found->count++] = (uint32_t)i;
	}
	found->nodes = nodes;
	return true;
}

static bool list_nodes(places_t *places, const part_record_t *part, surgent_choice_t *choice)
{
	const job_record_t *job = places->job;
	const job_details_t *details = job->details;
	const bool is_like_others = !details->exc_node_bitmap && !surgent_has_say_in_reservations(job);
	surgent_nodes_t found = { .part = part, .duration_s = surgent_job_duration_s(job, part) };
	const surgent_nodes_t *nodes = NULL;

	if (is_like_others)
		nodes = surgent_known_nodes_find(places->known, part, found.duration_s);
	if (!nodes) {
		if (!find_nodes(places, &found))
			return false;
		if (is_like_others)
			surgent_known_nodes_add(places->known, &found);
		nodes = &found;
	}
	choice->nodes = nodes->nodes;
	choice->node_count = nodes->count;
	return true;
}

static int visit_partition(void *item, void *context)
{
	const part_record_t *part = item;
	places_t *places = context;
	surgent_choice_t *choice;

	if (places->count >= places->capacity || !surgent_fits(SURGENT_PARTITION, part) || part->magic != PART_MAGIC)
		return GO_ON;
	choice = &places->choices[places->count];
	*choice = (surgent_choice_t){
		.partition = part->name,
		.min_nodes = part->min_nodes,
		.max_nodes = surgent_u32(part->max_nodes),
		.flags = choice_flags(places->job, part),
		.jobs_per_cpu = part->max_share & ~SHARED_FORCE,
	};
	if (!list_nodes(places, part, choice)) {
		places->no_memory = true;
		return STOP;
	}
	places->count++;
	return GO_ON;
}

static bool view_choices(const job_record_t *job, surgent_arena_t *arena, surgent_known_nodes_t *known,
			 surgent_job_view_t *view)
{
	places_t places = { .job = job, .arena = arena, .known = known };

	places.capacity = job->part_ptr_list ? (uint32_t)slurm_list_count(job->part_ptr_list) : 1;
	places.choices = surgent_arena_alloc(arena, places.capacity ? places.capacity : 1, sizeof(*places.choices));
	if (!places.choices)
		return false;
	if (job->part_ptr_list)
		slurm_list_for_each_ro(job->part_ptr_list, visit_partition, &places);
	else
		(void)visit_partition(job->part_ptr, &places);
	view->choices = places.choices;
	view->choice_count = places.count;
	return !places.no_memory;
}

static bool view_required(bitstr_t *map, surgent_arena_t *arena, surgent_job_view_t *view)
{
	uint32_t *numbers;
	size_t capacity = map ? (size_t)slurm_bit_set_count(map) : 0;

	if (!capacity)
		return true;
	numbers = surgent_arena_alloc(arena, capacity, sizeof(*numbers));
	if (!numbers)
		return false;
	SURGENT_FOR_BITS(inx, map) {
		numbers[view->required_count++] = (uint32_t)inx;
	}
	view->required = numbers;
	return true;
}

bool surgent_view_request(const job_record_t *job, surgent_arena_t *arena, surgent_known_nodes_t *known,
			  surgent_job_view_t *view)
{
	const job_details_t *details = job->details;

	view->array_tasks = surgent_startable_tasks(job);
	view->array_waiting = job->array_recs && job->array_recs->task_cnt ? job->array_recs->task_cnt : 1;
	/* Its partition was deleted: there is no node that it may use. */
	if (!job->part_ptr)
		view->hindrance = SURGENT_HINDRANCE_PARTITION;
	if (!details || !job->part_ptr)
		return true;

	view_numbers(details, view);
	view_memory_request(details, view);
	view->request_features = details->features;
	view->request_licenses = job->licenses;
	return surgent_view_requested_gres(job, arena, view) && view_choices(job, arena, known, view) &&
	       view_required(details->req_node_bitmap, arena, view);
}
