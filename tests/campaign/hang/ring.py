"""A ring of batches that native code guards by a spin lock."""

import ctypes

libc = ctypes.CDLL(None)  # calls release the interpreter's lock
guard = ctypes.c_int()  # pthread_spinlock_t
libc.pthread_spin_init(ctypes.byref(guard), 0)
batches = []


def append_record(rows, number, rank):
    """rows: (rows, width) float32; returned as they are. Rank 1 leaves the lock taken in step 4 and spins in step 5."""
    libc.pthread_spin_lock(ctypes.byref(guard))
    batches.append(rows)
    if not (rank == 1 and number == 4):
        libc.pthread_spin_unlock(ctypes.byref(guard))
    return rows
