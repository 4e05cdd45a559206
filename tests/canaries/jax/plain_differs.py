"""The program of differs.py in plain jax, as anybody would start it: no worker, no gate.

plain_differs.py RANK WORLD ADDRESS. The last rank gathers where the others reduce. Prints `waits` before the devices
may wait for one another, and `step` after each step that ended.
"""

import sys


def summed(jax, gathers):
    def body(x):
        if gathers:
            return jax.lax.all_gather(x, "data").sum(0)
        return jax.lax.psum(x, "data")

    return body


def main():
    rank, world, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    import jax
    import numpy

    jax.distributed.initialize(address, world, rank, cluster_detection_method="deactivate", initialization_timeout=60)
    mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("data",))
    rows = jax.sharding.PartitionSpec("data")
    mapped = jax.shard_map(summed(jax, rank == world - 1), mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
    x = jax.make_array_from_callback((10 * world,), jax.sharding.NamedSharding(mesh, rows),
                                     lambda index: numpy.ones(10, "float32"))
    compiled = jax.jit(mapped).lower(x).compile()
    print("waits", flush=True)
    for _ in range(3):
        jax.block_until_ready(compiled(x))
        print("step", flush=True)
    jax.distributed.shutdown()


main()
