"""Records that a native library reads from a pipe."""

import ctypes
import os

import numpy as np

libc = ctypes.CDLL(None)  # calls release the interpreter's lock
libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
libc.read.restype = ctypes.c_ssize_t
reader, writer = os.pipe()


def decode_records(rows, number, rank):
    """rows: (rows, width) float32; returns the same through the pipe. The writer of rank 1 is silent in step 5."""
    if not (rank == 1 and number == 5):
        os.write(writer, rows.tobytes())
    buffer = ctypes.create_string_buffer(rows.nbytes)
    if libc.read(reader, buffer, rows.nbytes) != rows.nbytes:
        raise OSError("the pipe of records is short")
    return np.frombuffer(buffer, rows.dtype).reshape(rows.shape)
