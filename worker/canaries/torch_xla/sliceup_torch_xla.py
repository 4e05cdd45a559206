"""What every torch_xla canary shares: start the runtime, trace a program, step, count.

One process a host. Without SPMD its first device works; with it (argument `spmd: true`, or run(body, spmd=True)) all
devices of the mesh do. Inputs are made with numpy on the host, because an operation on a lazy tensor is part of the next
program: what is not in the program must not be done by the device.
"""

import os
import sys

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402

sliceup_canary.leave_path(PARENT)

import sliceup_jax_guard  # noqa: E402

# Before all other imports, those of the canary among them.
GUARD = sliceup_jax_guard.install()

from sliceup_canary import Failure  # noqa: E402
from sliceup_torch_xla_client import Client, ordinal  # noqa: E402,F401
from sliceup_torch_xla_counts import Counts, Steps  # noqa: E402
from sliceup_torch_xla_mesh import Mesh  # noqa: E402
from sliceup_torch_xla_program import fingerprint  # noqa: E402

PACKAGES = ("torch", "torch_xla", "libtpu", "numpy", "jax", "jaxlib", "torchax")


class Session:
    """A started runtime: the canary, the libraries, the client, and under SPMD the mesh of the attempt."""

    def __init__(self, canary, spmd=None, kernel_path="native"):
        self.canary, self.programs = canary, 0
        canary.phase("import")
        GUARD.refuse_loaded()
        import numpy
        import torch
        import torch_xla
        from torch_xla.debug import metrics

        self.numpy, self.torch, self.torch_xla = numpy, torch, torch_xla
        self.counts = Counts(metrics)
        bundle = sliceup_canary.versions(PACKAGES)
        canary.bundle(bundle)
        canary.policy()
        canary.phase("init")
        # A TPU's client waits for the clients of all hosts; this wait has a bound and a name, that one has not.
        if canary.world > 1:
            canary.gate("rendezvous", "share", canary.attempt["address"] if canary.rank == 0 else "")
        wanted = canary.args.get("spmd", False) if spmd is None else spmd
        self.client = Client(torch_xla, bundle.get("torch_xla", ""), wanted)
        self.device = self.client.device
        seen = self.client.describe(kernel_path)
        GUARD.open()
        report_backend(canary, seen)
        self.client.expect_variable()
        self.split = Mesh(self) if wanted else None
        if wanted:
            refuse_local_reductions()
        # What is held against numpy is the structure, not the rounding of a matrix unit.
        self.client.core._xla_set_mat_mul_precision("highest")

    @property
    def mesh(self):
        if self.split is None:
            raise Failure("program", "SPMD is missing: without it there is one device and no mesh. The argument spmd: true makes the "
                          "canary call torch_xla.runtime.use_spmd() before its first device")
        return self.split

    def place(self, values, *spec):
        """A tensor on the device; float64 becomes float32. Under SPMD it is split as spec says, an axis or None a dimension."""
        values = self.numpy.asarray(values)
        if values.dtype == self.numpy.float64:
            values = values.astype(self.numpy.float32)
        tensor = self.torch.from_numpy(self.numpy.ascontiguousarray(values).reshape(values.shape))
        if not self.split:
            # Not tensor.to(): it makes a single number a constant (0 and 1), and so a program of its own, or one that is
            # never written to, which makes a step that does write to it another program.
            return self.client.core._xla_tensors_from_aten([tensor], [str(self.device)])[0]
        tensor = tensor.to(self.device)
        self.split.split(tensor, spec)
        return tensor

    def trace(self, name, outputs):
        """Names the program that would give these lazy tensors; nothing runs yet."""
        self.canary.phase("trace")
        self.canary.program(name, fingerprint(self.client.core, outputs))
        self.canary.phase("run")

    def sync(self):
        """Compiles what was traced since the last one, or finds it compiled, and executes it."""
        self.torch_xla.sync(wait=True)

    def steps(self):
        return Steps(self.counts)

    def parts(self, tensor):
        """[(index, values)]: what each local device holds, numpy float64. A copy of the whole of a split tensor would be a
        program of its own."""
        if self.split:
            return [(index, values) for _, index, values in self.split.blocks(tensor)]
        return [(..., tensor.cpu().numpy().astype(self.numpy.float64))]

    def value(self, tensor):
        """numpy float64, of a tensor that is whole on every device."""
        return self.parts(tensor)[0][1]

    def largest_error(self, tensor, expected):
        """A tensor smaller than its devices leaves some of them without a part of it."""
        errors = [self.numpy.abs(values - expected[index]) for index, values in self.parts(tensor)]
        return max(float(each.max()) for each in errors if each.size)

    def shaped(self, **sizes):
        """The sizes to compute with, by the shapes that the profile allows; to be asked before anything is compiled."""
        return self.canary.shaped(self.counts.compiled(), **sizes)

    def tell_counters(self):
        self.canary.memory(device_peak_bytes=0 if self.split else peak_bytes(self.device))
        self.counts.put_into(self.canary.counted)
        self.canary.counters()

    def expect_honest(self):
        """What a program can do after its start that makes its numbers say something else."""
        self.client.expect_mode()
        self.client.expect_variable()
        self.counts.expect_compiled_operations()
        self.counts.settle()
        alone = self.counts.samples("ExecuteTime")
        if self.split and alone:
            raise Failure("program", f"{alone} executions were on one device, under SPMD all have to be on all devices")


def report_backend(canary, seen):
    canary.backend(**seen)
    expect("launch", "backend", canary.attempt["backend"], seen["platform"])
    expect("platform", "devices of this host", canary.devices_per_host, seen["local_devices"])
    if seen["platform"] == "cpu" and canary.world > 1:
        raise Failure("launch", "several processes of torch_xla form no mesh on CPU: a rung of scope slice needs one host there")
    expect("launch", "processes", canary.world, seen["process_count"])
    # The mesh is laid out by rank; a runtime that numbers hosts otherwise would prove the wrong thing.
    expect("platform", "process index", canary.rank, seen["process_index"])


def expect(owner, name, wanted, seen):
    if wanted != seen:
        raise Failure(owner, f"{name}: expected {wanted}, found {seen}")


def refuse_local_reductions():
    """mesh_reduce under SPMD returns this process's own value, without a word (seen with 2.7.0)."""
    from torch_xla.core import xla_model

    def mesh_reduce(tag, *_, **__):
        raise Failure("program", f"mesh_reduce ('{tag}') under SPMD reduces nothing: it returns the value of this process alone. Reduce on "
                      "the mesh, within the program")

    xla_model.mesh_reduce = mesh_reduce


def peak_bytes(device):
    """0 where the runtime does not count, as on CPU; under SPMD it cannot be asked."""
    from torch_xla.core import xla_model

    try:
        return max(0, int(xla_model.get_memory_info(device).get("peak_bytes_used", 0)))  # -1: the client counts none
    except Exception:  # noqa: BLE001 - a figure that is not there fails no rung; backends raise what they like
        return 0


def run(body, spmd=None, kernel_path="native"):
    """Runs body(session) as a canary. spmd: None: as the argument `spmd` says. kernel_path: by what the program computes."""

    def whole(canary):
        session = Session(canary, spmd, kernel_path)
        try:
            body(session)
            session.expect_honest()
        except Failure:
            session.tell_counters()
            raise
        session.tell_counters()

    sliceup_canary.run(whole)
