"""lab.py - verbs for integration tests: a home of its own, slices of local workers, real binaries.

Nothing sleeps to wait: every wait is for a condition, bounded, and says what it waited for. Processes are ended by pid,
and only those that the lab started or that the run's own journal names.
"""
import gzip
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SLICEUP_BUILD", TOP / "build-test"))
SLICEUP = BUILD / "bin" / "sliceup"
BUNDLE = BUILD / "bin" / "sliceup-worker.bundle"
SHARED_ENVS = BUILD / "envs"          # the JAX environment: built once per checkout
CANARIES = TOP / "tests" / "canaries"

# A sanitizer's report ends a process with a status that no test expects.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:exitcode=99:detect_stack_use_after_return=1",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99"}
REPORT = re.compile(r"(Address|Leak|UndefinedBehavior)Sanitizer|runtime error: |Assertion .* failed")

# common/model/fact.h, enum fact_kind: the numbers stand in the journal.
FACTS = {name: number for number, name in enumerate(
    ("", "run-opened", "epoch-began", "host-keyed", "host-joined", "host-lost", "generation-adopted", "writer-granted",
     "pass-began", "pass-skipped", "gate-opened", "attempt-ended", "generation-published", "metric-judged",
     "pass-ended", "cancel-asked", "conflict-seen", "run-ended", "pass-stopped", "lease-lost", "cache-violated",
     "generation-dropped", "retry-planned", "suspects-named", "loss-told", "climb-stopped", "hosts-left-behind",
     "host-returned", "output-lost", "host-asked"))}


def tells_end(out, sentence):
    """Does what `run` printed end with the run's sentence, or with the card of a run that a rung stopped?"""
    stopped = re.match(r"slice (\S+): stopped at (rung \S+ \(\d+ of \d+\))", sentence)
    card = stopped and re.search(rf"(?m)^slice {re.escape(stopped[1])}: \S+ at {re.escape(stopped[2])}$", out)
    return bool(card) or sentence in out.splitlines()


def wait_for(condition, what, bound_s=60):
    """The first true value of condition(), polled; AssertionError naming `what` (a text, or what makes one then) after bound_s."""
    end = time.monotonic() + bound_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {bound_s} s for {what() if callable(what) else what}")
        select.select([], [], [], 0.05)


def alive(pid):
    """True while the process exists and is not a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def parent_of(pid):
    """0 when it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def end_by_pid(pid):
    """SIGKILL; one that ended by itself meanwhile is as gone as it was to be."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def listens(port):
    """True while somebody on this machine accepts connections at the port."""
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def sanitized():
    """Is this build one with sanitizers?"""
    return b"__asan_init" in SLICEUP.read_bytes()


def unpack_worker(folder):
    """The image out of the bundle, as a host has it."""
    worker = folder / "worker"
    worker.write_bytes(gzip.decompress(BUNDLE.read_bytes()))
    worker.chmod(0o755)
    return worker


class Ended:
    """A finished command: exit status and what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"exit status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


class Background:
    """A command that runs while the test goes on; its output is collected."""

    def __init__(self, argv, env, before=None):
        self.process = subprocess.Popen(argv, env=env, preexec_fn=before, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="surrogateescape")
        self.collected = []
        self.reader = threading.Thread(target=self._collect, daemon=True)
        self.reader.start()

    def _collect(self):
        for line in self.process.stdout:
            self.collected.append(line)

    @property
    def out(self):
        return "".join(self.collected)

    def end(self, bound_s=180):
        status = self.process.wait(bound_s)
        self.reader.join(10)
        self.process.stdout.close()
        return Ended(status, self.out, "")

    def wait_out(self, pattern, bound_s=60):
        """Waits until the pattern is in the output; ends at once when the process does without saying it."""
        def said():
            over = self.process.poll() is not None
            if over:
                self.reader.join(10)
            found = re.search(pattern, self.out)
            if over and not found:
                raise AssertionError(f"ended with {self.process.returncode} and never said {pattern!r}:\n{self.out}")
            return found
        return wait_for(said, f"{pattern!r} in the output:\n{self.out}", bound_s)

    def kill(self, sig=signal.SIGKILL):
        os.kill(self.process.pid, sig)

    def kill_and_reap(self):
        self.kill()
        return self.end(30)


