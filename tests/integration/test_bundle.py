"""The bundle: a worker on a host that has nothing of ours, the oldest Debian that its archive still serves, bare."""
import errno
import fcntl
import gzip
import hashlib
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
import unittest

import lab
import schema
import plugins

BUNDLE = lab.BUNDLE
HEAD = lab.BUILD / "bin" / "sliceup-worker.bundle.head"
BUNDLE_MAX_BYTES = 5 * 1000 * 1000
SUITE = "bullseye"                    # Debian 11: glibc 2.31; 9 and 10 have left the archive's servers
ROOT = lab.BUILD / f"bare-{SUITE}"    # made once per checkout; every process sees it read-only
KEY = "abcdefghij" * 4                # of a coordinator that only listens; any Z85 will do

# Makes the bare root that of a mount namespace of its own; nothing of it is left when its last process ends. With
# PIVOTED nothing else is in sight there, not even for who leaves a chroot; CHROOTED is what people do by hand.
PIVOTED = 'cd "$root"; pivot_root . .; umount -l .; cd /; exec "$@"'
CHROOTED = 'exec chroot "$root" "$@"'
ENTER = """#!/bin/sh
exec unshare --mount --propagation private sh -ec '
root=$1 own=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"
for device in null zero random urandom; do : >"$root/dev/$device"; mount --bind /dev/$device "$root/dev/$device"; done
mkdir -p "$root$own"
mount --bind "$own" "$root$own"
mount -o remount,bind,ro "$root"
{way}' enter {root} {own} {program} "$@"
"""


# A worker takes memory that others sealed (main.c): what a damaged file does is seen where no other worker is in sight.
ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def needs_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("making and entering a bare root needs root")


NOT_FETCHED = ("Failed getting release file", "Couldn't download", "Could not resolve", "Unable to connect")


