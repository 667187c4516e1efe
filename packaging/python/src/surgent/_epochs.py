# SPDX-License-Identifier: GPL-2.0-or-later
"""The loop over epochs."""

import operator
from typing import Iterator, Optional

from ._say import say_once
from ._session import Session


class Epochs:
    """The epochs that are still to be done. Has a length, so that progress bars can show one."""

    def __init__(self, session: Session, total: int, start: Optional[int]) -> None:
        self._session = session
        self._total = operator.index(total)
        self._start = 0 if start is None else operator.index(start)
        if self._total < 1:
            raise ValueError(f"epochs({total}): the epochs in all are 1 or more")
        if not 0 <= self._start <= self._total:
            raise ValueError(f"epochs({total}, start={start}): start is the epochs done so far, from 0 to {total}")
        if start is None and session.resuming:
            say_once(
                "start",
                f"this job ran before, and surgent.epochs({total}) begins at 0; give start= with the epochs that the "
                "save holds",
            )

    def __len__(self) -> int:
        return self._total - self._start

    def __iter__(self) -> Iterator[int]:
        session = self._session
        session.epoch = self._start
        session.report(epoch=self._start, epochs=self._total)
        try:
            for epoch in range(self._start, self._total):
                session.epoch = epoch
                yield epoch
                session.report(epoch=epoch + 1, epochs=self._total)
        finally:
            session.epoch = None
