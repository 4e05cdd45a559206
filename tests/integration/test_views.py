"""What people and scripts see: lines, JSON, help; and nothing that a host says reaches a terminal raw."""
import json
import os
import re
import subprocess
import unittest

import lab
import schema
import terminal
import test_init

RAW = ("\x1b", "\x9b", "\x07", "\x08", "\u202e")


class Views(lab.LabTest):
    def slice(self, rungs=None, hosts=2, **more):
        if rungs is None:
            return self.lab.slice(hosts=hosts, **more)
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), **more)

    def slow(self, seconds=1.5):
        return [self.lab.rung("low", "slow.py", args={"seconds": seconds, "phases": ["compile"]}),
                self.lab.rung("high", "plain/hello.py")]

    def commands(self, *above):
        """All that the program has, as it lists them itself: (name,) or (name, subcommand)."""
        told = self.passes(self.lab.sliceup(*above, "--help")).out.split("\nOptions for ")[0].split("\nExamples:")[0]
        found = [(*above, name) for name in re.findall(r"(?m)^  ([a-z][a-z-]*)(?: |$)", told)]
        self.assertGreater(len(found), 2, told)
        deeper = {("cache",), ("env",)} & set(found)
        return sorted(set(found) - deeper) + [one for words in sorted(deeper) for one in self.commands(*words)]

    def on_terminal(self, *words, columns=80, rows=24, **env):
        env = self.lab.env(**{"TERM": "xterm-256color", "LANG": "C.UTF-8", **env})
        shown = terminal.Terminal([str(lab.SLICEUP), *map(str, words)], env, columns, rows)
        self.addCleanup(lambda: shown.process.poll() is None and shown.process.kill())
        return shown


class Lines(Views):
    def test_without_a_terminal_a_run_prints_plain_lines(self):
        ended = self.passes(self.lab.sliceup("run", self.slice(), env=self.lab.env(TERM="xterm-256color")))
        self.assertNotIn("\x1b", ended.out)
        self.assertNotIn("\r", ended.out)
        for rung in ("host-facts", "hello", "metrics"):
            self.assertRegex(ended.out, rf"(?m)^\[ *\d+\.\d s\] {rung}\b.*\b2 passed")
        self.assertRegex(ended.out, r"(?m)^run [0-9a-f]{8} of slice slice: 2 hosts, 3 rungs")
        self.assertRegex(ended.out, r"(?m)^slice slice: climbed to the top: 3 of 3 rungs passed on h\[0-1\] in ")

    def test_plain_is_plain_on_a_terminal_too(self):
        shown = self.on_terminal("run", self.slice(), "--plain")
        self.assertEqual(0, shown.end())
        self.assertNotIn(b"\x1b", shown.raw)

    def test_help_is_as_wide_as_the_terminal_and_80_columns_in_a_pipe(self):
        for columns in (60, 100, 200):
            shown = self.on_terminal("help", "run", columns=columns, rows=100, COLUMNS="70")
            self.assertEqual(0, shown.end())
            self.assertTrue(columns - 15 < shown.screen.widest <= columns, (columns, shown.screen.text))
        for asked, columns in (({}, 80), ({"COLUMNS": "120"}, 120), ({"COLUMNS": "wide"}, 80)):
            told = self.passes(self.lab.sliceup("help", "run", env=self.lab.env(**asked)))
            self.assertTrue(columns - 15 < max(map(len, told.out.splitlines())) <= columns, (columns, told.out))

    def test_the_end_of_a_run_breaks_at_words_on_a_terminal_and_nowhere_else(self):
        said = " ".join(["expected", "eleven", "words", "found", "others"] * 6)
        plan = self.slice([{"id": "says", "command": ["sh", "-c", f"echo {said}; exit 1"]}])

        def card(ended):
            return [line for line in ended.replace("\r", "").split("\nslice slice: failed at rung ")[1].splitlines() if line]

        shown = self.on_terminal("run", plan, columns=60)
        self.assertEqual(1, shown.end())
        lines = card(shown.raw.decode())
        self.assertIn("    " + " ".join(said.split()[:8]), lines)
        self.assertEqual([], [line for line in lines if len(line) > 60 and " " in line.strip()])
        for whole in (self.on_terminal("run", plan, "--plain", columns=60), None):
            ended = whole.end() and whole.raw.decode() if whole else self.lab.sliceup("run", plan).out
            self.assertIn("    " + said, card(ended))


    def test_causes_have_one_order_in_every_view(self):
        """h0 fails and nobody knows whose that is, h1 fails with a text that has an owner: that stands first, though its rank is higher."""
        said = "OSError: [Errno 28] No space left on device: '/data/x'"
        program = f'[ $SLICEUP_HOST = h0 ] && {{ echo it went wrong >&2; exit 7; }}; echo "{said}" >&2; exit 1'
        ended = self.lab.sliceup("run", self.slice([{"id": "step", "command": ["sh", "-c", program]}]), "--plain")
        self.assertEqual(1, ended.status, ended)
        lines, result = ended.out.split("ended: failed")
        sentence = self.lab.receipt()["sentence"]
        for view in (lines[lines.index("step: 2 failed"):], result, sentence, self.lab.sliceup("explain").out):
            self.assertLess(view.index("No space left on device"), view.index("it went wrong"), view)


