"""The smallest program of torch_xla: a sum of squares.

Adds: a traced program, its cache entry, its execution and its value, with the runtime's own counters read in the
process and not from text. Nothing is exchanged: on CPU several processes form no mesh.
args: count (10), steps (2).
"""

import sliceup_torch_xla


def body(session):
    canary = session.canary
    numbers = canary.args.get("count", 10)
    x = session.place(session.numpy.arange(numbers, dtype="float32"))  # (numbers,) float32
    session.sync()
    session.trace("tiny", [(x * x).sum()])
    seen = 0.0
    for _ in range(canary.args.get("steps", 2)):
        total = (x * x).sum()  # ()
        session.sync()
        seen = float(session.value(total))
    expected = float(sum(number * number for number in range(numbers)))
    canary.check("sum of squares", expected, seen, 0.001)


if __name__ == "__main__":
    sliceup_torch_xla.run(body)
