"""What is too large or too much is refused with a sentence, where it is first known."""
import json
import resource
import shutil
import subprocess
import unittest

import lab


class Sizes(lab.LabTest):
    def test_a_rung_that_no_message_can_tell_a_host_is_refused_before_anything_starts(self):
        long = {"id": "long", "command": ["true"] + ["x" * 4000] * 20, "timeout": "5s"}
        path = self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", [long])))
        for command in ("check", "run"):
            ended = self.lab.sliceup(command, path, bound_s=20)
            self.assertEqual(2, ended.status, ended)
            self.assertIn("the message that starts rung 'long' on a host is larger than 63488 bytes", ended.err)
        self.assertEqual([], self.lab.runs(), "a run was begun all the same")

    def test_what_programs_may_not_write_counts_where_a_cache_is_used(self):
        folder = "/opt/" + "/".join(["x" * 120] * 3)
        rungs = [{"id": f"short{i}", "command": [f"{folder}/{i}/program"], "timeout": "5s"} for i in range(40)]
        rungs.append({"id": "long", "command": ["true"] + ["x" * 3900] * 13, "timeout": "5s"})
        profile = self.lab.write("traced.yaml", "profile: traced\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n")
        path = self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", rungs)), profile=str(profile))
        self.passes(self.lab.sliceup("check", path, bound_s=20))
        self.lab.ladder("ladder.yaml", [*rungs, self.lab.rung("warm", "marks.py", warm="solo")])
        for command in ("check", "run"):
            ended = self.lab.sliceup(command, path, bound_s=20)
            self.assertEqual(2, ended.status, ended)
            self.assertIn("the message that starts rung 'long' on a host is larger than 63488 bytes", ended.err)
        self.assertEqual([], self.lab.runs(), "a run was begun all the same")

    def test_receipts_that_are_too_many_for_one_are_not_merged(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1)))
        receipt = self.lab.receipt()
        files = []
        for part in range(2):
            receipt["headers"] = [{**receipt["headers"][0], "run": f"{part}-{number}"} for number in range(600)]
            files.append(self.lab.write(f"{part}.json", json.dumps(receipt)))
        self.passes(self.lab.sliceup("receipt", "--json", "--merge", files[0]))
        ended = self.lab.sliceup("receipt", "--json", "--merge", *files)
        self.assertEqual(3, ended.status, ended.err)
        self.assertIn("receipt.headers: the count of items is 1200, expected at most 1024", ended.err)
        self.assertIn("merge fewer files at a time", ended.err)
        self.assertEqual("", ended.out)


class Limits(lab.LabTest):
    """A process that may not open enough files says so, and has begun nothing. For memory: tests/campaign/limits."""
    SENTENCE = r"needs \d+ more open files, but the limit of this process is {} in all: raise its limit"

    def limited(self, files, *words):
        """sliceup as a process that may have so many open files; leaks are looked for with files of their own."""
        env = self.lab.env()
        env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0")
        done = subprocess.run([str(lab.SLICEUP), *map(str, words)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=30, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
        return self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def test_a_run_that_could_not_go_on_is_not_begun(self):
        path = self.lab.slice()
        for files in (8, 12, 13, 40):
            ended = self.limited(files, "run", path)
            self.assertEqual((3, ""), (ended.status, ended.out), ended)
            self.assertRegex(ended.err, "a run of 2 hosts " + self.SENTENCE.format(files))
            self.assertEqual([], self.lab.runs(), "it was begun all the same")

    def test_who_looks_at_a_run_says_what_is_so_or_why_it_cannot(self):
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("slow", "slow.py", args={"seconds": 200}, timeout="5m")])
        run = self.lab.start("run", self.lab.slice(ladder=str(ladder)))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin", 30)
        for files in (5, 7, 9, 12, 24):
            for words in (("status",), ("resume",), ("receipt",)):
                ended = self.limited(files, *words)
                self.assertNotIn("no coordinator", ended.out + ended.err, f"{words} with {files}: one lives, and cannot be seen")
                if ended.status:
                    self.assertEqual(3, ended.status, ended)
                    self.assertGreater(len(ended.out + ended.err), 40, f"{words} with {files} says nothing: {ended}")
        run.kill_and_reap()

    def test_a_server_that_could_not_serve_is_not_begun(self):
        for files in (40, 100, 150):
            ended = self.limited(files, "serve", "--all", "--listen", "127.0.0.1:0")
            self.assertEqual((3, ""), (ended.status, ended.out), ended)
            self.assertRegex(ended.err, r"\Asliceup-web: sliceup-web " + self.SENTENCE.format(files) + r".*\n\Z")

    def test_files_that_may_not_grow_are_a_sentence(self):
        path = self.lab.slice(hosts=1)
        self.passes(self.lab.sliceup("run", path))
        for status, *words in ((0, "env", "ls"), (0, "runs"), (3, "status"), (3, "run", path), (3, "resume")):
            done = subprocess.run([str(lab.SLICEUP), *map(str, words)], env=self.lab.env(), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=30,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
            ended = self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))
            self.assertEqual(status, ended.status, f"{words}: {ended}")
            if "env" not in words:
                self.assertIn("raise this process's limit: ulimit -f", ended.out + ended.err, words)

    def test_a_worker_that_could_not_work_says_so(self):
        folder = self.lab.root / "bin"
        folder.mkdir()
        shutil.copy(lab.SLICEUP, folder / "sliceup")
        worker = folder / "sliceup-worker"
        worker.write_text(f"#!/bin/sh\nulimit -n 12\nASAN_OPTIONS=detect_leaks=0 exec {lab.BUILD}/bin/sliceup-worker \"$@\"\n")
        worker.chmod(0o755)
        run = lab.Background([str(folder / "sliceup"), "run", str(self.lab.slice())], self.lab.env())
        self.lab.running.append(run)
        ended = run.end(30)
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.out, r"(?s)blocked at rung .*sliceup-worker: a worker " + self.SENTENCE.format(12))


if __name__ == "__main__":
    unittest.main()
