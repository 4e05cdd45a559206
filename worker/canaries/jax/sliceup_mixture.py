"""Tokens, a router and experts that each host can make by itself, one device's at a time; and what comes out."""

import sliceup_blocks
import sliceup_expected


class Mixture:
    """One expert on each device of the mesh. args: width (32), hidden (64), capacity (tokens of one device that one
    expert takes: as many as it would get if all got the same, so that some are dropped)."""

    def __init__(self, session, **tokens):
        """tokens: how many each device has, by the name that the rung gives them."""
        args = session.canary.args
        self.numpy, self.devices = session.numpy, session.mesh.size
        self.width, self.hidden, self.tokens = session.shaped(
            width=args.get("width", 32), hidden=args.get("hidden", 64), **tokens).values()
        self.capacity = args.get("capacity", -(-self.tokens // self.devices))

    def x(self, device):
        """(tokens, width)."""
        return sliceup_blocks.noise(self.numpy, (self.tokens, self.width), [device, 1])

    def logits(self, device):
        """(tokens, devices): what a router would have said, in sixteenths: no rounding sends a token elsewhere."""
        dice = self.numpy.random.default_rng(device)
        return dice.integers(0, 64, (self.tokens, self.devices)).astype(self.numpy.float32) / 16

    def w1(self, device):
        """(width, hidden)."""
        return sliceup_blocks.noise(self.numpy, (self.width, self.hidden), [device, 2], 3 / self.width**0.5)

    def w2(self, device):
        """(hidden, width)."""
        return sliceup_blocks.noise(self.numpy, (self.hidden, self.width), [device, 3], 3 / self.hidden**0.5)

    def slope(self, device):
        """(tokens, width): of a loss, by what comes out."""
        return sliceup_blocks.noise(self.numpy, (self.tokens, self.width), [device, 4])

    def kept(self, devices=None):
        """Tokens of these devices, or of all."""
        return sum(len(sliceup_expected.routes(self.logits(device), self.capacity)) for device in devices or range(self.devices))

    def expected(self, device, x):
        """(tokens, width) of x: (tokens, width) of this device."""
        return sliceup_expected.experts(self.numpy, x, self.logits(device),
                                        self.weights, self.capacity)

    def weights(self, expert):
        return self.w1(expert), self.w2(expert)

    def slopes(self, device):
        """What comes out of one device's tokens, and the slopes by them and by their logits."""
        return sliceup_expected.expert_slopes(self.numpy, self.x(device), self.logits(device), self.weights, self.capacity,
                                              self.slope(device))

    def weight_slopes(self, expert):
        """By w1 and w2 of one expert: of the tokens of all devices."""
        total = [self.numpy.zeros(part.shape) for part in self.weights(expert)]
        for device in range(self.devices):
            parts = sliceup_expected.expert(self.numpy, expert, self.x(device), self.logits(device), self.weights(expert),
                                            self.capacity, self.slope(device))[-2:]
            total = [so_far + part for so_far, part in zip(total, parts)]
        return total


def stacked(session, make):
    """(devices, ...): make(number) for each local device, its number in mesh order."""
    sharding = session.sharding(tuple(session.canary.axes))
    return session.array((session.mesh.size, *make(0).shape), session.numpy.float32, sharding,
                         lambda index: make(index[0].start or 0)[None])
