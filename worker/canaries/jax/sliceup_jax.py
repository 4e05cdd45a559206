"""What every jax canary shares: start the runtime, count compilations, compile one program, prove a metric.

Array shapes are written as (size of each mesh axis..., rest); everything is float32 unless said
otherwise. Inputs are made from numpy on the host, because an array operation outside the compiled
program would be a program of its own: one more compile request, and a miss in a restored pass.
"""

import errno
import hashlib
import os
import socket
import sys
import time

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402
import aot_topology  # noqa: E402

sliceup_canary.leave_path(PARENT)

from sliceup_canary import Failure  # noqa: E402
from sliceup_jax_counting import Counting  # noqa: E402
from sliceup_jax_keys import Keys  # noqa: E402
import sliceup_jax_memory  # noqa: E402
import sliceup_gpu  # noqa: E402

PACKAGES = ("jax", "jaxlib", "libtpu", "numpy", "scipy", "ml_dtypes", "opt_einsum")
FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
DONATED = ("tf.aliasing_output", "jax.buffer_donor")
INIT_TIMEOUT_S = 60
HEARTBEAT_TIMEOUT_S = 20
SHUTDOWN_TIMEOUT_S = 20


class Session:
    """A started runtime: the canary, jax, and the mesh of the attempt."""

    def __init__(self, canary):
        self.canary = canary
        self.warnings = sliceup_gpu.Warnings(os.environ["HOME"]) if asks_for_gpu(canary) and sliceup_gpu.ask(os.environ) else None
        canary.phase("import")
        import jax
        import numpy

        self.jax, self.numpy = jax, numpy
        self.keys = Keys(canary)
        Counting(jax, canary.counted, self.keys)
        self.backend, self.programs, self.predicted_bytes = {}, 0, 0
        canary.bundle(sliceup_canary.versions((*PACKAGES, *gpu_packages(canary))))
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
        local = local_devices(self)
        self.backend = dict(
            platform=local[0].platform, platform_version=sliceup_canary.clean(platform_version(local[0])),
            device_kind=local[0].device_kind, devices=jax.device_count(), local_devices=len(local),
            process_count=jax.process_count(), process_index=jax.process_index())
        self.tell_backend("native")
        wanted = canary.attempt["backend"]
        expect("launch", "backend", backend_of(wanted), backend_of(local[0].platform))
        expect("platform", "devices of this host", canary.devices_per_host, len(local))
        expect("launch", "processes", canary.world, jax.process_count())
        # The mesh is laid out by rank; a runtime that numbers hosts otherwise would prove the wrong thing.
        expect("platform", "process index", canary.rank, jax.process_index())

    @property
    def platform(self):
        """That of the devices in the mesh, which with compile_only are not here."""
        return backend_of(self.mesh.devices.flat[0].platform)

    def tell_backend(self, kernel_path):
        """Once more when it is known which kernels run on it; docs/guide/ladder.md has the words."""
        self.canary.backend(**self.backend, kernel_path=kernel_path)

    def make_mesh(self, devices):
        grid = self.numpy.array(sorted(devices, key=link_order)).reshape(self.canary.sizes)
        return self.jax.sharding.Mesh(grid, self.canary.axes)

    def shaped(self, **sizes):
        """The sizes to compute with, by the shapes that the profile allows; to be asked before anything is compiled."""
        return self.canary.shaped(self.canary.counted["compile_requests"], **sizes)

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

    def largest_error(self, array, expected):
        """Over all elements of local devices, in parts of the largest right value.

        expected(index): the right values of one device's part, float64.
        """
        numpy, errors, sizes = self.numpy, [], []
        for shard in array.addressable_shards:
            right = expected(shard.index)
            errors.append(numpy.abs(numpy.asarray(shard.data, numpy.float64) - right).max())
            sizes.append(numpy.abs(right).max())
        if max(sizes) == 0:
            raise Failure("program", "all expected values are 0, which proves nothing: choose other sizes")
        return float(numpy.max(errors) / max(sizes))

    def scalar(self, array):
        """The value of a replicated array of shape (), read from the first local device."""
        return float(self.numpy.asarray(array.addressable_data(0)))

    def finish(self):
        """Leaves the group before the canary says done: an exit handler would wait for peers later."""
        self.tell_cache()
        if asks_for_gpu(self.canary):
            sliceup_gpu.tell(self.canary, self.warnings)
        peak = 0 if self.compile_only else sliceup_jax_memory.peak_bytes(self.jax.local_devices())
        self.canary.memory(self.predicted_bytes, peak)
        self.canary.counters()
        if self.canary.world > 1 and not self.compile_only:
            self.jax.distributed.shutdown()

    def tell_cache(self):
        self.keys.tell()
        counted = self.canary.counted
        if self.keys.wanted and counted["compile_requests"] and not counted["cache_requests"]:
            self.canary.fact("cache.unused", why_unused(self.jax.config))

    def explain(self, error):
        """Reports what is known of cache keys; raises a better error when the cache is the cause."""
        if self.warnings:
            self.warnings.look()
        entry = self.keys.failed(error)
        if entry is not None:
            did = "was found but could not be loaded" if entry.state == "unreadable" else "could not be written"
            raise Failure("cache", f"{entry.program} {did}: {entry.why}") from error


