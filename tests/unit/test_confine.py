"""The stage before programs, as root and as an ordinary user: what each level refuses, and that what it tells is true.

The attacks are those of tests/canaries/writes_cache.py, which knows nothing of how the sandbox is made."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import tty
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(os.environ.get("SLICEUP_BUILD", TOP / "build-test")) / "bin" / "sliceup-worker"
CANARY = TOP / "tests" / "canaries" / "writes_cache.py"
ORDINARY = 65534
IS_ROOT = os.geteuid() == 0
# worker/sandbox/confine_rights.c, as far as this process may give them on
BOUNDING = re.search(r"CapBnd:\t(\w+)", pathlib.Path("/proc/self/status").read_text())[1]
KEPT_CAPS = f"{0x180c0fb & int(BOUNDING, 16):016x}"
# Who takes requests at a socket is out of reach only where Landlock knows of abstract names (ABI 6).
DEPUTIES = ["path-socket", "abstract-socket"]
NO_MODES = {"chmod", "chmod_folder", "chown", "utimes", "setxattr"}  # what Landlock knows nothing of


ESCAPES = TOP / "tests" / "canaries" / "escapes.py"
TERMINALS = """
import fcntl, os, sys, termios
for name in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            fd = os.open(name, flags | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            continue
        print("touched", name, flags)
        for act in (lambda: os.write(fd, b"intruder"), lambda: os.read(fd, 100), lambda: fcntl.ioctl(fd, termios.TIOCSTI, b"x")):
            try:
                act()
            except OSError:
                pass
print("looked")
"""
OWN_TERMINAL = """
import os, pty, tty
keyboard, terminal = pty.openpty()
tty.setraw(terminal)
os.write(keyboard, b"typed")
print(os.read(terminal, 100).decode(), sorted(os.listdir("/dev/pts")), sep=chr(10), flush=True)
print("status", pty.spawn(["/bin/sh", "-c", "tty; echo by tty > /dev/tty"], stdin_read=lambda fd: b""))
"""
ASK = """
import socket, sys
for kind, name in (("path", sys.argv[1]), ("abstract", chr(0) + sys.argv[2])):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(5)
            one.connect(name)
            one.sendall(b"x")
        print(kind)
    except OSError:
        pass
"""


class SocketProcess:
    """A process outside that takes whoever comes."""

    def __init__(self, folder, uid):
        self.path, self.name = str(folder / "deputy"), f"sliceup-test-{os.getpid()}-{uid}"
        self.sockets = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for one, name in zip(self.sockets, (self.path, "\0" + self.name)):
            one.bind(name)
            one.listen(8)
        os.chmod(self.path, 0o777)

    def stop(self):
        for one in self.sockets:
            one.close()


# As the init process (worker/process/pid_namespace.c) does: through /proc/<pid>/root of a process outside the sandbox it would be left.
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"] if IS_ROOT else []


def as_user(uid):
    """The words before a command that make it an ordinary user's."""
    return [] if uid == os.geteuid() else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


class SandboxFixture:
    """A cache with one sealed generation, a worker's folder, and a place to work in."""

    def __init__(self, uid, below=None):
        self.uid = uid
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-confine-", dir=below))
        self.root = self.top / "root"
        self.bundle = self.root / "jax" / "f00d"
        self.generation = self.bundle / "gen-1"
        self.scratch = self.top / "w" / "scratch"
        self.place = self.top / "w" / "cache"
        for folder in (self.generation / "sub", self.scratch, self.place):
            folder.mkdir(parents=True)
        for name in ("WITNESS", "MANIFEST", "entry", "sub/entry"):
            (self.generation / name).write_text(f"{name}\n")
            (self.generation / name).chmod(0o444)
        self.show(self.generation)
        shutil.copy(CANARY, self.top / "canary.py")
        for path in [self.top, *self.top.rglob("*")]:
            os.chown(path, uid, uid, follow_symlinks=False)

    def show(self, generation):
        link = self.place / "generation"
        link.unlink(missing_ok=True)
        link.symlink_to(generation)
        os.chown(link, self.uid, self.uid, follow_symlinks=False)

    def own(self, name):
        own = self.bundle / name
        own.mkdir()
        os.chown(own, self.uid, self.uid)
        self.show(own)
        return own

    def listing(self):
        found = {}
        for path in sorted(self.root.rglob("*")):
            at = path.lstat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = (oct(at.st_mode), at.st_uid, at.st_mtime_ns, digest, sorted(os.listxattr(path)))
        return found

    def remove(self):
        for path in self.top.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.top)


class Told:
    """What the stage said, and what the program in it did."""

    def __init__(self, done):
        self.status, self.err, self.lines = done.returncode, done.stderr, done.stdout.splitlines()
        self.text = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"

    def said(self, word):
        return [line[len(word) + 1:] for line in self.lines if line.startswith(word + " ")]

    @property
    def level(self):
        return self.said("level")[0] if self.said("level") else self.text

    def came(self):
        """folder -> way -> what came of it, as the attacking program says."""
        return json.loads(next(line for line in self.lines if line.startswith("{")))


