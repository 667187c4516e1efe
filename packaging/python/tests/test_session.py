# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said in the file of reports, and what is heard from the file of requests."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, Dict, List
from unittest import mock

from surgent import _say
from surgent._epochs import Epochs
from surgent._session import Session


class Scene(unittest.TestCase):
    """A folder as `surgent run` makes it, and a session with it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.reports = os.path.join(self.folder, "reports")
        self.requests = os.path.join(self.folder, "save-request")
        with open(self.reports, "w"):
            pass
        _say._said.clear()
        # Each look at the clock is a minute later, so that nothing is left out for coming too soon.
        self.now_s = 0.0
        clock = mock.patch("time.monotonic", self.tick)
        clock.start()
        self.addCleanup(clock.stop)

    def tick(self) -> float:
        self.now_s += 60
        return self.now_s

    def session(self, **environ: str) -> Session:
        return Session({"SURGENT_REPORT": self.reports, "SURGENT_SAVE_REQUEST": self.requests, **environ})

    def request(self, number: int) -> None:
        with open(self.requests, "w") as file:
            file.write(f"{number}\n")

    def lines(self) -> List[Dict[str, Any]]:
        with open(self.reports) as file:
            return [json.loads(line) for line in file if line.strip()]


class Tensor:
    """A number of another library, that counts how often it was made a plain one."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.conversions = 0

    def __float__(self) -> float:
        self.conversions += 1
        return self.value


class Reporting(Scene):
    def test_a_report_is_one_line_of_json(self) -> None:
        session = self.session()
        session.report(epoch=12, epochs=90)
        session.report(epoch=12.25)
        session.report(epochs=90.0)
        session.report()
        self.assertEqual(self.lines(), [{"epoch": 12, "epochs": 90}, {"epoch": 12.25}, {"epochs": 90}])
        with open(self.reports) as file:
            self.assertEqual(file.readline(), '{"epoch": 12, "epochs": 90}\n')

    def test_steps_are_a_part_of_their_epoch(self) -> None:
        session = self.session()
        session.report(epoch=3, epochs=9, step=1, steps=4)
        session.report(epoch=3, step=9, steps=4)
        session.report(step=7)
        self.assertEqual(
            self.lines(),
            [
                {"epoch": 3.25, "epochs": 9, "step": 1, "steps": 4},
                {"epoch": 4.0, "step": 9, "steps": 4},
                {"step": 7},
            ],
        )

    def test_numbers_of_other_libraries_are_numbers(self) -> None:
        self.session().report(epoch=Tensor(2.0))  # type: ignore[arg-type]
        self.assertEqual(self.lines(), [{"epoch": 2}])

    def test_no_tensor_is_waited_for_that_is_not_reported(self) -> None:
        session, other = self.session(), self.session(SLURM_PROCID="1")
        tensor = Tensor(2.0)
        with mock.patch("time.monotonic", side_effect=[10.0, 10.0] + [10.5] * 20 + [11.0, 11.0]):
            for _ in range(22):
                session.report(epoch=1, step=tensor, steps=4)  # type: ignore[arg-type]
        self.assertEqual((tensor.conversions, len(self.lines())), (2, 2))
        for silent in (other, Session({})):
            silent.report(epoch=tensor, step=tensor)  # type: ignore[arg-type]
        self.assertEqual(tensor.conversions, 2)

    def test_what_is_no_number_is_named_once_and_ends_no_training(self) -> None:
        session, stderr = self.session(), io.StringIO()
        with contextlib.redirect_stderr(stderr):
            for _ in range(2):
                session.report(epoch=1, step="many")  # type: ignore[arg-type]
        self.assertEqual(stderr.getvalue().count("surgent: step of a report is no number"), 1, stderr.getvalue())
        self.assertEqual(self.lines(), [])

    def test_of_quick_steps_one_a_second_is_reported_and_every_epoch(self) -> None:
        session = self.session()
        with mock.patch("time.monotonic", side_effect=[10.0, 10.0, 10.9, 11.0, 11.0, 11.1]):
            for step in range(3):
                session.report(epoch=0, step=step)
            session.report(epoch=1)
        self.assertEqual([line.get("step") for line in self.lines()], [0, 2, None])

    def test_a_save_names_its_place_from_the_root(self) -> None:
        session = self.session()
        session.saved()
        session.saved("model.pt")
        session.saved(b'/a "b"\n')
        session.saved(b"/not-utf8-\xff")
        session.saved(12.5)  # type: ignore[arg-type]
        here = os.path.join(os.getcwd(), "model.pt")
        self.assertEqual([line["saved"] for line in self.lines()], [True, here, '/a "b"\n', True, True])

    def test_threads_and_forked_processes_write_whole_lines(self) -> None:
        session = self.session()

        def speak() -> None:
            for step in range(200):
                session.report(epoch=1, step=step)

        threads = [threading.Thread(target=speak) for _ in range(4)]
        for thread in threads:
            thread.start()
        child = os.fork()
        if child == 0:
            speak()
            os._exit(0)
        for thread in threads:
            thread.join()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(self.lines()), 5 * 200)


