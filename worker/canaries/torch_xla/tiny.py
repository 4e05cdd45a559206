"""The smallest program of torch_xla: the sum of squares on this host's first device.

Adds: a traced program, its cache entry, its execution and its value, with the runtime's own counters read in the
process and not from text. Nothing is exchanged: on CPU several processes form no mesh.
args: count (10), steps (2).
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

PACKAGES = ("torch", "torch_xla", "libtpu", "numpy", "jax", "jaxlib")
# What a proof looks at, beside the words of the protocol: a row that is absent was never counted up.
RAW = ("CachedCompile", "UncachedCompile", "PersistentCacheHit", "PersistentCacheMiss",
       "PersistentCacheDeserializeFailure", "MarkStep")
TEXTS = (
    ("bundle", ("libtpu not found", "deserializing serialized executable not supported", "pjrt api")),
    ("cache", ("persistent cach", "deserialize executable")),
    ("launch-policy", ("pjrt_device", "no pjrtplugin registered")),
    ("device", ("already in use", "device or resource busy")),
    ("compiler", ("resource_exhausted", "hlo")),
)


def versions():
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def milliseconds(met, name):
    """The sum of a metric's samples; it is kept in nanoseconds."""
    seen = met.metric_data(name)
    return round(seen[1] / 1e6) if seen else 0


def samples(met, name):
    seen = met.metric_data(name)
    return int(seen[0]) if seen else 0


def count(canary, met):
    """From torch_xla's counters to the protocol's: None there means that it never happened."""
    hits = met.counter_value("PersistentCacheHit") or 0
    misses = met.counter_value("UncachedCompile") or 0
    canary.counted.update(
        compile_requests=hits + misses, cache_hits=hits, cache_misses=misses,
        executions=samples(met, "ExecuteTime") + samples(met, "ExecuteReplicatedTime"),
        compile_ms=milliseconds(met, "CompileTime"), retrieval_ms=milliseconds(met, "PersistentCacheLoad"))
    for name in RAW:
        if met.counter_value(name) is not None:
            canary.counted[name] = int(met.counter_value(name))
    if samples(met, "CompileTime"):
        canary.counted["CompileTime"] = samples(met, "CompileTime")


def report_backend(canary, runtime):
    platform = runtime.device_type().lower()
    local = runtime.addressable_device_count()
    canary.backend(
        platform=platform, platform_version="", device_kind=platform, devices=runtime.global_device_count(),
        local_devices=local, process_count=runtime.process_count(), process_index=runtime.process_index(),
        kernel_path="reference")
    wanted = canary.attempt["backend"]
    if platform != wanted:
        raise sliceup_canary.Failure("launch-policy", f"backend: {wanted} asked for, {platform} seen")
    if local != canary.devices_per_host:
        raise sliceup_canary.Failure(
            "platform", f"devices of this host: {canary.devices_per_host} asked for, {local} seen")


def body(canary):
    canary.phase("import")
    import torch
    import torch_xla
    from torch_xla import runtime
    from torch_xla.debug import metrics as met

    canary.bundle(versions())
    canary.policy()
    canary.phase("init")
    device = torch_xla.device()
    report_backend(canary, runtime)

    numbers = canary.args.get("count", 10)
    x = torch.arange(numbers, dtype=torch.float32).to(device)  # (numbers,) float32
    torch_xla.sync()
    canary.phase("trace")
    traced = torch_xla._XLAC._get_xla_tensors_hlo([(x * x).sum()])
    canary.program("tiny", hashlib.sha256(traced.encode()).hexdigest())
    canary.phase("run")
    seen = 0.0
    for _ in range(canary.args.get("steps", 2)):
        total = (x * x).sum()  # ()
        torch_xla.sync()
        seen = float(total)
    expected = float(sum(number * number for number in range(numbers)))
    canary.check("sum of squares", expected, seen, 0.001)
    canary.memory()
    count(canary, met)
    canary.counters()


def classify(error):
    if isinstance(error, ImportError):
        return "bundle"
    text = str(error).lower()
    for layer, words in TEXTS:
        if any(word in text for word in words):
            return layer
    return "unknown"


if __name__ == "__main__":
    sliceup_canary.run(body, classify)
