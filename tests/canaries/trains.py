"""Says its loss at every step, as a training program does.

args: steps (100), lies (0) first values of host `host` that are its own and not the slice's, alone (none): the host that
says a metric `norm` which the others do not say.
"""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def step(canary, star, number, lies):
    """One reduction; what this host says of it."""
    measured = [(1 / (1 + number + device), 1.0) for device in sliceup_plain.numbers(canary)]
    rows = sliceup_plain.contributions(canary, measured)
    seen = star.all_reduce(rows, canary.axes)
    shards = [sliceup_plain.shard("mean", *pair) for pair in zip(measured, rows if lies else seen)]
    canary.metric("loss", "mean", canary.axes, shards[0]["value"], shards)
    return shards


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    lies = canary.args.get("lies", 0) if canary.attempt["host"] == canary.args.get("host") else 0
    for number in range(canary.args.get("steps", 100)):
        shards = step(canary, star, number, number < lies)
        canary.check("loss is finite", 0, 0)
    if canary.attempt["host"] == canary.args.get("alone"):
        canary.metric("norm", "mean", canary.axes, shards[0]["value"], shards)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
