"""Passes a token around all ranks after each epoch; the samples of an epoch come from the host's cache."""
import os
import socket
import time
import dataset_cache

RANK, WORLD = int(os.environ["SLICEUP_RANK"]), int(os.environ["SLICEUP_WORLD"])
ADDRESSES = os.environ["SLICEUP_ADDRESSES"].split(",")
PORT = 29400


def dial(address):
    until = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection((address, PORT))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def exchange(left, right, token):
    """Returns once the token has come around."""
    right.sendall(token)
    return left.recv(len(token), socket.MSG_WAITALL)


listener = socket.create_server((ADDRESSES[RANK], PORT))
right = dial(ADDRESSES[(RANK + 1) % WORLD])
left = listener.accept()[0]
left.settimeout(None)
right.settimeout(None)
for epoch in range(6):
    samples = dataset_cache.fetch(epoch)
    for _ in range(WORLD):
        exchange(left, right, b"%08d" % samples)
    print("epoch", epoch, "of", samples, "samples")
