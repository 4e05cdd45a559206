"""sliceup selftest: it keeps its hands off all that is not its own, and a promise that is broken is told with its evidence."""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import unittest

import lab
import schema
import sshd

TR = "#!/bin/sh\nexec cat >/dev/null\n"


class Selftest(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.folder = self.lab.root / "t"
        self.folder.mkdir()
        self.env = self.lab.env(TMPDIR=str(self.folder))

    def selftest(self, *words):
        return self.lab.sliceup("selftest", *words, env=self.env)

    def kept(self, document):
        return {row["fault"]: (row["tried"], row["kept"]) for row in document["promises"]}

    def test_every_promise_is_kept_on_this_machine_and_nothing_stays(self):
        ended = self.passes(self.selftest("--tries", "1", "--json"))
        document = schema.document(ended.out)
        self.assertEqual((None, 3, 0), (document["slice"], document["hosts_n"], document["exit_status"]))
        self.assertEqual({(1, 1)}, set(self.kept(document).values()), ended)
        self.assertEqual(8, len(document["promises"]))
        self.assertEqual([], list(self.folder.iterdir()))
        self.assertFalse(self.lab.home.exists(), "a home was made that is not its own")

    @unittest.skipIf(sshd.why_not(), sshd.why_not())
    def test_over_ssh_a_promise_that_is_broken_is_told_and_nothing_else_of_the_file_counts(self):
        tools = self.lab.root / "tools"
        tools.mkdir()
        (tools / "tr").write_text(TR)
        (tools / "tr").chmod(0o755)
        server = sshd.Server(self.lab.root / "sshd", config=[f"SetEnv PATH={tools}:{os.environ['PATH']}"]).start()
        self.addCleanup(server.stop)
        server.known_hosts()
        ended_file = self.lab.files / "ended"
        ssh = {"port": server.port, "identities": [str(server.user_key)], "agent": False, "known_hosts": str(server.folder / "known_hosts")}
        path = self.lab.write("slice.yaml", json.dumps({
            "slice": "mine", "launcher": "ssh", "profile": "cpu-jax", "pins": "jax-cpu", "ladder": "jax", "ssh": ssh,
            "hosts": [{"name": f"h{i}", "address": "127.0.0.1"} for i in range(2)], "start": {"directory": str(self.lab.root / "host")},
            "coordinator": {"address": "127.0.0.1"}, "cache": {"root": str(self.lab.root / "cache")},
            "limits": {"suspect": "1s", "lost": "8s", "stop": "200ms"}, "on_end": ["touch", str(ended_file)]}))
        ended = self.selftest("--tries", "1", "--slice", path, "--json")
        self.assertEqual(1, ended.status, ended)
        document = schema.document(ended.out)
        kept = self.kept(document)
        self.assertEqual((1, 0), kept.pop("1 MB, as fast as it may"), ended)
        self.assertEqual({(1, 1)}, set(kept.values()), ended)
        broken = document["promises"][-1]
        self.assertRegex(broken["why"], r"^of what h[01] printed at rung 1 11 bytes are here, expected 1000011;")
        words = shlex.split(broken["next"])
        self.assertEqual("sliceup", words[0])
        self.assertEqual(0, self.lab.sliceup(*words[1:]).status)
        self.assertTrue(pathlib.Path(words[2]).is_relative_to(self.folder))
        for other in (ended_file, self.lab.root / "cache", self.lab.home):
            self.assertFalse(other.exists(), other)
        self.assertFalse((self.lab.root / "host/envs").exists(), "an environment was built")

    def test_an_interrupted_one_leaves_nothing(self):
        own = self.lab.start("selftest", "--tries", "1", env=self.env)
        lab.wait_for(lambda: list(self.folder.glob("*/1.1/runs/*/logs/*/*")), "programs to begin", 30)
        worker = f"sliceup-worker: run {next(self.folder.glob('*/1.1/runs/*/created')).parent.name[:8]}"
        own.kill(signal.SIGINT)
        self.assertEqual(130, own.end(60).status)
        self.assertEqual([], list(self.folder.iterdir()))
        lab.wait_for(lambda: worker not in subprocess.run(["ps", "ax"], capture_output=True, text=True, check=True).stdout, "its workers to be gone", 10)

    def test_hosts_that_are_not_to_be_harmed_are_refused(self):
        joining = self.lab.slice(hosts=2, launcher="join", cache={"mode": "off"}, coordinator={"address": "127.0.0.1", "control_port": 7001, "bulk_port": 7002})
        joining.write_text(joining.read_text().replace("launcher: local\n", ""))
        ended = self.selftest("--slice", joining)
        self.assertEqual(2, ended.status, ended)
        self.assertIn("has launcher: join, whose hosts let nobody in", ended.err)
        path = self.lab.slice(hosts=2, name="busy.yaml", ladder=str(self.lab.ladder("long.yaml", [{"id": "long", "command": ["sleep", "60"]}])))
        run = self.lab.start("run", path)
        lab.wait_for(lambda: self.lab.count("pass-began"), "a run to begin", 30)
        ended = self.selftest("--slice", path)
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.err, r"run \w{8} of slice busy.* has h\[0-1\] now")
        self.assertEqual(2, self.selftest("--slice", self.lab.files / "none.yaml").status)
        self.assertEqual(2, self.selftest("--tries", "0").status)
        self.assertEqual([], list(self.folder.iterdir()))
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, run.end(60).status)


if __name__ == "__main__":
    unittest.main()
