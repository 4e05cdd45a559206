"""Variables that a profile gives to the programs of a scope, to each host, and lets them inherit from the worker."""
import json
import os
import socket
import unittest

import lab
import test_join

PROFILE = """profile: scoped
frontend: plain
backend: cpu
devices_per_host: 1
env: {SHARED: all, BOUNDS: "2,2,1"}
host_env:
  BOUNDS: "1,1,1"
  PEERS: null
  PLACE: "{rank} of {world} at {address}"
slice_env:
  PLACE: "{rank}/{world} {host} {addresses} {slice}/{slices}"
inherit: [PEERS, POD_ID, NOT_THERE]
"""
NAMES = ("SHARED", "BOUNDS", "PLACE", "PEERS", "POD_ID", "NOT_THERE", "OTHER")
PRINTS = "import json, os, sys\nprint(json.dumps({n: os.environ[n] for n in sys.argv[1:] if n in os.environ}))\n"


class Variables(lab.LabTest):
    def setUp(self):
        super().setUp()
        command = ["python3", str(self.lab.write("prints.py", PRINTS)), *NAMES]
        ladder = self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"},
                                                 {"id": "alone", "scope": "host", "command": command, "timeout": "20s"},
                                                 {"id": "all", "scope": "slice", "command": command, "timeout": "20s"}])
        hosts = [{"name": "a", "address": "127.0.0.1"}, {"name": "b", "address": "127.0.0.2"}]
        self.slice = self.lab.slice(hosts=hosts, ladder=str(ladder), profile=str(self.lab.write("scoped.yaml", PROFILE)))
        self.passes(self.lab.sliceup("run", self.slice, env=self.lab.env(PEERS="everybody", POD_ID="pod-7", OTHER="no")))

    def printed(self, rung, host):
        lines = self.passes(self.lab.sliceup("logs", "--rung", rung, "--host", host)).out.splitlines()
        return json.loads(next(line[line.index("{"):] for line in lines if "{" in line))

    def test_each_scope_and_host_gets_its_own(self):
        self.assertEqual({"SHARED": "all", "BOUNDS": "1,1,1", "PLACE": "1 of 2 at 127.0.0.2", "POD_ID": "pod-7"},
                         self.printed("alone", "b"))
        self.assertEqual({"SHARED": "all", "BOUNDS": "2,2,1", "PLACE": "0/2 a 127.0.0.1,127.0.0.2 0/1", "PEERS": "everybody",
                          "POD_ID": "pod-7"}, self.printed("all", "a"))
        policy = {host["host"]: host["policy"] for host in self.lab.receipt()["hosts"]}
        self.assertEqual({"SHARED": "all", "BOUNDS": "2,2,1"}, policy["a"]["launched"])
        self.assertEqual({"BOUNDS": "1,1,1", "PLACE": "0 of 2 at 127.0.0.1"}, policy["a"]["host_scope"])
        self.assertEqual({"PLACE": "1/2 b 127.0.0.1,127.0.0.2 0/1"}, policy["b"]["slice_scope"])
        self.assertEqual(["NOT_THERE", "PEERS", "POD_ID"], policy["b"]["inherited"])
        facts = self.lab.receipt()["hosts"][1]["facts"]
        self.assertEqual(["pod-7", None, None], [facts.get(f"env.{name}") for name in ("POD_ID", "OTHER", "SHARED")])

    def test_check_shows_them_as_they_are_written(self):
        shown = self.passes(self.lab.sliceup("check", self.slice)).out
        self.assertIn("  of programs of scope host:\n  BOUNDS=1,1,1\n  PLACE={rank} of {world} at {address}\n  PEERS not set, not inherited\n",
                      shown)
        self.assertIn("  inherited from the worker, where it has them: NOT_THERE, PEERS, POD_ID\n", shown)


# A script for torchrun, as tutorials have it, that knows nothing of us.
TORCHRUN = """import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
at = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
print(f"rank {rank} of {world} at {at[0]}:{at[1]}", flush=True)
if rank == 0:
    with socket.create_server(at) as server:
        for _ in range(world - 1):
            server.accept()
else:
    while socket.socket().connect_ex(at):
        pass
"""


