"""lab.py - verbs for integration tests: a home of its own, slices of local workers, real binaries.

Nothing sleeps to wait: every wait is for a condition, bounded, and says what it waited for. Processes are ended by pid,
and only those that the lab started or that the run's own journal names.
"""
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SLICEUP_BUILD", TOP / "build-test"))
SLICEUP = BUILD / "bin" / "sliceup"
SHARED_ENVS = BUILD / "envs"          # the JAX environment: built once per checkout


def wait_for(condition, what, bound_s=60):
    """The first true value of condition(), polled; AssertionError naming `what` after bound_s."""
    end = time.monotonic() + bound_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {bound_s} s for {what}")
        select.select([], [], [], 0.05)


def alive(pid):
    """True while the process exists and is not a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Ended:
    """A finished command: exit status and what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __str__(self):
        return f"exit status {self.status}\n--- out\n{self.out}\n--- err\n{self.err}"


class Background:
    """A command that runs while the test goes on; its output is collected."""

    def __init__(self, argv, env):
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
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

    def kill(self, sig=signal.SIGKILL):
        os.kill(self.process.pid, sig)


class Lab:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-lab-"))
        self.home = self.root / "home"
        self.files = self.root / "files"
        self.files.mkdir()
        self.running = []

    # ---- commands ----

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "LANG") or k.endswith("SAN_OPTIONS")}
        env.update(SLICEUP_HOME=str(self.home), TERM="dumb", **more)
        return env

    def sliceup(self, *args, bound_s=300, env=None):
        done = subprocess.run([str(SLICEUP), *map(str, args)], env=env or self.env(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=bound_s, errors="surrogateescape")
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *args, env=None):
        background = Background([str(SLICEUP), *map(str, args)], env or self.env())
        self.running.append(background)
        return background

    # ---- files ----

    def write(self, name, text):
        path = self.files / name
        path.write_text(text)
        return path

    def ladder(self, name, rungs):
        """rungs: list of dicts, written as flow-style YAML (JSON is YAML)."""
        return self.write(name, f"ladder: {pathlib.Path(name).stem}\nrungs:\n" + "".join(f"  - {json.dumps(r)}\n" for r in rungs))

    def slice(self, hosts=2, ladder="plain", profile="plain", name="slice.yaml", limits=None, **more):
        lines = [f"slice: {pathlib.Path(name).stem}", "launcher: local", f"profile: {profile}", f"ladder: {ladder}"]
        lines.append(f"hosts: {json.dumps(hosts) if not isinstance(hosts, int) else f'h[0-{hosts - 1}]' if hosts > 1 else 'h0'}")
        if limits:
            lines.append(f"limits: {json.dumps(limits)}")
        lines += [f"{key}: {json.dumps(value)}" for key, value in more.items()]
        return self.write(name, "\n".join(lines) + "\n")

    # ---- what a run left ----

    def run_folder(self, run="last"):
        runs = sorted((self.home / "runs").iterdir(), key=lambda p: int((p / "created").read_text()))
        return runs[-1] if run == "last" else next(p for p in runs if p.name.startswith(run))

    def receipt(self, run="last"):
        return json.loads((self.run_folder(run) / "receipt.json").read_text())

    def status(self, run="last"):
        return json.loads(self.sliceup("status", run, "--json").out)

    def worker_pids(self, run="last"):
        """host -> pid, of worker processes that live, found by their working files under the run's folder."""
        folder = str(self.run_folder(run) / "hosts")
        pids = {}
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if (entry / "comm").read_text().strip() != "sliceup-worker":
                    continue
                log = os.readlink(entry / "fd" / "2")
            except OSError:
                continue
            if log.startswith(folder):
                pids.setdefault(pathlib.Path(log).parent.name, int(entry.name))
        return pids

    def processes_under(self, run="last"):
        """pids whose working directory is below the run's folder: programs of rungs."""
        folder = str(self.run_folder(run))
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(folder):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def close(self):
        for background in self.running:
            if background.process.poll() is None:
                background.kill()
                background.process.wait(10)
        if (self.home / "runs").is_dir():
            for run in (self.home / "runs").iterdir():
                for pid in self.worker_pids(run.name).values():
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.root, ignore_errors=True)
