"""Whoever may change the home or the cache decides what runs: neither is taken over from another user without a word."""
import json
import os
import re
import shutil
import subprocess
import unittest

import lab
import schema

ALICE, BOB = 61001, 61002  # nobody's: a uid needs no account


def root_only(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root: what it looks at belongs to several users")(test)


class Owned(lab.LabTest):
    def refused(self, ended, *words, status=3):
        self.assertEqual(status, ended.status, str(ended))
        said = [line for line in ended.err.splitlines() if line.startswith("sliceup: ")]
        self.assertEqual(1, len(said), str(ended))
        for word in words:
            self.assertIn(str(word), said[0])
        return said[0]

    def give(self, path, uid, mode=None):
        for each in (path, *path.rglob("*")) if path.is_dir() else (path,):
            os.chown(each, uid, uid, follow_symlinks=False)
        if mode is not None:
            path.chmod(mode)


class Home(Owned):
    COMMANDS = (("runs",), ("status",), ("receipt",), ("resume",), ("logs",), ("cache", "ls"), ("calibration",), ("hosts", "a[1-2]"))

    def setUp(self):
        super().setUp()
        self.plan = self.lab.slice(hosts=1, cache={"mode": "off"}, ladder=str(self.lab.ladder(
            "ladder.yaml", [{"id": "facts", "builtin": "facts"}])))

    def every_command_refuses(self, *words):
        before = sorted(self.lab.home.rglob("*"))
        for command in (*self.COMMANDS, ("check", self.plan), ("run", self.plan)):
            self.refused(self.lab.sliceup(*command), "home", self.lab.home, *words)
        self.assertEqual(before, sorted(self.lab.home.rglob("*")), "something was made there")

    def test_one_that_others_may_write(self):
        self.lab.home.mkdir()
        for mode in (0o777, 0o1777, 0o770):
            self.lab.home.chmod(mode)
            self.every_command_refuses(f"mode {mode:04o}", "owner ", "chmod go-w", "--home")
        self.lab.home.chmod(0o755)
        self.passes(self.lab.sliceup("run", self.plan))

    def test_one_that_is_a_link(self):
        (self.lab.root / "real").mkdir(0o700)
        self.lab.home.symlink_to(self.lab.root / "real")
        self.every_command_refuses("symbolic link", "owner ", "--home")

    @root_only
    def test_one_that_another_user_owns(self):
        self.passes(self.lab.sliceup("run", self.plan))
        self.give(self.lab.home, ALICE)
        self.every_command_refuses(f"uid {ALICE}", "mode 0700", "chown")

    def each_refuses(self, *words):
        for command in (("runs",), ("status",), ("resume",), ("receipt",), ("run", self.plan)):
            self.refused(self.lab.sliceup(*command), *words)

    def test_its_runs_that_others_may_write_or_that_are_a_link(self):
        self.passes(self.lab.sliceup("run", self.plan))
        runs = self.lab.home / "runs"
        runs.chmod(0o777)
        self.each_refuses(f"folder of the sliceup home {runs}", "mode 0777", "chmod go-w", "--home")
        runs.chmod(0o700)
        runs.rename(self.lab.home / "real")
        runs.symlink_to(self.lab.home / "real")
        self.each_refuses(f"folder of the sliceup home {runs}", "symbolic link")

    @root_only
    def test_its_runs_that_another_user_owns(self):
        self.passes(self.lab.sliceup("run", self.plan))
        runs = self.lab.home / "runs"
        one, = self.lab.runs()
        os.chown(runs, BOB, BOB)
        self.each_refuses(f"folder of the sliceup home {runs}", f"uid {BOB}", "chown")
        os.chown(runs, 0, 0)
        os.chown(one, BOB, BOB)
        for command in (("status",), ("resume",), ("receipt",)):
            self.refused(self.lab.sliceup(*command), f"folder of the sliceup home {one}", f"uid {BOB}", "chown")
        listed, = schema.document(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"]
        self.assertEqual("unreadable", listed["state"])
        self.assertIn(f"uid {BOB}", listed["problem"])

    def test_its_environments_also_when_a_run_is_gone_on_with(self):
        ladder = self.lab.ladder("long.yaml", [{"id": "long", "command": ["sleep", "60"], "timeout": "2m"}])
        going = self.lab.start("run", self.lab.slice(hosts=1, ladder=str(ladder), cache={"mode": "off"}))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung", 30)
        going.kill_and_reap()
        (self.lab.home / "envs").mkdir(0o700, exist_ok=True)
        (self.lab.home / "envs").chmod(0o777)
        self.refused(self.lab.sliceup("resume"), self.lab.home / "envs", "mode 0777")
        self.lab.kill_workers()

    @root_only
    def test_its_environments_and_slices_count_where_they_are_used(self):
        (self.lab.home / "envs").mkdir(0o700, parents=True)
        self.lab.home.chmod(0o700)
        os.chown(self.lab.home / "envs", BOB, BOB)
        for command in (("env", "ls"), ("run", self.plan)):
            self.refused(self.lab.sliceup(*command), self.lab.home / "envs", f"uid {BOB}")
        joins = self.lab.write("joins.yaml", "slice: joins\nlauncher: join\nprofile: plain\nladder: plain\nhosts: h0\ncache: {mode: off}\n"
                               "coordinator: {address: 127.0.0.1, control_port: 7001, bulk_port: 7002}\n")
        (self.lab.home / "slices").mkdir(0o700)
        os.chown(self.lab.home / "slices", BOB, BOB)
        self.refused(self.lab.sliceup("ticket", joins, "--out", self.lab.root / "tickets"), self.lab.home / "slices", f"uid {BOB}")

    def test_one_below_a_folder_that_others_may_write(self):
        (self.lab.root / "open").mkdir()
        (self.lab.root / "open").chmod(0o777)
        self.lab.home = self.lab.root / "open" / "home"
        self.refused(self.lab.sliceup("runs"), "lies below", "mode 0777")
        self.assertFalse(self.lab.home.exists())
        (self.lab.root / "open").chmod(0o1777)  # as /tmp is
        self.passes(self.lab.sliceup("runs"))

    def test_one_that_is_made_is_closed_to_others(self):
        self.lab.root.chmod(0o755)
        for name, before in (("home", 0), ("a/b/home", 0o077)):
            self.lab.home = self.lab.root / name
            done = subprocess.run([str(lab.SLICEUP), "runs"], env=self.lab.env(), umask=before, capture_output=True, timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(0o700, self.lab.home.stat().st_mode & 0o7777)

    def test_the_usual_place_below_folders_of_mode_755(self):
        user = self.lab.root / "user"
        for folder in (user, user / ".local", user / ".local" / "state"):
            folder.mkdir()
            folder.chmod(0o755)
        env = self.lab.env(HOME=str(user))
        del env["SLICEUP_HOME"]
        self.passes(self.lab.sliceup("runs", env=env))
        self.assertEqual(0o700, (user / ".local" / "state" / "sliceup").stat().st_mode & 0o7777)
        env["XDG_STATE_HOME"] = str(user / "state")
        self.passes(self.lab.sliceup("runs", env=env))

    @root_only
    def test_another_users_home_is_not_roots(self):
        """Nor root's another user's."""
        self.lab.root.chmod(0o755)
        self.lab.home.mkdir(0o755)
        done = subprocess.run([str(lab.SLICEUP), "runs"], env=self.lab.env(), user=ALICE, group=ALICE, extra_groups=[],
                              capture_output=True, text=True, timeout=60)
        self.refused(lab.Ended(done.returncode, done.stdout, done.stderr), "belongs to root (uid 0)", f"chown it to uid {ALICE}")


class Cache(Owned):
    """A root outside of the home, warmed by a run of this user; then somebody else's in one way or another."""

    def setUp(self):
        super().setUp()
        self.lab.root.chmod(0o755)
        self.root = self.lab.root / "cache"
        self.lab.write("keeps.yaml", "profile: keeps\nfrontend: jax\nbackend: cpu\ndevices_per_host: 1\n")

    def slice(self, name="slice.yaml", hosts=2, **cache):
        rung = self.lab.rung("tiny", "keeps.py", warm="solo", timeout="60s", args={"marks": str(self.lab.files / "marks")})
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder(f"ladder-{name}", [rung])), profile="./keeps.yaml", name=name,
                              limits={"stop": "200ms", "cascade": "1s", "lease": "2s"},
                              cache={"mode": "single-writer", "root": str(self.root), "writable": [str(self.lab.files)], **cache})

    def warm(self):
        self.passes(self.lab.sliceup("run", self.slice()))
        generation, = self.root.glob("jax/*/gen-*")
        return generation

    def every_command_refuses(self, *words, cache=None):
        path = self.slice(**(cache or {}))
        runs = len(self.lab.runs())
        for command in (("check", path), ("run", path), ("cache", "ls", path), ("cache", "verify", "--root", self.root),
                        ("cache", "gc", "--slice", path), ("cache", "export", "1", self.lab.files / "out", "--root", self.root)):
            self.refused(self.lab.sliceup(*command), *words)
        self.assertEqual(runs, len(self.lab.runs()), "a run was begun")

    def restores(self, path):
        ended = self.passes(self.lab.sliceup("run", path))
        receipt = self.lab.receipt()
        self.assertEqual({"restored"}, {self.attempt(receipt, host, "tiny")["cache"] for host in ("h0", "h1")})
        self.assertTrue(receipt["generations"][0]["adopted"], "it was warmed anew")
        return ended, receipt

    def test_one_that_others_may_write(self):
        self.warm()
        for mode in (0o777, 0o1777, 0o2775):
            self.root.chmod(mode)
            self.every_command_refuses(f"cache root {self.root}", f"mode {mode:04o}", "owner ", "chmod go-w", "another cache.root",
                                       "NFS that maps all users to one", "cache: {trust: [...]}")
        self.root.chmod(0o755)
        self.restores(self.slice())

    def test_one_below_a_folder_that_others_may_write(self):
        self.warm()
        self.lab.root.chmod(0o777)
        self.lab.home.rename("/tmp/" + self.lab.root.name + "-home")
        self.lab.home = self.lab.home.__class__("/tmp/" + self.lab.root.name + "-home")
        self.addCleanup(shutil.rmtree, self.lab.home, ignore_errors=True)
        self.refused(self.lab.sliceup("check", self.slice()), "cache root", "lies below", "mode 0777")
        self.lab.root.chmod(0o755)

    def test_one_that_is_made_belongs_to_us_alone_whatever_the_umask(self):
        done = subprocess.run([str(lab.SLICEUP), "run", str(self.slice())], env=self.lab.env(), umask=0, text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        for path in (self.root, *self.root.rglob("*")):
            self.assertEqual(0, path.lstat().st_mode & 0o022, path)
        self.passes(self.lab.sliceup("cache", "verify"))

    @root_only
    def test_a_root_of_another_user_is_used_when_that_user_is_trusted(self):
        generation = self.warm()
        self.give(self.root, ALICE)
        self.every_command_refuses(f"belongs to uid {ALICE}", "mode 07", "chown it to root (uid 0)", f"list {ALICE} in cache: {{trust")
        self.every_command_refuses(f"belongs to uid {ALICE}", cache={"trust": [BOB]})
        shared = self.slice(name="shared.yaml", trust=[BOB, ALICE])
        checked = self.passes(self.lab.sliceup("check", shared)).out
        self.assertIn(f"uid {ALICE} may own the cache", checked)
        _, receipt = self.restores(shared)
        self.assertEqual([BOB, ALICE], receipt["cache"]["trust"])
        self.assertIn(f"uid {BOB}, {ALICE}", self.lab.sliceup("receipt").out)
        self.assertTrue(generation.exists())
        self.passes(self.lab.sliceup("cache", "verify", shared))
        self.passes(self.lab.sliceup("cache", "verify", "--root", self.root, "--trust", f"{BOB},{ALICE}"))
        self.passes(self.lab.sliceup("cache", "ls"))  # of the last run, whose plan trusts them
        for trust in ("alice", "", f"{ALICE},", f",{ALICE}", f"0{ALICE}"):
            self.refused(self.lab.sliceup("cache", "ls", "--root", self.root, "--trust", trust), "trusted users", status=2)

    @root_only
    def test_folders_and_files_in_it_count_one_by_one(self):
        generation = self.warm()
        bundle, frontend = generation.parent, generation.parent.parent
        path = self.slice()
        for each in (self.root / "catalogue.db", self.root / "storage"):
            os.chown(each, BOB, BOB)
            self.every_command_refuses(f"cache file {each}", f"uid {BOB}")
            os.chown(each, 0, 0)
        for each, recursive in ((frontend, False), (bundle, False), (generation, True)):
            (self.give if recursive else lambda path, uid: os.chown(path, uid, uid))(each, BOB)
            ended = self.lab.sliceup("run", path)
            self.assertEqual(3, ended.status, str(ended))
            self.assertRegex(ended.out + ended.err, rf"cache (folder|generation) {each} belongs to uid {BOB}")
            exported = self.lab.sliceup("cache", "export", "1", self.lab.files / "out", "--root", self.root)
            self.refused(exported, each, f"uid {BOB}")
            self.assertEqual(3, self.lab.sliceup("cache", "verify", "--root", self.root).status)
            self.give(each, 0) if recursive else os.chown(each, 0, 0)
        frontend.chmod(0o1777)
        ended = self.lab.sliceup("run", path)
        self.assertEqual(3, ended.status, str(ended))
        self.assertRegex(ended.out + ended.err, rf"cache folder {frontend} has mode 1777")
        frontend.chmod(0o755)
        self.restores(path)

    @root_only
    def test_a_generation_is_not_quarantined_for_an_owner(self):
        generation = self.warm()
        path = self.slice()
        entry = next(p for p in generation.rglob("*") if p.is_file() and p.name not in ("MANIFEST", "WITNESS"))
        for each in (generation, generation / "MANIFEST", generation / "WITNESS", entry):
            with self.subTest(each=each.name):
                os.chown(each, BOB, BOB)
                ended = self.lab.sliceup("run", path)
                self.assertEqual(3, ended.status, str(ended))
                self.assertRegex(ended.out + ended.err, rf"uid {BOB}")
                self.assertEqual([generation], list(self.root.glob("jax/*/gen-*")), "it was warmed anew")
                self.assertNotEqual(0, self.lab.sliceup("cache", "verify", "--root", self.root).status)
                os.chown(each, 0, 0)
                self.restores(path)

    def test_a_generation_that_others_may_write_is_refused(self):
        generation = self.warm()
        mode = generation.stat().st_mode & 0o7777
        generation.chmod(0o777)
        ended = self.lab.sliceup("run", self.slice())
        self.assertEqual(3, ended.status, str(ended))
        self.assertRegex(ended.out + ended.err, rf"cache generation {generation} has mode 0777")
        generation.chmod(mode)
        self.restores(self.slice())

    def what_failed_is_left_alone(self, uid):
        """`uid` runs what fails in the cold pass, has all files once more, and runs again: nobody wrote meanwhile."""
        if subprocess.run(["test", "-x", str(lab.SLICEUP)], user=uid, group=uid, extra_groups=[]).returncode:
            self.skipTest(f"uid {uid} does not reach {lab.SLICEUP}")
        fails = self.lab.write("fails.py", "import os, sys\nopen(os.environ['JAX_COMPILATION_CACHE_DIR'] + '/half', 'w').write('half')\nsys.exit(5)\n")
        rung = {"id": "tiny", "canary": str(fails), "warm": "solo", "timeout": "60s", "env": False}
        path = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("fails.yaml", [rung])), profile="./keeps.yaml",
                              limits={"stop": "200ms", "lease": "2s"}, cache={"root": str(self.root)})
        for number in (1, 2, 3):
            self.give(self.lab.root, uid)
            done = subprocess.run([str(lab.SLICEUP), "run", str(path)], env=self.lab.env(HOME=str(self.lab.root)), text=True,
                                  user=uid, group=uid, extra_groups=[], capture_output=True, timeout=120)
            self.assertEqual(1, done.returncode, done.stdout + done.stderr)
            self.assertNotIn("violated", done.stdout + done.stderr)
            self.assertEqual(number, len(list(self.root.glob("jax/*/gen-*/half"))))
        half, = self.root.glob("jax/*/gen-1/half")
        half.write_text("written late")
        done = subprocess.run([str(lab.SLICEUP), "run", str(path)], env=self.lab.env(HOME=str(self.lab.root)), text=True,
                              user=uid, group=uid, extra_groups=[], capture_output=True, timeout=120)
        self.assertEqual(4, done.returncode, done.stdout + done.stderr)
        self.assertIn("late-write in generation 1", done.stdout)

    @root_only
    def test_what_an_ordinary_users_failed_pass_left_is_no_late_write(self):
        self.what_failed_is_left_alone(ALICE)

    @root_only
    def test_what_roots_failed_pass_left_is_no_late_write(self):
        self.what_failed_is_left_alone(0)

    @root_only
    def test_each_host_looks_for_itself(self):
        """The survey of a worker, as the rung `cache` runs it; before each program: tests/unit/test_cache_task.c."""
        self.root.mkdir(0o755)
        os.chown(self.root, BOB, BOB)
        for options, status in (((), 1), (("--trust", f"{ALICE},{BOB}"), 0)):
            done = subprocess.run([str(lab.BUILD / "bin" / "sliceup-worker"), "cache", "--root", str(self.root), *options],
                                  env=self.lab.env(), capture_output=True, text=True, timeout=60)
            self.assertEqual(status, done.returncode, done.stdout + done.stderr)
            self.assertEqual(status == 1, f"cache root {self.root} belongs to uid {BOB}, mode 0755" in done.stdout, done.stdout)


if __name__ == "__main__":
    unittest.main()