def link_order(device):
    """Hosts by rank. Within a host along x and back, row by row: neighbours in the mesh share a link, and four chips are a ring.
    Devices without coordinates, as on CPU, go by id."""
    x, y, z = getattr(device, "coords", None) or (device.id, 0, 0)
    return device.process_index, z, y, x if y % 2 == 0 else -x, getattr(device, "core_on_chip", 0)


class Program:
    """One compiled program that has passed the program gate."""

    def __init__(self, session, name, jitted, *args):
        canary = session.canary
        self.session, self.name = session, name
        canary.phase("trace")
        traced = jitted.trace(*args)
        lowered = traced.lower()
        self.jaxpr, self.text = traced.jaxpr, lowered.as_text()
        # jax asks the compiler for no donation where the platform has none.
        self.gives = any(info.donated for info in session.jax.tree.leaves(lowered.args_info))
        self.takes = any(word in self.text for word in DONATED)
        fingerprint = hashlib.sha256(self.text.encode()).hexdigest()
        canary.program(name, fingerprint)
        canary.phase("compile")
        self.compiled = lowered.compile()
        session.keys.tell()
        # The largest one: when the next program runs, the temporary memory of this one is free again.
        session.predicted_bytes = max(session.predicted_bytes, sliceup_jax_memory.predicted_bytes(self.compiled))
        session.programs += 1
        if session.compile_only:
            return
        # Last before execution: all hosts have compiled, none waits on a device for another's compiler.
        if canary.world > 1:
            # A gate opens once in an attempt, so each program has one of its own.
            gate = "program" if session.programs == 1 else f"program {session.programs}"
            canary.gate(gate, "agree", identity(fingerprint))
        canary.phase("run")

    def __call__(self, *args):
        """Executes and waits for the result; a counted execution has really ended."""
        # jax 0.10.2 ends with a segmentation fault here, where the program is of several devices.
        gone = [number for number, arg in enumerate(args) if arg.is_deleted()]
        if gone:
            raise Failure("program", f"{self.name} reads argument {gone[0]} after it was donated to an earlier execution")
        result = self.session.jax.block_until_ready(self.compiled(*args))
        self.session.canary.counted["executions"] += 1
        return result


def identity(fingerprint):
    """What the gate compares: the program, and the flags by which the same program becomes another executable."""
    words = [word for name in FLAGS for word in os.environ.get(name, "").split()]
    words += [word for word in sys.argv if word.startswith("--xla")]
    return hashlib.sha256("\n".join([fingerprint, *sorted(set(words))]).encode()).hexdigest()


class Metric:
    """What to measure on each device: measure(*blocks) gives (local, weight), both float32 of shape ().

    dtype: what local * weight is rounded to, and summed in.
    """

    def __init__(self, name, reduction, axes, measure, dtype="float32"):
        self.name, self.reduction, self.axes, self.measure, self.dtype = name, reduction, tuple(axes), measure, dtype


def proved_metrics(session, name, metrics, *arrays):
    """Measures and reduces all metrics in one program and sends them.

    arrays: global arrays of shape (mesh sizes..., rest), one block of shape (rest) a device.
    """
    program, secret = trace_metrics(session, name, metrics, arrays)
    if session.compile_only:
        return
    send_metrics(session, metrics, program(secret, *arrays))


def proved_metric(session, metric, *arrays):
    proved_metrics(session, metric.name, [metric], *arrays)


def secrets(session):
    """(mesh sizes...): what was dealt to each device."""
    canary = session.canary
    first = canary.rank * canary.devices_per_host
    return session.per_device(lambda number: canary.attempt["secret"] + number - first)


def trace_metrics(session, name, metrics, arrays):
    canary = session.canary
    secret = secrets(session)
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
        return reduced(jax, dims, secret, metrics, own)

    return body


def reduced(jax, dims, secret, metrics, blocks):
    """(1..., metrics, 5) of one device of a mesh with so many dims.

    A program that measures what it computes calls this within its own shard_map; send_metrics takes the result.
    """
    rows = [reduce_one(jax, metric, secret.reshape(()), blocks) for metric in metrics]
    return jax.numpy.stack(rows).reshape((1,) * dims + (len(rows), 5))


