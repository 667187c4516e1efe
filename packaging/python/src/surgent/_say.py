# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaking to the person who reads the job's output."""

import contextlib
import sys
from typing import Set

_said: Set[str] = set()


def say_once(topic: str, sentence: str) -> None:
    """Writes ``sentence`` to standard error, unless something of that ``topic`` was said before. Never raises."""
    if topic in _said:
        return
    _said.add(topic)
    if sys.stderr is None:
        # Then `print` would take standard output, which is the program's own.
        return
    # A closed one, or a pipe without a reader: there is nobody to tell.
    with contextlib.suppress(OSError, ValueError):
        print(f"surgent: {sentence}", file=sys.stderr, flush=True)
