# SPDX-License-Identifier: GPL-2.0-or-later
"""A small Lightning module, in the package of Lightning that the first argument names."""

import importlib
import sys
from typing import Any

import torch
from pace import BATCH_SIZE, BATCHES, EPOCHS, in_bench, step, tell

pl: Any = importlib.import_module(sys.argv[1])

from surgent.lightning import SurgentCallback  # noqa: E402 - after the Lightning that it is for


class Pace(pl.Callback):
    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        step(trainer.current_epoch, batch_idx)


class Model(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        return ((self.layer(batch[0]) - batch[1]) ** 2).mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


data = torch.utils.data.TensorDataset(torch.randn(BATCHES * BATCH_SIZE, 4), torch.randn(BATCHES * BATCH_SIZE, 1))
surgent_callback = SurgentCallback(in_bench("model.ckpt"))
trainer = pl.Trainer(
    max_epochs=EPOCHS,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Pace(), surgent_callback],
    default_root_dir=in_bench(""),
)
tell(f"start {surgent_callback.ckpt_path}")
trainer.fit(Model(), torch.utils.data.DataLoader(data, BATCH_SIZE), ckpt_path=surgent_callback.ckpt_path)
tell("end")
