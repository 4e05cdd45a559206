"""Fails with status 1 on one host and passes on the others. args: host (required), text, after: a file without which the others do not end."""

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
    lab.until_there(canary.args.get("after"))
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
