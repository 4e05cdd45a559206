"""What every torch_xla canary shares: start the runtime, trace a program, step, count.

One process a host, and its first device. Inputs are made with numpy on the host, because an operation on a lazy tensor
is part of the next program: what is not in the program must not be done by the device.
"""

import hashlib
import importlib.metadata
import os
import sys

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402

# The parent folder holds a folder named torch_xla: left in the path it could be taken for the library.
sys.path.remove(PARENT)

from sliceup_canary import Failure  # noqa: E402

PACKAGES = ("torch", "torch_xla", "libtpu", "numpy", "jax", "jaxlib")
# What a proof looks at, beside the words of the protocol: a row that is absent was never counted up.
RAW = ("CachedCompile", "UncachedCompile", "PersistentCacheHit", "PersistentCacheMiss",
       "PersistentCacheDeserializeFailure", "MarkStep")
# Operations that need no lowering: reading a value is one (pytorch/xla:docs/source/learn/troubleshoot.md).
READS = ("aten::_local_scalar_dense", "aten::nonzero")
TEXTS = (
    ("bundle", ("libtpu not found", "deserializing serialized executable not supported", "pjrt api")),
    ("cache", ("persistent cach", "deserialize executable")),
    ("launch", ("pjrt_device", "no pjrtplugin registered")),
    ("device", ("already in use", "device or resource busy")),
    ("compiler", ("resource_exhausted", "hlo")),
)


class Session:
    """A started runtime: the canary, the libraries, and the device."""

    def __init__(self, canary):
        self.canary = canary
        canary.phase("import")
        import numpy
        import torch
        import torch_xla
        from torch_xla.debug import metrics

        self.numpy, self.torch, self.torch_xla, self.metrics = numpy, torch, torch_xla, metrics
        canary.bundle(versions())
        canary.policy()
        canary.phase("init")
        self.device = torch_xla.device()
        report_backend(canary, torch_xla.runtime)
        # What is held against numpy is the structure, not the rounding of a matrix unit.
        torch_xla._XLAC._xla_set_mat_mul_precision("highest")

    def place(self, values):
        """A tensor on the device; float64 becomes float32."""
        values = self.numpy.asarray(values)
        if values.dtype == self.numpy.float64:
            values = values.astype(self.numpy.float32)
        return self.torch.from_numpy(self.numpy.ascontiguousarray(values)).to(self.device)

    def trace(self, name, outputs):
        """Names the program that would give these lazy tensors; nothing runs yet."""
        self.canary.phase("trace")
        traced = self.torch_xla._XLAC._get_xla_tensors_hlo(list(outputs))
        self.canary.program(name, hashlib.sha256(traced.encode()).hexdigest())
        self.canary.phase("run")

    def sync(self):
        """Compiles what was traced since the last one, or finds it compiled, and executes it."""
        self.torch_xla.sync(wait=True)

    def value(self, tensor):
        """numpy float64."""
        return tensor.cpu().numpy().astype(self.numpy.float64)

    def largest_error(self, tensor, expected):
        return float(self.numpy.abs(self.value(tensor) - expected).max())

    def compiled(self):
        """How many programs were compiled or loaded so far: what was found in memory is not among them."""
        return sum(self.metrics.counter_value(name) or 0 for name in ("PersistentCacheHit", "UncachedCompile"))

    def finish(self):
        fallen = [name for name in self.metrics.counter_names() if name.startswith("aten::") and name not in READS]
        for name in fallen[:8]:
            self.canary.note(f"{name} ran on the host's processor, outside the compiled program", "rerun")
        self.canary.check("operations outside the compiled program", 0, len(fallen))
        self.canary.memory(device_peak_bytes=peak_bytes(self.torch_xla, self.device))
        count(self.canary, self.metrics)
        self.canary.counters()


def versions():
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def report_backend(canary, runtime):
    platform = runtime.device_type().lower()
    local = runtime.addressable_device_count()
    canary.backend(
        platform=platform, platform_version="", device_kind=platform, devices=runtime.global_device_count(),
        local_devices=local, process_count=runtime.process_count(), process_index=runtime.process_index(),
        kernel_path="native")
    wanted = canary.attempt["backend"]
    if platform != wanted:
        raise Failure("launch", f"backend: expected {wanted}, found {platform}")
    if local != canary.devices_per_host:
        raise Failure("platform", f"devices of this host: expected {canary.devices_per_host}, found {local}")


def peak_bytes(torch_xla, device):
    """0 where the runtime does not count, as on CPU."""
    from torch_xla.core import xla_model

    try:
        return int(xla_model.get_memory_info(device).get("peak_bytes_used", 0))
    except Exception:  # noqa: BLE001 - a figure that is not there fails no rung; backends raise what they like
        return 0


def milliseconds(metrics, name):
    """The sum of a metric's samples; it is kept in nanoseconds."""
    seen = metrics.metric_data(name)
    return round(seen[1] / 1e6) if seen else 0


def samples(metrics, name):
    seen = metrics.metric_data(name)
    return int(seen[0]) if seen else 0


def count(canary, metrics):
    """From torch_xla's counters to the protocol's: None there means that it never happened."""
    hits = metrics.counter_value("PersistentCacheHit") or 0
    misses = metrics.counter_value("UncachedCompile") or 0
    canary.counted.update(
        compile_requests=hits + misses, cache_hits=hits, cache_misses=misses,
        executions=samples(metrics, "ExecuteTime") + samples(metrics, "ExecuteReplicatedTime"),
        compile_ms=milliseconds(metrics, "CompileTime"), retrieval_ms=milliseconds(metrics, "PersistentCacheLoad"))
    for name in RAW:
        if metrics.counter_value(name) is not None:
            canary.counted[name] = int(metrics.counter_value(name))
    if samples(metrics, "CompileTime"):
        canary.counted["CompileTime"] = samples(metrics, "CompileTime")


def classify(error):
    if isinstance(error, ImportError):
        return "bundle"
    text = str(error).lower()
    for owner, words in TEXTS:
        if any(word in text for word in words):
            return owner
    return "unknown"


def run(body):
    """Runs body(session) as a canary."""

    def whole(canary):
        session = Session(canary)
        body(session)
        session.finish()

    sliceup_canary.run(whole, classify)
