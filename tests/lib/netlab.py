"""netlab.py - a slice of real hosts on one machine: each with its own network, name, processes, folders and sshd.

A host is a process tree in namespaces of its own (net, uts, mount, pid). The node, from which slices are launched, is one
more network namespace with the bridge that joins them; there is no way out of it, so nothing leaves this machine and two
labs do not see each other. Nothing has a name that could stay behind: when the test's process dies, by whatever signal,
the kernel ends every host with it, and with them their mounts and links. docs/lab.md has a picture.

A host sees the system's files, but not the checkout, the build and the lab's own folder: what a worker needs there has to
travel. `shared` names folders that every host sees at the same path, as with a network file system.
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import lab

NODE = "10.77.0.1"
NETWORK_BITS = 24
DIRECTORY = "/var/tmp/sliceup"        # start.directory of every slice: survives a reboot, as on real machines
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PREFIX = "sliceup-netlab-"
LIMITS = {"join": "60s", "suspect": "2s", "lost": "6s", "orphan": "10s", "exit": "30s", "cascade": "2s", "stop": "500ms"}


def needs_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("network, mount and pid namespaces need root")


# ---- inside a host ----

LIBC = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_RDONLY, MS_REMOUNT = 4096, 1, 32


def mount(source, target, kind=None, flags=0, options=None):
    def encoded(text):
        return None if text is None else str(text).encode()
    if LIBC.mount(encoded(source), encoded(target), encoded(kind), ctypes.c_ulong(flags), encoded(options)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source} on {target}: {os.strerror(number)}")


def bind(descriptor, target):
    """Mounts what the descriptor stands for: it was opened before other mounts hid its path."""
    target = pathlib.Path(target)
    if os.path.isdir(f"/proc/self/fd/{descriptor}"):
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(f"/proc/self/fd/{descriptor}", target, flags=MS_BIND)


def hide(paths):
    """An empty folder in place of each, the upper ones first: what lies under one is hidden with it."""
    for path in sorted(paths, key=len):
        os.makedirs(path, exist_ok=True)
        mount("tmpfs", path, "tmpfs", options="mode=1777" if path.startswith("/tmp") else "mode=755")


def private_files(order):
    """The host's own view of the file system; `shared` and `own` are opened before anything is hidden."""
    opened = [(os.open(source, os.O_PATH | os.O_CLOEXEC), target) for source, target in order["binds"]]
    mount("proc", "/proc", "proc")
    hide(order["hidden"])
    for descriptor, target in opened:
        bind(descriptor, target)
        os.close(descriptor)
    os.makedirs("/run/lab", mode=0o700)
    for name, text in order["files"].items():
        descriptor = os.open(f"/run/lab/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    for name, target in order["over"].items():
        os.chmod(f"/run/lab/{name}", 0o644)
        mount(f"/run/lab/{name}", target, flags=MS_BIND)


def until_listening(address, port):
    end = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((address, port)) == 0:
                return
        if time.monotonic() > end:
            raise TimeoutError(f"nobody listens on {address}:{port} after 30 s")
        time.sleep(0.02)


def reap_until_killed():
    """The first process of a pid namespace inherits every orphan in it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    while True:
        signal.sigwaitinfo([signal.SIGCHLD])
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def host_main():
    """Process 1 of a host: its order is the first line of standard input, the second says that its link is there."""
    order = json.loads(sys.stdin.readline())
    private_files(order)
    socket.sethostname(order["name"])
    print("ready", flush=True)
    sys.stdin.readline()
    subprocess.run(["ip", "-batch", "-"], check=True, text=True, input=order["links"])
    os.makedirs("/run/sshd", mode=0o755)
    for name in ("sshd_config", "host_key"):
        os.chmod(f"/run/lab/{name}", 0o600)
    subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/run/lab/sshd_config"], stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL)
    until_listening(order["address"], 22)
    print("up", flush=True)
    os.dup2(os.open("/dev/null", os.O_RDWR), 0)
    os.dup2(0, 1)
    reap_until_killed()


def node_main():
    """Holds the node's namespaces until its standard input ends."""
    order = json.loads(sys.stdin.readline())
    socket.sethostname(order["name"])
    hide(["/run"])
    mount(order["hosts_file"], "/etc/hosts", flags=MS_BIND)
    subprocess.run(["ip", "-batch", "-"], check=True, text=True, input=order["links"])
    print("up", flush=True)
    sys.stdin.read()


# ---- on the outside ----

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
SetEnv PATH={path}
MaxStartups 64:30:128
"""
# The account must not be locked, whatever this machine's own file says; sshd reads no password here.
SHADOW = "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n"


def namespaced(role, flags, log):
    """One of the two programs above, in new namespaces; it dies with this process, and all it started with it."""
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", *flags, sys.executable, "-B", __file__, role]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd="/",
                            env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)})


def say(process, words):
    process.stdin.write(words + "\n")
    process.stdin.flush()


def hear(process, word, who):
    line = process.stdout.readline().strip()
    if line != word:
        raise AssertionError(f"{who} did not come up: said {line!r} instead of {word!r}")


def key_pair(path, comment):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)], check=True)
    return path.with_name(path.name + ".pub").read_text().strip()


# Who belongs to a host and not to a run: sshd's listener, and the daemons of slurm_lab.py.
RESIDENTS = ("sshd: /usr/sbin/sshd", "munged", "slurmctld", ": slurmscriptd", "slurmd")


def resident(words):
    return words[0].startswith(RESIDENTS)


def words_of(entry):
    """The words of a living process, given its folder in some /proc; [] of one that is gone, a zombie, or the kernel's."""
    try:
        words = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
        state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return []
    return words if state != "Z" and words != [""] else []


class Host:
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
        lab_files = {"hosts": self.netlab.hosts_file(), "boot_id": f"{uuid.uuid4()}\n", "shadow": SHADOW,
                     "sshd_config": SSHD.format(address=self.address, path=self.netlab.path),
                     "host_key": (self.folder / "host_key").read_text(), "authorized_keys": self.netlab.user_key + "\n"}
        shared = [(str(path), str(path)) for path in self.netlab.shared]
        hidden = {"/tmp", "/run", str(lab.TOP), str(lab.BUILD), str(self.netlab.root)}
        links = f"link set lo up\naddr add {self.address}/{NETWORK_BITS} dev eth0\nlink set eth0 up\n"
        return {"name": self.name, "address": self.address, "links": links, "files": lab_files, "hidden": sorted(hidden),
                "binds": [(str(self.folder / "var-tmp"), "/var/tmp"), *shared],
                "over": {"hosts": "/etc/hosts", "boot_id": "/proc/sys/kernel/random/boot_id", "shadow": "/etc/shadow"}}

    def link(self):
        """A cable to the bridge; the end in the host is eth0."""
        hear(self.process, "ready", self.name)
        self.netlab.node_run("ip", "-batch", "-", text=f"link add {self.port} type veth peer name eth0 address {self.mac} "
                             f"netns {self.process.pid}\nlink set {self.port} master bridge up\n")
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
        enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--net", f"--pid=/proc/{pid}/ns/pid_for_children", "--"]
        done = subprocess.run([*enter, *map(str, argv)], input=text, capture_output=True, text=True, cwd="/", timeout=bound_s,
                              **({} if text is not None else {"stdin": subprocess.DEVNULL}))
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
        """pids in the host of its workers, and of what they forked to keep a program together ("sliceup-worker keeper")."""
        return sorted(pid for pid, words in self.processes().items() if "sliceup-worker" in " ".join(words)
                      and " ".join(words).split()[-1] in ("join", "keeper"))

    def sessions(self):
        """pids in the host of ssh connections to it."""
        return sorted(pid for pid, words in self.processes().items() if words[0].startswith("sshd: "))

    def programs(self):
        """pids in the host of what its workers run."""
        return sorted(set(self.processes()) - set(self.workers()) - set(self.sessions()))

    def kill(self, pid, sig=signal.SIGKILL):
        self.run("kill", f"-{int(sig)}", pid)

    # ---- faults ----

    def _rules(self, rules):
        text = "add table inet lab\ndelete table inet lab\n"
        if rules:
            text += "add table inet lab\nadd chain inet lab in { type filter hook input priority 0; }\n"
            text += "add chain inet lab out { type filter hook output priority 0; }\n" + "".join(rules)
        self.run("nft", "-f", "-", text=text)

    def cut(self, inward=True, outward=True):
        """What comes in, or what goes out, is lost from now on; connections stay open and say nothing."""
        self._rules(["add rule inet lab in iifname eth0 drop\n"] * inward + ["add rule inet lab out oifname eth0 drop\n"] * outward)

    def lossy(self, percent):
        self._rules([f"add rule inet lab in iifname eth0 numgen random mod 100 < {percent} drop\n",
                     f"add rule inet lab out oifname eth0 numgen random mod 100 < {percent} drop\n"])

    def heal(self):
        self._rules([])

    def pause(self):
        """Stops all but process 1 and sshd's listener, which nobody asks anything meanwhile."""
        self._signal_all("STOP")

    def resume(self):
        self._signal_all("CONT")

    def _signal_all(self, name):
        pids = sorted(self.processes())
        if pids:
            self.run("kill", f"-{name}", *pids, check=False)


class NetLab(lab.Lab):
    """The verbs of lab.Lab, spoken on a node before `count` hosts h0, h1, ..."""

    def __init__(self, count=8, shared=(), path=PATH):
        needs_root()
        sweep()
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self.home, self.files = self.root / "home", self.root / "files"
        self.files.mkdir()
        self.running, self.hosts, self.node, self.others = [], [], None, []
        self.shared, self.path = [self.files, *map(pathlib.Path, shared)], path
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
        links = f"link set lo up\nlink add bridge type bridge\naddr add {NODE}/{NETWORK_BITS} dev bridge\nlink set bridge up\n"
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
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--target={(node or self.node).pid}", "--mount", "--uts", "--net", "--"]

    def node_run(self, *argv, text="", check=True):
        done = subprocess.run([*self.enter(), *map(str, argv)], input=text, capture_output=True, text=True, cwd="/", timeout=60,
                              env=self.env())
        if check and done.returncode != 0:
            raise AssertionError(f"node: {argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def sliceup(self, *args, bound_s=300, env=None):
        done = subprocess.run([*self.enter(), str(lab.SLICEUP), *map(str, args)], env=env or self.env(), cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=bound_s, errors="surrogateescape")
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
        say(other, json.dumps({"name": "node2", "links": "link set lo up\n", "hosts_file": str(self.root / "hosts_file")}))
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
            subprocess.run([*self.enter(node), "ip", "-force", "-batch", "-"], input=words, text=True, check=False, cwd="/",
                           stderr=subprocess.DEVNULL) # the giver may have none: a test that failed half way tidies up so
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
                os.kill(int(entry.name), signal.SIGKILL)
            for node in (self.node, *self.others):
                node.kill()
                node.wait(10)
                node.stdin.close()
                node.stdout.close()
        said = self.reports() + "".join(b.out for b in self.running if lab.REPORT.search(b.out))
        shutil.rmtree(self.root, ignore_errors=True)
        if said:
            raise AssertionError(f"a sanitizer or an assertion spoke: {said}")


def sweep():
    """Folders of labs whose process is gone; nothing else can be left of them."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = re.match(rf"{PREFIX}(\d+)-", folder.name)
        if owner and not lab.alive(owner[1]):
            shutil.rmtree(folder, ignore_errors=True)


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
            os.kill(pid, signal.SIGKILL)
        for host in self.lab.hosts:
            host.heal()
            for pid in host.processes():
                host.run("kill", "-KILL", pid, check=False)

    def nothing_is_left(self, bound_s=15):
        try:
            lab.wait_for(lambda: not self.lab.left_running(), "every host and the node to be empty", bound_s)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.lab.left_running()}") from None


if __name__ == "__main__":
    {"host": host_main, "node": node_main}[sys.argv[1]]()
