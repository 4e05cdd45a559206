"""Fails with a text on one host in the first attempts, and passes later.

args: host (required), text (required), times (1): how many attempts fall, file: as in marks.py.
A rung of scope slice meets the others first, so that they notice, and reports the metric "devices".
"""

import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    if "file" in canary.args:
        lab.mark(canary)
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary) if canary.attempt["scope"] == "slice" else None
    canary.phase("run")
    attempt = canary.attempt
    if attempt["host"] == canary.args["host"] and attempt["attempt"] <= canary.args.get("times", 1):
        print(canary.args["text"], file=sys.stderr, flush=True)
        sys.exit(1)
    if star:
        ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
        sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
