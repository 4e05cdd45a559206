"""A member of a slice-wide program ends with status 1 while the others wait for it in a collective.

args: host (required; the one that falls), when ("collective"; or "start": before it has said anything, "gate": before
the rendezvous, "end": after all was reduced).
"""

import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def fall(canary):
    print("this host cannot go on", file=sys.stderr, flush=True)
    sys.exit(1)


def body(canary):
    falls, when = canary.attempt["host"] == canary.args["host"], canary.args.get("when", "collective")
    if falls and when == "start":
        fall(canary)
    sliceup_plain.start(canary)
    if falls and when == "gate":
        fall(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    if falls and when != "end":
        fall(canary)
    ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
    sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    if canary.attempt["host"] == canary.args["host"]:
        fall(canary)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
