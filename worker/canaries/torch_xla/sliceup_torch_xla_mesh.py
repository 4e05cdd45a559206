"""The mesh of all devices under SPMD: its order, tensors that are split over it, and metrics that are proved over it.

Device i of this host is number rank * devices_per_host + i of the mesh, last axis fastest (docs/spec/canary.md).
"""

from sliceup_canary import Failure
from sliceup_torch_xla_client import ordinal
from sliceup_torch_xla_program import Program

MANUAL = 4  # ShardingType.MANUAL of torch_xla.distributed.spmd


def link_order(attributes, local):
    """Ordinals in the order of the mesh. Hosts are equal blocks of the grid of chips, row by row; within a block along x and
    back, so that neighbours in the mesh share a link. Devices without coordinates, as on CPU, go by ordinal."""
    if not all("coords" in entry for entry in attributes.values()):
        return sorted(attributes)
    here = [attributes[number]["coords"] for number in local]
    block = [max(axis) - min(axis) + 1 for axis in zip(*here)]

    def key(number):
        x, y, z = attributes[number]["coords"]
        host = z // block[2], y // block[1], x // block[0]
        return host, z, y, x if y % 2 == 0 else -x, attributes[number].get("core_on_chip", 0)

    return sorted(attributes, key=key)


def expect_place(order, local, rank):
    """Each host looks after its own part; that all have the same order is what the program gate compares."""
    here = order[rank * len(local):(rank + 1) * len(local)]
    if sorted(here) != sorted(local):
        raise Failure("platform", f"devices of host {rank} of the mesh: expected {sorted(here)} by their coordinates, found {sorted(local)}")


class Mesh:
    def __init__(self, session):
        from torch_xla.distributed import spmd

        canary, client = session.canary, session.client
        self.session, self.spmd, self.core = session, spmd, client.core
        self.axes, self.sizes = canary.axes, canary.sizes
        # Ordinals of local devices in the client's order, which is that of the parts of a tensor that are sent to it.
        self.local = [ordinal(name) for name in client.local()]
        self.order = link_order(client.attributes(), self.local)
        expect_place(self.order, self.local, canary.rank)
        self.devices = spmd.Mesh(session.numpy.array(self.order), tuple(self.sizes), tuple(self.axes))

    def split(self, tensor, spec):
        """Marks it; spec has a name of an axis, some names, or None for each of the first dimensions."""
        spec = tuple(spec) + (None,) * (tensor.dim() - len(spec))
        for size, names in zip(tensor.shape, spec):
            parts = self.parts(names)
            if size % parts:
                raise Failure("program", f"a dimension of {size} cannot be split over {parts} devices: choose a multiple")
        self.spmd.mark_sharding(tensor, self.devices, spec)

    def parts(self, names):
        names = (names,) if isinstance(names, str) else names or ()
        return int(self.session.numpy.prod([self.sizes[self.axes.index(name)] for name in names]))

    def part_of(self, number, shape, spec):
        """Which part of a tensor device `number` of the mesh has to hold."""
        place = dict(zip(self.axes, self.session.numpy.unravel_index(number, self.sizes)))
        spec = tuple(spec) + (None,) * (len(shape) - len(spec))
        return tuple(self.slice_of(place, size, (names,) if isinstance(names, str) else names or ())
                     for size, names in zip(shape, spec))

    def slice_of(self, place, size, names):
        at = 0
        for name in names:
            at = at * self.sizes[self.axes.index(name)] + int(place[name])
        length = size // self.parts(names)
        return slice(at * length, (at + 1) * length)

    def expect_split(self, name, tensor, *spec):
        """What the devices hold, not what was asked for: a tensor that was not split is whole on each of them."""
        for number, index, values in self.blocks(tensor):
            right = self.part_of(number, tensor.shape, spec)
            shape = tuple(part.stop - part.start for part in right)
            if bounds(index, tensor.shape) != bounds(right, tensor.shape) or values.shape != shape:
                raise Failure("program", f"{name} is {self.core._get_xla_sharding_spec(tensor) or 'not sharded'}: device {number} of the "
                              f"mesh holds {bounds(index, tensor.shape)}, expected {bounds(right, tensor.shape)}")

    def blocks(self, tensor):
        """[(number in the mesh, index, values)] of the local devices, in mesh order."""
        numpy = self.session.numpy
        if not self.core._get_xla_sharding_spec(tensor):
            raise Failure("program", "the tensor is not on the mesh: it was neither marked nor computed by a program under SPMD")
        shards, indices = self.core._get_local_shards([tensor])[0], self.core._get_local_shard_replica_and_indices([tensor])[0]
        found = []
        for (values, device), (_, index) in zip(shards, indices):
            index = ... if index is ... else tuple(index)
            found.append((self.order.index(ordinal(device)), index, values.numpy().astype(numpy.float64)))
        return sorted(found, key=lambda entry: entry[0])

    def per_device(self, value_of):
        """(mesh sizes...) float32: value_of(number of the device in the mesh), asked for local devices only."""
        torch = self.session.torch
        values = [torch.full((1,) * len(self.sizes), float(value_of(self.order.index(number)))) for number in self.local]
        return self.core._global_tensor_from_cpu_shards(values, self.devices.get_op_sharding(tuple(self.axes)), self.sizes)

    def groups(self, axes):
        """Lists of ordinals: the devices that meet in a reduction over these axes."""
        numpy = self.session.numpy
        grid = numpy.array(self.order).reshape(self.sizes)
        kept = [at for at, axis in enumerate(self.axes) if axis not in axes]
        met = [self.axes.index(axis) for axis in axes]
        return grid.transpose(kept + met).reshape(-1, self.parts(tuple(axes))).tolist()


