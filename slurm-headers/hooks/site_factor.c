/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only checked by the compiler: Slurm's own table of site_factor plugins' hooks, which is in no header, holds ours. */
#include "../../src/shim/site_factor_surgent.c"

#if SURGENT_SLURM_FROM(23, 2)
#include <src/interfaces/site_factor.c>
#else
#include <src/common/site_factor.c>
#endif

const slurm_ops_t surgent_hooks = {
#if SURGENT_SITE_FACTOR_HAS_RECONFIG
	site_factor_p_reconfig,
#endif
	site_factor_p_set,
	site_factor_p_update,
};
