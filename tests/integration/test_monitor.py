"""Monitors on other machines: sliceup watch and status with a key, and nothing of the run's folder."""
import concurrent.futures
import json
import pathlib
import re
import signal
import stat
import subprocess
import threading
import unittest

import lab
import zmq_peer
from certificate import monitor_key_of, pair_of

try:
    import zmq.auth
except ImportError:
    zmq = None


class Monitors(lab.LabTest):
    """The other machine is another home: nothing of the run is in it."""

    def setUp(self):
        super().setUp()
        self.elsewhere = self.lab.env(SLICEUP_HOME=str(self.lab.root / "elsewhere"))

    def slow_slice(self, seconds=4, hosts=2, rungs=(), **more):
        rungs = [self.lab.rung("low", "slow.py", args={"seconds": seconds, "phases": ["compile"]}), *rungs,
                 self.lab.rung("high", "plain/hello.py")]
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), **more)

    def start(self, slice_path, **env):
        run = self.lab.start("run", slice_path, env=self.lab.env(**env))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 60)
        return run

    def key(self, *more):
        """As a person would do it, with a permissive umask."""
        path = self.lab.files / "wall.key"
        words = " ".join([str(lab.SLICEUP), "monitor-key", *more])
        done = subprocess.run(["sh", "-c", f"umask 022; {words} > {path}"], env=self.lab.env(), capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(0, done.returncode, done)
        return path

    def watch(self, key):
        shown = lab.Background([str(lab.SLICEUP), "watch", "--key", str(key), "--plain"], self.elsewhere)
        self.lab.running.append(shown)
        return shown

    def peer(self, key):
        peer = zmq_peer.Peer(key["address"], key["port"], key["coordinator_key"].encode(),
                             (key["public_key"].encode(), key["secret_key"].encode()))
        self.addCleanup(peer.close)
        return peer

    @staticmethod
    def durable(out):
        """The lines of facts that are recorded; what workers' heartbeats tell may be missed."""
        return [line for line in out.splitlines() if re.match(r"\[ *\d+\.\d s\] ", line) and "suspect" not in line]


class Watching(Monitors):
    def test_all_that_happened_before_is_shown_and_then_what_happens(self):
        run = self.start(self.slow_slice())
        shown = self.watch(self.key())
        ended = shown.end(120)
        self.assertEqual(0, run.end().status)
        self.assertEqual(0, ended.status, ended)
        here = self.passes(self.lab.sliceup("watch", "--plain"))
        self.assertEqual(self.durable(here.out), self.durable(ended.out))
        self.assertIn("climbed to the top", ended.out)
        self.assertEqual([], list((self.lab.root / "elsewhere").glob("runs/*")))

    def test_status_tells_the_same_from_elsewhere_and_the_phases_too(self):
        run = self.start(self.slow_slice(seconds=20))
        key = self.key()

        def compiling():
            ended = self.lab.sliceup("status", "--key", key, "--json", env=self.elsewhere)
            self.assertEqual(0, ended.status, ended)
            return json.loads(ended.out) if "compile" in ended.out else None
        there = lab.wait_for(compiling, "the phase to be told", 60)
        here = self.lab.status()
        for name in ("run", "slice", "pid", "hosts", "rungs"):
            self.assertIn(name, there)
        self.assertEqual((here["run"], here["pid"]), (there["run"], there["pid"]))
        self.assertEqual(run.process.pid, there["pid"])
        run.kill(signal.SIGINT)
        run.end(60)

    def test_a_plan_larger_than_a_frame_comes_in_pieces(self):
        args = {f"note{i}": "x" * 1000 for i in range(8)}
        many = [self.lab.rung(f"r{i}", "plain/hello.py", args=args) for i in range(48)]
        run = self.start(self.slow_slice(seconds=30, hosts=1, rungs=many))
        status = self.lab.sliceup("status", "--key", self.key(), "--json", env=self.elsewhere)
        self.assertEqual(0, status.status, status)
        self.assertEqual(50, len(json.loads(status.out)["rungs"]))
        size = self.largest_fact()
        self.assertGreater(size, 9 * 32 * 1024, "more than one answer holds, or the test proves nothing")
        run.kill(signal.SIGINT)
        run.end(60)

    def largest_fact(self):
        import sqlite3
        journal = sqlite3.connect(f"file:{self.lab.run_folder() / 'journal.db'}?mode=ro", uri=True)
        try:
            return journal.execute("SELECT max(length(bytes)) FROM fact").fetchone()[0]
        finally:
            journal.close()

    def test_watching_goes_on_after_the_coordinator_was_resumed(self):
        run = self.start(self.slow_slice(seconds=8))
        shown = self.watch(self.key())
        shown.wait_out("low attempt 1 began", 60)
        run.kill_and_reap()
        shown.wait_out("does not answer", 60)
        self.passes(self.lab.sliceup("resume"))
        ended = shown.end(120)
        self.assertEqual(0, ended.status, ended)
        here = self.passes(self.lab.sliceup("watch", "--plain"))
        self.assertEqual(self.durable(here.out), self.durable(ended.out))

    def test_who_leaves_is_let_go_at_once_whatever_czmq_was_told(self):
        run = self.start(self.slow_slice(seconds=60))
        self.elsewhere = {**self.elsewhere, "ZSYS_SIGHANDLER": "true", "ZSYS_IO_THREADS": "0", "ZSYS_LINGER": "60000",
                          "ZSYS_MAX_SOCKETS": "1", "ZSYS_LOGSTREAM": "stdout"}
        for sig in (signal.SIGINT, signal.SIGTERM):
            shown = self.watch(self.key("--name", f"one-{int(sig)}"))
            shown.wait_out("low attempt 1 began", 60)
            shown.kill(sig)
            ended = shown.end(10)
            self.assertEqual(130, ended.status, ended)
            self.assertNotIn("dangling", ended.out)
        run.kill(signal.SIGINT)
        run.end(60)

    def test_when_the_coordinator_is_gone_it_says_so_and_ends(self):
        run = self.start(self.slow_slice(seconds=100))
        shown = self.watch(self.key())
        shown.wait_out("low attempt 1 began", 60)
        run.kill_and_reap()
        ended = shown.end(180)  # silence is measured by the minute
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.out, r"127\.0\.0\.1, port \d+, was silent for 60 s: the coordinator of run [0-9a-f]{8} is gone")
        self.assertIn("the coordinator does not answer; waiting for it", ended.out)

    def test_who_lags_behind_at_the_end_is_waited_for_and_told(self):
        run = self.start(self.slow_slice(seconds=4))
        key = monitor_key_of(self.passes(self.lab.sliceup("monitor-key")).out)
        late, dead = self.peer(key), self.peer(key)

        def asked_until_the_last_rung():  # an answer after the end would be the end of it
            for peer in (late, dead):
                peer.send(b"facts 1 0")
            return self.lab.count("pass-began") == 2
        lab.wait_for(asked_until_the_last_rung, "the last rung", 120)
        lab.wait_for(lambda: self.lab.count("run-ended"), "the end", 60)
        last = max(index for index, _ in self.lab.facts())
        self.assertIsNone(run.process.poll(), "it waits for both")
        late.send(f"facts {last} 0".encode())
        self.assertTrue(lab.wait_for(lambda: self.hears(late, last), "the last fact", 20))
        self.assertEqual(0, run.end(60).status)  # the other is not waited for without end

    @staticmethod
    def hears(peer, index):
        """An answer that says that there is nothing more, and begins with this fact, behind all earlier ones."""
        while frame := peer.receive(1):
            if frame[:1] == b"S" and frame[1] & 2 and frame[2:10] == index.to_bytes(8, "big"):
                return True
        return False


