"""A liar: reduces over the last mesh axis only, and claims another. args: claim (the first axis)."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    measured = [(0.25 * (number + 1), float(1 + number % 3)) for number in sliceup_plain.numbers(canary)]
    seen = star.all_reduce(sliceup_plain.contributions(canary, measured), canary.axes[-1:])
    shards = [sliceup_plain.shard("mean", *pair) for pair in zip(measured, seen)]
    canary.metric("loss", "mean", canary.args.get("claim", canary.axes[:1]), shards[0]["value"], shards)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
