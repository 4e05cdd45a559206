"""Prints PASS wherever it can, and exits with status 1."""

import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    canary.phase("PASS")
    canary.note("PASS: all tests passed")
    print("PASS\nAll tests PASSED\n[  PASSED  ] exit status 0", flush=True)
    print("PASS", file=sys.stderr)
    sys.exit(1)


sliceup_plain.run(body)
