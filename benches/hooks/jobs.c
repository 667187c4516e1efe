/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs.h"

enum { QOS_RUNNING = 3, QOS_PREEMPTED = 4, QOS_WAITING = 5, QOS_COUNT = 8 };

job_record_t *running[JOBS];

static slurmdb_qos_rec_t *make_qos(uint32_t id)
{
	slurmdb_qos_rec_t *qos = xmalloc(sizeof(*qos));

	qos->id = id;
	qos->preempt_bitstr = bit_alloc(QOS_COUNT);
	bit_set(qos->preempt_bitstr, QOS_PREEMPTED);
	return qos;
}

static part_record_t *make_partition(uint16_t priority_tier)
{
	part_record_t *part = xmalloc(sizeof(*part));

	part->magic = PART_MAGIC;
	part->priority_tier = priority_tier;
	part->preempt_mode = PREEMPT_MODE_REQUEUE;
	return part;
}

/* With what slurmctld allocates between one record and the next, in part, so that they lie as far apart as there. */
static job_record_t *make_job(uint32_t job_id, uint32_t state, const char *admin_comment)
{
	job_record_t *job = xmalloc(sizeof(*job));

	job->details = xmalloc(sizeof(*job->details));
	job->magic = JOB_MAGIC;
	job->details->magic = DETAILS_MAGIC;
	SURGENT_JOB_ID(job) = job_id;
	job->job_state = state;
	job->name = xstrdup("train");
	job->account = xstrdup("vision");
	job->partition = xstrdup("gpu");
	job->comment = xstrdup("epochs=90 epoch=12.25 epoch_s=318 at=1764410000 save=step signal=URG@full");
	job->admin_comment = xstrdup(admin_comment);
	job->batch_flag = 1;
	job->details->requeue = 1;
	return job;
}

void make_running_jobs(void)
{
	slurmdb_qos_rec_t *qos = make_qos(QOS_RUNNING);
	part_record_t *part = make_partition(1);

	for (uint32_t at = 0; at < JOBS; at++) {
		job_record_t *job = make_job(FIRST_JOB_ID + at, JOB_RUNNING, "surgent{class=normal first=1764400000}");

		job->start_time = START_TIME;
		job->qos_ptr = qos;
		job->part_ptr = part;
		running[at] = job;
	}
}

job_record_t *make_waiting_job(uint32_t job_id, const char *admin_comment)
{
	job_record_t *job = make_job(job_id, JOB_PENDING, admin_comment);

	job->qos_ptr = make_qos(QOS_WAITING);
	job->part_ptr = make_partition(2);
	return job;
}
