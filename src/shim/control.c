/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "control.h"

#include <time.h>

#include "compat.h"

/* When this slurmctld took control; in no header, of none of the releases. */
extern time_t control_time;

int64_t surgent_in_control_since(void)
{
	/*
	 * Slurm starts the thread that saves its state when all of that has been read, and ends it before it gives control
	 * back. A slurmctld that stands by once more keeps its jobs as they were then.
	 */
	if (!slurmctld_config.thread_id_save)
		return 0;
	/* From 23.11 on it is 0 where a reconfiguration has failed and slurmctld goes on as before. */
	return control_time ? (int64_t)control_time : 1;
}
