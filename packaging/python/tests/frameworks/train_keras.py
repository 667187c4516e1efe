# SPDX-License-Identifier: GPL-2.0-or-later
"""A small Keras model."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

from typing import Any

import keras
import numpy as np
from pace import BATCH_SIZE, BATCHES, EPOCHS, in_bench, step, tell

from surgent.keras import SurgentCallback


class Pace(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        step(self.epoch, batch)


def build() -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model


surgent_callback = SurgentCallback(in_bench("saves"))
model = surgent_callback.load() or build()
tell(f"start iterations={int(model.optimizer.iterations)}")
rng = np.random.default_rng(1)
x, y = rng.normal(size=(BATCHES * BATCH_SIZE, 4)), rng.normal(size=(BATCHES * BATCH_SIZE, 1))
model.fit(
    x,
    y,
    batch_size=BATCH_SIZE,
    epochs=EPOCHS,
    initial_epoch=surgent_callback.initial_epoch,
    callbacks=[Pace(), surgent_callback],
    verbose=0,
)
tell("end")
