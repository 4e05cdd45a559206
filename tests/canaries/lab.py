"""Finds the canary helpers for the canaries of the tests, which live in another folder."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELPERS = os.environ.get("SLICEUP_CANARIES") or os.path.join(ROOT, "worker", "canaries")


def helpers(frontend):
    """Puts one frontend's helper in reach; never the parent, whose folders are named like libraries."""
    sys.path.append(os.path.join(HELPERS, frontend))
