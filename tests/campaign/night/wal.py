"""Writes the log ahead of a store: segments of a MiB, each complete or not there."""
import logging
import os
import sys
import time
import evidence

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-5s wal: %(message)s")
log = logging.getLogger()


def seal(number):
    with open(f"segment-{number:06d}.open", "wb") as out:
        out.write(os.urandom(1 << 18))
        out.flush()
        os.fsync(out.fileno())
    os.rename(f"segment-{number:06d}.open", f"segment-{number:06d}")


os.chdir("/srv/wal")
for number in range(30):
    try:
        seal(number)
    except OSError as error:
        evidence.now()
        log.error("segment %d not sealed: %s", number, error.strerror)
        sys.exit(3)
    if number % 5 == 0:
        log.info("segment %d sealed", number)
    time.sleep(0.4)
log.info("all sealed")
