"""Devices of a slice that need not be there: what `warm: aot` compiles for.

libtpu describes the devices of a topology and compiles for them on any x86 host, without a TPU and without a live
backend. Such devices hold no value and execute nothing, and an executable that jax's cache holds for them cannot be
loaded beside them: only live devices can do that.

args: topology: of the slice, such as v6e:4x4; for rungs of scope host host_topology: of one host, such as v6e:2x2.
chips_per_host_bounds: [x, y, z] of one host, when it is not libtpu's own choice (2x2x1 for v6e).
"""

import os

import sliceup_canary
from sliceup_canary import Failure

VERIFY = "jax_compilation_cache_check_contents"


def wanted(attempt):
    """True for an attempt that has to compile everything and to execute nothing."""
    return attempt.get("warm") == "aot" and attempt["pass"] == "cold"


def named(canary):
    """The topology that the attempt's arguments name; None: compile for the devices that are here."""
    key = "topology" if canary.attempt["scope"] == "slice" else "host_topology"
    name = canary.args.get(key)
    if name is None and canary.attempt["scope"] == "slice":
        raise Failure("launch", "warm: aot in a rung of scope slice needs the argument topology, such as "
                      "v6e:4x4: the writer runs alone in this pass and does not see the devices of other hosts")
    return name


def prepare():
    """Before libtpu is loaded: its lock is for chips, and no chip is used here."""
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")


def devices(session, name):
    """The devices of topology `name`, told as what this attempt saw."""
    jax, canary = session.jax, session.canary
    prepare()
    # An entry that is there already cannot be loaded: jax compiles it again and holds the two against each other.
    jax.config.update(VERIFY, True)
    found = described(jax, canary, name)
    if len(found) != product(canary.sizes):
        raise Failure("launch",
                      f"topology {name} has {len(found)} devices, the mesh has {product(canary.sizes)}")
    tell(canary, found)
    return found


def described(jax, canary, name):
    from jax.experimental import topologies

    bounds = canary.args.get("chips_per_host_bounds")
    more = {} if bounds is None else {"chips_per_host_bounds": list(bounds)}
    try:
        return list(topologies.get_topology_desc(str(name), canary.attempt["backend"], **more).devices)
    except (RuntimeError, NotImplementedError) as error:
        raise Failure("launch", f"topology {name}: {sliceup_canary.clean(error, 1000)}") from error


def tell(canary, found):
    """No device is here, so none is local; what the others are is what a program will be compiled for."""
    client = found[0].client
    canary.backend(
        platform=found[0].platform, platform_version=sliceup_canary.clean(client.platform_version),
        device_kind=found[0].device_kind, devices=len(found), local_devices=0,
        process_count=len({device.process_index for device in found}), process_index=0, kernel_path="native")


def product(sizes):
    whole = 1
    for size in sizes:
        whole *= size
    return whole
