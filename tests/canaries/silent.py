"""A slice-wide program that stands still in its collective when certain hosts take part together; nobody says why.

args: hosts (required, names: when all of them are in the group), file (see marks.py), patience_s (the others wait no longer
for an answer then, and complain of each other; without it they wait for as long as the helper does).
"""

import socket

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def together(canary, star):
    """Whether all the hosts named are in this group: each device row counts those on its own host."""
    mine = float(canary.attempt["host"] in canary.args["hosts"])
    seen = star.all_reduce([[mine] for _ in sliceup_plain.numbers(canary)], canary.axes)
    return seen[0][0] == len(canary.args["hosts"]) * canary.devices_per_host


def stand_still(canary, star):
    """The first of them never comes to the collective that follows: it waits for something that nobody sends, as on a link that drops it."""
    if canary.attempt["host"] == canary.args["hosts"][0]:
        kept = socket.socketpair()
        kept[0].recv(1)
    for link in [star.leader, *star.members.values()]:
        if link and "patience_s" in canary.args:
            link.connection.settimeout(canary.args["patience_s"])


def body(canary):
    if "file" in canary.args:
        lab.mark(canary)
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    if together(canary, star):
        stand_still(canary, star)
    ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
    sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
