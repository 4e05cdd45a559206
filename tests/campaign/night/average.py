"""Fits a line by gradient descent; after each step all ranks meet."""
import os
import random
import barrier
import evidence
import sliceup_program

program = sliceup_program.start()
ADDRESSES = os.environ["SLICEUP_ADDRESSES"].split(",")
source = random.Random(program.rank)
points = [(x, 3 * x + source.gauss(0, 0.1)) for x in (source.random() for _ in range(30000))]


def gradient(w, b):
    gw = gb = 0.0
    for _ in range(16):
        for x, y in points:
            off = w * x + b - y
            gw += off * x
            gb += off
    return gw / len(points), gb / len(points)


everybody = barrier.Barrier(program.rank, ADDRESSES)
w = b = 0.0
for step in range(16):
    gw, gb = gradient(w, b)
    w, b = w - 0.1 * gw, b - 0.1 * gb
    everybody.wait()
    program.step()
    if step == 2:
        evidence.now()
    if step % 4 == 0:
        print(f"step {step} w {w:.3f} b {b:.3f}")
