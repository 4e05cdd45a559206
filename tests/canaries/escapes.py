"""Tries to change what sliceup itself runs, imports, reads and trusts on this host, so that code of its own would run outside of the
sandbox; fails when a way works.

A cold pass writes one entry, as a compiler would; every other pass attacks. args: folders (they, all that is in them and all above
them are attacked; files may be named as well), mark (a file that code outside of the sandbox could make).
As a program of its own: escapes.py MARK FOLDER...; prints JSON, way -> paths on which it worked.
"""

import json
import os
import stat
import sys

EVIL = "#!/bin/sh\necho \"$0 $*\" >>{mark}\n"


def worked(action, *args):
    try:
        action(*args)
    except OSError:
        return False
    return True


class Attack:
    """Each method is a way. What would only get in the way of the next one is taken back."""

    def __init__(self, mark):
        self.mark = mark

    def evil(self):
        """A program that leaves the mark, made where this program may write."""
        with open("evil", "w", encoding="ascii") as out:
            out.write(EVIL.format(mark=self.mark))
        os.chmod("evil", 0o755)
        return os.path.abspath("evil")

    def replace(self, path):
        os.rename(self.evil(), path)

    def exchange(self, path):
        """The name is never away."""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.renameat2(-100, self.evil().encode(), -100, path.encode(), 2) < 0:
            raise OSError(ctypes.get_errno(), "renameat2")

    def replace_from_beside(self, path):
        with open(self.evil(), "rb") as source, open(path + ".evil", "wb") as out:
            out.write(source.read())
        os.chmod(path + ".evil", 0o755)
        os.rename(path + ".evil", path)

    def overwrite(self, path):
        with open(self.evil(), "rb") as source, open(path, "r+b") as out:
            out.write(source.read())
            out.truncate()

    def append(self, path):
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))

    def truncate(self, path):
        os.truncate(path, os.stat(path).st_size)

    def unlink(self, path):
        os.unlink(path)

    def link(self, path):
        os.link(path, "linked")
        try:
            os.close(os.open("linked", os.O_WRONLY))
        finally:
            os.unlink("linked")

    def through_proc(self, path):
        os.close(os.open("/proc/self/root" + path, os.O_WRONLY))

    def reopen(self, path):
        """A descriptor that reads, opened again to write."""
        reading = os.open(path, os.O_RDONLY)
        try:
            os.close(os.open(f"/proc/self/fd/{reading}", os.O_WRONLY))
        finally:
            os.close(reading)

    def create(self, folder):
        path = os.path.join(folder, "sitecustomize.py")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o755)
        os.write(descriptor, f"open({self.mark!r}, 'a').write('imported')\n".encode())
        os.close(descriptor)

    def tmpfile(self, folder):
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))

    def symlink(self, folder):
        os.symlink("/", os.path.join(folder, ".evil-link"))

    def mkdir(self, folder):
        os.mkdir(os.path.join(folder, ".evil-folder"))

    def rename_away(self, folder):
        os.rename(folder, folder + ".away")
        os.rename(folder + ".away", folder)

    def rename_into_scratch(self, folder):
        os.rename(folder, "taken")
        os.rename("taken", folder)


FILES_TRIED = 4     # of a folder: they lie under the same rules
OF_FILES = ("exchange", "replace", "replace_from_beside", "overwrite", "append", "truncate", "link", "through_proc", "reopen", "unlink")
OF_FOLDERS = ("create", "tmpfile", "symlink", "mkdir", "rename_away", "rename_into_scratch")


def inside(top, spared):
    """Files, and folders after what they hold, without what is spared."""
    files, folders = [], []
    if not os.path.isdir(top):
        return [top], []
    for base, names, found in os.walk(top, topdown=True):
        names[:] = [name for name in names if os.path.join(base, name) not in spared]
        folders.append(base)
        files += [os.path.join(base, name) for name in sorted(found)[:FILES_TRIED]]
    return files, folders[::-1]


def above(path):
    """Every folder above it that this user could own."""
    while (path := os.path.dirname(path)) not in ("/", "/tmp", "/var/tmp"):
        yield path


def attack_all(mark, tops):
    attack = Attack(mark)
    opened = {way: [] for way in OF_FILES + OF_FOLDERS}
    for top in tops:
        files, folders = inside(top, {os.getcwd()})
        files = [path for path in files if os.path.isfile(path) and not os.path.islink(path)]
        for way in OF_FILES:
            opened[way] += [path for path in files if worked(getattr(attack, way), path)]
        for way in OF_FOLDERS:
            opened[way] += [path for path in folders if worked(getattr(attack, way), path)]
        opened["rename_away"] += [path for path in above(top) if worked(attack.rename_away, path)]
    return opened


def body(canary):
    sliceup_plain.start(canary)
    canary.phase("run")
    cold = canary.attempt["pass"] == "cold"
    if cold:
        entry = os.path.join(os.environ["JAX_COMPILATION_CACHE_DIR"], "jit_one-cache")
        with open(entry, "w", encoding="ascii") as out:
            out.write("compiled\n")
    canary.counted.update(compile_requests=1, cache_hits=int(not cold), cache_misses=int(cold), executions=1)
    if not cold:
        for way, paths in attack_all(canary.args["mark"], canary.args["folders"]).items():
            print(f"escape by {way}: {paths}", flush=True)
            canary.check(f"escape by {way}", 0, len(paths))
    sliceup_plain.finish(canary)


if len(sys.argv) > 1:
    print(json.dumps(attack_all(sys.argv[1], sys.argv[2:])), flush=True)
else:
    import lab
    lab.helpers("plain")
    import sliceup_plain
    sliceup_plain.run(body)
