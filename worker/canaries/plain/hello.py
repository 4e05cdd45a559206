"""A host says what it is and shows that it can count.

Adds: a process that starts, speaks the protocol and gets a known value right. Scope: host.
args: count (1000).
"""

import os

import sliceup_plain


def body(canary):
    sliceup_plain.start(canary)
    canary.fact("kernel.release", os.uname().release)
    canary.phase("run")
    count = canary.args.get("count", 1000)
    canary.check("sum of integers", count * (count - 1) // 2, sum(range(count)))
    canary.counted["executions"] += 1
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
