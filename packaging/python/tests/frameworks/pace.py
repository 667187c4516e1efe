# SPDX-License-Identifier: GPL-2.0-or-later
"""The pace of a training that a test watches, and the log of its steps from which the test tells what was lost.

Every program here runs as ``train_X.py NAME [--asked] [--stop-after-save]`` in the folder to which its job writes.
"""

import argparse
import hashlib
import os
import sys
import time
from typing import Any, Iterable, List

import surgent

EPOCHS = 4
BATCHES = 10
BATCH_SIZE = 8

_STEP_S = 0.1
# The steps after which the first run waits for the request, in the middle of an epoch, and for its end.
_ASKED_AFTER = BATCHES + BATCHES // 2
_HELD_AFTER = _ASKED_AFTER + 2 * BATCHES


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("name", help="what its files are named after")
    parser.add_argument("--asked", action="store_true", help="the first run waits for a request to save")
    parser.add_argument("--stop-after-save", action="store_true")
    parser.add_argument("--package", help="of those that have the framework, the one to use")
    return parser.parse_args()


options = _arguments()
_run = int(os.environ.get("SURGENT_RESTART_COUNT", "0"))
_steps: List[int] = []


def in_folder(name: str) -> str:
    """The path of a file or folder of this program's own."""
    folder = os.path.abspath(f"{options.name}.files")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def start(steps: int) -> None:
    """The training begins with a model that has seen so many steps."""
    _note("resumed" if steps else "started", steps)


def step(number: int) -> None:
    """The step of this number is trained, counted from 1 over all epochs."""
    _steps.append(number)
    time.sleep(_STEP_S)
    _note("step", number)
    if not options.asked or _run > 0:
        return
    if number == _ASKED_AFTER:
        _note("waiting", number)
        while not surgent.should_save():
            time.sleep(0.01)
        if options.stop_after_save:
            # The other, whose save is done sooner, trains on meanwhile.
            time.sleep(1)
    elif number == _HELD_AFTER:
        # What goes on after its save is to be stopped, however long that takes, and not to reach its end.
        time.sleep(600)


def epoch_done(epochs: int) -> None:
    """So many epochs are completed."""
    _note("epoch", epochs)


def end(weights: Iterable[Any]) -> None:
    """The training has ended with these arrays; whether with all that it was to do is seen by its steps."""
    if _steps and _steps[-1] == EPOCHS * BATCHES:
        _note("finished", _steps[-1])
        print("weights", hashlib.sha256(b"".join(array.tobytes() for array in weights)).hexdigest()[:16])


def say_versions(*packages: Any) -> None:
    """Says what this was run with."""
    names = [f"{package.__name__} {package.__version__}" for package in packages]
    print("versions", ", ".join([f"Python {sys.version.split()[0]}", *names]), flush=True)


def _note(event: str, number: int) -> None:
    with open(f"{options.name}.steps", "a") as log:
        log.write(f"{time.time():.3f} {_run} {event} {number}\n")
