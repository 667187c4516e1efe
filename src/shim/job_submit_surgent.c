/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job_submit/surgent: shows each submission and each change of a job to the core, and carries its answer back.
 *
 * Slurm calls these hooks while it holds its own locks (job_modify: the job write lock), so nothing here takes one.
 */
#include <errno.h>
#include <string.h>

#include "asked_text.h"
#include "compat.h"
#include "fit.h"
#include "host.h"
#include "identity.h"
#include "sentinels.h"
#include "surgent.h"
#include "urgency_option.h"
#include "views.h"

SURGENT_IDENTITY("job_submit/surgent", "Surgent: directives of training jobs and urgent jobs");

/* What the core's answer acts on. */
typedef struct target {
	job_desc_msg_t *desc;
	char **user_message; /* NULL where this release of Slurm shows the user none */
	uint32_t job_id;     /* 0 for a submission */
} target_t;

/* Slurm frees these strings with its own allocator, so they must come from it. */
static void replace_text(char **slot, const char *text)
{
	slurm_xfree((void **)slot);
	*slot = slurm_xstrdup(text);
}

/* For a record that is changed with others: as if what was written for the one before had never been. */
static void restore_asked(char **slot)
{
	const char *asked = surgent_asked_for(*slot);

	if (asked) {
		/* It is in the block that is freed. */
		char *copy = slurm_xstrdup(asked);

		slurm_xfree((void **)slot);
		*slot = copy;
	}
}

/* What the user cannot be shown, the administrator whom he asks can find. */
static void log_message(uint32_t job_id, const char *text)
{
	char *line = slurm_xstrdup_printf("%s (change of job %u)", text, job_id);

	surgent_host_log(SURGENT_LOG_INFO, line);
	slurm_xfree((void **)&line);
}

static void show_message(void *context, const char *text)
{
	const target_t *target = context;

	if (!text)
		return;
	if (!target->user_message) {
		log_message(target->job_id, text);
	} else if (*target->user_message && strstr(*target->user_message, text)) {
		/* Said of another component of the same heterogeneous job. */
	} else if (*target->user_message) {
		/* Another job_submit plugin spoke before; both are heard. */
		char *both = slurm_xstrdup_printf("%s\n%s", *target->user_message, text);

		slurm_xfree((void **)target->user_message);
		*target->user_message = both;
	} else {
		*target->user_message = slurm_xstrdup(text);
	}
}

static void set_admin_comment(void *context, const char *text)
{
	job_desc_msg_t *desc = ((target_t *)context)->desc;
	char *written = desc->admin_comment ? surgent_text_in_place_of(text, desc->admin_comment) : slurm_xstrdup(text);

	slurm_xfree((void **)&desc->admin_comment);
	desc->admin_comment = written;
}

static void set_comment(void *context, const char *text)
{
	replace_text(&((target_t *)context)->desc->comment, text);
}

static void set_priority(void *context, uint32_t priority)
{
	((target_t *)context)->desc->priority = priority;
}

static void set_requeue(void *context, bool requeue)
{
	((target_t *)context)->desc->requeue = requeue;
}

static surgent_answer_t answer_to(target_t *target)
{
	return (surgent_answer_t){
		.size = sizeof(surgent_answer_t),
		.context = target,
		.message = show_message,
		.set_admin_comment = set_admin_comment,
		.set_priority = set_priority,
		.set_requeue = set_requeue,
		.set_comment = set_comment,
	};
}

/* The partition lock is held: Slurm has it in both hooks. */
static const char *default_partition(void)
{
	return default_part_loc && surgent_fits(SURGENT_PARTITION, default_part_loc) ? default_part_loc->name : NULL;
}

static surgent_ask_view_t ask_of(const job_desc_msg_t *desc)
{
	return (surgent_ask_view_t){
		.size = sizeof(surgent_ask_view_t),
		.group_id = surgent_u32(desc->group_id),
		.min_nodes = surgent_u32_given(desc->min_nodes),
		.tasks = surgent_u32_given(desc->num_tasks),
		.tasks_per_node = surgent_u16_given(desc->ntasks_per_node),
		.cpus_per_task = surgent_u16_given(desc->cpus_per_task),
		.min_cpus = surgent_u32_given(desc->min_cpus),
		.time_limit_min = surgent_u32_given(desc->time_limit),
		.array_waiting = SURGENT_NONE32,
		.array_at_once = SURGENT_NONE32,
		.array = desc->array_inx,
		.account = desc->account,
		.qos = desc->qos,
		.partition = desc->partition,
		.default_partition = default_partition(),
		.tres_per_node = desc->tres_per_node,
		.tres_per_job = desc->tres_per_job,
		.tres_per_socket = desc->tres_per_socket,
		.tres_per_task = desc->tres_per_task,
	};
}

