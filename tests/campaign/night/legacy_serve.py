"""Somebody's server of last week, which has the chip."""
import fcntl
import os
import time

card = os.open("/dev/accel0", os.O_RDWR)
fcntl.flock(card, fcntl.LOCK_EX)
time.sleep(100000)
