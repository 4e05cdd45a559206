"""Exits with status 3 after a phase, and says nothing about it."""

import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    canary.phase("run")
    sys.exit(3)


sliceup_plain.run(body)
