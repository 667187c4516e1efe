/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spank/surgent: gives sbatch, srun and salloc the option --urgency. slurmctld is told of it by Slurm itself, in the
 * job's spank_job_env (see job_submit_surgent.c), and decides. Runs in the commands, in slurmd and in slurmstepd, so it
 * needs neither the core nor Slurm's private headers, and fits all patch levels of a release.
 */
#include <stdlib.h>
#include <strings.h>

#include "slurm/spank.h"
#include "urgency_option.h"

#define VISIBLE __attribute__((visibility("default")))

VISIBLE extern const char plugin_name[];
VISIBLE extern const char plugin_type[];
VISIBLE extern const unsigned int plugin_version;
VISIBLE extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(surgent, 1)

/* Not 0: Slurm's commands then refuse the value, and end. */
static int check_value(int option, const char *value, int remote)
{
	(void)option;
	if (!strcasecmp(value, "urgent") || !strcasecmp(value, "normal"))
		return 0;
	/* On the node of the job nobody reads it; slurmctld has judged the value before. */
	if (!remote)
		slurm_error("surgent: --urgency=%.60s is not known; write --urgency=urgent or --urgency=normal", value);
	return -1;
}

VISIBLE int slurm_spank_init(spank_t spank, int count, char *arguments[])
{
	struct spank_option urgency = {
		.name = SURGENT_URGENCY_OPTION,
		.arginfo = "urgent|normal",
		.usage = "urgent: start at once, training jobs save and make way if need be; normal: wait in the queue (default)",
		.has_arg = 1,
		.cb = check_value,
	};

	(void)count;
	(void)arguments;
	/* Slurm hands a job's options on in its environment. A job that this job submits is to ask for itself. */
	if (getenv("SLURM_JOB_ID"))
		unsetenv("SLURM_SPANK_" SURGENT_URGENCY_ENTRY);
	return spank_option_register(spank, &urgency) == ESPANK_SUCCESS ? 0 : -1;
}
