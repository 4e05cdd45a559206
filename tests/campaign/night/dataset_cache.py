"""The cache of samples of this host, which one process at a time may refresh."""
import fcntl
import evidence


def fetch(epoch):
    if epoch == 3:
        evidence.now()
        with open("/srv/cache.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
    return 1000 + epoch
