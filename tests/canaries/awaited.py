"""Everybody but one waits at a gate until time is over; all take a while to die, and the one that did not come then says in known
text that a peer failed.

args: host (required: which one does not come).
"""

import signal
import time

import lab

lab.helpers("plain")
import sliceup_canary  # noqa: E402
import sliceup_plain  # noqa: E402

FOREVER_S = 3600


def complain(*_):
    print("INTERNAL: Polled an error from coordination service: UNAVAILABLE: Connection reset by peer", flush=True)


def body(canary):
    signal.signal(signal.SIGTERM, complain if canary.attempt["host"] == canary.args["host"] else signal.SIG_IGN)
    canary.phase("init" if canary.attempt["host"] == canary.args["host"] else "compile")
    try:
        if canary.attempt["host"] != canary.args["host"]:
            canary.gate("program", "agree", "same")
    except sliceup_canary.Stopped:
        pass
    time.sleep(FOREVER_S)


sliceup_plain.run(body)
