"""What every jax canary shares: start the runtime, count compilations, compile one program, prove a metric.

Array shapes are written as (size of each mesh axis..., rest); everything is float32 unless said
otherwise. Inputs are made from numpy on the host, because an array operation outside the compiled
program would be a program of its own: one more compile request, and a miss in a restored pass.
"""

import hashlib
import importlib.metadata
import os
import socket
import sys
import time

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402
import aot_topology  # noqa: E402

# The parent folder holds a folder named jax: left in the path it could be taken for the library.
sys.path.remove(PARENT)

from sliceup_canary import Failure  # noqa: E402
from sliceup_jax_keys import Keys  # noqa: E402

PACKAGES = ("jax", "jaxlib", "libtpu", "numpy", "scipy", "ml_dtypes", "opt_einsum")
INIT_TIMEOUT_S = 60
HEARTBEAT_TIMEOUT_S = 20
SHUTDOWN_TIMEOUT_S = 20

REQUEST = "/jax/core/compile/backend_compile_duration"
CONSULTED = "/jax/compilation_cache/compile_requests_use_cache"
HIT = "/jax/compilation_cache/cache_hits"
SAVED = "/jax/compilation_cache/compile_time_saved_sec"
RETRIEVAL = "/jax/compilation_cache/cache_retrieval_time_sec"

TEXTS = (
    ("collective", ("gloo", "coordination service", "coordination_service", "connection closed by peer",
                    "barrier", "deadline_exceeded", "heartbeat")),
    ("cache", ("compilation cache", "compilation_cache", "-cache'")),
    ("device", ("already in use", "device or resource busy", "unable to initialize backend")),
    ("compiler", ("resource_exhausted", "mosaic", "hlo")),
)


class Counting:
    """Listens to jax.monitoring and keeps the canary's counters; must exist before the first compile."""

    def __init__(self, jax, counted):
        self.counted = counted
        self.counted["cache_requests"] = 0
        self.hit = False
        self.seconds = {"compile_ms": 0.0, "retrieval_ms": 0.0, "saved_ms": 0.0}
        jax.monitoring.register_event_listener(self.on_event)
        jax.monitoring.register_event_duration_secs_listener(self.on_duration)

    def on_event(self, event, **_):
        if event == HIT:
            self.hit = True
            self.counted["cache_hits"] += 1
        elif event == CONSULTED:
            self.counted["cache_requests"] += 1

    def on_duration(self, event, seconds, **_):
        if event == SAVED:
            self.add("saved_ms", max(seconds, 0.0))
        elif event == RETRIEVAL:
            self.add("retrieval_ms", seconds)
        elif event == REQUEST:
            self.on_request(seconds)

    def on_request(self, seconds):
        """Comes once after each compile or retrieval; after a retrieval its time is no compile time."""
        self.counted["compile_requests"] += 1
        if not self.hit:
            self.add("compile_ms", seconds)
        self.hit = False
        self.counted["cache_misses"] = self.counted["compile_requests"] - self.counted["cache_hits"]

    def add(self, counter, seconds):
        self.seconds[counter] += seconds
        self.counted[counter] = round(self.seconds[counter] * 1000)


