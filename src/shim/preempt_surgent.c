/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempt/surgent: answers Slurm's questions about preemption with the core's state, passes those that are not about an
 * urgent job to the base, and gives the core's planner its snapshot and its nudge.
 *
 * Slurm asks preempt_p_preemptable() of every job it knows for every job that waits, and the mode from many threads
 * at once: only numbers are passed on, and nothing here allocates, locks, logs or walks a list.
 */
#include "base.h"
#include "compat.h"
#include "control.h"
#include "fit.h"
#include "host.h"
#include "identity.h"
#include "snapshot.h"
#include "surgent.h"
#include "views.h"

SURGENT_IDENTITY("preempt/surgent", "Surgent: preemption by the state of training");

SURGENT_HOOK extern int init(void)
{
	const surgent_offers_t offers = {
		.snapshot = surgent_snapshot,
		.nudge = surgent_nudge,
		.use_base = surgent_use_base,
		.in_control_since = surgent_in_control_since,
	};

	surgent_base_init();
	return surgent_host_attach(SURGENT_SHIM_PREEMPT, offers);
}

SURGENT_HOOK extern void fini(void)
{
	surgent_detach(SURGENT_SHIM_PREEMPT);
	surgent_base_fini();
}

static bool is_urgent(const job_queue_rec_t *entry)
{
	return surgent_fits(SURGENT_QUEUE_ENTRY, entry) && surgent_fits(SURGENT_JOB, entry->job_ptr) &&
	       surgent_view_is_urgent(entry->job_ptr);
}

/*
 * The first key by which Slurm sorts the waiting jobs. "No" to both orders of a pair leaves it to the next keys, tier and
 * priority, by which an urgent job stands where it should.
 */
SURGENT_HOOK extern bool preempt_p_job_preempt_check(job_queue_rec_t *sooner, job_queue_rec_t *later)
{
	const surgent_base_t *base = surgent_base();

	if (!base || !base->job_preempt_check(sooner, later))
		return false;
	return !(is_urgent(sooner) || is_urgent(later)) || !surgent_acts();
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
	const surgent_base_t *base = surgent_base();

	if (!preemptee || !preemptor)
		return false;
	/* The base is Slurm's own, and reads what we cannot. */
	if (!surgent_fits(SURGENT_JOB, preemptor))
		return base && base->preemptable(preemptee, preemptor);
	if (surgent_view_is_urgent(preemptor)) {
		/* Wakes the planner as well. */
		if (ask_core(preemptee, preemptor))
			return true;
		return base && !surgent_acts() && base->preemptable(preemptee, preemptor);
	}
	/*
	 * Nearly every question ends here. Without a base one field of the preemptee is read, since the caches hold few of
	 * its record's lines. A preemption that has begun cannot be taken back, and must not look as if it were.
	 */
	if (!base)
		return preemptee->preempt_time != 0;
	return base->preemptable(preemptee, preemptor) && (!surgent_view_is_urgent(preemptee) || !surgent_acts());
}

static bool is_victim(const job_record_t *job)
{
	return surgent_fits(SURGENT_JOB, job) &&
	       surgent_preempt_mode(SURGENT_JOB_ID(job), job->start_time) == SURGENT_MODE_REQUEUE;
}

/* Slurm does not ask whether it may stop this job for the owner of a reservation, only how. */
static bool is_taken_anyway(const job_record_t *job)
{
	return SURGENT_BORROWERS_MAKE_WAY && surgent_fits(SURGENT_JOB, job) && (job->warn_flags & KILL_JOB_RESV);
}

/* 25.05 and later ask for each datum by its own function ... */
SURGENT_HOOK extern uint32_t preempt_p_get_grace_time(job_record_t *job)
{
	const surgent_base_t *base = surgent_base();

	/* A victim has saved already. */
	return job && base && !is_victim(job) ? surgent_base_grace_s(base, job) : 0;
}

SURGENT_HOOK extern uint16_t preempt_p_get_mode(job_record_t *job)
{
	const surgent_base_t *base = surgent_base();
	uint16_t mode;

	if (!job)
		return PREEMPT_MODE_OFF;
	if (is_victim(job))
		return PREEMPT_MODE_REQUEUE;
	if (base)
		mode = surgent_base_mode(base, job);
	else
		mode = is_taken_anyway(job) ? PREEMPT_MODE_REQUEUE : PREEMPT_MODE_OFF;
	/* Slurm kills a job whose preemption has begun and whose mode is then "off"; of one that cannot be read it may have. */
	return mode == PREEMPT_MODE_OFF && (!surgent_fits(SURGENT_JOB, job) || job->preempt_time) ? PREEMPT_MODE_REQUEUE : mode;
}

SURGENT_HOOK extern uint32_t preempt_p_get_prio(job_record_t *job)
{
	const surgent_base_t *base = surgent_base();

	if (!job)
		return 0;
	if (base)
		return surgent_base_prio(base, job);
	return surgent_fits(SURGENT_JOB, job) ? surgent_preempt_priority(SURGENT_JOB_ID(job), job->preempt_time) : 0;
}

#if SURGENT_PREEMPT_HAS_GET_DATA
/* ... and earlier ones by one function for all. For PREEMPT_DATA_ENABLED there is no job. */
SURGENT_HOOK extern int preempt_p_get_data(job_record_t *job, slurm_preempt_data_type_t data_type, void *data)
{
	const surgent_base_t *base = surgent_base();

	switch (data_type) {
	case PREEMPT_DATA_ENABLED:
		if (base)
			return base->get_data(job, data_type, data);
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
