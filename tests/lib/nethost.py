"""nethost.py - one host of the lab: its life, what runs in it, what it sees. What goes wrong with it: netfaults.py."""
import json
import os
import pathlib
import re
import signal
import subprocess
import uuid

import lab
from netfaults import Faults
from netns import hear, namespaced, say

NETWORK_BITS = 24
SSHD = """Port 22
ListenAddress {address}
HostKey /run/lab/host_key
AuthorizedKeysFile /run/lab/authorized_keys
PidFile none
UsePAM no
UseDNS no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv PATH={path}{variables}
MaxStartups 64:30:128
"""
# The account must not be locked, whatever this machine's own file says; sshd reads no password here.
SHADOW = "".join(f"{name}:*:19000:0:99999:7:::\n" for name in ("root", "sshd", "nobody", "tpu"))
TPU_UID = 60000


def key_pair(path, comment):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)], check=True)
    return path.with_name(path.name + ".pub").read_text().strip()


# Who belongs to a host and not to a run: sshd's listener, and the daemons of slurm_lab.py.
RESIDENTS = ("sshd: /usr/sbin/sshd", "munged", "slurmctld", ": slurmscriptd", "slurmd")


def resident(words):
    return words[0].startswith(RESIDENTS)


def words_of(entry):
    """The words of a living process, given its folder in some /proc; [] of a zombie, one that is gone, the kernel's."""
    try:
        words = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return []
    return words if state != "Z" and words != [""] else []


class Host(Faults):
    """One host; `process` is the outermost of its process tree, in its net, uts and mount namespaces."""

    def __init__(self, netlab, name, number):
        self.netlab, self.name = netlab, name
        self.address = f"10.77.0.{10 + number}"
        self.port, self.mac = f"port{number}", f"02:77:00:00:{number >> 8:02x}:{number & 255:02x}" # the card stays, too
        self.folder = netlab.root / "hosts" / name
        (self.folder / "var-tmp").mkdir(parents=True)
        (self.folder / "var-tmp").chmod(0o1777)
        self.public_key = key_pair(self.folder / "host_key", name)
        self.process = None

    # ---- its life ----

    def begin(self):
        with open(self.folder / "sshd.log", "a") as log:
            self.process = namespaced("host", ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child"], log)
        say(self.process, json.dumps(self._order()))

    def _order(self):
        # Its shell is a shell: an ordinary user who may log in.
        passwd = re.sub(r"(?m)^nobody:.*$", "nobody:x:65534:65534:nobody:/nonexistent:/bin/sh", pathlib.Path("/etc/passwd").read_text())
        passwd += f"tpu:x:{TPU_UID}:{TPU_UID}:tpu:/nonexistent:/bin/sh\n"
        lab_files = {"passwd": passwd, "hosts": self.netlab.hosts_file(), "boot_id": f"{uuid.uuid4()}\n", "shadow": SHADOW,
                     "sshd_config": SSHD.format(address=self.address, path=self.netlab.path,
                                                   variables=self.netlab.variables),
                     "host_key": (self.folder / "host_key").read_text(), "authorized_keys": self.netlab.user_key + "\n"}
        shared = [(str(path), str(path)) for path in self.netlab.shared]
        hidden = {"/tmp", "/run", str(lab.TOP), str(lab.BUILD), str(self.netlab.root)}
        links = f"link set lo up\naddr add {self.address}/{NETWORK_BITS} dev eth0\nlink set eth0 up\n"
        # What root's shell does here is not the hosts': it may take locks that a dead host keeps.
        rc = {"bashrc": "/root/.bashrc"} if pathlib.Path("/root/.bashrc").exists() else {}
        lab_files["bashrc"] = ""
        return {"name": self.name, "address": self.address, "links": links, "files": lab_files,
                "hidden": sorted(hidden),
                "binds": [(str(self.folder / "var-tmp"), "/var/tmp"), *shared],
                "over": {"hosts": "/etc/hosts", "boot_id": "/proc/sys/kernel/random/boot_id", "shadow": "/etc/shadow",
                         "passwd": "/etc/passwd", **rc}}

    def link(self):
        """A cable to the bridge; the end in the host is eth0."""
        hear(self.process, "ready", self.name)
        links = (f"link add {self.port} type veth peer name eth0 address {self.mac} netns {self.process.pid}\n"
                 f"link set {self.port} master bridge up\n")
        self.netlab.node_run("ip", "-batch", "-", text=links)
        say(self.process, "go")

    def up(self):
        hear(self.process, "up", self.name)

    def first_pid(self):
        """Its process 1, as this machine numbers it."""
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(fields[1]) == self.process.pid:
                    return int(entry.name)
        return None

    def power_off(self):
        """Everything in it is gone when this returns, without a word to anybody: the cable is pulled first."""
        if self.process.poll() is None:
            self.netlab.node_run("ip", "link", "del", self.port, check=False)
            first = self.first_pid()
            os.kill(first if first else self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        self.process.stdin.close()
        self.process.stdout.close()

    def reboot(self):
        """The same address, name, keys and /var/tmp; another boot id, empty /tmp and /run."""
        self.power_off()
        self.begin()
        self.link()
        self.up()

    # ---- inside it ----

    def run(self, *argv, text=None, check=True, bound_s=60):
        pid = self.process.pid
        enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--net", f"--pid=/proc/{pid}/ns/pid_for_children"]
        done = subprocess.run([*enter, "--", *map(str, argv)], capture_output=True, text=True, cwd="/", timeout=bound_s,
                              **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}))
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def path(self, path):
        """What the host has at this path, as seen from here."""
        return pathlib.Path(f"/proc/{self.process.pid}/root{path}")

    def processes(self):
        """pid in the host -> its words, without process 1 and the residents."""
        entries = [entry for entry in self.path("/proc").iterdir() if entry.name.isdigit() and entry.name != "1"]
        found = {int(entry.name): words_of(entry) for entry in entries}
        return {pid: words for pid, words in found.items() if words and not resident(words)}

    def workers(self):
        """pids in the host of its workers, and of what they forked to keep a program together (their init processes)."""
        return sorted(pid for pid, words in self.processes().items() if "sliceup-worker" in " ".join(words)
                      and ("join" in words or words[0].startswith("sliceup-worker: ") or words[-1].endswith(" init")))

    def sessions(self):
        """pids in the host of ssh connections to it."""
        return sorted(pid for pid, words in self.processes().items() if words[0].startswith("sshd: "))

    def programs(self):
        """pids in the host of what its workers run."""
        return sorted(set(self.processes()) - set(self.workers()) - set(self.sessions()))

    def kill(self, pid, sig=signal.SIGKILL):
        self.run("kill", f"-{int(sig)}", pid)
