"""Goes through its phases slowly and passes.

args: seconds (1) for each phase, phases (["init", "run"]), host (if given, only that host is slow).
"""

import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    slow = canary.args.get("host") in (None, canary.attempt["host"])
    for name in canary.args.get("phases", ["init", "run"]):
        canary.phase(name)
        time.sleep(canary.args.get("seconds", 1) if slow else 0)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
