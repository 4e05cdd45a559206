"""What deploy/ and docs/guide/ give to systemd, under a real one: the unit of a worker, and the gate before a job."""
import json
import re
import shutil
import subprocess
import time
import unittest

import lab
import pid1
from test_join import Joiners

WORKER = "sliceup-worker@h0"
FACTS = {"id": "facts", "builtin": "facts"}
SHELL = {"id": "shell", "command": ["sh", "-c", f"test $(id -un) = sliceup && grep /{WORKER}.service /proc/self/cgroup"]}
# Two processes that no signal ends that a program can catch, one of them in a session of its own.
STUCK = {"id": "stuck", "command": ["sh", "-c", "trap '' INT TERM; setsid sleep 1111 & exec sleep 1111"]}
NOBODY_S_NAMESPACE = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                      "unshare", "--user", "--map-root-user", "--pid", "--fork", "true"]


def guide(name):
    return (lab.TOP / "docs" / "guide" / f"{name}.md").read_text()


class TheWorker(Joiners):
    """deploy/systemd/sliceup-worker@.service with no byte changed, installed by the commands of docs/guide/join.md."""

    def setUp(self):
        super().setUp()
        self.systemd = pid1.Pid1(self.lab)
        self.addCleanup(self.systemd.close)
        shutil.copytree(lab.TOP / "deploy/systemd", self.lab.root / "deploy/systemd")
        self.passes(self.issue(self.slice(hosts=1)))
        commands = re.search(r"(?s)## With systemd\n.*?```sh\n(.*?)```", guide("join"))[1].replace("v6e-0", "h0").splitlines()
        *self.commands, follow = commands
        self.assertEqual((f"systemctl enable --now {WORKER}", f"journalctl -u {WORKER} -f"), (self.commands[-1], follow))

    def start(self):
        for command in self.commands:
            self.systemd.sh(command)
        self.waits(1)

    def said(self):
        return self.systemd.journal(WORKER)

    def waits(self, times):
        """Until the worker waits for a run for the n-th time, and has no other process."""
        def waiting():
            if len(re.findall(r"(?m)waits for a run: .* for \S+ m?s$", self.said())) < times:
                return False
            found = self.systemd.processes(WORKER)
            return found and all(line.startswith("/usr/local/bin/sliceup-worker join ") for line in found)
        lab.wait_for(waiting, lambda: f"the worker to wait, {times}: {self.systemd.processes(WORKER)}\n{self.systemd.journal()}", 60)

    def show(self, *names):
        return [self.systemd.show(WORKER, name) for name in names]

    def stuck(self, **more):
        """A slice whose last rung does not end by itself."""
        return self.slice(hosts=1, rungs=[FACTS, SHELL, {**STUCK, **more}], limits={"stop": "500ms"})

    def contains(self, containment):
        """A program that its time limit ends leaves nothing in the control group."""
        ended = self.lab.sliceup("run", self.stuck(timeout="2s"))
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual([("facts", "passed"), ("shell", "passed"), ("stuck", "timed-out")],
                         [(rung, outcome) for rung, _, outcome in self.rungs(receipt, "h0")])
        self.assertEqual(containment, receipt["hosts"][0]["facts"]["containment"], self.said())
        self.waits(2)

    def test_it_serves_runs_without_a_privilege_and_contains_their_programs(self):
        self.start()
        before = self.show("MainPID", "NRestarts")
        status = self.systemd.sh(f"cat /proc/{before[0]}/status")
        for name, value in (("CapBnd", "0{16}"), ("NoNewPrivs", "1"), ("Seccomp", "2"), ("Uid", r"([1-9]\d*)(\t\1){3}")):
            self.assertRegex(status, rf"(?m)^{name}:\t{value}$")
        usual = subprocess.run(NOBODY_S_NAMESPACE, capture_output=True, timeout=60).returncode == 0
        self.contains("pid-namespace" if usual else "cgroup")
        self.assertEqual(before, self.show("MainPID", "NRestarts"), self.said())

    def test_where_it_may_make_no_namespace_its_own_control_group_contains_them(self):
        self.systemd.install(f"{WORKER}.service.d/none.conf", "[Service]\nRestrictNamespaces=yes\n")
        self.start()
        self.contains("cgroup")

    def test_a_reload_and_a_kill_bring_it_back_and_the_next_run_passes(self):
        self.start()
        pids = self.show("MainPID")
        for times, command in enumerate(("reload", "kill --kill-whom=main --signal=KILL"), 2):
            self.systemd.sh(f"systemctl {command} {WORKER}")
            self.waits(times)
            pids += self.show("MainPID")
        self.assertEqual((3, ["2"]), (len(set(pids)), self.show("NRestarts")), self.said())
        self.passes(self.lab.sliceup("run", self.slice(hosts=1, rungs=[FACTS, SHELL])))

    def test_a_stop_during_a_rung_ends_its_program_and_the_run_says_so(self):
        self.start()
        run = self.lab.start("run", self.stuck())
        lab.wait_for(lambda: self.systemd.processes(WORKER).count("sleep 1111") == 2, lambda: f"the program:\n{run.out}\n{self.said()}", 60)
        self.systemd.sh(f"systemctl stop {WORKER}")
        self.assertEqual(["inactive", "success"], self.show("ActiveState", "Result"), self.said())
        self.assertNotIn("sleep 1111", self.systemd.processes())
        ended = run.end(60)
        self.assertEqual(1, ended.status, ended)
        self.assertRegex(ended.out, r"h0 lost: something outside ended its worker \(stopped: told to end by SIGTERM\)")


