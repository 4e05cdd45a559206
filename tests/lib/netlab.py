"""netlab.py - a slice of real hosts on one machine: each with its own network, name, processes, folders and sshd.

A host (nethost.py) is a process tree in namespaces of its own (net, uts, mount, pid). The node, from which slices are
launched, is one more network namespace with the bridge that joins them; there is no way out of it, so nothing leaves
this machine and two labs do not see each other. Nothing has a name that could stay behind: when the test's process
dies, by whatever signal, the kernel ends every host with it, and with them their mounts and links. docs/lab.md has a
picture.

A host sees the system's files, but not the checkout, the build and the lab's own folder: what a worker needs there has
to travel. `shared` names folders that every host sees at the same path, as with a network file system.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import lab
from nethost import NETWORK_BITS, Host, key_pair, resident, words_of
from netns import hear, namespaced, say

NODE = "10.77.0.1"
DIRECTORY = "/var/tmp/sliceup"        # start.directory of every slice: survives a reboot, as on real machines
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PREFIX = "sliceup-netlab-"
LIMITS = {"join": "60s", "suspect": "2s", "lost": "6s", "orphan": "10s", "exit": "30s", "cascade": "2s",
          "stop": "500ms"}


def needs_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("network, mount and pid namespaces need root")


def sweep():
    """Folders of labs whose process is gone; nothing else can be left of them."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if owner and not lab.alive(owner[1]):
            shutil.rmtree(folder, ignore_errors=True)


