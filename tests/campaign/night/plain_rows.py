import numpy as np


def rows_of(number, rank):
    return np.random.default_rng(number + 100 * rank).normal(size=(4, 8)).astype("float32")
