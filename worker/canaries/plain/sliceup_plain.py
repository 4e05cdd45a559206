"""All-reduce over TCP for hosts with nothing but Python: a star through rank 0.

Each host sends its devices' rows to rank 0; rank 0 adds up every group of devices that share their
coordinates outside the reduced axes, and sends each host what its devices see. Rows are lists of
numbers, all of one length; devices are numbered in mesh order, the last axis fastest.
"""

import json
import math
import os
import socket
import sys
import time

PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(PARENT)
import sliceup_canary  # noqa: E402

sliceup_canary.leave_path(PARENT)

from sliceup_canary import Failure, run  # noqa: E402, F401

TIMEOUT_S = 30
MAX_MESSAGE = 16 * 1024 * 1024


class Link:
    """One JSON value a line; connect, send and receive all end by the deadline."""

    def __init__(self, connection):
        connection.settimeout(TIMEOUT_S)
        self.connection = connection
        self.lines = connection.makefile("rb")

    def send(self, value):
        self.connection.sendall(json.dumps(value).encode() + b"\n")

    def receive(self, peer):
        try:
            line = self.lines.readline(MAX_MESSAGE)
        except OSError as error:
            raise Failure("peer", f"{peer}: {error}") from None
        if not line.endswith(b"\n"):
            raise Failure("peer", f"{peer} closed the connection")
        try:
            return json.loads(line)
        except ValueError:
            raise Failure("peer", f"{peer} sent no JSON") from None


class Star:
    """The group of all hosts of the attempt; a world of one needs no connection."""

    def __init__(self, canary):
        self.canary = canary
        self.leader, self.members = None, {}
        if canary.world > 1:
            self.meet()

    def meet(self):
        if self.canary.rank == 0:
            self.lead()
        else:
            self.follow(self.canary.gate("rendezvous", "share", ""))

    def lead(self):
        address = self.canary.attempt["address"]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.create_server((address, self.canary.args.get("port", 0)), family=family, backlog=self.canary.world) as server:
            name = f"[{address}]" if ":" in address else address
            self.canary.gate("rendezvous", "share", f"{name}:{server.getsockname()[1]}")
            deadline = time.monotonic() + TIMEOUT_S
            while len(self.members) < self.canary.world - 1:
                server.settimeout(max(deadline - time.monotonic(), 0.001))
                self.admit(server)

    def admit(self, server):
        """Only a host of this run knows its name; anything else that connects is turned away."""
        try:
            link = Link(server.accept()[0])
        except OSError:
            raise Failure("peer", f"{len(self.members) + 1} of {self.canary.world} hosts connected") from None
        hello = link.receive("a host that connected")
        if isinstance(hello, dict) and hello.get("run") == self.canary.attempt["run"]:
            self.members[hello["rank"]] = link

    def follow(self, address):
        host, _, port = address.rpartition(":")
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S)
        except OSError as error:
            raise Failure("peer", f"rank 0 at {address}: {error}") from None
        self.leader = Link(connection)
        self.leader.send({"run": self.canary.attempt["run"], "rank": self.canary.rank})

    def all_reduce(self, rows, axes):
        """rows: one a local device; returns as many, summed over the mesh axes named."""
        if self.leader:
            self.leader.send(rows)
            return self.leader.receive("rank 0")
        parts = {0: rows}
        parts.update((rank, link.receive(f"rank {rank}")) for rank, link in self.members.items())
        seen = self.reduce([row for rank in range(self.canary.world) for row in parts[rank]], axes)
        count = self.canary.devices_per_host
        for rank, link in self.members.items():
            link.send(seen[rank * count:(rank + 1) * count])
        return seen[:count]

    def reduce(self, rows, axes):
        groups = [self.group(number, axes) for number in range(len(rows))]
        sums = {}
        for group, row in zip(groups, rows):
            sums[group] = [a + b for a, b in zip(sums.get(group, [0] * len(row)), row)]
        return [sums[group] for group in groups]

    def group(self, number, axes):
        """The device's coordinates on the axes that are not reduced."""
        rest, coordinates = number, []
        for axis, size in zip(reversed(self.canary.axes), reversed(self.canary.sizes)):
            rest, coordinate = divmod(rest, size)
            if axis not in axes:
                coordinates.append(coordinate)
        return tuple(coordinates)


def numbers(canary):
    """The numbers of the local devices in mesh order."""
    first = canary.rank * canary.devices_per_host
    return range(first, first + canary.devices_per_host)


def contributions(canary, measured):
    """[local*weight, weight, secret + device] a local device, to be reduced in one call."""
    secret = canary.attempt["secret"]
    return [[local * weight, weight, secret + index] for index, (local, weight) in enumerate(measured)]


def shard(reduction, measured, seen):
    local, weight = measured
    total, weights, proof = seen
    value = total / weights if reduction == "mean" else total
    return {"value": value, "proof": proof, "local": local, "weight": weight}


def proved_metric(canary, star, name, reduction, axes, measured):
    """measured: (local, weight) a local device. Value and proof come out of the same all-reduce."""
    seen = star.all_reduce(contributions(canary, measured), axes)
    canary.counted["executions"] += 1
    shards = [shard(reduction, *pair) for pair in zip(measured, seen)]
    canary.metric(name, reduction, axes, shards[0]["value"], shards)


def start(canary):
    """What a plain canary says about itself, as every canary must."""
    canary.phase("init")
    canary.bundle({"python": ".".join(str(part) for part in sys.version_info[:3])})
    canary.policy()
    canary.backend(platform="cpu", platform_version="python", device_kind="python",
                   devices=math.prod(canary.sizes), local_devices=canary.devices_per_host,
                   process_count=canary.world, process_index=canary.rank, kernel_path="reference")


def finish(canary):
    canary.memory()
    canary.counters()
