"""On each host something else. args: fails (a host, with harm in its last words, or `says`), hangs (a host), slow (a host that compiles as long as the
others run); the others print a line a second for so many seconds."""

import sys
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

HARM = "RuntimeError: broken \x1b[2J\x1b]0;owned\x07 \u202e <b>&\x9b31m"


def body(canary):
    host = canary.attempt["host"]
    sliceup_plain.start(canary)
    canary.phase("compile")
    if host == canary.args.get("slow"):
        time.sleep(canary.args["seconds"])
    if host == canary.args["fails"]:
        print(canary.args.get("says", HARM), file=sys.stderr, flush=True)
        sys.exit(1)
    if host == canary.args["hangs"]:
        canary.phase("waits")
        time.sleep(3600)
    for step in range(canary.args["seconds"]):
        print(f"step {step}", flush=True)
        time.sleep(1)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
