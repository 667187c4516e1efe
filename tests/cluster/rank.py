# SPDX-License-Identifier: GPL-2.0-or-later
"""rank.py NAME signal|module [held]: one process of a training, which saves when it gets SIGUSR1 or by the module `surgent`.

Each has its model in NAME.RANK.model; the first says that they have saved once all of them have. What happens is
told in NAME.story. A first run that is held does not end before it is stopped.
"""

import os
import signal
import sys
import time

import surgent

STEPS = 40

name, by, *held = sys.argv[1:]
rank = int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))
ranks = int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_STEP_NUM_TASKS", "1")))
run = os.environ["SURGENT_RESTART_COUNT"]
asked = []


def model(of_rank):
    return f"{name}.{of_rank}.model"


def tell(what):
    with open(f"{name}.story", "a") as story:
        story.write(f"{run} {rank} {what}\n")


def is_asked():
    return surgent.should_save() if by == "module" else asked


def save():
    asked.clear()
    with open(model(rank) + ".part", "w") as file:
        file.write(str(step))
    os.replace(model(rank) + ".part", model(rank))
    while rank == 0 and not all(os.path.exists(model(other)) for other in range(ranks)):
        time.sleep(0.01)
    tell("saved")
    surgent.saved(model(rank))


if by == "signal":
    signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
step = 0
if surgent.resuming():
    with open(model(rank)) as file:
        step = int(file.read())
tell(f"started at {step} of {ranks} ranks")
while step < STEPS:
    time.sleep(0.1)
    if not (held and run == "0" and step == STEPS // 2):
        step += 1
    surgent.report(epoch=0, epochs=1, step=step, steps=STEPS)
    if is_asked():
        save()
surgent.report(epoch=1, epochs=1)
tell("ended")
