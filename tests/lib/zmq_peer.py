"""zmq_peer.py - peers that are not ours: strangers at a coordinator's doors, and a worker that claims to be another.

Peer is one ZeroMQ socket over ctypes, with or without CURVE keys; as little MessagePack as a HELLO needs. Run as a
program it attacks until it is killed, and says in each line of its output how often it has done so:

    zmq_peer.py <kind> <hub.json> [<a CURVE key file of some run>]

hub.json need not be there yet: the attack begins with the run.
"""
import ctypes
import itertools
import json
import os
import pathlib
import random
import select
import socket
import struct
import sys
import time

ZMQ = ctypes.CDLL("libzmq.so.5", use_errno=True)
ZMQ.zmq_ctx_new.restype = ctypes.c_void_p
ZMQ.zmq_socket.restype = ctypes.c_void_p
ZMQ.zmq_strerror.restype = ctypes.c_char_p

# zmq.h
PAIR, DEALER, SUB = 0, 5, 2
SUBSCRIBE, LINGER, CURVE_PUBLICKEY, CURVE_SECRETKEY, CURVE_SERVERKEY, HANDSHAKE_IVL = 6, 17, 48, 49, 50, 66
DONTWAIT, SNDMORE, POLLIN = 1, 2, 1
EVENTS = {0x0001: "connected", 0x0200: "disconnected", 0x0800: "refused", 0x1000: "welcome", 0x2000: "refused",
          0x4000: "refused"}      # ZMQ_EVENT_*: the three ways in which a handshake fails are one to us


