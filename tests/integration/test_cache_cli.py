"""sliceup cache: generations carried in and out, listed, verified and collected; and what must not come in.

The carried folders are made here by hand, so that each lie in one is ours; what is imported is a real generation.
"""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import unittest

import lab
import schema

BUNDLE = "jax/0123456789abcdef"
FILES = {"jit_a-cache": b"executable one", "jit_b-cache": b"executable two", "xla/autotune/results": b"version: 3\n"}


def line(path, content, mode="0444"):
    return f"{hashlib.sha256(content).hexdigest()} {len(content)} {mode} {path}\n"


class Cache(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.root = self.lab.root / "cache"

    def carried(self, name, files=None, lines=None, format=1, **claim):
        """A folder as export makes it. lines: of MANIFEST, added or (path: None) replaced; claim: in generation.json."""
        files = FILES if files is None else files
        folder = self.lab.files / name
        listed = {path: line(path, content) for path, content in files.items()}
        for path, content in files.items():
            file = folder / "sealed" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            for parent in pathlib.PurePosixPath(path).parents:
                if str(parent) != ".":
                    listed[str(parent)] = f"- 0 0555 {parent}/\n"
        listed.update(lines or {})
        manifest = "".join(text for _, text in sorted(listed.items(), key=lambda item: item[0].encode())).encode()
        (folder / "sealed" / "MANIFEST").write_bytes(manifest)
        generation = {"token": 7, "sha256": hashlib.sha256(manifest).hexdigest(), "bundle": BUNDLE, "rung": 1,
                      "entries": len(files), "bytes": sum(map(len, files.values())), "writer": 0,
                      "covers": ["tiny:11", "dense:22"], "from_run": "ab" * 16, **claim}
        (folder / "generation.json").write_text(json.dumps({"format": format, "generation": generation}))
        return folder

    def cache(self, *args, root=None, **more):
        return self.lab.sliceup("cache", *args, "--root", root or self.root, **more)

    def asked(self, *args, **more):
        return schema.document(self.passes(self.cache(*args, "--json", **more)).out)

    def bring(self, n):
        """Generations 1 to n, each with content of its own."""
        for i in range(1, n + 1):
            self.passes(self.cache("import", self.carried(f"carried-{i}", {**FILES, "own": b"%d" % i})))

    def generations(self, **more):
        return {entry["generation"]: entry for bundle in self.asked("ls", **more)["bundles"] for entry in bundle["generations"]}

    def folders(self, root=None):
        return sorted(path.name for path in ((root or self.root) / BUNDLE).iterdir())

    def change(self, sql, *values):
        with sqlite3.connect(self.root / "catalogue.db", timeout=30) as catalogue:
            catalogue.execute(sql, values)
        catalogue.close()

    def use(self, generation, run, home=None, machine=None):
        self.change("INSERT INTO user (token, run, home, machine) VALUES (?, ?, ?, ?)", generation, run,
                    str(home or self.lab.home), machine or socket.gethostname())

    def finished_run(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(ladder=str(self.lab.ladder("facts.yaml", [{"id": "facts", "builtin": "facts"}])),
                                                           cache={"mode": "off"})))
        return self.lab.run_folder().name