def reduce_one(jax, metric, secret, blocks):
    """(5,): local, weight, and as the collective returned them: sum of local*weight, of weight, of secrets."""
    local, weight = metric.measure(*blocks)
    # One stack, one collective: the secret proves what happened to the value beside it.
    if metric.dtype == "float32":
        seen = jax.lax.psum(jax.numpy.stack([local * weight, weight, secret]), metric.axes)
        return jax.numpy.concatenate([jax.numpy.stack([local, weight]), seen])
    # A shorter dtype has no room for a secret: one call sums the value in it and the others in float32.
    others = jax.numpy.stack([weight, secret])
    total, seen = jax.lax.psum(((local * weight).astype(metric.dtype), others), metric.axes)
    return jax.numpy.concatenate([jax.numpy.stack([local, weight, total.astype(others.dtype)]), seen])


def send_metrics(session, metrics, rows):
    """rows: (mesh sizes..., metrics, 5), as reduced() made them; returns the values, by name."""
    seen = [block.reshape(len(metrics), 5) for block in session.blocks(rows)]
    return {metric.name: send_metric(session.canary, metric, [block[number] for block in seen])
            for number, metric in enumerate(metrics)}


def send_metric(canary, metric, rows):
    shards = [shard(metric, [float(number) for number in row]) for row in rows]
    canary.metric(metric.name, metric.reduction, metric.axes, shards[0]["value"], shards, dtype=metric.dtype)
    return shards[0]["value"]


def shard(metric, row):
    local, weight, total, weights, proof = row
    if metric.reduction == "mean" and not weights:
        raise Failure("program", f"metric {metric.name}: the weights of all devices sum to 0, so none of them counted what it measured")
    value = total / weights if metric.reduction == "mean" else total
    return {"value": value, "proof": proof, "local": local, "weight": weight}


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


def backend_of(platform):
    """The word of a profile for it: a GPU's plugins, and JAX_PLATFORMS, say which one they are."""
    return "gpu" if platform in ("cuda", "rocm") else platform


def asks_for_gpu(canary):
    return backend_of(canary.attempt["backend"]) == "gpu"


def gpu_packages(canary):
    """Names of the packages that hold CUDA, its libraries and NCCL, or what jax needs of ROCm."""
    if not asks_for_gpu(canary):
        return ()
    import importlib.metadata

    names = {one.name or "" for one in importlib.metadata.distributions()}
    return sorted(name for name in names if name.startswith(("nvidia-", "jax-cuda", "jax-rocm")))


def local_devices(session):
    """jax passes over a plugin for GPUs where the host shows none: over cuda without a device file (backends in xla_bridge.py), which
    leaves nothing, and over rocm without a node of kfd (its own initialize), which it then does not know."""
    try:
        return session.jax.local_devices()
    except (AssertionError, RuntimeError) as error:
        asked = os.environ.get("JAX_PLATFORMS", "")
        left_out = f"Backend '{asked}' is not in the list of known backends" in str(error)
        if isinstance(error, AssertionError) or (left_out and any(name.startswith(f"jax-{asked}") for name in gpu_packages(session.canary))):
            raise Failure("device", f"jax found no device for JAX_PLATFORMS={asked}: this host shows no such GPU") from None
        raise


def platform_version(device):
    return getattr(device.client, "platform_version", "")


def expect(owner, name, wanted, seen):
    if wanted != seen:
        raise Failure(owner, f"{name}: expected {wanted}, found {seen}")


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
    """ADDRESS:PORT on which rank 0 can listen just now; the port is the argument's, if there is one."""
    address = canary.attempt["address"]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, canary.args.get("port", 0)))
        port = listener.getsockname()[1]
    return f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"


def await_listener(address, timeout):
    """Waits until rank 0 listens: a client that comes too early sleeps a whole second in its library."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                raise Failure(*unreached(error, f"no connection to rank 0 at {address} in {timeout} s"))
            time.sleep(0.02)


def unreached(error, what):
    """Owner and text. What is neither refused nor silent, such as a name that nobody knows, is a matter of this host."""
    if isinstance(error, ConnectionRefusedError):
        return "peer", f"{error}: {what}: nothing listens there"
    if isinstance(error, (TimeoutError, socket.timeout)) or error.errno == errno.EHOSTUNREACH:
        return "peer", f"{error}: {what}: its host is down, or something between the hosts drops packets"
    return "host", f"{error}: {what}"


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

    sliceup_canary.run(whole)
