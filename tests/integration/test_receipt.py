"""What a receipt says of its run: who asked for it and how, what it was launched with."""
import getpass
import json
import os
import shlex
import shutil
import socket
import subprocess
import unittest

import lab
import schema
from test_env import Wheels


class WhatIsWritten(lab.LabTest):
    def test_a_file_that_cannot_be_written_fails_no_run(self):
        """What the page offers beside the receipt: the run is what it is, its end is told, and the others are there."""
        go, told = self.lab.root / "go", self.lab.root / "told"
        ladder = self.lab.ladder("ladder.yaml", [{"id": "waits", "command": ["sh", "-c", f"until [ -e {go} ]; do sleep 0.1; done"]}])
        run = self.lab.start("run", self.lab.slice(hosts=1, ladder=str(ladder), on_end=["touch", str(told)]))
        lab.wait_for(lambda: run.process.poll() is not None or self.lab.count("pass-began"), "the pass", 60)
        (self.lab.run_folder() / "junit.xml").mkdir()
        go.touch()
        self.assertEqual(0, run.end(60).status)
        self.assertTrue(told.exists(), "on_end was not run")
        for name in ("receipt.json", "receipts/h0.json", "report.md", "drift.json"):
            self.assertTrue((self.lab.run_folder() / name).is_file(), name)


class WhatRan(lab.LabTest):
    def slice(self, **more):
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "high", "command": ["true"]}]
        return self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs)), **more)

    def test_who_asked_for_it_from_where_and_with_which_words(self):
        slice_file = self.slice()
        self.passes(self.lab.sliceup("run", slice_file, "--plain", "--hosts", "h[0-1]"))
        receipt = schema.document(self.lab.sliceup("receipt", "--json").out)
        header = receipt["headers"][0]
        home = os.path.realpath(self.lab.home)
        self.assertEqual({"user": getpass.getuser(), "uid": os.getuid(), "host": socket.gethostname(), "directory": os.getcwd(),
                          "command": [str(lab.SLICEUP), "run", str(slice_file), "--plain", "--hosts", "h[0-1]"]}, header["origin"])
        self.assertEqual(home, header["home"])
        text = self.lab.sliceup("receipt").out
        self.assertIn(f"run by   {getpass.getuser()} (uid {os.getuid()}) on {socket.gethostname()}, in {os.getcwd()}\n", text)
        self.assertIn(f"command  {lab.SLICEUP} run {slice_file} --plain --hosts h[0-1]\n", text)
        self.assertIn(f"folders  home {home}, cache {home}/cache\n", text)

    def test_the_launch_policy_is_one_line_for_hosts_that_share_it(self):
        profile = self.lab.write("own.yaml", "profile: own\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                                 "env: {OWN_LEVEL: '3', OWN_RANK: '{rank}', OWN_TOKEN: hush}\nslice_env: {OWN_PEERS: '{world}'}\n")
        self.passes(self.lab.sliceup("run", self.slice(profile=str(profile))))
        text = self.lab.sliceup("receipt").out
        self.assertIn("policy   profile own: OWN_LEVEL=3, OWN_TOKEN=present; programs of the slice: OWN_PEERS=2; of each host its own: "
                      "OWN_RANK on h[0-1]\n", text)
        self.assertNotIn("hush", text)

    def failing(self, script, **profile):
        """A receipt of a rung that fails on both hosts, and what the run printed."""
        path = self.lab.write("own.yaml", "profile: own\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                              + "".join(f"env: {{{name}: '{value}'}}\n" for name, value in profile.items()))
        ladder = str(self.lab.ladder("failing.yaml", [{"id": "falls", "command": ["sh", "-c", script]}]))
        ended = self.lab.sliceup("--plain", "run", self.lab.slice(hosts=2, ladder=ladder, profile=str(path), cache={"mode": "off"}))
        self.assertEqual(1, ended.status, ended)
        return ended

    def test_what_a_rung_ran_and_where_is_told(self):
        self.failing("exit 3")
        text, header = self.lab.sliceup("receipt").out, self.lab.receipt()
        self.assertIn("launch   local: all of them processes of one machine, h[0-1]\n", text)
        self.assertIn("ran            sh -c 'exit 3'\n", text)
        self.assertEqual("sh -c 'exit 3'", header["ladder"][0]["program"])
        self.assertIn("exited with status 3; it printed nothing", text)
        by_hand = shlex.split(self.attempt(header, "h0", "falls")["cause"]["next"])
        self.assertEqual("sliceup", by_hand[0])
        self.assertRegex(self.lab.sliceup(*by_hand[1:]).err, "h0.*3")

    def test_a_secret_of_the_profile_is_shown_nowhere_when_a_program_prints_it(self):
        ended = self.failing("echo ValueError: tok-5ecr3t-9f8w at https://me:hunter2@host; exit 1", OWN_TOKEN="tok-5ecr3t-9f8w")
        shown = [ended, *(self.lab.sliceup(*words) for words in (("receipt",), ("receipt", "--json"), ("receipt", "--markdown"),
                                                                 ("explain",), ("status",), ("watch", "--json")))]
        for one in shown:
            self.assertIn("ValueError", one.out)
            self.assertNotRegex(one.out, "5ecr3t.9f8w|hunter2")

    def test_what_is_compared_of_an_output_has_no_secret(self):
        profile = self.lab.write("own.yaml", "profile: own\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\nenv: {OWN_TOKEN: tok-5ecr3t-9f8w}\n")
        print_it = "echo tok-5ecr3t-9f8w at https://me:hunter2@host"
        rungs = [{"id": "short", "command": ["sh", "-c", print_it], "same": "output"},
                 {"id": "long", "command": ["sh", "-c", f"seq 300; {print_it}{'x' * 158}; {print_it}"], "same": "output"}]
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=str(self.lab.ladder("l.yaml", rungs)), profile=str(profile), cache={"mode": "off"})))
        facts = json.dumps(self.lab.receipt()["hosts"])
        self.assertIn("output.long", facts)
        self.assertNotRegex(facts, "5ecr3t|9f8w|hunter2")

    def test_one_host_alone_is_not_said_to_have_no_drift(self):
        self.passes(self.lab.sliceup("run", self.slice()))
        alone = self.lab.sliceup("drift", "--hosts", "h1")
        self.assertEqual((2, ""), (alone.status, alone.out))
        self.assertIn("h1 alone has nobody to be compared with", alone.err)
        self.assertNotIn("no report of", self.lab.sliceup("receipt", "--hosts", "h1").out)

    def merged(self, *files):
        """What merging gives, whose rules for comparing hosts are those of no run."""
        document = schema.document(self.lab.sliceup("receipt", "--json", "--merge", *files).out)
        return {name: value for name, value in document.items() if name != "drift"}

    def test_the_files_of_single_hosts_merge_to_the_receipt_of_the_run(self):
        failing = {"id": "one", "command": ["sh", "-c", "echo RuntimeError: no chip; test $SLICEUP_HOST = h0"]}
        ladder = str(self.lab.ladder("failing.yaml", [{"id": "facts", "builtin": "facts"}, failing, {"id": "high", "command": ["true"]}]))
        self.assertEqual(1, self.lab.sliceup("run", self.lab.slice(hosts=3, ladder=ladder)).status)
        folder = self.lab.run_folder()
        whole = self.merged(folder / "receipt.json")
        files = sorted((folder / "receipts").iterdir())
        self.assertEqual(["h0.json", "h1.json", "h2.json"], [file.name for file in files])
        self.assertEqual(["h0"], [host["host"] for host in self.merged(files[0])["hosts"]])
        self.assertEqual(whole, self.merged(*reversed(files)))
        self.assertEqual(whole, self.merged(files[1], folder / "receipt.json"))
        text = self.lab.sliceup("receipt", "--merge", str(files[0]), str(files[2])).out
        self.assertIn("missing  h1: the run had them, and their receipts are not here", text)
        self.assertNotIn("missing", self.lab.sliceup("receipt").out)
        for host in "h0", "h1", "h2":  # and so do those that one writes by hand
            self.lab.write(f"own-{host}.json", self.lab.sliceup("receipt", "--json", "--hosts", host).out)
        self.assertEqual(whole, self.merged(*(self.lab.root / "files" / f"own-h{rank}.json" for rank in (2, 0, 1))))