def bounds(index, shape):
    """[[0, 8], [0, 4]]: a replicated tensor's index is `...`, and a slice may have no ends."""
    if index is ...:
        return [[0, size] for size in shape]
    return [list(part.indices(size)[:2]) for part, size in zip(index, shape)]


class Metric:
    """What to measure on each device: measure(*blocks) gives (local, weight), both float32 of shape ()."""

    def __init__(self, name, reduction, axes, measure):
        self.name, self.reduction, self.axes, self.measure = name, reduction, tuple(axes), measure


def proved_metrics(session, name, metrics, *arrays):
    """Measures and reduces all metrics in one program and sends them.

    arrays: of shape (mesh sizes..., rest), split over all axes: one block of shape (rest) a device.
    """
    mesh, canary = session.mesh, session.canary
    first = canary.rank * canary.devices_per_host
    secret = mesh.per_device(lambda number: canary.attempt["secret"] + number - first)
    program = Program(session, name, [reduced(session, metrics, secret, arrays)])
    send(session, metrics, program()[0])


def reduced(session, metrics, secret, arrays):
    """(mesh sizes..., metrics, 5): local, weight, and as the collective returned them: sum of local*weight, of weight, of secrets."""
    mesh, torch = session.mesh, session.torch
    dims = len(mesh.sizes)
    # Within: the program of one device. No replication is assumed of the outputs: each device shows what it has seen itself.
    own = [mesh.core._spmd_full_to_shard_shape(array) for array in (secret, *arrays)]
    blocks = [block.reshape(block.shape[dims:]) for block in own]
    rows = torch.stack([reduce_one(session, metric, blocks[0], blocks[1:]) for metric in metrics])
    rows = rows.reshape((1,) * dims + (len(metrics), 5))
    mesh.core._mark_manual_sharding(rows, mesh.core.OpSharding([], [], [], MANUAL))
    whole = mesh.devices.get_op_sharding((*mesh.axes, None, None))
    return mesh.core._spmd_shard_to_full_shape(rows, whole, [*mesh.sizes, len(metrics), 5], rows.dtype)


def reduce_one(session, metric, secret, blocks):
    torch, mesh = session.torch, session.mesh
    local, weight = metric.measure(*blocks)
    # One stack, one collective: the secret proves what happened to the value beside it.
    row = torch.stack([local * weight, weight, secret])
    seen = mesh.core._xla_spmd_all_reduce("sum", row, 1.0, mesh.groups(metric.axes))
    return torch.cat([torch.stack([local, weight]), seen])


def send(session, metrics, rows):
    seen = [values.reshape(len(metrics), 5) for _, _, values in session.mesh.blocks(rows)]
    for number, metric in enumerate(metrics):
        shards = [shard(metric, [float(value) for value in block[number]]) for block in seen]
        session.canary.metric(metric.name, metric.reduction, metric.axes, shards[0]["value"], shards)


def shard(metric, row):
    local, weight, total, weights, proof = row
    value = total / weights if metric.reduction == "mean" else total
    return {"value": value, "proof": proof, "local": local, "weight": weight}
