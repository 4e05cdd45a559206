"""Around runs: what is listed and removed, what a run that cannot begin leaves behind, and what follows its end."""
import contextlib
import json
import pathlib
import re
import socket
import sqlite3
import unittest

import lab


class RunsTest(lab.LabTest):
    def facts_ladder(self):
        return str(self.lab.ladder("facts.yaml", [{"id": "facts", "builtin": "facts"}]))

    def climb_with_cache(self):
        """A run that publishes generation 1; its root."""
        root, marks = self.lab.root / "cache", self.lab.files / "marks"
        self.lab.write("keeps.yaml", "profile: keeps\nfrontend: jax\nbackend: cpu\ndevices_per_host: 1\n")
        ladder = str(self.lab.ladder("cached.yaml", [self.lab.rung("tiny", "keeps.py", warm="solo", args={"marks": str(marks)})]))
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=ladder, profile="./keeps.yaml", cache={
            "mode": "single-writer", "root": str(root), "writable": [str(self.lab.files)]})))
        return root


class LastCache(RunsTest):
    def test_after_a_run_without_a_cache_the_newest_that_had_one_is_meant(self):
        without = self.lab.slice(hosts=1, ladder=self.facts_ladder(), name="without.yaml", cache={"mode": "off"})
        self.passes(self.lab.sliceup("run", without))
        none = self.lab.sliceup("cache", "ls")
        self.assertEqual(3, none.status, none)
        self.assertRegex(none.err, "no run of this home used a compile cache: .*--root DIR.*--slice SLICE.yaml")
        root, cached = self.climb_with_cache(), self.lab.run_folder().name
        self.passes(self.lab.sliceup("run", without))
        last = self.lab.run_folder().name
        listed = self.passes(self.lab.sliceup("cache", "ls", "--json"))
        self.assertEqual(str(root), json.loads(listed.out)["root"])
        self.assertEqual(f"sliceup cache: run {last[:8]} used no compile cache; this is of run {cached[:8]}, the newest that did\n", listed.err)
        self.assertIn(str(root), self.passes(self.lab.sliceup("cache", "verify")).out)
        explained = self.lab.sliceup("cache", "explain", "h0", "h0")
        self.assertEqual(1, explained.err.count(f"this is of run {cached[:8]}"), explained)
        named = self.lab.sliceup("cache", "ls", "--run", "last")
        self.assertEqual(3, named.status, named)
        self.assertIn(f"run {last[:8]} uses no compile cache", named.err)


class Listed(RunsTest):
    def test_a_run_that_stopped_is_listed_with_the_rung_at_which_it_did(self):
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "hello", "command": ["true"]}, {"id": "soak", "command": ["false"]},
                 {"id": "above", "command": ["true"]}]
        self.assertEqual(1, self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=str(self.lab.ladder("stops.yaml", rungs)))).status)
        self.assertIn("stopped at soak (3 of 4)", self.passes(self.lab.sliceup("runs")).out)

    def test_that_there_are_no_runs_yet_is_one_status(self):
        for command in ("drift", "receipt", "status", "explain", "logs", "watch"):
            with self.subTest(command):
                self.assertEqual(2, self.lab.sliceup(command).status)


