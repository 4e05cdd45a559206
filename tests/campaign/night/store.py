"""The key-value store of a job: rank 0 serves it, all others register before they begin."""
import os
import socket
import struct
import time
import evidence

RANK, WORLD = int(os.environ["SLICEUP_RANK"]), int(os.environ["SLICEUP_WORLD"])
MASTER, PORT = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])


class StoreError(RuntimeError):
    pass


class Client:
    def __init__(self, patience):
        until, attempts = time.monotonic() + patience, 0
        while True:
            address = socket.getaddrinfo(MASTER, PORT, socket.AF_INET, socket.SOCK_STREAM)[0][4]
            attempts += 1
            try:
                self.link = socket.create_connection(address, timeout=5)
                break
            except OSError as error:
                if time.monotonic() > until:
                    raise StoreError(f"store at {MASTER}:{PORT} ({address[0]}): {error.strerror or error}, {attempts} attempts") from None
            time.sleep(0.5)
        self.link.settimeout(None)
        self.link.sendall(struct.pack("!I", RANK))

    def wait(self):
        if self.link.recv(2) != b"go":
            raise StoreError("store: the server went away")


class Server:
    def __init__(self, patience):
        self.patience, self.listener = patience, socket.create_server(("", PORT))
        self.members = {}

    def wait(self):
        self.listener.settimeout(self.patience)
        while len(self.members) < WORLD - 1:
            try:
                link = self.listener.accept()[0]
            except TimeoutError:
                raise StoreError(f"store: {len(self.members) + 1} of {WORLD} ranks after {self.patience} s") from None
            self.members[struct.unpack("!I", link.recv(4, socket.MSG_WAITALL))[0]] = link
        for link in self.members.values():
            link.sendall(b"go")


evidence.now()
store = Server(60) if RANK == 0 else Client(18)
print("rank", RANK, "of", WORLD, "registered")
store.wait()
print("all registered")
