# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of ``surgent run`` to save."""

import time
from typing import Optional

from ._say import say_once

# Least seconds between two looks at the file: in between, a question costs no more than a look at the clock.
LOOK_INTERVAL_S = 0.1

_DIGITS_MAX = 18


class Requests:
    """The file in which ``surgent run`` counts its requests. There is none before the first of them."""

    def __init__(self, path: Optional[str]) -> None:
        self._path = path or None
        self._next_look_s = 0.0
        self._newest = 0

    @property
    def can_come(self) -> bool:
        """Whether this ``surgent run`` makes requests in a file at all."""
        return self._path is not None

    def newest(self) -> int:
        """The number of the newest request, 0 before the first."""
        if self._path is None:
            return 0
        now_s = time.monotonic()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + LOOK_INTERVAL_S
            self._newest = max(self._newest, _read(self._path))
        return self._newest


def _read(path: str) -> int:
    try:
        with open(path, "rb") as file:
            text = file.read(_DIGITS_MAX + 1).strip()
        if not text.isdigit():
            raise ValueError(f"{path} holds {text!r} and no number")
        return int(text)
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as error:
        say_once("requests", f"requests to save cannot be seen ({error}); the training goes on without")
        return 0
