"""Training steps of a small network: autograd, autocast to bfloat16, and an AdamW whose step needs no value on the host.

Adds: a backward pass, mixed precision, and a real optimizer (torch_xla.amp.syncfree.AdamW). One program serves every step:
the optimizer's state is made before the first one, which else would be a program of its own. The losses stay on the
device and are read every `read_every` steps. Under SPMD the batch is split over the mesh.
args: steps (20), read_every (5), batch (64), width (32). Shapes of the profile: batch. Rows of padding have weight 0.
"""

import sliceup_torch_xla
from sliceup_canary import Failure
from sliceup_training import initial, network, problem, rate, reference

# In parts of the first loss. bfloat16 has 8 bits, so a product is off by some 1/256 of its size, and the loss by less, as
# most of that cancels: a thousandth was seen. A step that is left out is off by a fiftieth at step 10.
TOLERANCE = 0.004


class Training:
    def __init__(self, session, x, y, batch):
        from torch_xla.amp import syncfree

        numpy, torch = session.numpy, session.torch
        self.session, self.torch = session, torch
        padded = numpy.zeros((batch, x.shape[1])), numpy.zeros((batch, 1)), numpy.zeros((batch, 1))
        for whole, part in zip(padded, (x, y, numpy.ones((len(x), 1)))):
            whole[:len(x)] = part
        axis = session.canary.axes[0]
        self.x, self.y, self.weight = (session.place(part, axis) for part in padded)
        self.model = network(torch, [session.place(each) for each in initial(numpy, x.shape[1])])
        self.optimizer = syncfree.AdamW(self.model.parameters(), lr=rate(x.shape[1]))
        for parameter in self.model.parameters():
            shapes = {"step": (), "exp_avg": parameter.shape, "exp_avg_sq": parameter.shape, "max_exp_avg_sq": 0}
            self.optimizer.state[parameter] = {name: session.place(numpy.zeros(shape)) for name, shape in shapes.items()}
        # Without it syncfree's step is torch's own, which keeps the count of steps on the host.
        self.found_inf = session.place(numpy.zeros(()))

    def step(self):
        """Lazily; returns the loss before the step, ()."""
        self.optimizer.zero_grad(set_to_none=True)
        with self.torch.autocast("xla", dtype=self.torch.bfloat16):
            out = self.model(self.x)
        error = out.float() - self.y
        loss = (self.weight * error * error).sum() / self.weight.sum()
        loss.backward()
        self.optimizer.step(found_inf=self.found_inf)
        return loss.detach()

    def state(self):
        moments = [value for each in self.optimizer.state.values() for value in each.values()]
        return [*self.model.parameters(), *moments]


def expect_bfloat16(session, outputs):
    """In the program itself: an autocast that has no effect computes the same, only more exactly."""
    text = session.client.core._get_xla_tensors_hlo(outputs)
    products = [line for line in text.splitlines() if " dot(" in line]
    full = [line for line in products if "= bf16[" not in line]
    if not products or full:
        raise Failure("program", f"{len(full)} of {len(products)} products of the program are not in bfloat16: autocast had no effect on them")


def body(session):
    numpy, canary = session.numpy, session.canary
    steps, every, rows, width = (canary.args.get(name, usual) for name, usual in (
        ("steps", 20), ("read_every", 5), ("batch", 64), ("width", 32)))
    batch = session.shaped(batch=rows)["batch"]
    x, y = problem(numpy, rows, width)
    training = Training(session, x, y, batch)
    session.sync()
    watch, read = session.steps(), {}
    for number in range(1, steps + 1):
        loss = training.step()
        if number == 1:
            outputs = [loss, *training.state()]
            expect_bfloat16(session, outputs)
            session.trace("train", outputs)
        session.sync()
        watch.ended()
        if number % every == 0 or number == steps:
            read[number] = float(session.value(loss))
    watch.judge(reads=len(read))
    expected = reference(numpy, x, y, steps)
    for number, seen in read.items():
        canary.check(f"loss of step {number}", expected[number - 1], seen, TOLERANCE * expected[0])


sliceup_torch_xla.run(body)