class Trouble(Scene):
    def said(self, session: Session) -> str:
        """What is said while everything is tried twice."""
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            for _ in range(2):
                session.report(epoch=1, epochs=2)
                session.should_save()
                session.saved("/model")
                list(Epochs(session, 2, None))
        return stderr.getvalue()

    def test_outside_surgent_nothing_happens(self) -> None:
        self.assertEqual(self.said(Session({})), "")
        self.assertEqual(self.said(Session({"SURGENT_REPORT": "", "SURGENT_SAVE_REQUEST": ""})), "")

    def test_a_missing_file_is_named_once_and_not_made(self) -> None:
        os.remove(self.reports)
        said = self.said(self.session())
        self.assertEqual(said.count("surgent:"), 1, said)
        self.assertIn(self.reports, said)
        self.assertFalse(os.path.exists(self.reports))

    def test_other_ranks_do_not_complain(self) -> None:
        os.remove(self.reports)
        self.assertEqual(self.said(self.session(SLURM_PROCID="3")), "")

    def test_a_full_disk_is_named_once(self) -> None:
        said = self.said(Session({"SURGENT_REPORT": "/dev/full"}))
        self.assertEqual(said.count("surgent:"), 1, said)
        self.assertIn("No space left", said)

    def test_a_pipe_without_a_reader_stops_nobody(self) -> None:
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        self.assertEqual(self.said(Session({"SURGENT_REPORT": pipe})).count("surgent:"), 1)

    def test_a_pipe_that_nobody_empties_stops_nobody(self) -> None:
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        session = Session({"SURGENT_REPORT": pipe})
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            for _ in range(5000):
                session.saved("/" + 100 * "x")
        self.assertEqual(stderr.getvalue().count("surgent:"), 1)

    def test_nobody_to_tell_is_no_trouble_either(self) -> None:
        closed = io.StringIO()
        closed.close()
        for stderr in (None, closed):
            _say._said.clear()
            # Standard output is the program's own, in every case.
            stdout = io.StringIO()
            with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(stdout):
                Session({"SURGENT_REPORT": "/dev/full"}).report(epoch=1)
            self.assertEqual(stdout.getvalue(), "")

    def test_a_line_that_was_cut_off_spoils_no_other(self) -> None:
        script = """
import resource, sys
from surgent._session import Session
session = Session({"SURGENT_REPORT": sys.argv[1]})
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
session.report(epoch=1, epochs=90)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
session.report(epoch=2, epochs=90)
"""
        command = [sys.executable, "-c", script, self.reports]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertIn("no room", run.stderr)
        with open(self.reports) as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines[0]), 20)
        self.assertEqual(json.loads(lines[1]), {"epoch": 2, "epochs": 90})

    def test_a_request_that_makes_no_sense_is_none(self) -> None:
        for content in ("", "soon", "-1", "9" * 5000):
            _say._said.clear()
            with open(self.requests, "w") as file:
                file.write(content)
            stderr = io.StringIO()
            with contextlib.redirect_stderr(stderr):
                session = self.session()
                asked = [session.should_save() for _ in range(2)]
            if content.isdigit():
                self.assertEqual(asked, [True, True])
            else:
                self.assertEqual(asked, [False, False])
                self.assertEqual(stderr.getvalue().count("surgent:"), 1, content)


