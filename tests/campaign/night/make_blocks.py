"""Twelve blocks of 32 rows below the folder that is named."""
import random
import struct
import sys

for number in range(12):
    source = random.Random(number)
    rows = [source.randbytes(32) for _ in range(32)]
    offsets = [8 + 4 * 32 + 32 * row for row in range(32)]
    with open(f"{sys.argv[1]}/block-{number:04d}.bin", "wb") as out:
        out.write(b"ROWS" + struct.pack("<I", 32) + struct.pack("<32I", *offsets) + b"".join(rows))
