"""A state that every host can make by itself, and the folder in which a checkpoint of it lies: of the rungs checkpoint-write and checkpoint-read.

w: (layers, width, width) float32, split over the first mesh axis and the others; m: bfloat16, over the others and the first; v: (width, width)
float32, rows over all devices; count: () int32, the same on every device.
args: layers (4), width (256, rounded up to a multiple of the devices), folder (/var/tmp/sliceup-checkpoints: one that all hosts share; each
run has a folder of its own in it).
"""

import contextlib
import os
import pathlib
import time

import sliceup_blocks
import sliceup_chain
from sliceup_canary import Failure

FOLDER, SEEN_S = "/var/tmp/sliceup-checkpoints", 10


def orbax():
    """The library; it is in the pins jax-cpu-train and not in the ordinary ones."""
    try:
        import orbax.checkpoint
    except ImportError as error:
        raise Failure("bundle", f"the environment has no orbax-checkpoint ({error}): add it to the requirements and lock them again (sliceup env lock; "
                      "configs/pins/jax-cpu-train.txt has it for CPU), or go on with --leave-out checkpoint-write --leave-out checkpoint-read") from error
    return orbax.checkpoint


class State:
    """The values of the state, by name, as numpy arrays; and how they lie on a mesh."""

    def __init__(self, session):
        args, numpy, jax = session.canary.args, session.numpy, session.jax
        width = session.shaped(width=sliceup_chain.rounded_up(args.get("width", 256), session.mesh.size))["width"]
        whole = [sliceup_blocks.noise(numpy, (args.get("layers", 4), width, width), seed) for seed in (11, 12)]
        self.jax, self.values = jax, {"w": whole[0], "m": whole[1].astype(jax.numpy.bfloat16), "v": whole[0][-1] - whole[1][0], "count": numpy.int32(1 << 20)}

    def sharding(self, name, mesh):
        spec, axes = self.jax.sharding.PartitionSpec, tuple(mesh.axis_names)
        first, others = axes[0], axes[1:] or None
        return self.jax.sharding.NamedSharding(mesh, {"w": spec(None, first, others), "m": spec(None, others, first), "v": spec(axes), "count": spec()}[name])

    def shapes(self, mesh):
        return {name: self.jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=self.sharding(name, mesh)) for name, value in self.values.items()}


def differing(numpy, one, other):
    """How many numbers have other bits."""
    bits = [numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).reshape(array.size, -1) for array in (one, other)]
    return int((bits[0] != bits[1]).any(1).sum())


def folder(canary):
    """That of this run."""
    return pathlib.Path(canary.args.get("folder", FOLDER)) / str(canary.attempt["run"])


def shared_folder(canary):
    """The same, made by rank 0 and seen by every host: what rank 0 writes there each of them reads."""
    path, word = folder(canary), str(canary.attempt["nonce"])
    try:
        if canary.rank == 0:
            path.mkdir(parents=True, exist_ok=True)
            (path / "shared").write_text(word)
        if canary.world > 1:
            word = canary.gate("folder", "share", word if canary.rank == 0 else "")
        await_word(path / "shared", word)
    except OSError as error:
        raise Failure("launch", f"{error}: the folder of checkpoints cannot be used; {remedy(canary)}") from error
    return path


def await_word(path, word):
    """Of a network's disk for some seconds: its clients keep what they knew of a folder."""
    deadline = time.monotonic() + SEEN_S
    while not path.exists() or path.read_text() != word:
        if time.monotonic() > deadline:
            raise FileNotFoundError(f"{path}, which rank 0 has just written, is not seen by this host")
        with contextlib.suppress(OSError):
            os.listdir(path.parent.parent)
        time.sleep(0.1)


def remedy(canary):
    return (f"set folder in args of the rung {canary.attempt['rung']}, or of the profile, to a folder that all hosts share and may write to; "
            "in a ladder with a cache name it in cache.writable as well")
