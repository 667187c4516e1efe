# SPDX-License-Identifier: GPL-2.0-or-later
"""A small model in the Trainer of Transformers."""

from typing import Any, Dict, Optional

import pace
import torch
import transformers
from pace import BATCH_SIZE, BATCHES, EPOCHS

from surgent.transformers import SurgentCallback, last_checkpoint


class Pace(transformers.TrainerCallback):
    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        pace.start(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        pace.step(state.global_step)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step % BATCHES == 0:
            pace.epoch_done(state.global_step // BATCHES)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: Any = None, labels: Optional[Any] = None) -> Dict[str, Any]:
        y = self.layer(x)
        return {"loss": ((y - labels) ** 2).mean(), "logits": y}


pace.say_versions(torch, transformers)
transformers.set_seed(1)
data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(BATCHES * BATCH_SIZE)]
model = Model()
arguments = transformers.TrainingArguments(
    output_dir=pace.in_folder("out"),
    num_train_epochs=EPOCHS,
    per_device_train_batch_size=BATCH_SIZE,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
)
surgent_callback = SurgentCallback(stop_after_save=pace.options.stop_after_save)
trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[Pace(), surgent_callback])
trainer.train(resume_from_checkpoint=last_checkpoint(arguments.output_dir))
pace.end(weight.numpy() for weight in model.state_dict().values())