class Lab:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-lab-"))
        self.home = self.root / "home"
        self.files = self.root / "files"
        self.files.mkdir()
        self.running = []

    # ---- commands ----

    def env(self, **more):
        env = {k: v for k, v in os.environ.items()
               if k in ("PATH", "HOME", "TMPDIR", "LANG") or k.endswith("SAN_OPTIONS")
               or k.lower().endswith("_proxy") or k.startswith("PIP_")}
        for name, value in SANITIZERS.items():
            env.setdefault(name, value)
        env.update(SLICEUP_HOME=str(self.home), TERM="dumb")
        env.update(more)
        return env

    def sliceup(self, *args, bound_s=300, env=None, told=None, cwd=None):
        """told: what it reads from standard input."""
        given = {"stdin": subprocess.DEVNULL} if told is None else {"input": told}
        done = subprocess.run([str(SLICEUP), *map(str, args)], env=env or self.env(), cwd=cwd, **given,
                              capture_output=True, text=True, timeout=bound_s, errors="surrogateescape")
        return self._checked(Ended(done.returncode, done.stdout, done.stderr))

    @staticmethod
    def _checked(ended):
        if ended.status == 99 or ended.status < 0 or REPORT.search(ended.out + ended.err):
            raise AssertionError(f"a sanitizer or an assertion spoke: {ended}")
        return ended

    def start(self, *args, env=None, before=None):
        background = Background([str(SLICEUP), *map(str, args)], env or self.env(), before)
        self.running.append(background)
        return background

    # ---- files ----

    def write(self, name, text):
        path = self.files / name
        path.write_text(text)
        return path

    def ladder(self, name, rungs):
        """rungs: list of dicts, written as flow-style YAML (JSON is YAML)."""
        lines = [f"ladder: {pathlib.Path(name).stem}\nrungs:\n", *(f"  - {json.dumps(rung)}\n" for rung in rungs)]
        return self.write(name, "".join(lines))

    def slice(self, hosts=2, ladder="plain", profile="plain", name="slice.yaml", limits=None, **more):
        lines = [f"slice: {pathlib.Path(name).stem}", "launcher: local", f"profile: {profile}", f"ladder: {ladder}"]
        counted = isinstance(hosts, int)
        lines.append(f"hosts: {(f'h[0-{hosts - 1}]' if hosts > 1 else 'h0') if counted else json.dumps(hosts)}")
        if limits:
            lines.append(f"limits: {json.dumps(limits)}")
        lines += [f"{key}: {json.dumps(value)}" for key, value in more.items()]
        return self.write(name, "\n".join(lines) + "\n")

    @staticmethod
    def rung(name, canary, **more):
        """A rung that runs a canary of tests/canaries, or else one of worker/canaries."""
        path = CANARIES / canary
        return {"id": name, "canary": str(path) if path.exists() else canary, "timeout": "30s", **more}

    # ---- what a run left ----

    def run_folder(self, run="last"):
        runs = sorted((p for p in (self.home / "runs").iterdir() if (p / "created").exists()),
                      key=lambda p: int((p / "created").read_text().split()[0]))
        return runs[-1] if run == "last" else next(p for p in runs if p.name.startswith(run))

    def runs(self, home=None):
        """The folders of runs; what else lies beside them is no run."""
        return [path for path in ((home or self.home) / "runs").glob("*") if not path.name.startswith(".")]

    def receipt(self, run="last"):
        return json.loads((self.run_folder(run) / "receipt.json").read_text())

    def status(self, run="last"):
        return json.loads(self.sliceup("status", run, "--json").out)

    def facts(self, run="last"):
        """[(index, kind)] of what the journal holds by now; [] while there is none."""
        try:
            path = self.run_folder(run) / "journal.db"
            journal = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
        except (OSError, IndexError, StopIteration, ValueError, sqlite3.OperationalError):
            return []
        try:
            return journal.execute("SELECT idx, kind FROM fact ORDER BY idx").fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            journal.close()

    def count(self, kind, run="last"):
        return sum(1 for _, number in self.facts(run) if number == FACTS[kind])

    def logs(self, run="last"):
        """Everything that workers of the run said about themselves."""
        paths = sorted(self.run_folder(run).glob("hosts/*/worker.log"))
        return "".join(path.read_text(errors="replace") for path in paths)

    def results_kept(self, run="last"):
        """(host, slot) of each result that a worker keeps until it is acknowledged: worker/attempt/result_store.c."""
        found = []
        for path in self.run_folder(run).glob("hosts/*/results.kept"):
            data = path.read_bytes()
            found += [(path.parent.name, at >> 17) for at in range(0, len(data), 1 << 17) if any(data[at:at + 4])]
        return found

    # ---- processes ----

    def worker_pids(self, run="last"):
        """host -> pid, of worker processes that live, found by their working files under the run's folder.

        What a worker has forked looks like it until it executes its program: it is the one whose parent is none."""
        folder = str(self.run_folder(run) / "hosts")
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                log = os.readlink(entry / "fd" / "2")
            except OSError:
                continue
            if log.startswith(folder) and (words[1:2] == [b"join"] or words[0].startswith(b"sliceup-worker: ")):
                found[int(entry.name)] = pathlib.Path(log).parent.name
        return {host: pid for pid, host in found.items() if parent_of(pid) not in (0, *found)} # 0: gone since

    def processes_under(self, run="last"):
        """pids that work or write below the run's folder: programs of rungs, and what workers started."""
        folder = str(self.run_folder(run))
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid() and self._is_under(entry, folder):
                found.append(int(entry.name))
        return found

    @staticmethod
    def _is_under(entry, folder):
        for link in ("cwd", "fd/1", "fd/2"):
            try:
                if os.readlink(entry / link).startswith(folder):
                    return True
            except OSError:
                continue
        return False

    def kill_workers(self):
        """Ends the workers of every run of this home, and waits until nothing of them is left."""
        for run in sorted((self.home / "runs").glob("*/created")):
            run = run.parent
            for pid in self.worker_pids(run.name).values():
                end_by_pid(pid)
            wait_for(lambda: not self.processes_under(run.name), f"the processes of run {run.name} to be gone", 15)

    def homes(self):
        """All that this test has had: it may have gone from one to the next, and failed between two."""
        return sorted({self.home, *(runs.parent for runs in self.root.glob("*/runs"))})

    def reports(self):
        """What sanitizers and assertions of workers left in their logs."""
        said = []
        for log in (log for home in self.homes() for log in home.glob("runs/*/hosts/*/worker.log")):
            text = log.read_text(errors="replace")
            if REPORT.search(text):
                said.append(f"{log}:\n{text[-6000:]}")
        return "\n".join(said)

    def close(self):
        for background in self.running:
            if background.process.poll() is None:
                background.kill()
                background.process.wait(10)
        try:
            for home in self.homes():
                self.home = home
                self.kill_workers()
            said = self.reports() + "".join(b.out for b in self.running if REPORT.search(b.out))
        finally:
            for folder in self.root.rglob("*"):
                if folder.is_dir() and not folder.is_symlink():
                    folder.chmod(0o700)
            shutil.rmtree(self.root, ignore_errors=True)
        if said:
            raise AssertionError(f"a sanitizer or an assertion spoke: {said}")


