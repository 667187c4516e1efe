/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job_parts.h"

#include "bits.h"
#include "gres_views.h"
#include "sentinels.h"

bool surgent_view_holdings(const job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view)
{
	const job_resources_t *held = job->job_resrcs;
	surgent_holding_t *holdings;
	uint32_t count = 0;

	if (!held || !held->node_bitmap || !held->nhosts)
		return true;
	holdings = surgent_arena_alloc(arena, held->nhosts, sizeof(*holdings));
	if (!holdings)
		return false;
	/* The arrays of job_resources have one entry for each set bit, in order. */
	SURGENT_FOR_BITS(node, held->node_bitmap) {
		if (count >= held->nhosts)
			break;
		holdings[count] = (surgent_holding_t){
			.node_index = (uint32_t)node,
			.cpus = held->cpus ? held->cpus[count] : 0,
			.memory_mib = held->memory_allocated ? surgent_amount(held->memory_allocated[count]) : 0,
		};
		count++;
	}
	view->holdings = holdings;
	view->holding_count = count;
	return surgent_view_held_gres(job, arena, holdings, count);
}

/* Puts the numbers of the bits in `map` that are not in `except` into `*list`. */
static bool list_bits(surgent_arena_t *arena, bitstr_t *map, bitstr_t *except, const uint32_t **list, uint32_t *count)
{
	uint32_t *numbers;
	size_t capacity;

	if (!map)
		return true;
	capacity = (size_t)slurm_bit_set_count(map);
	if (!capacity)
		return true;
	numbers = surgent_arena_alloc(arena, capacity, sizeof(*numbers));
	if (!numbers)
		return false;
	SURGENT_FOR_BITS(bit, map) {
		if (!except || !slurm_bit_test(except, bit))
			numbers[(*count)++] = (uint32_t)bit;
	}
	*list = numbers;
	return true;
}

static void view_memory_request(uint64_t pn_min_memory, surgent_job_view_t *view)
{
	view->request_memory_mib = pn_min_memory == NO_VAL64 ? 0 : pn_min_memory & ~MEM_PER_CPU;
	if (pn_min_memory != NO_VAL64 && (pn_min_memory & MEM_PER_CPU))
		view->flags |= SURGENT_JOB_MEM_PER_CPU;
	/* 0 stands for all memory of the node (--mem=0, or nothing said and no default), if memory is shared out at all. */
	if (!view->request_memory_mib && (slurm_conf.select_type_param & SURGENT_SELECT_MEMORY))
		view->flags |= SURGENT_JOB_ALL_MEMORY;
}

bool surgent_view_request(const job_record_t *job, surgent_arena_t *arena, surgent_job_view_t *view)
{
	const job_details_t *details = job->details;

	/* Its partition was deleted: there is no node that it may use. */
	if (!job->part_ptr)
		view->flags |= SURGENT_JOB_BLOCKED;
	if (!details || !job->part_ptr)
		return true;

	view->request_min_nodes = details->min_nodes;
	view->request_max_nodes = surgent_u32_given(details->max_nodes);
	view->request_min_cpus = details->min_cpus;
	view->request_tasks = surgent_u32_given(details->num_tasks);
	view->request_tasks_per_node = surgent_u16_given(details->ntasks_per_node);
	view->request_cpus_per_task = surgent_u16_given(details->cpus_per_task);
	view->request_cpus_per_node = details->pn_min_cpus == NO_VAL ? 0 : details->pn_min_cpus;
	view_memory_request(details->pn_min_memory, view);
	view->request_features = details->features;
	view->request_licenses = job->licenses;
	return surgent_view_requested_gres(job, arena, view) &&
	       list_bits(arena, job->part_ptr->node_bitmap, details->exc_node_bitmap, &view->candidates,
			 &view->candidate_count) &&
	       list_bits(arena, details->req_node_bitmap, NULL, &view->required, &view->required_count);
}
