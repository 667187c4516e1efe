# SPDX-License-Identifier: GPL-2.0-or-later
"""A small Lightning module, in the package of Lightning that `--package` names."""

import importlib
import itertools
from typing import Any, Dict, Iterator

import pace
import torch
from pace import BATCH_SIZE, BATCHES, EPOCHS

pl: Any = importlib.import_module(pace.options.package)

from surgent.lightning import SurgentCallback  # noqa: E402 - after the Lightning that it is for


class Pace(pl.Callback):
    def on_train_start(self, trainer: Any, module: Any) -> None:
        pace.start(trainer.global_step)

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        pace.step(trainer.current_epoch * BATCHES + batch_idx + 1)

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        if trainer.is_last_batch:
            pace.epoch_done(trainer.current_epoch + 1)


class Loader:
    """Keeps its place, as torchdata's StatefulDataLoader does. An ordinary DataLoader begins the epoch anew."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._given = 0

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        self._given %= len(self)
        for batch in itertools.islice(self._loader, self._given, None):
            self._given += 1
            yield batch

    def state_dict(self) -> Dict[str, int]:
        return {"given": self._given}

    def load_state_dict(self, state: Dict[str, int]) -> None:
        self._given = state["given"]


class Model(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        return ((self.layer(batch[0]) - batch[1]) ** 2).mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


pace.say_versions(torch, pl)
pl.seed_everything(1)
data = torch.utils.data.TensorDataset(torch.randn(BATCHES * BATCH_SIZE, 4), torch.randn(BATCHES * BATCH_SIZE, 1))
model = Model()
surgent_callback = SurgentCallback(pace.in_folder("model.ckpt"), stop_after_save=pace.options.stop_after_save)
trainer = pl.Trainer(
    max_epochs=EPOCHS,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[Pace(), surgent_callback],
    default_root_dir=pace.in_folder(""),
)
loader = Loader(torch.utils.data.DataLoader(data, BATCH_SIZE))
trainer.fit(model, loader, ckpt_path=surgent_callback.ckpt_path)
pace.end(weight.numpy() for weight in model.state_dict().values())
