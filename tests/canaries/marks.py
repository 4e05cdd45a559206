"""Writes one line for itself into a file, goes through a phase, and passes.

args: file (required; "host rung pass attempt" is appended), seconds (0) to stay in its phase, phase (run).
A rung of scope slice meets the others in an all-reduce and reports the metric "devices".
"""

import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    lab.mark(canary)
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary) if canary.attempt["scope"] == "slice" else None
    canary.phase(canary.args.get("phase", "run"))
    time.sleep(canary.args.get("seconds", 0))
    if star:
        ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
        sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
