"""Inputs whose products are exact in every precision that a matrix unit may choose."""


def small_integers(numpy, shape, salt):
    """float32 of -1, 0 and 1."""
    size = int(numpy.prod(shape))
    numbers = (numpy.arange(size, dtype=numpy.int64) * 7919 + salt) % 1009 % 3 - 1
    return numbers.reshape(shape).astype(numpy.float32)