class Carrying(Cache):
    def test_what_is_exported_and_imported_is_the_same(self):
        self.bring(1)
        out = self.lab.files / "out"
        said = self.passes(self.cache("export", BUNDLE, out)).out
        claim = json.loads((out / "generation.json").read_text())["generation"]
        self.assertIn(claim["sha256"], said)
        self.assertEqual(claim["sha256"], self.asked("export", BUNDLE, self.lab.files / "as-json")["sha256"])
        self.assertEqual(["tiny:11", "dense:22"], claim["covers"])
        self.assertEqual("ab" * 16, claim["from_run"], "who wrote it first is forgotten")
        other = self.lab.root / "other"
        (other / BUNDLE / "gen-1").mkdir(parents=True)  # there the number is taken
        self.passes(self.cache("import", out, root=other))
        there = self.generations(root=other)
        self.assertEqual([2], list(there))
        self.assertEqual(self.generations()[1]["sha256"], there[2]["sha256"])
        self.assertEqual("published", there[2]["state"])
        for path, content in FILES.items():
            self.assertEqual(content, (other / BUNDLE / "gen-2" / path).read_bytes())
            self.assertEqual(0o444, (other / BUNDLE / "gen-2" / path).stat().st_mode & 0o777)

    def test_workers_of_other_users_can_read_what_was_imported(self):
        old = os.umask(0o077)
        try:
            self.bring(1)
        finally:
            os.umask(old)
        folder = self.root / BUNDLE / "gen-1" / "xla" / "autotune"
        while folder != self.root.parent:
            self.assertEqual(0o005, folder.stat().st_mode & 0o005, folder)
            folder = folder.parent
        self.assertEqual(0o600, (self.root / "catalogue.db").stat().st_mode & 0o777)

    def test_an_import_that_covers_less_than_what_was_the_newest_says_so(self):
        self.bring(1)
        ended = self.passes(self.cache("import", self.carried("less", {"own": b"2"}, covers=["tiny:11"])))
        self.assertIn("generation 1, the newest until now, also covers dense; runs now use generation 2", ended.err)
        ended = self.passes(self.cache("import", self.lab.files / "carried-1"))
        self.assertIn("generation 2 is newer: runs use that one, not 1", ended.err)
        ended = self.passes(self.cache("import", self.carried("more", {"own": b"3"}, covers=["tiny:11", "dense:22"])))
        self.assertEqual("", ended.err)

    def test_the_same_is_not_imported_twice(self):
        self.bring(1)
        again = self.asked("import", self.lab.files / "carried-1")
        self.assertEqual((True, 1), (again["was_here_before"], again["generation"]))
        self.assertEqual(["gen-1"], self.folders())

    def test_modes_that_were_lost_on_the_way_are_those_of_the_manifest_again(self):
        folder = self.carried("loose")
        for path in (folder / "sealed").rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        self.passes(self.cache("import", folder))
        self.passes(self.cache("verify"))

    def test_an_export_is_whole_or_not_at_all(self):
        self.bring(1)
        for name in ("here", "link"):
            (self.lab.files / "here").mkdir(exist_ok=True)
            link = self.lab.files / "link"
            if not link.is_symlink():
                link.symlink_to("nowhere")
            ended = self.cache("export", "1", self.lab.files / name)
            self.assertEqual(3, ended.status, ended)
            self.assertIn("already exists", ended.err)
        entry = self.root / BUNDLE / "gen-1" / "jit_a-cache"
        entry.chmod(0o644)
        entry.write_bytes(b"executable onE")
        entry.chmod(0o444)
        ended = self.cache("export", "1", self.lab.files / "out")
        self.assertEqual(4, ended.status, ended)
        self.assertIn("jit_a-cache", ended.err)
        self.assertEqual(["carried-1", "here", "link"], sorted(path.name for path in self.lab.files.iterdir()))
        self.assertEqual(3, self.cache("export", "99", self.lab.files / "out").status)
        self.assertEqual(3, self.cache("export", "jax/ffff", self.lab.files / "out").status)

    def refused(self, folder, word, status=4):
        ended = self.cache("import", folder)
        self.assertEqual(status, ended.status, ended)
        self.assertIn(word, ended.err)
        self.assertEqual([], [entry for entry in (self.root / BUNDLE).glob("*")] if (self.root / BUNDLE).exists() else [],
                         f"{folder} left something")
        if (self.root / "catalogue.db").exists():
            self.assertEqual({}, self.generations(), f"{folder} left a row")

    def test_entries_that_are_not_what_the_manifest_says_are_refused_by_name(self):
        outside = self.lab.write("outside", "secret")

        def with_(name, act):
            folder = self.carried(name)
            act(folder / "sealed")
            return folder
        content = with_("content", lambda s: (s / "jit_b-cache").write_bytes(b"executable twO"))
        self.refused(content, "jit_b-cache")
        self.refused(with_("longer", lambda s: (s / "jit_b-cache").write_bytes(b"longer than that it was")), "jit_b-cache")
        self.refused(with_("gone", lambda s: (s / "jit_a-cache").unlink()), "jit_a-cache")
        self.refused(with_("more", lambda s: (s / "jit_z").write_bytes(b"")), "jit_z")
        self.refused(with_("link", lambda s: ((s / "jit_a-cache").unlink(), (s / "jit_a-cache").symlink_to(outside))), "jit_a-cache")
        self.refused(with_("hard", lambda s: os.link(s / "jit_a-cache", self.lab.files / "second-name")), "jit_a-cache")
        self.refused(with_("pipe", lambda s: ((s / "jit_a-cache").unlink(), os.mkfifo(s / "jit_a-cache"))), "jit_a-cache")
        self.refused(with_("folder", lambda s: ((s / "jit_a-cache").unlink(), (s / "jit_a-cache").mkdir())), "jit_a-cache")
        self.refused(with_("way", lambda s: (shutil.rmtree(s / "xla"), (s / "xla").symlink_to("/"))), "xla")

    def test_a_sealed_folder_that_is_a_link_is_refused(self):
        folder, other = self.carried("a"), self.carried("b")
        shutil.rmtree(folder / "sealed")
        (folder / "sealed").symlink_to(other / "sealed")
        self.refused(folder, "sealed", 3)

    def test_manifests_that_lie_are_refused(self):
        evil = b"evil"
        for name, path in (("up", "../../evil"), ("absolute", "/evil"), ("dot", "./evil"), ("middle", "xla/../evil"), ("empty", "xla//evil")):
            self.refused(self.carried(name, lines={path: line(path, evil)}, entries=4), "MANIFEST")
        self.refused(self.carried("writable", lines={"jit_a-cache": line("jit_a-cache", FILES["jit_a-cache"], "0644")}), "jit_a-cache")
        self.refused(self.carried("own", lines={"MANIFEST": line("MANIFEST", evil)}), "MANIFEST")
        self.refused(self.carried("setuid", lines={"jit_a-cache": line("jit_a-cache", FILES["jit_a-cache"], "4555")}), "MANIFEST")
        self.refused(self.carried("missing", lines={"phantom": line("phantom", evil)}, entries=4,
                                  bytes=4 + sum(map(len, FILES.values()))), "phantom")
        folder = self.carried("cut")
        manifest = folder / "sealed" / "MANIFEST"
        manifest.write_bytes(manifest.read_bytes()[:-3])
        self.refused(folder, "MANIFEST")
        manifest.unlink()
        self.refused(folder, "MANIFEST")

    def test_a_manifest_of_any_size_is_read_up_to_a_bound(self):
        folder = self.carried("huge")
        with open(folder / "sealed" / "MANIFEST", "r+b") as manifest:
            manifest.truncate(1 << 40)
        self.refused(folder, "MANIFEST", 3)
        with open(folder / "generation.json", "r+b") as claim:
            claim.truncate(1 << 40)
        self.refused(folder, "generation.json", 3)

    def test_claims_that_lie_are_refused(self):
        lies = {"sha256": "0" * 64, "entries": 2, "bytes": 1}
        for name, value in lies.items():
            self.refused(self.carried(f"lie-{name}", **{name: value}), "expected" if name == "sha256" else name)
        for i, bundle in enumerate(("../../etc", "/etc/cron.d", "jax/../../x", "jax", "jax/", "jax/..", "nobody/0123456789abcdef",
                                    "jax/0123456789abcdef/x", "jax/0123456789ABCDEF", "jax/0123\0456789abcdef", "")):
            self.refused(self.carried(f"bundle-{i}", bundle=bundle), "generation.json")
        for i, claim in enumerate(({"sha256": "x"}, {"entries": -1}, {"bytes": 1 << 70}, {"rung": 1 << 30}, {"token": 0},
                                   {"covers": ["a"] * 5000}, {"covers": 3}, {"unknown": 1}, {"from_run": "x" * 400},
                                   {"from_run": "../../x"}, {"from_run": "AB" * 16}, {"from_run": "ab"}, {"from_run": ""})):
            self.refused(self.carried(f"claim-{i}", **claim), "generation.json")
        self.refused(self.carried("format", format=2), "format 2", 3)
        for i, text in enumerate(("", "[]", "{", '{"format": 1, "format": 1}', '{"format": 1, "generation": []}', "[" * 100000)):
            folder = self.carried(f"text-{i}")
            (folder / "generation.json").write_text(text)
            self.refused(folder, "generation.json")
        folder = self.carried("claim-link")
        (folder / "generation.json").rename(self.lab.files / "elsewhere.json")
        (folder / "generation.json").symlink_to(self.lab.files / "elsewhere.json")
        self.refused(folder, "generation.json", 3)

    def test_a_run_that_lives_is_not_written_beside(self):
        self.bring(1)
        self.change("INSERT INTO token (token, bundle, run, wall_ms) VALUES (50, ?, ?, 1)", BUNDLE, "cd" * 16)
        self.change("INSERT INTO lease (bundle, token, run, beat) VALUES (?, 50, ?, 1)", BUNDLE, "cd" * 16)
        over = threading.Event()

        def beat():
            while not over.wait(0.2):
                self.change("UPDATE lease SET beat = beat + 1")
        thread = threading.Thread(target=beat)
        thread.start()
        try:
            ended = self.cache("import", self.carried("other", {"x": b"y"}))
        finally:
            over.set()
            thread.join()
        self.assertEqual(3, ended.status, ended)
        self.assertIn("cd" * 16, ended.err)
        self.assertEqual(["gen-1"], self.folders())

    def test_who_takes_the_lease_next_is_watched_anew(self):
        self.bring(1)
        for token, run in ((50, "cd" * 16), (51, "ef" * 16)):
            self.change("INSERT INTO token (token, bundle, run, wall_ms) VALUES (?, ?, ?, 1)", token, BUNDLE, run)
        self.change("INSERT INTO lease (bundle, token, run, beat) VALUES (?, 50, ?, 1)", BUNDLE, "cd" * 16)
        importing = self.lab.start("cache", "import", self.carried("other", {"x": b"y"}), "--root", self.root)
        importing.wait_out("cd" * 16)
        self.change("UPDATE lease SET token = 51, run = ?", "ef" * 16)
        importing.wait_out("ef" * 16)
        self.change("DELETE FROM lease")
        self.passes(importing.end(60))
        self.assertEqual("published", self.generations()[52]["state"])

    def test_the_lease_of_a_run_that_died_is_taken_over_after_watching_it(self):
        self.bring(1)
        self.change("INSERT INTO token (token, bundle, run, wall_ms) VALUES (50, ?, ?, 1)", BUNDLE, "cd" * 16)
        self.change("INSERT INTO lease (bundle, token, run, beat) VALUES (?, 50, ?, 1)", BUNDLE, "cd" * 16)
        ended = self.passes(self.cache("import", self.carried("other", {"x": b"y"})))
        self.assertIn("waiting", ended.err)
        self.assertEqual({1: "published", 50: "abandoned", 51: "published"}, {n: e["state"] for n, e in self.generations().items()})