class Confine(unittest.TestCase):
    uid = os.geteuid()

    def setUp(self):
        if self.uid != os.geteuid() and not IS_ROOT:
            self.skipTest("only root can try both")
        if subprocess.run([*as_user(self.uid), str(WORKER), "--version"], capture_output=True).returncode:
            self.skipTest(f"uid {self.uid} does not reach {WORKER}")
        self.fixture = SandboxFixture(self.uid)
        self.addCleanup(self.fixture.remove)

    def confine(self, *options, role="reader", program=(), before=(), env=None):
        fixture = self.fixture
        part = ["--bundle", fixture.bundle, "--place", fixture.place, "--role", role] if role else ["--bundle", fixture.root]
        words = [*before, *APART, *as_user(self.uid), str(WORKER), "confine", "--root", fixture.root, "--scratch", fixture.scratch,
                 *part, *options]
        if program:
            words += ["--", program[0], *program]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=90,
                              cwd=fixture.scratch, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
        self.assertNotIn("Sanitizer", done.stderr)
        return Told(done)

    def attack(self, *options, folders=None, role="reader", before=()):
        folders = folders or [self.fixture.generation, self.fixture.place / "generation"]
        program = ["/usr/bin/python3", "-B", str(self.fixture.top / "canary.py"), *map(str, folders)]
        return self.confine(*options, role=role, program=program, before=before)

    def shell(self, command, *options, role="reader", **more):
        return self.confine(*options, role=role, program=["/bin/sh", "-c", command], **more)

    def open_ways(self, told):
        open_ways = set()
        for folder, came in told.came().items():
            self.assertGreater(len(came), 30)
            open_ways |= {way for way, what in came.items() if not what.startswith("refused")}
        return open_ways

    # ---- levels ----

    def test_at_the_best_level_every_way_is_refused_and_nothing_changes(self):
        before = self.fixture.listing()
        told = self.attack()
        self.assertEqual("namespace+landlock", told.level, told.text)
        self.assertEqual(DEPUTIES[:1], told.said("open"))
        self.assertEqual(set(), self.open_ways(told), told.text)
        self.assertEqual(before, self.fixture.listing())

    def test_the_namespace_alone_refuses_every_way(self):
        before = self.fixture.listing()
        told = self.attack("--most", "namespace")
        self.assertEqual(("namespace", DEPUTIES, set()), (told.level, told.said("open"), self.open_ways(told)), told.text)
        self.assertEqual(before, self.fixture.listing())

    def test_landlock_alone_refuses_all_but_modes_times_and_attributes(self):
        told = self.attack("--most", "landlock")
        self.assertEqual("landlock", told.level, told.text)
        self.assertTrue(set(told.said("open")) <= {"chmod", "utimes", "setxattr", "setflags", "path-socket"}, told.text)
        self.assertTrue(self.open_ways(told) <= NO_MODES, told.text)
        self.assertIn("chmod", told.said("open"))

    def test_before_abi_3_landlock_is_helped_by_seccomp(self):
        told = self.attack("--most", "landlock", "--landlock-abi", "2")
        self.assertEqual("landlock", told.level, told.text)
        self.assertTrue(self.open_ways(told) <= NO_MODES, told.text)
        cut = self.shell("echo some > mine; truncate -s 1 mine; wc -c < mine; "
                         "python3 -c 'import os; os.truncate(\"mine\", 0)'",
                         "--most", "landlock", "--landlock-abi", "2")
        self.assertIn("1", cut.lines, "a file that is open for writing can be cut: " + cut.text)
        self.assertIn("PermissionError", cut.err)

    def test_where_nothing_is_refused_the_ways_are_named_and_nothing_stays_changed(self):
        before = self.fixture.listing()
        told = self.confine("--most", "cooperative")
        self.assertEqual("cooperative", told.level)
        self.assertIn("chmod", told.said("open"))
        self.assertEqual(self.uid == 0, "create" in told.said("open"), told.text)
        after = self.fixture.listing()
        changed = {path for path in after if before.get(path) != after[path]}
        self.assertTrue(changed <= {str(self.fixture.bundle)}, f"{changed}: only its time may differ")

    def test_less_than_asked_for_does_not_start_and_says_why(self):
        told = self.shell("echo started", "--most", "landlock", "--least", "namespace")
        self.assertEqual(1, told.status, told.text)
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0],
                         "only at level landlock, and cache.enforcement requires namespace")

    def test_why_a_better_level_is_not_possible_is_told(self):
        told = self.confine("--landlock-abi", "0", "--least", "namespace+landlock")
        self.assertRegex(told.said("problem")[0], "level namespace, .*no Landlock: Landlock is absent or switched off")

    # ---- what the program gets ----

    def test_readers_find_the_generation_at_the_constant_path(self):
        for most in ("storage", "landlock"):
            told = self.shell(f"cat {self.fixture.place}/generation/entry; ls {self.fixture.place}/generation",
                              "--most", most)
            self.assertEqual(0, told.status, told.text)
            self.assertIn("entry", told.lines)
            self.assertIn("MANIFEST", told.lines)

    def test_scratch_and_the_usual_places_stay_writable(self):
        more = self.fixture.top / "more"
        more.mkdir()
        os.chown(more, self.uid, self.uid)
        for most in ("storage", "landlock"):
            told = self.shell(f"echo a > mine && rm mine && echo b > {more}/b && rm {more}/b && echo > /dev/null && "
                              "f=$(mktemp -p /dev/shm) && rm $f && echo fine", "--most", most, "--writable", more)
            self.assertIn("fine", told.lines, told.text)

    def test_what_is_not_listed_is_not_writable_under_landlock(self):
        other = pathlib.Path(tempfile.mkdtemp(dir="/var/lib" if IS_ROOT else os.path.expanduser("~")))
        self.addCleanup(shutil.rmtree, other)
        os.chown(other, self.uid, self.uid)
        told = self.shell(f"echo a > {other}/a", "--most", "landlock")
        self.assertEqual([], list(other.iterdir()), told.text)

    def test_the_program_has_no_descriptor_of_ours(self):
        told = self.shell("ls /proc/self/fd | tr '\\n' ' '")
        self.assertEqual(set("012") | {"3"}, set(told.lines[-1].split()), "3 is ls's own")

    def test_it_keeps_no_capability_that_undoes_mounts(self):
        for most in ("storage", "namespace", "landlock"):
            told = self.shell("grep -E '^(Cap|NoNew)' /proc/self/status", "--most", most)
            caps = dict(line.split(":\t") for line in told.lines if line.startswith(("Cap", "NoNew")))
            mine = KEPT_CAPS if self.uid == 0 else "0" * 16
            self.assertEqual((mine, mine, "0" * 16, "0" * 16), (caps["CapPrm"], caps["CapEff"], caps["CapInh"],
                                                               caps["CapAmb"]), told.text)
            self.assertEqual("1", caps["NoNewPrivs"])
            if self.uid == 0:
                self.assertEqual(KEPT_CAPS, caps["CapBnd"])

    def test_the_loaders_variables_reach_the_program_and_not_the_stage(self):
        told = self.shell("echo got $LD_LIBRARY_PATH $SLICEUP_KEPT_LD_LIBRARY_PATH",
                          env={"SLICEUP_KEPT_LD_LIBRARY_PATH": "/of/the/program"})
        self.assertIn("got /of/the/program", told.lines, told.text)

    def test_a_program_that_is_not_there_is_told(self):
        told = self.confine(program=["/nonexistent/program"])
        self.assertEqual(1, told.status)
        self.assertRegex(told.said("problem")[-1], "executing /nonexistent/program failed: No such file")

    # ---- writers ----

    def test_a_writer_writes_its_own_generation_and_no_other(self):
        own = self.fixture.own("gen-2")
        before = self.fixture.listing()
        for most in ("storage", "namespace", "landlock"):
            told = self.shell(f"echo a > {self.fixture.place}/generation/{most}; mkdir {self.fixture.bundle}/gen-3; "
                              f"rm -f {self.fixture.generation}/entry; echo b >> {self.fixture.generation}/entry; "
                              f"rmdir {own}; mv {own} {self.fixture.bundle}/gen-4", "--most", most, "--base",
                              self.fixture.generation, role="writer")
            self.assertEqual(most if most != "storage" else "namespace+landlock", told.level, told.text)
            self.assertEqual("a\n", (own / most).read_text(), told.text)
        after = self.fixture.listing()
        for path in before:
            if not path.startswith(str(own)) and path != str(self.fixture.bundle):
                self.assertEqual(before[path], after[path], path)
        self.assertEqual({"gen-1", "gen-2"}, set(os.listdir(self.fixture.bundle)))

    def test_the_generation_a_writer_began_with_is_attacked_in_vain(self):
        self.fixture.own("gen-2")
        told = self.attack("--base", self.fixture.generation, folders=[self.fixture.generation], role="writer")
        self.assertEqual(set(), self.open_ways(told), told.text)

    def test_a_host_writes_its_own_folder_and_no_other(self):
        own = self.fixture.own("host-h0")
        told = self.shell(f"echo a > {self.fixture.place}/generation/a; mkdir {self.fixture.bundle}/host-h1", role="own")
        self.assertEqual("a\n", (own / "a").read_text(), told.text)
        self.assertFalse((self.fixture.bundle / "host-h1").exists())

    def test_a_writer_whose_generation_cannot_be_written_does_not_start(self):
        own = self.fixture.own("gen-2")
        own.rmdir()
        told = self.shell("echo started", role="writer")
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0], "cannot find the generation that the program is to see ")

    # ---- the overlay ----

    def test_an_overlay_takes_what_the_program_writes(self):
        before = self.fixture.listing()
        told = self.shell(f"cd {self.fixture.place}/generation && rm -f entry MANIFEST && echo new > entry && "
                          "echo x > made && cat entry", "--overlay")
        self.assertIn("new", told.lines, told.text)
        self.assertEqual(before, self.fixture.listing())
        upper = self.fixture.scratch / ".cache-layer" / "upper"
        self.assertEqual({"entry", "MANIFEST", "made"}, set(os.listdir(upper)))

    def test_an_overlay_does_not_open_the_generation_itself(self):
        told = self.attack("--overlay", folders=[self.fixture.generation])
        self.assertEqual(set(), self.open_ways(told), told.text)

    def test_without_mounts_there_is_no_overlay_and_no_program(self):
        told = self.shell("echo started", "--overlay", "--most", "landlock")
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0], "cache.overlay needs a mount namespace")

    # ---- what is sliceup's own ----

    def ours(self):
        """Folders like those of a start directory, in a place where programs may write, and one file of a configuration."""
        ours = self.fixture.top / "start" / "ours"
        for folder in (ours / "bundles" / "sub", ours / "envs", ours / "runs" / "r" / "h1"):
            folder.mkdir(parents=True)
        for name in ("bundles/worker", "bundles/sub/library", "envs/python", "runs/r/h1/result"):
            (ours / name).write_text("#!/bin/sh\nexit 0\n")
            (ours / name).chmod(0o755)
        slice_file = self.fixture.top / "settings" / "slice.yaml"
        slice_file.parent.mkdir()
        slice_file.write_text("slice: s\n")
        for path in [self.fixture.top / "start", *(self.fixture.top / "start").rglob("*"), slice_file.parent, slice_file]:
            os.chown(path, self.uid, self.uid)
        shutil.copy(ESCAPES, self.fixture.top / "escapes.py")
        return ours, slice_file

    def escape(self, *options, ours, **more):
        mark = self.fixture.top / "MARK"
        program = ["/usr/bin/python3", "-B", str(self.fixture.top / "escapes.py"), str(mark), *map(str, ours)]
        words = [word for path in ours for word in ("--protected", path)]
        told = self.confine(*options, *words, program=program, **more)
        return told, {way: paths for way, paths in told.came().items() if paths}

    def test_what_is_sliceups_own_cannot_be_changed_or_moved_away_at_any_level(self):
        ours = self.ours()
        def listing():
            return {path: (path.lstat().st_mode, path.lstat().st_ino, path.is_file() and path.read_bytes())
                    for path in [self.fixture.top / "start", *(self.fixture.top / "start").rglob("*"), ours[1]]}
        before = listing()
        for most in ("storage", "namespace", "landlock"):
            for role in ("reader", ""):
                told, opened = self.escape("--most", most, ours=ours, role=role)
                self.assertEqual({}, opened, told.text)
                self.assertEqual([], [way for way in told.said("open") if way.startswith("own-")], told.text)
                self.assertEqual(before, listing(), f"{most} {role}")

    def test_a_link_that_leads_to_what_is_sliceups_own_cannot_be_replaced(self):
        """In an open place; nothing can be mounted on a link, so without Landlock that is told."""
        ours, slice_file = self.ours()
        links = {self.fixture.top / "start-link": ours, self.fixture.top / "slice-link": slice_file}
        for link, target in links.items():
            link.symlink_to(target)
            os.chown(link, self.uid, self.uid, follow_symlinks=False)
        attacks = [f"mv -T {link} {link}.away; rm {link}; ln -sfn /etc {link}; ln -sfT /etc {link}" for link in links]
        for most, holds in (("storage", True), ("landlock", True), ("namespace", False)):
            words = [word for link in links for word in ("--protected", link)]
            told = self.shell("; ".join(attacks if holds else ["true"]), *words, "--most", most)
            self.assertEqual({str(link): str(target) for link, target in links.items()},
                             {str(link): os.readlink(link) for link in links}, told.text)
            self.assertEqual(not holds, "own-rename" in told.said("open"), told.text)

    def test_a_writable_path_that_a_program_could_choose_is_refused(self):
        elsewhere = self.fixture.top / "elsewhere"
        elsewhere.mkdir()
        (self.fixture.top / "out").symlink_to(elsewhere)
        for path in (elsewhere, self.fixture.top / "out"):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)
        told = self.shell(f"echo a > {elsewhere}/a", "--writable", self.fixture.top / "out")
        self.assertEqual([], list(elsewhere.iterdir()), told.text)
        self.assertRegex(told.text, "cache.writable .*/out goes through the symbolic link .*/out, which programs may replace: name its target")
        told = self.shell("echo fine", "--writable", elsewhere)
        self.assertIn("fine", told.lines, told.text)

    def test_a_writable_path_that_leads_to_all_of_the_host_is_refused(self):
        """By a link that no program could replace: what is closed could not be told from all else any more."""
        far = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-confine-", dir="/var/lib" if IS_ROOT else os.path.expanduser("~")))
        self.addCleanup(shutil.rmtree, far)
        far.chmod(0o755)
        (far / "all").symlink_to("/")
        for most in ("storage", "namespace", "landlock"):
            told = self.shell("echo started", "--writable", far / "all", "--most", most)
            self.assertEqual(3, told.status, told.text)
            self.assertNotIn("started", told.lines, told.text)
            self.assertRegex(told.text, "cache.writable .*/all is the whole file system: name a folder below /")

    def test_the_nodes_of_the_hosts_devices_cannot_be_changed(self):
        """Whoever masks a file with one hands it to the program: its mode is everybody's."""
        ticket = self.fixture.top / "ticket"
        ticket.write_text("secret\n")
        os.chown(ticket, self.uid, self.uid)
        for most in ("storage", "namespace"):
            told = self.shell(f"chmod 666 /dev/null || echo kept; chmod 666 {ticket} || echo kept; echo a > /dev/null && echo written",
                              "--hidden", ticket, "--most", most)
            self.assertEqual(["kept", "kept", "written"], told.lines[-3:], told.text)

    def test_where_nothing_keeps_it_that_is_named(self):
        told = self.confine("--most", "cooperative", "--protected", self.ours()[0])
        self.assertEqual(("cooperative", ["own-create", "own-write"]),
                         (told.level, [way for way in told.said("open") if way.startswith("own-")]), told.text)
        self.assertRegex(" ".join(told.said("note")), "programs can change files that sliceup itself uses: .*start/ours")

    def test_beside_a_file_of_ours_others_can_be_made_where_mounts_keep_it(self):
        _, slice_file = self.ours()
        told = self.shell(f"echo a > {slice_file.parent}/a; echo b >> {slice_file}; cat {slice_file.parent}/a",
                          "--protected", slice_file)
        self.assertIn("a", told.lines, told.text)
        self.assertEqual("slice: s\n", slice_file.read_text())

    def test_closed_wins_over_writable(self):
        ours, _ = self.ours()
        for most in ("storage", "namespace", "landlock"):
            told = self.shell(f"echo a > {ours}/envs/a", "--protected", ours, "--writable", ours / "envs", "--most", most)
            self.assertFalse((ours / "envs" / "a").exists(), told.text)
            self.assertIn("is inside a folder that sliceup itself uses on this host", told.text)

    def test_scratch_in_what_is_ours_stays_writable(self):
        for most in ("storage", "namespace", "landlock"):
            told = self.shell("echo a > mine && mkdir folder && mv mine folder/ && cat folder/mine && rm -r folder",
                              "--protected", self.fixture.top, "--most", most)
            self.assertIn("a", told.lines, told.text)

    def test_what_is_not_there_is_passed_over(self):
        told = self.shell("echo fine", "--protected", self.fixture.top / "nowhere" / "at" / "all")
        self.assertIn("fine", told.lines, told.text)

    def test_without_a_part_in_the_cache_a_program_cannot_write_it_either(self):
        before = self.fixture.listing()
        for most in ("storage", "namespace", "landlock"):
            told = self.attack("--most", most, folders=[self.fixture.generation], role="")
            self.assertTrue(self.open_ways(told) <= (NO_MODES if most == "landlock" else set()), told.text)
        after = self.fixture.listing()
        self.assertEqual({path: what[3] for path, what in before.items()}, {path: what[3] for path, what in after.items()})

    def test_in_a_namespace_nothing_of_the_host_is_writable_but_the_usual_places(self):
        home = pathlib.Path(tempfile.mkdtemp(dir=os.path.expanduser("~"))) if IS_ROOT else pathlib.Path(os.path.expanduser("~"))
        if IS_ROOT:
            self.addCleanup(shutil.rmtree, home)
            home.chmod(0o777)
        told = self.shell(f"echo a > {home}/.profile-evil; echo b > /tmp/tried-$$ && rm /tmp/tried-$$ && echo fine", "--most", "namespace")
        self.assertIn("fine", told.lines, told.text)
        self.assertFalse((home / ".profile-evil").exists(), told.text)

    def test_the_catalogue_can_be_locked_only_where_it_is_in_sight(self):
        for name in ("catalogue.db", "catalogue.db-shm"):
            (self.fixture.root / name).write_bytes(b"SQLite")
            os.chown(self.fixture.root / name, self.uid, self.uid)
        lock = ("/usr/bin/python3", "-c", "import fcntl, sys\nwith open(sys.argv[1], 'rb') as one:\n"
                " fcntl.lockf(one, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 1 << 30)\n"
                " print('bytes', len(one.read()))", str(self.fixture.root / "catalogue.db"))
        for most, sees, named in (("storage", ["bytes 0"], False), ("namespace", ["bytes 0"], False), ("landlock", [], False),
                                  ("cooperative", ["bytes 6"], True)):
            told = self.confine("--most", most, program=lock)
            self.assertEqual(sees, [line for line in told.lines if line.startswith("bytes")], told.text)
            self.assertEqual(named, "catalogue-lock" in told.said("open"), told.text)

    def test_what_is_hidden_is_out_of_sight_but_the_workers_own_folder(self):
        runs = self.fixture.top / "home" / "runs"
        own = runs / "r" / "hosts" / "h1"
        for folder in (own / "scratch", own / "cache", runs / "r" / "hosts" / "h2"):
            folder.mkdir(parents=True)
        for name in ("r/coordinator.key", "r/hosts/h2/result", "r/hosts/h1/worker.log"):
            (runs / name).write_text("secret\n")
        ticket = self.fixture.top / "ticket"
        ticket.write_text("secret\n")
        (own / "cache" / "generation").symlink_to(self.fixture.generation)
        for path in [runs.parent, *runs.parent.rglob("*"), ticket]:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)
        self.fixture.scratch, self.fixture.place = own / "scratch", own / "cache"
        look = f"cd {runs}; find . -type f | sort; cat {ticket} | wc -c; cat {self.fixture.place}/generation/entry; echo a > {own}/scratch/a && echo fine"
        options = ["--protected", runs.parent, "--hidden", runs, "--hidden", ticket, "--directory", own]
        for most in ("storage", "namespace"):
            told = self.shell(look, *options, "--most", most)
            self.assertEqual([], [line for line in told.lines if "key" in line or "h2" in line], told.text)
            self.assertEqual(["0", "entry", "fine"], told.lines[-3:], told.text)
            self.assertIn("./r/hosts/h1/worker.log", told.lines, told.text)
            (own / "scratch" / "a").unlink()
        told = self.shell(f"cd {runs}; ls r; cat r/coordinator.key r/hosts/h2/result {ticket}; cat {own}/worker.log && echo b > {own}/scratch/b && "
                          f"cat {own}/scratch/b {self.fixture.place}/generation/entry", *options, "--most", "landlock")
        self.assertEqual(["coordinator.key", "hosts", "secret", "b", "entry"], told.lines[-5:], "Landlock hides what files hold: " + told.text)
        self.assertEqual(3, told.err.count("Permission denied"), told.text)

    def test_below_a_folder_that_cannot_be_listed_a_program_reads_its_own_files_under_landlock(self):
        above = pathlib.Path(tempfile.mkdtemp(dir="/var/lib" if IS_ROOT else None))
        self.addCleanup(shutil.rmtree, above, ignore_errors=True)
        self.fixture = SandboxFixture(self.uid, below=above)
        ticket = self.fixture.top / "ticket"
        for name in ("ticket", "data"):
            (self.fixture.top / name).write_text(f"{name}\n")
            os.chown(self.fixture.top / name, self.uid, self.uid)
        look = f"cat {self.fixture.top}/data; cat {ticket}"
        for owner, listed, read in ((0, 0o755, ["data"]), (0, 0o711, ["data", "ticket"]), (self.uid, 0o311, [])):
            os.chown(above, owner, owner)
            above.chmod(listed)
            told = self.shell(look, "--most", "landlock", "--hidden", ticket)
            sees_all = self.uid == 0
            self.assertEqual(["data"] if sees_all else read, [line for line in told.lines if line in ("data", "ticket")], told.text)
            self.assertEqual(listed != 0o755 and not sees_all, f"{above} cannot be listed" in told.text, told.text)
        above.chmod(0o755)

    @unittest.skipUnless(IS_ROOT, "who may make mounts and not leave them")
    def test_a_mount_namespace_that_can_be_neither_finished_nor_left_is_told(self):
        if self.uid:
            self.skipTest("an ordinary user's own may be left")
        unable = ("setpriv", "--bounding-set", "-sys_chroot", "--inh-caps", "-sys_chroot", "prlimit")
        told = [self.shell("true", before=(*unable, f"--nofile={files}")).text for files in range(6, 14)]
        self.assertTrue(any("no mount namespace: programs stay in one that was only begun" in text for text in told), "".join(told))

    def test_files_that_others_make_lower_no_level(self):
        """More than there are rules for in a folder that Landlock opens entry by entry, with one of the user's own at the end."""
        stranger = self.uid + 1
        self.fixture = SandboxFixture(self.uid, below="/dev/shm")
        self.addCleanup(self.fixture.remove)
        for i in range(65600):
            os.close(os.open(self.fixture.top / f"other-{i}", os.O_CREAT | os.O_WRONLY))
        for path in self.fixture.top.glob("other-*"):
            os.chown(path, stranger, stranger)
        own = self.fixture.top / "own"
        own.mkdir()
        os.chown(own, self.uid, self.uid)
        for most in ("storage", "landlock"):
            told = self.shell(f"echo a > {own}/a && cat {own}/a", "--most", most)
            self.assertEqual("namespace+landlock" if most == "storage" else most, told.level, told.text)
            self.assertIn("a", told.lines, told.text)
            (own / "a").unlink()

    def test_who_takes_requests_outside_is_reached_only_by_path(self):
        """The deputy writes what it is sent into the cache."""
        deputy = SocketProcess(self.fixture.top, self.uid)
        self.addCleanup(deputy.stop)
        ask = "/usr/bin/python3", "-c", ASK, deputy.path, deputy.name
        for most, reached in (("storage", ["path"]), ("namespace", ["path", "abstract"]), ("landlock", ["path"])):
            told = self.confine("--most", most, program=ask)
            self.assertEqual(reached, told.lines[-len(reached):], told.text)
            self.assertEqual([f"{kind}-socket" for kind in reached], [way for way in told.said("open") if "socket" in way])

    # ---- terminals ----

    def test_terminals_of_others_are_neither_read_nor_written(self):
        """One of the same user, by each name that it has, while a password is typed there."""
        keyboard, terminal = os.openpty()
        for fd in (keyboard, terminal):
            self.addCleanup(os.close, fd)
        os.fchown(terminal, self.uid, self.uid)
        tty.setraw(terminal)
        os.write(keyboard, b"password")
        os.set_blocking(keyboard, False)
        names = [os.ttyname(terminal), "/proc/self/root" + os.ttyname(terminal), "/dev/console",
                 f"/proc/{os.getpid()}/fd/{terminal}", f"/proc/{os.getpid()}/root{os.ttyname(terminal)}"]
        program = ["/usr/bin/python3", "-B", "-c", TERMINALS, *names]
        for most in ("storage", "namespace", "landlock"):
            told = self.confine("--most", most, program=program)
            self.assertIn("looked", told.lines, told.text)
            self.assertEqual([], told.said("touched"), told.text)
            self.assertRaises(BlockingIOError, os.read, keyboard, 100)
        self.assertEqual(b"password", os.read(terminal, 100), "nobody has read it")

    def test_where_mounts_are_its_own_a_program_opens_terminals_of_its_own(self):
        for most in ("storage", "namespace"):
            told = self.confine("--most", most, program=["/usr/bin/python3", "-B", "-c", OWN_TERMINAL])
            self.assertEqual(["typed", "['0', 'ptmx']", "/dev/pts/1", "by tty", "status 0"],
                             [line.strip() for line in told.lines[-5:]], told.text)

    def test_where_the_hosts_dev_is_in_sight_no_terminal_is_opened(self):
        told = self.shell("exec 3<>/dev/ptmx || exit; echo opened", "--most", "landlock")
        self.assertNotIn("opened", told.lines, told.text)

    # ---- bad orders ----

    def test_words_that_are_not_its_own_are_refused(self):
        for words in (["--least", "much"], ["--writable", "relative"], ["--writable", "/a/../b"], ["--nothing", "1"],
                      ["--writable"], ["--report", "x"], ["--report", "999"], ["--role", "none"],
                      ["--protected", "relative"]):
            self.assertEqual(2, self.confine(*words).status, words)

    def test_a_generation_outside_of_the_bundle_is_refused(self):
        self.fixture.show("/usr")
        self.assertRegex(self.confine().said("problem")[0], "which is not in the cache family's folder")

    def test_a_bundle_that_leads_out_of_the_root_is_refused(self):
        away = self.fixture.top / "away"
        self.fixture.bundle.rename(away)
        self.fixture.bundle.symlink_to(away)
        self.assertRegex(self.confine().said("problem")[0], "outside the cache root")

    def test_scratch_in_the_cache_is_refused(self):
        self.fixture.scratch = self.fixture.root
        self.assertRegex(self.confine().said("problem")[0], "is inside the cache root")

    def test_without_a_witness_it_says_what_was_not_tried(self):
        (self.fixture.generation / "WITNESS").unlink()
        told = self.confine()
        self.assertEqual("namespace+landlock", told.level)
        self.assertRegex(" ".join(told.said("note")), "there is no WITNESS")


