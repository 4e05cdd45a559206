"""Each host does something else, for those who watch: one fails and says so in a hostile text, one hangs, the others pass.

args: late (comes last to the gate "meet", where there is one), fails, hangs, seconds (1).
"""

import sys
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><b>&amp; \u202egnp.exe \x1b[31m'\""


def body(canary):
    host, args = canary.attempt["host"], canary.args
    sliceup_plain.start(canary)
    canary.phase("compile")
    if "late" in args:
        time.sleep(args.get("seconds", 1) if host == args["late"] else 0)
        canary.gate("meet", "agree", "same")
    canary.phase("step")
    print(HOSTILE, flush=True)
    if host == args.get("fails"):
        sys.exit(f"RuntimeError: {HOSTILE}")
    time.sleep(3600 if host == args.get("hangs") else args.get("seconds", 1))
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