/* Its QOS record belongs to the association manager, whose lock is not held here. */
static surgent_ask_view_t ask_of_job(const job_record_t *job)
{
	const job_details_t *details = job->details;
	const job_array_struct_t *array = job->array_recs;
	surgent_ask_view_t ask = {
		.size = sizeof(surgent_ask_view_t),
		.group_id = job->group_id,
		.min_nodes = SURGENT_NONE32,
		.tasks = SURGENT_NONE32,
		.tasks_per_node = SURGENT_NONE32,
		.cpus_per_task = SURGENT_NONE32,
		.min_cpus = SURGENT_NONE32,
		.time_limit_min = surgent_u32(job->time_limit),
		.array_waiting = SURGENT_NONE32,
		.array_at_once = SURGENT_NONE32,
		.account = job->account,
		.partition = job->partition,
		.tres_per_node = job->tres_per_node,
		.tres_per_job = job->tres_per_job,
		.tres_per_socket = job->tres_per_socket,
		.tres_per_task = job->tres_per_task,
	};

	if (details) {
		ask.min_nodes = surgent_u32_given(details->min_nodes);
		ask.tasks = surgent_u32_given(details->num_tasks);
		ask.tasks_per_node = surgent_u16_given(details->ntasks_per_node);
		ask.cpus_per_task = surgent_u16_given(details->cpus_per_task);
		ask.min_cpus = surgent_u32_given(details->min_cpus);
	}
	if (array && array->task_cnt) {
		ask.array_waiting = array->task_cnt;
		ask.array_at_once = surgent_startable_tasks(job);
	}
	return ask;
}

static surgent_request_view_t request_of(const job_desc_msg_t *desc, uint32_t owner_id, uint32_t by_user_id,
					 const surgent_ask_view_t *ask)
{
	return (surgent_request_view_t){
		.size = sizeof(surgent_request_view_t),
		.flags = (desc->requeue == NO_VAL16 ? SURGENT_REQUEST_REQUEUE_UNSET : 0) |
			 (desc->priority == 0 ? SURGENT_REQUEST_HELD : 0) |
			 (desc->script ? SURGENT_REQUEST_BATCH : 0) |
			 (desc->het_job_offset != NO_VAL ? SURGENT_REQUEST_HET : 0) |
			 (desc->het_job_offset == 0 ? SURGENT_REQUEST_HET_FIRST : 0),
		.user_id = owner_id,
		.by_user_id = by_user_id,
		.comment = desc->comment,
		.admin_comment = desc->admin_comment,
		.ask = ask,
	};
}

/* The user's side makes this list, by spank_surgent.so or by hand. */
static void view_urgency_option(const job_desc_msg_t *desc, surgent_request_view_t *view)
{
	const char begin[] = SURGENT_URGENCY_ENTRY "=";

	for (uint32_t at = 0; desc->spank_job_env && at < desc->spank_job_env_size; at++) {
		const char *entry = desc->spank_job_env[at];

		if (!entry || strncmp(entry, begin, sizeof(begin) - 1))
			continue;
		entry += sizeof(begin) - 1;
		if (!view->urgency_option)
			view->urgency_option = entry;
		else if (strcmp(view->urgency_option, entry))
			view->urgency_option_other = entry;
	}
}

/* EINVAL: the commands do not try again on it, and its text is true of a refused directive. */
static int slurm_result(int verdict)
{
	return verdict == SURGENT_REFUSE ? EINVAL : SLURM_SUCCESS;
}

/* Whether jobs are described as the headers say, since init(). */
static bool can_read;

SURGENT_HOOK extern int init(void)
{
	const int result = surgent_host_attach(SURGENT_SHIM_JOB_SUBMIT, (surgent_offers_t){ 0 });

	can_read = result == SLURM_SUCCESS && surgent_descriptions_fit();
	return result;
}

SURGENT_HOOK extern void fini(void)
{
	surgent_detach(SURGENT_SHIM_JOB_SUBMIT);
}

SURGENT_HOOK extern int job_submit(job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
	target_t target = { .desc = desc, .user_message = err_msg };
	const surgent_answer_t answer = answer_to(&target);
	surgent_ask_view_t ask;
	surgent_request_view_t request;

	if (!can_read)
		return SLURM_SUCCESS;
	ask = ask_of(desc);
	request = request_of(desc, desc->user_id, submit_uid, &ask);
	view_urgency_option(desc, &request);
	return slurm_result(surgent_job_submit(&request, &answer));
}

static int modify(job_desc_msg_t *desc, const job_record_t *job, uint32_t submit_uid, char **err_msg)
{
	target_t target = { .desc = desc, .user_message = err_msg, .job_id = SURGENT_JOB_ID(job) };
	const surgent_answer_t answer = answer_to(&target);
	const surgent_ask_view_t asked = ask_of(desc);
	const surgent_ask_view_t ask = ask_of_job(job);
	const surgent_request_view_t change = request_of(desc, job->user_id, submit_uid, &asked);
	const surgent_subject_view_t subject = {
		.size = sizeof(subject),
		.job_id = SURGENT_JOB_ID(job),
		.state = surgent_view_state(job),
		.user_id = job->user_id,
		.comment = job->comment,
		.admin_comment = job->admin_comment,
		.ask = &ask,
	};

	return slurm_result(surgent_job_modify(&change, &subject, &answer));
}

static int modify_if_readable(job_desc_msg_t *desc, const job_record_t *job, uint32_t submit_uid, char **err_msg)
{
	if (!can_read || !surgent_job_fits(job))
		return SLURM_SUCCESS;
	restore_asked(&desc->admin_comment);
	return modify(desc, job, submit_uid, err_msg);
}

#if SURGENT_MODIFY_HAS_MESSAGE
SURGENT_HOOK extern int job_modify(job_desc_msg_t *desc, job_record_t *job, uint32_t submit_uid, char **err_msg)
{
	return modify_if_readable(desc, job, submit_uid, err_msg);
}
#else
SURGENT_HOOK extern int job_modify(job_desc_msg_t *desc, job_record_t *job, uint32_t submit_uid)
{
	return modify_if_readable(desc, job, submit_uid, NULL);
}
#endif
