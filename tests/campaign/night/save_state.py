"""Commits its state to /mnt/ckpt after each step, as a trainer does."""
import os
import evidence


class CommitError(RuntimeError):
    pass


def commit(step):
    path = f"/mnt/ckpt/step-{step:04d}.state"
    try:
        with open(path, "wb") as out:
            out.write(os.urandom(6 << 20))
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        evidence.now()
        raise CommitError(f"state of step {step} was not committed") from error


os.makedirs("/mnt/ckpt", exist_ok=True)
for step in range(14):
    commit(step)
    print("committed step", step)
