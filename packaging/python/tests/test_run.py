# SPDX-License-Identifier: GPL-2.0-or-later
"""The module as it is used: in a program of its own, with and without a real `surgent run` ($SURGENT_BIN) around it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from typing import Dict

PROGRAM = """
import os, sys
import surgent
for epoch in surgent.epochs(3, start=1):
    surgent.should_save()
surgent.saved(sys.argv[0])
assert not surgent.resuming()
with open(os.environ.get("SURGENT_REPORT", os.devnull)) as reports:
    sys.stdout.write(reports.read())
frameworks = {"torch", "keras", "lightning", "transformers", "numpy"} & set(sys.modules)
assert not frameworks, frameworks
"""


class Program(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "train.py")
        with open(self.path, "w") as file:
            file.write(PROGRAM)

    def run_it(self, *before: str) -> "subprocess.CompletedProcess[str]":
        environ: Dict[str, str] = {
            name: value for name, value in os.environ.items() if not name.startswith(("SURGENT_", "SLURM_"))
        }
        command = [*before, sys.executable, self.path]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    def test_alone(self) -> None:
        run = self.run_it()
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    @unittest.skipUnless("SURGENT_BIN" in os.environ, "SURGENT_BIN does not name a surgent program")
    def test_under_surgent_run(self) -> None:
        run = self.run_it(os.environ["SURGENT_BIN"], "run", "--")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertIn({"can_save": True}, lines)
        self.assertEqual([line["epoch"] for line in lines if "epoch" in line], [1, 2, 3])
        self.assertEqual([line["saved"] for line in lines if "saved" in line], [self.path])


if __name__ == "__main__":
    unittest.main()