class Keys(Monitors):
    def test_a_key_file_is_private_even_with_a_permissive_umask(self):
        run = self.start(self.slow_slice(seconds=20))
        path = self.key()
        self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode))
        path.chmod(0o644)
        for command in ("watch", "status"):
            refused = self.lab.sliceup(command, "--key", path, env=self.elsewhere)
            self.assertEqual(3, refused.status, refused)
            self.assertIn("other users may read it", refused.err)
        run.kill(signal.SIGINT)
        run.end(60)

    def test_each_monitor_has_its_own_key_and_names_are_taken_once(self):
        run = self.start(self.slow_slice(seconds=30))
        keys = [monitor_key_of(self.passes(self.lab.sliceup("monitor-key", *more)).out)
                for more in ([], [], ["last", "--name", "wall"], ["--address", "192.0.2.7"])]
        self.assertEqual(4, len({key["secret_key"] for key in keys}))
        self.assertEqual("192.0.2.7", keys[3]["address"])
        refused = self.lab.sliceup("monitor-key", "--name", "wall")
        self.assertEqual(3, refused.status)
        self.assertIn("already has a monitor named wall", refused.err)
        for name in ("../wall", "", "-x", "a/b", "x" * 64):
            self.assertEqual(2, self.lab.sliceup("monitor-key", f"--name={name}").status, name)
        for address in ("", "*", "1.2.3.4:5", "0.0.0.0", "%s%n", 'a"b', "a b", "a\nport = 1", "a;b", "x" * 300):
            refused = self.lab.sliceup("monitor-key", "--address", address)
            self.assertEqual((2, ""), (refused.status, refused.out), address)
        folder = self.lab.run_folder() / "monitors"
        self.assertEqual({"monitor-1.pub", "monitor-2.pub", "wall.pub", "monitor-3.pub"},
                         {path.name for path in folder.iterdir()})
        run.kill(signal.SIGINT)
        run.end(60)

    def test_other_programs_load_the_key(self):
        run = self.start(self.slow_slice(seconds=30))
        path = self.key()
        key = monitor_key_of(path.read_text())
        self.assertEqual((key["public_key"], key["secret_key"]), pair_of(path))
        for file in (path, self.lab.run_folder() / "monitor.key"):
            public, secret = pair_of(file)
            derived = zmq_peer.ctypes.create_string_buffer(41)
            zmq_peer.checked(zmq_peer.ZMQ.zmq_curve_public(derived, secret.encode()))
            self.assertEqual(derived.value, public.encode())
        status = self.passes(self.lab.sliceup("status", "--key", path, "--json", env=self.elsewhere))
        self.assertEqual(key["run"], json.loads(status.out)["run"])
        run.kill(signal.SIGINT)
        run.end(60)

    @unittest.skipUnless(zmq, "needs python3-zmq")
    def test_pyzmq_loads_the_key_and_watches_with_it(self):
        run = self.start(self.slow_slice(seconds=30))
        path = self.key()
        key = monitor_key_of(path.read_text())
        context = zmq.Context()
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        socket.curve_publickey, socket.curve_secretkey = zmq.auth.load_certificate(path)
        socket.curve_serverkey = key["coordinator_key"].encode()
        socket.connect(f"tcp://{key['address']}:{key['port']}")
        socket.send(b"facts 1 0")
        mark = b"\x95"
        while mark == b"\x95":  # events may come before the answer
            self.assertTrue(socket.poll(20000))
            mark = socket.recv()[:1]
        self.assertEqual(b"S", mark)
        context.destroy(0)
        run.kill(signal.SIGINT)
        run.end(60)

    def test_keys_that_are_made_at_the_same_time_are_all_good(self):
        run = self.start(self.slow_slice(seconds=40))
        with concurrent.futures.ThreadPoolExecutor(8) as people:
            made = list(people.map(lambda _: self.lab.sliceup("monitor-key"), range(8)))
        printed = {monitor_key_of(self.passes(one).out)["public_key"] for one in made}
        self.assertEqual(8, len(printed))
        folder = self.lab.run_folder() / "monitors"
        self.assertEqual(printed, {path.read_text().strip() for path in folder.iterdir()})
        run.kill(signal.SIGINT)
        run.end(60)

    def test_no_more_keys_are_made_than_are_admitted(self):
        run = self.start(self.slow_slice(seconds=60))
        folder = self.lab.run_folder() / "monitors"
        public = monitor_key_of(self.passes(self.lab.sliceup("monitor-key")).out)["public_key"]
        for number in range(2, 65):
            (folder / f"monitor-{number}.pub").write_text(public + "\n")
        refused = self.lab.sliceup("monitor-key")
        self.assertEqual(3, refused.status, refused)
        self.assertIn("has 64 monitor keys", refused.err)
        self.assertEqual(64, len(list(folder.iterdir())))
        run.kill(signal.SIGINT)
        run.end(60)

    def test_a_run_that_is_over_gives_no_keys_and_answers_none(self):
        path = self.slow_slice(seconds=3)
        run = self.start(path)
        key = self.key()
        self.assertEqual(0, run.end().status)
        refused = self.lab.sliceup("monitor-key")
        self.assertEqual(3, refused.status)
        self.assertIn("no coordinator holds run", refused.err)
        silent = self.lab.sliceup("status", "--key", key, env=self.elsewhere)
        self.assertEqual(3, silent.status)
        self.assertIn("did not answer", silent.err)

    def test_what_is_no_key_is_refused_and_not_quoted(self):
        path = self.lab.write("odd.key", "")
        path.chmod(0o600)
        good = {"sliceup-monitor": 1, "run": "0" * 32, "address": "127.0.0.1", "port": 1, "coordinator_key": "k" * 40,
                "public_key": "k" * 40, "secret_key": "sekret" + "k" * 34}
        pair = "curve\n    public-key = \"%s\"\n    secret-key %s\n"
        for text in ("", "{", "[1]", json.dumps({**good, "run": "../" + "0" * 29}), json.dumps({**good, "port": 0}),
                     json.dumps({**good, "secret_key": "sekret"}), json.dumps(good), "y" * 5000,
                     pair % ("k" * 40, "sekret"), pair % ("k" * 40, "= \"sekret"), pair % ("k" * 40, '= "" sekret'),
                     pair % ("k" * 40, '= "sekret' + "k" * 34 + '"'), "sekret = ?\n        x\n", "  sekret\n"):
            path.write_text(text)
            refused = self.lab.sliceup("status", "--key", path, env=self.elsewhere)
            self.assertNotEqual(0, refused.status, text)
            self.assertEqual("", refused.out)
            self.assertNotIn("sekret", refused.err)
        self.assertEqual(2, self.lab.sliceup("watch", "--key", path, "last").status)


