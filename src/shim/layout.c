/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sizes that the C compiler gives the structs of surgent.h; a Rust test holds bindgen's against them. */
#include "surgent.h"

#include <stddef.h>

#define SIZES(X)                                                                                                    \
	X(gres) X(node_view) X(holding) X(gres_request) X(choice) X(job_view) X(sink) X(host) X(answer) X(ask_view)           \
		X(request_view) X(subject_view) X(pair_view) X(queue_view)

#define DECLARE(name) size_t surgent_layout_##name(void);
#define DEFINE(name)                                                                                                \
	size_t surgent_layout_##name(void)                                                                          \
	{                                                                                                           \
		return sizeof(surgent_##name##_t);                                                                  \
	}

SIZES(DECLARE)
SIZES(DEFINE)
