"""What one process of a slice does with every collective: devices of all processes, exact values, a donated and sharded product,
a small training, values moved over hosts. For tests/campaign/stand_in. Arrays are float32; N is the number of devices.

Prints one line "all N checks hold". Arguments: coordinator address, or "" for none; number of processes; own number.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

COORDINATOR, WORLD, RANK = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = 0


def holds(what, got, expected):
    global held
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, err_msg=what)
    held += 1


if COORDINATOR:
    jax.distributed.initialize(COORDINATOR, WORLD, RANK, cluster_detection_method="deactivate", heartbeat_timeout_seconds=30)
assert jax.process_count() == WORLD and jax.process_index() == RANK, (jax.process_count(), jax.process_index())
devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
N = len(devices)
LINE = Mesh(np.array(devices), ("x",))
GRID = Mesh(np.array(devices).reshape(WORLD, -1), ("host", "chip"))


def spread(mesh, spec, values):
    sharding = NamedSharding(mesh, spec)
    return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])


def local(array):
    return [np.asarray(shard.data) for shard in array.addressable_shards]


def mapped(function, out=P("x")):
    return jax.jit(jax.shard_map(function, mesh=LINE, in_specs=P("x"), out_specs=out, check_vma=False))


numbers = spread(LINE, P("x"), np.arange(N, dtype=np.float32))  # (N,)
for part in local(mapped(lambda a: jax.lax.psum(a, "x"))(numbers)):
    holds("psum", part, [N * (N - 1) / 2])
for part in local(mapped(lambda a: jax.lax.all_gather(a, "x", tiled=True), P())(numbers)):
    holds("all_gather", part, np.arange(N))
turned = mapped(lambda a: jax.lax.ppermute(a, "x", [(i, (i + 1) % N) for i in range(N)]))(numbers)
for shard in turned.addressable_shards:
    holds("ppermute", shard.data, [(shard.index[0].start - 1) % N])
square = spread(LINE, P("x", None), np.arange(N * N, dtype=np.float32).reshape(N, N))  # (N, N)
swapped = mapped(lambda a: jax.lax.all_to_all(a, "x", 1, 0, tiled=True))(square)
for shard in swapped.addressable_shards:
    start = shard.index[0].start // N
    holds("all_to_all", shard.data[:, 0], np.arange(N) * N + start)
scattered = mapped(lambda a: jax.lax.psum_scatter(a[0], "x", tiled=True))(square)
for shard in scattered.addressable_shards:
    holds("psum_scatter", shard.data, [sum(range(shard.index[0].start, N * N, N))])

left, right = np.random.default_rng(0).normal(size=(2, 128, 128)).astype(np.float32)  # (128, 128) each
product = jax.jit(lambda a, b: a @ b, donate_argnums=0, out_shardings=NamedSharding(GRID, P("host", "chip")))
moved = product(spread(GRID, P("host", "chip"), left), spread(GRID, P("host", "chip"), right))
for shard in moved.addressable_shards:
    np.testing.assert_allclose(shard.data, (left @ right)[shard.index], atol=1e-3)
held += 1


@jax.jit
def train(weights, batch):
    """weights (16,) replicated, batch (N * 4, 16) split by rows: one step of gradient descent towards w . x = 1."""
    loss, slope = jax.value_and_grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(weights)
    return weights - 0.02 * slope, loss


weights = spread(LINE, P(), np.zeros(16, np.float32))
batch = spread(LINE, P("x"), np.random.default_rng(1).normal(size=(N * 4, 16)).astype(np.float32) + 0.5)
losses = []
for _ in range(20):
    weights, loss = train(weights, batch)
    losses.append(float(np.asarray(loss.addressable_data(0))))
assert losses[-1] < 0.7 * losses[0], losses
held += 1

across = jax.jit(lambda a: a, out_shardings=NamedSharding(GRID, P("chip")))(spread(GRID, P("host"), np.arange(N * 4.0, dtype=np.float32)))
for shard in across.addressable_shards:
    holds("resharding", shard.data, np.arange(N * 4)[shard.index[0]])
holds("local program", jax.jit(lambda a: a * 2)(np.float32(RANK)), 2 * RANK)
if COORDINATOR:
    multihost_utils.sync_global_devices("end")
    holds("process_allgather", multihost_utils.process_allgather(np.float32(RANK)), np.arange(WORLD))
    holds("broadcast", multihost_utils.broadcast_one_to_all(np.float32(RANK + 7)), 7)
print(f"all {held} checks hold", flush=True)
if COORDINATOR:
    jax.distributed.shutdown()
