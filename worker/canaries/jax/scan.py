"""A gated recurrence over a sequence, in two halves: the second begins with the state that the first has left.

Adds: a loop in the compiled program, and a state that outlives an execution.
args: length (64: of both halves), batch (2 for each device of the first mesh axis), width (32).
"""

import sliceup_blocks
import sliceup_expected
import sliceup_jax

# Each step mixes the state with a tanh, both at most 1, and keeps at most nine tenths of it: an error of 1e-6 a step
# cannot add up to more than ten of them. A state that is lost between the halves is off by more than a hundredth.
TOLERANCE = 1e-4


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    length, batch, width = session.shaped(**{name: canary.args.get(name, usual) for name, usual in (
        ("length", 64), ("batch", 2 * canary.sizes[0]), ("width", 32))}).values()
    rows, half = canary.axes[0], length // 2
    # x: (2 half, batch, width), keep: (width,), mix: (width, width)
    x = sliceup_blocks.noise(numpy, (2 * half, batch, width), 1)
    keep = numpy.float32(0.5) + sliceup_blocks.noise(numpy, (width,), 2, 0.4)
    mix = sliceup_blocks.noise(numpy, (width, width), 3, 1 / width)

    def recurrence(x, state, keep, mix):
        return sliceup_blocks.recurrence(jax, x, state, keep, mix)

    jitted = jax.jit(recurrence, out_shardings=(session.sharding(rows), session.sharding(None, rows)))
    state = session.place(numpy.zeros((batch, width), numpy.float32), rows)
    first, second = (session.place(part, None, rows) for part in (x[:half], x[half:]))
    weights = [session.place(part) for part in (keep, mix)]
    program = sliceup_jax.Program(session, "scan", jitted, first, state, *weights)
    if session.compile_only:
        return
    expected = sliceup_expected.recurrence(numpy, x, numpy.zeros((batch, width)), keep, mix)
    for name, part, right in (("first", first, expected[:half]), ("second", second, expected[half:])):
        state, states = program(part, state, *weights)
        error = session.largest_error(states, right.__getitem__)
        canary.check(f"relative error of the {name} half", 0, error, TOLERANCE)


sliceup_jax.run(body)
