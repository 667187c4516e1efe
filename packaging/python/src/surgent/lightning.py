# SPDX-License-Identifier: GPL-2.0-or-later
"""For Lightning, as ``lightning`` or as ``pytorch_lightning``.

::

    from surgent.lightning import SurgentCallback

    surgent_callback = SurgentCallback("run/surgent.ckpt")
    trainer = Trainer(max_epochs=90, callbacks=[surgent_callback])
    trainer.fit(model, data, ckpt_path=surgent_callback.ckpt_path)
"""

import importlib
import math
import os
import sys
from typing import Any, Dict, Optional, Union

import surgent

from . import torch as surgent_torch
from ._replace import found, part_of, replace

__all__ = ["SurgentCallback"]

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _base() -> Any:
    """The class of callbacks of the Lightning that the program uses; of both where it has loaded both."""
    loaded = [sys.modules[name] for name in _PACKAGES if name in sys.modules]
    if loaded:
        return type("Callback", tuple(package.Callback for package in loaded), {})
    try:
        return importlib.import_module(_PACKAGES[0]).Callback
    except ImportError:
        return importlib.import_module(_PACKAGES[1]).Callback


_Callback: Any = _base()


class SurgentCallback(_Callback):
    """Reports progress, and saves a checkpoint to ``path`` at the step's end when that is asked for.

    ``path`` has to be on a file system that all nodes share. From Lightning 2.5.1 on a training goes on with the very
    step behind its save; older ones do the step of the save once more. Which batch that step gets is up to the loader:
    an ordinary ``DataLoader`` begins the epoch's data anew, one that keeps its place, such as torchdata's
    ``StatefulDataLoader``, goes on with the next. After the save the training goes on, or ends with
    ``stop_after_save``; what the script does behind ``fit()`` is then done too.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], stop_after_save: bool = False) -> None:
        super().__init__()
        self._path = os.path.abspath(os.fspath(path))
        self._stop_after_save = stop_after_save

    @property
    def ckpt_path(self) -> Optional[str]:
        """The checkpoint to go on from, if this job ran before and has saved: for ``fit(ckpt_path=…)``."""
        return self._path if surgent.resuming() and found(self._path) else None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Reports where the training begins."""
        surgent.report(epoch=trainer.current_epoch, **_epochs(trainer))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, *_: Any
    ) -> None:
        """Saves where Surgent asks for it."""
        batches = trainer.num_training_batches
        steps = batches if math.isfinite(batches) else None
        surgent.report(epoch=trainer.current_epoch, step=batch_idx + 1, steps=steps, **_epochs(trainer))
        if (batch_idx + 1) % trainer.accumulate_grad_batches != 0 and not trainer.is_last_batch:
            # Gradients that are still being added up are in no checkpoint.
            return
        if surgent.should_save(all_ranks=surgent_torch.largest):
            self._save(trainer)
            if self._stop_after_save:
                trainer.should_stop = True

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports an epoch, unless it was left before its end."""
        if trainer.is_last_batch:
            surgent.report(epoch=trainer.current_epoch + 1, **_epochs(trainer))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports the end of a training that has ``max_steps``, which may lie within an epoch."""
        if 0 < trainer.max_steps <= trainer.global_step:
            epochs = max(1, trainer.current_epoch)
            surgent.report(epoch=epochs, epochs=epochs)

    def _save(self, trainer: Any) -> None:
        part = part_of(self._path)
        # All processes together: some strategies write a part from each.
        trainer.save_checkpoint(part)
        if trainer.is_global_zero:
            replace(part, self._path)
        trainer.strategy.barrier("surgent")
        surgent.saved(self._path)


def _epochs(trainer: Any) -> Dict[str, int]:
    """Epochs in all, where the training has an end."""
    epochs = trainer.max_epochs
    return {"epochs": epochs} if epochs is not None and epochs > 0 else {}
