"""How much host memory there is, by whose leave, and how the kernel is pressed for it. Standard library only; Linux."""

import collections
import os

GROUPS = "/sys/fs/cgroup"
# What the kernel gives back by itself before it refuses: pages of files that nobody uses now.
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = (("memory.max", "memory.high"), "memory.current", "inactive_file")

Room = collections.namedtuple("Room", "bytes what")


def text_of(path):
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def fields(path):
    """First word of each line -> the second, of those that are numbers."""
    words = (line.replace(":", " ").split() for line in text_of(path).splitlines())
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}


def groups():
    """(folder of a control group, is it of version 2), from our own up to the root; in a container the root is ours."""
    for line in text_of("/proc/self/cgroup").splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        top = GROUPS + ("/memory" if kinds else "/unified" if os.path.isdir(GROUPS + "/unified") else "")
        while True:
            yield top + path.rstrip("/"), not kinds
            if path in ("/", ""):
                break
            path = os.path.dirname(path)


def room_of(folder, is_v2):
    """What the limits of this group leave; the word of the limit."""
    limits, used, spare = V2 if is_v2 else ((V1[0],), *V1[1:])
    usage = text_of(f"{folder}/{used}").strip()
    for limit in limits if usage.isdigit() else ():
        most = text_of(f"{folder}/{limit}").strip()
        if most.isdigit():
            left = int(most) - int(usage) + fields(f"{folder}/memory.stat").get(spare, 0)
            yield Room(max(left, 0), f"the control group {folder} ({limit} {int(most) >> 20} MiB)")


def least_room():
    """The least of what the machine and the control groups have."""
    machine = fields("/proc/meminfo")
    found = [Room(1024 * machine.get("MemAvailable", 0), f"the machine ({machine.get('MemTotal', 0) >> 10} MiB)")]
    for folder, is_v2 in groups():
        found.extend(room_of(folder, is_v2))
    return min(found)


def resident_bytes(pid):
    """Of what a process has alone: pages that it shares with the one that it is a copy of do not count."""
    return 1024 * sum(fields(f"/proc/{pid}/smaps_rollup").get(name, 0) for name in ("Private_Dirty", "Private_Clean"))


def pressure():
    """some_avg10 and full_avg10 of the machine and of our own group, where the kernel says them."""
    own = next((f"{folder}/memory.pressure" for folder, is_v2 in groups() if is_v2), "")
    found = {}
    for prefix, path in (("", "/proc/pressure/memory"), ("group_", own)):
        for line in text_of(path).splitlines():
            words = line.split()
            found[f"{prefix}{words[0]}_avg10"] = words[1].partition("=")[2]
    return found


def stalled_us():
    """For how long all that could run waited for memory, since the machine began; None: the kernel does not say."""
    lines = [line.split() for line in text_of("/proc/pressure/memory").splitlines()]
    return next((int(words[-1].partition("=")[2]) for words in lines if words[0] == "full"), None)
