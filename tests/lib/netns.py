"""netns.py - the programs that hold the lab's namespaces: process 1 of a host, and the node's holder.

Both take their order as one line of JSON on standard input and say on standard output how far they are. They die with
the process that started them, and everything in their namespaces with them.
"""
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

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
    os.makedirs("/run/lab", mode=0o711)
    for name, text in order["files"].items():
        descriptor = os.open(f"/run/lab/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    os.chmod("/run/lab/authorized_keys", 0o644)     # sshd reads it as the user who logs in
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


# ---- for who starts them ----

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


if __name__ == "__main__":
    {"host": host_main, "node": node_main}[sys.argv[1]]()