class NetLab(lab.Lab):
    """The verbs of lab.Lab, spoken on a node before `count` hosts h0, h1, ..."""

    def __init__(self, count=8, shared=(), path=PATH, variables=""):
        needs_root()
        sweep()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.home, self.files = self.root / "home", self.root / "files"
        self.files.mkdir()
        self.running, self.hosts, self.node, self.others = [], [], None, []
        self.user, self.user_keys = [], {}
        self.shared, self.path, self.variables = [self.files, *map(pathlib.Path, shared)], path, variables
        try:
            self._begin(count)
        except BaseException:
            self.close()
            raise

    def _begin(self, count):
        self.user_key = key_pair(self.root / "user_key", "lab")
        self.hosts = [Host(self, f"h{number}", number) for number in range(count)]
        names = "".join(f"{host.name},{host.address} {' '.join(host.public_key.split()[:2])}\n" for host in self.hosts)
        (self.root / "known_hosts").write_text(names)
        (self.root / "hosts_file").write_text(self.hosts_file())
        self.node = namespaced("node", ["--net", "--uts", "--mount"], None)
        links = ("link set lo up\nlink add bridge type bridge\n"
                 f"addr add {NODE}/{NETWORK_BITS} dev bridge\nlink set bridge up\n")
        say(self.node, json.dumps({"name": "node", "links": links, "hosts_file": str(self.root / "hosts_file")}))
        hear(self.node, "up", "the node")
        for step in (Host.begin, Host.link, Host.up):
            for host in self.hosts:
                step(host)

    def hosts_file(self):
        lines = ["127.0.0.1 localhost", f"{NODE} node", *(f"{host.address} {host.name}" for host in self.hosts)]
        return "\n".join(lines) + "\n"

    def __getitem__(self, name):
        return next(host for host in self.hosts if host.name == name)

    # ---- on the node ----

    def enter(self, node=None):
        """A command's own pid is that of the process that runs it: nsenter becomes it."""
        target = f"--target={(node or self.node).pid}"
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", target, "--mount", "--uts", "--net", "--", *self.user]

    def become(self, uid):
        """What runs on the node from now on is this user's, and so is the home; 0 is root."""
        words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--pdeathsig", "KILL"]
        self.user = words if uid else []
        if uid and not self.user_keys.get(uid):
            self.root.chmod(0o711)
            self.user_keys[uid] = self.root / f"user_key.{uid}"
            shutil.copy(self.root / "user_key", self.user_keys[uid])
            os.chown(self.user_keys[uid], uid, uid)
        if uid:
            self.home.mkdir(mode=0o700, exist_ok=True)
            os.chown(self.home, uid, uid)

    def node_run(self, *argv, text="", check=True):
        done = subprocess.run([*self.enter(), *map(str, argv)], input=text, capture_output=True, text=True, cwd="/",
                              timeout=60, env=self.env())
        if check and done.returncode != 0:
            raise AssertionError(f"node: {argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def sliceup(self, *args, bound_s=300, env=None):
        done = subprocess.run([*self.enter(), str(lab.SLICEUP), *map(str, args)], env=env or self.env(), cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=bound_s,
                              errors="surrogateescape")
        return self._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def start(self, *args, env=None, node=None):
        background = lab.Background([*self.enter(node), str(lab.SLICEUP), *map(str, args)], env or self.env())
        self.running.append(background)
        return background

    def node_processes(self):
        """pid -> words of what still runs on the node: coordinators, couriers."""
        found = {}
        for entry in self.node_entries():
            words = words_of(entry)
            if words and not resident(words):
                found[int(entry.name)] = words
        return found

    def node_entries(self):
        """The folders in /proc of everything on the nodes but the processes that hold their namespaces."""
        holders = {str(node.pid) for node in (self.node, *self.others)}
        wanted = {os.readlink(f"/proc/{pid}/ns/net") for pid in holders}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "ns/net") in wanted and entry.name not in holders:
                    yield entry
            except OSError:
                continue

    # ---- a second node ----

    def second_node(self):
        """Another place for a coordinator; it has no address until move_address gives it the node's."""
        other = namespaced("node", ["--net", "--uts", "--mount"], None)
        self.others.append(other)
        order = {"name": "node2", "links": "link set lo up\n", "hosts_file": str(self.root / "hosts_file")}
        say(other, json.dumps(order))
        hear(other, "up", "the second node")
        port = f"node{len(self.others)}"
        self.node_run("ip", "-batch", "-", text=f"link add {port} type veth peer name eth0 netns {other.pid}\n"
                      f"link set {port} master bridge up\n")
        return other

    def move_address(self, giver, taker):
        """The node's address goes from one to the other: whoever connects to it from now on finds the other."""
        for node, verb in ((giver, "del"), (taker, "add")):
            device = "bridge" if node is self.node else "eth0"
            words = f"link set {device} up\naddr {verb} {NODE}/{NETWORK_BITS} dev {device}\n"
            # The giver may have none: a test that failed half way tidies up so.
            subprocess.run([*self.enter(node), "ip", "-force", "-batch", "-"], input=words, text=True, check=False,
                           cwd="/", stderr=subprocess.DEVNULL)
        for host in self.hosts:
            host.run("ip", "neigh", "flush", "dev", "eth0")

    # ---- files ----

    def slice(self, hosts=None, ladder="plain", profile="plain", name="slice.yaml", limits=None, **more):
        """A slice over `hosts` (names; all of them by default), launched over ssh with the lab's keys."""
        chosen = [self[host] for host in hosts] if hosts else self.hosts
        settings = {"slice": pathlib.Path(name).stem, "launcher": "ssh", "profile": profile, "ladder": ladder,
                    "hosts": [{"name": host.name, "address": host.address} for host in chosen],
                    "start": {"directory": DIRECTORY, "deadline": "60s"}, "coordinator": {"address": NODE},
                    "ssh": {"user": "root", "identities": [str(self.root / "user_key")], "agent": False,
                            "known_hosts": str(self.root / "known_hosts")},
                    "cache": {"mode": "off"}, "limits": {**LIMITS, **(limits or {})}, **more}
        return self.write_settings(name, settings)

    def write_settings(self, name, settings):
        return self.write(name, "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))

    # ---- afterwards ----

    def left_running(self):
        """What is left of runs anywhere: {host: {pid: words}}, with the node as a host."""
        left = {host.name: host.processes() for host in self.hosts}
        left["node"] = self.node_processes()
        return {name: processes for name, processes in left.items() if processes}

    def reports(self):
        said = [super().reports()]
        for log in self.root.glob("hosts/*/var-tmp/**/*.log"):
            text = log.read_text(errors="replace")
            if lab.REPORT.search(text):
                said.append(f"{log}:\n{text[-6000:]}")
        return "\n".join(filter(None, said))

    def close(self):
        for background in self.running:
            if background.process.poll() is None:
                background.kill()
                background.process.wait(10)
        for host in self.hosts:
            if host.process:
                host.power_off()
        if self.node:
            for entry in list(self.node_entries()):
                lab.end_by_pid(int(entry.name))
            for node in (self.node, *self.others):
                node.kill()
                node.wait(10)
                node.stdin.close()
                node.stdout.close()
        said = self.reports() + "".join(b.out for b in self.running if lab.REPORT.search(b.out))
        shutil.rmtree(self.root, ignore_errors=True)
        if said:
            raise AssertionError(f"a sanitizer or an assertion spoke: {said}")


class NetLabTest(lab.LabTest):
    """One lab for all tests of a class: hosts are healed, and must be empty, after each test."""
    COUNT = 8
    SHARED = ()
    PATH = PATH

    @classmethod
    def setUpClass(cls):
        cls.netlab = NetLab(cls.COUNT, cls.SHARED, cls.PATH)
        cls.addClassCleanup(cls.netlab.close)

    def setUp(self):
        self.lab = self.netlab
        self.lab.home = self.lab.root / self._testMethodName
        self.began = time.monotonic()
        self.addCleanup(self._tidy)

    def _tidy(self):
        """So that a test that failed does not fail the next."""
        for pid in self.lab.node_processes():
            lab.end_by_pid(pid)
        for host in self.lab.hosts:
            host.heal()
            for pid in host.processes():
                host.run("kill", "-KILL", pid, check=False)

    def nothing_is_left(self, bound_s=15):
        try:
            lab.wait_for(lambda: not self.lab.left_running(), "every host and the node to be empty", bound_s)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.lab.left_running()}") from None
