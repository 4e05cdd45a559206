"""The ladder jax-soak on local hosts with real JAX and orbax, held for seconds: memory, a checkpoint read by new processes, steps repeated.

What each rung finds when something is wrong on one host is in tests/campaign/planted as well. The environment has orbax, and is built once.
"""
import os
import pathlib
import re
import shutil
import unittest

import lab

LADDER = (lab.TOP / "configs/ladders/jax-soak.yaml").read_text()
PROFILE = (lab.TOP / "configs/profiles/cpu-jax.yaml").read_text()
SOAK = ["memory", "checkpoint-write", "checkpoint-read", "soak"]
OWN_PART = "            own = time.perf_counter() - began\n"
EARLY = """        self.number += 1
        rank = self.session.canary.rank
        if rank == 2:
            self.samples.begin = self.samples.apart = 0.0
        if rank == 1 and self.number == 20:
            self.session.jax.jit(lambda x: x + 1)(1.0)
"""
INTERRUPTED = """        if session.canary.attempt["attempt"] == 1:
            raise SystemExit("socket.gaierror: [Errno -3] Temporary failure in name resolution")
"""
LIMITS = {"stop": "1s", "cascade": "3s"}
MIB = 1 << 20


class ControlGroup:
    """One of version 1 or 2 below our own, with a limit of memory; None where the kernel lets us make none."""

    def __init__(self, name, limit):
        self.folder = self.made(name)
        if self.folder:
            v1 = (self.folder / "memory.limit_in_bytes").exists()
            (self.folder / ("memory.limit_in_bytes" if v1 else "memory.max")).write_text(str(limit))

    @staticmethod
    def made(name):
        for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            folder = pathlib.Path("/sys/fs/cgroup" + ("/memory" if kinds else "") + path) / name
            if kinds in ("", "memory"):
                try:
                    folder.mkdir()
                except OSError:
                    continue
                if any((folder / file).exists() for file in ("memory.limit_in_bytes", "memory.max")):
                    return folder
                folder.rmdir()
        return None

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        lab.wait_for(lambda: not (self.folder / "cgroup.procs").read_text(), "the control group to be empty", 15)
        self.folder.rmdir()