class TheGate(lab.LabTest):
    """The line for systemd of docs/guide/gate.md, other paths in it, in the unit of a job."""

    def setUp(self):
        super().setUp()
        self.systemd = pid1.Pid1(self.lab)
        self.addCleanup(self.systemd.close)
        line = re.search(r"(?m)^ExecStartPre=.*$", guide("gate"))[0]
        line = line.replace("/usr/bin/", "/usr/local/bin/").replace("/shared/", f"{pid1.HERE}/files/")
        self.systemd.install("job.service", f"[Service]\nType=oneshot\n{line}\nExecStart=touch {pid1.HERE}/files/ran\n")
        self.certificate, self.ran = self.lab.files / "gate.json", self.lab.files / "ran"
        ladder = self.lab.ladder("own.yaml", [FACTS])
        self.passes(self.lab.sliceup("gate", self.lab.slice(hosts=1, ladder=str(ladder)), "-o", self.certificate))

    def start(self, status):
        ended = self.systemd.run("systemctl", "start", "job")
        self.assertEqual((status, status == 0), (ended.status, self.ran.exists()), f"{ended}\n{self.systemd.journal('job')}")

    def tells(self, *words):
        """What `systemctl status` shows of the job and of the last lines that it wrote."""
        def status():
            return self.systemd.run("systemctl", "status", "--full", "job").out
        lab.wait_for(lambda: all(re.search(word, status()) for word in words), lambda: f"{words} in:\n{status()}", 20)

    def test_a_job_begins_with_a_good_certificate(self):
        self.start(0)
        self.tells("gate: good: 1 host of slice slice passed own; good until ")

    def test_a_job_does_not_begin_with_any_other_and_its_status_says_why(self):
        good, now = json.loads(self.certificate.read_text()), int(time.time())
        for changed, why in (({"passed_s": now - 9, "expires_s": now - 1}, "it expired "),
                             ({"hosts": [{"host": "h0", "boot_id": "0"}]}, "none of its hosts, or was started anew")):
            self.certificate.write_text(json.dumps({**good, **changed}))
            self.start(1)
            self.tells("ExecStartPre=.* gate --check .*status=1/FAILURE", why)
        self.certificate.unlink()
        self.start(1)
        self.tells("ExecStartPre=.* gate --check .*status=2", "gate.json' cannot be opened")
        self.certificate.write_text(json.dumps(good))
        self.start(0)


if __name__ == "__main__":
    unittest.main()
