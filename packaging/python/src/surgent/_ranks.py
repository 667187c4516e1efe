# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of a training's processes this is."""

import sys
from typing import Mapping, Optional

# The launcher closest to the program knows best: under torchrun in srun, SLURM_PROCID is the same for a node's ranks.
# torchrun's own RANK is too common a name to count without WORLD_SIZE.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", None),
    ("PMIX_RANK", None),
    ("PMI_RANK", None),
    ("SLURM_PROCID", None),
)


def is_first(environ: Mapping[str, str]) -> bool:
    """Whether this process speaks for all: the first one, or the only one."""
    rank = _rank_of_torch()
    if rank is None:
        rank = _rank_of_launcher(environ)
    return rank == 0


def _rank_of_torch() -> Optional[int]:
    """The rank of processes that have found each other by other means than their environment."""
    # Only looked at, never imported: a training that uses it has it.
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank())
    except (AttributeError, RuntimeError, ValueError):
        # Half imported by another thread, or being shut down.
        pass
    return None


def _rank_of_launcher(environ: Mapping[str, str]) -> int:
    for name, companion in _VARIABLES:
        value = environ.get(name, "")
        if value.isdigit() and (companion is None or companion in environ):
            rank = int(value)
            # Lightning starts further processes on its node itself, and tells them no more than this.
            if rank == 0 and name == "SLURM_PROCID":
                return _local_rank(environ)
            return rank
    return _local_rank(environ)


def _local_rank(environ: Mapping[str, str]) -> int:
    value = environ.get("LOCAL_RANK", "")
    return int(value) if value.isdigit() else 0
