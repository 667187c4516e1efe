# SPDX-License-Identifier: GPL-2.0-or-later
"""For the Trainer of Hugging Face Transformers.

::

    from surgent.transformers import SurgentCallback, last_checkpoint

    trainer = Trainer(model, args, train_dataset=data, callbacks=[SurgentCallback()])
    trainer.train(resume_from_checkpoint=last_checkpoint(args.output_dir))
"""

import math
import os
import re
from typing import Any, Optional

from transformers import TrainerCallback

import surgent

from . import torch as surgent_torch

__all__ = ["SurgentCallback", "last_checkpoint"]


class SurgentCallback(TrainerCallback):
    """Reports progress, and has the Trainer save a checkpoint at the step's end when that is asked for.

    Every checkpoint of the Trainer is reported, also those of its own schedule. After a save that was asked for the
    training goes on, or ends with ``stop_after_save``; what the script does behind ``train()`` is then done too.
    """

    def __init__(self, stop_after_save: bool = False) -> None:
        self._stop_after_save = stop_after_save
        self._is_asked = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Reports where the training begins."""
        surgent.report(epoch=state.epoch or 0, epochs=_epochs(state))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Asks for a save where Surgent does."""
        # epoch is fractional here, and a step is only named so that not each of them is reported.
        surgent.report(epoch=state.epoch, epochs=_epochs(state), step=state.global_step)
        if surgent.should_save(all_ranks=surgent_torch.largest):
            self._is_asked = True
            control.should_save = True
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Reports an epoch."""
        surgent.report(epoch=state.epoch, epochs=_epochs(state))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Reports a checkpoint."""
        checkpoint = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        # The others write their random states beside the first's files, and may not be done yet.
        surgent_torch.largest(0)
        # A search for hyperparameters has folders of its own.
        surgent.saved(checkpoint if os.path.isdir(checkpoint) else None)
        if self._is_asked and self._stop_after_save:
            control.should_training_stop = True
        self._is_asked = False
        return control

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Reports the end of a training that has ``max_steps``, which may lie within an epoch."""
        if state.max_steps > 0 and state.global_step >= state.max_steps:
            surgent.report(epoch=_epochs(state), epochs=_epochs(state))


def last_checkpoint(output_dir: Optional[str]) -> Optional[str]:
    """The newest complete checkpoint if this job ran before, for ``train(resume_from_checkpoint=…)``."""
    if not surgent.resuming() or output_dir is None or not os.path.isdir(output_dir):
        return None
    complete = (name for name in os.listdir(output_dir) if _is_complete(os.path.join(output_dir, name)))
    newest = max(complete, key=_step, default=None)
    return None if newest is None else os.path.join(output_dir, newest)


def _is_complete(checkpoint: str) -> bool:
    if _step(os.path.basename(checkpoint)) < 0:
        return False
    # The state is written last; the marker is there while Transformers itself answers a SIGTERM.
    has_state = os.path.exists(os.path.join(checkpoint, "trainer_state.json"))
    return has_state and not os.path.exists(os.path.join(checkpoint, "checkpoint-is-incomplete.txt"))


def _step(name: str) -> int:
    match = re.fullmatch(r"checkpoint-(\d+)", name)
    return int(match[1]) if match else -1


def _epochs(state: Any) -> int:
    epochs: int = math.ceil(state.num_train_epochs)
    return max(1, epochs)
