"""aot_attempt.py - one attempt of a real canary, without a coordinator and without a worker."""
import json
import os
import pathlib
import socket
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
CANARIES = TOP / "worker" / "canaries"
NONCE = "0123456789abcdef0123456789abcdef"

# common/frontend/frontend.c, jax, role writer; configs/profiles/tpu-v6e-aot.yaml.
WRITER = {"JAX_ENABLE_COMPILATION_CACHE": "true", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
          "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1", "JAX_COMPILATION_CACHE_MAX_SIZE": "-1",
          "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "true", "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES": "none",
          "JAX_ENABLE_PREEMPTION_SERVICE": "false"}
PROFILE = {"JAX_PLATFORMS": "tpu", "LIBTPU_INIT_ARGS": "--xla_tpu_use_enhanced_launch_barrier=true"}
TOPOLOGIES = {"topology": "v6e:4x4", "host_topology": "v6e:2x2"}
MESH = [{"axis": "data", "size": 8}, {"axis": "model", "size": 2}]


class Ended:
    """What a canary said, line by line, its exit status, what it printed, and how long it took."""

    def __init__(self, said, status, printed, took_s):
        self.said, self.status, self.printed, self.took_s = said, status, printed, took_s

    def all(self, kind):
        return [line for line in self.said if line["type"] == kind]

    @property
    def counters(self):
        return self.all("counters")[-1]["values"] if self.all("counters") else {}

    @property
    def failure(self):
        return self.all("failure")[0]["text"] if self.all("failure") else ""

    @property
    def done(self):
        return self.status == 0 and self.all("done") == [{"type": "done", "nonce": NONCE}]

    @property
    def facts(self):
        return {line["name"]: line["value"] for line in self.all("fact")}


def attempt_line(scope, warm, kind, args, backend):
    mesh, per_host = (MESH, 4) if scope == "slice" else ([{"axis": "host", "size": 4}], 4)
    return {"type": "attempt", "protocol": 1, "nonce": NONCE, "run": "campaign", "host": "h0", "rung": "aot",
            "pass": kind, "warm": warm, "attempt": 1, "scope": scope, "rank": 0, "world": 1, "address": "127.0.0.1",
            "mesh": mesh, "devices_per_host": per_host, "backend": backend, "secret": 1000, "args": args}


def environment(cache, scratch, more):
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(scratch), "TMPDIR": str(scratch),
            "TPU_LOG_DIR": str(scratch), "PYTHONPATH": str(CANARIES), "PYTHONDONTWRITEBYTECODE": "1", **WRITER, **PROFILE,
            "JAX_COMPILATION_CACHE_DIR": str(cache), **more}


def attempt(python, canary, cache, scratch, scope="host", args=None, env=None, kind="cold", warm="aot", backend="tpu",
            bound_s=300):
    """Runs worker/canaries/jax/<canary> with the interpreter `python` to its end, which has a bound."""
    line = attempt_line(scope, warm, kind, {**TOPOLOGIES, **(args or {})}, backend)
    ours, theirs = socket.socketpair()
    with ours, open(scratch / "printed", "w+b") as printed:
        began = time.monotonic()
        with theirs:
            child = subprocess.Popen(
                [str(python), "-s", str(CANARIES / "jax" / canary)], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT,
                env={**environment(cache, scratch, env or {}), "SLICEUP_FD": str(theirs.fileno())})
        try:
            ours.settimeout(bound_s)
            ours.sendall(json.dumps(line).encode() + b"\n")
            said = [json.loads(heard) for heard in ours.makefile("rb")]
            status = child.wait(bound_s)
        finally:
            child.kill()
            child.wait()
        took_s = time.monotonic() - began
        printed.seek(0)
        return Ended(said, status, printed.read().decode(errors="replace"), took_s)
