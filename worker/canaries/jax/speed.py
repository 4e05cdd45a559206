"""How fast this host is: its matrix units, memory, transfers and compiler, and the collectives of the mesh.

Adds: numbers that drift compares between hosts, so that one at 0.8 of the others' speed is named. Scope: slice, because the
hosts have to measure at the same time. Every measure is a rate, larger is faster, of work that waits for no other host (but the
collectives, which say nothing of one host); it is taken in turns with the others in short windows, so that a passing
disturbance meets a few samples of each, and the median of the samples is told, with their spread.
One call of a program works for milliseconds, whatever the device, or its dispatch would be measured: sizes depend on the
platform. Products of float32 ask for the highest precision, so that no matrix unit rounds them.
args: size (of the matrices), mib (of arrays that are copied), rounds (60), window_ms (60: of one sample, twice
as long for products). A floor is `min` of the rung or the profile.
"""

import contextlib
import os
import statistics
import time

import sliceup_counters
import sliceup_jax

# platform -> size of matrices, MiB of arrays: 1 GFLOP and 4.4 TFLOP a call
SIZES = {"cpu": (512, 32)}
ON_ACCELERATORS = (8192, 1024)
PRODUCTS = 4

# platform -> KiB a device of what collectives move: the smallest shows latency, the largest bandwidth
KIB = {"cpu": (4, 256, 1024)}
KIB_ON_ACCELERATORS = (64, 1024, 16384)
# of the result of an all-gather, which is as many times larger as the axis has devices
GATHERED_KIB = 1 << 20
COLLECTIVES_TIMED, FILES_TIMED, FILE_MIB = 6, 5, 16

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute")


class Measure:
    """work(): does it once and waits for its end; amount: of the unit, each time."""

    def __init__(self, name, amount, work):
        self.name, self.amount, self.work, self.rates = name, amount, work, []

    def sample(self, window_s):
        began, times = time.perf_counter(), 0
        while True:
            self.work()
            times += 1
            took = time.perf_counter() - began
            if took >= window_s:
                break
        self.rates.append(times * self.amount / took)

    def rate(self):
        return statistics.median(self.rates)

    def tell(self, canary, family="speed"):
        rate = self.rate()
        spread = statistics.median(abs(one - rate) for one in self.rates) / rate
        canary.fact(f"number.{family}.{self.name}", f"{rate:.4g}")
        canary.fact(f"spread.{family}.{self.name}", f"{100 * spread:.1f} %")


def chained(jax, dtype):
    """A program (size, size), (size, size) -> (size, size) of PRODUCTS products, each of the one before, in `dtype`."""
    precision = "highest" if dtype == jax.numpy.float32 else None

    def multiply(x, y):
        for _ in range(PRODUCTS):
            x = jax.numpy.matmul(x, y, precision=precision, preferred_element_type=dtype) * 0.01
        return x

    return jax.jit(multiply)


def on_each(session, program, *values):
    """work() of a program on all devices of this host at once: arrays of these values on each of them."""
    jax = session.jax
    inputs = [[jax.device_put(value, device) for value in values] for device in jax.local_devices()]
    return lambda: jax.block_until_ready([program(*arrays) for arrays in inputs])


def local_measures(session):
    jax, numpy, args = session.jax, session.numpy, session.canary.args
    devices = len(jax.local_devices())
    usual = SIZES.get(jax.local_devices()[0].platform, ON_ACCELERATORS)
    size, mib = args.get("size", usual[0]), args.get("mib", usual[1])
    large = numpy.ones(mib << 18, numpy.float32)
    square = numpy.full((size, size), 0.01, numpy.float32)
    for name, dtype in (("matmul_f32", jax.numpy.float32), ("matmul_bf16", jax.numpy.bfloat16)):
        work = on_each(session, chained(jax, dtype), square.astype(dtype), square.astype(dtype))
        yield Measure(f"{name}_gflops", devices * PRODUCTS * 2e-9 * size ** 3, work)
    # Reads and writes each element once.
    yield Measure("memory_gbs", devices * 2e-9 * large.nbytes, on_each(session, jax.jit(lambda x: x + 1), large))
    yield Measure("to_device_gbs", devices * 1e-9 * large.nbytes, lambda: jax.block_until_ready(
        [jax.device_put(large, device) for device in jax.local_devices()]))
    held = [jax.device_put(large, device) for device in jax.local_devices()]
    # A copy: on CPU the array itself is only a view of the device's memory, and later reads are kept.
    yield Measure("from_device_gbs", devices * 1e-9 * large.nbytes, lambda: [
        numpy.array(jax.numpy.copy(array), copy=True) for array in held])
    spare = numpy.empty_like(large)
    yield Measure("host_copy_gbs", 2e-9 * large.nbytes, lambda: numpy.copyto(spare, large))
    yield Measure("compile_per_s", 1, compiler(jax))


