"""Programs that hang, that hang after an error, and that the kernel kills for lack of memory: what is told of their end."""
import os
import pathlib
import re
import unittest

import lab
import schema

LIMITS = {"stop": "200ms", "cascade": "1s"}
HELPED = """import sliceup_canary, threading
def wait_for_all():
    threading.Event().wait()
def body(canary):
    canary.phase("step")
    wait_for_all()
sliceup_canary.run(body)
"""
WOKEN = """import ctypes, sliceup_canary
def body(canary):
    canary.phase("step")
    ctypes.CDLL(None).sleep(900)    # any signal ends it early
sliceup_canary.run(body)
"""
PLAIN = """import time
def inner():
    time.sleep(900)
def outer(): inner()
print("loading")
outer()
"""
ODD = """import os, time
def wait_for_lock(): time.sleep(900)
def wait_for_peers(): time.sleep(900)
print("loading")
wait_for_lock() if os.environ["SLICEUP_HOST"] == "h1" else wait_for_peers()
"""
RAISES = """import threading, time
threading.Thread(target=time.sleep, args=(900,)).start()
raise ValueError("shapes differ")
"""
HOG_MIB = "1200"
HOG = """import sys
hog = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(hog), 4096): hog[at] = 1
print("has it all")
"""


class Ends(lab.LabTest):
    def climb(self, rung, hosts=1, group=None, **more):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "rung", "timeout": "2s", **rung}])
        words = ["run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=LIMITS, **more)]
        if not group:
            return self.lab.sliceup(*words)
        inside = f'echo $$ > "{group / "cgroup.procs"}"; exec "$@"'
        background = lab.Background(["sh", "-c", inside, "sh", str(lab.SLICEUP), *map(str, words)], self.lab.env())
        self.lab.running.append(background)
        return background.end()

    def cause(self, host="h0"):
        return self.attempt(self.lab.receipt(), host, "rung")["cause"]

    def python(self, name, text, *words):
        return {"command": ["python3", "-u", str(self.lab.write(name, text)), *words]}


class Hangs(Ends):
    def test_a_canary_with_the_helper_shows_the_stacks_of_its_threads(self):
        ended = self.climb({"canary": str(self.lab.write("helped.py", HELPED))})
        self.assertEqual(1, ended.status, ended)
        cause = self.cause()
        lines = cause["evidence"].splitlines()
        self.assertRegex(cause["text"], r"^still in phase step after 2 s; stopped in helped\.py:3 wait_for_all \(\), "
                                        r"in threading\.py:\d+ wait \(\), sleeping in futex$")
        self.assertRegex(lines[0], r'^main thread: File ".*threading\.py", line \d+ in wait$')
        self.assertRegex(lines[1], r'^called from: File ".*helped\.py", line 3 in wait_for_all$')
        self.assertRegex(lines[2], r'^called from: File ".*helped\.py", line 6 in body$')
        self.assertIn("main thread sleeping in futex", cause["evidence"])
        logs = self.passes(self.lab.sliceup("logs", "--rung", "rung")).out
        self.assertRegex(logs, r"\[sliceup\] the program is stopped: the attempt exceeded its time limit of 2 s in phase step; its threads:\n"
                               r"\[sliceup\] \S+: main thread sleeping in futex")
        self.assertRegex(logs, r'Current thread 0x\w+ .*\n(\[sliceup\]   File .*\n)+?\[sliceup\]   File ".*helped\.py", line 3 in wait_for_all')
        self.assertIn("in wait_for_all", self.lab.sliceup("explain").out)

    def test_a_program_without_it_shows_what_it_waits_in_and_where_the_interrupt_met_it(self):
        ended = self.climb(self.python("plain.py", PLAIN), hosts=2)
        self.assertEqual(1, ended.status, ended)
        for host in ("h0", "h1"):
            lines = self.cause(host)["evidence"].splitlines()
            self.assertRegex(lines[0], r'^main thread: File ".*plain\.py", line 3, in inner$')
            self.assertRegex(lines[1], r'^called from: File ".*plain\.py", line 4, in outer$')
            self.assertRegex(lines[3], r"^\S+: main thread sleeping in clock_nanosleep")
        self.assertIn("[sliceup] ", self.passes(self.lab.sliceup("logs", "--rung", "rung")).out)

    def test_who_holds_up_the_others_is_told_live_and_in_the_end_and_no_parts_are_run(self):
        """Four of them: one sleeps, and the others wait in what looks like a runtime by its folder."""
        (self.lab.files / "site-packages/jax").mkdir(parents=True)
        runtime = self.lab.write("site-packages/jax/wait.py", "import time\ndef wait():\n    time.sleep(900)\n")
        lags = f"""import os, sys, time, sliceup_canary
sys.path.insert(0, {str(runtime.parent)!r})
import wait
def late():
    time.sleep(900)
def body(canary):
    canary.phase("step")
    print("step 1", flush=True)
    late() if canary.attempt["rank"] == 2 else wait.wait()
sliceup_canary.run(body)
"""
        rung = {"id": "rung", "canary": str(self.lab.write("lags.py", lags)), "scope": "slice", "timeout": "25s"}
        ladder = self.lab.ladder("ladder.yaml", [rung])
        run = self.lab.start("run", self.lab.slice(hosts=4, ladder=str(ladder), limits=LIMITS, cache={"mode": "off"}))
        where = r"h2 stands in lags\.py:5 late \(\), sleeping in clock_nanosleep; h\[0-1,3\] "
        run.wait_out(rf"\] suspect: {where}wait for it in jax")
        stacks = self.passes(self.lab.sliceup("stacks")).out
        self.assertRegex(stacks, r"(?m)^h2: lags\.py:5 late \(\), sleeping in clock_nanosleep$")
        self.assertRegex(stacks, rf"(?m)^the odd one out now: {where}")
        told = schema.document(self.passes(self.lab.sliceup("stacks", "--json")).out)
        self.assertEqual([("h2", 1), ("h[0-1,3]", 3)], [(group["hosts"], group["count"]) for group in told["groups"]])
        self.assertRegex(told["groups"][1]["frames"][0], r'lags\.py", line 9 in body$')
        self.assertRegex(told["groups"][1]["frames"][-1], r'site-packages/jax/wait\.py", line 3 in wait$')
        self.assertRegex(told["sentence"], rf"^the odd one out now: {where}")
        self.assertEqual(1, run.end().status)
        receipt = self.lab.receipt()
        causes = [self.attempt(receipt, f"h{i}", "rung") for i in range(4)]
        self.assertEqual(["cascade", "cascade", "timed-out", "cascade"], [cause["outcome"] for cause in causes])
        self.assertRegex(causes[2]["cause"]["text"], r"^still in phase step after 25 s; stopped in lags\.py:5 late \(\), sleeping in clock_nanosleep; h\[0-1,3\] ")
        self.assertNotIn("isolation", run.out)

    def test_who_sleeps_in_its_own_file_while_all_others_complained_is_the_cause_and_no_parts_are_run(self):
        text = """import os, time
if os.environ["SLICEUP_HOST"] == "h1": time.sleep(900)
class DistStoreError(Exception): pass
raise DistStoreError("wait timeout after 40000ms, keys: /default_pg/0//cpu//0/0")
"""
        ended = self.climb({**self.python("late.py", text), "scope": "slice", "timeout": "60s"}, hosts=3, cache={"mode": "off"})
        self.assertEqual(1, ended.status, ended)
        self.assertEqual("others waited in vain, and this one stood in late.py:2, sleeping in clock_nanosleep", self.cause("h1")["text"])
        self.assertEqual("cascade", self.attempt(self.lab.receipt(), "h0", "rung")["outcome"])
        self.assertNotIn("run by themselves", ended.out)

    def test_where_each_is_held_by_something_of_its_own_no_parts_are_run(self):
        ended = self.climb({**self.python("asleep.py", "import time\ntime.sleep(900)\n"), "scope": "slice"}, hosts=3, cache={"mode": "off"})
        self.assertEqual(1, ended.status, ended)
        self.assertIn("stopped in asleep.py:2, sleeping in clock_nanosleep", self.cause("h1")["text"])
        self.assertNotIn("run by themselves", ended.out)

    def test_of_plain_programs_that_all_hang_the_odd_one_is_told_so(self):
        self.assertEqual(1, self.climb(self.python("odd.py", ODD), hosts=3).status)
        self.assertRegex(self.cause("h1")["text"], r"stopped in odd.py:2 wait_for_lock \(\), .*; h\[0,2\] stand in odd.py:3 wait_for_peers \(\)")
        self.assertRegex(self.cause("h1")["next"], r"^sliceup logs [0-9a-f]{8} --rung rung --hosts h1$")
        self.assertNotIn("h1", self.cause("h0")["text"])
        shell = 'test $SLICEUP_HOST = h1 && echo waiting for a lock || echo waiting for peers; sleep 900; true'
        self.assertEqual(1, self.climb({"command": ["sh", "-c", shell]}, hosts=3).status)
        self.assertIn("; h[0,2] printed last: waiting for peers", self.cause("h1")["text"])
        self.assertEqual(1, self.climb({"command": ["sh", "-c", "test $SLICEUP_HOST = h1 && echo waiting; sleep 900; true"]}, hosts=3).status)
        self.assertNotIn("printed last", self.cause("h0")["text"] + self.cause("h1")["text"])

    def test_one_that_the_look_at_it_woke_has_not_passed(self):
        ended = self.climb({"canary": str(self.lab.write("woken.py", WOKEN))})
        self.assertEqual(1, ended.status, ended)
        attempt = self.attempt(self.lab.receipt(), "h0", "rung")
        self.assertEqual("timed-out", attempt["outcome"], attempt)
        self.assertRegex(attempt["cause"]["text"], "^still in phase step after 2 s; ")

    def test_an_error_that_was_printed_is_the_cause_of_the_hang_after_it(self):
        ended = self.climb(self.python("raises.py", RAISES))
        self.assertEqual(1, ended.status, ended)
        cause = self.cause()
        self.assertEqual("failed", self.attempt(self.lab.receipt(), "h0", "rung")["outcome"])
        self.assertRegex(cause["text"], r"^printed ValueError and then hung: still running after 2 s; stopped in threading\.py:")
        self.assertEqual("ValueError: shapes differ", cause["evidence"].splitlines()[0])
        self.assertIn("printed ValueError and then hung", ended.out)

    def test_a_host_that_the_others_wait_for_shows_where_it_is(self):
        rung = self.lab.rung("rung", "awaited.py", scope="slice", timeout="3s", args={"host": "h1"})
        ended = self.climb(rung, hosts=2, cache={"mode": "off"})
        self.assertEqual(1, ended.status, ended)
        self.assertIn("awaited.py", self.cause("h1")["evidence"])
        self.assertNotIn("[sliceup]", self.passes(self.lab.sliceup("logs", "--rung", "rung", "--host", "h0")).out)


class Kills(Ends):
    """A cgroup in which the coordinator, the worker and its program run. Sanitizers need memory of their own."""
    LIMIT = (512 if lab.sanitized() else 64) << 20

    def group(self, limit=LIMIT):
        former = pathlib.Path("/sys/fs/cgroup/memory")
        path = (former if former.is_dir() else pathlib.Path("/sys/fs/cgroup")) / f"sliceup-test-{os.getpid()}"
        try:
            path.mkdir()
            self.addCleanup(self.remove, path)
            (path / ("memory.limit_in_bytes" if former.is_dir() else "memory.max")).write_text(str(limit))
            swap = path / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        except OSError as error:
            raise unittest.SkipTest(f"no cgroup with a memory limit can be made here: {error}")
        return path

    def remove(self, path):
        lab.wait_for(lambda: not (path / "cgroup.procs").read_text(), f"{path} to be empty", 20)
        path.rmdir()

    def test_a_program_that_the_kernel_killed_for_memory_is_told_so(self):
        group = self.group()
        for argv in (["python3", str(self.lab.write("hog.py", HOG)), HOG_MIB],
                     ["sh", "-c", f"python3 {self.lab.files / 'hog.py'} {HOG_MIB}; exit $?"]):
            with self.subTest(argv[0]):
                ended = self.climb({"command": argv, "timeout": "30s"}, group=group)
                self.assertEqual(1, ended.status, ended)
                cause = self.cause()
                self.assertEqual(("host", "known"), (cause["owner"], cause["certainty"]), cause)
                self.assertIn("the kernel killed a process of this program's memory cgroup because memory ran out", cause["text"])
                self.assertRegex(cause["evidence"].splitlines()[0], r"^oom_kill of the program's memory cgroup grew by 1 while it ran; "
                                                                    r"memory limit of its cgroup: [0-9.]+ [MG]iB$")

    def test_a_kill_that_the_kernel_did_not_count_has_no_owner(self):
        ended = self.climb({"command": ["sh", "-c", "sh -c 'kill -KILL $$'; exit $?"]})
        self.assertEqual(1, ended.status, ended)
        cause = self.cause()
        self.assertEqual(("unknown", "unknown"), (cause["owner"], cause["certainty"]))
        self.assertEqual("exited with status 137, which a shell reports of a program killed by signal 9 (Killed); "
                         "nothing in its log says by whom (dmesg of the host tells of the kernel, which kills for want of memory)",
                         cause["text"])


if __name__ == "__main__":
    unittest.main()