class Port(RunsTest):
    def test_a_port_in_use_says_how_to_find_its_process_and_leaves_no_run(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            refused = self.lab.sliceup("run", self.lab.slice(ladder=self.facts_ladder(), coordinator={"bulk_port": port}))
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"bulk channel: tcp://127.0.0.1:{port} is in use: end .*ss -ltnp 'sport = :{port}'.*control_port, bulk_port")
        self.assertEqual([], self.lab.runs())
        self.assertEqual([], json.loads(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"])


class List(RunsTest):
    def climb(self, name):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=self.facts_ladder(), name=f"{name}.yaml")))
        return self.lab.run_folder().name

    def listed(self, *options):
        return [run["run"] for run in json.loads(self.passes(self.lab.sliceup("runs", "--json", *options)).out)["runs"]]

    def test_a_slice_and_a_number_choose_what_is_listed(self):
        one, two, three = self.climb("a"), self.climb("b"), self.climb("a")
        self.assertEqual([three, two, one], self.listed())
        self.assertEqual([three, one], self.listed("--slice", "a"))
        self.assertEqual([three], self.listed("--slice", "a", "--limit", "1"))
        self.assertEqual([three, two], self.listed("--limit=2"))
        self.assertEqual([], self.listed("--slice", "c"))
        self.assertEqual("no runs of this slice\n", self.lab.sliceup("runs", "--slice", "c").out)
        for wrong in ("0", "-1", "x", ""):
            self.assertEqual(2, self.lab.sliceup("runs", "--limit", wrong).status, wrong)

    def test_prune_removes_the_oldest_that_ended_and_says_what_it_frees(self):
        runs = [self.climb(name) for name in "abaa"]
        refused = self.lab.sliceup("runs", "prune")
        self.assertEqual(2, refused.status, refused)
        self.assertEqual(2, self.lab.sliceup("runs", "prune", "--older-than", "30").status)
        dry = self.passes(self.lab.sliceup("runs", "prune", "--keep", "1", "--slice", "a", "--dry-run"))
        self.assertEqual(runs[::-1], self.listed())
        would = rf"run {runs[0][:8]} would be removed, [\d.]+ KiB\nrun {runs[2][:8]} would be removed, [\d.]+ KiB\n2 runs would be removed, [\d.]+ KiB; 0 that cannot go stay\n"
        self.assertRegex(dry.out, rf"^{would}$")
        self.assertIn("0 runs removed", self.passes(self.lab.sliceup("runs", "prune", "--older-than", "1h")).out)
        pruned = self.passes(self.lab.sliceup("runs", "prune", "--keep", "1", "--slice", "a"))
        self.assertEqual(dry.out.replace("would be", "was").replace("runs was ", "runs "), pruned.out)
        self.assertEqual([runs[3], runs[1]], self.listed())
        self.assertIn("1 run removed", self.passes(self.lab.sliceup("runs", "prune", "--keep", "1", "--older-than", "1ms")).out)
        self.assertEqual([runs[3]], self.listed())
        self.assertEqual([runs[3]], [path.name for path in self.lab.runs()])

    def test_what_runs_was_interrupted_or_is_damaged_stays(self):
        held = str(self.lab.ladder("held.yaml", [self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})]))
        interrupted = self.lab.start("run", self.lab.slice(hosts=1, ladder=held, name="i.yaml", limits={"orphan": "60s"}))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        interrupted.kill_and_reap()
        first, damaged = self.lab.run_folder().name, self.climb("d")
        (self.lab.run_folder(damaged) / "journal.db").write_bytes(b"SQLite format 3")
        running = self.lab.start("run", self.lab.slice(hosts=1, ladder=held, name="r.yaml"))
        third = lab.wait_for(lambda: self.lab.run_folder().name not in (first, damaged) and self.lab.run_folder().name, "the run")
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        pruned = self.passes(self.lab.sliceup("runs", "prune", "--keep", "0"))
        self.assertRegex(pruned.out, rf"run {first[:8]} stays: it has not ended; sliceup resume {first[:8]}")
        self.assertRegex(pruned.out, rf"run {damaged[:8]} stays: it cannot be read: ")
        self.assertRegex(pruned.out, rf"run {third[:8]} stays: it is running \(coordinator: pid {running.process.pid}\)")
        self.assertIn("0 runs removed, 0 B; 3 that cannot go stay", pruned.out)
        self.assertEqual(3, len(self.listed()))
        self.passes(self.lab.sliceup("cancel", third))
        self.assertEqual(130, running.end(20).status)

    def test_a_user_of_the_cache_stays_and_what_a_killed_removal_left_goes(self):
        root, run = self.climb_with_cache(), self.lab.run_folder().name
        with contextlib.closing(sqlite3.connect(root / "catalogue.db", isolation_level=None)) as catalogue:
            catalogue.execute("INSERT INTO user VALUES (1, ?, ?, ?)", (run, str(self.lab.home), socket.gethostname()))
            stays = self.passes(self.lab.sliceup("runs", "prune", "--keep", "0"))
            self.assertRegex(stays.out, rf"run {run[:8]} stays: it is still a user of generation 1 in the catalogue of {root}")
            catalogue.execute("DELETE FROM user")
        left = self.lab.home / "runs" / f".removing-{'0' * 32}"
        (left / "logs" / "h0").mkdir(parents=True)
        self.assertEqual([run], self.listed())
        pruned = self.passes(self.lab.sliceup("runs", "prune", "--keep", "0"))
        self.assertIn("1 folder of an interrupted removal removed\n", pruned.out)
        self.assertEqual([], self.lab.runs())