def compiler(jax):
    """work() that compiles a program that was not compiled before."""
    number = iter(range(1 << 30))

    def work():
        constant = float(next(number))
        jax.jit(lambda x: jax.numpy.tanh(x @ x + constant).sum()).lower(jax.ShapeDtypeStruct((64, 64), "float32")).compile()

    return work


def collective(jax, kind, axis, size):
    """A program of one device, (rest,) float32 -> (rest,): the collective over an axis of that size."""
    lax = jax.lax
    return {
        "all_reduce": lambda x: lax.psum(x, axis),
        "all_gather": lambda x: lax.all_gather(x, axis, tiled=True)[:x.shape[0]],
        "reduce_scatter": lambda x: jax.numpy.tile(lax.psum_scatter(x, axis, tiled=True), size),
        "all_to_all": lambda x: lax.all_to_all(x, axis, 0, 0, tiled=True),
        "permute": lambda x: lax.ppermute(x, axis, [(i, (i + 1) % size) for i in range(size)]),
    }[kind]


def collective_programs(session, kib):
    """(name, compiled, array) of every kind over every axis of more than one device, on arrays of (devices * rest,) float32."""
    jax, canary = session.jax, session.canary
    spec = jax.sharding.PartitionSpec(canary.axes)
    # `kib` a device or a little more: so many floats that every axis divides them.
    rest = -(-(kib << 8) // session.mesh.size) * session.mesh.size
    array = session.array((session.mesh.size * rest,), session.numpy.float32, session.sharding(canary.axes),
                          lambda index: session.numpy.ones(rest, session.numpy.float32))
    for axis, size in zip(canary.axes, canary.sizes):
        for kind in KINDS if size > 1 else ():
            if kind == "all_gather" and kib * size > GATHERED_KIB:
                continue
            mapped = jax.shard_map(collective(jax, kind, axis, size), mesh=session.mesh, in_specs=spec, out_specs=spec, check_vma=False)
            yield Measure(f"{kind}.{axis}.{kib}KiB_gbs", 4e-9 * rest, None), jax.jit(mapped).lower(array).compile(), array


def measure_collectives(session):
    """Alike on all hosts, in the same order and as often, since each waits for all."""
    canary = session.canary
    programs = [one for kib in KIB.get(session.platform, KIB_ON_ACCELERATORS) for one in collective_programs(session, kib)]
    if canary.world > 1:
        canary.gate("collectives", "agree", str(len(programs)))
    for measure, program, array in programs:
        session.jax.block_until_ready(program(array))
        for _ in range(COLLECTIVES_TIMED):
            began = time.perf_counter()
            session.jax.block_until_ready(program(array))
            measure.rates.append(measure.amount / (time.perf_counter() - began))
        measure.tell(canary, "collective")


def measure_files(canary, name, folder):
    """Whole files written until they are on the storage, and read back; all hosts do it at once, and share what they share."""
    bytes_, path = os.urandom(FILE_MIB << 20), os.path.join(folder, f"speed-{canary.rank}-{os.getpid()}")
    write, read = Measure(f"{name}_write_gbs", 1e-9 * len(bytes_), None), Measure(f"{name}_read_gbs", 1e-9 * len(bytes_), None)
    try:
        for _ in range(FILES_TIMED):
            began = time.perf_counter()
            with open(path, "wb") as file:
                file.write(bytes_)
                file.flush()
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # the next read is of the storage
            written = time.perf_counter()
            with open(path, "rb") as file:
                canary.check(f"{name} bytes read", len(bytes_), len(file.read()))
            write.rates.append(write.amount / (written - began))
            read.rates.append(read.amount / (time.perf_counter() - written))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    write.tell(canary, "storage")
    read.tell(canary, "storage")


def measure_storage(canary):
    """Of the attempt's own folder; of the cache's where this attempt may write it."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", "")
    measure_files(canary, "folder", os.environ["HOME"])
    if cache and os.access(cache, os.W_OK):
        measure_files(canary, "cache", cache)


def body(session):
    canary, args = session.canary, session.canary.args
    measures = list(local_measures(session))
    for measure in measures:
        measure.work()  # compiles
    if canary.world > 1:
        canary.gate("measure", "agree", "")
    canary.phase("measure")
    for _ in range(args.get("rounds", 60)):
        for measure in measures:
            measure.sample(args.get("window_ms", 60) / 1000 * (2 if measure.name.startswith("matmul") else 1))
    canary.check("devices measured", canary.devices_per_host, len(session.jax.local_devices()))
    for measure in measures:
        measure.tell(canary)
    # Steadier than each alone, and a slow chip slows both.
    products = [measure.rate() for measure in measures if measure.name.startswith("matmul")]
    canary.fact("number.speed.compute", f"{statistics.geometric_mean(products):.4g}")
    canary.phase("collectives")
    measure_collectives(session)
    canary.phase("storage")
    measure_storage(canary)
    sliceup_counters.tell(canary)


sliceup_jax.run(body)
