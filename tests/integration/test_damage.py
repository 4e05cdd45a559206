"""Journals that are damaged, disks that are full, folders that cannot be written: said in one sentence, nothing lost."""
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
import unittest

import lab
import schema
import stopped

LIMITS = {"stop": "200ms", "cascade": "1s", "orphan": "30s"}


def root_only(test):
    """Mounts need root; without it the test says why it did not run."""
    return unittest.skipUnless(os.geteuid() == 0, "needs root, to mount a small file system")(test)


class Damaged(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / "marks"

    def marked(self):
        return self.marks.read_text().splitlines() if self.marks.exists() else []

    def slice(self, hosts=2, rungs=None, seconds=0, **more):
        """Rungs that each mark a file."""
        args = {"file": str(self.marks), "seconds": seconds}
        rungs = rungs or [self.lab.rung(name, "marks.py", args=args) for name in ("low", "middle", "high")]
        return self.lab.slice(hosts=hosts, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits=LIMITS, **more)

    def says(self, ended, status, *words):
        self.assertEqual(status, ended.status, ended)
        lines = [line for line in ended.err.splitlines() if line.startswith("sliceup: ")]
        self.assertEqual(1, len(lines), ended)
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]

    def mounted(self, name, options):
        place = self.lab.root / name
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(place)], check=True)
        return place


def flip(path):
    """One bit of a recorded fact."""
    content = bytearray(path.read_bytes())
    content[content.rindex(b"marks.py")] ^= 1
    path.write_bytes(content)


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def zero_header(path):
    with open(path, "r+b") as file:
        file.write(b"\0" * 100)


def empty(path):
    os.truncate(path, 0)


def sql(*statements):
    def damage(path):
        journal = sqlite3.connect(path)
        for statement in statements:
            journal.execute(statement)
        journal.commit()
        journal.close()
    return damage


DAMAGES = {
    "a bit flipped": flip, "cut in half": truncate, "no header": zero_header, "empty": empty,
    "a fact in the middle is missing": sql("DELETE FROM fact WHERE idx = 5"),
    "the last fact is missing": sql("DELETE FROM fact WHERE idx = (SELECT max(idx) FROM fact)"),
    "one fact was changed": sql("UPDATE fact SET bytes = substr(bytes, 1, length(bytes) - 1) || x'00' WHERE idx = 3"),
    "two facts have changed places": sql("UPDATE fact SET idx = -1 WHERE idx = 4", "UPDATE fact SET idx = 4 WHERE idx = 5",
                                         "UPDATE fact SET idx = 5 WHERE idx = -1"),
    "another run's": sql("UPDATE meta SET value = '00000000000000000000000000000000' WHERE name = 'run'"),
}


READERS = ("resume", "receipt", "status", "watch", "logs", "explain", "drift")