class Requesting(Scene):
    def test_a_request_stands_until_it_is_answered(self) -> None:
        session = self.session()
        self.assertFalse(session.should_save())
        self.request(1)
        self.assertTrue(session.should_save())
        self.assertTrue(session.should_save())
        session.saved("/model")
        self.assertFalse(session.should_save())
        self.request(2)
        self.assertTrue(session.should_save())

    def test_a_save_of_the_programs_own_answers_nothing_that_it_has_not_heard(self) -> None:
        session = self.session()
        self.request(1)
        session.saved("/model")
        self.assertTrue(session.should_save())

    def test_who_asks_says_so_once(self) -> None:
        session = self.session()
        session.report(epoch=0)
        for _ in range(3):
            session.should_save()
        self.assertEqual(self.lines(), [{"epoch": 0}, {"can_save": True}])

    def test_between_two_looks_no_file_is_opened(self) -> None:
        session = self.session()
        with mock.patch("time.monotonic", side_effect=[1.0] * 50 + [1.2]), mock.patch(
            "surgent._requests._read", return_value=0
        ) as read:
            for _ in range(51):
                session.should_save()
        self.assertEqual(read.call_count, 2)

    def test_ranks_agree_on_what_the_first_of_them_hears(self) -> None:
        first, other = self.session(SLURM_PROCID="0"), self.session(SLURM_PROCID="1")

        def ask() -> List[bool]:
            """A step of both, with what a collective operation would do."""
            numbers: List[int] = []

            def note(number: int) -> int:
                numbers.append(number)
                return 0

            first.should_save(note)
            other.should_save(note)
            return [rank.should_save(lambda _: max(numbers)) for rank in (first, other)]

        self.assertEqual(ask(), [False, False])
        self.request(1)
        self.assertEqual(ask(), [True, True])
        # The other rank need not even say that it has saved.
        first.saved("/model")
        self.assertEqual(ask(), [False, False])


class Ranks(Scene):
    def test_one_process_speaks_for_all(self) -> None:
        table = [
            ({}, True),
            ({"SLURM_PROCID": "0"}, True),
            ({"SLURM_PROCID": "1"}, False),
            ({"SLURM_PROCID": "1", "RANK": "0", "WORLD_SIZE": "8"}, True),
            ({"SLURM_PROCID": "0", "RANK": "5", "WORLD_SIZE": "8"}, False),
            # RANK of something else.
            ({"RANK": "5"}, True),
            ({"OMPI_COMM_WORLD_RANK": "2", "SLURM_PROCID": "0"}, False),
            ({"PMI_RANK": "0"}, True),
            ({"SLURM_PROCID": "0", "LOCAL_RANK": "1"}, False),
            ({"LOCAL_RANK": "1"}, False),
            ({"SLURM_PROCID": "what"}, True),
        ]
        for environ, speaks in table:
            with self.subTest(environ):
                with open(self.reports, "w"):
                    pass
                self.session(**environ).report(epoch=1)
                self.assertEqual(self.lines() != [], speaks)


class Loop(Scene):
    def test_every_epoch_is_reported_when_it_is_done(self) -> None:
        session = self.session()
        seen = [(epoch, len(self.lines())) for epoch in Epochs(session, 3, None)]
        self.assertEqual(seen, [(0, 1), (1, 2), (2, 3)])
        self.assertEqual(self.lines(), [{"epoch": done, "epochs": 3} for done in range(4)])

    def test_it_begins_where_it_is_told(self) -> None:
        loop = Epochs(self.session(SURGENT_RESUME="1"), 90, 88)
        self.assertEqual((len(loop), list(loop)), (2, [88, 89]))
        self.assertEqual([line["epoch"] for line in self.lines()], [88, 89, 90])

    def test_a_training_that_is_done_says_so(self) -> None:
        self.assertEqual(list(Epochs(self.session(), 3, 3)), [])
        self.assertEqual(self.lines(), [{"epoch": 3, "epochs": 3}])

    def test_an_epoch_that_is_left_is_not_done(self) -> None:
        session = self.session()
        for _ in Epochs(session, 3, None):
            session.report(step=1, steps=2)
            break
        self.assertEqual([line["epoch"] for line in self.lines()], [0, 0.5])
        self.assertIsNone(session.epoch)

    def test_numbers_that_cannot_be_meant_are_refused_everywhere(self) -> None:
        for total, start in [(0, None), (-1, None), (3, 4), (3, -1)]:
            with self.subTest((total, start)), self.assertRaises(ValueError):
                Epochs(Session({}), total, start)
        with self.assertRaises(TypeError):
            Epochs(Session({}), 2.5, None)  # type: ignore[arg-type]

    def test_a_resumed_training_that_begins_at_0_unasked_is_noticed(self) -> None:
        for start, is_noticed in [(None, True), (0, False)]:
            stderr = io.StringIO()
            with contextlib.redirect_stderr(stderr):
                Epochs(self.session(SURGENT_RESUME="1"), 90, start)
            self.assertEqual("start=" in stderr.getvalue(), is_noticed)


if __name__ == "__main__":
    unittest.main()
