# SPDX-License-Identifier: GPL-2.0-or-later
"""What one process says and hears."""

import os
import time
from typing import Callable, Dict, Mapping, Optional, Union

from . import _ranks
from ._reports import Number, Reports, Value
from ._requests import Requests
from ._say import say_once

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# Least seconds between a report and a later one from within an epoch.
STEP_INTERVAL_S = 1.0


class Session:
    """The link between this process and the ``surgent run`` around it; mute and deaf where there is none.

    Plain assignments and no locks: threads at worst look or report twice, and a forked process goes on with its copy.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._reports = Reports(environ.get("SURGENT_REPORT"))
        self._requests = Requests(environ.get("SURGENT_SAVE_REQUEST"))
        self.resuming = environ.get("SURGENT_RESUME") == "1"
        # Epochs completed, in a loop over `surgent.epochs`.
        self.epoch: Optional[int] = None
        self._reported_s = float("-inf")
        self._has_said_can_save = False
        # Numbers of requests: the newest that `should_save` has passed on, and the newest that a save has answered.
        self._passed_on = 0
        self._answered = 0

    def report(
        self,
        *,
        epoch: Optional[float] = None,
        epochs: Optional[float] = None,
        step: Optional[float] = None,
        steps: Optional[float] = None,
    ) -> None:
        """See :func:`surgent.report`."""
        given = {"epoch": epoch, "epochs": epochs, "step": step, "steps": steps}
        numbers = {name: value for name, value in given.items() if value is not None}
        if not numbers or not self._reports.are_read:
            return
        if step is not None and time.monotonic() - self._reported_s < STEP_INTERVAL_S:
            return
        if not self._speaks():
            return
        self._reported_s = time.monotonic()
        # Only now, for what is said: to make a plain number of a tensor waits for the GPU.
        values = _plain(numbers)
        if values is not None:
            self._reports.write(self._with_fraction(values))

    def _with_fraction(self, values: Dict[str, Number]) -> Dict[str, Number]:
        """The report with the part of the epoch that its steps are."""
        if "step" not in values:
            return values
        if "epoch" not in values and self.epoch is not None:
            values["epoch"] = self.epoch
        if "epoch" in values and values.get("steps", 0) > 0:
            values["epoch"] += min(max(values["step"] / values["steps"], 0.0), 1.0)
        return values

    def should_save(self, all_ranks: Optional[Callable[[int], int]] = None) -> bool:
        """See :func:`surgent.should_save`."""
        newest = self._requests.newest()
        if not self._has_said_can_save and self._requests.can_come:
            self._has_said_can_save = True
            # Every rank for itself: in a step each has a `surgent run` of its own. On other nodes nobody reads it.
            self._reports.write({"can_save": True}, is_quiet=not self._speaks())
        waiting = newest if newest > self._answered else 0
        if all_ranks is not None:
            # Only the first rank's own view counts: it is the one whose save Slurm hears of.
            waiting = int(all_ranks(waiting if self._speaks() else 0))
        self._passed_on = max(self._passed_on, waiting)
        return waiting > 0

    def saved(self, path: Optional[Path] = None) -> None:
        """See :func:`surgent.saved`."""
        self._answered = self._passed_on
        if self._speaks():
            self._reports.write({"saved": True if path is None else _absolute(path)})

    def _speaks(self) -> bool:
        return _ranks.is_first(self._environ)


def _plain(numbers: Mapping[str, float]) -> Optional[Dict[str, Number]]:
    """Numbers of whatever library, as JSON has them; ``None`` if one is none, which is said once."""
    values: Dict[str, Number] = {}
    for name, given in numbers.items():
        try:
            value = float(given)
        except (TypeError, ValueError, OverflowError) as error:
            say_once("numbers", f"{name} of a report is no number ({error}); the training goes on without the report")
            return None
        values[name] = int(value) if value.is_integer() else value
    return values


def _absolute(path: Path) -> Value:
    """The path from the root; ``True`` for one that JSON cannot hold, or for what is none."""
    try:
        text = os.path.abspath(os.fsdecode(path))
        text.encode()
    except (OSError, TypeError, UnicodeEncodeError):
        # No working folder any more, what a user's function returns that is no path, or a name that is not UTF-8.
        return True
    return text