class PollItem(ctypes.Structure):
    _fields_ = [("socket", ctypes.c_void_p), ("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def checked(rc):
    if rc in (-1, None):
        raise OSError(ctypes.get_errno(), ZMQ.zmq_strerror(ctypes.get_errno()).decode())
    return rc


def key_pair():
    """(public, secret), as text."""
    public, secret = ctypes.create_string_buffer(41), ctypes.create_string_buffer(41)
    checked(ZMQ.zmq_curve_keypair(public, secret))
    return public.value, secret.value


def key_pair_of(path):
    """The pair in a key file of a run: two lines or words of Z85, the public key first or not."""
    words = [word for word in pathlib.Path(path).read_bytes().replace(b'"', b" ").split() if len(word) == 40]
    for secret in words:
        public = ctypes.create_string_buffer(41)
        checked(ZMQ.zmq_curve_public(public, ctypes.c_char_p(secret)))
        if public.value in words:
            return public.value, secret
    raise ValueError(f"{path} holds no key pair")


class Peer:
    """One socket, connected to tcp://address:port; without `server` it speaks NULL, else CURVE with `keys`."""
    CONTEXT = None
    NUMBERS = itertools.count()

    def __init__(self, address, port, server=None, keys=None, kind=DEALER):
        Peer.CONTEXT = Peer.CONTEXT or checked(ZMQ.zmq_ctx_new())
        self.socket = checked(ZMQ.zmq_socket(ctypes.c_void_p(Peer.CONTEXT), kind))
        self._set(LINGER, struct.pack("i", 0))
        if server:
            for option, key in ((CURVE_SERVERKEY, server), (CURVE_PUBLICKEY, keys[0]), (CURVE_SECRETKEY, keys[1])):
                self._set(option, key)
        if kind == SUB:
            self._set(SUBSCRIBE, b"")
        self._monitor(f"inproc://monitor-{next(Peer.NUMBERS)}".encode())
        checked(ZMQ.zmq_connect(ctypes.c_void_p(self.socket), f"tcp://{address}:{port}".encode()))

    def _set(self, option, value):
        checked(ZMQ.zmq_setsockopt(ctypes.c_void_p(self.socket), option, value, ctypes.c_size_t(len(value))))

    def _monitor(self, name):
        checked(ZMQ.zmq_socket_monitor(ctypes.c_void_p(self.socket), name, sum(EVENTS)))
        self.ear = checked(ZMQ.zmq_socket(ctypes.c_void_p(Peer.CONTEXT), PAIR))
        checked(ZMQ.zmq_connect(ctypes.c_void_p(self.ear), name))

    @staticmethod
    def _read(source, bound_s):
        """The frames of one message, or None when none comes."""
        item = PollItem(source, 0, POLLIN, 0)
        if checked(ZMQ.zmq_poll(ctypes.byref(item), 1, ctypes.c_long(int(bound_s * 1000)))) == 0:
            return None
        buffer = ctypes.create_string_buffer(65536)
        size = checked(ZMQ.zmq_recv(ctypes.c_void_p(source), buffer, ctypes.c_size_t(len(buffer)), DONTWAIT))
        return buffer.raw[:min(size, len(buffer))]

    def event(self, bound_s):
        """What happened next to the connection: one of EVENTS' words, or None."""
        frame = self._read(self.ear, bound_s)
        self._read(self.ear, 1) if frame else None # the endpoint, its second frame
        return EVENTS.get(struct.unpack("=H", frame[:2])[0]) if frame else None

    def greeted(self, bound_s=10):
        """True when the handshake succeeded, False when it was refused or the line dropped before that."""
        end = time.monotonic() + bound_s
        while time.monotonic() < end:
            event = self.event(max(end - time.monotonic(), 0))
            if event in ("welcome", "refused", "disconnected"):
                return event == "welcome"
        return None

    @staticmethod
    def all_greeted(peers, bound_s=10):
        """greeted() of each, waiting for all at once, and closes them."""
        end = time.monotonic() + bound_s
        try:
            return [peer.greeted(max(end - time.monotonic(), 0.1)) for peer in peers]
        finally:
            for peer in peers:
                peer.close()

    def send(self, frame, more=False):
        """True when it could be queued. `more`: it is one part of a message that goes on."""
        return ZMQ.zmq_send(ctypes.c_void_p(self.socket), frame, ctypes.c_size_t(len(frame)), DONTWAIT | (SNDMORE if more else 0)) >= 0

    def receive(self, bound_s):
        return self._read(self.socket, bound_s)

    def close(self):
        ZMQ.zmq_socket_monitor(ctypes.c_void_p(self.socket), None, 0)
        for one in (self.ear, self.socket):
            ZMQ.zmq_close(ctypes.c_void_p(one))


# ---- as much MessagePack as a HELLO needs: shortest forms, as docs/spec/protocol.md wants them ----

def packed(value):
    if isinstance(value, int):
        for limit, mark, form in ((1 << 7, b"", ">B"), (1 << 8, b"\xcc", ">B"), (1 << 16, b"\xcd", ">H"), (1 << 32, b"\xce", ">I"),
                                  (1 << 64, b"\xcf", ">Q")):
            if value < limit:
                return mark + struct.pack(form, value)
    if isinstance(value, str):
        raw = value.encode()
        return (bytes([0xa0 + len(raw)]) if len(raw) < 32 else b"\xd9" + bytes([len(raw)])) + raw
    if isinstance(value, bytes):
        return b"\xc4" + bytes([len(value)]) + value
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(packed, value))
    return bytes([0x80 + len(value)]) + b"".join(packed(key) + packed(item) for key, item in sorted(value.items()))


def hello(run, host, version, sequence):
    body = {1: host, 2: version, 3: os.getpid(), 4: 1, 5: "00000000-0000-0000-0000-000000000000"}
    return packed([1, 0, 1, bytes.fromhex(run), 0, 0, sequence, 0, body])


# ---- attacks ----

def hub_of(path):
    """hub.json of a run that may only be about to begin."""
    while True:
        try:
            return json.loads(pathlib.Path(path).read_text())
        except (OSError, ValueError):
            select.select([], [], [], 0.02)


def doors(hub):
    return [hub["control_port"], hub["bulk_port"], hub["events_port"]]


FLOOD = 2000        # connections a second: what their acceptance costs leaves a machine of two processors some for the run


def flood(hub, say):
    """Connects and goes away, with a reset or with an end."""
    reset, began = struct.pack("ii", 1, 0), time.monotonic()
    for number in itertools.count():
        early_s = began + number * 3 / FLOOD - time.monotonic()
        if early_s > 0:
            select.select([], [], [], early_s)
        for port in doors(hub):
            with socket.socket() as raw:
                raw.settimeout(2)
                if random.random() < 0.9:
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                try:
                    raw.connect((hub["address"], port))
                    say()
                except OSError:
                    select.select([], [], [], 0.01)


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + b"\x00" + bytes(31) + bytes(200)


def trickle(hub, say):
    """Sixty connections, each of which says a right greeting byte by byte, one every half second."""
    lines = []
    while True:
        while len(lines) < 60:
            raw = socket.socket()
            try:
                raw.connect((hub["address"], doors(hub)[len(lines) % 3]))
            except OSError:
                raw.close()
                break
            lines.append([raw, 0])
        select.select([], [], [], 0.5)
        lines = [line for line in lines if trickled(line, say)]


def trickled(line, say):
    try:
        line[0].send(GREETING[line[1]:line[1] + 1])
    except OSError:
        line[0].close()
        return False
    line[1] += 1
    say()
    return line[1] < len(GREETING)


def garbage(hub, say):
    """Frames of noise from the first byte on."""
    while True:
        for port in doors(hub):
            with socket.socket() as raw:
                raw.settimeout(2)
                try:
                    raw.connect((hub["address"], port))
                    raw.sendall(random.randbytes(random.choice((1, 9, 64, 4096))))
                    say()
                except OSError:
                    pass
        select.select([], [], [], 0.01)


def knock(hub, say, server, keys):
    """Eight peers at a time that connect and claim to be h1; one that is let in says so."""
    words = hello("00" * 16, "h1", "0.3.0", 1)
    while True:
        peers = [Peer(hub["address"], port, server, keys() if server else None) for port in doors(hub)[:2] for _ in range(4)]
        for peer in peers:
            peer.send(words)
        for peer in peers:
            if peer.greeted(0.2):
                print("let in", flush=True)
            say()
            peer.close()
        select.select([], [], [], 0.2)


def main():
    kind, hub = sys.argv[1], hub_of(sys.argv[2])
    done = [0, 0.0]

    def say():
        done[0] += 1
        if time.monotonic() > done[1] + 0.5:
            done[1] = time.monotonic()
            print(done[0], flush=True)
    server = hub["public_key"].encode()
    if kind in ("flood", "trickle", "garbage"):
        {"flood": flood, "trickle": trickle, "garbage": garbage}[kind](hub, say)
    elif kind == "null":
        knock(hub, say, None, None)
    elif kind == "unlisted":
        knock(hub, say, server, key_pair)
    elif kind == "listed-elsewhere":
        pair = key_pair_of(sys.argv[3])
        knock(hub, say, server, lambda: pair)


if __name__ == "__main__":
    main()
