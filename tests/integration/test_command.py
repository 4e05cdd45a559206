"""Commands as rungs: what a user's own program gets, which of its files travel, and what a rung may ask of it."""
import functools
import json
import re
import shutil
import unittest

import lab

HELPED = """
import sys
import sliceup_program
program = sliceup_program.start()
for number in range(4):
    program.step()
print("reduced", program.reduced("loss", program.rank + 1.0, weight=2.0))
"""
# Every step all wait for all, at rank 0; rank 2 comes 0.3 s late.
TOGETHER = """
import socket, time
import sliceup_program
program = sliceup_program.start()
host, port = program.rendezvous().rsplit(":", 1)
if program.rank == 0:
    listener = socket.create_server((host, int(port)))
    others = [listener.accept()[0] for _ in range(program.world - 1)]
while program.rank:
    try:
        others = [socket.create_connection((host, int(port)))]
        break
    except ConnectionError:
        time.sleep(0.05)
for number in range(9):
    if program.rank == 2:
        time.sleep(0.3)
    for other in others[program.rank:]:
        other.recv(1)
    for other in others:
        other.send(b"x")
    if program.rank:
        others[0].recv(1)
    program.step()
sliceup_program.number("steps_a_second", 3.25)
"""
# What the worker reads of a program of torch_xla: one report a step, as torch_xla 2.7.0 writes them (abridged).
REPORTED = """
import os, sys
compiled, reads, fallen = (int(word) for word in sys.argv[1:])
with open(os.environ["XLA_METRICS_FILE"], "a") as file:
    for step in range(10):
        file.write(f"[MetricsData; step={step}]\\n")
        file.write("Counter: UncachedCompile\\n  Value: %d\\n" % (1 + compiled * step))
        if fallen:
            file.write("Counter: aten::_ctc_loss\\n  Value: %d\\n" % (fallen * (step + 1)))
        file.write("Metric: CompileTime\\n  TotalSamples: 1\\n  Accumulator: 107ms420.977us\\n"
                   "  Percentiles: 1%=107ms420.977us\\n")
        file.write("Metric: ExecuteTime\\n  TotalSamples: %d\\n  Accumulator: 198.644us\\n"
                   "  Percentiles: 1%%=078.183us\\n" % (step + 1))
        if reads:
            file.write("Metric: TransferFromDeviceTime\\n  TotalSamples: %d\\n  Accumulator: 051.390us\\n"
                       "  Percentiles: 1%%=051.390us\\n" % (reads * (step + 1)))
        file.write("Counter: MarkStep\\n  Value: %d\\n\\n" % (step + 1))
"""

CHILDREN = """
import multiprocessing, os, sys
import sliceup_program

def compute(number, value):
    program = sliceup_program.start()
    for _ in range(number + 2):
        program.step()
    program.check("a value", 1.0, value)
    program.note("said by each")
    if value < 0:
        raise ValueError("bad batch")

def loads():
    sliceup_program.start()
    os._exit(0)

if __name__ == "__main__":
    sliceup_program.start()
    spawn, fork = multiprocessing.get_context("spawn"), multiprocessing.get_context("fork")
    spawn.Process(target=compute, args=(0, 1.0)).start()
    spawn.Process(target=compute, args=(1, 1.0)).start()
    spawn.Process(target=loads).start()
    fork.Process(target=compute, args=(2, float(sys.argv[1]))).start()  # Python waits for all of them at its end
"""


class Commands(lab.LabTest):
    def climb(self, *rungs, status=0, hosts=2, **more):
        ladder = self.lab.ladder("ladder.yaml", [{"timeout": "60s", **rung} for rung in rungs])
        ended = self.lab.sliceup("run", self.lab.slice(hosts=hosts, ladder=str(ladder), **more))
        self.assertEqual(status, ended.status, ended)
        return self.lab.receipt()

    def printed(self, rung, host):
        return self.lab.sliceup("logs", "--rung", rung, "--host", host).out