HOOK = """#!/bin/sh
cat > "$HOOKED/receipt.$SLICEUP_RUN"
echo "$SLICEUP_RUN $SLICEUP_SLICE $SLICEUP_OUTCOME $SLICEUP_EXIT $PWD $*" >> "$HOOKED/called"
echo printed by the hook
exit ${HOOK_STATUS:-0}
"""


class OnEnd(RunsTest):
    def setUp(self):
        super().setUp()
        hook = self.lab.write("hook", HOOK)
        hook.chmod(0o755)

    def slice_with(self, on_end, rungs=None, **more):
        ladder = str(self.lab.ladder("ends.yaml", rungs)) if rungs else self.facts_ladder()
        return self.lab.slice(hosts=1, ladder=ladder, on_end=on_end, **more)

    def env(self, **more):
        return self.lab.env(HOOKED=str(self.lab.files), SLICEUP_OUTCOME="forged", **more)

    def called(self):
        path = self.lab.files / "called"
        return path.read_text().splitlines() if path.exists() else []

    def was_called_for(self, outcome, status, times=1):
        folder = self.lab.run_folder()
        self.assertEqual([f"{folder.name} slice {outcome} {status} {folder} a b"] * times, self.called())
        self.assertEqual((folder / "receipt.json").read_bytes(), (self.lab.files / f"receipt.{folder.name}").read_bytes())

    def test_it_gets_the_receipt_and_the_outcome_and_its_failure_changes_nothing(self):
        ended = self.lab.sliceup("run", self.slice_with(["./hook", "a", "b"]), "--json", env=self.env(HOOK_STATUS="7"))
        self.assertEqual(0, ended.status, ended)
        self.was_called_for("passed", 0)
        self.assertRegex(ended.err, r"(?s)printed by the hook\n.*on_end, \S+/hook, exited with status 7; the run's outcome stays")
        for line in ended.out.splitlines():
            json.loads(line)

    def test_also_when_a_rung_fails_and_once_although_it_is_resumed(self):
        rung = {"id": "no", "command": ["false"], "timeout": "20s"}
        self.assertEqual(1, self.lab.sliceup("run", self.slice_with({"command": ["./hook", "a", "b"]}, [rung]), env=self.env()).status)
        self.was_called_for("failed", 1)
        self.assertEqual(1, self.lab.sliceup("resume", "last", env=self.env()).status)
        self.was_called_for("failed", 1)
        (self.lab.run_folder() / "on_end.done").unlink()   # as if the coordinator had been killed before it wrote this
        self.assertEqual(1, self.lab.sliceup("resume", "last", env=self.env()).status)
        self.was_called_for("failed", 1, times=2)

    def test_also_when_the_run_is_cancelled_after_a_resume(self):
        rung = self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})
        run = self.lab.start("run", self.slice_with(["./hook", "a", "b"], [rung], limits={"orphan": "60s"}), env=self.env())
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        run.kill_and_reap()
        self.assertEqual([], self.called())
        resumed = self.lab.start("resume", env=self.env())
        lab.wait_for(lambda: self.lab.count("epoch-began") == 2, "the second coordinator")
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, resumed.end(20).status)
        self.was_called_for("cancelled", 130)

    def test_it_is_killed_with_its_group_when_its_time_is_over(self):
        self.lab.write("hook", "#!/bin/sh\nsleep 1000 &\necho $! > \"$HOOKED/pid\"\nwait\n")
        ended = self.lab.sliceup("run", self.slice_with({"command": ["./hook"], "timeout": "1s"}), env=self.env(), bound_s=30)
        self.assertEqual(0, ended.status, ended)
        self.assertRegex(ended.err, r"on_end, .* was killed, since its time was over \(limit 1 s\)")
        pid = int((self.lab.files / "pid").read_text())
        lab.wait_for(lambda: not lab.alive(pid), "what the command had started to be gone", 10)

    def test_a_missing_program_is_found_by_check_and_rehearsals_run_none(self):
        for wrong, said in (("./none", "is not there, or cannot be executed"), ("no-such-program", "is not there"), ([], "0 words"),
                            ({"command": ["true"], "timeout": "1h"}, "timeout"), ({}, "command")):
            refused = self.lab.sliceup("check", self.slice_with([wrong] if isinstance(wrong, str) else wrong))
            self.assertEqual(2, refused.status, refused)
            self.assertIn(said, refused.err)
        checked = self.passes(self.lab.sliceup("check", self.slice_with(["true", "secret"])))
        self.assertRegex(checked.out, r"at end  /\S*/true, for at most 1 min")
        self.assertNotIn("secret", checked.out)
        tpu = self.lab.write("tpu.yaml", (lab.TOP / "configs/slices/tpu-v6e-16.yaml").read_text() + "\non_end: ['true']\n")
        self.assertNotIn("at end", self.passes(self.lab.sliceup("rehearse", tpu, "--check")).out)


