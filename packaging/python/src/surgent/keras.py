# SPDX-License-Identifier: GPL-2.0-or-later
"""For Keras 3 and tf.keras.

::

    from surgent.keras import SurgentCallback

    surgent_callback = SurgentCallback("saves")
    model = surgent_callback.load() or build_and_compile()
    model.fit(data, epochs=90, initial_epoch=surgent_callback.initial_epoch, callbacks=[surgent_callback])
"""

import importlib
import os
import re
import sys
from typing import Any, Callable, List, Optional, Tuple, Union

import surgent

from ._replace import part_of

__all__ = ["SurgentCallback"]

Path = Union[str, "os.PathLike[str]"]


def _keras() -> Any:
    """The Keras that the program uses."""
    # TensorFlow's own copy of Keras 2 has another class of callbacks; who uses it has loaded it.
    for name in ("tf_keras", "keras"):
        if name in sys.modules:
            return sys.modules[name]
    try:
        return importlib.import_module("keras")
    except ImportError:
        return importlib.import_module("tensorflow").keras


_Callback: Any = _keras().callbacks.Callback


class SurgentCallback(_Callback):
    """Reports progress, and saves the model when that is asked for.

    ``save`` is a folder in which the model is kept whole, with its optimizer, or a function that saves the model it is
    called with and returns where, or ``None``. The save is made at the step's end; a training goes on from it with the
    beginning of that epoch. After the save the training goes on too, or ends with ``stop_after_save``; what the script
    does behind ``fit()`` is then done as well. A training with several processes gives a function that saves in each of
    them, and ``all_ranks`` as for :func:`surgent.should_save`.
    """

    def __init__(
        self,
        save: Union[Path, Callable[[Any], Optional[Path]]],
        stop_after_save: bool = False,
        all_ranks: Optional[Callable[[int], int]] = None,
    ) -> None:
        super().__init__()
        self._save: Callable[[Any], Optional[Path]]
        self._folder: Optional[str] = None
        if callable(save):
            self._save = save
        else:
            self._folder = os.path.abspath(os.fspath(save))
            self._save = self._save_in_folder
        self._stop_after_save = stop_after_save
        self._all_ranks = all_ranks
        self._epoch = 0
        self._batches_done = 0
        self._is_stopped = False

    def load(self) -> Any:
        """The model that an earlier run of this job saved in the folder, or ``None``."""
        newest = self._newest() if surgent.resuming() else None
        return None if newest is None else _keras().models.load_model(newest[1])

    @property
    def initial_epoch(self) -> int:
        """The epoch to go on with, 0 without a save: for ``fit(initial_epoch=…)``."""
        newest = self._newest() if surgent.resuming() else None
        return 0 if newest is None else newest[0]

    def on_train_begin(self, logs: Any = None) -> None:
        """Nothing of an earlier ``fit`` counts."""
        self._is_stopped = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Reports where the training begins, or goes on."""
        self._epoch, self._batches_done = epoch, 0
        surgent.report(epoch=epoch, epochs=self.params["epochs"])

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Saves where Surgent asks for it."""
        self._batches_done = batch + 1
        surgent.report(
            epoch=self._epoch, epochs=self.params["epochs"], step=self._batches_done, steps=self.params.get("steps")
        )
        if surgent.should_save(self._all_ranks):
            surgent.saved(self._save(self.model))
            if self._stop_after_save:
                self._is_stopped = True
                self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Reports an epoch, unless it was left before its end."""
        steps = self.params.get("steps")
        if not self._is_stopped and (steps is None or self._batches_done >= steps):
            self._epoch, self._batches_done = epoch + 1, 0
            surgent.report(epoch=epoch + 1, epochs=self.params["epochs"])

    def _save_in_folder(self, model: Any) -> str:
        folder = str(self._folder)
        os.makedirs(folder, exist_ok=True)
        # The epoch is in the name, so that it and the model appear together.
        path = os.path.join(folder, f"epoch-{self._epoch}.keras")
        part = part_of(path)
        model.save(part)
        os.replace(part, path)
        for _, older in self._saves():
            if older != path:
                os.remove(older)
        return path

    def _newest(self) -> Optional[Tuple[int, str]]:
        return max(self._saves(), default=None)

    def _saves(self) -> List[Tuple[int, str]]:
        """The complete saves in the folder, each with its epoch."""
        if self._folder is None or not os.path.isdir(self._folder):
            return []
        matches = (re.fullmatch(r"epoch-(\d+)\.keras", name) for name in os.listdir(self._folder))
        return [(int(match[1]), os.path.join(self._folder, match[0])) for match in matches if match]