class Hostile(Monitors):
    """Somebody who has a monitor's key and means harm."""

    @staticmethod
    def rss_bytes(pid):
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024

    def test_asking_without_end_and_never_reading_costs_bounded_memory_and_delays_nobody(self):
        small = lab.SANITIZERS["ASAN_OPTIONS"] + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
        notes = {f"note{k}": "x" * 1000 for k in range(30)}     # a plan of more than an answer
        many = [self.lab.rung(f"r{i}", "plain/hello.py", args=notes) for i in range(10)]
        run = self.start(self.slow_slice(seconds=3, hosts=2, rungs=many), ASAN_OPTIONS=small)
        key = monitor_key_of(self.passes(self.lab.sliceup("monitor-key")).out)
        before = self.rss_bytes(run.process.pid)
        peers = [self.peer(key) for _ in range(6)]
        stop, sent, peaks = threading.Event(), [0], [before]

        def attack():
            words = [b"facts 1 0", b"facts 1 4294967295", b"facts 9223372036854775807 0",
                     b"facts 99999999999999999999 0", b"facts -1 0", b"facts 1", b"\x00", b"listen", b"facts 1 0 0", b"x" * 64, b"y" * 900, b"\x01" * 40]
            while not stop.is_set():
                for peer in peers:
                    sent[0] += sum(peer.send(word) for word in words)
                try:
                    peaks.append(self.rss_bytes(run.process.pid))
                except (OSError, AttributeError):
                    pass  # it has ended
                stop.wait(0.002)
        thread = threading.Thread(target=attack)
        thread.start()
        try:
            other = self.watch(self.key("--name", "honest"))
            ended = other.end(120)
        finally:
            stop.set()
            thread.join(30)
        self.assertEqual(0, run.end(120).status, run.out)
        self.assertEqual(0, ended.status, ended)
        self.assertGreater(sent[0], 2000, "hardly anything was asked: the test proves nothing")
        self.assertGreater(len(peaks), 100)
        self.assertLess(max(peaks) - before, 128 << 20)
        print(f"asked {sent[0]} times; grew by {(max(peaks) - before) >> 20} MiB")
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])

    def test_a_monitor_key_opens_neither_of_the_workers_doors(self):
        run = self.start(self.slow_slice(seconds=20))
        key = monitor_key_of(self.passes(self.lab.sliceup("monitor-key")).out)
        hub = json.loads((self.lab.run_folder() / "hub.json").read_text())
        pair = (key["public_key"].encode(), key["secret_key"].encode())
        self.assertEqual(key["port"], hub["events_port"])

        def at(port):
            return zmq_peer.Peer("127.0.0.1", port, key["coordinator_key"].encode(), pair)
        lab.wait_for(lambda: zmq_peer.Peer.all_greeted([at(key["port"])])[0], "the key to open its own door", 20)
        for port in (hub["control_port"], hub["bulk_port"]):
            self.assertEqual([False], zmq_peer.Peer.all_greeted([at(port)]))
        run.kill(signal.SIGINT)
        run.end(60)


if __name__ == "__main__":
    unittest.main()
