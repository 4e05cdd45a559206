"""Journals of format 1 and receipts of schema 1, as the sliceup before left them, are read by every command; resume refuses."""
import json
import pathlib
import shutil
import sqlite3
import unittest

import lab
import schema

FORMER = pathlib.Path(__file__).parent / "former"


class Former(lab.LabTest):
    def run_of(self, name):
        """A run's folder of before, in this home; its id."""
        with sqlite3.connect(f"file:{FORMER / name / 'journal.db'}?mode=ro&immutable=1", uri=True) as journal:
            run = journal.execute("SELECT value FROM meta WHERE name = 'run'").fetchone()[0]
        folder = self.lab.home / "runs" / run
        shutil.copytree(FORMER / name, folder)
        for path in [self.lab.home, folder.parent, folder, *folder.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return run

    def said(self, *args):
        """What a command that reads says; its exit status is that of the run, or 3 where that has not ended."""
        ended = self.lab.sliceup(*args)
        self.assertIn(ended.status, (0, 1, 3, 130), ended)
        self.assertEqual("", ended.err, ended)
        return ended.out

    def test_each_ending_of_no_report_has_its_word(self):
        run = self.run_of("mixed")
        words = {"h0": "passed", "h1": "timed-out", "h2": "failed", "h3": "failed", "h4": "lost"}
        receipt = json.loads(self.said("receipt", run, "--json"))
        self.assertEqual(words, {host: self.attempt(receipt, host, "own")["outcome"] for host in words})
        self.assertEqual("failed", receipt["outcome"])
        status = schema.document(self.said("status", run, "--json"))
        self.assertEqual(words, {host["host"]: host["outcome"] for host in status["hosts"]["list"]})
        causes = schema.document(self.said("explain", run, "--json"))["causes"]
        self.assertEqual({"timed-out", "failed", "lost"}, {cause["outcome"] for cause in causes})
        self.assertIn("1 passed, 2 failed, 1 lost, 1 timed-out", self.said("watch", run, "--plain"))
        self.assertIn("No space left on device", self.said("logs", run))
        self.assertIn("failed", self.said("runs"))
        self.assertIn("h1", self.said("receipt", run))
        self.assertIn("timed-out", self.said("status", run))

    def test_a_cancelled_run_is_cancelled_everywhere(self):
        run = self.run_of("cancelled")
        receipt = json.loads(self.said("receipt", run, "--json"))
        self.assertIsNone(receipt["headers"][0]["origin"])
        self.assertEqual(["cancelled"] * 3, [receipt["outcome"], *(self.attempt(receipt, h, "own")["outcome"] for h in ("h0", "h1"))])
        self.assertEqual("cancelled", json.loads(self.said("status", run, "--json"))["outcome"])
        self.assertIn("cancelled, owner: sliceup", self.said("explain", run))
        self.assertIn("cancelled", self.said("runs"))

    def test_a_run_that_was_left_is_read_and_not_resumed(self):
        run = self.run_of("interrupted")
        before = (self.lab.home / "runs" / run / "journal.db").read_bytes()
        ended = self.lab.sliceup("resume", run)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("has format 1; this sliceup can read it, but writes only format", ended.err)
        self.assertIn("end it with the sliceup that began it", ended.err)
        self.assertIn("only the sliceup that began it can continue it", self.said("status", run))
        self.assertEqual(before, (self.lab.home / "runs" / run / "journal.db").read_bytes())
        self.assertEqual("interrupted", json.loads(self.said("status", run, "--json"))["state"])
        self.assertEqual("machine", json.loads(self.said("receipt", run, "--json"))["frontier"]["highest_passing"]["rung"])
        self.assertIn("interrupted", self.said("runs"))

    def test_its_format_is_not_a_matter_of_one_number(self):
        run = self.run_of("mixed")
        with sqlite3.connect(self.lab.home / "runs" / run / "journal.db") as journal:
            journal.execute("UPDATE meta SET value = 2 WHERE name = 'format'")
        for command in ("receipt", "status", "explain"):
            ended = self.lab.sliceup(command, run)
            self.assertEqual(5, ended.status, ended)
            self.assertIn("is damaged at fact 1", ended.err)
        with sqlite3.connect(self.lab.home / "runs" / run / "journal.db") as journal:
            journal.execute("UPDATE meta SET value = 3 WHERE name = 'format'")
        ended = self.lab.sliceup("receipt", run)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("has format 3, but this sliceup reads 1 to 2", ended.err)

    def test_receipts_of_schema_1_are_merged_and_compared(self):
        files = [str(FORMER / name / "receipt.json") for name in ("mixed", "blocked", "cancelled")]
        self.assertEqual(["sliceup.receipt/1"] * 3, [json.loads(pathlib.Path(path).read_text())["schema"] for path in files])
        merged = json.loads(self.said("receipt", "--json", "--merge", *files))
        outcomes = {rung["outcome"] for host in merged["hosts"] for rung in host["rungs"]}
        self.assertEqual({"passed", "failed", "lost", "blocked"}, outcomes)  # a receipt of before has no endings
        self.assertEqual(3, len(merged["headers"]))
        self.assertIn("hosts only in this run: h[2-4]", self.said("drift", files[0], "--against", files[2]))


if __name__ == "__main__":
    unittest.main()
