"""A native codec that is guarded by a mutex of its own."""

import ctypes

libc = ctypes.CDLL(None)  # calls release the interpreter's lock
mutex = ctypes.create_string_buffer(64)  # zeros are PTHREAD_MUTEX_INITIALIZER; 40 bytes on x86-64, 48 on aarch64


def encode_batch(rows, number, rank):
    """rows: (rows, width) float32; returned as they are. Rank 1 leaves the mutex locked in step 4; no signal ends the
    wait of step 5."""
    libc.pthread_mutex_lock(mutex)
    encoded = rows.copy()
    if not (rank == 1 and number == 4):
        libc.pthread_mutex_unlock(mutex)
    return encoded
