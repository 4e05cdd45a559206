"""Who is not ours: strangers of every kind at a live run's doors, and a worker that claims to be another host."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import flood_peer
import lab
import zmq_peer

LIMITS = {"stop": "200ms", "cascade": "1s", "suspect": "10s", "lost": "30s"}
STRANGERS = ("flood", "trickle", "garbage", "null", "unlisted", "listed-elsewhere")
SLOWER = 1.5                            # what a real run may take beside them, times its undisturbed time
TRIES = 4                               # of which the best counts: this machine has other work


class Attack:
    """One kind of stranger, a process of its own, from before the run begins until it is stopped.

    It is polite about this machine's processors, which a stranger elsewhere would not use at all; not about the doors.
    """

    def __init__(self, kind, hub, key):
        argv = ["nice", "-n", "15", "setpriv", "--pdeathsig", "KILL", sys.executable, "-B", zmq_peer.__file__, kind, str(hub), str(key)]
        self.kind = kind
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def stop(self):
        """(how often it attacked, whether somebody let it in, what else it said)"""
        ended = self.process.poll()
        self.process.kill()
        said = self.process.communicate(timeout=10)[0].split("\n")
        counts = [int(line) for line in said if line.isdigit()]
        words = [line for line in said if line and not line.isdigit()]
        return max(counts, default=0) if ended is None else 0, "let in" in said, words


class Intruders(lab.LabTest):
    def hub(self, run="last"):
        return json.loads((self.lab.run_folder(run) / "hub.json").read_text())

    def live(self, hosts, seconds=60, limits=LIMITS):
        """A run whose one rung takes this long, once its hub is there and every host joined."""
        ladder = self.lab.ladder("live.yaml", [self.lab.rung("slow", "slow.py", args={"seconds": seconds}, timeout="2m")])
        run = self.lab.start("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits))
        lab.wait_for(lambda: self.lab.count("pass-began") >= 1, "the rung to begin", 60)
        return run


class Doors(Intruders):
    """Each kind of key at each door of a live run. A stranger hears nothing: its handshake ends after some seconds."""
    DOORS = (("control_port", zmq_peer.DEALER), ("bulk_port", zmq_peer.DEALER), ("events_port", zmq_peer.DEALER))

    def peers(self, keys, doors=DOORS):
        hub = self.hub()
        server = hub["public_key"].encode() if keys else None
        return [zmq_peer.Peer(hub["address"], hub[door], server, keys, kind) for door, kind in doors]

    def refused(self, pairs):
        """No door lets any of the pairs in; they knock at the same time."""
        knocking = [(name, peer) for name, keys, doors in pairs for peer in self.peers(keys, doors)]
        greeted = zmq_peer.Peer.all_greeted([peer for _, peer in knocking])
        self.assertEqual([], [name for (name, _), answer in zip(knocking, greeted) if answer])
        return greeted

    def test_only_a_listed_key_gets_through_each_door(self):
        run = self.live(hosts=2)
        folder = self.lab.run_folder()
        monitor, coordinator = (zmq_peer.key_pair_of(folder / name) for name in ("monitor.key", "coordinator.key"))
        answers = zmq_peer.Peer.all_greeted(self.peers(monitor, self.DOORS[2:]))
        self.assertEqual([True], answers, "the monitor's own key was refused: this test is blind")
        answers = self.refused([("a monitor's key at a worker's door", monitor, self.DOORS[:2]),
                                ("an unlisted key", zmq_peer.key_pair(), self.DOORS),
                                ("the coordinator's own key, as a client", coordinator, self.DOORS),
                                ("no key", None, self.DOORS)])
        self.assertEqual({False}, set(answers), "somebody was still waiting for an answer")
        run.kill_and_reap()

    def test_keys_of_another_run_pass_no_door(self):
        first = self.live(hosts=1)
        other = self.lab.run_folder()
        second = self.live_beside(other)
        self.refused([(name, zmq_peer.key_pair_of(other / name), self.DOORS) for name in ("monitor.key", "coordinator.key")])
        first.kill_and_reap()
        second.kill_and_reap()

    def live_beside(self, other):
        self.lab.home = self.lab.root / "home2"
        self.addCleanup(self.end_workers_of, other)
        return self.live(hosts=1)

    def end_workers_of(self, folder):
        home, self.lab.home = self.lab.home, folder.parent.parent
        self.lab.kill_workers()
        self.lab.home = home


class Beside(Intruders):
    """A real run of eight workers while every kind of stranger is at its doors."""

    def ladder(self):
        return self.lab.ladder("ladder.yaml", [
            {"id": "facts", "builtin": "facts", "timeout": "60s"},
            self.lab.rung("slow", "slow.py", args={"seconds": 0.5}, timeout="60s"),
            *(self.lab.rung(f"hello{number}", "plain/hello.py", timeout="60s") for number in range(3)),
            *(self.lab.rung(f"metrics{number}", "plain/metrics.py", scope="slice", timeout="60s", metrics=["loss", "tokens"])
              for number in range(3))])

    def climb(self, name, kinds=(), key=""):
        """How long the run took, in seconds, and what each kind of stranger did meanwhile."""
        self.lab.home = self.lab.root / name
        path = self.lab.slice(hosts=8, ladder=str(self.ladder()), limits=LIMITS, name=f"{name}.yaml")
        began = time.monotonic()
        run = self.lab.start("run", path)
        attacks = []
        try:
            if kinds:
                hub = lab.wait_for(lambda: next((self.lab.home / "runs").glob("*/hub.json"), None), "the run's doors", 30)
                attacks = [Attack(kind, hub, key) for kind in kinds]
            ended = run.end(240)
            took_s = time.monotonic() - began
        finally:
            did = {attack.kind: attack.stop() for attack in attacks}
        self.right(ended)
        return took_s, did

    def right(self, ended):
        self.assertEqual(0, ended.status, ended)
        receipt = self.lab.receipt()
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual({"proved"}, {item["proof"] for item in receipt["reductions"]})
        self.assertEqual([("passed", f"h{number}") for number in range(8)],
                         [(host["outcome"], host["host"]) for host in receipt["hosts"]])
        attempts = {rung["attempt"] for host in receipt["hosts"] for rung in host["rungs"]}
        self.assertEqual({1}, attempts, "something had to be done again")
        self.assertEqual([], receipt["recoveries"])
        self.nothing_is_left()

    def test_a_run_beside_every_kind_of_stranger_ends_right_and_in_time(self):
        other = self.live(hosts=1)
        key = shutil.copy(self.lab.run_folder() / "coordinator.key", self.lab.root / "other.key")
        other.kill_and_reap()
        self.lab.kill_workers()
        quiet, beside = [], []
        for number in range(TRIES):
            quiet.append(self.climb(f"quiet{number}")[0])
            took_s, did = self.climb(f"beside{number}", STRANGERS, key)
            beside.append(took_s)
            for kind, (times, let_in, words) in did.items():
                self.assertGreater(times, 0, f"{kind} did nothing: {words}")
                self.assertFalse(let_in, f"{kind} was let in")
            if min(beside) <= SLOWER * min(quiet):
                break
        print(f"    quiet {min(quiet):.1f} s, beside strangers {min(beside):.1f} s; {({kind: times for kind, (times, *_) in did.items()})}")
        self.assertLessEqual(min(beside), SLOWER * min(quiet), f"quiet {quiet}, beside strangers {beside}")


class Impostors(Intruders):
    """A worker with a key of its own, properly admitted for its host, that speaks as another."""

    def build_with(self, host, claims):
        """A copy of the binaries in which the worker of `host` is a program of ours; the others are the real one."""
        folder = self.lab.root / "bin"
        folder.mkdir()
        shutil.copy(lab.SLICEUP, folder / "sliceup")
        script = folder / "sliceup-worker"
        script.write_text(f"#!{sys.executable} -B\n" + IMPOSTOR.format(
            lib=str(pathlib.Path(zmq_peer.__file__).parent), real=str(lab.BUILD / "bin" / "sliceup-worker"), host=host, claims=claims,
            diary=str(self.lab.root / "diary")))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return folder / "sliceup"

    def test_a_key_speaks_for_its_own_host_only(self):
        sliceup = self.build_with("h2", claims="h0")
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("hello", "plain/hello.py")])
        path = self.lab.slice(hosts=3, ladder=str(ladder), limits={**LIMITS, "join": "4s"})
        run = lab.Background([str(sliceup), "run", str(path)], self.lab.env())
        self.lab.running.append(run)
        ended = run.end(90)
        diary = (self.lab.root / "diary").read_text()
        self.assertIn("welcome\n", diary, "the impostor's key was never admitted: this test is blind")
        self.assertGreater(diary.count("claimed h0"), 1)
        self.assertNotIn("answered", diary, "somebody answered what h2 said as h0")
        self.assertEqual(3, ended.status, ended)
        self.assertIn("h2 blocked: its worker did not join", self.lab.receipt()["headers"][0]["sentence"])
        self.assertEqual(2, self.lab.count("host-joined"), "h2 joined, or h0 twice")


class Floods(Intruders):
    """A worker that is properly admitted for its host, and says more than anybody can listen to."""
    LIMITS = {"stop": "200ms", "cascade": "1s", "suspect": "1s", "lost": "2s"}
    LOST_S, LEAVES_S = None, None  # of tests/campaign/floods. Here the flood lasts as long as the run: what waits for its end fails

    def begin(self, kind):
        """Three hosts at a rung that goes on, and h0 that floods."""
        diary = self.lab.root / f"{kind}.diary"
        sliceup = flood_peer.build(self.lab.root / f"bin-{kind}", lab.BUILD / "bin", "h0", kind, diary)
        ladder = self.lab.ladder("ladder.yaml", [self.lab.rung("slow", "slow.py", args={"seconds": 200}, timeout="5m")])
        run = lab.Background([str(sliceup), "run", str(self.lab.slice(hosts=3, ladder=str(ladder), limits=self.LIMITS))], self.lab.env())
        self.lab.running.append(run)
        lab.wait_for(lambda: diary.exists() and len(self.lab.processes_under()) >= 5, f"the {kind} and two programs to begin", 30)
        return run

    def flooded(self, kind):
        run = self.begin(kind)
        stopped = time.monotonic()
        os.kill(self.lab.worker_pids()["h2"], signal.SIGSTOP)
        run.wait_out(r"(h2|\(h\[0,2\]\)) lost: silent for", 60) # h0, whose messages are dropped, may be lost with it
        lost_s = time.monotonic() - stopped
        cancelled = time.monotonic()
        run.kill(signal.SIGINT)
        ended = run.end(60)
        left_s = time.monotonic() - cancelled
        print(f"    {kind}: lost after {lost_s:.1f} s, left after {left_s:.1f} s")
        self.assertEqual(130, ended.status, ended)
        self.assertNotRegex(ended.out, r"(h1|h\[[^]]*1[^]]*\]\)|h\[0-2\]\)) lost", "a host that kept to the protocol was lost beside it")
        if self.LOST_S:
            self.assertLess(lost_s, self.LOST_S)
            self.assertLess(left_s, self.LEAVES_S)
        self.nothing_is_left()

    def test_what_takes_long_to_be_refused_delays_neither_a_loss_nor_cancel(self):
        self.flooded("long-refused")


IMPOSTOR = '''
import json, os, socket, sys, time
line = socket.socket(fileno=os.dup(0)).recv(4096, socket.MSG_PEEK)
order = json.loads(line.split(b"\\n")[0])
if order["host"] != "{host}":
    os.execv("{real}", ["{real}"] + sys.argv[1:])
sys.path.insert(0, "{lib}")
import zmq_peer
public, secret = zmq_peer.key_pair()
start = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
print(json.dumps({{"sliceup-worker": 1, "key": public.decode(), "pid": os.getpid(), "pid_start": start, "version": "0.3.0"}}),
      flush=True)
said = sys.stdin.buffer.readline() + sys.stdin.buffer.readline()
peer = zmq_peer.Peer(order["address"], order["control_port"], order["key"].encode(), (public, secret))
diary = open("{diary}", "a", buffering=1)
diary.write(str(peer.event(10)) + "\\n")
diary.write("welcome\\n" if peer.greeted() else "refused\\n")
end = time.monotonic() + 60
for number in range(1, 200):
    if os.getppid() == 1 or time.monotonic() > end:
        break
    if peer.send(zmq_peer.hello(order["run"], "{claims}", "0.3.0", number)):
        diary.write("claimed {claims}\\n")
    if peer.receive(0.3):
        diary.write("answered\\n")
'''


if __name__ == "__main__":
    unittest.main()
