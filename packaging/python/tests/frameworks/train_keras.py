# SPDX-License-Identifier: GPL-2.0-or-later
"""A small Keras model."""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")

import importlib
from typing import Any

import keras
import numpy as np
import pace
from pace import BATCH_SIZE, BATCHES, EPOCHS

from surgent.keras import SurgentCallback


class Pace(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        pace.step(self.epoch * BATCHES + batch + 1)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if not self.model.stop_training:
            pace.epoch_done(epoch + 1)


def build() -> Any:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    return model


pace.say_versions(keras, importlib.import_module(keras.backend.backend()))
surgent_callback = SurgentCallback(pace.in_folder("saves"), stop_after_save=pace.options.stop_after_save)
model = surgent_callback.load() or build()
pace.start(int(model.optimizer.iterations))
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
pace.end(model.get_weights())
