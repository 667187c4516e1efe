/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A waiting job as its place in the queue depends on it. The strings stay Slurm's. */
#ifndef SURGENT_QUEUE_H
#define SURGENT_QUEUE_H

#include "compat.h"
#include "surgent.h"

surgent_queue_view_t surgent_view_queue(const job_record_t *job);

#endif
