"""A module of torch as a program of jax, by torchax: two layers and their activation, computed with numpy as well.

Adds: torch's operations under jax. torch holds the weights and traces nothing: jax compiles one program, as of any other function; some
small ones of torchax's start come before it. It needs pins with torch and torchax (jax-torchax-cpu).
args: batch (64), width (32); batch is a multiple of the first axis of the mesh, over which it is split.
"""

import math

import sliceup_jax
from sliceup_jax import Failure

# The mean of float32 products: seen off by 4e-8. Without the activation, or with its approximation by tanh, it is off by 2e-6 at least.
TOLERANCE = 1e-6


def extracted(torch, width):
    """The weights as jax arrays by name, and the module as a function of jax: function(weights, (x,)); x: (batch, width) float32."""
    try:
        import torchax
    except (ImportError, AttributeError) as error:
        raise Failure("bundle", f"torchax: {error}: it needs torch before 2.13; pins jax-torchax-cpu have such a set") from error
    module = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width))
    with torch.no_grad():
        for number, weight in enumerate(module.parameters()):
            weight.copy_(torch.sin(torch.arange(weight.numel(), dtype=torch.float32) * 0.7 + number).reshape(weight.shape))
    own = {name: weight.detach().numpy().copy() for name, weight in module.state_dict().items()}
    return own, torchax.extract_jax(module)[1]


def expected(numpy, weights, x):
    """The same in float64; GELU by the error function."""
    hidden = x @ weights["0.weight"].T + weights["0.bias"]
    hidden = hidden * 0.5 * (1 + numpy.vectorize(math.erf)(hidden / math.sqrt(2)))
    return (hidden @ weights["2.weight"].T + weights["2.bias"]).mean()


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    try:
        import torch
    except ImportError as error:
        raise Failure("bundle", f"{error}: this rung needs pins with torch and torchax, such as jax-torchax-cpu") from error
    batch, width = session.shaped(batch=canary.args.get("batch", 64), width=canary.args.get("width", 32)).values()
    weights, function = extracted(torch, width)
    values = numpy.sin(numpy.arange(batch * width, dtype=numpy.float64).reshape(batch, width) * 0.3).astype(numpy.float32)
    arrays = session.place(values, canary.axes[0]), *(session.place(weight) for weight in weights.values())

    def mean_of(x, *parts):
        """A product of float32 has that many bits on every platform: by default a TPU's has those of bfloat16."""
        with jax.default_matmul_precision("highest"):
            return function(dict(zip(weights, parts)), (x,)).mean()

    jitted = jax.jit(mean_of, out_shardings=session.sharding())
    program = sliceup_jax.Program(session, "torch-module", jitted, *arrays)
    if session.compile_only:
        return
    right = expected(numpy, {name: weight.astype(numpy.float64) for name, weight in weights.items()}, values.astype(numpy.float64))
    canary.check("mean of outputs", float(right), session.scalar(program(*arrays)), TOLERANCE)


sliceup_jax.run(body)
