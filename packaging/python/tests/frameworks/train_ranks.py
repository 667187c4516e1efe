# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes under torchrun that train one model, each with data of its own, and have to save after the same step."""

import os
import sys

import pace
import torch
import torch.distributed as dist
from pace import BATCH_SIZE, BATCHES, EPOCHS

import surgent
import surgent.torch

dist.init_process_group("gloo")
rank = dist.get_rank()
MODEL = pace.in_folder(f"model-{rank}.pt")
torch.manual_seed(rank)
x, y = torch.randn(BATCHES, BATCH_SIZE, 4), torch.randn(BATCHES, BATCH_SIZE)
weights, step = torch.zeros(4), 0

if surgent.resuming() and os.path.exists(MODEL):
    step, weights = torch.load(MODEL)
assert surgent.torch.largest(step) == step, f"rank {rank} has saved after step {step}, and another later"
if rank == 0:
    pace.say_versions(torch)
    pace.start(step)
for epoch in surgent.epochs(EPOCHS, start=step // BATCHES):
    for batch in range(step % BATCHES, BATCHES):
        gradient = (x[batch] @ weights - y[batch]) @ x[batch]
        dist.all_reduce(gradient)
        weights -= 0.001 * gradient
        step += 1
        if rank == 0:
            pace.step(step)
        surgent.report(step=batch + 1, steps=BATCHES)
        if surgent.should_save(all_ranks=surgent.torch.largest):
            torch.save((step, weights), MODEL + ".part")
            os.replace(MODEL + ".part", MODEL)
            dist.barrier()
            surgent.saved(MODEL)
            if pace.options.stop_after_save:
                sys.exit(75)
    if rank == 0:
        pace.epoch_done(epoch + 1)
if rank == 0:
    pace.end([weights.numpy()])
dist.destroy_process_group()