class OfTorchrun(lab.LabTest):
    """A script for torchrun runs unchanged, with a port that is free."""

    def printed(self, scope, port):
        text = (lab.TOP / "configs/profiles/torchrun.yaml").read_text() + f"port: {port}\n"
        self.lab.write("train.py", TORCHRUN)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "train", "scope": scope, "command": ["python3", "./train.py"],
                                                  "timeout": "20s"}])
        slice_file = self.lab.slice(hosts=3, ladder=str(ladder), limits={"retry_wait": "10ms"},
                                    profile=str(self.lab.write("torchrun.yaml", text)))
        self.assertIn(f"  port {port} of the host of rank 0", self.lab.sliceup("check", slice_file).out)
        self.ended = self.lab.sliceup("run", slice_file)
        out = self.lab.sliceup("logs", "--rung", "train").out
        return [line for line in out.splitlines() if line.startswith("rank ")]

    @staticmethod
    def listener():
        """Somebody who listens at a port below those that the kernel gives out."""
        for port in range(23000, 24000, 3):
            try:
                return socket.create_server(("127.0.0.1", port)), port
            except OSError:
                continue

    def test_the_hosts_of_a_slice_meet_at_rank_0(self):
        held, port = self.listener()
        held.close()
        lines = self.printed("slice", port)
        self.passes(self.ended)
        self.assertEqual([f"rank {n} of 3 at 127.0.0.1:{port}" for n in range(3)], lines)
        alone = self.printed("host", port)
        self.passes(self.ended)
        self.assertEqual([f"rank 0 of 1 at 127.0.0.1:{port + n}" for n in range(3)], alone)

    def test_a_port_that_is_taken_is_told_and_the_next_attempt_has_another(self):
        held, port = self.listener()
        with held:
            lines = self.printed("slice", port)
        self.passes(self.ended)
        self.assertEqual([f"rank {n} of 3 at 127.0.0.1:{port + 1}" for n in range(3)], lines[-3:])
        self.assertIn(f"the port of {{port}}, {port}, is taken on this host", self.lab.sliceup("receipt", "--json").out)


class Shapes(lab.LabTest):
    """The sizes of a profile reach its canaries, and `check` shows them."""
    CANARY = """import json, os, socket
with socket.socket(fileno=int(os.environ["SLICEUP_FD"])) as channel, channel.makefile("rw") as lines:
    attempt = json.loads(lines.readline())
    print(json.dumps({"shapes": attempt.get("shapes")}), flush=True)
    print(json.dumps({"type": "done", "nonce": attempt["nonce"]}), file=lines, flush=True)
"""

    def seen(self, lines):
        text = "profile: sized\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n" + lines
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("one", str(self.lab.write("shown.py", self.CANARY)), scope="host",
                                                               env=False, backend="any")])
        self.slice = self.lab.slice(ladder=str(ladder), profile=str(self.lab.write("sized.yaml", text)), cache={"mode": "off"})
        self.passes(self.lab.sliceup("run", self.slice))
        printed = self.passes(self.lab.sliceup("logs", "--rung", "one")).out
        return json.loads(next(line[line.index("{"):] for line in printed.splitlines() if "{" in line))["shapes"]

    def test_a_canary_gets_the_sizes_of_the_profile(self):
        self.assertEqual({"batch": [8, 16], "length": [512], "padding": True},
                         self.seen("shapes: {batch: [8, 16], length: [512], padding: true}\n"))
        shown = self.passes(self.lab.sliceup("check", self.slice)).out
        self.assertIn("  sizes of batch: 8, 16; others are padded\n  sizes of length: 512; others are padded\n", shown)

    def test_without_them_it_chooses(self):
        self.assertIsNone(self.seen(""))


