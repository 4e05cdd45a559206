"""The same gradient twice: once every layer keeps what the backward pass needs, once a group of layers computes it again.

Adds: jax.checkpoint. What is kept for the backward pass is most of a training program's temporary memory: here the
compiler's own figure of it has to fall, and no value may change. x, y: (batch, width), split over the first mesh axis;
weights: (groups, layers of a group, width, width) on every device; all float32.
args: batch (128 for each device), width (32), groups (6).
"""

import sliceup_chain
import sliceup_jax

OF_GROUP = 2
# Of 12 arrays between layers 6 are kept, and 2 at a time made again; weights' gradients come on top in both.
AT_MOST = 0.8


def gradient_of(jax, group):
    """A program of the gradient whose groups of layers are computed by `group`."""

    def loss(weights, x, y):
        out = jax.lax.scan(lambda x, w: (group(x, w), None), x, weights)[0]
        return sliceup_chain.distance(out, y)

    return jax.grad(loss)


def programs(session, args):
    """Both, compiled: the one that keeps everything, and the one that does not."""
    jax = session.jax

    def group(x, weights):
        for w in weights:
            x = sliceup_chain.layer(jax, x, w)
        return x

    def kept(weights, x, y):
        return gradient_of(jax, group)(weights, x, y)

    def remat(weights, x, y):
        return gradient_of(jax, jax.checkpoint(group))(weights, x, y)

    return [sliceup_jax.Program(session, each.__name__, jax.jit(each, out_shardings=session.sharding()), *args)
            for each in (kept, remat)]


def judge_memory(session, kept, remat):
    """By the compiler, which tells nothing of an executable on some backends, or of one from the cache."""
    analyses = [program.compiled.memory_analysis() for program in (kept, remat)]
    before, after = (getattr(analysis, "temp_size_in_bytes", 0) for analysis in analyses)
    if not before or not after:
        return session.canary.note(f"the compiler says nothing of temporary memory on {session.platform}")
    session.canary.fact("program.temp_bytes", after)
    session.canary.fact("program.temp_bytes_kept", before)
    session.canary.check(f"temporary bytes over {AT_MOST} of the {before} without jax.checkpoint", 0,
                         max(0, after - AT_MOST * before))


def body(session):
    numpy, canary = session.numpy, session.canary
    groups, rows = canary.args.get("groups", 6), canary.axes[0]
    chain = sliceup_chain.Chain(session, groups * OF_GROUP, 128)
    stacked = (groups, OF_GROUP, chain.width, chain.width)
    args = (session.place(chain.weights.reshape(stacked)), session.place(chain.x, rows), session.place(chain.y, rows))
    kept, remat = programs(session, args)
    judge_memory(session, kept, remat)
    if session.compile_only:
        return
    right = chain.expected()[1].reshape(stacked)
    one, other = kept(*args), remat(*args)
    for name, slopes in (("kept", one), ("remat", other)):
        error = session.largest_error(slopes, right.__getitem__)
        canary.check(f"relative error of the gradient, {name}", 0, error, sliceup_chain.TOLERANCE)
    differ = max(numpy.abs(a - b).max() for a, b in zip(session.blocks(one), session.blocks(other)))
    canary.check("largest difference between both", 0, float(differ / numpy.abs(right).max()), sliceup_chain.TOLERANCE / 10)


sliceup_jax.run(body)
