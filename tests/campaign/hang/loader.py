"""Batches from files in the working folder."""

import os

import numpy as np


def read_batch(rows, number, rank):
    """rows: (rows, width) float32; returns the same from a file. That of rank 0 is a FIFO without a writer in step 5."""
    path = f"batch-{number}.bin"
    if rank == 0 and number == 5:
        os.mkfifo(path)
    else:
        rows.tofile(path)
    with open(path, "rb") as file:
        return np.frombuffer(file.read(), rows.dtype).reshape(rows.shape)
