"""`sliceup gate`: one line and a certificate before a job; hosts that fail are told by cause, remembered, and left out."""
import json
import os
import pathlib
import signal
import sqlite3
import time
import unittest

import lab
import schema

BUSY = "RuntimeError: /dev/accel0: Device or resource busy"


def signals_pending(pid):
    """Whether a signal sent to the process still waits for it, as the kernel tells in /proc/PID/status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd")))


class Gate(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.certificate = self.lab.files / "gate.json"

    def slice(self, bad="", hosts=3, **more):
        """A slice whose hosts named in `bad` find their device held."""
        odd = {"id": "odd", "command": ["sh", "-c", f'case " {bad} " in *" $SLICEUP_HOST "*) echo "{BUSY}" >&2; exit 3;; esac'], "timeout": "20s"}
        ladder = self.lab.ladder("own.yaml", [{"id": "host-facts", "builtin": "facts", "timeout": "20s"}, odd])
        return self.lab.slice(hosts=hosts, ladder=str(ladder), **more)

    def gate(self, *args):
        return self.lab.sliceup("gate", *args)

    def refused(self, ended, status, said):
        self.assertEqual(status, ended.status, ended)
        self.assertIn(said, ended.out + ended.err)

    def test_one_line_and_a_certificate_that_says_when_it_ends(self):
        ended = self.passes(self.gate(self.slice(), "--certificate", self.certificate, "--for", "2h"))
        self.assertRegex(ended.out, r"\Agate: passed: .*2 of 2 rungs passed on h\[0-2\].*; good until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n\Z")
        self.assertEqual("", ended.err)
        written = schema.document(self.certificate.read_text())
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.assertEqual([{"host": f"h{i}", "boot_id": boot} for i in range(3)], written["hosts"])
        self.assertEqual(7200, written["expires_s"] - written["passed_s"])
        self.assertEqual(0o644, self.certificate.stat().st_mode & 0o777)
        for more in ([], ["--here"], ["--hosts", "h[0-2]"]):
            self.assertRegex(self.passes(self.gate("--check", self.certificate, *more)).out, r"\Agate: good: 3 hosts of slice slice passed own; good until ")

    def test_a_certificate_is_checked_where_there_is_no_home(self):
        """As in a unit of systemd, which sets none. A gate itself needs one, as its run is kept there."""
        self.passes(self.gate(self.slice(), "--certificate", self.certificate))
        env = {name: value for name, value in self.lab.env().items() if name not in ("HOME", "SLICEUP_HOME")}
        ended = self.passes(self.lab.sliceup("gate", "--check", self.certificate, "--here", env=env))
        self.assertRegex(ended.out, r"\Agate: good: 3 hosts ")
        self.refused(self.lab.sliceup("gate", self.slice(), env=env), 2, "no folder for runs: give --home DIR")

    def test_a_certificate_is_not_good_for_others_later_elsewhere_or_when_it_is_none(self):
        self.passes(self.gate(self.slice(), "-o", self.certificate))
        good = json.loads(self.certificate.read_text())

        def changed(**members):
            return self.lab.write("changed.json", json.dumps({**good, **members}))
        now = int(time.time())
        self.refused(self.gate("--check", self.certificate, "--hosts", "h[1-4]"), 1, "it does not speak of h[3-4]")
        self.refused(self.gate("--check", changed(expires_s=now - 1, passed_s=now - 9)), 1, "it expired ")
        self.refused(self.gate("--check", changed(passed_s=now + 3600, expires_s=now + 7200)), 1, "later time than the clock")
        self.refused(self.gate("--check", changed(hosts=[{"host": "h0", "boot_id": "0"}]), "--here"), 1, "none of its hosts, or was started anew")
        self.refused(self.gate("--check", changed(schema="other/1")), 2, "expected a certificate that sliceup gate wrote")
        self.refused(self.gate("--check", changed(hosts="h0")), 2, "hosts")
        self.refused(self.gate("--check", self.lab.write("cut.json", self.certificate.read_text()[:40])), 2, "cut.json:")
        self.refused(self.gate("--check", self.lab.files / "none.json"), 2, "cannot be opened")
        self.refused(self.gate(), 2, "expected a slice file, or --check")
        self.refused(self.gate(self.slice(), "--for", "soon"), 2, "expected a duration such as 30m")
        self.refused(self.gate(self.slice(), "-o", self.lab.files / "no" / "folder.json"), 2, "folder.json")
        self.refused(self.gate(self.slice(), "--check", self.certificate), 2, "takes a certificate, and no slice file")
        self.refused(self.gate(self.slice(), "--here"), 2, "belongs to --check")
        mine = self.lab.write("mine.json", "{}")
        self.refused(self.gate(self.slice(), "-o", mine), 2, "what is there is no certificate, and is not replaced")
        self.assertEqual("{}", mine.read_text())
        self.assertEqual(3, len(self.lab.runs()) + 2, "a run was begun that could not be certified")

    def test_who_fails_is_told_by_cause_remembered_and_left_out(self):
        drain = self.lab.write("drain", '#!/bin/sh\nenv | grep ^SLICEUP_HOSTS_ | sort > "$DRAINED"\n')
        drain.chmod(0o755)
        drained = self.lab.files / "drained"
        env = self.lab.env(DRAINED=str(drained), SLICEUP_HOSTS_DEVICE="forged", SLICEUP_HOSTS_HOST="forged")
        ended = self.lab.sliceup("gate", self.slice(bad="h1", on_end=["./drain"]), "-o", self.certificate, env=env)
        self.assertEqual(1, ended.status, ended)
        self.assertRegex(ended.out, rf"\Agate: refused: .*h1 failed: {BUSY}.*; all of it: sliceup explain \w{{8}}\n\Z")
        self.assertFalse(self.certificate.exists())
        self.assertEqual("SLICEUP_HOSTS_DEVICE=h1\nSLICEUP_HOSTS_FAILED=h1\n", drained.read_text())
        history = self.passes(self.lab.sliceup("hosts", "--history")).out
        self.assertRegex(history, rf"(?m)^h1 +suspect +1 +1 .*the device, rung odd\n +{BUSY}; exited with status 3$")
        self.assertIn("suspect: h1   (a slice that can do without them: sliceup run SLICE.yaml --exclude @suspect)", history)
        self.assertIn("2 hosts never failed by themselves: h[0,2]", history)
        without = self.passes(self.gate(self.slice(bad="h1"), "--exclude", "@suspect", "-o", self.certificate))
        self.assertIn("left out: 'h1'; who is suspect, and why: sliceup hosts --history", without.err)
        self.assertIn("h[0,2]", without.out)
        self.assertEqual(["h0", "h2"], [host["host"] for host in json.loads(self.certificate.read_text())["hosts"]])

    def test_a_host_that_passes_again_is_suspect_no_more_and_one_that_flaps_is(self):
        def suspects():
            return schema.document(self.passes(self.lab.sliceup("hosts", "--history", "--json")).out)["suspect"]
        self.gate(self.slice(bad="h2"))
        self.assertEqual("h2", suspects())
        self.passes(self.gate(self.slice()))
        self.assertEqual("", suspects())
        self.passes(self.gate(self.slice(), "--exclude", "@suspect"))
        self.gate(self.slice(bad="h2"))
        self.passes(self.gate(self.slice()))
        self.assertEqual("h2", suspects())
        row = next(host for host in json.loads(self.lab.sliceup("hosts", "h2", "--history", "--json").out)["hosts"])
        self.assertEqual((5, 2, None, "device", "failed", "odd"), tuple(row[key] for key in ("runs", "failures", "failing_since", "owner", "outcome", "rung")))

    def test_what_all_fail_for_marks_nobody(self):
        self.gate(self.slice(bad="h0 h1 h2"))
        known = json.loads(self.lab.sliceup("hosts", "--history", "--json").out)
        self.assertEqual("h[0-2]", known["suspect"])   # the device is the machine's
        self.passes(self.gate(self.slice(hosts=2)))     # h2 keeps its failure
        self.assertEqual("h2", json.loads(self.lab.sliceup("hosts", "--history", "--json").out)["suspect"])
        ladder = self.lab.ladder("wrong.yaml", [{"id": "wrong", "command": ["false"], "timeout": "20s"}])
        self.assertEqual(1, self.lab.sliceup("gate", self.lab.slice(hosts=4, ladder=str(ladder), name="four.yaml")).status)
        self.assertEqual("h2", json.loads(self.lab.sliceup("hosts", "--history", "--json").out)["suspect"])

    def test_the_certificate_of_before_goes_when_the_gate_begins(self):
        self.passes(self.gate(self.slice(), "-o", self.certificate))
        self.assertEqual(1, self.gate(self.slice(bad="h1"), "-o", self.certificate).status)
        self.assertFalse(self.certificate.exists())

    def test_a_gate_that_is_left_says_so_in_one_line(self):
        ladder = self.lab.ladder("long.yaml", [self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})])
        gate = self.lab.start("gate", self.lab.slice(hosts=2, ladder=str(ladder)), "-o", self.certificate)
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        for _ in range(3):
            gate.kill(signal.SIGINT)
            lab.wait_for(lambda: not signals_pending(gate.process.pid), "the signal to be taken")   # two that wait are one
        ended = gate.end(60)
        self.assertNotEqual(0, ended.status, ended)
        self.assertRegex(ended.out, r"(?m)^gate: refused: .*\n\Z")
        self.assertNotIn("left unfinished", ended.out)
        self.assertFalse(self.certificate.exists())
        self.lab.kill_workers()

    def test_a_gate_that_was_killed_frees_its_hosts_by_itself(self):
        ladder = self.lab.ladder("long.yaml", [self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})])
        gate = self.lab.start("gate", self.lab.slice(hosts=2, ladder=str(ladder), limits={"orphan": "5s"}))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        gate.kill_and_reap()
        self.refused(self.gate(self.slice(hosts=2)), 3, "interrupted")
        lab.wait_for(lambda: self.gate(self.slice(hosts=2)).status == 0, "the hosts to be free", 60)

    def test_workers_that_are_told_to_end_are_no_suspects(self):
        ladder = self.lab.ladder("long.yaml", [self.lab.rung("long", "slow.py", timeout="5m", args={"seconds": 200})])
        gate = self.lab.start("gate", self.lab.slice(hosts=3, ladder=str(ladder)))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        for pid in self.lab.worker_pids().values():
            os.kill(pid, signal.SIGTERM)
        ended = gate.end(60)
        self.assertNotEqual(0, ended.status, ended)
        told = json.loads(self.lab.sliceup("hosts", "--history", "--json").out)
        self.assertEqual("", told["suspect"], told)

    def test_a_store_of_the_version_before_and_a_damaged_one(self):
        self.passes(self.gate(self.slice()))
        path = self.lab.run_folder().parents[1] / "calibration.db"
        store = sqlite3.connect(path)
        store.executescript("DROP TABLE run_hosts; PRAGMA user_version = 2;")
        store.close()
        self.assertIn("no run of this home", self.passes(self.lab.sliceup("hosts", "--history")).out)
        self.passes(self.gate(self.slice(), "--exclude", "@suspect"))
        self.assertIn("3 hosts never failed", self.lab.sliceup("hosts", "--history").out)
        path.write_bytes(os.urandom(8192))
        self.refused(self.lab.sliceup("check", self.slice(), "--exclude", "@suspect"), 2, "@suspect: ")
        self.assertIn(self.lab.sliceup("hosts", "--history").status, (3, 5))
        ended = self.gate(self.slice())
        self.assertEqual(0, ended.status, ended)
        self.assertIn("how the hosts of this run fared was not remembered", ended.err)

    def test_the_quick_ladder_is_taken_where_there_is_one(self):
        with_jax = self.lab.write("jax.yaml", (lab.TOP / "configs/slices/local-jax.yaml").read_text().replace("ladder: jax", "ladder: jax-train"))
        self.refused(self.gate(with_jax, "--leave-out", "none"), 2, "expected one of host-facts, ways, environment, runtime-probe, collective")


if __name__ == "__main__":
    unittest.main()