class Title(RunsTest):
    def test_ps_tells_run_and_host_of_a_worker(self):
        ladder = str(self.lab.ladder("long.yaml", [self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})]))
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=ladder), env=self.lab.env(TOLD_TO_NOBODY="secret"))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        folder = self.lab.run_folder().name
        for host, pid in self.lab.worker_pids().items():
            shown = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode()
            self.assertEqual(f"sliceup-worker: run {folder[:8]} host {host} (slice slice)", shown)
            self.assertNotIn(b"HOME", pathlib.Path(f"/proc/{pid}/environ").read_bytes())
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, run.end(20).status)
        self.nothing_is_left()


class Groups(RunsTest):
    def test_a_group_of_the_slice_file_is_kept_with_its_run(self):
        path = self.lab.slice(hosts=3, ladder=str(self.lab.ladder("say.yaml", [
            {"id": "facts", "builtin": "facts"}, {"id": "say", "command": ["echo", "said"], "timeout": "20s"}])),
                              groups={"spare": "h[1,7]", "more": "@spare,h2"})
        self.passes(self.lab.sliceup("run", path))
        path.unlink()
        for group, hosts in (("@spare", {"h1"}), ("@more", {"h1", "h2"}), ("@*!@spare", {"h0", "h2"})):
            logs = self.passes(self.lab.sliceup("logs", "--hosts", group))
            self.assertEqual(hosts, set(re.findall(r"h\d", re.sub(r"h\[(\d)-(\d)\]", r"h\1 h\2", re.sub(r"h\[(\d),(\d)\]", r"h\1 h\2", logs.out)))), logs)
            receipt = json.loads(self.passes(self.lab.sliceup("receipt", "--hosts", group, "--json")).out)
            self.assertEqual(hosts, {host["host"] for host in receipt["hosts"]})
        self.assertIn(self.lab.sliceup("drift", "--exclude", "@spare").status, (0, 1))
        unknown = self.lab.sliceup("logs", "--hosts", "@none")
        self.assertEqual(2, unknown.status, unknown)


if __name__ == "__main__":
    unittest.main()
