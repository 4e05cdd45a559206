"""Real Slurm: slurmctld, a slurmd on each of four hosts of a netlab, munge between them (tests/lib/slurm_lab.py).

docs/guide/slurm.md is executed as it stands: its YAML files are saved, its commands run in their order."""
import re
import shutil
import subprocess
import unittest

import lab
import netlab
import slurm_lab

GUIDE = lab.TOP / "docs" / "guide" / "slurm.md"
BLOCK = re.compile(r"^```(yaml|sh)\n(.*?)^```$", re.M | re.S)


class Slurm(netlab.NetLabTest):
    @classmethod
    def setUpClass(cls):
        cls.netlab = slurm_lab.SlurmLab(4)
        cls.addClassCleanup(cls.netlab.close)

    def setUp(self):
        super().setUp()
        lab.wait_for(self.lab.all_idle, "every Slurm node to be idle", 60)

    def slice(self, hosts="h[0-3]", ladder="plain", limits=None, deadline="60s", **more):
        settings = {"slice": "slice", "launcher": "slurm", "hosts": hosts, "start": {"directory": netlab.DIRECTORY, "deadline": deadline},
                    "profile": "plain", "ladder": ladder, "cache": {"mode": "off"},
                    "limits": {**netlab.LIMITS, "join": "90s", **(limits or {})}, **more}
        return self.lab.write_settings("slice.yaml", settings)

    def shell(self, text, bound_s=200):
        """A shell on the node, in the folder of the guide's files, with sliceup in its PATH."""
        env = self.lab.env()
        env["PATH"] = f"{lab.BUILD / 'bin'}:{env['PATH']}"
        done = subprocess.run([*self.lab.enter(), "sh", "-euxc", f"cd {self.lab.files}\n{text}"], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=bound_s)
        return lab.Lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def empty(self):
        """No process of a run is left on a host, and no job in the queue."""
        self.nothing_is_left(30)
        try:
            lab.wait_for(lambda: not self.lab.node_run("squeue", "--noheader").stdout.strip(), "the queue to be empty", 30)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.lab.node_run('squeue').stdout}") from None


class OneCommand(Slurm):
    def exec(self, *words):
        return self.lab.sliceup("exec", "--launcher", "slurm", "--directory", netlab.DIRECTORY, *words)

    def test_it_runs_as_a_job_step_on_each_host_and_ends_with_it(self):
        ended = self.exec("-w", "h[0-3]", "--", "sh", "-c", "hostname; exit $((SLICEUP_RANK == 2))")
        self.assertEqual((ended.status, ended.out), (1, "\n".join(f"h{n}:\nh{n}\n" for n in range(4))), ended)
        self.assertEqual(ended.err, "h2: exit status 1\nexit status 0 on 3 of 4 hosts\n")
        stopped = self.exec("-w", "h[0-1]", "--timeout", "1s", "--", "sleep", "1000000")
        self.assertIn("h[0-1] (2 hosts): still running after 1 s", stopped.err, stopped)
        self.empty()


class Guide(Slurm):
    def test_every_command_of_the_guide_does_what_it_says(self):
        ran = []
        for kind, text in BLOCK.findall(GUIDE.read_text()):
            if kind == "yaml":
                name = re.search(r"^slice: (\S+)$", text, re.M)[1]
                self.lab.write(f"{name}.yaml", text)
                continue
            ended = self.passes(self.shell(text))
            ran.append(ended.out)
            self.empty()
        self.assertEqual(3, len(ran), "the guide has other commands than this test knows")
        whole, without, by_name = ran
        self.assertIn("3 of 3 rungs passed on h[0-3]", whole)
        self.assertIn("3 of 3 rungs passed on h[0-1,3]", without)
        self.assertIn("3 of 3 rungs passed on h[0-3]", by_name)

    def test_each_host_ran_on_its_own_node(self):
        self.passes(self.lab.sliceup("run", self.slice()))
        receipt = self.lab.receipt()
        self.assertEqual({f"h{number}": f"h{number}" for number in range(4)},
                         {host["host"]: host["facts"]["hostname"] for host in receipt["hosts"]})
        self.assertEqual({"proved"}, {item["proof"] for item in receipt["reductions"]})
        self.empty()


