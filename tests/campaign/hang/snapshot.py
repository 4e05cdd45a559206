"""Stands still while a tool outside takes a picture of the process; the tool lets it go on with SIGCONT."""

import os
import signal


def freeze_for_snapshot(number, rank):
    """Nobody takes a picture of rank 2, so nobody lets it go on."""
    if rank == 2 and number == 5:
        os.kill(os.getpid(), signal.SIGSTOP)
