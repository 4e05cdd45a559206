"""A liar: one host takes part with nothing but zeros. args: rank (the last)."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    measured = [(0.25 * (number + 1), float(1 + number % 3)) for number in sliceup_plain.numbers(canary)]
    rows = sliceup_plain.contributions(canary, measured)
    if canary.rank == canary.args.get("rank", canary.world - 1):
        rows = [[0, 0, 0] for _ in rows]
    shards = [sliceup_plain.shard("mean", *pair) for pair in zip(measured, star.all_reduce(rows, canary.axes))]
    canary.metric("loss", "mean", canary.axes, shards[0]["value"], shards)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