class ConfineOrdinary(Confine):
    uid = ORDINARY

    def test_what_is_not_listed_is_not_writable_under_landlock(self):
        self.skipTest("an ordinary user has no such folder")


@unittest.skipUnless(IS_ROOT, "mounts are made by root only")
class Mounted(Confine):
    """Storages as their administrator mounts them, in a mount namespace that ends with the command."""

    def before(self, script):
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", f'set -e; {script}; exec "$@"', "sh"]

    def test_another_name_of_the_same_storage_is_closed_as_well(self):
        for where in (self.fixture.top / "alias", self.fixture.scratch / "alias"):
            where.mkdir()
            for most in ("storage", "namespace", "landlock"):
                told = self.attack("--most", most, folders=[where / "jax" / "f00d" / "gen-1"],
                                   before=self.before(f"mount --bind {self.fixture.root} {where}"))
                if where.is_relative_to(self.fixture.scratch) and most == "landlock":
                    continue # what is mounted into scratch is scratch to Landlock alone
                allowed = NO_MODES if most == "landlock" else set()
                self.assertTrue(self.open_ways(told) <= allowed, f"{most} {where} {told.text}")

    def test_a_storage_that_is_read_only_is_the_best_level(self):
        self.fixture.generation.chmod(0o755)
        script = f"mount --bind {self.fixture.root} {self.fixture.root}; mount -o remount,bind,ro {self.fixture.root}"
        told = self.confine("--least", "storage", before=self.before(script))
        self.assertEqual(("storage", DEPUTIES[:1]), (told.level, told.said("open")), told.text)
        self.assertRegex(told.said("mount")[0], r" ro,")

    def devices(self, most, nodes, *options):
        """Which of `nodes`, paths and what mknod takes, the program can open in any way, in a /dev of these and some usual ones."""
        usual = {"/dev/null": "c 1 3", "/dev/urandom": "c 1 9", "/dev/ptmx": "c 5 2"}
        made = [f"mkdir -p {os.path.dirname(path)}; mknod -m 666 {path} {node}" for path, node in {**usual, **nodes}.items()]
        script = "mount -t tmpfs none /dev -o dev,mode=755; mkdir /dev/shm; " + "; ".join(made)
        told = self.confine("--most", most, *options, program=["/usr/bin/python3", "-B", "-c", TERMINALS, *nodes],
                            before=self.before(script))
        self.assertIn("looked", told.lines, told.text)
        return {line.split()[0] for line in told.said("touched")}

    def test_of_devices_those_are_reached_that_programs_need_whatever_their_names(self):
        """247 and 248 are majors of nothing here, as those of bsg and NVMe's generic nodes are elsewhere; 7 is a disk's, or a console's."""
        needed = {"/dev/zero": "c 1 5", "/dev/full": "c 1 7", "/dev/sub/folder/random": "c 1 8", "/dev/sda": "c 1 3", "/dev/fuse": "c 10 229"}
        others = {"/dev/disk0": "b 7 0", "/dev/mapper/disk1": "b 7 0", "/dev/a/b/c/d/disk2": "b 7 0", "/dev/bsg/0:0:0:0": "c 247 0",
                  "/dev/ng0n1": "c 248 0", "/dev/sg0": "c 21 0", "/dev/dax0.0": "c 252 0", "/dev/accel0": "b 7 0", "/dev/vfio/0": "c 7 0",
                  "/dev/nvidia0": "c 1 1", "/dev/kmsg": "c 1 11", "/dev/tty1": "c 4 1", "/dev/console": "c 5 1",
                  "/dev/loop-control": "c 10 237"}
        for most in ("storage", "namespace", "landlock"):
            self.assertEqual(set(needed), self.devices(most, {**needed, **others}), most)

    def test_what_the_slice_file_names_in_dev_is_reached(self):
        nodes = {"/dev/new/0": "c 1 11", "/dev/new1": "c 1 11", "/dev/kept": "c 1 11"}
        for most in ("storage", "namespace", "landlock"):
            reached = self.devices(most, nodes, "--writable", "/dev/new", "--writable", "/dev/new1")
            self.assertEqual({"/dev/new/0", "/dev/new1"}, reached, most)

    def test_where_mounts_are_its_own_nodes_elsewhere_are_no_devices(self):
        elsewhere = {str(self.fixture.top / "disk"): "c 1 3", "/dev/shm/disk": "c 1 3"}
        for most in ("storage", "namespace"):
            (self.fixture.top / "disk").unlink(missing_ok=True)
            self.assertEqual(set(), self.devices(most, elsewhere), most)


