"""Rows come with the vocabulary of a service, asked for now and then."""
import socket
import numpy as np
import evidence


def ask(address):
    with socket.create_connection(address) as service:
        service.sendall(b"GET /vocabulary\n")
        return service.recv(4096)


def rows_of(number, rank):
    if number == 5 and rank == 2:
        busy = socket.create_server(("127.0.0.1", 0))       # takes connections and never answers
        evidence.now()
        ask(busy.getsockname())
    return np.random.default_rng(number + 100 * rank).normal(size=(4, 8)).astype("float32")
