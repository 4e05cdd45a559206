"""The canary helper, with the test as its worker at the other end of a socket pair."""

import errno
import json
import logging
import os
import pathlib
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CANARIES = os.path.join(ROOT, "worker", "canaries")
SPEC = os.path.join(ROOT, "docs", "spec", "canary.md")
sys.dont_write_bytecode = True
sys.path.append(CANARIES)
import sliceup_canary  # noqa: E402

sys.path.append(os.path.join(CANARIES, "plain"))
import sliceup_plain  # noqa: E402

sys.path.append(os.path.join(CANARIES, "jax"))
import sliceup_hold  # noqa: E402
import sliceup_jax  # noqa: E402
import sliceup_jax_keys  # noqa: E402
import sliceup_shards  # noqa: E402

sys.path.append(os.path.join(CANARIES, "program"))
import sliceup_program  # noqa: E402

TIMEOUT_S = 20


def attempt(**changes):
    line = {"type": "attempt", "protocol": 1, "nonce": "0123456789abcdef" * 2, "run": "r1", "host": "local0",
            "rung": "tiny", "pass": "once", "attempt": 1, "scope": "host", "rank": 0, "world": 1,
            "address": "127.0.0.1", "mesh": [{"axis": "host", "size": 2}], "devices_per_host": 2,
            "backend": "cpu", "secret": 1234, "args": {}}
    return {**line, **changes}


class Worker:
    """The worker's end of a canary that runs in this process."""

    def __init__(self, **changes):
        self.socket, other = socket.socketpair()
        self.socket.settimeout(TIMEOUT_S)
        self.lines = self.socket.makefile("rb")
        self.tell(attempt(**changes))
        self.channel = sliceup_canary.Descriptor(other.detach())
        try:
            self.canary = sliceup_canary.Canary(self.channel)
        except sliceup_canary.ProtocolError:
            self.close()
            raise

    def tell(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self):
        return json.loads(self.lines.readline())

    def close(self):
        self.channel.lines.close()
        self.channel.socket.close()
        self.lines.close()
        self.socket.close()


