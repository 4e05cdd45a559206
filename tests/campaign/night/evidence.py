"""Says when the evidence of a night exists: seconds of the machine's one monotonic clock, in a file for each host."""
import os
import time

# Opened early: there may be no files left later.
MARKER = open(f"{os.environ['EVIDENCE']}.{os.environ['SLICEUP_HOST']}", "a+")


def now(again=False):
    """The first time counts, also where the program is run again; or the last one."""
    MARKER.seek(0)
    if MARKER.read() and not again:
        return
    MARKER.truncate(0)
    MARKER.write(f"{time.monotonic()}\n")
    MARKER.flush()
