"""Tries to write the shared cache in every way it knows, and fails when one works.

The cold pass writes one entry, as a compiler would; the restored pass reads it, and then attacks: the generation at its
constant path and at the path that args.root leads to. args: root (the cache root), allowed (ways that may be open).
As a program of its own: writes_cache.py FOLDER...; prints JSON, way -> "refused: why" or "open".
"""

import ctypes
import errno
import json
import os
import socket
import stat
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
# linux/mount.h, linux/sched.h, linux/ptrace.h
MS_RDONLY, MS_REMOUNT, MS_BIND, MNT_DETACH = 1, 32, 4096, 2
CLONE_NEWNS, CLONE_NEWUSER, PTRACE_ATTACH, PTRACE_DETACH = 0x20000, 0x10000000, 16, 17
CALLS = {"x86_64": {"open_tree": 428, "mount_setattr": 442, "ptrace": 101},
         "aarch64": {"open_tree": 428, "mount_setattr": 442, "ptrace": 117}}[os.uname().machine]


STARTER = os.getppid()  # not one of us: the worker


class Refused(Exception):
    """It did not work, for a reason that is not an errno."""


def call(function, *args):
    if function(*args) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def mount(source, target, kind, flags, options=None):
    words = [word.encode() if word else None for word in (source, target, kind)]
    call(LIBC.mount, *words, ctypes.c_ulong(flags), options.encode() if options else None)


def umount(target):
    call(LIBC.umount2, target.encode(), MNT_DETACH)


def unshare(flags):
    call(LIBC.unshare, flags)


def opened(path, flags, *more):
    os.close(os.open(path, flags | os.O_CLOEXEC, *more))


class Attack:
    """One folder, the file in it that may be harmed, and a name that is not there."""

    def __init__(self, folder):
        self.folder = folder
        self.victim = os.path.join(folder, "WITNESS")
        self.fresh = os.path.join(folder, f".attack-{os.getpid()}")

    # ---- plain ways ----

    def create(self):
        opened(self.fresh, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o600)

    def tmpfile(self):
        opened(self.folder, os.O_TMPFILE | os.O_WRONLY, 0o600)

    def append(self):
        opened(self.victim, os.O_WRONLY | os.O_APPEND)

    def overwrite(self):
        opened(self.victim, os.O_RDWR)

    def truncate(self):
        os.truncate(self.victim, 1)

    def truncate_by_reading(self):
        opened(self.victim, os.O_RDONLY | os.O_TRUNC)

    def rename(self):
        os.rename(self.victim, self.fresh)

    def rename_away(self):
        os.rename(self.folder, self.folder + "-away")

    def rename_into(self):
        with open("here", "w", encoding="ascii"):
            pass
        os.rename("here", self.fresh)

    def unlink(self):
        os.unlink(self.victim)

    def chmod(self):
        os.chmod(self.victim, 0o666)

    def chmod_folder(self):
        os.chmod(self.folder, 0o777)

    def chown(self):
        os.chown(self.victim, os.geteuid(), os.getegid())

    def utimes(self):
        os.utime(self.victim, (1, 1))

    def setxattr(self):
        os.setxattr(self.victim, "user.attack", b"1")

    def symlink(self):
        os.symlink("/", self.fresh)

    def link(self):
        os.link(self.victim, self.fresh)

    def link_out(self):
        os.link(self.victim, "linked")
        opened("linked", os.O_WRONLY)

    def mkdir(self):
        os.mkdir(self.fresh)

    def mkfifo(self):
        os.mkfifo(self.fresh)

    def mksock(self):
        with socket.socket(socket.AF_UNIX) as one:
            os.chdir(self.folder)
            one.bind(".attack")

    # ---- other doors ----

    def proc_root(self):
        opened("/proc/self/root" + self.victim, os.O_WRONLY)

    def other_roots(self):
        """Every process that shows its root: the worker, its init process, whatever else runs here."""
        why = "no process at all"
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                opened(f"/proc/{pid}/root{self.victim}", os.O_WRONLY)
                return
            except OSError as error:
                why = error.strerror
        raise Refused(why)

    def ptrace(self):
        for pid in {STARTER, 1} - {0, os.getpid()}:
            if LIBC.syscall(CALLS["ptrace"], PTRACE_ATTACH, pid, 0, 0) == 0:
                LIBC.syscall(CALLS["ptrace"], PTRACE_DETACH, pid, 0, 0)
                return
        raise Refused("nobody can be traced")

    def setns(self):
        fd = os.open("/proc/1/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        call(LIBC.setns, fd, CLONE_NEWNS)

    def top(self):
        """The mount that the folder is on."""
        path = self.folder
        while not os.path.ismount(path):
            path = os.path.dirname(path)
        return path

    def mounts(self):
        """Every mount from the folder up to the root of all."""
        path, found = self.folder, []
        while path != "/":
            found += [path] if os.path.ismount(path) else []
            path = os.path.dirname(path)
        return found or ["/"]

    def remount(self):
        mount(None, self.top(), None, MS_REMOUNT | MS_BIND)

    def umount(self):
        umount(self.top())

    def mount_setattr(self):
        attr = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
        call(LIBC.syscall, CALLS["mount_setattr"], -100, self.top().encode(), 0x8000, attr, 32)

    def bind_over(self):
        os.makedirs("other", exist_ok=True)
        mount("other", self.folder, None, MS_BIND)

    def chroot_out(self):
        os.makedirs("jail", exist_ok=True)
        os.chroot("jail")

    def by_handle(self):
        """A handle, opened on another mount of the same file system (open_by_handle_at(2))."""
        handle = ctypes.create_string_buffer(136)
        ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
        which = ctypes.c_int()
        call(LIBC.name_to_handle_at, -100, self.victim.encode(), handle, ctypes.byref(which), 0)
        fd = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        call(LIBC.open_by_handle_at, fd, handle, os.O_WRONLY)

    def own_device(self):
        """A device node of the file system, made here."""
        os.mknod("disk", stat.S_IFBLK | 0o600, os.stat(self.victim).st_dev)
        opened("disk", os.O_WRONLY)

    def own_device_mounted(self):
        os.mknod("disk2", stat.S_IFBLK | 0o600, os.stat(self.victim).st_dev)
        os.makedirs("disk-at", exist_ok=True)
        mount("disk2", "disk-at", "ext4", 0)

    def raw_device(self):
        """The file system's device, as it lies in /dev."""
        wanted = os.stat(self.victim).st_dev
        for name in os.listdir("/dev"):
            at = os.stat(os.path.join("/dev", name), follow_symlinks=False)
            if stat.S_ISBLK(at.st_mode) and at.st_rdev == wanted:
                opened(os.path.join("/dev", name), os.O_WRONLY)
                return
        raise Refused("there is no such device")

    def core_pattern(self):
        """Whoever may say what collects cores makes the kernel run it, outside of everything."""
        opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)

    # ---- with all rights over namespaces of one's own ----

    def apart(self, action):
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        action()

    def apart_remount(self):
        def undo():
            for at in self.mounts():
                mount(None, at, None, MS_REMOUNT | MS_BIND)
            opened(self.victim, os.O_WRONLY)
        self.apart(undo)

    def apart_umount(self):
        def undo():
            for at in self.mounts():
                umount(at)
            opened(self.victim, os.O_WRONLY)
        self.apart(undo)

    def apart_uncovered(self):
        """A copy of what lies below the read-only mount, without it."""
        def undo():
            os.makedirs("copy", exist_ok=True)
            mount("/", "copy", None, MS_BIND)
            opened("copy" + self.victim, os.O_WRONLY)
        self.apart(undo)

    def apart_tree(self):
        def undo():
            call(LIBC.syscall, CALLS["open_tree"], -100, b"/", 1)
        self.apart(undo)

    def apart_proc(self):
        """A /proc of one's own would show /proc/sys without what lies over it."""
        def undo():
            os.makedirs("proc", exist_ok=True)
            mount("proc", "proc", "proc", 0)
            opened("proc/sys/kernel/core_pattern", os.O_WRONLY)
        self.apart(undo)


