# SPDX-License-Identifier: GPL-2.0-or-later
"""A small model in the Trainer of Transformers."""

from typing import Any, Dict, Optional

import torch
import transformers
from pace import BATCH_SIZE, BATCHES, EPOCHS, in_bench, step, tell

from surgent.transformers import SurgentCallback, last_checkpoint


class Pace(transformers.TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        step((state.global_step - 1) // BATCHES, (state.global_step - 1) % BATCHES)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: Any = None, labels: Optional[Any] = None) -> Dict[str, Any]:
        y = self.layer(x)
        return {"loss": ((y - labels) ** 2).mean(), "logits": y}


data = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(BATCHES * BATCH_SIZE)]
arguments = transformers.TrainingArguments(
    output_dir=in_bench("out"),
    num_train_epochs=EPOCHS,
    per_device_train_batch_size=BATCH_SIZE,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
trainer = transformers.Trainer(Model(), arguments, train_dataset=data, callbacks=[Pace(), SurgentCallback()])
checkpoint = last_checkpoint(arguments.output_dir)
tell(f"start {checkpoint}")
trainer.train(resume_from_checkpoint=checkpoint)
tell("end")