class Session:
    """A started runtime: the canary, jax, and the mesh of the attempt."""

    def __init__(self, canary):
        self.canary = canary
        canary.phase("import")
        import jax
        import numpy

        self.jax, self.numpy = jax, numpy
        Counting(jax, canary.counted)
        self.keys = Keys(canary)
        canary.bundle(versions())
        canary.policy()
        tell_arguments(canary)
        canary.phase("init")
        # True: compile everything, execute nothing. Arrays are then shapes, and no other host takes part.
        self.compile_only = aot_topology.wanted(canary.attempt)
        topology = aot_topology.named(canary) if self.compile_only else None
        self.mesh = self.make_mesh(aot_topology.devices(self, topology) if topology else self.live_devices())

    def live_devices(self):
        canary = self.canary
        self.meet()
        self.report_backend()
        if canary.world > 1 and canary.attempt["backend"] == "cpu":
            share_cpu_cache_keys()
        return self.jax.devices()

    def meet(self):
        """Joins the other hosts. The gate comes first: its wait has a bound and a name, jax's has not."""
        canary = self.canary
        if canary.world == 1:
            return
        address = canary.gate("rendezvous", "share", free_port(canary) if canary.rank == 0 else "")
        timeout = canary.args.get("init_timeout_s", INIT_TIMEOUT_S)
        if canary.rank != 0:
            await_listener(address, timeout)
        self.jax.distributed.initialize(
            coordinator_address=address, num_processes=canary.world, process_id=canary.rank,
            cluster_detection_method="deactivate",
            initialization_timeout=timeout,
            heartbeat_timeout_seconds=canary.args.get("heartbeat_timeout_s", HEARTBEAT_TIMEOUT_S),
            shutdown_timeout_seconds=SHUTDOWN_TIMEOUT_S, coordinator_bind_address=address)

    def report_backend(self):
        jax, canary = self.jax, self.canary
        local = jax.local_devices()
        canary.backend(
            platform=local[0].platform, platform_version=sliceup_canary.clean(platform_version(local[0])),
            device_kind=local[0].device_kind, devices=jax.device_count(), local_devices=len(local),
            process_count=jax.process_count(), process_index=jax.process_index(), kernel_path="reference")
        wanted = canary.attempt["backend"]
        expect("launch-policy", "backend", wanted, local[0].platform)
        expect("platform", "devices of this host", canary.devices_per_host, len(local))
        expect("collective", "processes", canary.world, jax.process_count())
        # The mesh is laid out by rank; a runtime that numbers hosts otherwise would prove the wrong thing.
        expect("platform", "process index", canary.rank, jax.process_index())

    def make_mesh(self, devices):
        devices = sorted(devices, key=lambda device: (device.process_index, device.id))
        grid = self.numpy.array(devices).reshape(self.canary.sizes)
        return self.jax.sharding.Mesh(grid, self.canary.axes)

    def sharding(self, *spec):
        return self.jax.sharding.NamedSharding(self.mesh, self.jax.sharding.PartitionSpec(*spec))

    def place(self, values, *spec):
        """A global array from numpy values that every host can compute, split as spec says."""
        values = self.numpy.asarray(values)
        return self.array(values.shape, values.dtype, self.sharding(*spec), lambda index: values[index])

    def array(self, shape, dtype, sharding, block):
        """A global array of block(index) for each local device; where nothing is executed, its shape alone."""
        if self.compile_only:
            return self.jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
        return self.jax.make_array_from_callback(shape, sharding, block)

    def per_device(self, value_of):
        """(mesh sizes...): value_of(number of the device in mesh order), asked for local devices only."""
        sizes = tuple(self.canary.sizes)

        def block(index):
            number = self.numpy.ravel_multi_index([part.start or 0 for part in index], sizes)
            return self.numpy.full((1,) * len(sizes), value_of(int(number)), self.numpy.float32)

        return self.array(sizes, self.numpy.float32, self.sharding(*self.canary.axes), block)

    def blocks(self, array):
        """What each local device holds, in mesh order, as numpy arrays."""
        shards = sorted(array.addressable_shards, key=lambda shard: [part.start or 0 for part in shard.index])
        return [self.numpy.asarray(shard.data) for shard in shards]

    def scalar(self, array):
        """The value of a replicated array of shape (), read from the first local device."""
        return float(self.numpy.asarray(array.addressable_data(0)))

    def finish(self):
        """Leaves the group before the canary says done: an exit handler would wait for peers later."""
        self.tell_cache()
        self.canary.memory()
        self.canary.counters()
        if self.canary.world > 1 and not self.compile_only:
            self.jax.distributed.shutdown()

    def tell_cache(self):
        self.keys.tell()
        counted = self.canary.counted
        if self.keys.wanted and counted["compile_requests"] and not counted["cache_requests"]:
            self.canary.fact("cache.unused", why_unused(self.jax.config))

    def explain(self, error):
        """What is known of keys is told; raises a better error where the cache is at fault."""
        entry = self.keys.failed(error)
        if entry is not None:
            did = "was found and could not be loaded" if entry.state == "unreadable" else "could not be written"
            raise Failure("cache", f"{entry.program} {did}: {entry.why}") from error


class Program:
    """One compiled program that has passed the program gate."""

    def __init__(self, session, name, jitted, *args):
        canary = session.canary
        self.session = session
        canary.phase("trace")
        lowered = jitted.lower(*args)
        fingerprint = hashlib.sha256(lowered.as_text().encode()).hexdigest()
        canary.program(name, fingerprint)
        canary.phase("compile")
        self.compiled = lowered.compile()
        session.keys.tell()
        if session.compile_only:
            return
        # Last before execution: all hosts have compiled, none waits on a device for another's compiler.
        if canary.world > 1:
            canary.gate("program", "agree", fingerprint)
        canary.phase("run")

    def __call__(self, *args):
        """Executes and waits for the result; a counted execution has really ended."""
        result = self.session.jax.block_until_ready(self.compiled(*args))
        self.session.canary.counted["executions"] += 1
        return result


class Metric:
    """What to measure on each device: measure(*blocks) gives (local, weight), both float32 of shape ()."""

    def __init__(self, name, reduction, axes, measure):
        self.name, self.reduction, self.axes, self.measure = name, reduction, tuple(axes), measure


