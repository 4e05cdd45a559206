"""What one pastes: a receipt, an explanation and a comparison as text and as Markdown, whatever programs printed."""
import json
import re
import time
import unittest

import lab

LIMITS = {"stop": "200ms", "cascade": "1s"}
HOSTILE = '''
import sys
print("RuntimeError: a|b `c` <b>x</b> ````", flush=True)
print("````\\n</pre><script>alert(1)</script> \\x1b[31mred Error: @all", flush=True)
sys.exit(3)
'''


def outside_code(markdown):
    """What stands in no code, line by line; AssertionError when a block is not closed."""
    lines, fence = [], None
    for line in markdown.splitlines():
        if fence is None and (opened := re.fullmatch(r"(`{3,})\w*", line)):
            fence = opened[1]
        elif fence is not None and re.fullmatch("`{%d,}" % len(fence), line):
            fence = None
        elif fence is None:
            lines.append(re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line))
    assert fence is None, markdown
    return lines


class Pasting(lab.LabTest):
    def slice(self, rungs, hosts=2):
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits=LIMITS)

    def failing(self):
        path = self.lab.write("hostile.py", HOSTILE)
        rungs = [{"id": "first", "builtin": "facts", "timeout": "30s"}, self.lab.rung("hostile", str(path))]
        ended = self.lab.sliceup("run", self.slice(rungs))
        self.assertEqual(1, ended.status, ended)
        return ended

    def safe(self, ended):
        """Nothing of the program's text stands outside a block of code; the rows of a table have one length."""
        self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f]", ended.out), ended)
        lines, columns = outside_code(ended.out), 0
        for line in lines:
            self.assertNotRegex(line, r"<|`|@|alert\(1\)[^:]*$")
            columns = line.count("|") if line.startswith("|") and not columns else columns if line.startswith("|") else 0
            self.assertEqual(columns, line.count("|"), line)
        return lines

    def test_what_a_program_printed_stays_in_its_block(self):
        self.failing()
        receipt = self.lab.sliceup("receipt", "--markdown")
        explained = self.lab.sliceup("explain", "--markdown")
        for ended in (receipt, explained):
            self.assertEqual(1, ended.status, ended)
            self.safe(ended)
            self.assertIn("`````\nRuntimeError: a|b `c` <b>x</b> ````\n", ended.out)
            self.assertIn("**`h[0-1]` failed; whose: not known**", ended.out)
            self.assertNotIn("&#", ended.out)
            self.assertIn("\nNext: see what it printed: sliceup logs --rung hostile\n", ended.out)
        self.assertRegex(receipt.out, r"\| hostile \|  \| failed; whose: not known \| `h\[0-1\]` \| \d+")
        self.safe(self.lab.sliceup("drift", "--markdown"))

    def test_the_printed_line_comes_before_our_words(self):
        ended = self.failing()
        text = self.lab.sliceup("receipt").out
        self.assertRegex(text, r"h\[0-1\]  \(\S+ m?s( to \S+ m?s)?\)\n +evidence: RuntimeError: a\|b .*\n +exited with status 3")
        self.assertIn("h[0-1] failed: RuntimeError: a|b `c` <b>x</b> ````; exited with status 3", ended.out)

    def test_forms_exclude_each_other(self):
        for command in ("receipt", "explain", "drift"):
            ended = self.lab.sliceup(command, "--json", "--markdown")
            self.assertEqual(2, ended.status, ended)
            self.assertIn(f"sliceup {command}: --json and --markdown exclude each other", ended.err)

    def test_a_run_beside_files_to_merge_is_refused(self):
        self.failing()
        file = self.lab.run_folder() / "receipt.json"
        self.assertEqual(2, self.lab.sliceup("receipt", "zzz", "--merge", file).status)
        merged = self.lab.sliceup("receipt", "--markdown", "--merge", file)
        self.assertEqual(1, merged.status, merged)
        of_run, of_file = (ended.out.partition("\ndrift ") for ended in (self.lab.sliceup("receipt", "--markdown"), merged))
        self.assertTrue(of_run[1])
        self.assertEqual(of_run[0], of_file[0])  # below, a file has no rules of its own for how hosts are compared

    def test_a_full_device_is_told_once(self):
        self.failing()
        with open("/dev/full", "w") as full:
            done = lab.subprocess.run([str(lab.SLICEUP), "explain"], env=self.lab.env(), stdout=full, stderr=lab.subprocess.PIPE, text=True)
        self.assertEqual((3, 1), (done.returncode, done.stderr.count("No space left")), done.stderr)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)

    def test_the_run_counts_the_time_without_a_coordinator_and_its_rungs_do_not(self):
        marks = str(self.lab.files / "marks")
        rungs = [self.lab.rung("low", "marks.py", args={"file": marks, "seconds": 1})]
        coordinator = self.lab.start("run", self.slice(rungs))
        lab.wait_for(lambda: self.lab.files.joinpath("marks").exists(), "the programs to run")
        coordinator.kill_and_reap()
        end = time.monotonic() + 3
        lab.wait_for(lambda: time.monotonic() > end, "three seconds without a coordinator")
        resumed = self.lab.sliceup("resume")
        self.assertEqual(0, resumed.status, resumed)
        receipt = self.lab.receipt()
        header = receipt["headers"][0]
        own_ms = max(host["rungs"][0]["duration_ms"] for host in receipt["hosts"])
        self.assertLess(receipt["ladder"][0]["duration_ms"], own_ms + 2500, "a pass takes as long as its hosts took")
        took_s = (header["ended_wall_ms"] - header["began_wall_ms"]) / 1000
        told_s = float(re.search(r" in (\d+(?:\.\d+)?) s", header["sentence"])[1])
        self.assertGreaterEqual(took_s, 3)
        self.assertAlmostEqual(took_s, told_s, delta=1.1)
        listed = json.loads(self.lab.sliceup("runs", "--json").out)["runs"]
        self.assertEqual([header["ended_wall_ms"] - header["began_wall_ms"]], [run["duration_ms"] for run in listed])


if __name__ == "__main__":
    unittest.main()
