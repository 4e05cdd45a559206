"""What attention is used with: which positions a query sees, and what becomes of its scores. Every form is causal.

causal: all positions so far. window: the last `window` of them. grouped: `group` heads of queries share one head of keys
and values. softcap: a score s becomes cap * tanh(s / cap). sparse: of the blocks so far a block of queries sees itself,
every `stride`-th one before it, and the first.
"""

# Form -> its number. A window of None: one and a half blocks.
USUAL = {"window": ("window", None), "grouped": ("group", 2), "softcap": ("cap", 2.0), "sparse": ("stride", 2)}
FORMS = ("causal", *USUAL)


class Form:
    def __init__(self, name="causal", block=1, **given):
        """block: of the kernels, and of what `sparse` leaves out; given: another number than the usual one."""
        self.name, self.block = name, block
        self.window, self.group, self.cap, self.stride = 0, 1, 0.0, 0
        if name in USUAL:
            word, usual = USUAL[name]
            setattr(self, word, given.get(word, usual or block + block // 2))

    def seen(self, row, column):
        """Whether the query at row sees the key at column: arrays of positions, of jax or of numpy."""
        seen = self.near(row, column)
        if self.stride:
            behind = row // self.block - column // self.block
            seen = seen & ((behind % self.stride == 0) | (column < self.block))
        return seen

    def near(self, row, column):
        """The same within blocks that see each other."""
        seen = row >= column
        return seen & (row - column < self.window) if self.window else seen

    def capped(self, numpy, scores):
        return self.cap * numpy.tanh(scores / self.cap) if self.cap else scores

    def keys_of(self, numpy, rows, blocks):
        """The first block of keys that a block of queries sees, and the one after the last: numbers, traced or not."""
        return (numpy.maximum(0, rows * self.block - self.window + 1) // self.block if self.window else 0), rows + 1

    def queries_of(self, numpy, columns, blocks):
        """The same the other way round."""
        last = (columns + 1) * self.block + self.window - 2
        return columns, (numpy.minimum(blocks, last // self.block + 1) if self.window else blocks)

    def lists(self, numpy, blocks):
        """Two arrays (blocks, 1 + blocks) int32: how many blocks of keys each block of queries sees, and which; and of
        queries for each block of keys."""
        first = numpy.arange(blocks) * self.block
        seen = self.seen(first[:, None] + self.block - 1, first)
        return [numpy.stack([listed(numpy, row) for row in rows]) for rows in (seen, seen.T)]


def listed(numpy, row):
    numbers = numpy.flatnonzero(row)
    return numpy.concatenate([[len(numbers)], numbers, numpy.zeros(len(row) - len(numbers))]).astype(numpy.int32)