class Looking(Cache):
    def test_what_is_there_is_listed(self):
        self.bring(2)
        self.use(1, "cd" * 16, machine="v6e-3")
        self.change("UPDATE token SET state = 4, why = 'changed: \x1b[31mjit_a' WHERE token = 1")
        said = self.passes(self.cache("ls")).out
        for word in (BUNDLE, "frontend jax", "fingerprint 0123456789abcdef", "tiny, dense", "dropped", "cdcdcdcd on v6e-3", "\\x1b[31mjit_a"):
            self.assertIn(word, said)
        self.assertNotIn("\x1b", said)
        self.assertLessEqual(max(map(len, said.splitlines()[1:])), 125, "what matters is beyond any terminal's edge")
        listed = self.generations()
        self.assertEqual([{"run": "cd" * 16, "home": str(self.lab.home), "machine": "v6e-3"}], listed[1]["users"])
        self.assertEqual(4, listed[2]["entries"])
        self.assertEqual(sum(map(len, FILES.values())) + 1, listed[2]["bytes"])

    def test_a_root_that_is_none_is_told_and_not_made(self):
        for verb in ("ls", "verify", "gc"):
            ended = self.cache(verb)
            self.assertEqual(3, ended.status, ended)
            self.assertFalse(self.root.exists())
            self.root.mkdir()
            ended = self.cache(verb)
            self.assertEqual(3, ended.status, ended)
            self.assertEqual([], list(self.root.iterdir()))
            self.root.rmdir()

    def test_all_that_is_not_as_sealed_is_named(self):
        self.bring(3)
        self.assertIn("unchanged since they were sealed", self.passes(self.cache("verify")).out)
        one, two = (self.root / BUNDLE / f"gen-{n}" for n in (1, 2))
        entry = one / "jit_a-cache"
        entry.chmod(0o644)
        entry.write_bytes(b"executable onE")
        entry.chmod(0o444)
        two.chmod(0o755)
        (two / "jit_b-cache").unlink()
        (two / "stray").write_bytes(b"")
        two.chmod(0o555)
        (self.root / BUNDLE / "gen-77").mkdir()
        ended = self.cache("verify", "--json")
        self.assertEqual(4, ended.status, ended)
        found = {(f["generation"], f["finding"], f["path"]) for f in schema.document(ended.out)["findings"]}
        self.assertEqual({(1, "changed", "jit_a-cache"), (2, "missing", "jit_b-cache"), (2, "extra", "stray"),
                          (77, "foreign-token", "gen-77")}, found)
        self.assertEqual(4, self.cache("verify", "1").status)
        self.passes(self.cache("verify", "3"))
        self.passes(self.cache("verify", "1", "--quick"))
        self.assertEqual(2, self.cache("verify", "99").status)

    def test_usage_is_told(self):
        for args in ((), ("lss",), ("ls", "--jsno"), ("gc", "--keep", "0"), ("gc", "--keep", "x"), ("gc", "--forget", "zz"),
                     ("ls", "--root", "a", "--run", "b"), ("ls", "nothing.yaml"), ("explain", "h0"), ("import",), ("export", "1"),
                     ("verify", "0", "--root", "x"), ("ls", "12")):
            ended = self.lab.sliceup("cache", *args)
            self.assertIn(ended.status, (2, 3) if args[:2] == ("verify", "0") else (2,), (args, str(ended)))
            self.assertTrue(ended.err, args)
        self.assertIn("did you mean ls", self.lab.sliceup("cache", "lss").err)
        self.assertIn("export WHICH FOLDER", self.passes(self.lab.sliceup("cache", "--help")).out)

    def test_the_root_is_that_of_a_slice_or_of_a_run(self):
        self.bring(1)
        slice_ = self.lab.slice(cache={"mode": "single-writer", "root": str(self.root), "writer": "h0"})
        for where in ((slice_,), ("--slice", slice_)):
            self.assertIn(BUNDLE, self.passes(self.lab.sliceup("cache", "ls", *where)).out)
        self.finished_run()
        ended = self.lab.sliceup("cache", "ls")
        self.assertEqual(3, ended.status, ended)
        self.assertIn("no run of this home used a compile cache", ended.err)

    def test_hosts_that_told_no_keys_are_not_called_equal(self):
        self.finished_run()
        ended = self.lab.sliceup("cache", "explain", "h0", "h1")
        self.assertEqual(3, ended.status, ended)
        schema.document(self.lab.sliceup("cache", "explain", "h0", "h1", "--json").out)
        self.assertIn("no rung reported cache keys", ended.out)
        ended = self.lab.sliceup("cache", "explain", "h0", "h9")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("no host 'h9'", ended.err)


    def own(self, host, files):
        folder = self.root / BUNDLE / f"host-{host}"
        folder.mkdir(parents=True, mode=0o700)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (self.root / "storage").exists() or (self.root / "storage").write_text("0123456789abcdef\n")

    def test_caches_of_single_hosts_are_listed(self):
        self.own("v6e-1", {"a": b"x" * 1000, "b": b"y"})
        self.own("v6e-0", {})
        listed = self.asked("ls")
        self.assertEqual([(BUNDLE, [], [{"host": "v6e-0", "bytes": 0, "entries": 0, "looked_into": True},
                                        {"host": "v6e-1", "bytes": 1001, "entries": 2, "looked_into": True}])],
                         [(b["bundle"], b["generations"], b["hosts"]) for b in listed["bundles"]])
        said = self.passes(self.cache("ls")).out
        self.assertIn("generations published: 0, caches of single hosts: 2, 1001 B in all", said)
        self.assertRegex(said, r"per-host +1001 B +2 +host-v6e-1")
        self.assertFalse((self.root / "catalogue.db").exists(), "looking made a catalogue")
        self.bring(1)
        said = self.passes(self.cache("ls")).out
        self.assertIn("generations published: 1, caches of single hosts: 2", said)
        self.assertEqual(1, said.count(BUNDLE))

    def test_a_catalogue_that_is_lost_or_damaged_is_not_an_empty_one(self):
        self.bring(1)
        self.own("v6e-0", {})
        catalogue = self.root / "catalogue.db"
        whole = catalogue.read_bytes()
        for content, status, word in ((bytes(range(256)) * 16, 5, "restore a copy of it"), (b"", 3, "has no tables yet")):
            catalogue.write_bytes(content)
            for verb in ("ls", "verify"):
                ended = self.cache(verb)
                self.assertEqual(status, ended.status, ended)
                self.assertIn(word, ended.err)
        catalogue.unlink()
        ended = self.cache("ls")
        self.assertEqual(3, ended.status, ended)
        self.assertIn("there is no catalogue.db", ended.err)
        catalogue.write_bytes(whole)
        catalogue.chmod(0o600)
        self.passes(self.cache("verify"))

    def interrupted(self):
        """The catalogue as somebody leaves it who is killed in the middle of a change."""
        child = os.fork()
        if child == 0:
            try:
                catalogue = sqlite3.connect(self.root / "catalogue.db", isolation_level=None, timeout=30)
                catalogue.execute("PRAGMA cache_size = 1")
                catalogue.execute("BEGIN IMMEDIATE")
                catalogue.execute("UPDATE token SET why = hex (randomblob (20000))")
            finally:
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        self.assertTrue((self.root / "catalogue.db-journal").exists())

    def test_who_only_looks_undoes_what_a_killed_one_had_half_changed(self):
        self.bring(1)
        for verb in (("ls",), ("verify",), ("gc", "--dry-run"), ("export", "1", self.lab.files / "out")):
            self.interrupted()
            self.passes(self.cache(*verb))
        self.assertEqual(None, self.generations()[1]["why"], "half a change was kept")

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_half_change_that_cannot_be_undone_is_told(self):
        self.bring(1)
        self.interrupted()
        shown = self.lab.root / "shown"
        shown.mkdir()
        subprocess.run(["mount", "--bind", self.root, shown], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", shown], check=True)
            ended = self.cache("ls", root=shown)
        finally:
            subprocess.run(["umount", shown], check=True)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("was interrupted and must be rolled back", ended.err)
        self.assertIn("where the cache is writable", ended.err)

    def test_a_root_that_is_no_folder_is_told(self):
        file = self.lab.write("file", "")
        for verb in (("ls",), ("verify",), ("gc",), ("export", "1", self.lab.files / "out")):
            ended = self.cache(*verb, root=file)
            self.assertEqual(3, ended.status, ended)
            self.assertIn("expected a cache root", ended.err)
        ended = self.cache("import", self.lab.files)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("expected a folder that sliceup cache export made", ended.err)

    @unittest.skipUnless(os.geteuid() == 0, "becoming another user needs root")
    def test_what_a_user_may_not_see_is_told_with_who_may(self):
        self.bring(1)
        for path in (self.lab.root, self.lab.files):
            path.chmod(0o755)
        sliceup = self.lab.root / "sliceup"     # the build may lie where others may not look
        shutil.copy(lab.SLICEUP, sliceup)
        sliceup.chmod(0o755)
        theirs = self.lab.root / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)

        def asked_by_nobody(*args):
            env = self.lab.env(SLICEUP_HOME=str(theirs))
            ended = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sliceup, "cache", *args,
                                    "--root", self.root], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual(3, ended.returncode, ended)
            return ended.stderr
        for verb in (("ls",), ("verify",), ("gc",)):
            self.assertIn("user 65534 may not use it; only its owner may", asked_by_nobody(*verb))
        self.root.chmod(0o700)
        for verb in (("ls",), ("verify",), ("gc",)):
            self.assertIn("user 65534 may not read cache root", asked_by_nobody(*verb))

    def test_only_what_a_verb_takes_is_proposed(self):
        self.assertNotIn("did you mean --dry-run", self.lab.sliceup("cache", "export", "1", "x", "--dry-run").err)
        self.assertIn("did you mean --dry-run", self.lab.sliceup("cache", "gc", "--dry-rum").err)


