"""A mixture of experts and its gradients, one expert on each device of the mesh: tokens go to their expert and come back.

Adds: an all-to-all whose traffic depends on values, there and back and, for the gradients, once more; and tokens that are
dropped, which come out as 0 and have no gradient. Any scope. All float32, split over all devices: x: (devices, tokens, width),
logits: (devices, tokens, devices), w1: (devices, width, hidden), w2: (devices, hidden, width); what comes out, in x's shape,
and the gradients of its sum with weights by all four.
args: tokens (32: of each device), width (32), hidden (64), capacity (tokens of one device that one expert takes: as
many as it would get if all got the same, so that some are dropped).
Metric `kept`: how many tokens of all devices were taken.
"""

import sliceup_blocks
import sliceup_jax
from sliceup_mixture import Mixture, stacked

# Float32 sums, of `width`, of `hidden` and of as many products as an expert has tokens: off by some 1e-6 of the largest
# value. What belongs to another token, or comes from another expert, is other noise altogether.
TOLERANCE = 1e-4


def mapped(session, metrics, capacity):
    jax, axes = session.jax, tuple(session.canary.axes)

    def experts(secret, x, logits, w1, w2, slope):
        out, backward, kept = jax.vjp(lambda *args: sliceup_blocks.experts(jax, *args, axes, capacity),
                                      x[0], logits[0], w1[0], w2[0], has_aux=True)
        results = (part[None] for part in (out, *backward(slope[0])))
        return *results, sliceup_jax.reduced(jax, len(axes), secret, metrics, [kept])

    stack, grid = jax.sharding.PartitionSpec(axes), jax.sharding.PartitionSpec(*axes)
    return jax.jit(jax.shard_map(experts, mesh=session.mesh, in_specs=(grid,) + (stack,) * 5,
                                 out_specs=(stack,) * 5 + (grid,), check_vma=False))


def dropped(session, out, by_x):
    """How many tokens of local devices came out as 0 and have no gradient, and of how many; a half of it counts as well."""
    rows = [session.numpy.concatenate([abs(block).max(-1).ravel() for block in session.blocks(array)]) for array in (out, by_x)]
    return int((rows[0] == 0).sum() + (rows[1] == 0).sum()) / 2, rows[0].size


def body(session):
    canary, mixture = session.canary, Mixture(session, tokens=session.canary.args.get("tokens", 32))
    metrics = [sliceup_jax.Metric("kept", "sum", canary.axes, lambda kept: (kept, 1.0))]
    makers = mixture.x, mixture.logits, mixture.w1, mixture.w2, mixture.slope
    args = [sliceup_jax.secrets(session), *(stacked(session, make) for make in makers)]
    program = sliceup_jax.Program(session, "experts", mapped(session, metrics, mixture.capacity), *args)
    if session.compile_only:
        return
    *results, rows = program(*args)
    judge(session, mixture, results)
    seen = sliceup_jax.send_metrics(session, metrics, rows)
    canary.check(f"tokens kept of {mixture.devices * mixture.tokens}", mixture.kept(), seen["kept"])


def judge(session, mixture, results):
    """results: (devices, ...) each: what came out, and the gradients by x, logits, w1 and w2."""
    canary, (out, by_x, *_) = session.canary, results
    local = sorted(shard.index[0].start or 0 for shard in out.addressable_shards)
    right = {device: (*mixture.slopes(device), *mixture.weight_slopes(device)) for device in local}
    names = f"{out.size} values", *(f"the gradient by {of}" for of in ("x", "logits", "w1", "w2"))
    for at, (name, array) in enumerate(zip(names, results)):
        error = session.largest_error(array, lambda index, at=at: right[index[0].start or 0][at][None])
        canary.check(f"relative error of {name}", 0, error, TOLERANCE)
    without, tokens = dropped(session, out, by_x)
    canary.check(f"tokens of {tokens} that were dropped", tokens - mixture.kept(local), without)


sliceup_jax.run(body)
