"""Launcher join: workers come by themselves, each with the ticket of its host, and only with that."""
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import unittest

import lab
import schema
import unlucky
import yaml
from certificate import pair_of

WORKER = lab.BUILD / "bin" / "sliceup-worker"


def free_ports(n):
    """Ports that nobody has now; all are held until all are known, so that they differ."""
    held = [socket.socket() for _ in range(n)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Joiners(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.control, self.bulk = free_ports(2)
        self.tickets = self.lab.root / "tickets"
        self.place = self.lab.root / "hosts"
        self.workers = []
        self.addCleanup(self.end_workers)

    def end_workers(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill(signal.SIGTERM)
        for worker in self.workers:
            try:
                worker.end(30)
            except subprocess.TimeoutExpired:
                worker.kill_and_reap()
        lab.wait_for(lambda: not self.left_over(), "everything below the hosts' folders to be gone", 20)

    def left_over(self):
        return [entry.name for entry in pathlib.Path("/proc").iterdir()
                if entry.name.isdigit() and self.lab._is_under(entry, str(self.place))]

    def slice(self, hosts=2, rungs=None, **more):
        if rungs is not None:
            more["ladder"] = str(self.lab.ladder("ladder.yaml", rungs))
        coordinator = {"address": "127.0.0.1", "listen": "127.0.0.1",
                       "control_port": self.control, "bulk_port": self.bulk}
        names = [{"name": f"h{i}", "address": "127.0.0.1"} for i in range(hosts)]
        path = self.lab.slice(hosts=names, coordinator=coordinator, **{"cache": {"mode": "off"}, **more})
        path.write_text(path.read_text().replace("launcher: local", "launcher: join"))
        return path

    def issue(self, slice_path, *more):
        return self.lab.sliceup("ticket", slice_path, "--out", self.tickets, *more)

    def ticket(self, host):
        return self.tickets / f"{host}.ticket"

    def come(self, host, *more, ticket=None, env=None):
        words = [str(WORKER), "join", "--ticket", str(ticket or self.ticket(host)),
                 "--directory", str(self.place / host), *more]
        worker = lab.Background(words, env or self.lab.env())
        self.workers.append(worker)
        self.lab.running.append(worker)
        return worker

    def slow(self, seconds):
        return [self.lab.rung("low", "slow.py", args={"seconds": seconds, "phases": ["compile"]}),
                self.lab.rung("high", "plain/hello.py")]

    def keys_of(self, host):
        return json.loads(self.ticket(host).read_text())


class Tickets(Joiners):
    def test_a_ticket_is_private_and_says_where_the_coordinator_is(self):
        self.passes(self.issue(self.slice()))
        for host in ("h0", "h1"):
            self.assertEqual(0o600, stat.S_IMODE(self.ticket(host).stat().st_mode))
            ticket = self.keys_of(host)
            self.assertEqual((host, "slice", "127.0.0.1", self.control, self.bulk),
                             tuple(ticket[name] for name in ("host", "slice", "address", "control_port", "bulk_port")))
            public = self.lab.home / "slices" / "slice" / "hosts" / f"{host}.pub"
            self.assertEqual(ticket["public_key"], public.read_text().strip())
            self.assertNotIn(ticket["secret_key"], "".join(p.read_text() for p in public.parent.iterdir()))
        self.assertEqual(0o700, stat.S_IMODE((self.lab.home / "slices" / "slice").stat().st_mode))
        self.assertNotEqual(self.keys_of("h0")["secret_key"], self.keys_of("h1")["secret_key"])
        self.assertEqual(self.keys_of("h0")["coordinator_key"], self.keys_of("h1")["coordinator_key"])

    def test_tickets_are_replaced_only_when_that_is_asked_for(self):
        path = self.slice()
        self.passes(self.issue(path))
        before = {host: self.keys_of(host) for host in ("h0", "h1")}
        refused = self.issue(path)
        self.assertEqual(3, refused.status)
        self.assertIn("--renew", refused.err)
        elsewhere = self.lab.sliceup("ticket", path, "--out", self.lab.root / "others")
        self.assertEqual(3, elsewhere.status, "the keys are taken, wherever the tickets were written")
        self.assertEqual(before, {host: self.keys_of(host) for host in ("h0", "h1")})
        self.passes(self.issue(path, "--renew", "--hosts", "h1"))
        self.assertEqual(before["h0"], self.keys_of("h0"))
        self.assertNotEqual(before["h1"]["secret_key"], self.keys_of("h1")["secret_key"])
        self.assertEqual(before["h1"]["coordinator_key"], self.keys_of("h1")["coordinator_key"])
        self.passes(self.issue(path, "--renew"))
        self.assertNotEqual(before["h0"]["coordinator_key"], self.keys_of("h0")["coordinator_key"])

    def test_hosts_are_chosen_as_in_every_command(self):
        path = self.slice(hosts=4, groups={"even": "h[0,2]"})
        made = self.passes(self.issue(path, "--hosts", "@even,h3", "--exclude", "h2"))
        self.assertIn("2 tickets for h[0,3] of slice", made.out)
        self.assertEqual({"h0.ticket", "h3.ticket"}, set(os.listdir(self.tickets)))
        for words in (("--exclude", "h7"), ("--hosts", "@odd"), ("--hosts", "h1", "--exclude", "h1")):
            self.assertEqual(2, self.issue(path, *words).status, words)
        self.assertEqual({"h0.ticket", "h3.ticket"}, set(os.listdir(self.tickets)))

    def test_what_cannot_have_tickets_is_refused(self):
        local = self.lab.slice(name="local.yaml")
        refused = self.lab.sliceup("ticket", local, "--out", self.tickets)
        self.assertEqual(2, refused.status)
        self.assertIn("launcher: join", refused.err)
        path = self.slice()
        self.assertEqual(2, self.lab.sliceup("ticket", path).status)
        refused = self.issue(path, "--hosts", "h[1-2]")
        self.assertEqual(2, refused.status)
        self.assertIn("h2 is no host of slice slice", refused.err)
        self.assertFalse(self.tickets.exists())

    def test_a_run_without_tickets_names_the_command(self):
        path = self.slice()
        refused = self.lab.sliceup("run", path)
        self.assertEqual(3, refused.status)
        self.assertIn(f"sliceup ticket {path} --out DIR", refused.err)
        self.assertEqual([], self.lab.runs(), "a run that was not begun leaves nothing")
        self.passes(self.issue(path, "--hosts", "h0"))
        refused = self.lab.sliceup("run", path)
        self.assertEqual(3, refused.status)
        self.assertIn("host h1", refused.err)
        self.assertIn(f"sliceup ticket {path} --out DIR --hosts h1", refused.err)

    def test_a_ticket_that_others_may_read_is_refused(self):
        self.passes(self.issue(self.slice()))
        for mode in (0o640, 0o604, 0o660):
            self.ticket("h0").chmod(mode)
            ended = self.come("h0", "--wait", "20s").end(60)
            self.assertEqual(3, ended.status, ended)
            self.assertIn("other users may read it", ended.out)
        self.assertNotIn(self.keys_of("h0")["secret_key"], ended.out)

    def test_what_is_no_ticket_is_refused_and_not_quoted(self):
        path = self.lab.write("odd.ticket", "")
        path.chmod(0o600)
        good = {"sliceup-ticket": 1, "slice": "s", "host": "h0", "address": "127.0.0.1", "control_port": 1,
                "bulk_port": 2, "coordinator_key": "k" * 40, "public_key": "k" * 40, "secret_key": "sekret" + "k" * 34}
        odd = ["", "{", "[]", json.dumps({**good, "host": "../h0"}), json.dumps({**good, "control_port": 65536}),
               json.dumps({**good, "secret_key": "sekret"}), json.dumps({**good, "sliceup-ticket": 2}), "x" * 5000]
        for text in odd:
            path.write_text(text)
            ended = self.come("h0", "--wait", "20s", ticket=path).end(60)
            self.assertEqual(3, ended.status, (text, ended.out))
            self.assertNotIn("sekret", ended.out)

    def test_a_folder_that_others_may_write_to_is_refused(self):
        self.passes(self.issue(self.slice()))
        (self.place / "h0").mkdir(parents=True)
        (self.place / "h0").chmod(0o777)
        ended = self.come("h0", "--wait", "20s").end(60)
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.out, "mode 0777.*other users may write there: chmod go-w it")


class Clocks(Joiners):
    """Wall clocks of workers, and of the coordinator, held against each other."""

    def climb(self, ahead, coordinator=0):
        """A run over hosts whose clocks are that many seconds ahead; what it printed, and the offsets that they told in ms."""
        path = self.slice(hosts=len(ahead), rungs=[{"id": "facts", "builtin": "facts"}])
        self.passes(self.issue(path))
        for i, seconds in enumerate(ahead):
            self.come(f"h{i}", env=unlucky.env(self.lab, clock=seconds) if seconds else None)
        said = self.passes(self.lab.sliceup("run", path, "--plain", env=unlucky.env(self.lab, clock=coordinator))).out
        return said, [int(host["facts"]["clock.offset_ms"]) for host in self.lab.receipt()["hosts"]]

    def test_a_host_whose_clock_is_behind_is_named(self):
        said, offsets = self.climb([0, -3600, 0])
        self.assertEqual([0, 0], offsets[::2])
        self.assertAlmostEqual(-3600000, offsets[1], delta=400)
        self.assertRegex(said, r"(?m)\] h1: its clock is 1 h behind, give or take \d+ ms, against the coordinator's: see chronyc ")
        self.assertEqual(1, said.count("] h1: its clock is"), said)
        self.assertIn("\ndrift: h1: its clock is 1 h behind\n", said)
        drift = self.lab.sliceup("drift")
        self.assertEqual(1, drift.status, drift)
        self.assertEqual("h1: its clock is 1 h behind", drift.out.splitlines()[0])
        self.assertIn("next: see why nothing sets its clock: chronyc tracking, or timedatectl", drift.out)
        for command in ("drift", "receipt"):
            self.assertIn("not-zero", json.dumps(schema.document(self.lab.sliceup(command, "--json").out)))

    def test_all_but_one_can_be_wrong(self):
        _, offsets = self.climb([0, 7200, 7200, 7200])
        self.assertEqual(0, offsets[0])
        self.assertEqual("h[1-3]: its clock is 2 h ahead", self.lab.sliceup("drift").out.splitlines()[0])

    def test_where_all_are_off_it_may_be_the_coordinator(self):
        said, _ = self.climb([0, 0], coordinator=-86400)
        self.assertEqual(2, said.count("its clock is 1 d ahead, "), said)
        self.assertIn("where most hosts say so, the coordinator's clock may be the wrong one", said)
        drift = self.lab.sliceup("drift").out
        self.assertEqual("h[0-1]: its clock is 1 d ahead", drift.splitlines()[0])
        self.assertIn("next: most hosts are off by as much, so look at the coordinator's clock first", drift)

    def test_a_local_worker_has_the_coordinator_s_clock(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(ladder=str(self.lab.ladder("l.yaml", [{"id": "facts", "builtin": "facts"}])))))
        for host in self.lab.receipt()["hosts"]:
            self.assertEqual("0", host["facts"]["clock.offset_ms"])
            self.assertGreater(1000, int(host["facts"]["clock.offset_error_ms"]))


class Runs(Joiners):
    def test_workers_that_wait_serve_one_run_after_another(self):
        path = self.slice()
        self.passes(self.issue(path))
        for host in ("h0", "h1"):
            self.come(host, "--stay").wait_out("waits for a run", 30)
        for _ in range(2):
            self.passes(self.lab.sliceup("run", path))
            self.assertEqual("passed", self.lab.receipt()["outcome"])
        run = self.lab.run_folder().name
        self.assertTrue((self.place / "h1" / "runs" / run / "h1").is_dir())
        stands = os.readlink(f"/proc/{self.workers[1].process.pid}/cwd")
        self.assertEqual(str(self.place / "h1"), stands, "it keeps nothing of where it was started")
        for worker in self.workers:
            self.assertEqual(2, worker.out.count("joins run"), worker.out)
            worker.kill(signal.SIGTERM)
            self.assertEqual(0, worker.end(30).status)

    def test_the_slice_s_pair_is_a_certificate(self):
        path = self.slice()
        self.passes(self.issue(path))
        file = self.lab.home / "slices" / "slice" / "coordinator.key"
        public, _ = pair_of(file)
        self.assertEqual(self.keys_of("h0")["coordinator_key"], public)
        self.assertEqual(0o600, stat.S_IMODE(file.stat().st_mode))
        self.passes(self.issue(path, "--renew", "--hosts", "h1"))
        self.assertEqual(public, self.keys_of("h1")["coordinator_key"])
        for host in ("h0", "h1"):
            self.come(host)
        self.passes(self.lab.sliceup("run", path))
        real = file.rename(self.lab.root / "elsewhere.key")
        file.symlink_to(real)
        self.assertEqual(3, self.lab.sliceup("run", path).status, "a link in its place")
        file.unlink()
        shutil.copy(real, file)
        file.chmod(0o640)
        refused = self.lab.sliceup("run", path)
        self.assertEqual(3, refused.status)
        self.assertIn("other users may read it", refused.err)

    def test_a_worker_ends_with_its_run_and_may_come_late(self):
        path = self.slice()
        self.passes(self.issue(path))
        run = self.lab.start("run", path)
        lab.wait_for(lambda: self.lab.count("host-keyed") == 2, "the hosts to be expected", 30)
        for host in ("h0", "h1"):
            self.come(host)
        self.assertEqual(0, run.end().status, run.out)
        for worker in self.workers:
            self.assertEqual(0, worker.end(30).status, worker.out)

    def test_a_worker_stands_in_its_run_s_folder(self):
        path = self.slice(hosts=1, rungs=self.slow(3))
        self.passes(self.issue(path))
        worker = self.come("h0")
        run = self.lab.start("run", path)
        run.wait_out("low attempt 1 began", 60)
        stands = os.readlink(f"/proc/{worker.process.pid}/cwd")
        self.assertEqual(str(self.place / "h0" / "runs" / self.lab.run_folder().name / "h0"), stands)
        self.assertEqual(0, run.end().status, run.out)

    def test_a_resumed_coordinator_is_found_again_and_nothing_runs_twice(self):
        path = self.slice(rungs=self.slow(6))
        self.passes(self.issue(path))
        for host in ("h0", "h1"):
            self.come(host)
        run = self.lab.start("run", path)
        run.wait_out("low attempt 1 began", 60)
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the pass on record", 30)
        run.kill_and_reap()
        self.passes(self.lab.sliceup("resume"))
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual(["low", "high"], [rung for rung, _, _ in self.rungs(receipt, "h0")])
        for worker in self.workers:
            self.assertEqual(0, worker.end(30).status, worker.out)

    def test_workers_of_a_run_whose_coordinator_died_come_to_the_next_one(self):
        path = self.slice(rungs=self.slow(100), limits={"orphan": "5m", "exit": "10m"})
        self.passes(self.issue(path))
        for host in ("h0", "h1"):
            self.come(host, "--stay")
        run = self.lab.start("run", path)
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the first pass", 60)
        run.kill_and_reap()
        quick = self.slice(rungs=self.slow(0))
        self.passes(self.lab.sliceup("run", quick))
        for worker in self.workers:
            self.assertIn("the coordinator now has another run", worker.out)

    def test_a_renewed_ticket_leaves_the_old_one_outside(self):
        path = self.slice(limits={"join": "6s"})
        self.passes(self.issue(path))
        old = self.lab.write("old.ticket", self.ticket("h0").read_text())
        old.chmod(0o600)
        self.passes(self.issue(path, "--renew", "--hosts", "h0"))
        outside = self.come("h0", "--stay", ticket=old)
        for worker in (outside, self.come("h1", "--stay")):
            worker.wait_out("waits for a run", 30)
        refused = self.lab.sliceup("run", path)
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.out, r"h0 lost: its worker did not join")
        self.assertNotIn("joins run", outside.out)
        outside.kill(signal.SIGTERM)
        self.assertEqual(0, outside.end(30).status)
        self.come("h0", "--stay")
        self.passes(self.lab.sliceup("run", self.slice()))  # the same slice, that waits longer for whoever may come

    def test_the_last_started_worker_of_a_ticket_has_the_seat(self):
        path = self.slice(hosts=1)
        self.passes(self.issue(path))
        first = self.come("h0", "--stay")
        first.wait_out("waits for a run", 30)
        second = self.come("h0", "--stay")
        self.assertEqual(0, first.end(30).status, first.out)
        second.wait_out("waits for a run", 30)
        self.passes(self.lab.sliceup("run", path))

    def test_waiting_has_an_end_when_one_is_given(self):
        self.passes(self.issue(self.slice()))
        ended = self.come("h0", "--wait", "2s").end(60)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("there was no run for host h0", ended.out)
        self.assertIn(str(self.control), ended.out)

    def test_a_waiting_worker_ends_when_it_is_told_to(self):
        self.passes(self.issue(self.slice()))
        for more in ([], ["--stay"]):
            worker = self.come("h0", *more)
            worker.wait_out("waits for a run", 30)
            worker.kill(signal.SIGTERM)
            self.assertEqual(0, worker.end(30).status, worker.out)

    def test_usage_is_explained(self):
        for words in (["--ticket"], ["--ticket", "x", "--directory", "relative"], ["--ticket", "x", "--wait", "soon"],
                      ["--stay"], ["--ticket", "x", "--ever"]):
            done = subprocess.run([str(WORKER), "join", *words], env=self.lab.env(), capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(2, done.returncode, done)
            self.assertIn("--ticket FILE", done.stderr)


class Metadata(http.server.BaseHTTPRequestHandler):
    """As much of a TPU VM's metadata server as the start-up script asks for."""

    def do_GET(self):
        wanted = self.path == "/computeMetadata/v1/instance/attributes/agent-worker-number"
        good = wanted and self.headers["Metadata-Flavor"] == "Google"
        self.send_response(200 if good else 403)
        self.end_headers()
        self.wfile.write(self.server.number if good else b"")

    def log_message(self, *words):
        pass


class Deployed(Joiners):
    """What deploy/ and docs/guide/ give people to use, used."""

    def words(self, name, *arguments, env=None):
        worker = lab.Background([name, *arguments], env or self.lab.env())
        self.workers.append(worker)
        self.lab.running.append(worker)
        return worker

    def path_env(self, **more):
        return self.lab.env(PATH=f"{lab.BUILD / 'bin'}:{os.environ['PATH']}", **more)

    def test_the_systemd_unit_is_sound_and_its_command_works(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        text = (lab.TOP / "deploy/systemd/sliceup-worker@.service").read_text()
        here = text.replace("/usr/local/bin/sliceup-worker", str(WORKER)).replace("/etc/sliceup", str(self.tickets))
        here = here.replace("/var/tmp/sliceup --stay", f"{self.place / 'h0'} --stay")
        here = here.replace("User=sliceup", "User=root")
        unit = self.lab.write("sliceup-worker@.service", here)
        done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=120)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        path = self.slice(hosts=1)
        self.passes(self.issue(path))
        command = re.search(r"(?m)^ExecStart=(.*)$", here).group(1).replace("%i", "h0").split()
        self.words(*command).wait_out("waits for a run", 30)
        self.passes(self.lab.sliceup("run", path))

    def test_a_new_program_waits_for_the_end_of_the_run(self):
        """What `systemctl reload` sends: a worker that waits ends at once, one in a run with the run."""
        reload = re.search(r"(?m)^ExecReload=/bin/kill -(\w+) \$MAINPID$", (lab.TOP / "deploy/systemd/sliceup-worker@.service").read_text())
        told = getattr(signal, f"SIG{reload.group(1)}")
        go_on = self.lab.root / "go-on"
        path = self.slice(hosts=1, rungs=[{"id": "wait", "command": ["sh", "-c", f"until [ -e {go_on} ]; do sleep 0.1; done"]}])
        self.passes(self.issue(path))
        waiting = self.come("h0", "--stay")
        waiting.wait_out("waits for a run", 30)
        waiting.kill(told)
        self.assertEqual(0, waiting.end(30).status, waiting.out)
        worker = self.come("h0", "--stay")
        run = self.lab.start("run", path)
        lab.wait_for(lambda: self.lab.count("pass-began") == 1, "the first pass", 60)
        worker.kill(told)
        lab.wait_for(lambda: not self.pending(worker, told), "the signal to be taken", 20)
        self.assertIsNone(worker.process.poll(), worker.out)
        go_on.touch()
        self.assertEqual(0, run.end(60).status, run.out)
        self.assertEqual(0, worker.end(30).status, worker.out)
        self.assertEqual(1, worker.out.count("joins run"), worker.out)

    def pending(self, worker, number):
        status = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text()
        return int(re.search(r"ShdPnd:\s*(\w+)", status).group(1), 16) >> (number - 1) & 1

    def test_programs_are_contained_without_any_privilege(self):
        """What the unit leaves to a worker: another user, no capability, no way to gain one."""
        bare = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all",
                "--bounding-set=-all"]
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        if subprocess.run([*bare, str(WORKER), "--version"], capture_output=True, timeout=60).returncode != 0:
            self.skipTest("another user cannot run what was built here")
        if subprocess.run([*bare, "unshare", "--user", "--map-root-user", "--pid", "--fork", "true"],
                          capture_output=True, timeout=60).returncode != 0:
            self.skipTest("this system lets only root make namespaces")
        path = self.slice(hosts=1)
        self.passes(self.issue(path))
        self.lab.root.chmod(0o711)
        self.place.mkdir()
        for folder in (self.place, self.tickets, self.ticket("h0")):
            os.chown(folder, 65534, 65534)
        worker = self.words(*bare, str(WORKER), "join", "--ticket", str(self.ticket("h0")),
                            "--directory", str(self.place / "h0"))
        self.passes(self.lab.sliceup("run", path))
        self.assertEqual(0, worker.end(30).status, worker.out)
        self.assertIn("contained by: pid-namespace", worker.out)

    def containers(self, manifest, *names):
        jobset = yaml.safe_load((lab.TOP / "deploy/kubernetes" / manifest).read_text())
        self.assertEqual(("jobset.x-k8s.io/v1alpha2", "JobSet"), (jobset["apiVersion"], jobset["kind"]))
        jobs = {job["name"]: job["template"]["spec"] for job in jobset["spec"]["replicatedJobs"]}
        self.assertEqual(names, tuple(jobs))
        for job in jobs.values():
            self.assertEqual("Indexed", job["completionMode"])
            pod = job["template"]["spec"]
            mounted = {mount["name"] for container in pod["containers"] + pod.get("initContainers", [])
                       for mount in container.get("volumeMounts", [])}
            self.assertEqual(mounted, {volume["name"] for volume in pod["volumes"]})
            self.assertLessEqual({v["secret"]["defaultMode"] for v in pod["volumes"] if "secret" in v}, {0o400})
        self.assertEqual({"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
                          "cloud.google.com/gke-tpu-topology": "4x4"},
                         jobs["worker"]["template"]["spec"]["nodeSelector"])
        return {name: job["template"]["spec"]["containers"][0] for name, job in jobs.items()}

    def contained(self, container, **instead):
        """The container's own command, in its own environment but for the places."""
        env = {one["name"]: one["value"] for one in container["env"]}
        self.assertLessEqual(set(instead) - {"JOB_COMPLETION_INDEX"}, set(env))
        return self.words(*container["command"], *container["args"], env=self.path_env(**{**env, **instead}))

    def test_the_pods_of_the_jobset_climb_and_are_resumed(self):
        self.containers("gate.yaml", "coordinator", "worker", "train")     # its pods run in tests/campaign/pods
        containers = self.containers("jobset.yaml", "coordinator", "worker")
        path = self.slice()
        text = path.read_text().replace('"h0"', '"v6e-0"').replace('"h1"', '"v6e-1"')
        path.write_text(text.replace("slice: slice", "slice: v6e"))
        self.passes(self.issue(path))
        slice_keys = self.lab.home / "slices" / "v6e"
        keys = self.lab.root / "keys"       # as kubectl create secret --from-file puts them
        keys.mkdir()
        for file in (slice_keys / "coordinator.key", *(slice_keys / "hosts").iterdir()):
            shutil.copy(file, keys)
        for number in range(2):             # Secrets are mounted as links
            self.ticket(f"v6e-{number}").rename(self.tickets / f"real-{number}")
            self.ticket(f"v6e-{number}").symlink_to(f"real-{number}")
            self.contained(containers["worker"], JOB_COMPLETION_INDEX=str(number), TICKETS=str(self.tickets),
                           DIRECTORY=str(self.place / str(number) / "sliceup"))
        state = self.lab.root / "state"
        nothing = self.lab.root / "nothing"     # a Secret that lacks a host: the run is refused, and no harm done
        nothing.mkdir()
        for name in ("coordinator.key", "v6e-0.pub"):
            shutil.copy(keys / name, nothing)
        places = {"SLICEUP_HOME": str(state), "SLICE_FILE": str(path), "KEYS": str(keys)}
        refused = self.contained(containers["coordinator"], **{**places, "KEYS": str(nothing)}).end(60)
        self.assertEqual(3, refused.status, refused)
        first = self.contained(containers["coordinator"], **places).end(120)
        self.assertEqual(0, first.status, first)
        self.assertIn("climbed to the top", first.out)
        for worker in self.workers[:2]:
            self.assertEqual(0, worker.end(30).status, worker.out)
        again = self.contained(containers["coordinator"], **places).end(60)
        self.assertEqual(0, again.status, again)
        self.assertEqual(1, len(self.lab.runs(state)), "it was begun again instead of resumed")

    def test_the_start_up_script_takes_the_ticket_of_this_machine(self):
        if not shutil.which("curl"):
            self.skipTest("curl is not installed")
        path = self.slice()
        self.passes(self.issue(path))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join, 10)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        script = str(lab.TOP / "deploy/tpu-vm/startup.sh")
        env = self.path_env(SLICE_HOSTS="h", WORKER=str(WORKER), TICKETS=str(self.tickets),
                            GCE_METADATA_HOST=f"127.0.0.1:{server.server_port}")
        for number, sentence in ((b"7", "h7.ticket is missing"), (b"1; reboot", "is not a number"),
                                 (b"", "is not a number")):
            server.number = number
            ended = self.words("sh", script, env=env).end(60)
            self.assertEqual(1, ended.status, ended)
            self.assertIn(sentence, ended.out)
        for number in range(2):
            server.number = str(number).encode()
            worker = self.words("sh", script, env={**env, "DIRECTORY": str(self.place / str(number))})
            worker.wait_out("waits for a run", 60)
        self.passes(self.lab.sliceup("run", path))

    def test_the_slice_files_of_the_guides_hold_and_their_tickets_are_made(self):
        for name in ("join", "kubernetes", "tpu-vm"):
            text = (lab.TOP / "docs" / "guide" / f"{name}.md").read_text()
            blocks = re.findall(r"(?s)```yaml\n(.*?)```", text)
            self.assertEqual(1, len(blocks), name)
            path = self.lab.write("slice.yaml", blocks[0])
            checked = self.passes(self.lab.sliceup("check", path))
            self.assertNotRegex(checked.err, "slice.yaml.*warning")
            self.assertIn("sliceup ticket slice.yaml --out tickets\n", text)
            shutil.rmtree(self.lab.home / "slices", ignore_errors=True)
            shutil.rmtree(self.tickets, ignore_errors=True)
            for more in re.findall(r"`?sliceup ticket slice.yaml --out tickets([^`\n]*)`?", text):
                self.passes(self.issue(path, *more.split()))
            self.assertEqual({f"v6e-{n}.ticket" for n in range(4)}, {p.name for p in self.tickets.iterdir()})

    def test_the_commands_that_the_guides_name_exist(self):
        for name in ("join", "kubernetes", "tpu-vm"):
            text = (lab.TOP / "docs" / "guide" / f"{name}.md").read_text()
            code = "\n".join(re.findall(r"(?s)```sh\n(.*?)```", text))
            for command in set(re.findall(r"(?m)(?:^|[^-\w/])sliceup ([a-z][a-z-]+)", code)):
                self.passes(self.lab.sliceup(command, "--help"))
            for options in re.findall(r"(?m)^sliceup-worker join (.*)$", code):
                for option in re.findall(r"--[a-z]+", options):
                    self.assertIn(option, self.worker_usage())

    @staticmethod
    def worker_usage():
        return subprocess.run([str(WORKER), "join", "--help"], capture_output=True, text=True, timeout=60).stderr


if __name__ == "__main__":
    unittest.main()
