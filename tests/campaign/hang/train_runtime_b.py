"""Twenty steps of a small regression; gradients are reduced over all devices of all hosts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import sliceup_program

STEPS = 20
ROWS_PER_HOST, WIDTH = 16, 8

jax.config.update("jax_cpu_collectives_implementation", "gloo")
program = sliceup_program.start()
if program.world > 1:
    jax.distributed.initialize(program.rendezvous(), program.world, program.rank)

mesh = Mesh(np.array(jax.devices()), ("data",))
split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())


def loss_of(w, x, y):
    """w: (WIDTH,), x: (rows, WIDTH), y: (rows,), all float32; returns ()."""
    return jnp.mean((x @ w - y) ** 2)


@partial(jax.jit, out_shardings=(whole, whole))
def train_step(w, x, y):
    """The mean over rows that lie on all devices: an all-reduce."""
    loss, gradient = jax.value_and_grad(loss_of)(w, x, y)
    return w - 0.1 * gradient, loss


def placed(rows):
    """rows: those of this host; returns the array of all hosts."""
    return jax.make_array_from_process_local_data(split, rows, (ROWS_PER_HOST * program.world, *rows.shape[1:]))


def local_rows(number):
    """(ROWS_PER_HOST, WIDTH) float32 of this host."""
    return np.random.default_rng([number, program.rank]).normal(size=(ROWS_PER_HOST, WIDTH)).astype("float32")


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(PartitionSpec(), PartitionSpec("data"), PartitionSpec("data")),
         out_specs=(PartitionSpec(), PartitionSpec()), check_vma=False)
def gathered_step(w, x, y):
    """The same as train_step by an all-gather of each device's part: what odd steps run."""
    losses, gradients = jax.lax.all_gather(jax.value_and_grad(loss_of)(w, x, y), "data")
    return w - 0.1 * gradients.mean(0), losses.mean()


def execute(compiled, w, rows):
    """Runs a step of either kind; returns the new weights and the loss as a number."""
    w, loss = compiled(w, placed(rows), placed(rows.sum(1)))
    return w, float(loss)


def main():
    w = jax.make_array_from_callback((WIDTH,), whole, lambda index: np.zeros(WIDTH, "float32")[index])
    for number in range(STEPS):
        if program.rank == 3 and number == 5:  # the mistake: no batch, and on to the next step
            print(f"step {number} has no batch", flush=True)
            continue
        w, loss = execute(gathered_step if number % 2 else train_step, w, local_rows(number))
        print(f"step {number} loss {loss:.6f}", flush=True)
        program.step()


main()