class Journal(Damaged):
    def test_every_damage_is_said_by_every_command(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        folder, sound = self.lab.run_folder(), self.lab.root / "sound"
        shutil.copytree(folder, sound)
        for name, damage in DAMAGES.items():
            shutil.rmtree(folder)
            shutil.copytree(sound, folder)
            damage(folder / "journal.db")
            for command in READERS:
                with self.subTest(f"{name}: {command}"):
                    self.says(self.lab.sliceup(command, bound_s=20), 5, "journal.db")
            with self.subTest(f"{name}: runs"):
                listed = self.passes(self.lab.sliceup("runs"))
                self.assertRegex(listed.out, rf"{folder.name[:8]}.*damaged")

    def test_a_journal_that_is_gone_is_said(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        (self.lab.run_folder() / "journal.db").unlink()
        for command in READERS:
            with self.subTest(f"its mark is there: {command}"):
                self.says(self.lab.sliceup(command, bound_s=20), 5, "journal.db is missing", "journal.db.mark")
        (self.lab.run_folder() / "journal.db.mark").unlink()
        for command in READERS:
            with self.subTest(f"nothing says that there was one: {command}"):
                self.says(self.lab.sliceup(command, bound_s=20), 5, "had begun, but its journal is lost")

    def test_the_whole_journal_of_another_run_is_that_of_another_run(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        other = self.lab.run_folder()
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        for name in ("journal.db", "journal.db.mark"):
            shutil.copy2(other / name, self.lab.run_folder() / name)
        for command in READERS:
            with self.subTest(command):
                self.says(self.lab.sliceup(command, bound_s=20), 5, f"belongs to run {other.name}")

    def test_a_damaged_run_does_not_hide_the_next(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        truncate(self.lab.run_folder() / "journal.db")
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        self.passes(self.lab.sliceup("receipt"))
        listed = self.passes(self.lab.sliceup("runs")).out.splitlines()[1:]
        self.assertEqual([False, True], ["damaged" in line for line in listed])

    def test_a_run_that_the_clock_puts_in_the_future_does_not_hide_the_next(self):
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        earlier, ahead = self.lab.run_folder(), round((time.time() + 365 * 86400) * 1000)
        (earlier / "created").write_text(f"{ahead} {ahead}\n")
        self.passes(self.lab.sliceup("run", self.slice(hosts=1)))
        last = json.loads(self.passes(self.lab.sliceup("receipt", "--json")).out)["run"]
        listed = schema.document(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"]
        self.assertEqual([last, earlier.name], [each["run"] for each in listed])
        self.assertNotEqual(last, earlier.name)
        self.assertLess(listed[0]["created_wall_ms"], time.time() * 1000, "that was the order, and not the time")

    def test_a_journal_of_a_killed_coordinator_is_whole(self):
        run = self.lab.start("run", self.slice(seconds=1))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the first rung to run", 30)
        run.kill_and_reap()
        self.lab.kill_workers()
        status = self.lab.sliceup("status", "--json")
        self.assertEqual((3, "interrupted"), (status.status, json.loads(status.out)["state"]), status)
        self.assertIn("not ended", self.lab.sliceup("receipt").out)


class OlderCopy(Damaged):
    """The folder of a run is put back as it was some facts ago, mark and all. It agrees with itself; its workers do not."""

    JOURNAL = ("journal.db", "journal.db-wal", "journal.db-shm", "journal.db.mark")

    def put_back(self, folder, copy):
        for name in self.JOURNAL:
            (folder / name).unlink(missing_ok=True)
            if (copy / name).exists():
                shutil.copy2(copy / name, folder / name)

    def test_workers_that_know_more_stop_it(self):
        copied, never = self.lab.files / "copied", self.lab.files / "never"
        rungs = [self.lab.rung(name, "marks.py", timeout="2m", args={"file": str(self.marks), **until})
                 for name, until in (("low", {}), ("middle", {"until": str(copied)}), ("high", {"until": str(never)}))]
        run = self.lab.start("run", self.slice(rungs=rungs))
        lab.wait_for(lambda: self.lab.count("pass-ended") >= 1, "the first rung to be over", 30)
        run.kill(signal.SIGSTOP)
        folder, copy = self.lab.run_folder(), self.lab.root / "older"
        stopped.copy(folder, copy)
        copied.touch()
        run.kill(signal.SIGCONT)
        lab.wait_for(lambda: len(self.marked()) == 6, "the last rung to run everywhere", 30)
        run.kill_and_reap()
        self.put_back(folder, copy)
        resumed = self.lab.sliceup("resume", bound_s=30)
        self.assertEqual(5, resumed.status, resumed)
        self.assertRegex(resumed.err, r"sliceup: the journal of run [0-9a-f]{8} lacks facts that were acknowledged: host h[01] (knows fact \d+ of epoch 1|holds attempt 1 of rung high)")
        self.assertNotIn("sliceup resume", resumed.out)
        self.assertEqual(6, len(self.marked()), "something was run again")
        self.lab.kill_workers()
        for command in READERS: # and nobody reads it as a whole one, now that it is known
            self.says(self.lab.sliceup(command, bound_s=20), 5, "lacks facts that were acknowledged")
        self.assertRegex(self.lab.sliceup("runs").out, "damaged")


class FullDisk(Damaged):
    @root_only
    def test_a_full_disk_stops_the_run_and_loses_nothing(self):
        home = self.mounted("small", "size=24m,mode=0700")
        self.lab.home = home
        self.addCleanup(self.lab.kill_workers) # before the file system is gone, by which they are found
        run = self.lab.start("run", self.slice(seconds=2))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the first rung to run", 30)
        filler = home / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass
        ended = run.end(60)
        self.assertEqual(3, ended.status, ended)  # not damaged: it goes on when there is room
        self.assertRegex(ended.out, r"(?m)^sliceup: cannot make facts durable in .*journal\.db: that file system is full")
        self.assertRegex(ended.out, r"(?m)^run [0-9a-f]{8} was left unfinished; .*sliceup resume")
        acknowledged = self.lab.count("attempt-ended")
        before = self.marked()
        filler.unlink()
        self.passes(self.lab.sliceup("resume"))
        self.assertGreaterEqual(self.lab.count("attempt-ended"), acknowledged)
        self.assertEqual(len(set(self.marked())), len(self.marked()), "something was run twice")
        self.assertEqual(6, len(self.marked()))
        self.assertEqual(before, self.marked()[:len(before)])
        self.nothing_is_left()


class Folders(Damaged):
    def read_only(self, name):
        if os.geteuid() == 0:
            return self.mounted(name, "size=1m,mode=0700,ro")
        place = self.lab.root / name
        place.mkdir(mode=0o500)
        return place

    def test_a_home_that_cannot_be_written(self):
        self.lab.home = self.read_only("home-ro")
        self.says(self.lab.sliceup("run", self.slice()), 3, str(self.lab.home))

    def test_a_home_that_is_a_file(self):
        self.lab.home = self.lab.write("file", "")
        ended = self.lab.sliceup("run", self.slice())
        self.assertIn(ended.status, (2, 3))
        self.says(ended, ended.status, str(self.lab.home))

    def test_a_cache_root_that_cannot_be_written(self):
        root = self.read_only("cache-ro")
        rungs = [self.lab.rung("low", "marks.py", args={"file": str(self.marks)}),
                 self.lab.rung("warm", "marks.py", args={"file": str(self.marks)}, warm="solo")]
        profile = self.lab.write("traced.yaml", "profile: traced\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n")
        ended = self.lab.sliceup("run", self.slice(rungs=rungs, profile=str(profile), cache={"root": str(root)}))
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(ended.out, r"h\[0-1\] blocked: the cache root \S+ is mounted read-only \(.*\), and no run has used it")
        self.assertIn(str(root), ended.out)
        self.assertEqual(["h0 low once 1", "h1 low once 1"], sorted(self.marked()))
        self.nothing_is_left()

    def test_keys_and_folders_that_others_can_read_or_write_are_refused(self):
        run = self.lab.start("run", self.slice(seconds=1))
        lab.wait_for(lambda: len(self.marked()) >= 2, "the first rung to run", 30)
        run.kill_and_reap()
        folder = self.lab.run_folder()
        for path, mode in ((folder / "coordinator.key", 0o644), (folder, 0o777)):
            with self.subTest(path.name):
                right = stat.S_IMODE(path.stat().st_mode)
                path.chmod(mode)
                self.says(self.lab.sliceup("resume"), 3, str(path), f"mode {mode:04o}")
                path.chmod(right)
        self.passes(self.lab.sliceup("resume"))
        self.assertEqual(6, len(self.marked()))


if __name__ == "__main__":
    unittest.main()
