"""One array that goes from layout to layout: by rows, by columns, by rows in another order of the axes, whole on each, and back.

Adds: resharding, an all-to-all that the compiler makes of two layouts. x: (rows, columns) float32 of different whole
numbers, all exact. Which part a device has to have follows from its place in the mesh, not from what the array says.
args: rows, columns (8 for each device): multiples of the number of devices, at most 16 million numbers in all.
"""

import sliceup_jax


def layouts(session):
    """name -> (spec, part of device number n as (which of how many rows, which of how many columns))."""
    axes, sizes, devices = tuple(session.canary.axes), session.canary.sizes, session.mesh.size
    place = session.numpy.arange(devices).reshape(sizes).transpose().reshape(-1).argsort()
    return {"columns": ((None, axes), lambda number: (slice(None), number)),
            "swapped": ((axes[::-1], None), lambda number: (int(place[number]), slice(None))),
            "whole": ((None, None), lambda number: (slice(None), slice(None))),
            "rows": ((axes, None), lambda number: (number, slice(None)))}


def part(values, at, devices):
    """The block of `values` that `at` names: by number of the part where it is split, whole where it is not."""
    cut = (slice(None) if isinstance(which, slice) else slice(which * size // devices, (which + 1) * size // devices)
           for which, size in zip(at, values.shape))
    return values[tuple(cut)]


def wrong(session, array, values, at):
    """How many numbers of local devices are not where they belong; a block of another shape is all wrong."""
    numpy, count = session.numpy, 0
    number_of = {device: number for number, device in enumerate(session.mesh.devices.flat)}
    for shard in array.addressable_shards:
        right, seen = part(values, at(number_of[shard.device]), session.mesh.size), numpy.asarray(shard.data)
        count += int((seen != right).sum()) if seen.shape == right.shape else max(seen.size, right.size)
    return count


def moves(session, x, route):
    """name -> the compiled program that brings x, laid out as the one before, to this layout."""
    programs = {}
    for name, (spec, _) in route.items():
        def reshard(x):
            return x

        reshard.__name__ = f"to_{name}"
        programs[name] = sliceup_jax.Program(
            session, reshard.__name__, session.jax.jit(reshard, out_shardings=session.sharding(*spec)), x)
        x = session.jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=session.sharding(*spec))
    return programs


def body(session):
    numpy, canary = session.numpy, session.canary
    rows, columns = session.shaped(**{name: canary.args.get(name, 8 * session.mesh.size) for name in ("rows", "columns")}).values()
    values, route = numpy.arange(rows * columns, dtype=numpy.float32).reshape(rows, columns), layouts(session)
    x = session.place(values, *route["rows"][0])
    programs = moves(session, x, route)
    if session.compile_only:
        return
    for name, program in programs.items():
        x = program(x)
        canary.check(f"numbers of {x.size} in the wrong place, {name}", 0, wrong(session, x, values, route[name][1]))


sliceup_jax.run(body)
