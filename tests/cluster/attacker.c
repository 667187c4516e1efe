/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user can send slurmctld who does not use Slurm's own commands, as slurmrestd or any program can: raw fields.
 *
 *   attacker submit FIELD=TEXT...     prints the job's number; else what slurmctld said, and fails
 *   attacker update JOB FIELD=TEXT... the same for a change
 *   attacker report JOB COUNT         so many changes of the comment, one after the other
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

static void set(job_desc_msg_t *job, char *assignment)
{
	char *text = strchr(assignment, '=');

	if (!text)
		exit(2);
	*text++ = '\0';
	if (!strcmp(assignment, "comment"))
		job->comment = text;
	else if (!strcmp(assignment, "admin_comment"))
		job->admin_comment = text;
	else if (!strcmp(assignment, "priority"))
		job->priority = (uint32_t)strtoul(text, NULL, 10);
	else if (!strcmp(assignment, "site_factor"))
		job->site_factor = (uint32_t)strtoul(text, NULL, 10);
	else if (!strcmp(assignment, "user_id"))
		job->user_id = (uint32_t)strtoul(text, NULL, 10);
	else if (!strcmp(assignment, "array"))
		job->array_inx = text;
	else if (!strcmp(assignment, "spank")) {
		static char *variables[1];

		variables[0] = text;
		job->spank_job_env = variables;
		job->spank_job_env_size = 1;
	} else
		exit(2);
}

static int say(int code)
{
	if (code != SLURM_SUCCESS)
		fprintf(stderr, "%s\n", slurm_strerror(errno));
	return code != SLURM_SUCCESS;
}

/* The first that went wrong: of an array each task has an answer of its own. */
static int update(job_desc_msg_t *job)
{
	job_array_resp_msg_t *answers = NULL;
	int code = slurm_update_job2(job, &answers);

	if (code == SLURM_SUCCESS && answers)
		for (uint32_t i = 0; i < answers->job_array_count; i++)
			if (answers->error_code[i]) {
				errno = (int)answers->error_code[i];
				code = SLURM_ERROR;
			}
	if (answers)
		slurm_free_job_array_resp(answers);
	return say(code);
}

static int submit(job_desc_msg_t *job)
{
	static char *environment[] = { "PATH=/usr/bin:/bin" };
	submit_response_msg_t *answer = NULL;
	int failed;

	job->script = "#!/bin/sh\nsleep 1000\n";
	job->work_dir = "/tmp";
	job->std_out = "/dev/null";
	job->environment = environment;
	job->env_size = 1;
	job->min_nodes = 1;
	failed = say(slurm_submit_batch_job(job, &answer));
	if (answer && answer->job_submit_user_msg)
		fprintf(stderr, "%s\n", answer->job_submit_user_msg);
	if (!failed)
		printf("%u\n", answer->job_id);
	return failed;
}

static int report(char *number, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		job_desc_msg_t job;
		char comment[128];

		slurm_init_job_desc_msg(&job);
		job.job_id_str = number;
		job.comment = comment;
		snprintf(comment, sizeof(comment), "signal=USR1@batch epochs=1000000000 epoch=%lu.5 epoch_s=1 at=1", i);
		if (update(&job))
			return 1;
	}
	return 0;
}

int main(int count, char **arguments)
{
	job_desc_msg_t job;
	int next = 2;

	if (count < 2)
		return 2;
	slurm_init(NULL);
	slurm_init_job_desc_msg(&job);
	if (!strcmp(arguments[1], "report") && count == 4)
		return report(arguments[2], strtoul(arguments[3], NULL, 10));
	if (!strcmp(arguments[1], "update") && count > 2)
		job.job_id_str = arguments[next++];
	while (next < count)
		set(&job, arguments[next++]);
	return job.job_id_str ? update(&job) : submit(&job);
}
