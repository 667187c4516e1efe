# SPDX-License-Identifier: GPL-2.0-or-later
"""Says to ``surgent run`` how far a training is, and hears from it that the model is to be saved.

::

    import surgent

    done = load_if_there("model") if surgent.resuming() else 0
    for epoch in surgent.epochs(90, start=done):
        for batch in batches:
            train(batch)
            if surgent.should_save():
                save("model", epoch)
                surgent.saved("model")

Without ``surgent run`` around the program all of this does nothing. Nothing here ends a training because a file is
missing, a disk is full or nobody listens: that is said once, on standard error.
"""

import os
from typing import Callable, Optional, Union

from ._epochs import Epochs
from ._session import Session

__all__ = ["Epochs", "epochs", "report", "resuming", "saved", "should_save"]
__version__ = "0.1.0"

_session = Session(os.environ)


def epochs(total: int, start: Optional[int] = None) -> Epochs:
    """The epochs to do, from ``start`` to ``total - 1``, each reported when it is completed.

    ``start`` is the number of epochs that the program's own save holds: only the program knows. An epoch that is left
    by ``break`` or an exception is not reported.
    """
    return Epochs(_session, total, start)


def report(
    *,
    epoch: Optional[float] = None,
    epochs: Optional[float] = None,
    step: Optional[float] = None,
    steps: Optional[float] = None,
) -> None:
    """Reports that ``epoch`` of ``epochs`` are completed, and ``step`` of ``steps`` of the one under way.

    ``epoch`` may be fractional. In a loop over :func:`epochs` it is known and may be left out. May be called at every
    step: with ``step``, what comes within a second of the last report is left out.
    """
    _session.report(epoch=epoch, epochs=epochs, step=step, steps=steps)


def should_save(all_ranks: Optional[Callable[[int], int]] = None) -> bool:
    """Whether the model is to be saved now. Stays true until :func:`saved`.

    Cheap enough for every step. Of a training with several processes each may see a request at another step; where
    they have to save together, give as ``all_ranks`` a function that returns the largest of the numbers with which the
    processes call it (for torch.distributed: ``surgent.torch.largest``). Then all of them get the same answer, and all
    have to ask at the same steps.
    """
    return _session.should_save(all_ranks)


def saved(path: Optional[Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]] = None) -> None:
    """Says that a save is complete, in the file or folder ``path``, which has to be there under its final name.

    With several processes each may call it, once all of them have saved; the first of them reports.
    """
    _session.saved(path)


def resuming() -> bool:
    """Whether there was an earlier run of this job, so that the training goes on from its save, if it had one."""
    return _session.resuming