def proved_metrics(session, name, metrics, *arrays):
    """Measures and reduces all metrics in one program and sends them.

    arrays: global arrays of shape (mesh sizes..., rest), one block of shape (rest) a device.
    """
    program, secret = trace_metrics(session, name, metrics, arrays)
    if session.compile_only:
        return
    seen = session.blocks(program(secret, *arrays))
    for number, metric in enumerate(metrics):
        rows = [block.reshape(len(metrics), 5)[number] for block in seen]
        send_metric(session.canary, metric, rows)


def proved_metric(session, metric, *arrays):
    proved_metrics(session, metric.name, [metric], *arrays)


def trace_metrics(session, name, metrics, arrays):
    canary = session.canary
    first = canary.rank * canary.devices_per_host
    secret = session.per_device(lambda number: canary.attempt["secret"] + number - first)
    spec = session.jax.sharding.PartitionSpec(*canary.axes)
    # No replication is assumed of the outputs: each device shows what it has seen itself.
    mapped = session.jax.shard_map(
        metrics_body(session.jax, len(canary.axes), metrics), mesh=session.mesh,
        in_specs=(spec,) * (1 + len(arrays)), out_specs=spec, check_vma=False)
    return Program(session, name, session.jax.jit(mapped), secret, *arrays), secret


def metrics_body(jax, dims, metrics):
    """The program of one device: blocks of shape (1..., rest) in, (1..., metrics, 5) out."""

    def body(secret, *blocks):
        own = [block.reshape(block.shape[dims:]) for block in blocks]
        rows = [reduce_one(jax, metric, secret.reshape(()), own) for metric in metrics]
        return jax.numpy.stack(rows).reshape((1,) * dims + (len(metrics), 5))

    return body


def reduce_one(jax, metric, secret, blocks):
    """(5,): local, weight, and as the collective returned them: sum of local*weight, of weight, of secrets."""
    local, weight = metric.measure(*blocks)
    # One stack, one collective: the secret proves what happened to the value beside it.
    seen = jax.lax.psum(jax.numpy.stack([local * weight, weight, secret]), metric.axes)
    return jax.numpy.concatenate([jax.numpy.stack([local, weight]), seen])


def send_metric(canary, metric, rows):
    shards = [shard(metric, [float(number) for number in row]) for row in rows]
    canary.metric(metric.name, metric.reduction, metric.axes, shards[0]["value"], shards)


def shard(metric, row):
    local, weight, total, weights, proof = row
    value = total / weights if metric.reduction == "mean" else total
    return {"value": value, "proof": proof, "local": local, "weight": weight}


def versions():
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def tell_arguments(canary):
    """Arguments that jax takes for XLA flags: they are in every cache key, and in no variable."""
    tokens = sorted(word for word in sys.argv if word.startswith("--xla"))
    if tokens:
        canary.fact("xla.arguments", " ".join(tokens))


def why_unused(config):
    if not getattr(config, "jax_enable_compilation_cache", True):
        return "JAX_ENABLE_COMPILATION_CACHE is false"
    if not getattr(config, "jax_compilation_cache_dir", ""):
        return "JAX_COMPILATION_CACHE_DIR is not set"
    return "jax did not say why"


def platform_version(device):
    return getattr(device.client, "platform_version", "")


def expect(layer, name, wanted, seen):
    if wanted != seen:
        raise Failure(layer, f"{name}: {wanted} asked for, {seen} seen")


def share_cpu_cache_keys():
    """Gives every rank of a CPU slice the same cache key for the same program.

    The CPU client knows the hardware ids of local devices only. They are part of its topology's
    fingerprint and so of the key, which then differs from rank to rank, while only rank 0 writes:
    no other rank could ever hit. Hash the device kinds instead, as jax does where there is no
    topology to hash. A TPU's topology is the slice's, the same on every host.
    """
    from jax._src import cache_key

    if hasattr(cache_key, "_hash_accelerator_config") and hasattr(cache_key, "_hash_devices"):
        cache_key._hash_accelerator_config = cache_key._hash_devices


def free_port(canary):
    """ADDRESS:PORT on which rank 0 can listen just now."""
    address = canary.attempt["address"]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        port = listener.getsockname()[1]
    return f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"


def await_listener(address, timeout):
    """Waits until rank 0 listens: a client that comes too early sleeps a whole second in its library."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Failure("collective", f"rank 0 does not listen at {address} after {timeout} s")


def classify(error):
    """The layer that an exception's text points at; the worker's signature table may know better."""
    if isinstance(error, ImportError):
        return "bundle"
    text = str(error).lower()
    for layer, words in TEXTS:
        if any(word in text for word in words):
            return layer
    return "unknown"


def run(body):
    """Runs body(session) as a canary."""

    def whole(canary):
        session = Session(canary)
        try:
            body(session)
        except sliceup_canary.Stopped:
            raise
        except Exception as error:
            session.explain(error)
            raise
        session.finish()

    sliceup_canary.run(whole, classify)
