"""One writer, whatever happens to it: other runs, pauses past its lease, and death at every step of warm, seal, publish."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import unittest

import lab

LIMITS = {"stop": "200ms", "cascade": "1s", "lease": "2s"}
PROFILE = "profile: keeps\nfrontend: jax\nbackend: cpu\ndevices_per_host: 1\n"


class Writing(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / "marks"
        self.go = self.lab.files / "go"
        self.lab.write("keeps.yaml", PROFILE)
        # Programs may write where the marks are; the cache is elsewhere.
        self.cache = {"mode": "single-writer", "writable": [str(self.lab.files)]}

    def slice(self, hosts=3, rungs=None, limits=LIMITS, cache=None, name="slice.yaml", **args):
        rungs = rungs or [self.rung("tiny", **args)]
        ladder = self.lab.ladder(f"ladder-{name}", rungs)
        return self.lab.slice(hosts=hosts, ladder=str(ladder), profile="./keeps.yaml", limits=limits, name=name,
                              cache={**self.cache, **(cache or {})})

    def rung(self, name, warm="solo", **args):
        return self.lab.rung(name, "keeps.py", warm=warm, timeout="90s", args={"marks": str(self.marks), **args})

    def marked(self, word=""):
        lines = self.marks.read_text().splitlines() if self.marks.exists() else []
        return [line for line in lines if word in line]

    def generations(self, home=None):
        root = (home or self.lab.home) / "cache"
        return {int(path.name[4:]): path for path in root.glob("jax/*/gen-*")}

    def verified(self):
        """What is published is what was sealed, and nothing else lies there."""
        ended = self.lab.sliceup("cache", "verify", "--root", self.lab.home / "cache")
        self.assertEqual(0, ended.status, ended)

    def kinds(self, receipt):
        return [item["kind"] for item in receipt["cache"]["violations"]]


class Runs(Writing):
    def test_cold_once_then_restored_and_not_even_cold_in_the_next_run(self):
        self.passes(self.lab.sliceup("run", self.slice()))
        self.assertEqual({"h0 tiny cold 1"}, {line.rpartition(" ")[0] for line in self.marked()})
        receipt = self.lab.receipt()
        for host in ("h0", "h1", "h2"):
            self.assertEqual("restored", self.attempt(receipt, host, "tiny")["cache"])
        self.assertNotIn("cooperative", receipt["cache"]["enforcement"])
        lines = len(self.marked())
        self.passes(self.lab.sliceup("run", self.slice()))
        self.assertEqual(lines, len(self.marked()), "the second run compiled something")
        self.verified()

    def test_of_two_runs_that_begin_at_once_one_compiles_and_the_other_waits_for_it(self):
        first = self.lab.start("run", self.slice(hosts=2, hold=str(self.go)))
        lab.wait_for(lambda: self.marked(".half"), "the first run's writer", 60)
        second = self.lab.start("run", self.slice(hosts=2, hold=str(self.go)), "--beside")
        second.wait_out(r"waiting for run [0-9a-f]+, which is writing this cache", 60)
        self.go.touch()
        self.passes(first.end(120))
        self.passes(second.end(120))
        compiled = [line for line in self.marked() if not line.endswith(".half")]
        self.assertEqual(3, len(compiled), compiled)
        self.assertEqual([1], sorted(self.generations()))
        self.verified()

    def test_a_run_that_died_while_it_wrote_is_taken_over_after_its_term_and_the_delay(self):
        first = self.lab.start("run", self.slice(hosts=2, hold=str(self.go)))
        lab.wait_for(lambda: self.marked(".half"), "the first run's writer", 60)
        first.kill_and_reap()
        self.lab.kill_workers()
        self.go.touch()
        ended = self.passes(self.lab.sliceup("run", self.slice(hosts=2, hold=str(self.go))))
        self.assertIn("waiting for run", ended.out + ended.err)
        self.assertEqual([1, 2], sorted(self.generations()))
        self.assertFalse((self.generations()[1] / "MANIFEST").exists())
        self.verified()

    def test_per_host_caches_are_apart_and_are_restored(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=2, cache={"mode": "per-host"})))
        folders = sorted(path.name for path in (self.lab.home / "cache").glob("jax/*/host-*"))
        self.assertEqual(["host-h0", "host-h1"], folders)
        receipt = self.lab.receipt()
        self.assertEqual([("tiny", "cold", "passed"), ("tiny", "restored", "passed")],
                         [item for item in self.rungs(receipt, "h1") if item[0] == "tiny"])
        holds = "every host writes and reads a folder of its own; nothing is sealed or shared"
        self.assertEqual(("per-host", holds), (receipt["cache"]["mode"], receipt["cache"]["holds"]))
        for form in ((), ("--markdown",)):
            told = self.lab.sliceup("receipt", *form).out
            self.assertIn(f"cache    per-host: {holds}\n", told)
            if receipt["cache"]["enforcement"]:
                self.assertIn("programs are kept from writing the cache outside their host's folder by ", told)
            self.assertNotIn("from writing the cache by", told)

    def test_read_only_uses_what_is_sealed_and_refuses_what_is_not(self):
        read_only = {"mode": "read-only"}
        ended = self.lab.sliceup("run", self.slice(cache=read_only))
        self.assertEqual(3, ended.status, ended)
        self.assertIn("read-only", ended.out)
        self.assertEqual([], self.marked())
        self.passes(self.lab.sliceup("run", self.slice()))
        lines = len(self.marked())
        self.passes(self.lab.sliceup("run", self.slice(cache=read_only)))
        self.assertEqual(lines, len(self.marked()))


    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_a_full_storage_keeps_nobody_from_reading(self):
        root = self.lab.root / "small"
        root.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m,mode=755", "none", root], check=True)
        try:
            self.passes(self.lab.sliceup("run", self.slice(cache={"root": str(root)})))
            with open(root / "fill", "wb") as fill:
                fill.write(bytes(70 << 20))
            ended = self.lab.sliceup("run", self.slice(cache={"root": str(root)}))
            self.assertEqual(3, ended.status, ended)
            self.assertIn("is full: ", ended.out)
            self.passes(self.lab.sliceup("run", self.slice(cache={"root": str(root), "mode": "read-only"})))
        finally:
            subprocess.run(["umount", "--lazy", root], check=True)


class Spoilers(Writing):
    """The program of a later rung, as the writer, touches what an earlier one had compiled."""

    def climb(self, spoil):
        rungs = [self.rung("early", salt="a"), self.rung("later", salt="b", **({"spoil": spoil} if spoil else {}))]
        return self.lab.sliceup("run", self.slice(hosts=2, rungs=rungs))

    def test_what_others_sealed_is_never_published_changed(self):
        for spoil, kind in (("overwrite", "changed"), ("remove", "missing")):
            with self.subTest(spoil):
                self.lab.home = self.lab.root / spoil
                self.marks.unlink(missing_ok=True)
                ended = self.climb(spoil)
                self.assertEqual(4, ended.status, ended)
                self.told(self.lab.receipt(), kind)
                self.assertEqual(1, self.lab.receipt()["cache"]["token"])
                self.verified()
                self.climbs_again_without_compiling_early()

    def told(self, receipt, kind):
        violation, = receipt["cache"]["violations"]
        self.assertEqual((kind, 2, "h0", "later"), tuple(violation[name] for name in ("kind", "token", "host", "rung")))
        self.assertTrue(violation["path"].startswith("prog0-"), violation)
        self.assertEqual("restored", self.attempt(receipt, "h1", "early")["cache"])
        attempt = self.attempt(receipt, "h0", "later")
        self.assertEqual(("failed", "cache"), (attempt["outcome"], attempt["cause"]["owner"]), attempt)
        self.assertIn("generation 2 is not published", attempt["cause"]["text"])
        self.assertIn("in this writer's copy of generation 1", violation["detail"])

    def climbs_again_without_compiling_early(self):
        early = len(self.marked("early"))
        self.passes(self.climb(None))
        self.assertEqual(early, len(self.marked("early")), "what generation 1 holds was compiled again")
        self.assertEqual([], self.kinds(self.lab.receipt()))
        self.verified()


class Pauses(Writing):
    def programs(self, host):
        """pids of what runs for a host but its worker."""
        folder = str(self.lab.run_folder() / "hosts" / host)
        worker = self.lab.worker_pids().get(host)
        pids = []
        for pid in self.lab.processes_under():
            try:
                if os.readlink(f"/proc/{pid}/cwd").startswith(folder + "/scratch") and pid != worker:
                    pids.append(pid)
            except OSError:
                continue
        return pids

    def test_a_writer_that_wakes_up_late_changes_nothing_that_anybody_reads(self):
        cache = {"writer": "h[0-1]"}
        run = self.lab.start("run", self.slice(cache=cache, hold=str(self.go)))
        lab.wait_for(lambda: self.marked("h0 tiny cold 1 prog2"), "h0 to write", 60)
        worker, programs = self.lab.worker_pids()["h0"], self.programs("h0")
        self.assertTrue(programs)
        for pid in (worker, *programs):
            os.kill(pid, signal.SIGSTOP)
        self.addCleanup(self.awaken, [worker, *programs])
        self.go.touch()
        lab.wait_for(lambda: self.lab.count("generation-published"), "another writer's generation", 60)
        self.assertEqual({"h1 tiny cold 2"}, {line.rpartition(" ")[0] for line in self.marked(" cold 2 ")})
        second = self.generations()[2]
        sealed = {path.name: path.read_bytes() for path in second.iterdir()}
        half = next(path for path in self.generations()[1].glob("prog2-*"))
        before = half.stat().st_size
        for pid in programs:            # its worker still sleeps: nobody keeps it from writing
            os.kill(pid, signal.SIGCONT)
        lab.wait_for(lambda: half.stat().st_size > before, "the late write", 30)
        os.kill(worker, signal.SIGCONT)
        ended = run.end(120)
        self.assertEqual(4, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        told = self.lab.sliceup("report", "-o", self.lab.root / "report").out
        self.assertIn(" (passed, but its cache was violated): ", told)
        self.assertRegex((self.lab.root / "report/report.html").read_text(), r'"outcome":"passed","exit_status":4,.*"violations":1,')
        self.assertEqual(["late-write"], self.kinds(receipt))
        self.assertEqual(2, receipt["cache"]["token"])
        self.assertEqual(sealed, {path.name: path.read_bytes() for path in second.iterdir()})
        self.assertTrue([item for item in receipt["recoveries"] if "lease" in item["what"]], receipt["recoveries"])
        self.nothing_is_left()

    @staticmethod
    def awaken(pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except OSError:
                continue


class Deaths(Writing):
    """Sealing takes a while with this many bytes, so that its moment can be met."""
    SIZE = {"entries": 3, "bytes": 8_000_000}

    def moments(self):
        return {
            "the grant": lambda: self.lab.count("writer-granted"),
            "the first entry": lambda: self.marked(".half"),
            "the last entry": lambda: len(self.marked()) >= 6,
            "the seal begins": lambda: any(path.stat().st_mode & 0o222 == 0 for one in self.generations().values()
                                           for path in one.glob("prog*")),
            "the manifest": lambda: any((one / "MANIFEST").exists() for one in self.generations().values()),
            "the result": lambda: self.lab.count("pass-ended") >= 2,
            "the publication": lambda: self.lab.count("generation-published"),
        }

    def come(self, name, moment, run):
        """False when the run was over before anybody could look."""
        lab.wait_for(lambda: moment() or run.process.poll() is not None, name, 60)
        return run.process.poll() is None

    def test_the_coordinator_dies_at_every_step(self):
        for name in self.moments():
            with self.subTest(name):
                self.fresh(name)
                run = self.lab.start("run", self.slice(hosts=2, **self.SIZE))
                if self.come(name, self.moments()[name], run):
                    run.kill_and_reap()
                    self.passes(self.lab.sliceup("resume", bound_s=120))
                self.restored_and_verified()

    def test_the_writer_dies_at_every_step(self):
        for name in self.moments():
            with self.subTest(name):
                self.fresh(name)
                run = self.lab.start("run", self.slice(hosts=2, **self.SIZE))
                if self.come(name, self.moments()[name], run):
                    self.kill_worker("h0")
                ended = run.end(120)
                self.assertIn(ended.status, (0, 1), ended)
                self.passes(self.lab.sliceup("run", self.slice(hosts=2, **self.SIZE), bound_s=120))
                self.restored_and_verified()

    def test_both_die_at_every_step(self):
        for name in self.moments():
            with self.subTest(name):
                self.fresh(name)
                run = self.lab.start("run", self.slice(hosts=2, **self.SIZE))
                if self.come(name, self.moments()[name], run):
                    run.kill_and_reap()
                    self.lab.kill_workers()
                self.passes(self.lab.sliceup("run", self.slice(hosts=2, **self.SIZE), bound_s=120))
                self.restored_and_verified()

    def kill_worker(self, host):
        """The run may be over by now, and its workers with it."""
        pid = self.lab.worker_pids().get(host)
        if pid:
            lab.end_by_pid(pid)

    def fresh(self, name):
        self.lab.home = self.lab.root / name.replace(" ", "-")
        self.marks.unlink(missing_ok=True)

    def restored_and_verified(self):
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual([], self.kinds(receipt))
        for host in ("h0", "h1"):
            self.assertEqual("restored", self.attempt(receipt, host, "tiny")["cache"])
        self.verified()


if __name__ == "__main__":
    unittest.main()
