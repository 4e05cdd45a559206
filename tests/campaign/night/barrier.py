"""All ranks meet at rank 0, over connections that stay."""
import socket
import time

PORT = 29600


def dial(address, port, patience=60):
    until = time.monotonic() + patience
    while True:
        try:
            return socket.create_connection((address, port))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


class Barrier:
    def __init__(self, rank, addresses):
        self.members, self.root = [], None
        if rank == 0:
            listener = socket.create_server((addresses[0], PORT))
            self.members = [listener.accept()[0] for _ in addresses[1:]]
        else:
            self.root = dial(addresses[0], PORT)

    def wait(self):
        if self.root:
            self.root.sendall(b"here")
            self.await_release()
        else:
            self.gather()
            for member in self.members:
                member.sendall(b"go!!")

    def gather(self):
        for member in self.members:
            if len(member.recv(4, socket.MSG_WAITALL)) < 4:
                raise ConnectionError("barrier: a member left")

    def await_release(self):
        if len(self.root.recv(4, socket.MSG_WAITALL)) < 4:
            raise ConnectionError("barrier: the root left")
