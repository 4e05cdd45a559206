"""For the canaries of the tests: finds the helpers, which live in another folder, and leaves marks."""

import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELPERS = os.environ.get("SLICEUP_CANARIES") or os.path.join(ROOT, "worker", "canaries")


def helpers(frontend):
    """Puts one frontend's helper in reach; never the parent, whose folders are named like libraries."""
    sys.path.append(os.path.join(HELPERS, frontend))


def mark(canary):
    """Appends "host rung pass attempt" to args.file; one write to a file opened for appending is not torn by others."""
    words = [str(canary.attempt[name]) for name in ("host", "rung", "pass", "attempt")]
    descriptor = os.open(canary.args["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (" ".join(words) + "\n").encode())
    os.close(descriptor)


def until_there(path, bound_s=30):
    """Waits for a file that the test makes; no path: not at all."""
    end = time.monotonic() + bound_s
    while path and not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(f"{path} was not made within {bound_s} s")
        time.sleep(0.02)