class Reported(lab.LabTest):
    """What the canaries report of their variables, and what is made of it."""
    HOSTS = [{"name": "a", "address": "127.0.0.1"}, {"name": "b", "address": "127.0.0.2"}]

    def climb(self, profile, *before):
        text = "profile: told\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n" + profile
        ladder = self.lab.ladder("ladder.yaml", [*before, self.lab.rung("one", "marks.py", args={"file": str(self.lab.files / "marks")})])
        self.slice = self.lab.slice(hosts=self.HOSTS, ladder=str(ladder), profile=str(self.lab.write("told.yaml", profile and text)),
                                    cache={"mode": "off"})
        self.passes(self.lab.sliceup("run", self.slice))

    def test_what_the_profile_makes_different_is_no_drift_and_nobody_edited_it(self):
        self.climb('env: {TPU_OF_HOST: "{rank} of {world}", TPU_SHARED: all}\nhost_env: {TPU_SHARED: one}\n')
        policy = self.lab.receipt()["hosts"][1]["policy"]
        self.assertEqual((["TPU_OF_HOST"], "1 of 2", "1 of 2"), (policy["by_host"], policy["launched"]["TPU_OF_HOST"], policy["observed"]["TPU_OF_HOST"]))
        self.assertEqual("one", policy["observed"]["TPU_SHARED"])
        self.assertNotIn("TPU_OF_HOST", self.lab.sliceup("drift").out)
        self.assertNotIn("sliceup had set it to", self.lab.sliceup("explain").out)

    def test_a_port_of_each_host_is_no_drift_of_facts_or_variables(self):
        self.climb('host_env: {TPU_PORT: "{port}", TPU_PLACE: "{rank}"}\nslice_env: {TPU_PORT: "{port}"}\nport: 29500\n',
                   {"id": "host-facts", "builtin": "facts"})
        told = self.lab.receipt()["hosts"][1]
        self.assertEqual(("29501", "29501", "29501"), (told["facts"]["profile.TPU_PORT"], told["policy"]["observed"]["TPU_PORT"],
                                                       told["policy"]["host_scope"]["TPU_PORT"]))
        ended = self.lab.sliceup("drift")
        self.assertNotIn("TPU_P", ended.out)
        self.assertEqual(0, ended.status, ended)
        self.assertNotIn("sliceup had set it to", self.lab.sliceup("explain").out)

    def test_a_change_of_one_scope_between_runs_is_drift(self):
        self.climb("host_env: {TPU_A: '1'}\n")
        self.lab.sliceup("drift", "--save", str(self.lab.root / "before.json"))
        self.climb("host_env: {TPU_A: '2'}\ninherit: [TPU_B]\n")
        told = self.lab.sliceup("drift", "--against", str(self.lab.root / "before.json")).out
        self.assertIn("launched TPU_A (scope host)", told)
        self.assertIn("launched TPU_B (inherited)", told)

    def test_a_value_that_is_too_long_for_one_host_is_found_before_the_run(self):
        profile = "profile: long\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\nenv: {ALL: '" + 4085 * "x" + "{host}'}\n"
        path = self.lab.slice(hosts=["a", "b" * 20, "c"], ladder="plain", profile=str(self.lab.write("long.yaml", profile)))
        ended = self.lab.sliceup("check", path)
        self.assertEqual(2, ended.status, ended)
        self.assertRegex(ended.err, r"the variable ALL of rung '\S+' has 4105 bytes with its placeholders filled for 3 hosts, expected at most 4096")


