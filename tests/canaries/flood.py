"""Floods its output: bytes without a newline, then short lines; otherwise it passes.

args: megabytes (100), lines (100000).
"""

import os

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def body(canary):
    canary.phase("run")
    block = b"x" * (1024 * 1024)
    for _ in range(canary.args.get("megabytes", 100)):
        write_all(1, block)
    for number in range(canary.args.get("lines", 100000)):
        write_all(2, b"line %d\n" % number)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