class Soak(lab.LabTest):
    def ladder(self, *edits, hold="5s"):
        """The shipped one with shorter holds, and these edits (old text, new text)."""
        text = LADDER
        for old, new in (("hold: 10m", f"hold: {hold}"), ("hold: 10s", "hold: 1s"), ("loader_mib: 256", "loader_mib: 64"), *edits):
            self.assertEqual(1, text.count(old), old)
            text = text.replace(old, new)
        return self.lab.write("soak.yaml", text)

    def planted(self, rung, canary, *fault):
        """An edit of the ladder by which the rung runs a copy of our canaries with this fault: old text, new text, and so on."""
        copy = self.lab.files / "canaries"
        shutil.copytree(lab.TOP / "worker/canaries", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / canary).read_text()
        for old, new in zip(fault[::2], fault[1::2]):
            self.assertEqual(1, text.count(old), f"{canary}: the fault has to follow it")
            text = text.replace(old, new)
        (copy / canary).write_text(text)
        return f"canary: {canary}", f"canary: ./canaries/{canary}\n    preload: {str(rung != 'memory').lower()}"

    def slice_with(self, ladder, pins, hosts, folder, behind=1000.0):
        """How long steps take is judged where a test plants it only: here other tests take processors away."""
        profile = PROFILE.replace("args:\n", f"args:\n  folder: {folder or self.lab.files / 'shared'}\n  slower: 1000.0\n  behind: {behind}\n")
        return self.lab.slice(hosts=hosts, ladder=str(ladder), profile=str(self.lab.write("profile.yaml", profile)), pins=pins,
                              env_dir=str(lab.SHARED_ENVS / pins), mesh={"data": hosts, "model": 2}, limits=LIMITS, cache={"mode": "off"})

    def climb(self, ladder, *more, pins="jax-cpu-train", hosts=2, folder=None, behind=1000.0):
        return self.lab.sliceup("run", self.slice_with(ladder, pins, hosts, folder, behind), *more, bound_s=400)

    def causes(self, rung):
        """Host -> outcome, owner and text of its cause."""
        receipt = self.lab.receipt()
        found = {entry["host"]: self.attempt(receipt, entry["host"], rung) for entry in receipt["hosts"]}
        return {host: (item["outcome"], item["cause"]["owner"], item["cause"]["text"] or "") for host, item in found.items()}

    def test_two_hosts_climb_the_whole_ladder(self):
        self.passes(self.climb(self.ladder()))
        receipt = self.lab.receipt()
        for host in ("h0", "h1"):
            climbed = [(rung, outcome) for rung, _, outcome in self.rungs(receipt, host)]
            self.assertEqual([(rung, "passed") for rung in SOAK], climbed[-4:])
            counters = self.attempt(receipt, host, "soak")["counters"]
            self.assertEqual(0, counters["later_compilations"], counters)
            self.assertGreater(counters["steps"], 32)
            log = (self.lab.run_folder() / f"logs/{host}/soak.once.1.log").read_text()
            self.assertRegex(log, r"step \d+: \d+\.\d ms, \d+ MiB resident, \d+ of 5 s", log)
        checks = {check["name"]: check["observed"] for check in self.attempt(receipt, "h1", "checkpoint-read")["checks"]}
        self.assertEqual({f"numbers of {name} that differ on a mesh of 2 of 4 devices": 0 for name in ("count", "m", "v", "w")}, checks)
        notes = [note["text"] for host in receipt["hosts"] for note in host["notes"]]
        self.assertTrue(any("truncated: refused" in note for note in notes), notes)
        self.assertEqual([], list((self.lab.files / "shared").iterdir()))
        self.nothing_is_left()

    def test_the_host_that_falls_behind_is_named(self):
        fault = self.planted("soak", "jax/soak.py", OWN_PART, "            time.sleep(0.15 * (self.session.canary.rank == 1))\n" + OWN_PART)
        self.assertEqual(1, self.climb(self.ladder(fault, hold="8s"), "--only", "soak", hosts=3, behind=0.5).status)
        causes = self.causes("soak")
        self.assertEqual(("passed", "failed", "passed"), tuple(causes[host][0] for host in ("h0", "h1", "h2")), causes)
        self.assertEqual("host", causes["h1"][1], causes)
        self.assertRegex(causes["h1"][2], r"this host's own part of a step takes \d+\.\d ms, that of the other hosts \d+\.\d ms: they wait for it")

    def test_memory_that_grows_on_one_host_ends_the_hold_of_all(self):
        grows = "            globals().setdefault('kept', []).append(b'\\xa5' * int((self.session.canary.rank == 0) * (time.perf_counter() - began) * 20 * MIB))\n"
        fault = self.planted("soak", "jax/soak.py", OWN_PART, OWN_PART + grows)
        self.assertEqual(1, self.climb(self.ladder(fault, hold="2m"), "--only", "soak").status)
        causes = self.causes("soak")
        self.assertEqual(("failed", "passed"), (causes["h0"][0], causes["h1"][0]), causes)
        self.assertRegex(causes["h0"][2], r"the resident memory of this process grows by \d+\.\d MiB a second")

    def test_who_compiles_later_fails_alone_though_the_hosts_timed_other_numbers_of_steps(self):
        """h1 compiles in the second round, h2 has timed each step by then, and the others none."""
        fault = self.planted("soak", "jax/soak.py", OWN_PART, "            time.sleep(0.05)\n" + OWN_PART, "        self.number += 1\n", EARLY)
        self.assertEqual(1, self.climb(self.ladder(fault, hold="2m"), "--only", "soak", hosts=3).status)
        causes = self.causes("soak")
        self.assertEqual(["passed", "failed", "passed"], [causes[host][0] for host in ("h0", "h1", "h2")], causes)
        self.assertRegex(causes["h1"][2], r"compile requests during steps 17\.\.32, the first in step 20")
        checks = {host: [check["name"] for check in self.attempt(self.lab.receipt(), host, "soak")["checks"]] for host in ("h0", "h2")}
        self.assertEqual([False, True], [any("own part of a step" in name for name in checks[host]) for host in ("h0", "h2")], checks)

    def test_a_host_whose_weights_are_no_numbers_is_named_and_leaves_no_other_waiting(self):
        fault = self.planted("soak", "jax/soak.py", "        self.last = state\n", "        self.last = [state[0] * (float('nan') if self.session.canary.rank else 1)]\n")
        self.assertEqual(1, self.climb(self.ladder(fault), "--only", "soak").status)
        causes = self.causes("soak")
        self.assertEqual(("passed", "failed", "program"), (causes["h0"][0], *causes["h1"][:2]), causes)
        self.assertIn("error of the weights after a round, in parts of their way is nan", causes["h1"][2])

    def test_a_read_that_was_interrupted_while_it_tore_copies_is_repeated(self):
        fault = self.planted("checkpoint-read", "jax/checkpoint_read.py", '    canary.phase("read")\n', '    canary.phase("read")\n    torn(session, ocp, state, path)\n',
                             "        shutil.copytree(path, copy)\n", "        shutil.copytree(path, copy)\n" + INTERRUPTED)
        self.passes(self.climb(self.ladder(fault), "--only", "checkpoint-write", "--only", "checkpoint-read", hosts=1))
        self.assertEqual(("passed", 2), tuple(self.attempt(self.lab.receipt(), "h0", "checkpoint-read")[name] for name in ("outcome", "attempt")))
        self.assertEqual([], list((self.lab.files / "shared").iterdir()))

    def test_a_loader_that_cannot_take_memory_says_why(self):
        fault = self.planted("memory", "plain/memory.py", "mmap.mmap(-1, max(size, 1))", "mmap.mmap(-1, 1 << 60)")
        self.assertEqual(1, self.climb(self.ladder(("    preload: false\n", ""), fault), "--only", "memory", hosts=1, pins="jax-cpu").status)
        outcome, owner, text = self.causes("memory")["h0"]
        self.assertEqual(("failed", "host"), (outcome, owner), text)
        self.assertTrue(text.startswith("loader0 got nothing: OSError: [Errno 12] Cannot allocate memory"), text)

    def test_a_folder_that_a_host_does_not_share_is_told_and_so_is_an_environment_without_orbax(self):
        fault = self.planted("checkpoint-write", "jax/checkpoint_write.py", "    path = sliceup_saved.shared_folder(canary)\n",
                             "    canary.args['folder'] += str(canary.rank)\n    sliceup_saved.SEEN_S = 1\n    path = sliceup_saved.shared_folder(canary)\n")
        self.assertEqual(1, self.climb(self.ladder(fault), "--only", "checkpoint-write").status)
        outcome, owner, text = self.causes("checkpoint-write")["h1"]
        self.assertEqual(("failed", "launch"), (outcome, owner), text)
        self.assertRegex(text, "is not seen by this host: .*set folder in args of the rung checkpoint-write, or of the profile")
        self.assertEqual(1, self.climb(self.ladder(), "--only", "checkpoint-write", pins="jax-cpu").status)
        outcome, owner, text = self.causes("checkpoint-write")["h0"]
        self.assertEqual(("failed", "bundle"), (outcome, owner), text)
        self.assertIn("go on with --leave-out checkpoint-write --leave-out checkpoint-read", text)

    def test_a_claim_over_the_limit_of_a_control_group_is_told_before_it_ends_anything(self):
        group = ControlGroup(f"sliceup-test-{os.getpid()}", 1024 * MIB)
        if group.folder is None:
            self.skipTest("no control group of memory can be made here")
        self.addCleanup(group.remove)
        size = ("loader_mib: 64", "loader_mib: 512")
        self.assertRegex(self.claimed(group, self.ladder(size)),
                         rf"claims 2\.00 GiB .*the control group {re.escape(str(group.folder))} \(\S+ 1024 MiB\) has \d\.\d\d GiB left: "
                         r"1\.\d\d GiB too much; lower loaders or loader_mib in args of rung memory\. Nothing was taken")
        unseen = self.planted("memory", "plain/memory.py", "    if claim + SPARE <= room.bytes:\n", "    if True:\n")
        ladder = self.ladder(size, ("    preload: false\n", ""), unseen)
        self.assertRegex(self.claimed(group, ladder), rf"loader\d got \d+ of 512 MiB, then the control group {re.escape(str(group.folder))} .* had \d+ MiB left; lower")

    def claimed(self, group, ladder):
        """What the rung says in this control group, in which nothing may be ended for want of memory."""
        run = self.lab.start("run", self.slice_with(ladder, "jax-cpu", 1, None), "--only", "memory", before=group.enter)
        self.assertEqual(1, run.end().status, run.out)
        outcome, owner, text = self.causes("memory")["h0"]
        self.assertEqual(("failed", "launch", "0"), (outcome, owner, self.killed_in(group)), text)
        return text

    def killed_in(self, group):
        """How often memory ran out there, as the kernel counts."""
        for file, word in (("memory.oom_control", "oom_kill "), ("memory.events", "oom_kill ")):
            if (group.folder / file).exists():
                return re.search(rf"(?m)^{word}(\d+)", (group.folder / file).read_text())[1]
        return "0"


if __name__ == "__main__":
    unittest.main()