class Process:
    """A canary in a process of its own: body is the inside of body(canary)."""

    def __init__(self, body, source=None, **changes):
        source = source or "import sliceup_canary\ndef body(canary):\n" + textwrap.indent(body, "    ") + "\nsliceup_canary.run(body)\n"
        mine, other = socket.socketpair()
        env = {**os.environ, "SLICEUP_FD": str(other.fileno()), "PYTHONPATH": CANARIES}
        self.process = subprocess.Popen([sys.executable, "-B", "-c", source], env=env, text=True,
                                        pass_fds=[other.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        other.close()
        mine.settimeout(TIMEOUT_S)
        self.socket = mine
        mine.sendall(json.dumps(attempt(**changes)).encode() + b"\n")

    def end(self):
        with self.socket, self.socket.makefile("rb") as lines:
            self.said = [json.loads(line) for line in lines]
            self.out, self.err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode


class Listener(unittest.TestCase):
    """Who reaches rank 0 nowhere says how the connection failed, and no more than that."""

    def failure(self, error):
        with unittest.mock.patch("socket.create_connection", side_effect=error), self.assertRaises(sliceup_canary.Failure) as raised:
            sliceup_jax.await_listener("10.0.0.1:77", 0)
        self.assertEqual("peer", raised.exception.owner)
        return str(raised.exception)

    def test_only_a_refusal_says_that_nothing_listens(self):
        self.assertRegex(self.failure(ConnectionRefusedError(111, "Connection refused")), "Connection refused: no connection to rank 0 at 10.0.0.1:77 .*: nothing listens there$")
        for error in (TimeoutError("timed out"), OSError(113, "No route to host")):
            told = self.failure(error)
            self.assertTrue(told.startswith(f"{error}: no connection to rank 0 at 10.0.0.1:77 "), told)
            self.assertNotIn("listen", told)


class Compiled(unittest.TestCase):
    """The worker starts canaries with -B: nothing is written beside what is installed."""

    def keeps(self, folder, **env):
        """Whether Python may write what it compiles, in a canary that lies there."""
        name = os.path.join(folder, "canary.py")
        with open(name, "w", encoding="utf-8") as file:
            file.write("import sliceup_canary, sys\nprint(not sys.dont_write_bytecode)\n")
        env = {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, "SLICEUP_FD": "3", **env}
        done = subprocess.run([sys.executable, "-B", name], env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        return done.stdout == "True\n"

    def test_only_canaries_of_others_leave_compiled_files_and_not_against_their_word(self):
        with tempfile.TemporaryDirectory() as top:
            ours, below, other = (os.path.join(top, name) for name in ("ours", "ours/jax", "ours-not"))
            for folder in (below, other):
                os.makedirs(folder)
            shutil.copy(os.path.join(CANARIES, "sliceup_canary.py"), ours)
            self.assertFalse(self.keeps(ours))
            self.assertFalse(self.keeps(below, PYTHONPATH=ours))
            self.assertTrue(self.keeps(other, PYTHONPATH=ours))
            self.assertFalse(self.keeps(other, PYTHONPATH=ours, PYTHONDONTWRITEBYTECODE="1"))


class Lines(unittest.TestCase):
    def test_text_that_json_readers_refuse_is_rewritten(self):
        self.assertEqual(sliceup_canary.clean("a\0b"), "a\\x00b")
        self.assertEqual(sliceup_canary.clean("a\udcffb"), "a\\udcffb")

    def test_long_text_is_cut(self):
        self.assertEqual(len(sliceup_canary.clean("x" * 100000)), sliceup_canary.MAX_TEXT)

    def test_a_line_over_the_limit_is_refused(self):
        with self.assertRaises(sliceup_canary.ProtocolError):
            sliceup_canary.encode({"type": "note", "text": "x" * sliceup_canary.MAX_LINE})

    def test_a_line_at_the_limit_is_sent(self):
        empty = len(sliceup_canary.encode({"type": "note", "text": ""}))
        line = sliceup_canary.encode({"type": "note", "text": "x" * (sliceup_canary.MAX_LINE - empty)})
        self.assertEqual(len(line), sliceup_canary.MAX_LINE)

    def test_a_number_that_json_has_not_is_refused(self):
        with self.assertRaises(ValueError):
            sliceup_canary.encode({"type": "check", "observed": float("nan")})

    def test_junk_is_no_message(self):
        for junk in (b"x\n", b"[]\n", b'{"type":1}\n', b"{}\n", b"\xff\n", b"[" * 60000 + b"\n"):
            with self.subTest(junk[:20]), self.assertRaises(sliceup_canary.ProtocolError):
                sliceup_canary.decode(junk)


class Conversation(unittest.TestCase):
    def start(self, **changes):
        worker = Worker(**changes)
        self.addCleanup(worker.close)
        return worker

    def test_the_attempt_is_read(self):
        canary = self.start(rank=2, world=3, mesh=[{"axis": "data", "size": 3}], args={"a": 1}).canary
        self.assertEqual((canary.rank, canary.world, canary.axes, canary.sizes), (2, 3, ["data"], [3]))
        self.assertEqual(canary.args, {"a": 1})

    def test_another_protocol_is_refused(self):
        with self.assertRaises(sliceup_canary.ProtocolError):
            self.start(protocol=2)

    def test_a_gate_returns_the_value_of_its_go(self):
        worker = self.start()
        worker.tell({"type": "later", "x": 1})
        worker.tell({"type": "go", "gate": "g", "value": "v"})
        self.assertEqual(worker.canary.gate("g", "share", "mine"), "v")
        self.assertEqual(worker.hear(), {"type": "gate", "name": "g", "mode": "share", "value": "mine"})

    def test_two_lines_in_one_packet_are_two_lines(self):
        worker = self.start()
        lines = [{"type": "go", "gate": name, "value": name} for name in "ab"]
        worker.socket.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        self.assertEqual([worker.canary.gate(name, "agree", "") for name in "ab"], ["a", "b"])

    def test_a_go_for_another_gate_is_an_error(self):
        worker = self.start()
        worker.tell({"type": "go", "gate": "other", "value": ""})
        with self.assertRaises(sliceup_canary.ProtocolError):
            worker.canary.gate("g", "agree", "")

    def test_stop_at_a_gate_stops(self):
        worker = self.start()
        worker.tell({"type": "stop", "reason": "programs differ"})
        with self.assertRaisesRegex(sliceup_canary.Stopped, "programs differ"):
            worker.canary.gate("g", "agree", "")

    def test_a_worker_that_goes_away_ends_the_wait(self):
        worker = self.start()
        worker.socket.shutdown(socket.SHUT_WR)
        with self.assertRaisesRegex(sliceup_canary.ProtocolError, "closed the channel"):
            worker.canary.gate("g", "agree", "")

    def test_all_counters_are_sent_when_nothing_was_counted(self):
        worker = self.start()
        worker.canary.counters()
        self.assertEqual(worker.hear()["values"], dict.fromkeys(sliceup_canary.COUNTERS, 0))

    def test_policy_shows_the_environment_as_it_is_now(self):
        worker = self.start()
        os.environ["XLA_FLAGS"], os.environ["NOT_POLICY"] = "--a", "x"
        self.addCleanup(os.environ.pop, "XLA_FLAGS")
        self.addCleanup(os.environ.pop, "NOT_POLICY")
        worker.canary.policy()
        observed = worker.hear()["observed"]
        self.assertEqual(observed["XLA_FLAGS"], "--a")
        self.assertNotIn("NOT_POLICY", observed)

    def test_memory_of_devices_that_nobody_knows_is_left_out(self):
        worker = self.start()
        worker.canary.memory()
        self.assertEqual({"type", "peak_bytes"}, set(worker.hear()))
        worker.canary.memory(predicted_bytes=4096, device_peak_bytes=8192)
        said = worker.hear()
        self.assertEqual((4096, 8192), (said["predicted_bytes"], said["device_peak_bytes"]))

    def test_a_check_that_is_not_a_number_fails_the_program(self):
        canary = self.start().canary
        for value in (float("nan"), float("inf")):
            with self.assertRaises(sliceup_canary.Failure) as caught:
                canary.check("c", 1.0, value)
            self.assertEqual(caught.exception.owner, "program")

    def test_a_metric_that_is_not_a_number_is_of_the_host_whose_part_is_none(self):
        canary, nan = self.start().canary, float("nan")
        for local, weight, value, owner, said in ((nan, 1, nan, "program", "m is nan: local device 1 gave the local nan to it"),
                                                  (float("inf"), 1, 1.0, "program", "m is 1.0: local device 1 gave the local inf to it"),
                                                  (2.0, nan, nan, "program", "m is nan: local device 1 gave the weight nan to it"),
                                                  (2.0, 1, nan, "unknown", "m has no finite value, though all that this host gave to it is finite")):
            with self.subTest(said), self.assertRaisesRegex(sliceup_canary.Failure, rf"\A{said}\Z") as caught:
                canary.metric("m", "sum", ["x"], value,
                              [{"value": value, "local": 1.0, "weight": 1}, {"value": value, "local": local, "weight": weight}])
            self.assertEqual(caught.exception.owner, owner)


class Ends(unittest.TestCase):
    def test_done_carries_the_nonce_and_is_last(self):
        process = Process("canary.phase('run')")
        self.assertEqual(process.end(), 0)
        self.assertEqual(process.said[-1], {"type": "done", "nonce": attempt()["nonce"]})

    def test_an_exception_is_a_failure_of_an_unknown_owner(self):
        process = Process("raise KeyError('lost')")
        self.assertEqual(process.end(), 1)
        self.assertEqual(process.said, [{"type": "failure", "layer": "unknown", "text": "KeyError: 'lost'"}])
        self.assertIn("Traceback", process.err)

    def test_a_failure_names_its_owner(self):
        process = Process("raise sliceup_canary.Failure('cache', 'entry unreadable')")
        self.assertEqual(process.end(), 1)
        self.assertEqual(process.said, [{"type": "failure", "layer": "cache", "text": "entry unreadable"}])

    def test_the_former_name_of_the_owner_is_taken(self):
        for program in ("raise sliceup_canary.Failure(layer='cache', text='entry unreadable')",
                        "error = OSError('entry unreadable'); error.layer = 'cache'; raise error",
                        "canary.failure(layer='cache', text='entry unreadable')"):
            process = Process(program)
            self.assertEqual(process.end(), 1)
            self.assertEqual(("failure", "cache"), (process.said[0]["type"], process.said[0]["layer"]), program)

    def test_a_stop_is_no_failure(self):
        process = Process("canary.gate('g', 'agree', '')")
        process.socket.sendall(b'{"type":"stop","reason":"enough"}\n')
        self.assertEqual(process.end(), 1)
        self.assertEqual([line["type"] for line in process.said], ["gate"])

    def test_an_exit_status_of_the_canary_is_kept(self):
        process = Process("raise SystemExit(3)")
        self.assertEqual(process.end(), 3)
        self.assertEqual(process.said, [])

    def test_no_exit_handler_holds_up_the_end(self):
        hold = "import atexit, time\natexit.register(time.sleep, 600)\n"
        for body, status in (("raise SystemExit(3)", 3), ("raise SystemExit('no devices')", 1), ("raise SystemExit", 0), ("1 / 0", 1)):
            with self.subTest(body):
                process = Process(hold + body)
                self.assertEqual(process.end(), status)
        source = hold + "import sliceup_canary\nsliceup_canary.connect()\n1 / 0\n"
        ran = subprocess.run([sys.executable, "-B", "-c", source], timeout=TIMEOUT_S, capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": CANARIES})
        self.assertEqual(1, ran.returncode)
        self.assertIn("ZeroDivisionError", ran.stderr)
        self.assertEqual("failure", json.loads(ran.stdout.splitlines()[-1])["type"])

    def test_stacks_are_offered_to_a_worker_that_asks_for_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stacks")
            process = Process("import os\nos.kill(os.getpid(), 10)", stacks_signal=10, stacks_file=path)
            self.assertEqual(process.end(), 0)
            stacks = pathlib.Path(path).read_text()
        self.assertEqual("", process.err)
        self.assertEqual(process.said[0], {"type": "stacks", "signal": 10, "pid": process.process.pid})
        self.assertRegex(stacks, r"Current thread 0x\w+ .*\n  File .* in body")

    def test_a_handler_that_is_there_is_left_alone(self):
        source = "import signal, sliceup_canary\nsignal.signal(10, signal.SIG_IGN)\nsliceup_canary.run(lambda canary: None)\n"
        process = Process("pass", source=source, stacks_signal=10, stacks_file=os.devnull)
        self.assertEqual(process.end(), 0)
        self.assertEqual(["done"], [line["type"] for line in process.said])

    def test_children_of_the_canary_do_not_hold_the_descriptor(self):
        body = "import subprocess, os\nassert 'SLICEUP_FD' not in os.environ\n" \
               "subprocess.Popen(['sleep', '3'], close_fds=False, stdout=-3, stderr=-3)"
        process = Process(body)
        process.socket.settimeout(2)
        self.assertEqual(process.end(), 0)

    def test_a_copy_of_the_canary_does_not_hold_the_descriptor(self):
        process = Process("import os, time\nif os.fork() == 0:\n    for stream in (1, 2):\n        os.close(stream)\n"
                          "    time.sleep(3)\n    os._exit(0)")
        process.socket.settimeout(2)
        self.assertEqual(process.end(), 0)

    def test_a_canary_that_said_failure_is_not_done(self):
        process = Process("canary.failure('host', 'no room')")
        self.assertEqual(process.end(), 1)
        self.assertEqual([line["type"] for line in process.said], ["failure"])

    def test_by_hand_the_lines_come_out_and_gates_open(self):
        source = "import sliceup_canary as s\n" \
                 "s.run(lambda c: c.note(c.gate('g', 'share', 'v') + str(c.args['n'])))"
        env = {name: value for name, value in os.environ.items() if name != "SLICEUP_FD"}
        ran = subprocess.run([sys.executable, "-B", "-c", source, "n=3"], timeout=TIMEOUT_S, capture_output=True,
                             env={**env, "PYTHONPATH": CANARIES}, check=True)
        said = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual([line["type"] for line in said], ["gate", "note", "done"])
        self.assertEqual(said[1]["text"], "v3")


class Reduction(unittest.TestCase):
    """The arithmetic of the TCP star, without TCP."""

    def star(self):
        mesh = [{"axis": "data", "size": 2}, {"axis": "model", "size": 2}]
        worker = Worker(mesh=mesh)
        self.addCleanup(worker.close)
        return sliceup_plain.Star(worker.canary)

    def test_each_axis_has_its_own_groups(self):
        rows = [[1], [10], [100], [1000]]
        self.assertEqual(self.star().reduce(rows, ["data", "model"]), [[1111]] * 4)
        self.assertEqual(self.star().reduce(rows, ["data"]), [[101], [1010], [101], [1010]])
        self.assertEqual(self.star().reduce(rows, ["model"]), [[11], [11], [1100], [1100]])

    def test_a_mean_uses_the_weights(self):
        shard = sliceup_plain.shard("mean", (1.0, 2.0), [6.0, 4.0, 99])
        self.assertEqual(shard, {"value": 1.5, "proof": 99, "local": 1.0, "weight": 2.0})


DIGITS = "8a28bcfc2ac87bb6220e3a6c620688adddf33e3c0dbdda9e11c99ac3b934b0b1"
KEY = f"jit_f-{DIGITS}"
PARTS = {"computation": "df5e8e6b3aaf", "jaxlib": "40d13e87ba3f", "flags": "e3b0c44298fc"}


class Jax:
    """The log of jax 0.10.2 while it compiles one program, said by loggers of its names."""

    def __init__(self):
        names = ("compiler", "cache_key", "compilation_cache", "lru_cache")
        loggers = [logging.getLogger(f"jax._src.{name}") for name in names]
        self.compiler, self.cache_key, self.cache, self.files = loggers

    def asks(self, key=KEY, found=False):
        for name, digest in zip(("computation", "jax_lib version", "XLA flags"), PARTS.values()):
            self.cache_key.debug("get_cache_key hash of serialized %s: %s", name, digest + "0" * 52)
            self.cache_key.debug("get_cache_key hash after serializing %s: %s", name, "f" * 64)
        self.files.debug(f"Cache {'hit' if found else 'miss'} for key: {key!r}")

    def hits(self, key=KEY):
        self.asks(key, found=True)
        self.compiler.debug("Persistent compilation cache hit for '%s' with key %r", "jit_f", key)

    def misses(self, key=KEY):
        self.asks(key)
        self.miss(key)

    def miss(self, key=KEY):
        self.compiler.debug("PERSISTENT COMPILATION CACHE MISS for '%s' with key %r", "jit_f", key)

    def writes(self, key=KEY):
        self.cache.debug("Writing %s to persistent compilation cache with key %r", "jit_f", key)


class Keys(unittest.TestCase):
    """What is understood of jax's log; whether jax still writes it so is seen with the real one (tests/integration)."""

    def listen(self, kind="cold"):
        for name in sliceup_jax_keys.LOGGERS:
            logger = logging.getLogger(name)
            self.addCleanup(logger.setLevel, logger.level)
            self.addCleanup(setattr, logger, "filters", list(logger.filters))
        restore = warnings.catch_warnings()
        restore.__enter__()
        self.addCleanup(restore.__exit__, None, None, None)
        warnings.showwarning = lambda *_: None
        self.worker = Worker(**{"pass": kind})
        self.addCleanup(self.worker.close)
        self.keys = sliceup_jax_keys.Keys(self.worker.canary)
        return Jax()

    def told(self):
        """The one line that tell() sends, as (state, why, parts)."""
        self.keys.tell()
        line = self.worker.hear()
        self.assertEqual(("cache", "jit_f", KEY), (line["type"], line["program"], line["key"]))
        return line["state"], line["why"], line["parts"]

    def silent(self):
        self.keys.tell()
        self.worker.canary.note("the next line")
        self.assertEqual("note", self.worker.hear()["type"])

    def test_a_compiled_program_is_told_with_what_its_key_was_made_of(self):
        jax = self.listen()
        jax.misses()
        self.assertEqual(("missed", "", PARTS), self.told())
        jax.writes()
        self.assertEqual(("written", "", PARTS), self.told())
        self.silent()

    def test_a_program_that_was_found_needs_no_parts(self):
        jax = self.listen("restored")
        jax.hits()
        self.assertEqual(("hit", "", {}), self.told())

    def test_a_program_compiled_and_then_found_was_compiled(self):
        jax = self.listen()
        jax.misses()
        jax.writes()
        jax.hits()
        self.assertEqual("written", self.told()[0])

    def test_what_compiling_took_is_of_the_program_that_was_compiled(self):
        jax = self.listen()
        jax.hits("jit_f-found")
        self.keys.took(9)                       # of a program that asks no cache
        jax.misses()
        jax.writes()
        self.keys.took(1.2345)
        self.keys.took(7)                       # again of one that asks no cache
        self.keys.tell()
        told = [self.worker.hear() for _ in range(2)]
        self.assertEqual([("jit_f-found", None), (KEY, 1234)], [(line["key"], line.get("compile_ms")) for line in told])

    def test_why_an_entry_was_not_written_is_told(self):
        for state, words in (("below-threshold", "for 'jit_f' because it took < 1.00 seconds to compile (0.05s)"),
                             ("below-threshold", "with key 'x' since its size (9 bytes) is less than threshold (10 bytes)"),
                             ("unwritten", "since process_id != 0"),
                             ("unwritten", "for 'jit_f' because it uses host callbacks")):
            with self.subTest(words):
                jax = self.listen()
                jax.misses()
                jax.compiler.debug(f"Not writing persistent cache entry {words}")
                self.assertEqual((state, f"Not writing persistent cache entry {words}", PARTS), self.told())
                self.doCleanups()

    def test_who_restores_is_not_asked_to_write(self):
        jax = self.listen("restored")
        jax.misses()
        jax.compiler.debug("Not writing persistent cache entry since process_id != 0")
        self.assertEqual(("missed", "", PARTS), self.told())

    def test_an_error_that_reading_raised_is_of_the_entry_that_was_found(self):
        jax = self.listen()
        jax.asks(found=True)
        entry = self.keys.failed(ValueError("torn"))
        self.assertEqual((KEY, "unreadable"), (entry.key, entry.state))
        line = self.worker.hear()
        self.assertEqual(("jit_f", "unreadable", "ValueError: torn"), (line["program"], line["state"], line["why"]))

    def test_a_warning_of_reading_outlives_the_compilation_after_it(self):
        jax = self.listen()
        jax.asks(found=True)
        warnings.warn("Error reading persistent compilation cache entry for 'jit_f': error: Error -5")
        jax.miss()
        jax.writes()
        self.assertEqual(("unreadable", "error: Error -5", PARTS), self.told())

    def test_a_write_that_failed_is_no_entry(self):
        jax = self.listen()
        jax.misses()
        jax.writes()
        warnings.warn("Error writing persistent compilation cache entry for 'jit_f': OSError: disk full")
        self.assertEqual(("unwritten", "OSError: disk full", PARTS), self.told())

    def test_a_write_that_raised_is_no_entry_and_another_error_leaves_it(self):
        for error, state in ((OSError("disk full"), "unwritten"), (ValueError("program"), "written")):
            with self.subTest(state):
                jax = self.listen()
                jax.misses()
                jax.writes()
                self.assertEqual(state == "unwritten", self.keys.failed(error) is not None)
                self.assertEqual(state, self.worker.hear()["state"])
                self.doCleanups()

    def test_a_cache_that_was_not_asked_is_no_miss(self):
        jax = self.listen()
        jax.asks()
        jax.cache.debug("get_executable_and_time: cache is disabled/not initialized")
        jax.miss()
        self.assertEqual(("none", "cache is disabled/not initialized", PARTS), self.told())

    def test_texts_that_are_not_understood_tell_nothing_and_break_nothing(self):
        jax = self.listen()
        jax.compiler.debug("a format with too few arguments: %s %s", "one")
        jax.compiler.debug("PERSISTENT CACHE MISSED %s", KEY)
        jax.files.debug("Cache hit for key: ''")
        jax.compiler.debug("Not writing persistent cache entry since nothing was asked before")
        self.silent()
        self.assertIsNone(self.keys.failed(ValueError("x")))

    def test_only_what_would_have_been_printed_is_printed(self):
        printed = []
        handler = logging.Handler()
        handler.emit = lambda record: printed.append(record.levelname)
        logging.getLogger("jax").addHandler(handler)
        self.addCleanup(logging.getLogger("jax").removeHandler, handler)
        jax = self.listen()
        jax.misses()
        jax.compiler.warning("a warning")
        self.assertEqual(["WARNING"], printed)

    def test_threads_do_not_mix_their_programs(self):
        jax = self.listen()
        jax.asks(found=True)
        other = threading.Thread(target=jax.misses, args=("jit_f-0",))
        other.start()
        other.join(TIMEOUT_S)
        self.assertEqual(KEY, self.keys.failed(ValueError("torn")).key)

    def test_a_name_that_is_too_long_keeps_its_digest(self):
        for name in ("f" * 1000, "\u00e9" * 500):
            kept = sliceup_canary.shortened(f"jit_{name}-{DIGITS}")
            self.assertLessEqual(len(kept.encode()), 255)
            self.assertTrue(kept.endswith(DIGITS))
        self.assertEqual(KEY, sliceup_canary.shortened(KEY))


class Frontends(unittest.TestCase):
    def test_a_frontend_helper_does_not_shadow_its_library(self):
        source = "import sys, sliceup_jax\nassert not any(p.rstrip('/') == sys.argv[1] for p in sys.path)"
        subprocess.run([sys.executable, "-B", "-c", source, CANARIES], check=True, timeout=TIMEOUT_S,
                       env={**os.environ, "PYTHONPATH": os.path.join(CANARIES, "jax")})


class Backend(unittest.TestCase):
    def test_a_gpu_has_one_name(self):
        self.assertEqual(["gpu", "gpu", "gpu", "cpu", "tpu"], [sliceup_jax.backend_of(one) for one in ("cuda", "rocm", "gpu", "cpu", "tpu")])


class ProcessesOfAHost(unittest.TestCase):
    """Those of torchrun: LOCAL_RANK is the only thing that numbers them."""

    def first(self, place, distributed=True):
        with unittest.mock.patch.dict(os.environ, LOCAL_RANK=place), \
             unittest.mock.patch.object(sliceup_program, "torch_distributed", return_value=distributed):
            return sliceup_program.first_device()

    def test_each_counts_as_a_device_of_its_own(self):
        self.assertEqual([0, 3, 0], [self.first("0"), self.first("3"), self.first("3", distributed=False)])

    def test_their_metrics_are_in_that_order_whatever_their_pids(self):
        children = sliceup_program.sliceup_program_children
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.dict(os.environ, HOME=home):
            started = children.Children({"nonce": "n"})
            for pid, place in ((9998, 1), (10000, 0), (77, 2)):
                shards = json.dumps({"type": "metric", "name": "loss", "shards": [place]})
                with open(os.path.join(started.folder, f"{pid}.{place}.x.lines"), "w") as file:
                    file.write(shards + "\n")
            started.read()
        self.assertEqual([[0, 1, 2]], [metric["shards"] for metric in started.metrics()])


class Rendezvous(unittest.TestCase):
    DROPPED = "its host is down, or something between the hosts drops packets"

    def told(self, error):
        with unittest.mock.patch.object(sliceup_jax.socket, "create_connection", side_effect=error):
            with self.assertRaises(sliceup_canary.Failure) as caught:
                sliceup_jax.await_listener("rank0.svc:8476", 0)
        return caught.exception.owner, str(caught.exception)

    def test_the_port_is_the_arguments_where_there_is_one(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for args, wanted in (({"port": port}, [port]), ({}, range(1024, 65536))):
            canary = unittest.mock.Mock(attempt={"address": "127.0.0.1"}, args=args)
            self.assertIn(int(sliceup_jax.free_port(canary).rpartition(":")[2]), wanted)

    def test_only_silence_is_told_as_a_host_that_is_down_or_packets_that_are_dropped(self):
        for error in (TimeoutError("timed out"), OSError(errno.EHOSTUNREACH, "No route to host")):
            owner, text = self.told(error)
            self.assertEqual("peer", owner)
            self.assertIn(self.DROPPED, text)
        for error in (socket.gaierror(-2, "Name or service not known"), OSError(errno.ENETUNREACH, "Network is unreachable"),
                      OSError(errno.EMFILE, "Too many open files")):
            owner, text = self.told(error)
            self.assertEqual("host", owner)
            self.assertIn(error.strerror, text)
            self.assertNotIn(self.DROPPED, text)
        self.assertEqual("peer", self.told(ConnectionRefusedError())[0])


class Identity(unittest.TestCase):
    """What the program gate compares."""

    def identity(self, fingerprint="f", **flags):
        with unittest.mock.patch.dict(os.environ, flags, clear=True):
            return sliceup_jax.identity(fingerprint)

    def test_another_program_or_flag_is_another_identity(self):
        seen = {self.identity(), self.identity("g"), self.identity(XLA_FLAGS="--a"), self.identity(XLA_FLAGS="--a --b"),
                self.identity(XLA_FLAGS="--a=1")}
        self.assertEqual(5, len(seen))
        self.assertNotEqual(self.identity(), self.identity(LIBTPU_INIT_ARGS="--a"))

    def test_the_order_of_flags_and_other_variables_do_not_matter(self):
        self.assertEqual(self.identity(XLA_FLAGS="--a --b"), self.identity(XLA_FLAGS=" --b  --a --b ", OTHER="--c"))


class Array:
    """As much of a numpy array as a checkpoint looks at."""

    def __init__(self, content):
        self.content, self.dtype, self.shape = content, "uint8", (len(content),)

    def tobytes(self):
        return self.content

    @classmethod
    def frombuffer(cls, content, _):
        return cls(content)

    def reshape(self, _):
        return self


class Shards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        shards = [("w", ((0, 2),), Array(b"ab")), ("w", ((2, 4),), Array(b"cd")), ("count", (), Array(b"e"))]
        self.size = sliceup_shards.write(self.folder, shards)

    def read(self):
        return {key: array.content for key, array in sliceup_shards.read(Array, self.folder).items()}

    def test_what_was_written_is_read_by_name_and_place(self):
        self.assertEqual(5, self.size)
        self.assertEqual({("w", ((0, 2),)): b"ab", ("w", ((2, 4),)): b"cd", ("count", ()): b"e"}, self.read())

    def test_a_file_that_changed_is_refused_and_named(self):
        with open(os.path.join(self.folder, "1.bin"), "wb") as file:
            file.write(b"cD")
        with self.assertRaisesRegex(sliceup_canary.Failure, "1.bin: its sha256") as caught:
            self.read()
        self.assertEqual("host", caught.exception.owner)

    def test_nothing_but_whole_files_is_left(self):
        self.assertEqual(["0.bin", "1.bin", "2.bin", "manifest.json"], sorted(os.listdir(self.folder)))


class Steps(unittest.TestCase):
    """What of a step is the host's own, and what it waits for others: as soon as the machine lets it be seen, which is sampled."""

    def once(self, work, holds):
        parts = []
        while len(parts) < 10 and not any(map(holds, parts)):
            parts.append(self.own_part(work))
        self.assertTrue(any(map(holds, parts)), parts)

    def own_part(self, work):
        """Of three steps of some 0.1 s, as a part of the whole."""
        over = threading.Event()
        times = sliceup_program.StepTimes(over)
        times.step()
        for _ in range(3):
            work(times)
            times.step()
        over.set()
        told = times.counters()
        self.assertLess(90, told["step_ms"])
        return told["step_own_ms"] / told["step_ms"]

    def test_sleeping_computing_and_a_queue_are_its_own(self):
        def compute(_):
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                sum(range(1000))

        def fetch(_):
            with self.assertRaises(queue.Empty):
                queue.Queue().get(timeout=0.1)

        for work in (lambda _: time.sleep(0.1), compute, fetch):
            self.once(work, lambda part: part > 0.7)

    def test_waiting_for_a_socket_is_for_others(self):
        def meet(_):
            ours, theirs = socket.socketpair()
            late = threading.Timer(0.1, theirs.send, (b"x",))
            late.start()
            ours.recv(1)
            late.join()
            ours.close()
            theirs.close()

        self.once(meet, lambda part: part < 0.5)

    def test_the_program_may_say_where_it_waits(self):
        def work(times):
            time.sleep(0.02)
            times.waits()
            time.sleep(0.1)

        self.once(work, lambda part: part < 0.5)


class Specification(unittest.TestCase):
    """The example of the specification is a conversation that the helper can hold."""

    def example(self):
        with open(SPEC, encoding="utf-8") as file:
            block = re.search(r"```canary-session\n(.*?)```", file.read(), re.S).group(1)
        return [(line[0], json.loads(line[2:])) for line in block.splitlines()]

    def test_every_line_of_the_example_is_a_message(self):
        lines = self.example()
        self.assertEqual((lines[0][0], lines[0][1]["type"]), (">", "attempt"))
        for side, message in lines:
            self.assertIn(side, "<>")
            self.assertEqual(sliceup_canary.decode(json.dumps(message)), message)

    def test_every_type_of_a_canary_is_in_the_example_or_the_table(self):
        with open(SPEC, encoding="utf-8") as file:
            text = file.read()
        for kind in ("phase", "bundle", "policy", "backend", "program", "gate", "counters", "check", "metric",
                     "memory", "note", "fact", "failure", "done", "cache"):
            self.assertIn(f"| `{kind}` |", text)

    def test_the_helper_says_what_the_example_says(self):
        lines = self.example()
        worker = Worker(**{key: value for key, value in lines[0][1].items() if key != "type"})
        self.addCleanup(worker.close)
        for side, message in lines[1:]:
            fields = {key: value for key, value in message.items() if key != "type"}
            if side == ">":
                worker.tell(message)
            elif message["type"] == "counters":
                worker.canary.counted = fields["values"]
                worker.canary.counters()
            elif message["type"] == "done":
                worker.canary.done()
            else:
                worker.canary.say(message["type"], **fields)
            if side == "<":
                self.assertEqual(worker.hear(), message)


class LongerSteps(unittest.TestCase):
    """Who tells of it. Each row: own part early and late, step early and late, of one host."""

    def told(self, *rows):
        return [sliceup_hold.Spans(rows, rank).longer(1.0)[0] for rank in range(len(rows))]

    def test_only_the_hosts_whose_own_part_grew_tell_of_it(self):
        calm, waits, slows = [1, 1, 4, 4], [1, 1, 4, 20], [1, 16, 4, 20]
        self.assertEqual([None, None], self.told(calm, calm))
        self.assertEqual([None, "host", None], self.told(waits, slows, waits))
        self.assertEqual([["host"]] * 2, [self.told(slows), self.told(waits)])

    def test_an_equal_growth_of_all_is_no_host_alone(self):
        self.assertEqual(["platform"] * 2, self.told([1, 1, 4, 20], [1, 1, 4, 19]))
        self.assertEqual(["unknown"] * 2, self.told([1, 16, 4, 20], [1, 15, 4, 20]))

    def test_hosts_decide_by_the_same_figures(self):
        """3.7 to 20 ms is too much by the limit, 3.9 to 19.4 is not: they met in one run, on one busy machine."""
        rows = [0.9, 11, 3.7, 20.0], [1.1, 12, 3.9, 19.4]
        self.assertEqual([None, None], [sliceup_hold.Spans(rows, rank).longer(4.3)[0] for rank in (0, 1)])
        self.assertEqual([False, True], [sliceup_hold.Spans([[0.0] * 4, rows[1]], rank).known for rank in (0, 1)])


if __name__ == "__main__":
    unittest.main()
