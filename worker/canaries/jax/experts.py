"""A mixture of experts, one on each device of the mesh: tokens go to their expert and come back.

Adds: an all-to-all whose traffic depends on values, and tokens that are dropped. Any scope.
args: tokens (32: of each device), width (32), hidden (64), capacity (tokens of one device that one expert takes: as
many as it would get if all got the same, so that some are dropped).
Metric `kept`: how many tokens of all devices were taken.
"""

import sliceup_blocks
import sliceup_jax
from sliceup_mixture import Mixture, stacked

# Two float32 sums, of `width` and of `hidden` products: off by some 1e-6 of the largest value. What belongs to another
# token, or comes from another expert, is other noise altogether.
TOLERANCE = 1e-4


def mapped(session, metrics, capacity):
    jax, axes = session.jax, tuple(session.canary.axes)

    def experts(secret, x, logits, w1, w2):
        out, kept = sliceup_blocks.experts(jax, x[0], logits[0], w1[0], w2[0], axes, capacity)
        return out[None], sliceup_jax.reduced(jax, len(axes), secret, metrics, [kept])

    stack, grid = jax.sharding.PartitionSpec(axes), jax.sharding.PartitionSpec(*axes)
    return jax.jit(jax.shard_map(experts, mesh=session.mesh, in_specs=(grid,) + (stack,) * 4, out_specs=(stack, grid),
                                 check_vma=False))


def body(session):
    canary, mixture = session.canary, Mixture(session, tokens=session.canary.args.get("tokens", 32))
    metrics = [sliceup_jax.Metric("kept", "sum", canary.axes, lambda kept: (kept, 1.0))]
    args = [sliceup_jax.secrets(session), stacked(session, mixture.x), stacked(session, mixture.logits),
            *(stacked(session, part) for part in (mixture.w1, mixture.w2))]
    program = sliceup_jax.Program(session, "experts", mapped(session, metrics, mixture.capacity), *args)
    if session.compile_only:
        return
    out, rows = program(*args)

    def right(device):
        return mixture.expected(device, mixture.x(device))

    error = session.largest_error(out, lambda index: right(index[0].start or 0)[None])
    canary.check(f"relative error of {out.size} values", 0, error, TOLERANCE)
    seen = sliceup_jax.send_metrics(session, metrics, rows)
    canary.check(f"tokens kept of {mixture.devices * mixture.tokens}", mixture.kept(), seen["kept"])


sliceup_jax.run(body)
