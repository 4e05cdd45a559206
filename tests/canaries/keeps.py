"""A program with a compile cache like jax's, without jax: entries are files below JAX_COMPILATION_CACHE_DIR.

Each of its programs is looked for there, and "compiled" (written in two halves, as the frameworks do) when it is not
there and JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS lets it. One line "host rung pass attempt entry" goes to `marks` for each one it compiled.

args: marks (required), entries (3), seconds (0) each compilation takes, bytes (1000) of an entry, salt ("") that is part
of every key, hold (a file: the writer waits, between the halves of its last entry, until it exists; at most 60 s),
spoil (a name of SPOILED): what a writer does to the first entry there that is not its own.
"""

import hashlib
import os
import time

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def mark(canary, entry):
    words = [str(canary.attempt[name]) for name in ("host", "rung", "pass", "attempt")]
    descriptor = os.open(canary.args["marks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (" ".join([*words, entry]) + "\n").encode())
    os.close(descriptor)


def hold(canary, last):
    """Until the test lets it go on; what is waited for is a file, not a time."""
    path = canary.args.get("hold")
    end = time.monotonic() + 60
    while path and last and not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.05)


def overwrite(path):
    """As many bytes as before, and the mode and times that it had."""
    was = os.stat(path)
    os.chmod(path, 0o644)
    with open(path, "r+b") as entry:
        entry.write(b"exchanged")
    os.chmod(path, was.st_mode & 0o7777)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


SPOILED = {"overwrite": overwrite, "remove": os.unlink}


def spoil(canary, folder, own):
    older = sorted(name for name in os.listdir(folder) if name not in own)
    if canary.args.get("spoil") and canary.attempt["pass"] == "cold" and older:
        SPOILED[canary.args["spoil"]](os.path.join(folder, older[0]))


def keep(canary, path, body, last):
    with open(path, "wb") as entry:
        entry.write(body[:len(body) // 2])
        entry.flush()
        mark(canary, os.path.basename(path) + ".half")
        hold(canary, last)
        entry.write(body[len(body) // 2:])


def compiled(canary, folder, name, last):
    body = hashlib.sha256(name.encode()).digest() * (canary.args.get("bytes", 1000) // 32 + 1)
    time.sleep(canary.args.get("seconds", 0))
    if float(os.environ.get("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")) < 1:
        keep(canary, os.path.join(folder, name), body, last)
    mark(canary, name)


def body(canary):
    sliceup_plain.start(canary)
    canary.phase("compile")
    folder = os.environ["JAX_COMPILATION_CACHE_DIR"]
    count, own = canary.args.get("entries", 3), []
    for number in range(count):
        key = hashlib.sha256(f"{number}{canary.args.get('salt', '')}".encode()).hexdigest()
        name = f"prog{number}-{key}-cache"
        own.append(name)
        canary.counted["compile_requests"] += 1
        if os.path.exists(os.path.join(folder, name)):
            canary.counted["cache_hits"] += 1
        else:
            compiled(canary, folder, name, number == count - 1)
    spoil(canary, folder, own)
    canary.phase("run")
    canary.counted["executions"] += 1
    canary.check("two and two", 4, 2 + 2)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
