"""flood_peer.py - a worker that is properly admitted, joins as its own host, and then says more than anybody wants to hear.

Installed by build() in place of `sliceup-worker`: FLOOD_HOST names the host for which it floods, FLOOD_KIND what with (a
key of KINDS, or "everything"), FLOOD_REAL the worker that all other hosts get, FLOOD_DIARY a file in which it counts. It
floods from when it was told to run something until it is told that the run is over.
"""
import itertools
import json
import os
import pathlib
import shutil
import socket
import sys
import time

import zmq_peer

HELLO, HEARTBEAT, RESULT, LOG, BYE, FETCH, RUN, SHUTDOWN = 1, 2, 3, 4, 5, 6, 35, 39
AT_ONCE = 256               # frames between two looks at what came in


def numbers(frame):
    """[major, minor, kind] and, of the same session, [epoch, session] of an envelope: shortest MessagePack."""
    found, at = [], 1       # behind the list's head
    while len(found) < 8:
        mark = frame[at]
        if mark == 0xc4:
            found.append(frame[at + 2:at + 2 + frame[at + 1]])
            at += 2 + frame[at + 1]
            continue
        size = {0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8}.get(mark, 0)
        found.append(int.from_bytes(frame[at + 1:at + 1 + size], "big") if size else mark)
        at += 1 + size
    return found


class Flooder:
    def __init__(self, order):
        keys = zmq_peer.key_pair()
        start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
        print(json.dumps({"sliceup-worker": 1, "key": keys[0].decode(), "pid": os.getpid(), "pid_start": start, "version": "0.3.0"}),
              flush=True)
        sys.stdin.buffer.readline()
        sys.stdin.buffer.readline()
        server = order["key"].encode()
        self.order, self.run = order, bytes.fromhex(order["run"])
        self.control = zmq_peer.Peer(order["address"], order["control_port"], server, keys)
        self.bulk = zmq_peer.Peer(order["address"], order["bulk_port"], server, keys)
        self.epoch = self.session = 0
        self.sequence = itertools.count(2)
        self.ordered = self.over = False

    def frame(self, kind, body, run=None):
        return zmq_peer.packed([1, 0, kind, run or self.run, self.epoch, self.session, next(self.sequence), 0, body])

    def hear(self, bound_s):
        while frame := self.control.receive(bound_s):
            _, _, kind, _, self.epoch, session, *_ = numbers(frame)
            self.session = session or self.session
            self.ordered |= kind == RUN
            self.over |= kind == SHUTDOWN
            bound_s = 0

    def join(self):
        self.control.send(zmq_peer.hello(self.order["run"], self.order["host"], "0.3.0", 1))
        for beat in itertools.count(1):
            self.hear(0.2)
            if self.ordered:
                return
            if self.session:
                self.control.send(self.frame(HEARTBEAT, {1: beat}))
            else:
                self.control.send(zmq_peer.hello(self.order["run"], self.order["host"], "0.3.0", 1))

    def flood(self, kinds):
        """Until it is over. Without "beats" among the kinds it is soon lost, which does not stop it."""
        sent = 0
        while not self.over and os.getppid() != 1:
            for say in itertools.islice(kinds, AT_ONCE):
                sent += say(self)
            self.hear(0)
        return sent


# A member of a later version that is long to pass over, and short to send.
LONG = zmq_peer.packed(99) + b"\xdc" + (15000).to_bytes(2, "big") + bytes(15000)


def long_beat(peer, behind=b""):
    return peer.control.send(peer.frame(HEARTBEAT, {1: 1}).replace(b"\x81\x01\x01", b"\x82\x01\x01" + LONG) + behind)


# What each kind says; True when it could be queued.
KINDS = {
    "beats": lambda peer: peer.control.send(peer.frame(HEARTBEAT, {1: 1})),
    "noise": lambda peer: peer.control.send(b"\xc1" * 24),
    "unknown": lambda peer: peer.control.send(peer.frame(77, {})),
    "orders": lambda peer: peer.control.send(peer.frame(RUN, {})),
    "others": lambda peer: peer.control.send(peer.frame(HELLO, {1: "somebody", 2: "0.3.0", 3: 1, 4: 1})),
    "strangers": lambda peer: peer.control.send(peer.frame(HEARTBEAT, {1: 1}, b"\x01" * 16)),
    "logs": lambda peer: peer.control.send(peer.frame(LOG, {2: 1, 3: b"x"})),
    "hellos": lambda peer: peer.control.send(peer.frame(HELLO, {1: peer.order["host"], 2: "0.3.0", 3: next(peer.sequence), 4: 1})),
    "parts": lambda peer: peer.control.send(b"a", more=True) and peer.control.send(b"b"),
    "large": lambda peer: peer.control.send(b"\x99" * 65000),
    "long": long_beat,
    "long-refused": lambda peer: long_beat(peer, b"\x00"),
    "bulk": lambda peer: peer.bulk.send(peer.frame(LOG, {2: 1, 3: b"x" * 60})),
    "bulk-noise": lambda peer: peer.bulk.send(b"\xc1" * 24),
    "bulk-parts": lambda peer: peer.bulk.send(b"a", more=True) and peer.bulk.send(b"b"),
    "asks": lambda peer: peer.bulk.send(peer.frame(FETCH, {1: "0" * 64})),
}


def build(folder, bin, host, kind, diary):
    """A folder with the coordinator of `bin`, and with workers of which that of `host` floods. The path of the former."""
    folder.mkdir()
    shutil.copy(bin / "sliceup", folder / "sliceup")
    variables = {"FLOOD_HOST": host, "FLOOD_KIND": kind, "FLOOD_REAL": bin / "sliceup-worker", "FLOOD_DIARY": diary}
    script = folder / "sliceup-worker"
    script.write_text("#!/bin/sh\n" + "".join(f"export {name}='{value}'\n" for name, value in variables.items())
                      + f"exec {sys.executable} -B {pathlib.Path(__file__).resolve()} \"$@\"\n")
    script.chmod(0o755)
    return folder / "sliceup"


def note(words):
    with open(os.environ["FLOOD_DIARY"], "a") as diary:
        diary.write(f"{words}\n")


def main():
    order = json.loads(socket.socket(fileno=os.dup(0)).recv(4096, socket.MSG_PEEK).split(b"\n")[0])
    if order["host"] != os.environ["FLOOD_HOST"]:
        real = os.environ["FLOOD_REAL"]
        os.execv(real, [real] + sys.argv[1:])
    kind = os.environ["FLOOD_KIND"]
    # Not "hellos": who announces itself again and again is lost for it.
    kinds = [say for name, say in KINDS.items() if name != "hellos"] if kind == "everything" else [KINDS[kind]]
    peer = Flooder(order)
    peer.join()
    note("begun")
    began = time.monotonic()
    sent = peer.flood(itertools.cycle(kinds))
    note(f"{kind}: {sent} frames in {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
