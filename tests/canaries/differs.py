"""Passes, and is another on one host: for the tests of drift.

args: host (which); facts (["name=value"] that every host says); odd_facts (what that host says instead);
env and
odd_env (["NAME=value"], as imports put them into the environment); seconds and phase (how much longer it takes); bundle
(["name=version"]); killed (that host's program is, before it says anything of this).
"""

import os
import signal
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    odd = canary.args.get("host") == canary.attempt["host"]
    sliceup_plain.start(canary)
    if odd and canary.args.get("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    canary.bundle(dict(word.split("=") for word in canary.args.get("bundle", [])))
    for word in canary.args.get("facts", []) + (canary.args.get("odd_facts", []) if odd else []):
        name, _, value = word.partition("=")
        canary.fact(name, value)
    for word in canary.args.get("env", []) + (canary.args.get("odd_env", []) if odd else []):
        name, _, value = word.partition("=")
        os.environ[name] = value
    canary.policy()
    canary.phase(canary.args.get("phase", "compile"))
    time.sleep(canary.args.get("seconds", 0) if odd else 0)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