class Given(Commands):
    """What the program gets."""

    def test_a_program_learns_its_place_from_variables(self):
        program = "import os; print({k: v for k, v in os.environ.items() if k.startswith('SLICEUP_')}); print(os.getcwd())"
        self.climb({"id": "alone", "command": ["python3", "-c", program]},
                   {"id": "together", "command": ["python3", "-c", program], "scope": "slice"})
        alone, together = self.printed("alone", "h1"), self.printed("together", "h1")
        for text in ("'SLICEUP_HOST': 'h1'", "'SLICEUP_RANK': '0'", "'SLICEUP_WORLD': '1'", "'SLICEUP_RUNG': 'alone'",
                     "'SLICEUP_ATTEMPT': '1'", "'SLICEUP_ADDRESSES': '127.0.0.1'", "/output'"):
            self.assertIn(text, alone)
        self.assertNotIn("SLICEUP_CACHE_DIR", alone)
        self.assertIn("'SLICEUP_RANK': '1'", together)
        self.assertIn("'SLICEUP_WORLD': '2'", together)
        self.assertIn("'SLICEUP_ADDRESSES': '127.0.0.1,127.0.0.1'", together)

    def test_what_is_left_in_the_output_folder_stays(self):
        program = "echo kept > $SLICEUP_OUTPUT_DIR/result"
        self.climb({"id": "own", "command": ["sh", "-c", program]})
        kept = list(self.lab.run_folder().glob("hosts/*/**/output/result"))
        self.assertEqual(2, len(kept), kept)

    def test_files_beside_the_ladder_travel_with_what_they_import(self):
        self.lab.write("train.py", "import model, sys, os\n"
                       "print(model.NAME, open(sys.argv[1]).read(), open(os.environ['SLICEUP_FILES_DIR'] + '/more.txt').read())\n")
        self.lab.write("model.py", "NAME = 'mine'\n")
        self.lab.write("data.txt", "numbers")
        self.lab.write("more.txt", "more")
        self.climb({"id": "own", "command": ["python3", "./train.py", "./data.txt"], "files": ["./more.txt"]})
        self.assertIn("mine numbers more", self.printed("own", "h0"))

    def test_a_script_that_the_host_has_finds_what_lies_beside_it(self):
        """A package and a data file that nothing lists, as the script finds them without sliceup."""
        (self.lab.files / "beside").mkdir()
        self.lab.write("beside/__init__.py", "NAME = 'of a package'\n")
        self.lab.write("vocab.json", "words")
        self.lab.write("train.py", "import os, sliceup_program, beside\n"
                       "print(beside.NAME, open(os.path.join(os.path.dirname(__file__), 'vocab.json')).read())\n")
        self.climb({"id": "own", "command": ["python3", "./train.py"]})
        self.assertIn("of a package words", self.printed("own", "h0"))

    def test_a_program_of_the_ladder_is_started_by_itself(self):
        self.lab.write("step.sh", "#!/bin/sh\necho started by itself\n").chmod(0o755)
        self.climb({"id": "own", "command": ["./step.sh"]})
        self.assertIn("started by itself", self.printed("own", "h0"))


class Compared(Commands):
    """What drift says of steps, of numbers of one's own, and of what commands print."""

    def test_the_host_is_named_that_holds_up_the_others_and_what_one_prints_or_measures_alone(self):
        self.lab.write("own.py", TOGETHER)
        number = """printf '{"type":"fact","name":"number.disk_mbps","value":"%s"}\\n' $([ $SLICEUP_HOST = h1 ] && echo 40 || echo 480) >&$SLICEUP_FD"""
        receipt = self.climb({"id": "train", "command": ["python3", "./own.py"], "scope": "slice"},
                             {"id": "disk", "command": ["sh", "-c", number]},
                             {"id": "kernel", "command": ["sh", "-c", "[ $SLICEUP_HOST = h3 ] && echo 6.1.0-13 || echo 6.1.0-18"], "same": "output"},
                             {"id": "nothing", "command": ["true"], "same": "output"},
                             {"id": "long", "command": ["sh", "-c", "[ $SLICEUP_HOST = h0 ] && echo x; seq 100000"], "same": "output"}, hosts=4)
        steps = [self.attempt(receipt, f"h{rank}", "train")["counters"] for rank in range(4)]
        self.assertLess(300 - 1, min(one["step_ms"] for one in steps))
        self.assertEqual({3.25}, {float(host["facts"]["number.steps_a_second"]) for host in receipt["hosts"]})
        lines = self.lab.sliceup("drift").out.splitlines()
        self.assertEqual("h3: output of rung kernel is 6.1.0-13, 3 others have 6.1.0-18", lines[0])
        self.assertRegex(lines[1], r"^h0: output of rung long is 588897 bytes, sha256 [0-9a-f]{12}, at its end: \d+\|.*99999\|100000, 3 others have 588895 bytes, sha256 ")
        self.assertEqual(["h1: number disk_mbps 0.083 × the median (40, 480 of 3)"], [line for line in lines if "disk_mbps" in line])
        self.assertEqual(1, sum("own part of a step of rung train" in line for line in lines))
        self.assertRegex("\n".join(lines), r"\nh2: own part of a step of rung train \d+ × the median \([23]\d\d ms, \d+ ms of 3\)\n")


    def test_a_variable_that_a_program_tells_as_a_fact_keeps_its_secret(self):
        told = """for one in env.A_TOKEN package.libkeyutils1; do echo '{"type":"fact","name":"'$one'","value":"v1"}' >&$SLICEUP_FD; done"""
        facts = self.climb({"id": "tell", "command": ["sh", "-c", told]}, hosts=2)["hosts"][1]["facts"]
        self.assertEqual(("present", "v1"), (facts["env.A_TOKEN"], facts["package.libkeyutils1"]))