WAYS = [name for name in vars(Attack)
        if name not in ("top", "mounts", "apart") and not name.startswith("_")]


def in_child(attack, name):
    """What a way leaves behind stays in a process that ends: namespaces, folders, ids."""
    back, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            getattr(attack, name)()
            said = "open"
        except (OSError, Refused) as error:
            code = getattr(error, "errno", None)
            said = f"refused: {errno.errorcode.get(code, str(error))}"
        except BaseException as error:  # noqa: B902: told, whatever it is
            said = f"broken: {error!r}"
        os.write(out, said.encode())
        os._exit(0)
    os.close(out)
    with os.fdopen(back) as said:
        told = said.read()
    os.waitpid(pid, 0)
    return told or "broken: it said nothing"


def attack_all(folder):
    """way -> what came of it."""
    attack = Attack(folder)
    return {name: in_child(attack, name) for name in WAYS}


def generations(root):
    """Every sealed generation at its real path."""
    return [base for base, _, files in os.walk(root) if "MANIFEST" in files]


def attack_cache(canary, folder):
    folders = [folder] + generations(canary.args["root"])
    told = [attack_all(one) for one in folders]
    for name in WAYS:
        bad = [came[name] for came in told if not came[name].startswith("refused")]
        canary.check(f"way {name}", 0, 0 if name in canary.args.get("allowed", []) else len(bad))


def body(canary):
    folder = os.environ["JAX_COMPILATION_CACHE_DIR"]
    sliceup_plain.start(canary)
    canary.phase("run")
    entry = os.path.join(folder, "jit_one-cache")
    warmed = os.path.exists(entry)
    if not warmed:
        with open(entry, "w", encoding="ascii") as out:
            out.write("compiled\n")
    canary.counted.update(compile_requests=1, cache_hits=int(warmed), cache_misses=int(not warmed), executions=1)
    if canary.attempt["pass"] == "restored":
        attack_cache(canary, folder)
    sliceup_plain.finish(canary)


if len(sys.argv) > 1 and sys.argv[1].startswith("/"):
    print(json.dumps({each: attack_all(each) for each in sys.argv[1:]}), flush=True)
else:
    import lab
    lab.helpers("plain")
    import sliceup_plain
    sliceup_plain.run(body)
