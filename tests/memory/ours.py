#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells whose the errors are that valgrind found in slurmctld: Surgent's if any frame of a stack is. Fails for those."""

import sys
import xml.etree.ElementTree as tree

PARTS = ("libsurgent", "job_submit_surgent", "preempt_surgent", "site_factor_surgent")


def is_ours(error):
    frames = error.iter("frame")
    return any(part in frame.findtext("obj", "") for frame in frames for part in PARTS)


def show(error):
    print(error.findtext("what") or error.findtext("xwhat/text"))
    for frame in error.iter("frame"):
        print(f"    {frame.findtext('fn', '???')}  ({frame.findtext('obj', '???')})")


def main(files):
    reports = [tree.parse(file).getroot() for file in files]
    whole = [report for report in reports if any(state.text == "FINISHED" for state in report.iter("state"))]
    if not whole:
        sys.exit("no report of valgrind is whole, so nothing was checked")
    errors = [error for report in whole for error in report.iter("error")]
    ours = [error for error in errors if is_ours(error)]
    for error in ours:
        show(error)
    kinds = {}
    for error in errors:
        kinds[error.findtext("kind")] = kinds.get(error.findtext("kind"), 0) + 1
    print(f"{len(whole)} slurmctld under valgrind: {len(errors)} errors {kinds}, of which {len(ours)} are of Surgent")
    sys.exit(1 if ours else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
