"""One block of a hybrid model: attention, then a recurrence, then a mixture of experts, each added to what came in.

Adds: the structures of the rungs below in one compiled program. Any scope.
args: length (32: of the one sequence of each device), width (32), heads (2), hidden (64), capacity (as in experts).
Metric `kept`: how many positions of all devices were taken by an expert.
"""

import sliceup_blocks
import sliceup_expected
import sliceup_jax
from sliceup_mixture import Mixture, stacked

# As in the rungs below: each structure is off by some 1e-6, and what is left out or done in another order by a tenth.
TOLERANCE = 1e-4


class Block:
    """The mixture's tokens are the positions of a sequence; its router looks at them as they were before the block."""

    def __init__(self, session):
        numpy, args = session.numpy, session.canary.args
        self.numpy, self.heads = numpy, args.get("heads", 2)
        self.mixture = Mixture(session, length=args.get("length", 32))
        width = self.mixture.width
        self.keep = numpy.float32(0.5) + sliceup_blocks.noise(numpy, (width,), 2, 0.4)  # (width,)
        self.mix = sliceup_blocks.noise(numpy, (width, width), 3, 1 / width)  # (width, width)

    def split(self, x):
        """(length, width) -> (1, heads, length, width of a head)."""
        return x.reshape(1, x.shape[0], self.heads, -1).swapaxes(1, 2)

    def joined(self, parts):
        """And back."""
        return parts.swapaxes(1, 2).reshape(parts.shape[2], -1)

    def expected(self, device):
        numpy = self.numpy
        x = self.mixture.x(device).astype(numpy.float64)
        x = x + self.joined(sliceup_expected.attention(numpy, *[self.split(x)] * 3))
        state = numpy.zeros((1, x.shape[1]))
        x = x + sliceup_expected.recurrence(numpy, x[:, None], state, self.keep, self.mix)[:, 0]
        return x + self.mixture.expected(device, x)


def mapped(session, block, metrics):
    jax, axes = session.jax, tuple(session.canary.axes)

    def hybrid(secret, x, logits, w1, w2, keep, mix):
        x = x[0]
        x = x + block.joined(sliceup_blocks.attention(jax, *[block.split(x)] * 3))
        state = jax.numpy.zeros((1, x.shape[1]), x.dtype)
        x = x + sliceup_blocks.recurrence(jax, x[:, None], state, keep, mix)[1][:, 0]
        mixed, kept = sliceup_blocks.experts(jax, x, logits[0], w1[0], w2[0], axes, block.mixture.capacity)
        return (x + mixed)[None], sliceup_jax.reduced(jax, len(axes), secret, metrics, [kept])

    spec = jax.sharding.PartitionSpec
    return jax.jit(jax.shard_map(
        hybrid, mesh=session.mesh, in_specs=(spec(*axes),) + (spec(axes),) * 4 + (spec(),) * 2,
        out_specs=(spec(axes), spec(*axes)), check_vma=False))


def body(session):
    canary, block = session.canary, Block(session)
    mixture = block.mixture
    metrics = [sliceup_jax.Metric("kept", "sum", canary.axes, lambda kept: (kept, 1.0))]
    args = [sliceup_jax.secrets(session),
            *(stacked(session, part) for part in (mixture.x, mixture.logits, mixture.w1, mixture.w2)),
            session.place(block.keep), session.place(block.mix)]
    program = sliceup_jax.Program(session, "hybrid", mapped(session, block, metrics), *args)
    if session.compile_only:
        return
    out, rows = program(*args)
    error = session.largest_error(out, lambda index: block.expected(index[0].start or 0)[None])
    canary.check(f"relative error of {out.size} values", 0, error, TOLERANCE)
    seen = sliceup_jax.send_metrics(session, metrics, rows)
    canary.check(f"positions kept of {mixture.devices * mixture.tokens}", mixture.kept(), seen["kept"])


sliceup_jax.run(body)
