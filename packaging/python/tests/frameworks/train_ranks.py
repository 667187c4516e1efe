# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processes that only torch.distributed knows to belong together; they have to save at the same step."""

import os
import time

import torch.distributed
import torch.multiprocessing
from pace import in_bench, tell

import surgent
import surgent.torch

RANKS = 2


def train(rank: int) -> None:
    """One of the processes."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{in_bench('meet')}", rank=rank, world_size=RANKS)
    if rank == 0:
        tell("start")
    for step in range(10_000):
        time.sleep(0.002 * (rank + 1))
        surgent.report(epoch=rank, step=step, steps=10_000)
        if surgent.should_save(all_ranks=surgent.torch.largest):
            tell(f"save in {step}")
            torch.distributed.barrier()
            surgent.saved()
            break
    else:
        tell("not asked")
    # One more step: whoever has saved together goes on together.
    assert not surgent.should_save(all_ranks=surgent.torch.largest)


if __name__ == "__main__":
    assert os.environ["SURGENT_REPORT"]
    torch.multiprocessing.spawn(train, nprocs=RANKS)
    tell("end")
