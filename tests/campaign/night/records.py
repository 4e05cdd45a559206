"""Rows come from length-prefixed records."""
import numpy as np
import evidence


def decode(number, rank):
    length = 70000 if (number, rank) == (4, 5) else 32
    if length > 4096:
        evidence.now()
        raise ValueError(f"record {812 + number}: a length of {length} is beyond its block")
    return length


def rows_of(number, rank):
    decode(number, rank)
    return np.random.default_rng(number + 100 * rank).normal(size=(4, 8)).astype("float32")
