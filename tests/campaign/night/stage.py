"""Stages a file to the local disk, past the page cache."""
import mmap
import os
import evidence

block = mmap.mmap(-1, 1 << 20)
block.write(b"\x5a" * (1 << 20))
out = os.open("/var/tmp/staged.bin", os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
evidence.now()
for _ in range(24):
    os.write(out, block)
os.close(out)
os.unlink("/var/tmp/staged.bin")
print("staged 24 MiB")