class Gate(Slurm):
    def test_a_node_that_fails_its_gate_is_drained_by_on_end(self):
        """docs/guide/gate.md, with its words."""
        page = (lab.TOP / "docs/guide/gate.md").read_text()
        drain = self.lab.write("drain", re.search(r"^#!/bin/sh\n(?!exec).*?(?=^```)", page, re.M | re.S)[0])
        drain.chmod(0o755)
        odd = {"id": "odd", "command": ["sh", "-c", 'test "$SLICEUP_HOST" != h2 || { echo "RuntimeError: /dev/accel0: Device or resource busy" >&2; exit 3; }']}
        ladder = self.lab.ladder("own.yaml", [{"id": "host-facts", "builtin": "facts"}, odd])
        slice_file = self.slice(ladder=str(ladder), on_end=["./drain"])
        ended = self.shell(f"sliceup gate {slice_file} || echo refused $?")
        self.addCleanup(self.lab.node_run, "scontrol", "update", "NodeName=h2", "State=RESUME")
        self.assertRegex(ended.out, r"gate: refused: .*h2 failed: RuntimeError: /dev/accel0.*\nrefused 1\n")
        state = self.lab.node_run("sinfo", "--noheader", "--Node", "--format=%N %T %E").stdout
        self.assertRegex(state, r"(?m)^h2 drain\w* sliceup \w{32}$")
        self.assertEqual({"h0", "h1", "h3"}, set(re.findall(r"(?m)^(h\d) idle none$", state)), state)
        self.empty()


    def test_a_node_without_a_certificate_runs_no_job(self):
        """The guide's prolog."""
        page, certificate = (lab.TOP / "docs/guide/gate.md").read_text(), self.lab.files / "gate.json"
        prolog = re.search(r"^#!/bin/sh\nexec .* gate --check .*\n", page, re.M)[0]
        program = shutil.copy(lab.BUILD / "bin" / "sliceup", self.lab.files)  # hosts do not see the build folder
        prolog = prolog.replace("/usr/bin/sliceup", program).replace("/shared/gate.json", str(certificate))
        ladder = self.lab.ladder("own.yaml", [{"id": "host-facts", "builtin": "facts"}])
        slice_file = self.slice(ladder=str(ladder))
        line = re.search(r"^sliceup gate slice.yaml .*gate.new.*\n", page, re.M)[0].replace("slice.yaml", str(slice_file)).replace("/shared", str(self.lab.files))
        self.assertIn("gate: passed", self.shell(line).out)
        self.addCleanup(self.lab.set_prolog, "#!/bin/sh\n")
        self.lab.set_prolog(prolog)
        self.assertEqual("h1\n", self.lab.node_run("srun", "-w", "h1", "hostname").stdout)
        self.assertIn("gate: passed", self.shell(line).out)  # and again, while jobs begin
        certificate.unlink()
        job = self.lab.node_run("sbatch", "--parsable", "-w", "h1", "--output=/dev/null", "--wrap", "hostname").stdout.strip()
        self.addCleanup(self.lab.node_run, "scontrol", "update", "NodeName=h1", "State=RESUME", check=False)
        self.addCleanup(self.lab.node_run, "scancel", job, check=False)
        lab.wait_for(lambda: re.search(r"(?m)^h1 drain\w* Prolog error", self.lab.node_run("sinfo", "--noheader", "--Node", "--format=%N %T %E").stdout),
                     "the node to be drained by its prolog", 60)
        lab.wait_for(lambda: "JobHeld" in (told := self.lab.node_run("squeue", "--noheader", "-j", job, "--format=%r").stdout) or "held" in told,
                     "the job to be queued again, held", 60)


class Trouble(Slurm):
    def sentence(self, ended):
        self.assertEqual(3, ended.status, ended)
        sentence = self.lab.receipt()["headers"][0]["sentence"]
        self.assertEqual(1, len(sentence.splitlines()))
        return sentence

    def test_a_partition_that_does_not_exist_is_one_clear_sentence(self):
        ended = self.lab.sliceup("run", self.slice(slurm={"partition": "nowhere"}), bound_s=120)
        sentence = self.sentence(ended)
        self.assertRegex(sentence, r"h\[0-3\] blocked: .*(?i:invalid partition)")
        self.assertEqual({"blocked": "h[0-3]"}, self.lab.receipt()["ladder"][0]["hosts_by_outcome"])
        self.empty()

    def test_a_partition_that_is_down_is_given_up_at_the_deadline(self):
        ended = self.lab.sliceup("run", self.slice(slurm={"partition": "closed"}, deadline="5s"), bound_s=120)
        sentence = self.sentence(ended)
        self.assertRegex(sentence, r"deadline of 5 s .*start\.deadline.* waiting for Slurm to start a job step")
        self.assertIn("h[0-3] blocked: ", sentence, "each host had a job of its own, and yet it is one cause")
        self.assertRegex(sentence, r"last output: srun: job queued")
        self.assertEqual(0, self.lab.count("host-joined"))
        self.empty()

    def test_hosts_from_slurm_outside_an_allocation_is_refused_at_once(self):
        ended = self.lab.sliceup("check", self.slice(hosts={"from": "slurm"}))
        self.assertEqual(2, ended.status, ended)
        self.assertIn("SLURM_JOB_NODELIST", ended.out + ended.err)

    def running(self):
        rung = {"id": "slow", "command": ["sleep", "300"], "timeout": "10m"}
        ladder = self.lab.ladder("slow.yaml", [rung])
        run = self.lab.start("run", self.slice(ladder=str(ladder), limits={"lost": "6s", "orphan": "9s", "exit": "15s"}))
        lab.wait_for(lambda: run.process.poll() is not None or (self.lab.count("pass-began") and all(
            any(words[0] == "sleep" for words in host.processes().values()) for host in self.lab.hosts)),
                     lambda: f"the program on every host; the run said:\n{run.out}", 90)
        self.assertIsNone(run.process.poll(), run.out)
        return run

    def test_a_cancelled_job_is_lost_or_cancelled_on_its_host(self):
        run = self.running()
        jobs = dict(line.split() for line in self.lab.node_run("squeue", "--noheader", "--format=%N %i").stdout.splitlines())
        self.lab.node_run("scancel", jobs["h1"])
        run.wait_out(r"h1.*(lost|ended)", 40)
        run.kill(2)
        run.end(60)
        attempt = self.attempt(self.lab.receipt(), "h1", "slow")
        self.assertIn(attempt["outcome"], ("lost", "cancelled"), attempt)
        self.empty()

    def test_a_killed_coordinator_leaves_nothing_behind(self):
        run = self.running()
        run.kill_and_reap()
        self.empty()

    def test_cancel_leaves_nothing_behind(self):
        run = self.running()
        run.kill(2)
        self.assertEqual(130, run.end(60).status, run.out)
        self.empty()


if __name__ == "__main__":
    unittest.main()
