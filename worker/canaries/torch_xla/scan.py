"""A gated recurrence over a sequence, in two halves: the second begins with the state that the first has left.

Adds: a loop in the compiled program (torch_xla.experimental.scan), and a state that outlives an execution.
args: length (64: of both halves), batch (2), width (32).
"""

import sliceup_torch_xla

# Each step mixes the state with a tanh, both at most 1, and keeps at most nine tenths of it: an error of 1e-6 a step
# cannot add up to more than ten of them. A state that is lost between the halves is off by more than a hundredth.
TOLERANCE = 1e-4


def recurrence(session, x, state, keep, mix):
    """x: (length, batch, width), state: (batch, width), keep: (width,), mix: (width, width)."""
    from torch_xla.experimental.scan import scan

    def row(carried, x):
        state, keep, mix = carried
        state = keep * state + (1.0 - keep) * session.torch.tanh(x + state @ mix)
        return (state, keep.clone(), mix.clone()), state.clone()

    (state, _, _), states = scan(row, (state, keep, mix), x)
    return state, states


def expected(numpy, x, keep, mix):
    """One row after the other, float64; all states."""
    state, out = numpy.zeros(x.shape[1:]), []
    for row in x:
        state = keep * state + (1.0 - keep) * numpy.tanh(row + state @ mix)
        out.append(state)
    return numpy.stack(out)


def body(session):
    numpy, canary = session.numpy, session.canary
    length, batch, width = (canary.args.get(name, usual) for name, usual in (
        ("length", 64), ("batch", 2), ("width", 32)))
    batch, length = session.shaped(batch=batch, length=length).values()
    half = length // 2
    x = numpy.sin(numpy.arange(2 * half * batch * width) * 0.7 + 1).reshape(2 * half, batch, width).astype("float32")
    keep = (0.5 + 0.4 * numpy.sin(numpy.arange(width) * 0.7 + 2)).astype("float32")
    mix = (numpy.sin(numpy.arange(width * width) * 0.7 + 3) / width).reshape(width, width).astype("float32")
    halves = [session.place(part) for part in (x[:half], x[half:])]
    state = session.place(numpy.zeros((batch, width)))
    weights = [session.place(part) for part in (keep, mix)]
    session.sync()
    right = expected(numpy, *(part.astype(float) for part in (x, keep, mix)))
    for number, part in enumerate(halves):
        state, states = recurrence(session, part, state, *weights)
        if number == 0:
            session.trace("scan", [state, states])
        session.sync()
        error = session.largest_error(states, right[number * half:(number + 1) * half])
        canary.check(f"largest error of half {number + 1}", 0, error, TOLERANCE)


sliceup_torch_xla.run(body)
