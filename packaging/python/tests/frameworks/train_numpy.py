# SPDX-License-Identifier: GPL-2.0-or-later
"""A loop in NumPy that uses the module `surgent` and no callback."""

import json
import os
import sys

import numpy as np
import pace
from pace import BATCH_SIZE, BATCHES, EPOCHS

import surgent

MODEL = pace.in_folder("model.npz")

pace.say_versions(np)
rng = np.random.default_rng(1)
x, y = rng.normal(size=(BATCHES, BATCH_SIZE, 4)), rng.normal(size=(BATCHES, BATCH_SIZE))
weights, velocity, step = np.zeros(4), np.zeros(4), 0


def save() -> None:
    """Puts all that the training goes on from under its name, whole."""
    with open(MODEL + ".part", "wb") as file:
        generator = json.dumps(rng.bit_generator.state)
        np.savez(file, weights=weights, velocity=velocity, step=step, generator=generator)
        file.flush()
        os.fsync(file.fileno())
    os.replace(MODEL + ".part", MODEL)


if surgent.resuming() and os.path.exists(MODEL):
    with np.load(MODEL) as model:
        weights, velocity, step = model["weights"], model["velocity"], int(model["step"])
        rng.bit_generator.state = json.loads(str(model["generator"]))
pace.start(step)
for epoch in surgent.epochs(EPOCHS, start=step // BATCHES):
    for batch in range(step % BATCHES, BATCHES):
        noisy = x[batch] + rng.normal(0, 0.1, x[batch].shape)
        velocity = 0.9 * velocity - 0.01 * (noisy @ weights - y[batch]) @ noisy
        weights = weights + velocity
        step += 1
        pace.step(step)
        surgent.report(step=batch + 1, steps=BATCHES)
        if surgent.should_save():
            save()
            surgent.saved(MODEL)
            if pace.options.stop_after_save:
                sys.exit(75)
    pace.epoch_done(epoch + 1)
pace.end([weights])
