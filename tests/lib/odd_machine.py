"""odd_machine.py ODD SCRATCH PROGRAM ARGUMENT... - becomes PROGRAM on a machine with four accelerators of which one thing is odd.

Runs in a mount namespace of its own (`unshare --mount`). The device files are real character devices that do what
/dev/null does; the bus is a folder laid out as sysfs lays it out, mounted where sysfs has its own. ODD: none, hugepages
(another setting), mount (another option of /tmp), device (a file of one is missing), function (one is missing on the
bus).
"""
import os
import pathlib
import stat
import sys

import device_lab
import netns

ACCELERATORS, MS_NOSUID = 4, 2
BUS = pathlib.Path("/sys/bus/pci/devices")
THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
DEVICE = {"vendor": "0x1ae0", "device": "0x006f", "class": "0x120000", "numa_node": "0"}  # a v6e chip


def make_devices(n):
    device_lab.make_dev()
    os.unlink("/dev/accel0")
    for i in range(n):
        os.mknod(f"/dev/accel{i}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(f"/dev/accel{i}", 0o666)


def make_bus(n):
    netns.mount("tmpfs", BUS, "tmpfs", options="mode=755")
    for i in range(n):
        function = BUS / f"0000:00:{4 + i:02x}.0"
        function.mkdir()
        for name, value in DEVICE.items():
            (function / name).write_text(value + "\n")


def another_setting(text):
    """The same words with another one chosen, and which."""
    words = text.replace("[", "").replace("]", "").split()
    chosen = next(word for word in words if f"[{word}]" not in text)
    return " ".join(f"[{word}]" if word == chosen else word for word in words) + "\n", chosen


def set_huge_pages(scratch):
    planted = scratch / f"enabled-{os.getpid()}"
    planted.write_text(another_setting(THP.read_text())[0])
    netns.mount(planted, THP, flags=netns.MS_BIND)


def main():
    odd, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    make_devices(ACCELERATORS - (odd == "device"))
    make_bus(ACCELERATORS - (odd == "function"))
    if odd == "hugepages":
        set_huge_pages(scratch)
    if odd == "mount":
        netns.mount("/tmp", "/tmp", flags=netns.MS_BIND)
        netns.mount(None, "/tmp", flags=netns.MS_BIND | netns.MS_REMOUNT | MS_NOSUID)
    os.execv(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