class Collecting(Cache):
    def test_the_newest_stay_and_what_is_used_stays(self):
        self.bring(5)
        run = self.finished_run()
        self.use(1, run)                             # over: its journal says so
        self.use(2, "cd" * 16)                       # nothing says that it is over
        self.use(3, "ef" * 16, machine="elsewhere.invalid")
        dry = self.asked("gc", "--dry-run")
        self.assertEqual(([1], [2, 3]), tuple([e["generation"] for e in dry[key]] for key in ("removed", "kept")))
        self.assertEqual(5, len(self.folders()))
        said = self.passes(self.cache("gc")).out
        self.assertIn("--forget cdcdcdcd", said)
        self.assertIn("elsewhere.invalid", said)
        self.assertEqual([2, 3, 4, 5], sorted(self.generations()))
        self.assertEqual(["gen-2", "gen-3", "gen-4", "gen-5"], self.folders())
        self.passes(self.cache("gc", "--forget", "cdcdcdcd", "--forget", "ef" * 16, "--keep", "1"))
        self.assertEqual([5], sorted(self.generations()))
        self.assertEqual(["gen-5"], self.folders())
        self.passes(self.cache("verify"))

    def test_the_quarantined_and_the_abandoned_go_only_when_asked_for(self):
        self.bring(3)
        self.change("UPDATE token SET state = 4 WHERE token = 3")
        self.change("INSERT INTO token (token, bundle, run, wall_ms, state) VALUES (9, ?, ?, 1, 3)", BUNDLE, "cd" * 16)
        (self.root / BUNDLE / "gen-9").mkdir()
        (self.root / BUNDLE / "gen-9" / "half").write_bytes(b"x" * 1000)
        self.assertEqual([], self.asked("gc")["removed"])
        freed = self.asked("gc", "--abandoned")
        self.assertEqual([(9, 1000)], [(e["generation"], e["bytes"]) for e in freed["removed"]])
        self.assertEqual([3], [e["generation"] for e in self.asked("gc", "--dropped")["removed"]])
        self.assertEqual(["gen-1", "gen-2"], self.folders())

    def test_a_run_that_still_runs_keeps_its_generation(self):
        self.bring(3)
        rungs = [self.lab.rung("hang", "hang.py")]
        running = self.lab.start("run", self.lab.slice(ladder=str(self.lab.ladder("hang.yaml", rungs)), cache={"mode": "off"}))
        lab.wait_for(lambda: self.lab.count("pass-began") >= 1, "the rung to run", 60)
        self.use(1, self.lab.run_folder().name)
        said = self.passes(self.cache("gc")).out
        self.assertIn("still runs", said)
        running.kill_and_reap()
        said = self.passes(self.cache("gc")).out
        self.assertIn("was interrupted and may be resumed", said)
        self.assertEqual([1, 2, 3], sorted(self.generations()))

    def test_what_an_interrupted_collection_left_is_finished(self):
        self.bring(3)
        self.change("UPDATE token SET state = 5 WHERE token = 1")
        (self.root / BUNDLE / "gen-1").rename(self.root / BUNDLE / ".removing-gen-1")
        (self.root / BUNDLE / ".removing-gen-44").mkdir()
        self.passes(self.cache("gc"))
        self.assertEqual(["gen-2", "gen-3"], self.folders())
        self.assertEqual([2, 3], sorted(self.generations()))


if __name__ == "__main__":
    unittest.main()
