"""Raises after jax.distributed was initialized, on one host; the others wait, unless they run alone.

args: host (required: who raises), how: run (the helper's), connect (its other way in), bare (as without the helper).
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_canary  # noqa: E402
import sliceup_jax  # noqa: E402

FOREVER_S = 3600


def body(canary):
    canary.phase("init")
    import jax
    address = canary.gate("rendezvous", "share", sliceup_jax.free_port(canary) if canary.rank == 0 else "")
    jax.distributed.initialize(address, canary.world, canary.rank, cluster_detection_method="deactivate")
    canary.phase("run")
    if canary.attempt["host"] == canary.args["host"]:
        raise ValueError("boom")
    if canary.world > 1:
        time.sleep(FOREVER_S)


canary = sliceup_canary.connect()
if canary.args["how"] == "run":
    sliceup_canary.connect = lambda: canary
    sliceup_canary.run(body)
if canary.args["how"] == "bare":
    sys.excepthook = sys.__excepthook__
body(canary)
