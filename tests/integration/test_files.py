"""Hosts that have none of our files: what a rung needs comes over the link, by content, and is used from there.

The installation and the canaries lie in one folder of the lab. Workers are started through a wrapper that mounts an
empty file system over that folder, in a mount namespace of its own, so that only the coordinator sees it.
"""
import functools
import hashlib
import os
import pathlib
import shutil
import unittest
from unittest import mock

import lab

WRAPPER = """#!/bin/sh
# Same process throughout: the coordinator watches its pid.
exec unshare -m sh -c 'mount -t tmpfs none "$0" && exec "$@"' '{hidden}' '{worker}' "$@"
"""
MESH = {"data": 2, "model": 2}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@unittest.skipUnless(os.geteuid() == 0, "hiding a folder from a worker takes root")
class Files(lab.LabTest):
    def setUp(self):
        super().setUp()
        install = self.lab.root / "install"
        self.share = install / "share" / "sliceup"
        self.canaries = self.share / "worker" / "canaries"
        (install / "bin").mkdir(parents=True)
        shutil.copy(lab.SLICEUP, install / "bin" / "sliceup")
        self.lab.env = functools.partial(self.lab.env, SLICEUP_SHARE=str(self.share))
        wrapper = install / "bin" / "sliceup-worker"
        wrapper.write_text(WRAPPER.format(hidden=install / "share", worker=lab.BUILD / "bin" / "sliceup-worker"))
        wrapper.chmod(0o755)
        shutil.copytree(lab.TOP / "configs", self.share / "configs")
        shutil.copy(lab.TOP / "tests" / "pins" / "tiny.txt", self.share / "configs" / "pins")
        shutil.copytree(lab.TOP / "worker" / "canaries", self.canaries, ignore=shutil.ignore_patterns("__pycache__"))
        patch = mock.patch.object(lab, "SLICEUP", install / "bin" / "sliceup")
        patch.start()
        self.addCleanup(patch.stop)
        self.marker = self.lab.files / "marker"

    def waits(self, name="waits"):
        """A rung that passes when the marker is there."""
        script = f"until [ -e '{self.marker}' ]; do sleep 0.05; done"
        return {"id": name, "command": ["sh", "-c", script], "timeout": "2m"}

    def own(self):
        """A user's own canary beside a module of its own, hidden from workers like the rest; its path."""
        own = self.share / "own"
        own.mkdir()
        (own / "greeting.py").write_text('TEXT = "from a module beside it"\n')
        (own / "unused.py").write_text("raise SystemExit('nobody imports this')\n")
        (own / "say it.py").write_text("import sliceup_canary\nfrom greeting import TEXT\n\n\ndef body(canary):\n"
                                       "    canary.counted['executions'] += 1\n    canary.counters()\n"
                                       "    canary.note(TEXT)\n\n\nsliceup_canary.run(body)\n")
        return own / "say it.py"

    @staticmethod
    def rung_of(own):
        return {"id": "own", "canary": str(own), "timeout": "1m", "backend": "any"}

    def ladder_of(self, *rungs):
        return str(self.lab.ladder("ladder.yaml", rungs))

    def folders(self):
        return sorted(self.lab.run_folder().glob("hosts/*"))

    def blob(self, host, path):
        return self.lab.run_folder() / "hosts" / host / "files" / sha256(path)

    def has_kit(self, folder, *paths):
        """The worker's folder has exactly these files, under their names below the canaries."""
        wanted = {str(path.relative_to(self.canaries)): sha256(path) for path in paths}
        kits = [{str(path.relative_to(kit)): sha256(path) for path in kit.rglob("*.py")}
                for kit in folder.glob("kits/*")]
        self.assertIn(wanted, kits)
        for name, digest in wanted.items():
            self.assertEqual(digest, sha256(folder / "files" / digest), name)

    def test_the_plain_ladder_is_climbed_without_a_file_of_ours(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=3)))
        self.assertEqual("passed", self.lab.receipt()["outcome"])
        self.assertEqual(3, len(self.folders()))
        for folder in self.folders():
            for canary in ("hello", "metrics"):
                self.has_kit(folder, self.canaries / "plain" / f"{canary}.py",
                             self.canaries / "plain" / "sliceup_plain.py", self.canaries / "sliceup_canary.py")
            self.assertEqual(4, len(list(folder.glob("files/*"))))
        self.nothing_is_left()

    def test_where_the_files_are_nothing_travels(self):
        with mock.patch.object(lab, "SLICEUP", lab.BUILD / "bin" / "sliceup"): # its worker sees what it sees
            self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2)))
        self.assertEqual([], list(self.lab.run_folder().glob("hosts/*/files/*")))
        self.assertEqual([], list(self.lab.run_folder().glob("hosts/*/kits/*")))

    def test_pins_travel_and_a_canary_runs_in_what_they_restored(self):
        ladder = self.ladder_of({"id": "environment", "builtin": "restore", "timeout": "5m"},
                                self.lab.rung("hello", "plain/hello.py"))
        slice_file = self.lab.slice(hosts=1, ladder=ladder, pins="tiny", env_dir=str(self.lab.root / "envs" / "tiny"))
        self.passes(self.lab.sliceup("run", slice_file))
        pins = self.share / "configs" / "pins" / "tiny.txt"
        self.assertEqual(sha256(pins), sha256(self.blob("h0", pins)))

    def test_the_jax_ladder_is_climbed_without_a_file_of_ours(self):
        slice_file = self.lab.slice(hosts=2, ladder="jax", profile="cpu-jax", pins="jax-cpu", mesh=MESH,
                                    env_dir=str(lab.SHARED_ENVS / "jax-cpu"), limits={"stop": "1s", "cascade": "3s"})
        self.passes(self.lab.sliceup("run", slice_file, bound_s=800))
        for folder in self.folders():
            helpers = (self.canaries / "jax" / name for name in (
                "sliceup_jax.py", "sliceup_jax_counting.py", "sliceup_jax_keys.py", "sliceup_jax_memory.py", "sliceup_gpu.py", "aot_topology.py"))
            self.has_kit(folder, self.canaries / "jax" / "tiny.py", *helpers, self.canaries / "sliceup_canary.py")
        restored = self.attempt(self.lab.receipt(), "h1", "collective")
        self.assertEqual(("restored", "restored"), (restored["pass"], restored["cache"]))

    def test_a_canary_of_the_users_own_takes_its_modules_along_and_no_others(self):
        ladder = self.ladder_of(self.rung_of(self.own()))
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=ladder)))
        for folder in self.folders():
            kit, = folder.glob("kits/*")
            self.assertEqual(["greeting.py", "sliceup-program.py", "sliceup_canary.py"],
                             sorted(path.name for path in kit.glob("*.py")))
        receipt = self.lab.receipt()
        self.assertIn("from a module beside it", str(receipt["hosts"][1]["notes"]))

    def test_a_command_takes_its_files_along_in_their_folders(self):
        ladder = self.share / "ladders" / "own.yaml"
        ladder.parent.mkdir()
        (self.share / "step" / "lib").mkdir(parents=True)
        (self.share / "step" / "run.sh").write_text('#!/bin/sh\nexec python3 "$SLICEUP_FILES_DIR/train.py" "$@"\n')
        (self.share / "step" / "run.sh").chmod(0o755)
        (self.share / "step" / "train.py").write_text(
            "import os, sys\nimport part, sliceup_program\nfrom lib import deep\nprogram = sliceup_program.start()\nprogram.step()\n"
            "print(part.NAME, deep.NAME, open(sys.argv[1]).read(), round(program.reduced('loss', 2.0), 3))\n")
        (self.share / "step" / "part.py").write_text("NAME = 'part'\n")
        (self.share / "step" / "lib" / "__init__.py").write_text("")
        (self.share / "step" / "lib" / "deep.py").write_text("NAME = 'deep'\n")
        (self.share / "step" / "data.txt").write_text("data")
        ladder.write_text("""ladder: own
rungs:
  - {id: own, command: [../step/run.sh, ../step/data.txt], metrics: [loss], scope: slice,
     files: [../step/train.py, ../step/lib/__init__.py, ../step/lib/deep.py]}
""")
        profile = self.lab.write("one.yaml", "profile: one\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n")
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=str(ladder), profile=str(profile))))
        self.assertIn("part deep data 2.0", self.lab.sliceup("logs", "--raw").out)
        kit, = self.folders()[0].glob("kits/*")
        self.assertEqual(["sliceup/sliceup_canary.py", "sliceup/sliceup_program.py", "sliceup/sliceup_program_children.py", "sliceup/sliceup_torch_xla_client.py", *sorted((
            "data.txt", "lib/__init__.py", "lib/deep.py", "part.py", "run.sh", "train.py"))],
                         sorted((str(path.relative_to(kit)) for path in kit.rglob("*") if path.is_file() and path.suffix != ".pyc"), key=lambda name: (not name.startswith("sliceup/"), name)))

    def spread_run(self, **more):
        """A run on twelve hosts, with a folder of 6 MiB that none of them has, and how many hosts asked other hosts."""
        ladder, data = self.share / "large.yaml", self.share / "step" / "data"
        data.parent.mkdir()
        data.write_bytes(os.urandom(6 << 20))
        ladder.write_text("ladder: large\nrungs:\n  - {id: look, command: [sha256sum, data], folder: step}\n")
        ended = self.lab.sliceup("run", self.lab.slice(hosts=more.pop("hosts", 12), ladder=str(ladder), **more))
        self.passes(ended)
        self.assertEqual(1, self.lab.sliceup("logs", "--raw").out.count(sha256(data)), "equal output of all is shown once")
        self.assertEqual(12, len(self.folders()))
        self.nothing_is_left()
        return ended, sum("asks the host at" in (folder / "worker.log").read_text() for folder in self.folders())

    def test_hosts_give_large_files_to_one_another(self):
        ended, asked = self.spread_run()
        self.assertNotIn("did not give another host", ended.out + ended.err)
        self.assertIn(asked, range(4, 13)) # four at a time ask the coordinator, the rest whoever has it

    def test_the_coordinator_sends_all_where_hosts_are_not_to_be_asked(self):
        self.assertEqual(0, self.spread_run(coordinator={"spread_files": False})[1])

    def test_hosts_that_do_not_reach_each_other_get_all_from_the_coordinator(self):
        hosts = [{"name": f"h{i}", "address": "192.0.2.1"} for i in range(12)]
        ended, asked = self.spread_run(hosts=hosts)
        self.assertGreater(asked, 0)
        self.assertIn("did not give another host a file, so the coordinator sends it", ended.out + ended.err)

    def test_a_file_that_changed_since_the_plan_is_not_run(self):
        own = self.own()
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=self.ladder_of(self.waits(), self.rung_of(own))))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first rung")
        (own.parent / "greeting.py").write_text('TEXT = "changed"\n')
        self.marker.touch()
        ended = run.end()
        self.assertEqual(3, ended.status, ended)
        for host in ("h0", "h1"):
            attempt = self.attempt(self.lab.receipt(), host, "own")
            self.assertEqual("blocked", attempt["outcome"])
            self.assertIn(f"cannot fetch {own.parent}/greeting.py from the coordinator: the file was changed after the run began",
                          attempt["cause"]["text"])
            self.assertEqual("launch", attempt["cause"]["owner"])
        self.nothing_is_left()

    def test_a_file_that_vanished_since_the_plan_is_the_launchs(self):
        own = self.own()
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=self.ladder_of(self.waits(), self.rung_of(own))))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first rung")
        (own.parent / "greeting.py").unlink()
        self.marker.touch()
        self.assertEqual(3, run.end().status)
        cause = self.attempt(self.lab.receipt(), "h0", "own")["cause"]
        self.assertEqual("launch", cause["owner"])
        self.assertRegex(cause["text"], f"{own.parent}/greeting.py.*No such file")

    def test_a_damaged_copy_on_a_host_is_fetched_again(self):
        hello = self.canaries / "plain" / "hello.py"
        ladder = self.ladder_of(self.lab.rung("first", "plain/hello.py"), self.waits(),
                                self.lab.rung("again", "plain/hello.py"))
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=ladder))
        lab.wait_for(lambda: self.lab.count("pass-began") == 2, "the second rung")
        kept = self.blob("h0", hello)
        kept.chmod(0o600)
        os.truncate(kept, 20)
        shutil.rmtree(kept.parents[1] / "kits")
        self.marker.touch()
        self.passes(run.end())
        self.assertEqual(sha256(hello), sha256(kept))
        self.has_kit(kept.parents[1], hello, hello.parent / "sliceup_plain.py", self.canaries / "sliceup_canary.py")

    def test_a_coordinator_that_came_back_hands_out_files_as_well(self):
        ladder = self.ladder_of(self.waits(), self.lab.rung("hello", "plain/hello.py"))
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=ladder))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first rung")
        run.kill_and_reap()
        resumed = self.lab.start("resume")
        lab.wait_for(lambda: self.lab.count("epoch-began") == 2, "the second coordinator")
        self.marker.touch()
        self.passes(resumed.end())
        for folder in self.folders():
            self.assertEqual(3, len(list(folder.glob("files/*"))))
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
