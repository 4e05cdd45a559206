"""sshd.py - real ssh servers on high ports of 127.0.0.1, each with throw-away keys.

    with sshd.Server(folder) as server:
        server.known_hosts_line("ed25519"), server.port, server.user_key

Everything lies below the folder that the caller gives (and removes). A server runs in the foreground as a child of the test
and is ended with its sessions by pid. It needs root only as far as sshd does: to let another user in than the one who runs it.
"""
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
PRIVILEGES = pathlib.Path("/run/sshd")      # sshd run by root insists on it; packages make it, a container may lack it


def why_not():
    """Why no server can run here; None when one can."""
    if not SSHD:
        return "needs openssh-server"
    if os.geteuid() == 0 and not PRIVILEGES.is_dir():
        try:
            PRIVILEGES.mkdir(mode=0o755)
        except OSError as error:
            return f"sshd needs {PRIVILEGES}: {error}"
    return None


def make_key(path, kind="ed25519", bits=None, passphrase=""):
    """A new key pair at path and path.pub."""
    words = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "throw-away", "-f", str(path)]
    subprocess.run(words + (["-b", str(bits)] if bits else []), check=True, stdin=subprocess.DEVNULL, timeout=60)
    return pathlib.Path(path)


def fingerprint(path):
    """SHA256:... of a key file or its .pub."""
    done = subprocess.run(["ssh-keygen", "-lf", str(path)], check=True, capture_output=True, text=True, timeout=20)
    return done.stdout.split()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children_of(pid):
    """pids of all that descend from pid, itself not."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found, at = [], [pid]
    while at:
        parent = at.pop()
        nearer = [child for child, of in parents.items() if of == parent]
        found += nearer
        at += nearer
    return found


class Server:
    """host_keys: kinds, or {kind: path of a key that exists}. config: further lines of sshd_config, before all others, so that
    they win. authorized: public key files that may enter; default: a new user key.
    within: a command that runs the server, such as unshare's."""

    def __init__(self, folder, host_keys=("ed25519",), config=(), authorized=None, port=None, user_key=None, within=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.user = getpass.getuser()
        self.host_keys = {}
        for kind in host_keys:
            given = host_keys[kind] if isinstance(host_keys, dict) else None
            self.host_keys[kind] = pathlib.Path(given) if given else make_key(self.folder / f"host_{kind}", kind)
        self.user_key = pathlib.Path(user_key) if user_key else make_key(self.folder / "user_ed25519")
        self.authorized_keys = self.folder / "authorized_keys"
        self.authorize(*(authorized if authorized is not None else [f"{self.user_key}.pub"]))
        self.config = list(config)
        self.within = list(within)
        self.port = port
        self.process = None
        self.log = self.folder / "sshd.log"

    def authorize(self, *public_keys):
        self.authorized_keys.write_text("".join(pathlib.Path(path).read_text() for path in public_keys))

    def known_hosts_line(self, kind="ed25519", key=None, alias=""):
        words = pathlib.Path(f"{key or self.host_keys[kind]}.pub").read_text().split()
        return f"{alias or f'[127.0.0.1]:{self.port}'} {words[0]} {words[1]}\n"

    def known_hosts(self, path=None):
        """A file with all keys of this server."""
        path = pathlib.Path(path or self.folder / "known_hosts")
        fresh = path.with_name(path.name + ".new")  # somebody may be reading it
        fresh.write_text("".join(self.known_hosts_line(kind) for kind in self.host_keys))
        fresh.rename(path)
        return path

    def _write_config(self):
        lines = self.config + [f"Port {self.port}", "ListenAddress 127.0.0.1", "AddressFamily inet", "StrictModes no",
                               f"PidFile {self.folder / 'sshd.pid'}", f"AuthorizedKeysFile {self.authorized_keys}",
                               "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UsePAM no", "UseDNS no",
                               "PermitRootLogin yes", "MaxStartups 200", "LogLevel VERBOSE", "PrintMotd no"]
        lines += [f"HostKey {path}" for path in self.host_keys.values()]
        path = self.folder / "sshd_config"
        path.write_text("\n".join(lines) + "\n")
        return path

    def start(self, bound_s=30):
        for _ in range(5):                  # somebody else may take the port in between
            if not self.port or self.process:
                self.port = free_port()
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen([*self.within, SSHD, "-D", "-e", "-f", str(self._write_config())], stdin=subprocess.DEVNULL,
                                                stdout=log, stderr=log)
            if self._listens(bound_s):
                return self
        raise AssertionError(f"sshd does not start:\n{self.log.read_text()}")

    def _listens(self, bound_s):
        until = time.monotonic() + bound_s
        while time.monotonic() < until and self.process.poll() is None:
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.02)
        return False

    def said(self):
        return self.log.read_text(errors="replace")

    def stop(self):
        """The listener first, then what it had begun: sessions, and programs in them that did not leave."""
        if self.process and self.process.poll() is None:
            begun = children_of(self.process.pid)
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
            for pid in begun:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


