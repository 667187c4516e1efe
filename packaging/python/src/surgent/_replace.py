# SPDX-License-Identifier: GPL-2.0-or-later
"""Putting a save that is complete under its name."""

import os
import shutil


def part_of(path: str) -> str:
    """The name for a save that is not complete yet, in the same folder and with the same ending."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".part-{name}")


def replace(part: str, path: str) -> None:
    """Renames ``part`` to ``path``, in place of what is there. At every moment one of the two saves is whole."""
    if not os.path.isdir(path):
        os.replace(part, path)
        return
    # A folder gives way only to a rename of its own. A run that is ended between the two finds it by `found`.
    old = _old(path)
    shutil.rmtree(old, ignore_errors=True)
    os.rename(path, old)
    os.rename(part, path)
    shutil.rmtree(old, ignore_errors=True)


def found(path: str) -> bool:
    """Whether there is a save under ``path``; one that :func:`replace` had to leave half way is put back first."""
    if not os.path.exists(path) and os.path.exists(_old(path)):
        os.rename(_old(path), path)
    return os.path.exists(path)


def _old(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".old-{name}")