def debootstrap(folder):
    """What it mounts and starts ends with it, also when it fails or takes too long. Mirrors fail for a moment now and
    then; where there is none at all, no test of ours can make a root."""
    for last in (False, True):
        made = subprocess.run(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                               "debootstrap", "--variant=minbase", SUITE, str(folder)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if made.returncode == 0:
            return
        fetched = not any(words in made.stdout for words in NOT_FETCHED)
        if last and not fetched:
            raise unittest.SkipTest(f"{SUITE} cannot be fetched here: {made.stdout[-500:]}")
        if last or fetched:
            raise AssertionError(f"debootstrap of {SUITE} ended with {made.returncode}:\n{made.stdout[-3000:]}")
        shutil.rmtree(folder)
        folder.mkdir(mode=0o755)


def make_root():
    """debootstrap, half a minute to two, beside its place: a root is whole or not there."""
    with open(f"{ROOT}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ROOT.is_dir():
            return
        half = pathlib.Path(tempfile.mkdtemp(prefix=ROOT.name + ".", dir=lab.BUILD))
        half.chmod(0o755)
        try:
            debootstrap(half)
            shutil.rmtree(half / "var/cache/apt/archives", ignore_errors=True)
            (half / "etc/hosts").write_text("127.0.0.1 localhost\n")   # an installer writes it, debootstrap does not
            os.rename(half, ROOT)
        finally:
            shutil.rmtree(half, ignore_errors=True)


def foreign(mapped):
    """What is mapped and is no memory of the image's."""
    return [path for path in mapped if not re.fullmatch(r"/memfd:\S+ \(deleted\)", path)]


def pieces():
    """name -> (offset, bytes) of what the image holds."""
    image, (_, head) = gzip.decompress(BUNDLE.read_bytes()), HEAD.read_text().split()
    lines = image[:int(head)].rpartition(b"sliceup-image-1 ")[2].decode().splitlines()[1:]
    found, offset = {}, int(head)
    for size, _, name in (line.split() for line in lines):
        found[name] = (offset, int(size))
        offset += int(size)
    return found


IMPOSTOR = """
import fcntl, json, os, sys
image, parts, seals, changed = open(sys.argv[1], "rb").read(), json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
for at, (name, (offset, size)) in enumerate(parts.items()):
    fd = os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, image[offset:offset + size - 1] + bytes([image[offset + size - 1] ^ changed]))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    os.dup2(fd, 64 + at)
    os.close(fd)
print("ready", flush=True)
sys.stdin.read()
"""


def is_memory(exe):
    try:
        return os.readlink(exe).startswith("/memfd:ld-")
    except OSError:
        return False


class Joining:
    """A worker that was started as a coordinator starts it, and has answered."""

    def __init__(self, argv, directory, port, env=None):
        self.process = subprocess.Popen([*argv, "join"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                                        stderr=subprocess.DEVNULL, cwd=pathlib.Path(directory).parent)
        launch = {"protocol": 1, "run": "0" * 32, "host": "bare", "rank": 0, "address": "localhost",
                  "control_port": port, "bulk_port": port, "key": KEY, "directory": str(directory)}
        self._say(json.dumps(launch))
        answer = json.loads(self.process.stdout.readline())
        self.pid = answer["pid"]

    def _say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def go(self):
        self._say("GO")

    def mapped(self):
        """Files that it has mapped."""
        lines = pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()
        fields = [line.split(maxsplit=5) for line in lines]
        return sorted({f[5] for f in fields if len(f) == 6 and f[5].startswith("/")})

    def end(self):
        self.process.kill()
        self.process.wait(20)
        self.process.stdin.close()
        self.process.stdout.close()


class BundleTest(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.lab.root.chmod(0o755)
        self.bundle = self.lab.root / "bundle"
        self.bundle.mkdir()
        self.addCleanup(self.nobody_runs_the_bundle)

    def running(self):
        """pids of workers out of the bundle: they execute the loader's memory, somewhere in the lab's folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and is_memory(entry / "exe") \
                        and str(self.lab.root) in os.readlink(entry / "cwd"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def nobody_runs_the_bundle(self):
        """Workers may still be leaving when the coordinator has gone; who does not leave is ended: a failure."""
        try:
            lab.wait_for(lambda: not self.running(), "the workers to be gone", 20)
        finally:
            for pid in self.running():
                os.kill(pid, signal.SIGKILL)

    def coordinator_with(self, worker):
        """A copy of sliceup beside which `worker` stands: what stands there is what it starts."""
        there = self.lab.root / "bin"
        there.mkdir()
        shutil.copy2(lab.SLICEUP, there / "sliceup")
        os.rename(worker, there / "sliceup-worker")
        return there / "sliceup"

    def run_slice(self, sliceup, path):
        return subprocess.run([str(sliceup), "run", str(path)], env=self.lab.env(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=180)


class File(BundleTest):
    def plain_worker(self):
        plain = lab.BUILD / "plain" / "bin" / "sliceup-worker"
        return plain if plain.exists() else lab.BUILD / "bin" / "sliceup-worker"

    def make(self, worker, out, **more):
        start = self.plain_worker().parent.parent / "image-start"
        return subprocess.run([str(lab.TOP / "deploy" / "bundle"), str(start), str(worker), str(out)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, cwd="/", **more)

    def test_it_is_small_and_the_same_inputs_give_the_same_bytes(self):
        again = self.lab.root / "again.bundle"
        made = self.make(self.plain_worker(), again, umask=0o077)
        self.assertEqual(0, made.returncode, made.stderr)
        self.assertLess(BUNDLE.stat().st_size, BUNDLE_MAX_BYTES)
        one, other = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (BUNDLE, again))
        self.assertEqual(one, other)

    def test_its_head_names_all_that_follows(self):
        image, (name, head) = gzip.decompress(BUNDLE.read_bytes()), HEAD.read_text().split()
        self.assertEqual(name, hashlib.sha256(image[:int(head)]).hexdigest())
        found = pieces()
        self.assertEqual(len(image), sum(max(found.values())))
        for piece, (offset, size) in found.items():
            self.assertIn(f"{size} {hashlib.sha256(image[offset:offset + size]).hexdigest()} {piece}\n".encode(), image[:int(head)])

    def test_one_that_is_not_whole_does_not_run(self):
        needs_root()
        worker = lab.unpack_worker(self.bundle)
        image, head = worker.read_bytes(), int(HEAD.read_text().split()[1])
        offset, size = pieces()["libzmq.so.5"]
        flipped = lambda at: image[:at] + bytes([image[at] ^ 1]) + image[at + 1:]
        for what, content in {"a bit of a library": flipped(offset + size // 2), "its first bit": flipped(offset),
                              "a bit of the loader": flipped(head + 100), "its end": image[:-1], "all but the head": image[:head],
                              "the list": flipped(image.index(hashlib.sha256(image[offset:offset + size]).hexdigest().encode())), "half the list": image[:head - 700]}.items():
            with self.subTest(what):
                worker.write_bytes(content)
                done = subprocess.run([*ALONE, str(worker), "preflight", "--brief"], stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual((4, ""), (done.returncode, done.stdout), done.stderr)
                self.assertRegex(done.stderr, rf"\Asliceup-worker: the worker's file in {self.bundle} is damaged \(.*\): copy it there again\n\Z")
                done = subprocess.run([*ALONE, str(worker), "join", "--else", "/bin/echo", "instead", "0", "0"],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertRegex(done.stdout, rf"\Ainstead 4 the worker's file in {self.bundle} is damaged \(.*\): copy it there again\n\Z")

    def test_what_is_no_worker_makes_no_bundle(self):
        out = self.lab.root / "none.bundle"
        for worker in (self.lab.write("text", "no program\n"), self.lab.root / "missing"):
            made = self.make(worker, out)
            self.assertNotEqual(0, made.returncode)
            self.assertNotEqual("", made.stderr)
        self.assertEqual(["bundle", "files"], sorted(path.name for path in self.lab.root.iterdir()))

    def test_a_worker_with_sanitizers_is_refused(self):
        worker = lab.BUILD / "bin" / "sliceup-worker"
        if worker == self.plain_worker():
            self.skipTest("this build has no sanitizers")
        made = self.make(worker, self.lab.root / "none.bundle")
        self.assertEqual(1, made.returncode)
        self.assertIn("built with sanitizers", made.stderr)


class Anywhere(BundleTest):
    """On this machine: where it lies and what the environment says make no difference."""

    def version(self, *argv, **more):
        done = subprocess.run([*map(str, argv), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, **more)
        self.assertEqual((0, "sliceup-worker 0.3.0\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_it_works_from_any_path(self):
        odd = self.lab.root / "a folder's $(name) \\ -x"
        odd.mkdir()
        lab.unpack_worker(odd)
        self.bundle.rmdir()
        link = self.lab.root / "link"
        link.symlink_to(odd / "worker")
        self.version(odd / "worker")
        self.version(link)
        self.version("./worker", cwd=odd)
        self.version(f"{odd.name}/worker", cwd=odd.parent, env={**os.environ, "CDPATH": str(odd.parent)})
        self.version("worker", env={**os.environ, "PATH": f"{odd}:{os.environ['PATH']}"})

    def test_libraries_of_others_are_not_taken(self):
        lab.unpack_worker(self.bundle)
        others = self.lab.root / "others"
        others.mkdir()
        for name in ("libzmq.so.5", "libcrypto.so.3"):      # whoever takes them falls; a shell needs neither
            (others / name).write_text("no library\n")
        preloaded = others / "preloaded.so"
        shutil.copy(plugins.LIAR, preloaded)
        worker = Joining([str(self.bundle / "worker")], self.lab.root / "own", port=1,
                         env={**os.environ, "LD_LIBRARY_PATH": str(others), "LD_PRELOAD": str(preloaded)})
        self.addCleanup(worker.end)
        self.assertEqual([], foreign(worker.mapped()))

    def test_its_memory_cannot_be_changed_and_its_file_does_not_matter_once_it_runs(self):
        path = lab.unpack_worker(self.bundle)
        worker = Joining([str(path)], self.lab.root / "own", port=1)
        self.addCleanup(worker.end)
        path.write_bytes(b"something else")
        sealed = 0
        for entry in pathlib.Path(f"/proc/{worker.pid}/fd").iterdir():
            if not os.readlink(entry).startswith("/memfd:"):
                continue
            with open(entry, "rb") as memory:
                self.assertEqual(0xf, fcntl.fcntl(memory, fcntl.F_GET_SEALS))   # SEAL, SHRINK, GROW, WRITE
            with self.assertRaises(OSError) as refused, open(entry, "r+b", buffering=0) as memory:
                memory.write(b"x")
            self.assertIn(refused.exception.errno, (errno.EPERM, errno.ETXTBSY))
            sealed += 1
        self.assertEqual(len(pieces()), sealed)

    def memory(self, pid):
        """The pieces that a process has in memory, by their numbers."""
        try:
            return {os.stat(f"/proc/{pid}/fd/{64 + at}").st_ino for at in range(len(pieces()))}
        except OSError:
            return set()                    # it has none, or is gone

    def test_workers_of_one_machine_share_memory_that_nobody_can_change(self):
        """And no other: of two processes with memory of the same names, one has not sealed it, and one has changed a byte of each."""
        path = lab.unpack_worker(self.bundle)
        planted = set()
        for seals, changed in (0, 0), (0xf, 1):
            impostor = subprocess.Popen([sys.executable, "-c", IMPOSTOR, str(path), json.dumps(pieces()), str(seals), str(changed)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.addCleanup(impostor.communicate)
            self.assertEqual("ready\n", impostor.stdout.readline())
            planted |= self.memory(impostor.pid)
        self.assertEqual(2 * len(pieces()), len(planted))
        workers = []
        for name in "first", "second":
            workers.append(Joining([str(path)], self.lab.root / name, port=1))
            self.addCleanup(workers[-1].end)
            self.assertFalse(planted & self.memory(workers[-1].pid))
        last = workers[-1].pid
        others = [int(entry.parent.name) for entry in pathlib.Path("/proc").glob("[0-9]*/exe") if entry.parent.name != str(last)
                  and is_memory(entry)]       # of this test, or of another one that runs now
        self.assertLessEqual(self.memory(last), set.union(*map(self.memory, others)))

    def test_where_memory_may_not_be_executed_a_file_without_a_name_will_do(self):
        needs_root()
        worker = lab.unpack_worker(self.bundle)
        apart = [*ALONE, "sh", "-ec", "echo 2 >/proc/sys/vm/memfd_noexec; exec \"$@\"", "sh"]
        if not pathlib.Path("/proc/sys/vm/memfd_noexec").exists():
            self.skipTest("this kernel has no vm.memfd_noexec")
        self.version(*apart, worker)
        self.assertEqual(["worker"], [path.name for path in self.bundle.iterdir()])

    def test_a_seal_is_asked_for_again_while_the_kernel_holds_a_page(self):
        traced = ["strace", "-f", "-o", str(self.lab.root / "calls"), "-e", "trace=fcntl"]
        if subprocess.run([*traced, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode:
            self.skipTest("programs may not be traced here")
        worker = lab.unpack_worker(self.bundle)
        self.version(*traced, "-e", "inject=fcntl:error=EBUSY:when=1..5", worker)
        done = subprocess.run([*traced, "-e", "inject=fcntl:error=EBUSY", str(worker), "--version"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertEqual((3, "", "sliceup-worker: cannot seal the worker's copy in memory: Device or resource busy\n"),
                         (done.returncode, done.stdout, done.stderr))

    def test_too_few_descriptors_are_a_sentence(self):
        done = subprocess.run(["sh", "-c", 'ulimit -n 40; exec "$0" --version', str(lab.unpack_worker(self.bundle))], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((3, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"\Asliceup-worker: the worker needs \d+ file descriptors \(.*\): raise ulimit -n\n\Z")

    def test_a_worker_starts_itself_again_for_errands_and_builtins(self):
        """Through its memory: /proc/self/exe is the loader here, and the file is gone. A cold pass needs its cache
        prepared, a restored one its cache sealed."""
        path = lab.unpack_worker(self.bundle)
        start = self.lab.write("start", f'#!/bin/sh\n{{ sleep 0.3; echo >{path}; }} &\nexec {path} "$@"\n')
        start.chmod(0o755)
        marks = self.lab.files / "marks"
        rungs = [{"id": "facts", "builtin": "facts"},
                 self.lab.rung("warm", "marks.py", args={"file": str(marks)}, warm="solo")]
        profile = self.lab.write("traced.yaml", "profile: traced\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n")
        path = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("ladder.yaml", rungs)), profile=str(profile),
                              cache={"root": str(self.lab.root / "cache")}, limits={"stop": "500ms"})
        done = self.run_slice(self.coordinator_with(start), path)
        self.assertTrue(marks.exists(), f"{done.stdout}\n{done.stderr}")
        self.assertEqual("h0 warm cold 1\nh0 warm restored 1\n", marks.read_text())
        self.assertIn(("facts", "once", "passed"), self.rungs(self.lab.receipt(), "h0"))


class Bare(BundleTest):
    """In the bare root: its own shell and gzip unpack the bundle, and nothing else of it is used."""

    @classmethod
    def setUpClass(cls):
        needs_root()
        make_root()

    def setUp(self):
        super().setUp()
        self.lab.root.joinpath("travelled").write_bytes(BUNDLE.read_bytes())
        self.worker = str(self.bundle / "worker")
        said = self.inside("sh", "-c", f"gzip -dc {self.lab.root}/travelled >{self.worker} && chmod 755 {self.worker} && cat /etc/debian_version")
        self.assertRegex(said, r"^11\.")

    def entering(self, program="", way=PIVOTED):
        """A program that enters the bare root and runs `program` there; without one, what its arguments say."""
        path = self.lab.root / "enter"
        path.write_text(ENTER.format(root=ROOT, own=self.lab.root, program=program, way=way))
        path.chmod(0o755)
        return str(path)

    def inside(self, *argv, status=0):
        done = subprocess.run([self.entering(), *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        self.assertEqual((status, ""), (done.returncode, done.stderr), done.stdout)
        return done.stdout

    def test_every_command_works(self):
        self.assertEqual("sliceup-worker 0.3.0\n", self.inside(self.worker, "--version"))
        said = [json.loads(line) for line in self.inside(self.worker, "facts").splitlines()]
        facts = {line["name"]: line["value"] for line in said if line["type"] == "fact"}
        self.assertEqual(("debian", "11", "absent"), (facts["os.id"], facts["os.version"], facts["python3.path"]))
        self.assertEqual("done", said[-1]["type"])

    def test_a_plugin_that_asks_for_the_old_parts_of_the_c_library_can_be_probed(self):
        """The host's would not fit the bundle's C library, and no program of ours names them."""
        needed = subprocess.run(["readelf", "-d", plugins.LIAR], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertTrue("librt.so.1" in needed and "libdl.so.2" in needed, needed)
        plugin = self.lab.root / "good.so"
        shutil.copy(plugins.LIAR, plugin)
        self.assertTrue(self.inside(self.worker, "probe", "--plugin", str(plugin)).endswith(f"works: {plugin}\n"))

    def test_preflight_is_content_and_says_what_canaries_would_lack(self):
        self.assertEqual("", self.inside(self.worker, "preflight", "--brief", "--directory", str(self.lab.root)))
        said = schema.document(self.inside(self.worker, "preflight", "--json"))
        self.assertTrue(said["ready"])
        states = {check["check"]: check["state"] for check in said["checks"]}
        self.assertEqual(("ok", "ok", "note"), (states["kernel"], states["proc"], states["python"]))
        brief = self.inside(self.worker, "preflight", "--brief", "--python", "python3", status=3)
        self.assertRegex(brief, r"\Apython3 .*No such file or directory: install Python 3\.9 .*\n\Z")

    def test_preflight_says_in_one_line_what_is_missing(self):
        brief = self.inside(self.worker, "preflight", "--brief", "--directory", "/var", status=3)
        self.assertRegex(brief, r"\Acannot make a file in /var \(Read-only file system\): .*\n\Z")
        without = f"umount /dev/null; rm /dev/null; exec {self.worker} preflight --brief"
        brief = self.inside("sh", "-c", without, status=3)
        self.assertRegex(brief, r"\A/dev/null cannot be opened .*mknod.*\n\Z")
        brief = self.inside("sh", "-c", f"umount /proc; exec {self.worker} preflight --brief 2>&1", status=3)
        self.assertRegex(brief, r"\Asliceup-worker: /proc is not mounted .*: mount -t proc proc /proc\n\Z")

    def test_a_worker_that_was_brought_asks_for_that_before_it_joins(self):
        without = f"umount /dev/null; rm /dev/null; exec {self.worker} join --else /bin/echo instead 0 0"
        self.assertRegex(self.inside("sh", "-c", without), r"\Ainstead 3 /dev/null cannot be opened .*mknod.*\n\Z")

    def test_only_libraries_of_the_bundle_are_mapped_also_when_names_are_resolved(self):
        hub = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(hub.close)
        hub.settimeout(60)
        worker = Joining([self.entering(self.worker)], self.lab.root / "own", port=hub.getsockname()[1])
        self.addCleanup(worker.end)
        self.assertEqual([], foreign(worker.mapped()))
        worker.go()
        hub.accept()[0].close()         # it found the name and came
        mapped = worker.mapped()
        self.assertTrue(any("libzmq" in path for path in mapped), mapped)
        self.assertEqual([], foreign(mapped))

    def climb(self, way):
        """A real coordinator: the program it takes for the worker beside it enters the bare root first."""
        sliceup = self.coordinator_with(self.entering(self.worker, way))
        shell = "test ! -e /usr/bin/python3 && read -r version </etc/debian_version && echo on $version"
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "bare", "command": ["sh", "-c", shell]}]
        path = self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits={"stop": "500ms"})
        done = self.run_slice(sliceup, path)
        self.assertEqual(0, done.returncode, f"{done.stdout}\n{done.stderr}")
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        for host in receipt["hosts"]:
            self.assertEqual("11", host["facts"]["os.version"])
        self.assertIn("on 11.", self.lab.sliceup("logs", "last").out)
        self.assertEqual({"pid-namespace"}, {host["facts"]["containment"] for host in receipt["hosts"]})

    def test_a_run_climbs_there(self):
        self.climb(PIVOTED)

    def test_a_run_climbs_in_a_chroot(self):
        """Its programs are put into namespaces, and these have the host's root: they are brought back into theirs."""
        self.climb(CHROOTED)


if __name__ == "__main__":
    unittest.main(verbosity=1)
