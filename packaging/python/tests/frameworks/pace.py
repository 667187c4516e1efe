# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test sees of a training, and the moment in which it is asked to save."""

import os
import time

import surgent

EPOCHS = 4
BATCHES = 6
BATCH_SIZE = 8

# The batch in which the first run waits for the request, in the middle of an epoch.
_ASKED_IN = (1, 2)

_BENCH = os.environ["BENCH"]


def in_bench(name: str) -> str:
    """The path of a file of this test."""
    return os.path.join(_BENCH, name)


def tell(what: str) -> None:
    """Adds a line to the file that the test reads."""
    with open(in_bench("story"), "a") as story:
        story.write(what + "\n")


def step(epoch: int, batch: int) -> None:
    """A batch was trained."""
    tell(f"step {epoch} {batch}")
    if (epoch, batch) == _ASKED_IN and not surgent.resuming():
        tell("middle")
        while not os.path.exists(os.environ["SURGENT_SAVE_REQUEST"]):
            time.sleep(0.01)
        # Longer than the module leaves between two looks.
        time.sleep(0.2)
    elif (epoch, batch) > (_ASKED_IN[0] + 1, 0) and not surgent.resuming():
        # The first run is to be stopped, and not to reach its end.
        tell("beyond")
        time.sleep(600)
