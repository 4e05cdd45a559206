"""A liar: each device's own value is reported as global. args: host (all; or one that lies, while the others are true)."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    measured = [(0.25 * (number + 1), float(1 + number % 3)) for number in sliceup_plain.numbers(canary)]
    rows = sliceup_plain.contributions(canary, measured)
    seen = star.all_reduce(rows, canary.axes)
    lies = canary.args.get("host") in (None, canary.attempt["host"])
    shards = [sliceup_plain.shard("mean", *pair) for pair in zip(measured, rows if lies else seen)]
    canary.metric("loss", "mean", canary.axes, shards[0]["value"], shards)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
