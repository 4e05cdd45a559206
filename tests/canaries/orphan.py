"""Leaves a grandchild behind, in a session of its own, deaf to signals; otherwise it passes.

args: held_file (the grandchild keeps it locked as long as it lives; required), seconds (600).
"""

import fcntl
import os
import signal
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def orphan(path, seconds):
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    with open(path + ".new", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # not its pid, which may be that of a namespace of its own
        os.rename(path + ".new", path)
        time.sleep(seconds)
    os._exit(0)


def body(canary):
    canary.phase("run")
    path = canary.args["held_file"]
    child = os.fork()
    if child == 0:
        orphan(path, canary.args.get("seconds", 600))
    os.waitpid(child, 0)
    while not os.path.exists(path):
        time.sleep(0.01)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
