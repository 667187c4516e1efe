# SPDX-License-Identifier: GPL-2.0-or-later
"""One answer for all processes of ``torch.distributed``: ``surgent.should_save(all_ranks=surgent.torch.largest)``."""

import torch
import torch.distributed


def largest(number: int) -> int:
    """The largest of the numbers with which all processes call this; ``number`` where there is only one process."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return number
    if torch.distributed.get_world_size() == 1:
        return number
    # NCCL moves only what is on a GPU.
    device = torch.device("cuda" if torch.distributed.get_backend() == "nccl" else "cpu")
    value = torch.tensor(number, dtype=torch.int64, device=device)
    torch.distributed.all_reduce(value, op=torch.distributed.ReduceOp.MAX)
    return int(value.item())