class Inherited(test_join.Joiners):
    """Variables of workers that came by themselves, as pods do, each with an environment of its own."""
    PROFILE = ("profile: pods\nfrontend: plain\nbackend: tpu\ndevices_per_host: 1\nhost_env: {TPU_HOST_BOUNDS: '1,1,1'}\n"
               "inherit: [TPU_WORKER_ID, MEGASCALE_SLICE_ID, TPU_WORKER_HOSTNAMES, TPU_HOST_BOUNDS]\n")
    ALL = {"TPU_WORKER_HOSTNAMES": "a,b,c", "TPU_HOST_BOUNDS": "3,1,1", "MEGASCALE_SLICE_ID": "0"}

    def climb(self, rungs, odd):
        """Host h2 has the variables `odd`; a value of None is not set there."""
        path = self.slice(hosts=3, rungs=rungs, profile=str(self.lab.write("pods.yaml", self.PROFILE)), limits={"cascade": "1s", "stop": "200ms"})
        self.passes(self.issue(path))
        for number in range(3):
            env = {**self.ALL, "TPU_WORKER_ID": str(number), **(odd if number == 2 else {})}
            words = [str(test_join.WORKER), "join", "--ticket", str(self.ticket(f"h{number}")), "--directory", str(self.place / f"h{number}")]
            worker = lab.Background(words, self.lab.env(**{name: value for name, value in env.items() if value is not None}))
            self.workers.append(worker)
            self.lab.running.append(worker)
        return self.lab.sliceup("run", path)

    FACTS = [{"id": "host-facts", "builtin": "facts"}, {"id": "all", "scope": "slice", "command": ["true"]}]

    def test_a_slice_whose_hosts_have_its_variables_runs(self):
        self.passes(self.climb(self.FACTS, {}))

    def test_a_host_of_another_slice_is_named_before_any_program_waits_for_it(self):
        ended = self.climb(self.FACTS, {"MEGASCALE_SLICE_ID": "1"})
        self.assertEqual(1, ended.status, ended)
        self.assertRegex(ended.out, r"h2 failed: has MEGASCALE_SLICE_ID 1, the 2 others have 0; whose: how it was launched \(certain\)")
        self.assertEqual([("host-facts", "once", "failed")], self.rungs_of("h2"))
        self.assertIn("all hosts wait for what it says", self.lab.sliceup("explain").out)

    def test_a_host_that_lacks_what_decides_is_named(self):
        ended = self.climb(self.FACTS, {"TPU_WORKER_ID": None})
        self.assertRegex(ended.out, r"h2 failed: has no TPU_WORKER_ID, the 2 others have one; whose: how it was launched \(certain\)")

    def test_a_hang_of_a_ladder_without_facts_is_explained(self):
        ended = self.climb([self.lab.rung("all", "hang.py", scope="slice", timeout="4s", backend="any")], {"TPU_WORKER_ID": "1"})
        self.assertEqual(1, ended.status, ended)
        self.assertRegex(ended.out, r"h2 failed: has TPU_WORKER_ID 1, which is the place of h1, expected 2, its place in the slice file; \S.*")
        self.assertEqual(["cascade", "cascade", "failed"], [self.rungs_of(host)[0][2] for host in ("h0", "h1", "h2")])

    def test_what_is_inherited_and_most_likely_not_meant_is_in_the_receipt(self):
        self.PROFILE = self.PROFILE.replace("TPU_WORKER_ID,", "TPU_WORKER_ID, XLA_IR_DEBUG, XLA_HLO_DEBUG, XLA_FLAGS,")
        told = {"XLA_IR_DEBUG": "1", "XLA_HLO_DEBUG": "0", "XLA_FLAGS": "--xla_dump_to=/tmp/x"}
        self.ALL = {**self.ALL, **told}
        path = self.climb([self.lab.rung("one", "marks.py", args={"file": str(self.lab.files / "marks")}, backend="any")], {"XLA_IR_DEBUG": None})
        self.passes(path)
        self.assertEqual([["XLA_FLAGS", "XLA_IR_DEBUG"]] * 2 + [["XLA_FLAGS"]],
                         [sorted(note["text"].split(";")[0].split()[-1] for note in host["notes"] if note["source"] == "launch policy")
                          for host in self.lab.receipt()["hosts"]])
        self.assertEqual(1, self.lab.sliceup("receipt").out.count("programs inherit XLA_IR_DEBUG; it is for debugging"))
        self.assertRegex(self.lab.sliceup("explain").out, r"! h\[0-1\]: .*; programs inherit XLA_IR_DEBUG; it is for debugging")

    def rungs_of(self, host):
        return self.rungs(self.lab.receipt(), host)


if __name__ == "__main__":
    unittest.main()
