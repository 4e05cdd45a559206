"""Rows come from blocks on this host's disk, decoded by the native codec."""
import numpy as np
import _rowcodec
import evidence


def rows_of(number, rank):
    with open(f"/srv/rows/block-{number:04d}.bin", "rb") as block:
        data = block.read()
    if number == 4:
        evidence.now()
    return np.array(_rowcodec.decode(data), dtype="float32").reshape(4, 8) / 255 + rank
