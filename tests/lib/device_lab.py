"""device_lab.py - a /dev of its own with an accelerator's device file in it, and a process that has it open.

As a program (after `unshare --mount`) it makes that /dev, opens /dev/accel0, says "held" and lets go when it is told to.
The file is a real character device; it does what /dev/null does. Everything of it ends with the process that began it.
"""
import os
import pathlib
import stat
import subprocess
import sys
import unittest

import lab
import netns

NODES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0),
         "accel0": (1, 3)}


def make_dev():
    netns.mount("tmpfs", "/dev", "tmpfs", options="mode=755")
    for name, (major, minor) in NODES.items():
        path = f"/dev/{name}"
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        os.chmod(path, 0o666)
    os.mkdir("/dev/shm", 0o1777)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")


def hold():
    make_dev()
    device = os.open("/dev/accel0", os.O_RDWR)
    print("held", flush=True)
    sys.stdin.readline()
    os.close(device)
    print("free", flush=True)
    sys.stdin.readline()


class Holder:
    """The process, and what runs beside it in its mount namespace."""

    def __init__(self, test):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a device file and a mount namespace need root")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", sys.executable, "-B", __file__],
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.end)
        if self.process.stdout.readline() != "held\n":
            raise AssertionError("the device was not opened")
        self.pid = self.process.pid

    def let_go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "free\n":
            raise AssertionError("the device was not closed")

    def holds(self):
        fds = pathlib.Path(f"/proc/{self.pid}/fd")
        return "/dev/accel0" in [os.readlink(fd) for fd in fds.iterdir()]

    def run(self, a_lab, *args):
        """sliceup, where this device is."""
        argv = ["nsenter", f"--target={self.pid}", "--mount", "--", str(lab.SLICEUP), *map(str, args)]
        background = lab.Background(argv, a_lab.env())
        a_lab.running.append(background)
        return background

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        self.process.stdin.close()
        self.process.stdout.close()


if __name__ == "__main__":
    hold()