class Scripts(Views):
    def test_status_of_a_running_run_tells_phases_and_what_is_waited_for(self):
        run = self.lab.start("run", self.slice(self.slow(6)))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 30)
        status = lab.wait_for(self.running_phase, "status to tell phase compile", 20)
        self.assertEqual("sliceup.status/2", status["schema"])
        self.assertEqual(run.process.pid, status["pid"])
        self.assertEqual(["low", "high"], [rung["rung"] for rung in status["rungs"]])
        self.assertEqual("running", status["rungs"][0]["passes"][-1]["state"])
        self.assertRegex(" ".join(status["waiting"]), r"h\[0-1\].*compile")
        text = self.passes(self.lab.sliceup("status")).out
        self.assertIn("compile", text)
        self.assertEqual(0, run.end().status)
        ended = self.passes(self.lab.sliceup("status", "--json"))
        status = schema.document(ended.out)
        self.assertEqual(("ended", "passed", 0), (status["state"], status["outcome"], status["exit_status"]))

    def running_phase(self):
        status = self.lab.sliceup("status", "--json")
        self.assertEqual(0, status.status, status)
        status = schema.document(status.out)
        return status if {host["phase"] for host in status["hosts"]["list"]} == {"compile"} else None

    def test_runs_lists_them_with_outcome_and_rung(self):
        self.passes(self.lab.sliceup("run", self.slice(name="good.yaml")))
        bad = self.slice([self.lab.rung("low", "plain/hello.py"), self.lab.rung("exits", "exit3.py")], name="bad.yaml")
        self.assertEqual(1, self.lab.sliceup("run", bad).status)
        listed = schema.document(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"]
        self.assertEqual([("bad", "low", 1), ("good", "metrics", 0)],
                         [(run["slice"], run["rung_reached"], run["exit_status"]) for run in listed])
        text = self.passes(self.lab.sliceup("runs")).out
        for run in listed:
            self.assertIn(run["run"][:8], text)
        by_prefix = self.lab.sliceup("receipt", listed[1]["run"][:6], "--json")
        self.assertEqual("good", json.loads(by_prefix.out)["headers"][0]["slice"])

    def test_a_baseline_replaces_files_only(self):
        self.passes(self.lab.sliceup("run", self.slice([{"id": "host-facts", "builtin": "facts"}])))
        pipe, file = self.lab.root / "pipe", self.lab.root / "base.json"
        os.mkfifo(pipe)
        for _ in range(2):
            self.assertIn("baseline written", self.lab.sliceup("drift", "--save", file).out)
        refused = self.lab.sliceup("drift", "--save", pipe)
        self.assertEqual(2, refused.status, refused)
        self.assertIn("it exists and is no regular file", refused.err)
        self.assertTrue(pipe.is_fifo())

    def test_logs_fold_equal_outputs_and_choose(self):
        rungs = [{"id": "one", "command": ["echo", "the same everywhere"]},
                 self.lab.rung("two", "fail_on.py", args={"host": "h1", "text": "only here"})]
        self.assertEqual(1, self.lab.sliceup("run", self.slice(rungs, hosts=3)).status)
        default = self.passes(self.lab.sliceup("logs"))
        self.assertIn("only here", default.out)
        self.assertNotIn("the same everywhere", default.out)
        one = self.passes(self.lab.sliceup("logs", "--rung", "one"))
        self.assertEqual(1, one.out.count("the same everywhere"), one)
        self.assertRegex(one.out, r"h\[0-2\].*one")
        self.assertEqual("", self.lab.sliceup("logs", "--rung", "two", "--host", "h0", "--raw").out.replace("\n", "").partition("only")[1])
        self.assertEqual(2, self.lab.sliceup("logs", "--rung", "nowhere").status)
        self.assertEqual(2, self.lab.sliceup("logs", "--host", "x9").status)

    def test_logs_of_workers(self):
        self.passes(self.lab.sliceup("run", self.slice([{"id": "one", "command": ["echo", "a program"]}], hosts=3)))
        folder = self.lab.run_folder() / "hosts"
        for host, said in (("h0", "srun: step\n"), ("h1", "srun: step\n"), ("h2", "a loader\x1b[2J\n" + 300 * "and more\n")):
            (folder / host / "worker.log").write_text(said)
        shown = self.passes(self.lab.sliceup("logs", "--worker")).out
        self.assertRegex(shown, r"(?m)^h\[0-1\], worker:\nsrun: step\n")
        self.assertEqual(1, shown.count("srun: step"))
        self.assertIn("1 of 2 logs were cut", shown)
        self.assertNotIn("a program", shown)
        hint = re.search(r"to see the first whole: sliceup (.*)", shown)[1].split()
        self.assertEqual(["--worker", "--hosts", "h2"], hint[2:])
        whole = self.passes(self.lab.sliceup(*hint)).out
        self.assertIn("h2, worker:\na loader\\x1b[2J\n", whole)
        self.assertEqual(300, whole.count("and more"))
        self.assertIn("\x1b", self.passes(self.lab.sliceup("logs", "last", "--worker", "--exclude", "h[0-1]", "--raw")).out)
        for more in (("--rung", "one"), ("--pass", "once"), ("--attempt", "1"), ("--follow",)):
            self.assertEqual(2, self.lab.sliceup("logs", "--worker", *more).status)
        (folder / "h2" / "worker.log").unlink()
        self.assertIn("no worker of the chosen hosts has a log here", self.passes(self.lab.sliceup("logs", "--worker", "--hosts", "h2")).out)

    def test_every_command_teaches(self):
        overview = self.passes(self.lab.sliceup("--help"))
        for command in self.commands():
            self.assertIn(f"\n  {command[0]} ", overview.out)
            for words in ((*command, "--help"), ("--help", *command)):
                ended = self.passes(self.lab.sliceup(*words))
                for word in (f"sliceup {' '.join(command)}", "Example", "Exit status"):
                    self.assertIn(word, ended.out)
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 120)
        self.assertRegex(self.passes(self.lab.sliceup("--version")).out, r"^sliceup \d")
        first = self.passes(self.lab.sliceup())
        self.assertEqual((12, ""), (len(first.out.splitlines()), first.err))
        guess = self.lab.sliceup("recipt")
        self.assertEqual(2, guess.status)
        self.assertIn("did you mean receipt?", guess.err)
        for command in self.commands():
            wrong = self.lab.sliceup(*command, "--no-such-option")
            self.assertEqual(2, wrong.status, wrong)
        for command in ("receipt", "status", "watch", "logs", "resume", "metrics"):
            none = self.lab.sliceup(command)
            self.assertEqual(2, none.status, none)
            self.assertIn("no runs yet", none.err)


