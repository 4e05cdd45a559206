"""hostile_ssh.py - what may listen where an ssh server should: silent, endless, early gone, or slow.

Each is a thread with a listening socket on 127.0.0.1; every connection gets the behaviour until the client goes or the server is
stopped. Waits are bounded by `stopped`.
"""
import os
import socket
import threading

PIECE_S = 0.2


def silent(_, stopped):
    stopped.wait()


def closes(connection, _):
    connection.close()


def greets_and_closes(connection, _):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")


def too_busy(connection, _):
    """sshd beyond MaxStartups."""
    connection.sendall(b"Exceeded MaxStartups\r\n")


def endless_lines(connection, stopped):
    while not stopped.is_set():
        connection.sendall(b"welcome, all of you\r\n" * 200)


def endless_line(connection, stopped):
    while not stopped.is_set():
        connection.sendall(b"A" * 4096)


def greets_and_is_silent(connection, stopped):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    stopped.wait()


def greets_and_babbles(connection, stopped):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
    while not stopped.is_set():
        connection.sendall(os.urandom(4096))


def huge_packet(connection, stopped):
    connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n" + b"\xff\xff\xff\xff" + bytes(64))
    stopped.wait()


def trickles(connection, stopped):
    for byte in b"SSH-2.0-" + b"x" * 1000:
        connection.sendall(bytes([byte]))
        if stopped.wait(PIECE_S):
            return


class Hostile:
    def __init__(self, behaviour):
        self.behaviour = behaviour
        self.stopped = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PIECE_S)
        self.port = self.listener.getsockname()[1]
        self.accepted = 0
        self.threads = [threading.Thread(target=self._accept, daemon=True)]

    def _accept(self):
        while not self.stopped.is_set():
            try:
                connection, _ = self.listener.accept()
            except socket.timeout:
                continue
            self.accepted += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            thread.start()
            self.threads.append(thread)

    def _serve(self, connection):
        with connection:
            connection.settimeout(PIECE_S * 5)
            try:
                self.behaviour(connection, self.stopped)
            except OSError:
                pass                        # the client went, or does not read any more

    def __enter__(self):
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(10)
        self.listener.close()
