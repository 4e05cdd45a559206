"""Random bits that are the same however they are spread: by rows, or by columns.

Adds: jax.random in a program over many devices, whose bits must follow from key and place in the array alone
(jax_threefry_partitionable). bits: (rows, columns) uint32, held against Threefry written out in numpy, so that hosts with
another generator, or another version of it, are found as well.
args: rows, columns (8 for each device): multiples of the number of devices; seed (7).
"""

import sliceup_jax

ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)


def threefry(numpy, key, high, low):
    """Threefry-2x32 of 20 rounds (J. Salmon and others: Parallel Random Numbers: As Easy as 1, 2, 3, 2011); all uint32."""
    keys = [*key, key[0] ^ key[1] ^ numpy.uint32(0x1BD11BDA)]
    a, b = high + keys[0], low + keys[1]
    for number in range(5):
        for by in ROTATIONS[number % 2]:
            a = a + b
            b = (b << numpy.uint32(by) | b >> numpy.uint32(32 - by)) ^ a
        a, b = a + keys[(number + 1) % 3], b + keys[(number + 2) % 3] + numpy.uint32(number + 1)
    return a, b


def expected(numpy, key, rows, columns):
    """Of each element by its number: both words that its counter gives, one upon the other."""
    low = numpy.arange(rows * columns, dtype=numpy.uint32)
    a, b = threefry(numpy, key, numpy.zeros_like(low), low)
    return (a ^ b).reshape(rows, columns)


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    rows, columns = session.shaped(**{name: canary.args.get(name, 8 * session.mesh.size) for name in ("rows", "columns")}).values()
    key, axes = numpy.array([0, canary.args.get("seed", 7)], numpy.uint32), tuple(canary.axes)
    place, programs = session.place(key), {}

    for name, spec in (("rows", (axes,)), ("columns", (None, axes))):
        def bits(key):
            return jax.random.bits(jax.random.wrap_key_data(key, impl="threefry2x32"), (rows, columns), "uint32")

        bits.__name__ = f"bits_{name}"
        jitted = jax.jit(bits, out_shardings=session.sharding(*spec))
        programs[name] = sliceup_jax.Program(session, bits.__name__, jitted, place)
    if session.compile_only:
        return
    right = expected(numpy, key, rows, columns)
    for name, program in programs.items():
        array = program(place)
        wrong = sum(int((numpy.asarray(shard.data) != right[shard.index]).sum()) for shard in array.addressable_shards)
        canary.check(f"words of {array.size} that differ, {name}", 0, wrong)


sliceup_jax.run(body)
