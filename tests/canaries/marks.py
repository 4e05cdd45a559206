"""Writes one line for itself into a file, goes through a phase, and passes.

args: file (required; "host rung pass attempt" is appended), seconds (0) to stay in its phase, until: and until this file is there,
phase (run).
A rung of scope slice meets the others in an all-reduce and reports the metric "devices".
"""

import os
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

LOOK_S = 0.02


def body(canary):
    lab.mark(canary)
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary) if canary.attempt["scope"] == "slice" else None
    canary.phase(canary.args.get("phase", "run"))
    time.sleep(canary.args.get("seconds", 0))
    while "until" in canary.args and not os.path.exists(canary.args["until"]):
        time.sleep(LOOK_S)
    if star:
        ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
        sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
