"""Steps of SGD with parameters that are split over the devices, as the way says.

Adds: parameters that no device has whole. `fsdp`: SpmdFullyShardedDataParallel of torch_xla over all devices, which also split the
batch; `tensor`: the hidden features are split over the last mesh axis, the batch over the first. That parameters are split, and stay it
after steps that write to them, is read from their devices. x: (batch, width), y: (batch, 1); weights as in gradient.py, all float32.
args: way (fsdp or tensor), batch (64), width (32: a multiple of the number of devices), steps (5). Shapes of the profile: batch.
"""

import sliceup_torch_xla
from sliceup_canary import Failure
from sliceup_training import gradients, initial, network, problem

RATE = 0.05
# In parts of the first loss, and of the largest weight.
TOLERANCE = 1e-5
NAMES = "w1", "b1", "w2", "b2"


def fully_sharded(session, weights):
    """The module, how its batch is split, and where its parameters have to be."""
    from torch_xla.distributed import spmd
    from torch_xla.experimental.spmd_fully_sharded_data_parallel import SpmdFullyShardedDataParallel

    mesh, torch = session.mesh, session.torch
    model = network(torch, [torch.tensor(each, dtype=torch.float32) for each in weights])
    # It wants an axis of this name; the order of the devices is that of the mesh.
    whole = spmd.Mesh(session.numpy.array(mesh.order), (len(mesh.order),), ("fsdp",))
    everywhere = tuple(mesh.axes)
    split = {"w1": (everywhere,), "b1": (everywhere,), "w2": (None, everywhere)}
    return SpmdFullyShardedDataParallel(model, mesh=whole), everywhere, split


def split_by_features(session, weights):
    last = session.canary.axes[-1]
    split = {"w1": (last,), "b1": (last,), "w2": (None, last)}
    placed = [session.place(each, *split.get(name, ())) for name, each in zip(NAMES, weights)]
    return network(session.torch, placed), session.canary.axes[0], split


WAYS = {"fsdp": fully_sharded, "tensor": split_by_features}


def reference(numpy, x, y, weights, steps):
    """The last loss, before its step, and the weights after it, float64."""
    for _ in range(steps):
        loss, slopes = gradients(numpy, x, y, weights)
        weights = [w - RATE * slope for w, slope in zip(weights, slopes)]
    return loss, weights


def body(session):
    numpy, torch, canary = session.numpy, session.torch, session.canary
    steps, width, way = canary.args.get("steps", 5), canary.args.get("width", 32), canary.args.get("way")
    batch = session.shaped(batch=canary.args.get("batch", 64))["batch"]
    if way not in WAYS:
        raise Failure("launch", f"way: {way}, expected {' or '.join(WAYS)}")
    x, y = problem(numpy, batch, width)
    weights = initial(numpy, width)
    model, rows, split = WAYS[way](session, weights)
    data = [session.place(part, rows) for part in (x, y)]
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=RATE, foreach=False)
    session.sync()
    watch = session.steps()
    for number in range(steps):
        optimizer.zero_grad(set_to_none=True)
        error = model(data[0]) - data[1]
        loss = (error * error).mean()
        loss.backward()
        optimizer.step()
        if number == 0:
            session.trace(way, [loss, *parameters])
        session.sync()
        watch.ended()
    judge(session, x, y, weights, steps, float(session.value(loss.detach())), dict(zip(NAMES, parameters)), split)
    watch.judge(reads=1 + 2 * len(NAMES))


def judge(session, x, y, weights, steps, last, parameters, split):
    numpy, canary = session.numpy, session.canary
    loss, right = reference(numpy, x, y, weights, steps)
    canary.check("loss of the last step", loss, last, TOLERANCE * gradients(numpy, x, y, weights)[0])
    for name, wanted in zip(NAMES, right):
        if name in split:
            session.mesh.expect_split(f"{name} after {steps} steps", parameters[name], *split[name])
        off = session.largest_error(parameters[name], wanted) / numpy.abs(wanted).max()
        canary.check(f"relative error of {name}", 0, off, TOLERANCE)


sliceup_torch_xla.run(body, spmd=True)
