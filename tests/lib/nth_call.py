"""nth_call.py - a small real run in which the coordinator, the one that resumes it, or one worker is killed or refused something at
the n-th of some system calls (tests/plugins/nth_call.c), what follows it, and what is wrong then. For tests/campaign/crashes and
test_crashes.py.

The run: two hosts; facts, a program with a compile cache (cold, then restored), a rung of the slice with a proved metric. Whatever
happened, `resume`, or `run` where nothing had begun or the run had ended, has to bring the home to the verdict of a run that
nobody touched; no recorded fact is lost and no line that was shown, nothing runs on, and no file lies there that is no part of a run.
"""
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import lab
import stopped

STARTS = threading.Lock()  # a program that a process just forked still has open to write cannot be executed
TOOL = lab.BUILD / "tests" / "nth_call"
BOUND_S = 90
RESUMED_AT = 300  # of the calls of `killed`: where the run was killed that the faults of a program "resume" are about
CHANGES = ("write:out,writev:out,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir,openat:file,ftruncate,"
           "mkdir,mkdirat,link,linkat,symlink,sendto,sendmsg")
STORES = "write:file,pwrite64,ftruncate,fallocate,fsync,fdatasync,openat:file,mkdir,mkdirat,rename,renameat,renameat2,link,linkat"
OPENS = "open,openat,socket,socketpair,accept4,pipe2,dup,eventfd2,epoll_create1,memfd_create,inotify_init1,signalfd4"


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens, at which calls, and the words one of which has to be said when it ends the run."""
    what: str
    calls: str
    words: str = ""


# SQLite tries again to open what it could not, to read only, and tells why that failed.
FULL, MEMORY, FILES = r"no space|full|unable to open", r"memory|map segment|the thread|a thread", r"open files|descriptor|unable to open"
# Of these SQLite keeps no errno, and calls them a "disk I/O error".
UNEXPLAINED = re.compile(r"fdatasync /[a-z/]+(\.db-journal)?")
LIBZMQ = re.compile(r"\(src/\w+\.[ch]pp:\d+\)")  # it gives up by abort, and says where
FAULTS = {
    "killed": Fault("kill", CHANGES),
    "no-memory": Fault("ENOMEM", "mmap,brk,mremap", MEMORY),
    "no-descriptor": Fault("EMFILE", OPENS, FILES),
    "no-file-of-the-machine": Fault("ENFILE", OPENS, FILES),
    "no-process": Fault("EAGAIN", "clone,clone3,fork,vfork", r"temporarily unavailable|process|thread"),
    "disk-full": Fault("ENOSPC", STORES, FULL),
    "disk-broken": Fault("EIO", STORES, r"input/output error|unable to open"),
    "quota": Fault("EDQUOT", STORES, r"quota|" + FULL),
}

# What lies below a home, whatever happened, besides what workers have of their own.
TREE = ["cache", "cache/catalogue.db", "cache/storage", "cache/jax", "cache/jax/*", "calibration.db", "signatures", "signatures/*", "runs",
        "runs/.beginning", "runs/.making", "runs/*", "cache/jax/*/gen-N",
        *(f"cache/jax/*/gen-N/{name}" for name in ("MANIFEST", "WITNESS", "prog0-*-cache")),
        *(f"runs/*/{name}" for name in ("created", "drift.json", "hosts", "hosts/h0", "hosts/h1", "journal.db", "journal.db-shm",
                                        "journal.db-wal", "journal.db.lock", "journal.db.mark", "junit.xml", "logs", "monitors",
                                        "receipt.json", "receipts", "receipts/h0.json", "receipts/h1.json", "report.md", "taken-over",
                                        "trace.perfetto.json", "logs/h0", "logs/h1"))]
WRAPPER = """#!/bin/sh
# The first worker of all is the unlucky one.
mkdir {place}/taken 2>/dev/null && exec {tool} {report} {when} {what} {calls} {worker} "$@"
exec {worker} "$@"
"""


def facts_of(folder):
    """(index, kind, bytes) of all that is recorded, looked up in a copy; [] before there is a journal."""
    look = folder.parents[1] / "look"
    shutil.rmtree(look, ignore_errors=True)
    stopped.copy(folder, look)
    try:
        journal = sqlite3.connect(f"file:{look / 'journal.db'}?mode=ro", uri=True, timeout=5)
        try:
            return journal.execute("SELECT idx, kind, bytes FROM fact ORDER BY idx").fetchall()
        finally:
            journal.close()
    except sqlite3.OperationalError:
        return []
    finally:
        shutil.rmtree(look)


def shown(text):
    """The lines of what happened, without those of recoveries and moments that a later coordinator tells otherwise."""
    return [line for line in text.splitlines() if line.startswith("[")]


class Broken(Exception):
    """A promise was not kept; says which."""


class Trial:
    """One run with its fault, and what follows. `said` is all output, `hit` the call that it was."""

    def __init__(self, fault, when, program="coordinator", calls=None):
        """calls: others than those of the fault."""
        fault = dataclasses.replace(fault, calls=calls or fault.calls)
        self.fault, self.when, self.program = fault, str(when), program
        self.lab, self.said, self.hit, self.counted, self.how = lab.Lab(), [], "", 0, ""
        self.report, self.until = self.lab.root / "report", time.monotonic() + BOUND_S
        self.marks = self.lab.files / "marks"
        self.bin = self.lab.root / "bin"
        self.slice = self._slice()

    def _slice(self):
        self.lab.write("keeps.yaml", "profile: keeps\nfrontend: jax\nbackend: cpu\ndevices_per_host: 1\n")
        rungs = [{"id": "facts", "builtin": "facts", "timeout": "30s"},
                 self.lab.rung("tiny", "keeps.py", warm="solo", args={"marks": str(self.marks), "entries": 1}),
                 self.lab.rung("sum", "marks.py", scope="slice", metrics=["devices"], args={"file": str(self.marks)})]
        limits = {"join": "15s", "stop": "200ms", "cascade": "1s", "lease": "2s", "suspect": "2s", "lost": "5s", "orphan": "30s"}
        return self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs)), profile="./keeps.yaml", limits=limits,
                              cache={"mode": "single-writer", "writable": [str(self.lab.files)]})

    # ---- the run ----

    def _env(self):
        """A process that is traced cannot look for leaks."""
        env = self.lab.env()
        env["ASAN_OPTIONS"] = env["ASAN_OPTIONS"].replace("detect_leaks=1", "detect_leaks=0")
        return env

    def _command(self):
        chosen = [str(word) for word in (TOOL, self.report, self.when, self.fault.what, self.fault.calls)]
        if self.program == "coordinator":
            return [*chosen, str(lab.SLICEUP), "run", str(self.slice), "--plain"]
        if self.program == "resume":
            run = [str(word) for word in (TOOL, self.lab.root / "earlier", RESUMED_AT, "kill", CHANGES, lab.SLICEUP, "run", self.slice)]
            self._run([*run, "--plain"], self._env())
            return [*chosen, str(lab.SLICEUP), "resume", "--plain"]
        self.bin.mkdir()
        with STARTS:
            shutil.copy2(lab.SLICEUP, self.bin)
        worker = self.bin / "sliceup-worker"
        worker.write_text(WRAPPER.format(place=self.bin, tool=TOOL, report=self.report, when=self.when, what=self.fault.what,
                                         calls=self.fault.calls, worker=lab.BUILD / "bin" / "sliceup-worker"))
        worker.chmod(0o755)
        return [str(self.bin / "sliceup"), "run", str(self.slice), "--plain"]

    def _run(self, command, env):
        with STARTS:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, errors="replace")
        try:
            out, err = process.communicate(timeout=BOUND_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Broken(f"hung for {BOUND_S} s: {' '.join(command[-3:])}: {out[-300:]} {err[-300:]}") from None
        finally:
            self.said.append(f"$ {' '.join(command)}\n{out}{err}")
        return lab.Ended(process.returncode, out, err)

    def _sliceup(self, *words):
        """Of the commands after it, which nothing disturbs."""
        ended = self._run([str(lab.SLICEUP), *map(str, words)], self.lab.env())
        if ended.status in (99, 127) or ended.status < 0:
            raise Broken(f"{words[0]}, which nothing disturbed, ended with {ended.status}: {ended.err[-300:]}")
        return ended

    def _read_report(self):
        lab.wait_for(lambda: not self.report.exists() or self.program == "worker" or "counted" in self.report.read_text(),
                     "the tracer to end", 30)
        text = self.report.read_text() if self.report.exists() else ""
        counted, hit = re.search(r"counted (\d+)", text), re.search(r"hit (.*)", text)
        self.counted = int(counted[1]) if counted else 0
        self.calls = re.findall(r"^call (.*)", text, re.MULTILINE)
        self.hit = hit[1].strip().replace(str(self.lab.root), "") if hit else ""

    # ---- what has to hold ----

    def _first_end_is_right(self, ended):
        kills = self.fault.what == "kill"
        if kills and self.program != "worker":
            if self.hit and ended.status != -signal.SIGKILL:
                raise Broken(f"was killed, and ended with {ended.status}")
            return
        loader = ended.status == 127 and re.search("while loading shared libraries|out of memory", ended.err)
        gave_up = ended.status == -signal.SIGABRT and LIBZMQ.search(ended.err)
        self.how = "loader" if loader else "libzmq gave up" if gave_up else "named" if ended.status else "went on"
        if ended.status not in (0, 1, 2, 3) and not loader and not gave_up:
            raise Broken(f"exit status {ended.status}: {ended.out[-200:]} {ended.err[-300:]}")
        words = self.fault.words + "|disk I/O error" * bool(UNEXPLAINED.fullmatch(self.hit))
        if ended.status and not kills and not loader and not re.search(words, ended.out + ended.err, re.IGNORECASE):
            raise Broken(f"exit status {ended.status}, and no word of it: {ended.out[-600:]} {ended.err[-300:]}")
        if ended.status == 1 and self.program == "worker" and not re.search(r"h[01]\b", ended.out):
            raise Broken(f"no host is named: {ended.out[-300:]}")

    def _brought_to_its_end(self, ended):
        """Returns the last command of all, whose run is as one that nobody touched."""
        if ended.status == 0:
            return ended
        again = self._sliceup("resume", "--plain")
        while "is in use" in again.err and time.monotonic() < self.until:  # by a run beside it: its ports were given to somebody
            again = self._sliceup("resume", "--plain")
        if again.status == 0:
            return again
        self.hosts_failed = again.status in (1, 3) and bool(self.lab.runs()) and self.lab.count("run-ended") == 1
        if again.status != 2 and not self.hosts_failed:
            raise Broken(f"resume ended with {again.status}: {again.out[-300:]} {again.err[-300:]}")
        if self.program == "resume" and not shown(ended.out) and self.hosts_failed:
            raise Broken(f"a resume that ended with {ended.status} made it another verdict: {again.out[-500:]}")
        if self.fault.what == "kill" and self.program != "worker" and self.hosts_failed:
            raise Broken(f"resume came to another verdict: {again.out[-500:]}")
        self.marks.unlink(missing_ok=True)
        fresh = self._sliceup("run", self.slice, "--plain")
        if fresh.status:
            raise Broken(f"the next run ended with {fresh.status}: {fresh.out[-500:]} {fresh.err[-300:]}")
        return fresh

    def _verdict_is_right(self):
        receipt = self.lab.receipt()
        rungs = {(host["host"], rung["rung"], rung["pass"]): rung["outcome"] for host in receipt["hosts"] for rung in host["rungs"]}
        if receipt["outcome"] != "passed" or receipt["reductions"][0]["proof"] != "proved":
            raise Broken(f"the verdict is {receipt['outcome']}, the metric {receipt['reductions']}")
        wanted = {(host, rung, "once") for host in ("h0", "h1") for rung in ("facts", "cache", "sum")}
        wanted |= {(host, "tiny", "restored") for host in ("h0", "h1")}
        if set(rungs.values()) != {"passed"} or not wanted <= set(rungs):
            raise Broken(f"the rungs are {rungs}")

    def _nothing_was_lost(self, run, before, first, last):
        after = [fact for fact in facts_of(run)] if run.exists() else []
        if after[:len(before)] != before:
            raise Broken(f"{len(before)} facts were recorded, and are not those that are there now ({len(after)})")
        lines = shown(first.out)
        if lines != shown(last.out)[:len(lines)]:
            raise Broken(f"a line that was shown is not in what followed: {lines} and {shown(last.out)}")

    def _nothing_was_done_twice(self):
        lines = [line for line in self.marks.read_text().splitlines() if " sum " in line]
        if sorted(lines) != ["h0 sum once 1", "h1 sum once 1"]:
            raise Broken(f"programs ran so: {lines}")

    def _nothing_is_left(self):
        for run in self.lab.runs():
            if len(run.name) == 32:
                lab.wait_for(lambda run=run: not self.lab.worker_pids(run.name) and not self.lab.processes_under(run.name),
                             lambda run=run: f"what runs below {run} to end: {self.lab.processes_under(run.name)}", 20)
        if self._sliceup("cache", "verify", "--root", self.lab.home / "cache").status:
            raise Broken("the cache is not as it was sealed")

    def _nobody_has_to_wait(self):
        """The next run is granted all locks and leases at once, has the cache, and tidies what SQLite left."""
        ended = self._sliceup("run", self.slice, "--plain")
        told = any("cannot publish" in said for said in self.said)  # its lease ends by its term then
        if ended.status or not told and ("waiting for" in ended.out + ended.err or "cold attempt" in ended.out):
            raise Broken(f"the run after it: {ended.status} {ended.out[-600:]} {ended.err[-300:]}")
        strange = sorted(set(self.tree()) - set(TREE))
        # What a file was being written as when its writer was killed: it goes with its run.
        unfinished = [name for name in strange if re.fullmatch(r"(runs|signatures)/\*.*\.[A-Za-z0-9]{6}", name)]
        if strange != unfinished or len(strange) > 1:
            raise Broken(f"left behind: {strange}")

    def tree(self):
        """The names of all below the home, without what is a matter of the run: digits, logs, and what a worker has of its own."""
        names = (str(path.relative_to(self.lab.home)) for path in self.lab.home.rglob("*"))
        names = (re.sub(r"[0-9a-f]{16,}", "*", name) for name in names)
        return sorted({re.sub(r"gen-\d+", "gen-N", name) for name in names if not re.search(r"runs/\*/(hosts|logs)/h\d/", name)})

    def happen(self):
        """Raises Broken. True when the fault came."""
        first = self._run(self._command(), self._env())
        self._read_report()
        run = self.lab.run_folder() if list((self.lab.home / "runs").glob("*/created")) else self.lab.home / "none"
        before = facts_of(run) if run.exists() else []
        self._first_end_is_right(first)
        last = self._brought_to_its_end(first)
        self._verdict_is_right()
        resumed = run.exists() and run == self.lab.run_folder()
        if resumed:
            self._nothing_was_lost(run, before, first, last)
            self._nothing_was_done_twice()
        self._nothing_is_left()
        self._nobody_has_to_wait()
        return bool(self.hit)

    def close(self):
        self.lab.close()
