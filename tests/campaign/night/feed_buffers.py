"""Puts batches into shared memory for its reader processes."""
from multiprocessing import shared_memory
import evidence

buffer = shared_memory.SharedMemory(create=True, size=64 << 20)
print("buffer of 64 MiB for the readers")
try:
    evidence.now()
    for at in range(0, buffer.size, 1 << 20):
        buffer.buf[at:at + (1 << 20)] = b"\x07" * (1 << 20)
    print("filled")
finally:
    buffer.close()
    buffer.unlink()
