"""The host memory that a training run claims, really taken and kept: the premapped buffer and data loaders.

Adds: pages that are touched and stay. Before the first is taken the claim is held against what the machine and each control group have, and
before every further 64 MiB again, so that a claim that is too large is told and ends nothing. Each part is a process of its own, the first
to be ended if memory runs out all the same. No accelerator is touched: the premapped buffer is pages like others here.
args: loaders (4), loader_mib (256: each), premapped_mib (that of TPU_PREMAPPED_BUFFER_SIZE, which premapped_buffer_bytes of the profile
sets; without it none). Kept for the rung's `hold`, or 5 s.
"""

import mmap
import os
import signal
import sys
import time

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402
from sliceup_canary import Failure  # noqa: E402
import sliceup_memory  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
STEP, SPARE, KEPT_S, STALLED = 64 * MIB, 256 * MIB, 5.0, 0.1
RAISED = "nothing: "


class Part:
    """A process that takes so many bytes, says "kept" when it has them, or what there was no room for, or why it cannot, and keeps them until it is ended."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        self.read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.write(write, take(size).encode())
                signal.pause()
            except Exception as error:  # noqa: BLE001 - whatever it is, this process cannot take its bytes
                os.write(write, f"{RAISED}{type(error).__name__}: {error}".encode())
            finally:
                os._exit(1)
        os.close(write)

    def answer(self):
        """Waits for it; nothing: it has ended before."""
        return os.read(self.read, 4096).decode()

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def take(size):
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    pages = mmap.mmap(-1, max(size, 1))
    for at in range(0, size, STEP):
        room = sliceup_memory.least_room()
        if room.bytes < STEP + SPARE // 2:
            return f"{at >> 20} of {size >> 20} MiB, then {room.what} had {room.bytes >> 20} MiB left"
        step = min(STEP, size - at)
        pages[at:at + step] = b"\xa5" * step
    globals()["pages"] = pages
    return "kept"


def gib(size):
    return f"{size / GIB:.2f} GiB"


def claimed(canary):
    """(name, bytes) of each part."""
    args = canary.args
    premapped = args["premapped_mib"] * MIB if "premapped_mib" in args else int(os.environ.get("TPU_PREMAPPED_BUFFER_SIZE") or 0)
    parts = [("premapped", premapped)] if premapped else []
    return parts + [(f"loader{number}", args.get("loader_mib", 256) * MIB) for number in range(args.get("loaders", 4))]


def remedy(canary, parts):
    words = [f"loaders or loader_mib in args of rung {canary.attempt['rung']}"] if len(parts) > ("premapped" in dict(parts)) else []
    if "premapped" in dict(parts):
        words.append("premapped_mib there" if "premapped_mib" in canary.args else "premapped_buffer_bytes in the profile")
    return "lower " + ", or ".join(words)


def hold_against(canary, parts, room):
    claim = sum(size for _, size in parts)
    if claim + SPARE <= room.bytes:
        return
    listed = ", ".join(f"{name} {gib(size)}" for name, size in parts[:1]) + (f" and {len(parts) - 1} more of {gib(parts[-1][1])}" if len(parts) > 1 else "")
    raise Failure("launch", f"this run claims {gib(claim)} of this host's memory ({listed}) and {gib(SPARE)} for the system, but {room.what} has "
                  f"{gib(room.bytes)} left: {gib(claim + SPARE - room.bytes)} too much; {remedy(canary, parts)}. Nothing was taken")


def taken(canary, parts, processes):
    """One after the other, so that no two of them find the same room."""
    for name, size in parts:
        processes.append(Part(name, size))
        answer = processes[-1].answer()
        if answer.startswith(RAISED):
            raise Failure("host", f"{name} got {answer}")
        if answer != "kept":
            raise Failure("launch", f"{name} got {answer or 'no answer: it was ended, as when memory runs out'}; {remedy(canary, parts)}")


def kept(canary, processes):
    """All parts at once, for the time of the hold; then facts and checks of what was resident."""
    before, began = sliceup_memory.stalled_us(), time.monotonic()
    time.sleep(canary.hold_s or KEPT_S)
    after, took = sliceup_memory.stalled_us(), time.monotonic() - began
    for part in processes:
        resident = sliceup_memory.resident_bytes(part.pid)
        canary.fact(f"claim.resident_bytes.{part.name}", resident)
        canary.check(f"MiB of {part.name} that are not resident", 0, max(part.size - resident, 0) // MIB, part.size // MIB // 50)
    for name, value in sliceup_memory.pressure().items():
        canary.fact(f"claim.pressure.{name}", value)
    if None not in (before, after):
        canary.check("share of the time in which everything waited for memory", 0, (after - before) / 1e6 / took, STALLED)


def body(canary):
    canary.phase("look")
    parts, room = claimed(canary), sliceup_memory.least_room()
    canary.fact("claim.bytes", sum(size for _, size in parts))
    canary.fact("claim.room_bytes", room.bytes)
    canary.fact("claim.room_of", room.what)
    hold_against(canary, parts, room)
    canary.phase("take")
    processes = []
    try:
        taken(canary, parts, processes)
        canary.phase("run")
        kept(canary, processes)
        canary.fact("claim.room_left_bytes", sliceup_memory.least_room().bytes)
    finally:
        for part in processes:
            part.end()
    canary.fact("claim.room_after_bytes", sliceup_memory.least_room().bytes)
    canary.memory()
    canary.counters()


sliceup_canary.run(body)
