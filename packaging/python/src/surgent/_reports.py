# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of JSON to ``surgent run``."""

import json
import os
from typing import Mapping, Optional, Union

from ._say import say_once

Number = Union[int, float]
Value = Union[bool, int, float, str]


class Reports:
    """The file that ``surgent run`` reads, if it is there.

    Without locks, so that neither threads nor a fork can get in each other's way: each line is one append.
    """

    def __init__(self, path: Optional[str]) -> None:
        self._path = path or None
        self._is_torn = False

    @property
    def are_read(self) -> bool:
        """Whether there is a ``surgent run`` around this program."""
        return self._path is not None

    def write(self, values: Mapping[str, Value], is_quiet: bool = False) -> None:
        """Appends one line. Where that fails it is said once, unless ``is_quiet``, and the training goes on."""
        if self._path is None:
            return
        line = json.dumps(dict(values)).encode() + b"\n"
        if self._is_torn:
            # Of the line before only a part found room: what follows must not be glued to it.
            line = b"\n" + line
        try:
            written = _append(self._path, line)
        except OSError as error:
            if not is_quiet:
                self._complain(str(error))
            return
        self._is_torn = written < len(line)
        if self._is_torn:
            self._complain("there was no room for a whole line")

    def _complain(self, why: str) -> None:
        say_once(
            "reports",
            f"the progress of this training cannot be reported to surgent run ({why}); the training goes on without. "
            "In a container, the folder of $SURGENT_REPORT has to be mounted",
        )


def _append(path: str, line: bytes) -> int:
    # Never created: on another node there is nobody to read it. Never waited for either, should it be a pipe.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.write(descriptor, line)
    finally:
        os.close(descriptor)
