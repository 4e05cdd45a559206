"""Steps of training whose state is given away: each step writes into the buffers of the one before.

Adds: donate_argnums. x, y: (batch, width), split over the first mesh axis; the state, weights and their momentum, is
(layers, width, width), split over all axes; all float32. Looked at are the addresses of the buffers, that the old arrays
are refused to whoever reads them, and the state at the end.
args: steps (5), batch (8 for each device), width (32), layers (2).
"""

import sliceup_chain
import sliceup_jax

RATE, KEPT = 0.5, 0.9


def moved(slope, weights, momentum):
    momentum = KEPT * momentum + slope
    return weights - RATE * momentum, momentum


def reference(chain, steps):
    """The weights after so many steps, in float64."""
    weights, momentum = chain.weights.astype(chain.numpy.float64), chain.numpy.zeros(chain.weights.shape)
    for _ in range(steps):
        weights, momentum = moved(chain.expected(weights)[1], weights, momentum)
    return weights


def addresses(state):
    """Of the buffers of local devices."""
    return {shard.data.unsafe_buffer_pointer() for array in state for shard in array.addressable_shards}


def refused(array):
    """Whether a read of it raises, as it has to where its buffer is another one's by now."""
    try:
        array.addressable_data(0).__array__()
    except RuntimeError as error:
        return "deleted" in str(error) or "donated" in str(error)
    return False


def trained(session, program, data, state, steps):
    """The state, how many arrays were given away, how many of these can still be read, and how many buffers were reused."""
    given = readable = reused = 0
    for number in range(steps):
        # The first state lies where numpy put it: from the second step on the buffers are the runtime's.
        old, before = state, addresses(state) if number else set()
        state = program(*old, *data)
        given += sum(array.is_deleted() for array in old)
        readable += sum(not refused(array) for array in old)
        reused += len(before & addresses(state))
    return state, given, readable, reused


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    steps, chain = canary.args.get("steps", 5), sliceup_chain.Chain(session, canary.args.get("layers", 2))
    parts = (None, tuple(canary.axes))
    data = [session.place(part, canary.axes[0]) for part in (chain.x, chain.y)]
    state = [session.place(part, *parts) for part in (chain.weights, numpy.zeros_like(chain.weights))]

    def donation(weights, momentum, x, y):
        slope = jax.grad(lambda weights: sliceup_chain.loss(jax, weights, x, y))(weights)
        return moved(slope, weights, momentum)

    jitted = jax.jit(donation, donate_argnums=(0, 1), out_shardings=(session.sharding(*parts),) * 2)
    program = sliceup_jax.Program(session, "donation", jitted, *state, *data)
    if session.compile_only:
        return
    state, given, readable, reused = trained(session, program, data, state, steps)
    right, count = reference(chain, steps), len(state)
    canary.check("relative error of the weights", 0, session.largest_error(state[0], right.__getitem__), sliceup_chain.TOLERANCE)
    if program.gives and not program.takes:
        canary.note(f"jax has no donation on {session.platform}: nothing was given away, and nothing had to be")
        return
    canary.check("arrays that were given away", count * steps, given)
    canary.check("arrays that can be read after they were given away", 0, readable)
    canary.check("buffers that were written again", count * (steps - 1) * len(jax.local_devices()), reused)


sliceup_jax.run(body)
