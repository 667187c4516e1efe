# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts two ranks of a script as torchrun does, and like it neither handles USR1 nor survives it."""

import os
import subprocess
import sys

RANKS = 2

helper = subprocess.Popen(["sleep", "1000"])
with open("helper", "w") as file:
    file.write(str(helper.pid))


def start(rank):
    variables = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS)}
    return subprocess.Popen([sys.executable, *sys.argv[1:]], env={**os.environ, **variables})


codes = [rank.wait() for rank in [start(rank) for rank in range(RANKS)]]
helper.kill()
sys.exit(max(codes))
