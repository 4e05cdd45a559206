"""Fails with status 1 on one host and passes on the others. args: host (required), text."""

import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    canary.phase("run")
    if canary.attempt["host"] == canary.args["host"]:
        print(canary.args.get("text", "this host cannot"), file=sys.stderr, flush=True)
        sys.exit(1)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