class LabTest(unittest.TestCase):
    """A lab for each test; says how long it took; a report of a sanitizer anywhere fails it."""

    def setUp(self):
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        self.began = time.monotonic()

    def tearDown(self):
        print(f"[{time.monotonic() - self.began:5.1f} s] {self._testMethodName}", flush=True)

    def passes(self, ended):
        self.assertEqual(0, ended.status, ended)
        return ended

    def nothing_is_left(self, run="last"):
        """Workers may still be leaving when the coordinator has gone; a few seconds, not more."""
        wait_for(lambda: not self.lab.worker_pids(run), "the workers to be gone", 60)
        wait_for(lambda: not self.lab.processes_under(run), "the programs to be gone", 10)

    def rungs(self, receipt, host):
        """The attempts of one host: [(rung, pass, outcome)]."""
        hosts = {entry["host"]: entry for entry in receipt["hosts"]}
        return [(r["rung"], r["pass"], r["outcome"]) for r in hosts[host]["rungs"]]

    def attempt(self, receipt, host, rung, kind=None):
        """The last attempt of a host at a rung, or at this pass of it."""
        hosts = {entry["host"]: entry for entry in receipt["hosts"]}
        return [r for r in hosts[host]["rungs"] if r["rung"] == rung and kind in (None, r["pass"])][-1]
