"""Twenty steps of a small regression; gradients are reduced over all devices of all hosts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import sliceup_program
import MODULE


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


def main():
    w = jax.make_array_from_callback((WIDTH,), whole, lambda index: np.zeros(WIDTH, "float32")[index])
    held = HELD
    for number in range(STEPS):
        rows = ROWS
        w, loss = train_step(w, placed(rows), placed(rows.sum(1)))
        print(f"step {number} loss {float(loss):.6f}", flush=True)
        program.step()


main()
