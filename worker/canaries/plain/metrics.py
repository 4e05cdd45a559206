"""Two metrics reduced over the slice by TCP, each with its proof.

Adds: traffic between hosts, and a claim about the whole slice. Scope: slice.
Without any package it shows that addresses, ports and the mesh are right.
"""

import sliceup_plain


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    local = sliceup_plain.numbers(canary)
    losses = [(0.25 * (number + 1), float(1 + number % 3)) for number in local]
    tokens = [(float(1 + number % 3), 1.0) for number in local]
    sliceup_plain.proved_metric(canary, star, "loss", "mean", canary.axes, losses)
    sliceup_plain.proved_metric(canary, star, "tokens", "sum", canary.axes[:1], tokens)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
