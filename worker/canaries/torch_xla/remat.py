"""The same gradient twice: once every layer keeps what the backward pass needs, once groups of layers compute it again.

Adds: torch_xla.utils.checkpoint. Looked at is the program itself: it has to compute the products of each group once more, behind
barriers that keep the compiler from undoing that, and no value may change. torch_xla tells no figure of a program's memory.
x: (batch, width), split over the first mesh axis under SPMD; weights: (2 * groups, width, width) on every device; all float32.
args: batch (64), width (32), groups (3). Shapes of the profile: batch.
"""

import sliceup_torch_xla
from sliceup_canary import Failure
from sliceup_training import problem

# Relative to the largest; tanh and eight products one after the other are off by some 1e-5 in float32.
TOLERANCE = 1e-4


def chain(numpy, layers, width):
    return numpy.sin(numpy.arange(layers * width * width) * 0.7).reshape(layers, width, width) / width**0.5


def reference(numpy, x, weights):
    """(layers, width, width): of the mean of the squares of what comes out, float64, written out."""
    kept = [x]
    for w in weights:
        kept.append(numpy.tanh(kept[-1] @ w))
    back, slopes = 2 * kept[-1] / kept[-1].size, []
    for w, before, after in reversed(list(zip(weights, kept, kept[1:]))):
        back = back * (1 - after**2)
        slopes.append(before.T @ back)
        back = back @ w.T
    return numpy.array(slopes[::-1])


def slopes_of(x, parameters, wrapped):
    """Lazily, a gradient (width, width) for each layer."""
    def group(x, first, second):
        return ((x @ first).tanh() @ second).tanh()

    for each in parameters:
        each.grad = None
    for pair in zip(parameters[::2], parameters[1::2]):
        x = wrapped(group, x, *pair)
    (x * x).mean().backward()
    return [each.grad for each in parameters]


def counted(session, outputs):
    text = session.client.core._get_xla_tensors_hlo(outputs)
    return text.count(" dot("), text.count(" opt-barrier(")


def body(session):
    from torch_xla.utils import checkpoint

    numpy, torch, canary = session.numpy, session.torch, session.canary
    groups, width = canary.args.get("groups", 3), canary.args.get("width", 32)
    batch = session.shaped(batch=canary.args.get("batch", 64))["batch"]
    x, weights = problem(numpy, batch, width)[0], chain(numpy, 2 * groups, width)
    place = session.place(x, canary.axes[0])
    parameters = [torch.nn.Parameter(session.place(each)) for each in weights]
    session.sync()
    ways, seen, shapes = {"kept": lambda group, *args: group(*args), "remat": checkpoint.checkpoint}, {}, {}
    for name, wrapped in ways.items():
        seen[name] = slopes_of(place, parameters, wrapped)
        shapes[name] = counted(session, seen[name])
        session.trace(name, seen[name])
        session.sync()
    expect_again(groups, shapes)
    right = reference(numpy, x, weights)
    for name, slopes in seen.items():
        off = max(session.largest_error(slope, wanted) for slope, wanted in zip(slopes, right)) / numpy.abs(right).max()
        canary.check(f"relative error of the gradient, {name}", 0, off, TOLERANCE)


def expect_again(groups, shapes):
    """The last product of a group is not needed by its backward pass, so at least one of two is computed again."""
    (kept, _), (again, barriers) = shapes["kept"], shapes["remat"]
    if again < kept + groups or barriers < groups:
        raise Failure("program", f"with checkpoint the program has {again} products and {barriers} barriers, without it {kept} products; expected at "
                      f"least {groups} more products, and {groups} barriers: nothing is computed again, or the compiler may undo it")


sliceup_torch_xla.run(body)