class Escapes(Views):
    def silent(self, text, where):
        for raw in RAW:
            self.assertNotIn(raw, text, f"{raw!r} reached {where}")

    def test_no_escape_of_a_host_reaches_any_view_raw(self):
        rungs = [self.lab.rung("paints", "escape.py"), self.lab.rung("fails", "escape.py", args={"fails": True})]
        shown = self.on_terminal("run", self.slice(rungs))
        self.assertEqual(1, shown.end(60))
        self.assertEqual([], shown.screen.foreign)
        self.assertIn("it fails\\x1b[2J", shown.screen.text)
        for command in (("watch",), ("status",), ("status", "--json"), ("receipt",), ("receipt", "--json"), ("runs",),
                        ("logs",), ("logs", "--rung", "paints"), ("logs", "--host", "h0")):
            ended = self.lab.sliceup(*command)
            self.assertIn(ended.status, (0, 1), ended)
            self.silent(ended.out + ended.err, " ".join(command))
            watched = self.on_terminal(*command)
            watched.end(60)
            self.assertEqual([], watched.screen.foreign, command)
            self.assertNotIn("\u202e", watched.screen.text, command)
        self.silent((self.lab.run_folder() / "receipt.json").read_text(), "receipt.json")
        self.assertIn("\\x1b", self.lab.sliceup("logs", "--rung", "paints").out)
        self.assertIn("\x1b[2J", self.lab.sliceup("logs", "--rung", "paints", "--raw").out)
        notes = self.lab.receipt()["hosts"][0]["notes"]
        self.assertTrue(any("\x1b[2J" in note["text"] for note in notes), "the receipt's JSON must keep what was said")

    ODD = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
    PAINT = "\x1b[2J\x9b31m\x7f\u061c\u200f\u202egnp\u2066"    # C0, C1, DEL and what turns the direction of reading

    def plain(self, *command):
        self.tried.add(tuple(map(str, command)))
        ended = self.lab.sliceup(*command)
        found = self.ODD.search(ended.out + ended.err)
        self.assertIsNone(found, f"{command}: {found}: {ended}")
        return ended

    def test_every_command_writes_out_what_a_terminal_would_obey(self):
        """In text, in JSON, in files and in what goes to standard error alike: what programs print, what files and the cloud say."""
        self.tried = set()
        said = self.lab.write("said", f"Error: broken {self.PAINT}\n")
        rungs = [{"id": "odd", "command": ["sh", "-c", f"cat {said}; cat {said} >&2; exit 3"], "timeout": "30s"},
                 self.lab.rung("fails", "escape.py", args={"fails": True})]
        path = self.slice(rungs)
        self.assertEqual(1, self.plain("run", path, "--keep-going").status)
        kept = self.lab.root / "kept"
        for command in (("check", path), ("status",), ("stacks",), ("watch", "--plain"), ("receipt",), ("receipt", "--markdown"), ("explain",),
                        ("explain", "--markdown"), ("drift",), ("logs",), ("runs",), ("calibration",), ("metrics",),
                        ("report", "-o", kept), ("receipt", self.PAINT), ("receipt", "--" + self.PAINT), (self.PAINT,),
                        ("check", self.lab.write("odd.yaml", f"slice: '{self.PAINT[3:4]}\\e[2J'\n")), ("check", self.PAINT),
                        ("gate", path), ("hosts", "--history"), ("gate", "--check", self.lab.write("gate.json", json.dumps({"schema": "sliceup.gate/1", "slice": self.PAINT, "ladder": self.PAINT, "passed_s": 1, "expires_s": 4294967295, "hosts": []}))),
                        ("exec", "--launcher", "local", "-w", "n0", f"cat {said}; exit 3")):
            self.plain(*command)
        for command in (("status",), ("stacks",), ("watch",), ("receipt",), ("explain",), ("drift",), ("runs",), ("calibration",),
                        ("exec", "--launcher", "local", "-w", "n0", f"cat {said}")):
            told = self.plain(command[0], "--json", *command[1:])
            self.assertTrue(told.out.isascii(), told)
        for file in (file for file in kept.rglob("*") if file.suffix in (".html", ".xml", ".json", ".md")):
            self.assertIsNone(self.ODD.search(file.read_text()), file)
        odd = self.lab.files / f"odd{self.PAINT.replace('/', '')}\nladder  forged\nd"
        odd.mkdir()
        (odd / "slice.yaml").write_text(path.read_text())
        (odd / "bad.yaml").write_text(path.read_text() + "nothing: of it\n")
        for command in (("check", odd / "slice.yaml"), ("check", odd / "bad.yaml"), ("report", "-o", odd / "kept"),
                        ("drift", "--save", odd / "base.json"), ("cache", "gc", "--dry-run", "--root", odd),
                        ("cache", "ls", "--root", odd), ("cache", "verify", "--root", odd), ("cancel", self.PAINT), ("resume", self.PAINT),
                        ("rehearse", odd / "slice.yaml"), ("init", "n[0-1]", "-o", odd / "made.yaml"), ("init", "n[0-1]", "-o", odd / "made.yaml"),
                        ("hosts", f"n[0-1],{self.PAINT}"), ("hosts", "--from-file", odd / "none"), ("cache", "export", "7", odd / "out", "--root", odd),
                        ("cache", "import", odd, "--root", odd), ("cache", "explain", self.PAINT, "h0"), ("env", "restore", odd / "slice.yaml"),
                        ("env", "check", odd / "none.yaml"), ("env", "ls", self.PAINT), ("env", "lock", odd / "none.txt"), ("monitor-key", "last", "--name", self.PAINT),
                        ("ticket", odd / "slice.yaml", "--out", odd / "tickets"), ("outputs", "-o", odd / "outputs"), ("outputs", self.PAINT, "-o", odd),
                        ("copy", "--launcher", "local", "-w", "n0", odd / "slice.yaml", f":{odd}/copied"), ("copy", "-w", "n0", self.PAINT, ":/tmp"), ("serve", self.PAINT), ("serve", "--listen", self.PAINT), ("selftest", "--slice", self.PAINT), ("gate", odd / "slice.yaml"), ("gate", "--check", self.PAINT), ("gate", "--check", odd / "none.json"),
                        ("completion", self.PAINT), ("help", self.PAINT), ("version", self.PAINT)):
            self.assertNotIn("ladder  forged", (told := self.plain(*command)).out.splitlines(), told)
        web = subprocess.run([lab.BUILD / "bin" / "sliceup-web", "--" + self.PAINT], capture_output=True, text=True, errors="surrogateescape")
        self.assertIsNone(self.ODD.search(web.stdout + web.stderr), web)
        described = test_init.node("V6E", "4x4", 4, state=f"CREATING{self.PAINT}", health=f"ILL{self.PAINT}")
        described["acceleratorConfig"]["topology"] = f"9x9{self.PAINT}"
        described["acceleratorType"] = f"v9e{self.PAINT}-7"
        self.plain("init", "--gcloud", self.lab.write("node.json", json.dumps(described)))
        left = [words for words in self.commands() if not any(tried[:len(words)] == words for tried in self.tried)]
        self.assertEqual([], left, "commands that no line here tries")


if __name__ == "__main__":
    unittest.main()
