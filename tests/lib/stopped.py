"""stopped.py - a small real run, and the folders that its coordinators would have left if they had been killed.

A coordinator that is stopped (SIGSTOP) and copied leaves what a `kill -9` at that moment leaves: what it wrote is in the kernel's
memory either way. The run has three coordinators. After the first SQLite brings the log into the database, as it does whenever its last
user closes it: the second begins a new log. The third ends the run, and that is the last moment.
"""
import os
import pathlib
import shutil
import signal
import sqlite3
import time

import lab

LIMITS = {"stop": "200ms", "cascade": "1s"}
FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "journal.db.mark")
SLOTS, SLOT_BYTES, INDEX_AT = 3, 4096, 120  # docs/spec/journal.md


def marked(folder):
    """The index that the mark names."""
    mark = (folder / "journal.db.mark").read_bytes()
    return max(int.from_bytes(mark[at + INDEX_AT:at + INDEX_AT + 8], "little") for at in range(0, SLOTS * SLOT_BYTES, SLOT_BYTES))


def recorded(folder):
    """The last fact, looked up in a copy: a look leaves traces."""
    if not (folder / "journal.db").exists():
        return 0
    try:
        journal = sqlite3.connect(f"file:{folder / 'journal.db'}?mode=ro", uri=True, timeout=5)
        last = journal.execute("SELECT max(idx) FROM fact").fetchone()[0] or 0
        journal.close()
    except sqlite3.OperationalError:
        return 0
    return last


def copy(folder, to):
    """Regular files only: workers have sockets there."""
    for path in sorted(folder.rglob("*")):
        place = to / path.relative_to(folder)
        if path.is_dir() and not path.is_symlink():
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
        elif path.is_file() and not path.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copy2(path, place)
    for place in (to, *to.rglob("*")):
        place.chmod(0o700 if place.is_dir() else 0o600)


def _stopped(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
    return all(task.read_text().rpartition(")")[2].split()[0] in "TZX" for task in tasks)


class Stops:
    """Takes moments of one run until it has enough of them."""

    def __init__(self, laboratory, into):
        self.lab, self.into, self.moments = laboratory, into, []
        self.last = 0

    def _take(self, pid):
        """A copy, unless the coordinator was stopped between a commit and its mark: then a commit nobody was told of is there."""
        folder = self.lab.run_folder()
        os.kill(pid, signal.SIGSTOP)
        try:
            lab.wait_for(lambda: _stopped(pid), "the coordinator to stand still", 10)
            place = self.into / f"{len(self.moments):02}" / "runs" / folder.name
            shutil.rmtree(place.parent.parent, ignore_errors=True)
            copy(folder, place)
        finally:
            os.kill(pid, signal.SIGCONT)
        look = self.into / "look"
        shutil.rmtree(look, ignore_errors=True)
        copy(place, look)
        last = recorded(look)
        if last == 0 or marked(look) != last:
            return
        self.moments.append(place)
        self.last = last

    def of(self, coordinator, moments):
        """That many moments of this coordinator, each after one fact more at least; fewer when it ends."""
        wanted, process = len(self.moments) + moments, coordinator.process
        while len(self.moments) < wanted and process.poll() is None:
            if len(self.lab.facts()) > self.last:
                self._take(process.pid)
            else:
                time.sleep(0.002)  # between two looks, not a wait

    def end(self):
        """The run as it ended."""
        folder = self.lab.run_folder()
        place = self.into / f"{len(self.moments):02}" / "runs" / folder.name
        copy(folder, place)
        self.moments.append(place)


def checkpoint(folder):
    journal = sqlite3.connect(folder / "journal.db", timeout=5)
    journal.execute("SELECT count(*) FROM fact").fetchall()
    journal.close()


def stopped_run(laboratory, into, rungs=10):
    """Twenty folders, in the order of time: <into>/<nn>/runs/<run id>. The run is over, its workers are gone."""
    marks = {"file": str(laboratory.files / "marks"), "seconds": 0.05}
    ladder = [laboratory.rung(f"rung{i}", "marks.py", args=marks) for i in range(rungs)]
    slice_file = laboratory.slice(hosts=2, ladder=str(laboratory.ladder("ladder.yaml", ladder)), limits=LIMITS)
    stops = Stops(laboratory, into)
    first = laboratory.start("run", slice_file)
    stops.of(first, 9)
    first.kill_and_reap()
    checkpoint(laboratory.run_folder())
    second = laboratory.start("resume")
    stops.of(second, 6)
    second.kill_and_reap()
    third = laboratory.start("resume")
    stops.of(third, 19 - len(stops.moments))
    ended = third.end(60)
    stops.end()
    laboratory.kill_workers()
    return stops.moments, ended
