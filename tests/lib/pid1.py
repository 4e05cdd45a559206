"""pid1.py - a systemd that is process 1 of namespaces of its own, in which the programs that were built here are installed.

It sees this machine's files, network and devices, and has an /etc, /run, /var/log, /var/tmp and /usr/local/bin of its own. Of
units it has what starting needs, the journal, and what a test installs. Of this machine's it has one control group, below that
of its test: close() ends what is in it and removes it. When the test dies all of it dies, and an empty group is left.
"""
import os
import pathlib
import re
import subprocess
import unittest

import lab

SYSTEMD = pathlib.Path("/lib/systemd/systemd")
JOURNAL = ("systemd-journald.service", "systemd-journald.socket")
TARGETS = {"sysinit": JOURNAL[0], "basic": "sysinit.target", "multi-user": "basic.target", "network-online": "sysinit.target"}
HERE = "/run/lab"       # where it sees the lab's folder
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# What is done before systemd begins. It would set limits of the whole machine in /proc/sys, so that is covered while it starts;
# later it must not be: where a part of /proc is covered, the kernel lets nobody else mount one. It logs to the two devices.
BOOT = """
echo 0 >"$3/cgroup.procs"
exec unshare --cgroup sh -euc '
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/lab /run/etc /run/programs
mount --bind "$1" /run/lab
cp "$2/sliceup" "$2/sliceup-worker" /run/programs
cp -a /etc/. /run/etc
rm -rf /run/etc/systemd /run/etc/sliceup
sed -i /^sliceup:/d /run/etc/passwd /run/etc/group /run/etc/shadow /run/etc/gshadow
cp -a /run/lab/systemd /run/etc/systemd
mount --bind /run/etc /etc
mount --bind /run/programs /usr/local/bin
mount -t tmpfs tmpfs /var/log
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
! mountpoint --quiet /sys/fs/cgroup || umount --lazy /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
umount --lazy /proc
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
for device in console kmsg; do ! test -e /dev/$device || mount --bind /dev/null /dev/$device; done
exec env -i container=other SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/run/none \
    /lib/systemd/systemd --system --show-status=no --unit=multi-user.target' sh "$1" "$2"
"""
NAMESPACES = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
FORBIDDEN = re.compile("(?i)permission denied|not permitted|read-only file system")


def needs_systemd():
    if os.geteuid() != 0:
        raise unittest.SkipTest("systemd as process 1 of its own namespaces needs root")
    if not SYSTEMD.exists():
        raise unittest.SkipTest(f"systemd is not installed: no {SYSTEMD}")


def make_group(name):
    """A control group of version 2, below that of this process."""
    def lines(of):
        return pathlib.Path(f"/proc/self/{of}").read_text().splitlines()
    mounted = [words[1] for words in map(str.split, lines("mounts")) if words[2] == "cgroup2"]
    own = [line[3:] for line in lines("cgroup") if line.startswith("0::")]
    if not mounted or not own:
        raise unittest.SkipTest("no control groups of version 2 are mounted here")
    group = pathlib.Path(mounted[0] + own[0]) / name
    try:
        group.mkdir()
    except OSError as error:
        raise unittest.SkipTest(f"no control group can be made here: {error}") from None
    return group


class Pid1:
    def __init__(self, own):
        """own: the lab whose folder it sees."""
        needs_systemd()
        self.folder, self.process = own.root, None
        self._write_units()
        self.group = make_group(own.root.name)
        try:
            words = [str(own.root), str(lab.BUILD / "bin"), str(self.group)]
            self.process = lab.Background([*NAMESPACES, "sh", "-euc", BOOT, "sh", *words], {"PATH": PATH})
            lab.wait_for(self._is_up, lambda: f"systemd to have started:\n{self.process.out}\n{self.journal()}", 60)
            self.sh("umount --lazy /proc/sys")
        except BaseException:
            self.close()
            raise

    def _write_units(self):
        units = self.folder / "systemd" / "system"
        units.mkdir(parents=True)
        for name, wanted in TARGETS.items():
            (units / f"{name}.target").write_text(f"[Unit]\nRequires={wanted}\nAfter={wanted}\n")
        for name in JOURNAL:
            (units / name).symlink_to(SYSTEMD.parent / "system" / name)
        (units.parent / "journald.conf").write_text("[Journal]\nAudit=no\nReadKMsg=no\n")

    def _is_up(self):
        if self.process.process.poll() is not None:
            said = self.process.end(10).out
            raise (unittest.SkipTest if FORBIDDEN.search(said) else AssertionError)(f"systemd cannot be process 1 here: {said}")
        return self.run("systemctl", "is-system-running").out.strip() == "running"

    def close(self):
        said = self.journal() if self.process else ""
        (self.group / "cgroup.kill").write_text("1")
        if self.process:
            self.process.end(30)
        lab.wait_for(lambda: not self.processes(), "the control group to be empty", 20)
        for folder, _, _ in os.walk(self.group, topdown=False):
            os.rmdir(folder)
        if lab.REPORT.search(said):
            raise AssertionError(f"a sanitizer or an assertion spoke: {said}")

    # ---- in there ----

    def run(self, *argv):
        pid = self.process.process.pid
        enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", f"--pid=/proc/{pid}/ns/pid_for_children", "--"]
        done = subprocess.run([*enter, *argv], env={"PATH": PATH, "LANG": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        return lab.Ended(done.returncode, done.stdout, done.stderr)

    def sh(self, command):
        """In the lab's folder; what it printed."""
        ended = self.run("sh", "-euc", f"cd {HERE}; {command}")
        if ended.status != 0:
            raise AssertionError(f"{command}: {ended}\n{self.journal()}")
        return ended.out

    def journal(self, unit=None):
        return self.run("journalctl", "--quiet", "--no-pager", "--output=cat", *([f"--unit={unit}"] if unit else [])).out

    def show(self, unit, name):
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).out.strip()

    def install(self, name, text):
        """A unit, or as UNIT.d/NAME.conf what is added to one."""
        (self.folder / "unit").write_text(text)
        self.sh(f"install -D -m 0644 unit /etc/systemd/system/{name}; systemctl daemon-reload")

    def processes(self, unit=None):
        """Command lines of all that is in the control group of a unit, or of all units."""
        place, found = self.show(unit, "ControlGroup") if unit else "/", []
        for folder, _, _ in os.walk(self.group / place[1:]) if place else ():
            try:
                for pid in (pathlib.Path(folder) / "cgroup.procs").read_text().split():
                    found.append(pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip())
            except OSError:
                continue    # gone since
        return found