class Survey(unittest.TestCase):
    """The builtin `cache`, by hand: what it says of roots good and bad."""

    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-survey-"))
        self.addCleanup(shutil.rmtree, self.top)
        self.root = self.top / "cache"

    def survey(self, *options, before=()):
        done = subprocess.run([*before, str(WORKER), "cache", "--root", str(self.root), *options], cwd=self.top,
                              capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        facts = {line["name"]: line["value"] for line in lines if line["type"] == "fact"}
        failures = [(line["layer"], line["text"]) for line in lines if line["type"] == "failure"]
        self.assertEqual(bool(failures), done.returncode == 1, done.stdout + done.stderr)
        return facts, failures

    def mounted(self, script):
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", f'set -e; {script}; exec "$@"', "sh"]

    def test_a_good_root_is_made_and_only_its_mark_is_left(self):
        facts, failures = self.survey()
        self.assertEqual([], failures)
        self.assertEqual(["storage"], os.listdir(self.root))
        self.assertEqual((self.root / "storage").read_text().strip(), facts["cache.storage"])
        self.assertEqual(("namespace+landlock", "path-socket"), (facts["cache.enforcement"], facts["cache.open_ways"]))
        self.assertGreater(int(facts["cache.free_bytes"]), 0)
        self.assertEqual(facts["cache.storage"], self.survey()[0]["cache.storage"], "it is made once")

    def test_a_level_that_is_not_possible_fails_with_what_is(self):
        _, ((layer, text),) = self.survey("--least", "storage")
        self.assertEqual("cache", layer)
        self.assertRegex(text, "at level namespace.landlock, and cache.enforcement requires storage")
        self.assertEqual(["storage"], os.listdir(self.root))

    def test_a_root_that_is_a_file_or_below_one_is_named(self):
        self.root.write_text("")
        self.assertRegex(self.survey()[1][0][1], "is not a folder; move it away")
        self.root = self.root / "below"
        self.assertRegex(self.survey()[1][0][1], "a part of the path is not a folder")

    @unittest.skipUnless(IS_ROOT, "mounts are made by root only")
    def test_a_full_storage_is_the_hosts_business(self):
        self.root.mkdir()
        for size in ("size=1m", "nr_inodes=100"):
            _, ((layer, text),) = self.survey(before=self.mounted(f"mount -t tmpfs -o {size},mode=755 none {self.root}"))
            self.assertEqual("host", layer)
            self.assertRegex(text, r"is full: \d+ MiB and \d+ files are free, at least 64 and 1000 are needed")

    @unittest.skipUnless(IS_ROOT, "mounts are made by root only")
    def test_a_read_only_storage_with_a_mark_is_the_best_there_is(self):
        self.survey()
        script = f"mount --bind {self.root} {self.root}; mount -o remount,bind,ro {self.root}"
        facts, failures = self.survey("--least", "storage", before=self.mounted(script))
        self.assertEqual([], failures)
        self.assertEqual("storage", facts["cache.enforcement"])

    @unittest.skipUnless(IS_ROOT, "mounts are made by root only")
    def test_a_read_only_storage_without_a_mark_is_waited_for_and_named(self):
        self.root.mkdir()
        script = f"mount --bind {self.root} {self.root}; mount -o remount,bind,ro {self.root}"
        _, ((layer, text),) = self.survey(before=self.mounted(script))
        self.assertEqual("cache", layer)
        self.assertRegex(text, r"the cache root \S+ is mounted read-only \(.* ro,.*\), and no run has used it")


for _name in dir(Confine):
    if _name.startswith("test_") and _name not in vars(Mounted):
        setattr(Mounted, _name, None)  # once as root is enough


if __name__ == "__main__":
    unittest.main()
