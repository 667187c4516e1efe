# SPDX-License-Identifier: GPL-2.0-or-later
"""A training that only takes its time: it saves when it is asked, and goes on from there.

Arguments: name, seconds of work, seconds for a save, seconds until it trains again, `urgent` or `normal`. What happens is
noted in NAME.log, a line each: Unix seconds, run, event, seconds of work done.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

name, work_s, save_s, restart_s, urgency = sys.argv[1:]
work_s, save_s, restart_s = float(work_s), float(save_s), float(restart_s)
run = int(os.environ.get("SLURM_RESTART_COUNT", 0))
save = pathlib.Path(f"{name}.save")
ASKED = {signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, ASKED)


def note(event, done_s):
    with open(f"{name}.log", "a") as log:
        print(f"{time.time():.3f} {run} {event} {done_s:.3f}", file=log)


def say(words):
    """Tells Surgent, as the monitor does; an epoch is a second."""
    comment = f"urgency={urgency} epochs={work_s:.0f} epoch_s=1 save=step save_s={save_s:.0f} signal=USR1@batch {words}"
    return subprocess.Popen(["scontrol", "update", f"JobId={os.environ['SLURM_JOB_ID']}", f"Comment={comment}"])


def asked(within_s):
    return signal.sigtimedwait(ASKED, max(within_s, 0)) is not None


if run > 0:
    time.sleep(restart_s)
done_s = float(save.read_text()) if save.exists() else 0.0
note("trains", done_s)
began = time.monotonic()
say(f"epoch={done_s:.2f} at={time.time():.0f}")
while asked(work_s - done_s - (time.monotonic() - began)):
    done_s += time.monotonic() - began
    note("asked", done_s)
    time.sleep(save_s)
    save.write_text(str(done_s))
    note("saved", done_s)
    say(f"epoch={done_s:.2f} at={time.time():.0f} saved={time.time():.0f}").wait()
    # Until it is stopped it trains on, which nobody is to find again.
    began = time.monotonic()
note("finished", work_s)
