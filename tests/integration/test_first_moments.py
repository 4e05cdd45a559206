"""kill -9 in the first moments of `run`: until its first fact is durable a run was never begun, and everybody says so."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import lab
import schema
import unlucky

READERS = (("status",), ("receipt",), ("explain",), ("logs",), ("watch",), ("drift",), ("cache", "ls"), ("monitor-key",))
MANY = 400  # far more changes of files than the first moments have
STEP = int(os.environ.get("SLICEUP_MOMENTS_STEP", "6"))  # 1: every single one


class FirstMoments(lab.LabTest):
    def setUp(self):
        super().setUp()
        rungs = [{"id": "facts", "builtin": "facts"}]
        self.plan = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("ladder.yaml", rungs)), cache={"mode": "off"})

    def killed_at(self, call):
        """A run that dies right before its `call`-th change of a file."""
        done = subprocess.run([str(lab.SLICEUP), "run", str(self.plan), "--plain"], env=unlucky.env(self.lab, die=call),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(-signal.SIGKILL, done.returncode, done.stdout + done.stderr)

    def folders(self):
        runs = self.lab.home / "runs"
        return sorted(path for path in runs.iterdir() if len(path.name) == 32) if runs.is_dir() else []

    @staticmethod
    def sign(run):
        return run.with_name(run.name + ".unbegun")

    def listed(self):
        return schema.document(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"]

    def says_never_begun(self, *words):
        ended = self.lab.sliceup(*words)
        self.assertEqual(2, ended.status, (words, str(ended)))
        self.assertRegex(ended.err, r"run [0-9a-f]{8} was never begun", words)
        self.assertEqual("", ended.out, words)
        return ended

    def is_unbegun(self, thorough):
        run, = self.folders()
        if thorough:
            self.assertEqual([(run.name, "never-begun")], [(entry["run"], entry["state"]) for entry in self.listed()])
            self.assertIn("never-begun", self.passes(self.lab.sliceup("runs")).out)
        for words in READERS if thorough else ():
            self.assertIn(f"sliceup resume {run.name[:8]} removes it", self.says_never_begun(*words).err)
        self.assertEqual([run], self.folders(), "who only looks removed it")
        self.assertTrue(self.sign(run).exists())
        self.assertIn("its folder was removed", self.says_never_begun("resume").err)
        self.assertEqual([], self.folders())
        self.assertFalse(self.sign(run).exists())

    def before_the_first_fact(self):
        """Returns the first call before which the run had begun."""
        found = 0
        for call in range(1, MANY, STEP):
            self.killed_at(call)
            if self.lab.count("run-opened"):
                self.assertGreater(found, 60 // STEP)
                print(f"    {found} of {1 + call // STEP} moments left an unbegun run")
                return call
            if self.folders():
                found += 1
                self.is_unbegun(thorough=found % 7 == 1)
        self.fail("no run was opened")

    def before_a_worker_is_told_to_go(self, call):
        """A worker that was just started, and has no GO, ends with its coordinator."""
        while not self.lab.count("host-keyed"):
            lab.wait_for(lambda: not self.lab.processes_under(), "a worker without its GO to end", 10)
            shutil.rmtree(self.lab.home)
            call += 1
            self.killed_at(call)

    def test_whenever_it_is_killed(self):
        self.before_a_worker_is_told_to_go(self.before_the_first_fact())
        self.passes(self.lab.sliceup("resume"))
        self.passes(self.lab.sliceup("run", self.plan))
        self.assertEqual(["passed", "passed"], [entry["state"] for entry in self.listed()])
        self.assertEqual([False, False], [self.sign(run).exists() for run in self.folders()])
        self.nothing_is_left()

    def test_what_is_just_being_made_is_not_removed(self):
        """Stopped rather than killed: it holds what says so before there is a journal, or its lock."""
        making = subprocess.Popen([str(lab.SLICEUP), "run", str(self.plan), "--plain"], stdin=subprocess.DEVNULL,
                                  env=unlucky.env(self.lab, stop=12), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: making.poll() is None and making.kill())
        lab.wait_for(lambda: self.is_stopped(making.pid), "the run to stand still", 10)
        run, = self.folders()
        self.assertRegex(self.lab.sliceup("status").err, "is just starting")
        ended = self.lab.sliceup("resume")
        self.assertEqual(3, ended.status, str(ended))
        self.assertEqual([run], self.folders())
        making.send_signal(signal.SIGCONT)
        self.assertEqual(0, making.wait(60), making.stdout.read())
        making.stdout.close()
        self.nothing_is_left()

    @staticmethod
    def is_stopped(pid):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def is_damaged(self, run, *words):
        """Whoever looks says so, the folder stays as it is, and nobody removes anything of it."""
        before = {path: path.stat().st_mtime_ns for path in sorted(run.rglob("*"))}
        for command in (("status",), ("receipt",), ("logs",), ("watch",), ("resume",)):
            ended = self.lab.sliceup(*command, run.name)
            self.assertEqual(5, ended.status, (command, str(ended)))
            for word in words:
                self.assertIn(word, ended.err, command)
        self.assertEqual(["damaged"], [entry["state"] for entry in self.listed() if entry["run"] == run.name])
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in sorted(run.rglob("*"))})

    def test_a_run_whose_journal_is_gone_is_not_taken_for_one_that_was_never_begun(self):
        self.passes(self.lab.sliceup("run", self.plan))
        run, = self.folders()
        for gone, words in (("journal.db", "is missing, but its mark"),
                            ("journal.db.mark", "journal.db and its mark, journal.db.mark, are missing")):
            (run / gone).unlink()
            self.is_damaged(run, words)
        self.assertTrue((run / "receipt.json").exists())

    def test_nothing_that_is_left_of_a_run_that_had_begun_says_that_it_had_not(self):
        going = self.lab.start("run", self.plan, "--plain")
        lab.wait_for(lambda: self.lab.count("host-joined"), "a host to join", 30)
        going.kill_and_reap()
        run, = self.folders()
        self.assertFalse(self.sign(run).exists())
        self.lab.kill_workers()
        whole = self.lab.root / "whole"
        shutil.move(run, whole)
        lists = (["hosts", "logs", "receipts", "created", "hub.json", "coordinator.key", "monitor.key", "monitors",
                  "journal.db.lock", "journal.db-wal", "journal.db-shm"],
                 ["created", "hub.json", "coordinator.key", "monitor.key", "journal.db.lock"], ["journal.db-wal"], ["created"], [])
        for left in lists:
            with self.subTest(str(left)):
                shutil.rmtree(run, ignore_errors=True)
                shutil.copytree(whole, run, symlinks=True, copy_function=shutil.copy2,
                                ignore=lambda folder, names: [name for name in names if name not in left])
                self.is_damaged(run, "had begun", "journal.db.mark, are missing")
        for kind, put in (("a folder", lambda sign: sign.mkdir()), ("bytes", lambda sign: sign.write_text("x"))):
            with self.subTest(kind):
                put(self.sign(run))
                self.is_damaged(run, "had begun")
                sign = self.sign(run)
                sign.rmdir() if sign.is_dir() else sign.unlink()


if __name__ == "__main__":
    unittest.main()
