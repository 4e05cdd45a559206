"""Says its variables and a phase, ignores every polite signal, and hangs. args: phase (run)."""

import signal
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    canary.policy()
    canary.phase(canary.args.get("phase", "run"))
    while True:
        time.sleep(3600)


sliceup_plain.run(body)
