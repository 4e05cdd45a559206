"""The stage before programs, as root and as an ordinary user: what each level refuses, and that what it tells is true.

The attacks are those of tests/canaries/writes_cache.py, which knows nothing of how the sandbox is made."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(os.environ.get("SLICEUP_BUILD", TOP / "build-test")) / "bin" / "sliceup-worker"
CANARY = TOP / "tests" / "canaries" / "writes_cache.py"
ORDINARY = 65534
IS_ROOT = os.geteuid() == 0
# worker/io/confine_caps.c, as far as this process may give them on
BOUNDING = re.search(r"CapBnd:\t(\w+)", pathlib.Path("/proc/self/status").read_text())[1]
KEPT_CAPS = f"{0x180c0fb & int(BOUNDING, 16):016x}"
NO_MODES = {"chmod", "chmod_folder", "chown", "utimes", "setxattr"}  # what Landlock knows nothing of


def as_user(uid):
    """The words before a command that make it an ordinary user's."""
    return [] if uid == os.geteuid() else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


class Yard:
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
        self.yard = Yard(self.uid)
        self.addCleanup(self.yard.remove)

    def confine(self, *options, role="reader", program=(), before=(), env=None):
        yard = self.yard
        words = [*before, *as_user(self.uid), str(WORKER), "confine", "--root", yard.root, "--bundle", yard.bundle,
                 "--scratch", yard.scratch, "--place", yard.place, "--role", role, *options]
        if program:
            words += ["--", program[0], *program]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=90,
                              cwd=yard.scratch, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
        self.assertNotIn("Sanitizer", done.stderr)
        return Told(done)

    def attack(self, *options, folders=None, role="reader", before=()):
        folders = folders or [self.yard.generation, self.yard.place / "generation"]
        program = ["/usr/bin/python3", "-B", str(self.yard.top / "canary.py"), *map(str, folders)]
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
        before = self.yard.listing()
        told = self.attack()
        self.assertEqual("namespace+landlock", told.level, told.text)
        self.assertEqual([], told.said("open"))
        self.assertEqual(set(), self.open_ways(told), told.text)
        self.assertEqual(before, self.yard.listing())

    def test_the_namespace_alone_refuses_every_way(self):
        before = self.yard.listing()
        told = self.attack("--most", "namespace")
        self.assertEqual(("namespace", [], set()), (told.level, told.said("open"), self.open_ways(told)), told.text)
        self.assertEqual(before, self.yard.listing())

    def test_landlock_alone_refuses_all_but_modes_times_and_attributes(self):
        told = self.attack("--most", "landlock")
        self.assertEqual("landlock", told.level, told.text)
        self.assertTrue(set(told.said("open")) <= {"chmod", "utimes", "setxattr"}, told.text)
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
        before = self.yard.listing()
        told = self.confine("--most", "cooperative")
        self.assertEqual("cooperative", told.level)
        self.assertIn("chmod", told.said("open"))
        self.assertEqual(self.uid == 0, "create" in told.said("open"), told.text)
        after = self.yard.listing()
        changed = {path for path in after if before.get(path) != after[path]}
        self.assertTrue(changed <= {str(self.yard.bundle)}, f"{changed}: only its time may differ")

    def test_less_than_asked_for_does_not_start_and_says_why(self):
        told = self.shell("echo started", "--most", "landlock", "--least", "namespace")
        self.assertEqual(1, told.status, told.text)
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0],
                         "only be protected at level landlock, and cache.enforcement asks for namespace")

    def test_why_a_better_level_is_not_possible_is_told(self):
        told = self.confine("--landlock-abi", "0", "--least", "namespace+landlock")
        self.assertRegex(told.said("problem")[0], "level namespace, .*no Landlock: this kernel has none")

    # ---- what the program gets ----

    def test_readers_find_the_generation_at_the_constant_path(self):
        for most in ("storage", "landlock"):
            told = self.shell(f"cat {self.yard.place}/generation/entry; ls {self.yard.place}/generation",
                              "--most", most)
            self.assertEqual(0, told.status, told.text)
            self.assertIn("entry", told.lines)
            self.assertIn("MANIFEST", told.lines)

    def test_scratch_and_the_usual_places_stay_writable(self):
        more = self.yard.top / "more"
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
        own = self.yard.own("gen-2")
        before = self.yard.listing()
        for most in ("storage", "namespace", "landlock"):
            told = self.shell(f"echo a > {self.yard.place}/generation/{most}; mkdir {self.yard.bundle}/gen-3; "
                              f"rm -f {self.yard.generation}/entry; echo b >> {self.yard.generation}/entry; "
                              f"rmdir {own}; mv {own} {self.yard.bundle}/gen-4", "--most", most, "--base",
                              self.yard.generation, role="writer")
            self.assertEqual(most if most != "storage" else "namespace+landlock", told.level, told.text)
            self.assertEqual("a\n", (own / most).read_text(), told.text)
        after = self.yard.listing()
        for path in before:
            if not path.startswith(str(own)) and path != str(self.yard.bundle):
                self.assertEqual(before[path], after[path], path)
        self.assertEqual({"gen-1", "gen-2"}, set(os.listdir(self.yard.bundle)))

    def test_the_generation_a_writer_began_with_is_attacked_in_vain(self):
        self.yard.own("gen-2")
        told = self.attack("--base", self.yard.generation, folders=[self.yard.generation], role="writer")
        self.assertEqual(set(), self.open_ways(told), told.text)

    def test_a_host_writes_its_own_folder_and_no_other(self):
        own = self.yard.own("host-h0")
        told = self.shell(f"echo a > {self.yard.place}/generation/a; mkdir {self.yard.bundle}/host-h1", role="own")
        self.assertEqual("a\n", (own / "a").read_text(), told.text)
        self.assertFalse((self.yard.bundle / "host-h1").exists())

    def test_a_writer_whose_generation_cannot_be_written_does_not_start(self):
        own = self.yard.own("gen-2")
        own.rmdir()
        told = self.shell("echo started", role="writer")
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0], "the generation that the program is to see .* cannot be found")

    # ---- the overlay ----

    def test_an_overlay_takes_what_the_program_writes(self):
        before = self.yard.listing()
        told = self.shell(f"cd {self.yard.place}/generation && rm -f entry MANIFEST && echo new > entry && "
                          "echo x > made && cat entry", "--overlay")
        self.assertIn("new", told.lines, told.text)
        self.assertEqual(before, self.yard.listing())
        upper = self.yard.scratch / ".cache-layer" / "upper"
        self.assertEqual({"entry", "MANIFEST", "made"}, set(os.listdir(upper)))

    def test_an_overlay_does_not_open_the_generation_itself(self):
        told = self.attack("--overlay", folders=[self.yard.generation])
        self.assertEqual(set(), self.open_ways(told), told.text)

    def test_without_mounts_there_is_no_overlay_and_no_program(self):
        told = self.shell("echo started", "--overlay", "--most", "landlock")
        self.assertNotIn("started", told.lines)
        self.assertRegex(told.said("problem")[0], "cache.overlay needs a mount namespace")

    # ---- bad orders ----

    def test_words_that_are_not_its_own_are_refused(self):
        for words in (["--least", "much"], ["--writable", "relative"], ["--writable", "/a/../b"], ["--nothing", "1"],
                      ["--writable"], ["--report", "x"], ["--report", "999"], ["--role", "none"]):
            self.assertEqual(2, self.confine(*words).status, words)

    def test_a_generation_outside_of_the_bundle_is_refused(self):
        self.yard.show("/usr")
        self.assertRegex(self.confine().said("problem")[0], "which is not in the bundle's folder")

    def test_a_bundle_that_leads_out_of_the_root_is_refused(self):
        away = self.yard.top / "away"
        self.yard.bundle.rename(away)
        self.yard.bundle.symlink_to(away)
        self.assertRegex(self.confine().said("problem")[0], "leads out of the cache root")

    def test_scratch_in_the_cache_is_refused(self):
        self.yard.scratch = self.yard.root
        self.assertRegex(self.confine().said("problem")[0], "lies in the cache root")

    def test_without_a_witness_it_says_what_was_not_tried(self):
        (self.yard.generation / "WITNESS").unlink()
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
        for where in (self.yard.top / "alias", self.yard.scratch / "alias"):
            where.mkdir()
            for most in ("storage", "namespace", "landlock"):
                told = self.attack("--most", most, folders=[where / "jax" / "f00d" / "gen-1"],
                                   before=self.before(f"mount --bind {self.yard.root} {where}"))
                if where.is_relative_to(self.yard.scratch) and most == "landlock":
                    continue # what is mounted into scratch is scratch to Landlock alone
                allowed = NO_MODES if most == "landlock" else set()
                self.assertTrue(self.open_ways(told) <= allowed, f"{most} {where} {told.text}")

    def test_a_storage_that_is_read_only_is_the_best_level(self):
        self.yard.generation.chmod(0o755)
        script = f"mount --bind {self.yard.root} {self.yard.root}; mount -o remount,bind,ro {self.yard.root}"
        told = self.confine("--least", "storage", before=self.before(script))
        self.assertEqual(("storage", []), (told.level, told.said("open")), told.text)
        self.assertRegex(told.said("mount")[0], r" ro,")

    def test_another_uid_when_nothing_better_works(self):
        self.yard.top.chmod(0o755)
        told = self.shell("id -u; echo a > mine; cat mine; grep ^CapEff /proc/self/status", "--most", "other-uid")
        self.assertEqual("other-uid", told.level, told.text)
        self.assertEqual([str(ORDINARY), "a", "CapEff:\t" + "0" * 16], told.lines[-3:], told.text)
        before = self.yard.listing()
        told = self.attack("--most", "other-uid", folders=[self.yard.generation])
        self.assertEqual(set(), self.open_ways(told) - {"raw_device"}, told.text)
        self.assertEqual(before, self.yard.listing())

    def test_another_uid_that_reaches_nothing_is_not_taken(self):
        self.yard.top.chmod(0o700)
        told = self.confine("--most", "other-uid")
        self.assertEqual("cooperative", told.level)
        self.assertRegex(" ".join(told.said("note")), "uid 65534 does not reach")

    def test_block_devices_are_hidden(self):
        script = "mount -t tmpfs none /dev -o dev,mode=755; mknod -m 666 /dev/null c 1 3; " \
                 "mknod -m 666 /dev/urandom c 1 9; mkdir /dev/mapper; mknod /dev/disk0 b 7 0; " \
                 "mknod /dev/mapper/disk1 b 7 0"
        for most in ("storage", "namespace", "landlock"):
            told = self.shell("for d in /dev/disk0 /dev/mapper/disk1; do if test -b $d && ( : >> $d ) 2>/dev/null; "
                              "then echo open $d; fi; done; echo looked", "--most", most, before=self.before(script))
            self.assertIn("looked", told.lines, told.text)
            self.assertFalse([line for line in told.lines if line.startswith("open /dev")], told.text)


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
        self.assertEqual(("namespace+landlock", "none"), (facts["cache.enforcement"], facts["cache.open_ways"]))
        self.assertGreater(int(facts["cache.free_bytes"]), 0)
        self.assertEqual(facts["cache.storage"], self.survey()[0]["cache.storage"], "it is made once")

    def test_a_level_that_is_not_possible_fails_with_what_is(self):
        _, ((layer, text),) = self.survey("--least", "storage")
        self.assertEqual("cache", layer)
        self.assertRegex(text, "at level namespace.landlock, and cache.enforcement asks for storage")
        self.assertEqual(["storage"], os.listdir(self.root))

    def test_a_root_that_is_a_file_or_below_one_is_named(self):
        self.root.write_text("")
        self.assertRegex(self.survey()[1][0][1], "is not a folder; move that away")
        self.root = self.root / "below"
        self.assertRegex(self.survey()[1][0][1], "something on the way is not a folder")

    @unittest.skipUnless(IS_ROOT, "mounts are made by root only")
    def test_a_full_storage_is_the_hosts_business(self):
        self.root.mkdir()
        for size in ("size=1m", "nr_inodes=100"):
            _, ((layer, text),) = self.survey(before=self.mounted(f"mount -t tmpfs -o {size} none {self.root}"))
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
        self.assertRegex(text, "may only read the cache, and no other has made it")


for _name in dir(Confine):
    if _name.startswith("test_") and _name not in vars(Mounted):
        setattr(Mounted, _name, None)  # once as root is enough


if __name__ == "__main__":
    unittest.main()
