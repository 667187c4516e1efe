/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which nodes advance reservations leave to a job. */
#ifndef SURGENT_RESERVATIONS_H
#define SURGENT_RESERVATIONS_H

#include "compat.h"

#include <stdbool.h>
#include <time.h>

/* Its time limit, or that of the partition; a year where there is none. */
time_t surgent_job_duration_s(const job_record_t *job, const part_record_t *part);

/* Whether the job asks for a reservation, or makes way for one: else its time limit alone tells which are in its way. */
bool surgent_has_say_in_reservations(const job_record_t *job);

/*
 * Clears in `usable`, which has one entry for each slot of the node table, every node that the job may not use if it
 * starts now in `part`: outside of its own reservation, or in somebody else's before the job's time limit is over.
 */
void surgent_apply_reservations(const job_record_t *job, const part_record_t *part, bool *usable);

#endif