class WhatIsExpected(lab.LabTest):
    """The facts of this machine, and of its own dpkg, where it has one."""

    def run_with(self, expect, status):
        ladder = str(self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"}, {"id": "high", "command": ["true"]}]))
        ended = self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=ladder, expect=expect))
        self.assertEqual(status, ended.status, ended)
        receipt = self.lab.receipt()
        return receipt["hosts"][1]["facts"], self.attempt(receipt, "h1", "facts")["cause"]

    def test_an_image_that_is_as_expected_passes(self):
        release = os.uname().release
        self.run_with({"kernel.release": release[:4] + "*", "machine": os.uname().machine}, 0)

    def test_an_image_that_is_not_names_host_fact_expectation_and_finding(self):
        _, cause = self.run_with({"kernel.release": "0.1-*", "machine": os.uname().machine, "no.such_fact": "x"}, 1)
        self.assertEqual(f"kernel.release is {os.uname().release}, expected 0.1-*; no.such_fact is not told by this host, expected x",
                         cause["text"])
        self.assertEqual("platform", cause["owner"])
        self.assertIn("h[0-1] failed: kernel.release is", self.lab.sliceup("receipt").out)

    def test_packages_of_the_system_are_held_against_dpkg(self):
        query = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "bash"], capture_output=True, text=True) if shutil.which(
            "dpkg-query") else None
        if not query or query.returncode:
            self.skipTest("no package bash in dpkg on this machine")
        facts, _ = self.run_with({"package.bash": query.stdout, "package.no-such-package": "absent"}, 0)
        self.assertEqual(query.stdout, facts["package.bash"])
        _, cause = self.run_with({"package.bash": "0.*"}, 1)
        self.assertEqual((f"package.bash is {query.stdout}, expected 0.*", "bundle"), (cause["text"], cause["owner"]))

    def test_what_cannot_be_compared_is_refused(self):
        ladder = str(self.lab.ladder("ladder.yaml", [{"id": "high", "command": ["true"]}]))
        ended = self.lab.sliceup("check", self.lab.slice(ladder=ladder, expect={"package.Bad name": "1", "os.id": "", "machine": "x"}))
        self.assertEqual(2, ended.status, ended)
        for words in ("'package.Bad name' is no name of a fact", "the fact os.id has no value to expect",
                      "nothing compares what is expected: the ladder has no rung with builtin: facts"):
            self.assertIn(words, ended.err)


class WhatItUsed(lab.LabTest, Wheels):
    def test_versions_stand_together_and_not_only_in_the_facts(self):
        self.make([("torch-xla", "2.7.0", {}), ("libtpu", "0.0.11", {}), ("six", "1.0", {})])
        slice_file = self.lab.slice(hosts=2, ladder=self.ladder(), pins=str(self.pins), env_dir=str(self.lab.root / "envs" / "own"))
        self.passes(self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels))
        self.assertRegex(self.lab.sliceup("receipt").out, r"\nversions torch-xla 2\.7\.0, libtpu 0\.0\.11, python 3\.\d+\.\d+ on h\[0-1\]\n")


if __name__ == "__main__":
    unittest.main()
