/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt/surgent: answers Slurm's questions about preemption with the core's state, and gives the core's
 * planner its snapshot and its nudge.
 *
 * Slurm asks preempt_p_preemptable() of every job it knows for every job that waits, and the mode from many threads
 * at once: only numbers are passed on, and nothing here allocates, locks, logs or walks a list.
 */
#include "compat.h"
#include "fit.h"
#include "host.h"
#include "identity.h"
#include "snapshot.h"
#include "surgent.h"
#include "views.h"

SURGENT_IDENTITY("preempt/surgent", "Surgent: preemption by the state of training");

SURGENT_HOOK extern int init(void)
{
	const surgent_offers_t offers = { .snapshot = surgent_snapshot, .nudge = surgent_nudge };

	return surgent_host_attach(SURGENT_SHIM_PREEMPT, offers);
}

SURGENT_HOOK extern void fini(void)
{
	surgent_detach(SURGENT_SHIM_PREEMPT);
}

/*
 * The first key by which Slurm sorts the waiting jobs. "No" leaves its own order (priority) alone; anything else
 * would have to be a strict weak order, or the sort breaks.
 */
SURGENT_HOOK extern bool preempt_p_job_preempt_check(job_queue_rec_t *preemptor, job_queue_rec_t *preemptee)
{
	(void)preemptor;
	(void)preemptee;
	return false;
}

/* By itself, so that what it puts on the stack is not put there by each call of the hook. */
static __attribute__((noinline)) bool ask_core(const job_record_t *preemptee, const job_record_t *preemptor)
{
	const uint32_t state = surgent_view_state(preemptee);
	surgent_pair_view_t pair;

	if (state != SURGENT_STATE_RUNNING && state != SURGENT_STATE_SUSPENDED)
		return false;
	if (!surgent_job_fits(preemptee))
		return false;

	pair = (surgent_pair_view_t){
		.size = sizeof(pair),
		.preemptee_id = SURGENT_JOB_ID(preemptee),
		.preemptor_id = SURGENT_JOB_ID(preemptor),
		.preemptee_flags = surgent_view_restart_flags(preemptee),
		.preemptee_state = state,
		.preemptee_start_time = preemptee->start_time,
		.preemptee_preempt_time = preemptee->preempt_time,
		.preemptor_admin_comment = preemptor->admin_comment,
	};
	return surgent_preemptable(&pair);
}

SURGENT_HOOK extern bool preempt_p_preemptable(job_record_t *preemptee, job_record_t *preemptor)
{
	if (!preemptee || !preemptor || !surgent_fits(SURGENT_JOB, preemptor))
		return false;
	/*
	 * Nearly every question ends here. One field of the preemptee is read, since the caches hold few of its record's
	 * lines, and the core has nothing to say.
	 */
	if (!preemptee->preempt_time && !surgent_view_is_urgent(preemptor))
		return false;
	return ask_core(preemptee, preemptor);
}

/* 25.05 and later ask for each datum by its own function ... */
SURGENT_HOOK extern uint32_t preempt_p_get_grace_time(job_record_t *job)
{
	return job && surgent_fits(SURGENT_JOB, job) ? surgent_preempt_grace_s(SURGENT_JOB_ID(job)) : 0;
}

SURGENT_HOOK extern uint16_t preempt_p_get_mode(job_record_t *job)
{
	/* Nobody is preempted then; and one whose preemption had begun before would be killed with any other answer. */
	if (job && !surgent_fits(SURGENT_JOB, job))
		return PREEMPT_MODE_REQUEUE;
	if (job && surgent_preempt_mode(SURGENT_JOB_ID(job), job->start_time, job->preempt_time) ==
			   SURGENT_MODE_REQUEUE)
		return PREEMPT_MODE_REQUEUE;
	return PREEMPT_MODE_OFF;
}

SURGENT_HOOK extern uint32_t preempt_p_get_prio(job_record_t *job)
{
	return job && surgent_fits(SURGENT_JOB, job) ? surgent_preempt_priority(SURGENT_JOB_ID(job), job->preempt_time) : 0;
}

#if SURGENT_PREEMPT_HAS_GET_DATA
/* ... and earlier ones by one function for all. For PREEMPT_DATA_ENABLED there is no job. */
SURGENT_HOOK extern int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t data_type, void *data)
{
	switch (data_type) {
	case PREEMPT_DATA_ENABLED:
		*(bool *)data = !surgent_has_misfit() && slurm_conf.preempt_mode != PREEMPT_MODE_OFF;
		return SLURM_SUCCESS;
	case PREEMPT_DATA_MODE:
		*(uint16_t *)data = preempt_p_get_mode(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_PRIO:
		*(uint32_t *)data = preempt_p_get_prio(job);
		return SLURM_SUCCESS;
	case PREEMPT_DATA_GRACE_TIME:
		*(uint32_t *)data = preempt_p_get_grace_time(job);
		return SLURM_SUCCESS;
	default:
		return SLURM_ERROR;
	}
}
#endif