PASSWORD = "correct horse"
HASH = "$6$lab$cOGrT0BhQnVED40r80YnNluOjJV5Zwm.9uUeMYLcML4xg1EZXsJU0oxqyWsTZ1u9LbJfKuhjmEJ9q.X8PQLbZ1"     # openssl passwd -6 -salt lab "correct horse"


def with_password(folder, *config, pam="", changed=19000):
    """Options of a Server whose user root has the PASSWORD; it asks for that by the keyboard if there are rules for PAM. As root."""
    shadow, rules = pathlib.Path(folder) / "shadow", pathlib.Path(folder) / "pam"
    shadow.write_text(f"root:{HASH}:{changed}:0:99999:7:::\n")
    rules.write_text(pam)
    binds = f"mount --bind {shadow} /etc/shadow" + (f" && mount --bind {rules} /etc/pam.d/sshd" if pam else "")
    ways = ["UsePAM yes", "KbdInteractiveAuthentication yes"] if pam else ["PasswordAuthentication yes"]
    return {"config": [*config, *ways], "within": ["unshare", "--mount", "sh", "-c", f'{binds} && exec "$@"', "sh"]}


SUDO_USERS = {"boss": "ALL=(ALL) NOPASSWD: ALL", "clerk": "ALL=(ALL) ALL", "guest": None}   # nobody knows the guest


def with_sudo(folder, *config, defaults=""):
    """Options of a Server with the SUDO_USERS, who have the PASSWORD, and sudo as Debian has it. As root; the folder is opened to them."""
    folder = pathlib.Path(folder)
    folder.chmod(0o755)
    (folder / "homes").mkdir(exist_ok=True)
    files = {name: pathlib.Path("/etc", name).read_text() for name in ("passwd", "shadow")}
    rules = f"Defaults env_reset, mail_badpass, use_pty{defaults}\nroot ALL=(ALL:ALL) ALL\n"
    for uid, (name, rule) in enumerate(SUDO_USERS.items(), 64001):
        (folder / "homes" / name).mkdir(exist_ok=True)
        os.chown(folder / "homes" / name, uid, 65534)
        files["passwd"] += f"{name}:x:{uid}:65534::{folder}/homes/{name}:/bin/sh\n"
        files["shadow"] += f"{name}:{HASH}:19000:0:99999:7:::\n"
        rules += f"{name} {rule}\n" if rule else ""
    binds = ""
    for name, text in {**files, "sudoers": rules}.items():
        (folder / name).write_text(text)
        (folder / name).chmod({"passwd": 0o644, "shadow": 0o600, "sudoers": 0o440}[name])
        binds += f"mount --bind {folder / name} /etc/{name} && "
    return {"config": list(config), "within": ["unshare", "--mount", "sh", "-c", f'{binds}exec "$@"', "sh"]}


class Agent:
    """An ssh-agent with keys, for as long as the block lasts."""

    def __init__(self, folder, *keys):
        self.socket = pathlib.Path(folder) / "agent.socket"
        self.keys = keys
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", str(self.socket)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while not self.socket.exists() and time.monotonic() < until:
            time.sleep(0.02)
        for key in self.keys:
            subprocess.run(["ssh-add", "-q", str(key)], env={**os.environ, "SSH_AUTH_SOCK": str(self.socket)}, check=True,
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