class Asked(Commands):
    """What a rung may ask, and what is said where it is not shown."""

    def failure(self, receipt, rung):
        return self.attempt(receipt, "h0", rung)

    def refused(self, rung, *texts, owner="program", hosts=1):
        entry = self.failure(self.climb({"id": "own", **rung}, status=1, hosts=hosts), "own")
        self.assertEqual(owner, entry["cause"]["owner"])
        for text in texts:
            self.assertIn(text, json.dumps(entry))
        return entry

    def test_a_report_that_keeps_its_limits_passes(self):
        self.lab.write("step.py", REPORTED)
        receipt = self.climb({"id": "own", "command": ["python3", "./step.py", "0", "0", "0"],
                              "parse": "torch_xla-metrics",
                              "at_most": {"recompilations": 0, "fallbacks": 0, "reads_per_step": 0.1}})
        counters = self.attempt(receipt, "h0", "own")["counters"]
        self.assertEqual((10, 0, 0, 0), tuple(counters[name] for name in (
            "steps", "later_compilations", "fallbacks", "reads")))

    def test_what_goes_beyond_a_limit_is_named(self):
        self.lab.write("step.py", REPORTED)
        common = {"parse": "torch_xla-metrics"}
        self.refused({"command": ["python3", "./step.py", "1", "0", "0"], "at_most": {"recompilations": 2}, **common},
                     "compiled 9 programs after its first step in 10 steps, the rung allows at most 2")
        self.refused({"command": ["python3", "./step.py", "0", "1", "0"], "at_most": {"reads_per_step": 0.5}, **common},
                     "read 10 values from devices in 10 steps, the rung allows at most 0.5 a step")
        self.refused({"command": ["python3", "./step.py", "0", "0", "3"], "at_most": {"fallbacks": 0}, **common},
                     "ran 30 operations on the host's processor (aten::_ctc_loss) in 10 steps, the rung allows at most 0", "aten::_ctc_loss")

    def test_what_nothing_shows_is_not_kept(self):
        self.refused({"command": ["true"], "at_most": {"recompilations": 0}},
                     "the rung allows at most 0 recompilations, and no report of the program shows a step")
        self.refused({"command": ["true"], "backend": "required"}, "asks for backend cpu, but the program reported none",
                     )

    def alone(self):
        """A profile of one device a host."""
        return str(self.lab.write("alone.yaml", "profile: alone\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"))

    def test_a_metric_of_a_command_is_proved_or_fails(self):
        rung = {"command": ["python3", "./own.py"], "scope": "slice", "metrics": ["loss"]}
        self.lab.write("own.py", HELPED)
        receipt = self.climb({"id": "own", **rung}, hosts=1, profile=self.alone())
        self.assertEqual(4, self.attempt(receipt, "h0", "own")["counters"]["steps"])
        self.assertIn("reduced 1.0", self.printed("own", "h0"))
        self.refused(rung, "the host did not report one shard for each device")  # the profile has two
        self.refused({**rung, "command": ["true"]}, "loss")
        self.refused({**rung, "command": ["sh", "-c", "echo '{\"type\":\"phase\",\"name\":\"run\"}' >&3"]}, "did not report the metric")
        entry = self.attempt(self.climb({"id": "own", **rung}, hosts=2, status=1, profile=self.alone()), "h1", "own")
        self.assertIn("nothing reaches the other hosts", json.dumps(entry))

    def test_without_a_framework_there_is_no_backend(self):
        self.lab.write("own.py", HELPED)
        self.refused({"command": ["python3", "./own.py"], "backend": "required"}, "the program reported none")

    def test_intent_is_no_proof_of_where_a_program_ran(self):
        told = 'import os\nos.write(int(os.environ["SLICEUP_FD"]), b\'{"type":"backend","platform":"cpu","platform_version":"x",' \
               '"device_kind":"cpu","devices":1,"local_devices":1,"process_count":1,"process_index":0,"kernel_path":""}\\n\')\n'
        self.lab.write("told.py", told)
        tpu = str(self.lab.write("tpu.yaml", "profile: tpu\nfrontend: plain\nbackend: tpu\ndevices_per_host: 1\n"))
        rung = {"id": "own", "command": ["python3", "./told.py"]}
        cause = self.attempt(self.climb(rung, status=1, profile=tpu), "h0", "own")["cause"]["text"]
        self.assertIn("the profile asks for backend tpu, but its program ran on cpu (cpu)", cause)
        self.climb({**rung, "backend": "any"}, profile=tpu)
        silent = [{"id": name, "command": ["true"]} for name in ("one", "two")]
        for profile, words in ((tpu, "unproved: no report says that one, two ran on tpu"), (self.alone(), None)):
            ended = self.passes(self.lab.sliceup("run", self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", silent)), profile=profile)))
            for text in (ended.out, self.lab.sliceup("receipt").out):
                (self.assertIn if words else self.assertNotIn)(words or "unproved", text)
        self.climb({**silent[0], "backend": "any"}, profile=tpu)
        self.assertNotIn("unproved", self.lab.sliceup("receipt").out)

    def test_the_sizes_of_the_profile_hold_for_a_command_that_asks_for_them(self):
        sized = str(self.lab.write("sized.yaml", "profile: sized\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                                   "shapes: {batch: [8, 16]}\n"))
        self.lab.write("own.py", "import sys\nimport sliceup_program\n"
                       "print(sliceup_program.start().shaped(batch=int(sys.argv[1]), width=3))\n")
        rung = {"id": "own", "command": ["python3", "./own.py", "16"]}
        self.climb(rung, profile=sized)
        self.assertIn("{'batch': 16, 'width': 3}", self.printed("own", "h0"))
        entry = self.attempt(self.climb({**rung, "command": ["python3", "./own.py", "64"]}, status=1, profile=sized), "h0", "own")
        self.assertIn("batch 64 is in no bucket of the profile's shapes (8, 16); nothing was compiled", entry["cause"]["text"])
        warning = "the profile limits the sizes of batch, and no file of this command asks for them"
        self.lab.write("reshapes.py", "import model  # not shaped, for the time being\nmodel.reshaped(model.shapes_of(model.x.shape))\n")
        self.lab.write("model.py", "")
        for command, said in ((["python3", "./own.py", "16"], False), (["true"], True), (["python3", "-c", "print(x.shape)"], True),
                              (["python3", "-c", "line['shapes']"], False), (["python3", "./reshapes.py"], True)):
            ladder = self.lab.ladder("ladder.yaml", [{"id": "own", "command": command}])
            ended = self.passes(self.lab.sliceup("check", self.lab.slice(ladder=str(ladder), profile=sized)))
            (self.assertIn if said else self.assertNotIn)(warning, ended.out + ended.err)

    def test_what_a_command_prints_counts_although_it_succeeds(self):
        late = "Replicating tensors already initialized on non-virtual XLA device for SPMD to force SPMD mode."
        self.refused({"command": ["echo", late]}, "exited with status 0, but printed", "Replicating tensors")
        self.climb({"id": "own", "command": ["echo", "Defaulting to PJRT_DEVICE=CPU"]})  # the profile asks for the cpu
        self.climb({"id": "own", "command": ["echo", "RuntimeError: RESOURCE_EXHAUSTED\nTraceback"]})


class Planned(Commands):
    """What `check` says."""

    def problem(self, rung, text, profile="plain"):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "own", **rung}])
        ended = self.lab.sliceup("check", self.lab.slice(ladder=str(ladder), profile=profile))
        self.assertEqual(2, ended.status, ended)
        self.assertIn(text, ended.err)

    def test_mistakes_are_named(self):
        self.lab.write("train.py", "")
        self.problem({"command": ["python3", "./trian.py"]}, "did you mean './train.py'")
        self.problem({"command": ["python3", "./train.py"], "files": ["train.py"]}, "expected a path relative to the ladder")
        self.problem({"command": ["true"], "at_most": {"recompilation": 0}}, "did you mean 'recompilations'")
        self.problem({"command": ["true"], "at_most": {"fallbacks": 0}}, "expected it only with torch_xla")
        self.problem({"command": ["true"], "at_most": {"fallbacks": "none"}}, "expected a number of at least 0")
        rung = {"command": ["true"], "scope": "slice", "metrics": ["loss"]}
        self.problem({**rung, "tolerance": {"los": 0.1}}, "tolerance is given for 'los', expected one of the rung's metrics")
        for number in (0, 0.6, "nan", "wide", -0.1):
            self.problem({**rung, "tolerance": {"loss": number}}, "expected a relative error from 1e-9 to 0.5")
        self.problem({"builtin": "facts", "at_most": {"fallbacks": 0}}, "at_most is set for a rung without a command")
        self.problem({"builtin": "facts", "files": ["./train.py"]}, "files is set for a rung without a command")
        self.problem({"command": ["sub/train.py"]}, "expected a name on the PATH, an absolute path")


    def test_files_of_one_folder_are_one_folder_and_too_many_folders_are_told(self):
        for number in range(70):
            (self.lab.files / "src" / f"d{number}").mkdir(parents=True)
            (self.lab.files / "src" / f"d{number}" / "f").write_text(str(number))
            (self.lab.files / "src" / f"f{number}").write_text(str(number))
        rung = {"id": "own", "command": ["true"], "files": [f"./src/f{number}" for number in range(64)]}
        path = self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", [rung])), profile="cpu-jax", cache={"mode": "single-writer", "writer": "h0"})
        self.passes(self.lab.sliceup("check", path))
        rungs = [{"id": f"r{first}", "command": ["true"], "files": [f"./src/d{number}/f" for number in range(first, first + 35)]}
                 for first in (0, 35)]
        self.lab.ladder("ladder.yaml", rungs)
        ended = self.lab.sliceup("check", path)
        self.assertEqual(2, ended.status, ended)
        self.assertIn("folders", ended.err)


class Ends(Commands):
    """How a program with the helper ends, and what of it counts."""

    first_lines = ""

    def own(self, text, status, hosts=1, rung=()):
        self.lab.write("own.py", self.first_lines + "import os, sys\nimport sliceup_program\nprogram = sliceup_program.start()\n" + text)
        receipt = self.climb({"id": "own", "command": ["python3", "./own.py"], **dict(rung)}, status=status, hosts=hosts)
        return self.attempt(receipt, "h0", "own")

    def test_what_is_said_after_the_end_is_no_fault_of_the_program(self):
        self.own("import atexit\natexit.register(program.note, 'late')\nprogram.step()\n", 0)
        self.own("class Late:\n    def __del__(self): program.note('late')\nlate = Late()\n", 0)

    def test_a_second_process_of_the_rung_reports_nothing_and_does_not_wait(self):
        self.lab.write("own.py", "import sliceup_program\nsliceup_program.start().step()\n")
        self.lab.write("both.sh", 'python3 "$SLICEUP_FILES_DIR/own.py" && exec python3 "$SLICEUP_FILES_DIR/own.py"\n')
        receipt = self.climb({"id": "own", "command": ["sh", "./both.sh"], "files": ["./own.py"], "backend": "any",
                              "scope": "slice"}, hosts=1)
        self.assertEqual(1, self.attempt(receipt, "h0", "own")["counters"]["steps"])
        self.assertIn("another process of this rung reports already", self.printed("own", "h0"))

    def test_processes_that_the_program_starts_report_through_it(self):
        """Steps of the one with the fewest, each check by the one that is farthest off, and who left without a report is noted."""
        self.lab.write("own.py", CHILDREN)
        for last, outcome, observed in ((1.0, "passed", 1.0), (9.0, "failed", 9.0)):
            receipt = self.climb({"id": "own", "command": ["python3", "./own.py", str(last)], "backend": "any"}, hosts=1, status=int(outcome == "failed"))
            entry = self.attempt(receipt, "h0", "own")
            self.assertEqual((outcome, 2, [("a value", observed)]), (entry["outcome"], entry["counters"]["steps"],
                                                                    [(check["name"], check["observed"]) for check in entry["checks"]]), entry)
            notes = [note["text"] for note in receipt["hosts"][0]["notes"]]
            self.assertEqual(1, sum("which the program started, ended without its report" in note for note in notes), notes)
            self.assertEqual(1, notes.count("said by each"), notes)
            self.assertEqual([], list(self.lab.run_folder().glob("**/.sliceup-program-*")))
        receipt = self.climb({"id": "own", "command": ["python3", "./own.py", "-1"], "backend": "any"}, hosts=1, status=1)
        self.assertIn("bad batch", self.attempt(receipt, "h0", "own")["cause"]["text"])

    def test_an_exit_with_a_failure_leaves_the_others_at_once(self):
        # Handlers that were registered before start() run after its own, as those of a distributed runtime do.
        text = ("import time\nsys.exit('bad data') if program.rank == 0 else time.sleep(60)\n")
        self.first_lines = "import atexit, time\natexit.register(time.sleep, 60)\n"
        entry = self.own(text, 1, hosts=2, rung={"scope": "slice"})
        self.assertEqual("failed", entry["outcome"])
        self.assertIn("bad data", json.dumps(entry))

    def test_what_our_own_reduction_compiled_does_not_stand_against_sizes_that_come_after_it(self):
        compiling = ("seen = []\nprogram.counts = lambda: sliceup_program.Counts(requests=len(seen))\n"
                     "sliceup_program.all_reduce = lambda rows, *_: (seen.append(1), [sum(column) for column in zip(*rows)])[1]\n"
                     "program.reduced('loss', 1.0)\n")
        self.own(compiling + "program.shaped(batch=8)\n", 0)
        entry = self.own(compiling + "seen.append(1)\nprogram.shaped(batch=8)\n", 1)
        self.assertIn("one was compiled already", entry["cause"]["text"])

    def test_a_dtype_may_be_the_frameworks_own_and_one_that_nobody_judges_is_named(self):
        of_jax = "class bfloat16: pass\n"
        of_torch = "class Dtype:\n    def __str__(self): return 'torch.bfloat16'\n"
        for first, dtype in ((of_jax, "bfloat16"), (of_torch, "Dtype()"), ("", "'bfloat16'")):
            entry = self.own(f"{first}program.reduced('loss', 1.0, claimed=1.003, dtype={dtype})\n", 0)
            self.assertEqual("bfloat16", entry["metrics"][0]["dtype"])
        for dtype in ("bf16", "float8_e4m3fn"):
            entry = self.own(f"program.reduced('loss', 1.0, claimed=1.0, dtype='{dtype}')\n", 1)
            self.assertIn(f"the dtype is '{dtype}', expected one of float64, float32, float16, bfloat16", entry["cause"]["text"])

    def test_an_exit_that_is_caught_is_no_end(self):
        text = "try:\n    sys.exit(3)\nexcept SystemExit:\n    pass\nprogram.step()\n"
        self.assertEqual("passed", self.own(text, 0, hosts=2, rung={"scope": "slice"})["outcome"])

    def test_an_exception_of_the_program_is_its_cause(self):
        entry = self.own("class Odd(Exception):\n    layer = 'dense_1'\nraise Odd('of mine')\n", 1)
        self.assertIn("of mine", entry["cause"]["text"])
        self.assertEqual(0, entry["bad_lines"])


    def test_a_hook_that_captures_what_ours_prints_loses_nothing(self):
        """torch.distributed's hook calls those before it with a buffer for sys.stderr, and prints it when they have returned."""
        text = ("import io\nours = sys.excepthook\ndef theirs(*error):\n    kept, sys.stderr = sys.stderr, io.StringIO()\n    ours(*error)\n"
                "    kept.write(sys.stderr.getvalue())\nsys.excepthook = theirs\nraise ValueError('bad batch') if program.rank == 0 else SystemExit(0)\n")
        entry = self.own(text, 1, hosts=2, rung={"scope": "slice"})
        self.assertIn("raised in own.py:11", entry["cause"]["text"])
        self.assertIn("ValueError: bad batch", self.printed("own", "h0"))

    def test_processes_of_a_launcher_that_is_a_module_report_through_it(self):
        self.lab.write("launcher.py", "import subprocess, sys\nassert __name__ == '__main__'\n"
                       "sys.exit(max(one.wait() for one in [subprocess.Popen([sys.executable, *sys.argv[1:], str(n)]) for n in range(2)]))\n")
        self.lab.write("own.py", "import sys\nimport sliceup_program\nprogram = sliceup_program.start()\nfor _ in range(2 + int(sys.argv[1])):\n"
                       "    program.step()\nprogram.check('a value', 1.0, 1.0)\n")
        start = 'cd "$SLICEUP_FILES_DIR" && exec python3 -m sliceup_program launcher "$SLICEUP_FILES_DIR/own.py"'
        receipt = self.climb({"id": "own", "command": ["sh", "-c", start], "files": ["./launcher.py", "./own.py"], "backend": "any"}, hosts=1)
        entry = self.attempt(receipt, "h0", "own")
        self.assertEqual((2, 1), (entry["counters"]["steps"], len(entry["checks"])), entry)

    def test_what_a_launchers_process_raised_stands_for_what_the_launcher_says_of_it(self):
        self.lab.write("launcher.py", "import subprocess, sys\nsubprocess.run([sys.executable, *sys.argv[1:]], check=True)\n")
        self.lab.write("own.py", "import sliceup_program\nsliceup_program.start().step()\nraise sliceup_program.sliceup_canary.Failure('cache', 'bad entry')\n")
        start = 'cd "$SLICEUP_FILES_DIR" && exec python3 -m sliceup_program launcher "$SLICEUP_FILES_DIR/own.py"'
        receipt = self.climb({"id": "own", "command": ["sh", "-c", start], "files": ["./launcher.py", "./own.py"], "backend": "any"}, hosts=1, status=1)
        cause = self.attempt(receipt, "h0", "own")["cause"]
        self.assertEqual("cache", cause["owner"], cause)
        self.assertIn("bad entry", cause["text"])


class Installed(Commands):
    """What is installed is never written, and what is the user's own Python caches as it always does."""

    def test_no_program_leaves_compiled_files_beside_what_is_installed(self):
        share = self.lab.root / "share"
        for folder in ("configs", "worker/canaries"):
            shutil.copytree(lab.TOP / folder, share / folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.lab.env = functools.partial(self.lab.env, SLICEUP_SHARE=str(share))
        self.lab.write("beside.py", "TEXT = 'mine'\n")
        self.lab.write("own.py", "import sliceup_program, beside\nsliceup_program.start().note(beside.TEXT)\n")
        canary = self.lab.write("canary.py", "import sliceup_canary\nimport beside\nsliceup_canary.run(lambda canary: canary.note(beside.TEXT))\n")
        for cache in ("off", "per-host"):
            self.climb({"id": "shipped", "canary": "plain/hello.py"}, {"id": "own-canary", "canary": str(canary), "backend": "any"},
                       {"id": "own-command", "command": ["python3", "./own.py"]}, cache={"mode": cache})
            self.assertEqual([], [str(path) for path in share.rglob("*") if path.name == "__pycache__"])
        self.assertEqual(["beside"], sorted(path.name.split(".")[0] for path in (self.lab.files / "__pycache__").iterdir()))


class Guide(Commands):
    """docs/guide/your-own-step.md, as it stands, with real jax on two hosts."""

    PAGE = lab.TOP / "docs/guide" / "your-own-step.md"
    SHARED = {"env_dir": str(lab.SHARED_ENVS / "jax-cpu"), "limits": {"stop": "1s"}}

    def blocks(self, language):
        return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", self.PAGE.read_text())

    def changed(self, script):
        """The script with the lines that the page marks with '+'."""
        lines, at = script.splitlines(), 0
        for line in self.blocks("diff")[0].splitlines():
            if line.startswith("+"):
                lines.insert(at, line[1:])
                at += 1
            elif line != "...":
                at = lines.index(line[1:], at) + 1
        return "\n".join(lines) + "\n"

    def run_it(self, *status):
        path = self.lab.files / "slice.yaml"
        text = self.blocks("yaml")[1] + "".join(f"{key}: {json.dumps(value)}\n" for key, value in self.SHARED.items())
        path.write_text(text)
        self.assertEqual(0, self.lab.sliceup("check", path).status)
        ended = self.lab.sliceup("run", path, bound_s=600)
        self.assertIn(ended.status, status, ended)
        return self.attempt(self.lab.receipt(), "h0", "train")

    CACHED = """
import os
import jax
import numpy as np
import sliceup_program
program = sliceup_program.start()
step = jax.jit(lambda v: (v * v).sum())
for number in range(3):
    value = step(np.arange(10, dtype="float32"))
    program.step()
program.check("sum of squares", 285.0, float(value))
assert os.environ["SLICEUP_CACHE_DIR"] == os.environ["JAX_COMPILATION_CACHE_DIR"]
"""

    def cached(self, program, status):
        self.lab.write("own.py", program)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "10m"},
            {"id": "own", "command": ["python", "./own.py"], "env": True, "warm": "solo", "timeout": "60s", "backend": "required"}])
        path = self.lab.slice(ladder=str(ladder), profile="cpu-jax", pins="jax-cpu", cache={"mode": "single-writer", "writer": "h0"},
                              **self.SHARED)
        ended = self.lab.sliceup("run", path, bound_s=600)
        self.assertEqual(status, ended.status, ended)
        return self.lab.receipt()

    def test_a_step_of_the_users_own_is_compiled_once_and_restored_everywhere(self):
        receipt = self.cached(self.CACHED, 0)
        self.assertEqual([("own", "restored", "passed")], [rung for rung in self.rungs(receipt, "h1") if rung[1] == "restored"])
        self.assertEqual("restored", self.attempt(receipt, "h1", "own")["cache"])
        self.assertEqual([], [rung for rung in self.rungs(self.cached(self.CACHED, 0), "h0") if rung[1] == "cold"])  # it is there already
        changed = self.cached(self.CACHED.replace("v * v", "2 * v * v").replace("285.0", "570.0"), 0)
        self.assertIn(("own", "cold", "passed"), self.rungs(changed, "h0"))
        silent = self.cached(self.CACHED.replace("program.check", "print"), 1)
        self.assertIn("checked no value", json.dumps(self.attempt(silent, "h0", "own")))

    def test_the_page_leads_from_a_script_to_a_rung(self):
        script, ladder = self.blocks("python")[0], self.blocks("yaml")[0]
        self.lab.write("train.py", script)
        self.lab.write("ladder.yaml", ladder)
        self.assertEqual("passed", self.run_it(0)["outcome"])
        asking = ladder[:ladder.index("  - id: train")] + self.blocks("yaml")[2]
        self.lab.write("ladder.yaml", asking)
        self.assertIn("reported nothing", self.run_it(1)["cause"]["text"])
        self.lab.write("train.py", self.changed(script))
        self.assertLessEqual(len(self.changed(script).splitlines()) - len(script.splitlines()), 10)
        entry = self.run_it(0)
        self.assertEqual((20, 0), (entry["counters"]["steps"], entry["counters"]["later_compilations"]))
        self.assertEqual("proved", self.lab.receipt()["reductions"][0]["proof"])
        self.lab.write("train.py", self.changed(script).replace("claimed=loss", "claimed=locals[0]"))
        self.assertIn("(proof: local)", self.run_it(1)["cause"]["text"])
        self.lab.write("train.py", self.changed(script).replace("locals, claimed=loss", "loss"))
        self.assertIn("one number for the loss of 2 local devices", self.run_it(1)["cause"]["text"])
        self.lab.write("train.py", self.changed(script).replace("step(w, x, y)\n    program", "step(w * np.float32(1) if number % 2 else w, x, y)\n    program").replace(
            "    program.step()", "    (jnp.ones(number) + number).sum()\n    program.step()"))
        self.assertIn("after its first step", self.run_it(1)["cause"]["text"])
        self.assertIn("compiled after the first step: jit(", str(self.lab.receipt()["hosts"][0]["notes"]))


if __name__ == "__main__":
    unittest.main()
