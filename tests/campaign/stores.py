"""stores.py - every byte cut and one bit of every byte flipped, in what is kept beside journals: the catalogue, sealed generations,
measures, and the small files of a run; read by the command that reads each. For tests/campaign/damage --stores."""
import collections
import concurrent.futures
import pathlib
import shutil
import subprocess
import tempfile
import threading

import lab
import nth_call

MEMORY = "/dev/shm"
CLASSES = ("same", "named", "another value, and the next run is right", "QUIET")
# Below a home; who reads it ({root}: the cache's); of how many bytes one is tried.
VERIFY = ("cache", "verify", "--root", "{root}")
STORES = (("cache/catalogue.db", ("cache", "ls", "--json", "--root", "{root}"), 1), ("cache/jax/*/gen-*/MANIFEST", VERIFY, 1),
          ("cache/jax/*/gen-*/prog0-*", VERIFY, 1), ("cache/storage", VERIFY, 1),
          ("calibration.db", ("calibration", "--json"), 1), ("runs/*/created", ("runs", "--json"), 1),
          ("runs/*/receipt.json", ("receipt", "--json"), 100), ("signatures/*", ("run", "{slice}", "--plain"), 1000))
local = threading.local()


class Copy:
    """A home of a thread's own, with a run in it that passed."""

    def __init__(self, sound, slice_file):
        self.root = pathlib.Path(tempfile.mkdtemp(dir=MEMORY, prefix="sliceup-stores-"))
        self.home, self.sound, self.slice = self.root / "home", sound, slice_file
        self.before = {}  # by command
        self.renew()

    def renew(self):
        for path in self.root.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.sound, self.home, symlinks=True)

    def said(self, *words):
        env = lab.Lab.env(self)
        words = [word.replace("{root}", str(self.home / "cache")).replace("{slice}", str(self.slice)) for word in words]
        done = subprocess.run([str(lab.SLICEUP), *words], env=env, capture_output=True, text=True, errors="replace", timeout=90)
        return done.returncode, done.stdout.replace(str(self.root), ""), done.stderr

    def next_run(self):
        """Right, or refused with a word why."""
        status, out, err = self.said("run", str(self.slice), "--plain")
        self.renew()
        return status == 0 or status in (3, 4, 5) and (out + err).strip()


def copy_of(sound, slice_file):
    if not hasattr(local, "copy"):
        local.copy = Copy(sound, slice_file)
    return local.copy


def judge(copy, words, before, now):
    if now[0] < 0:
        return "QUIET"
    if now[:2] == before[:2] or words[0] == "run" and now[0] == before[0] == 0:
        return "same"
    if now[0] in (1, 2, 3, 4, 5) and (now[2].strip() or "violated" in now[1] or "changed" in now[1]):
        return "named"
    return CLASSES[2] if copy.next_run() else "QUIET"


def one(task):
    """(file, damage, class, place)"""
    sound, slice_file, pattern, words, at, how = task
    copy = copy_of(sound, slice_file)
    path = next(copy.home.glob(pattern))
    content, mode = path.read_bytes(), path.stat().st_mode
    before = copy.before.setdefault(words, copy.before.get(words) or copy.said(*words))
    changed = bytearray(content[:at] if how == "cut" else content)
    if how == "flip":
        changed[at] ^= 1 << at * 7 % 8
    path.chmod(0o600)
    path.write_bytes(changed)
    path.chmod(mode)
    found = judge(copy, words, before, copy.said(*words))
    path = next(copy.home.glob(pattern))
    path.chmod(0o600)
    path.write_bytes(content)
    path.chmod(mode)
    return pattern, how, found, at


def campaign(every, jobs):
    trial = nth_call.Trial(nth_call.FAULTS["killed"], 0)
    sums, quiet, copies = collections.Counter(), [], []
    try:
        trial.happen()
        sound = trial.lab.home
        tasks = [(sound, trial.slice, pattern, words, at, how) for pattern, words, step in STORES
                 for at in range(0, next(sound.glob(pattern)).stat().st_size, every * step) for how in ("flip", "cut")]
        with concurrent.futures.ThreadPoolExecutor(jobs, initializer=lambda: copies.append(copy_of(sound, trial.slice))) as pool:
            for pattern, how, found, at in pool.map(one, tasks):
                sums[pattern, how, found] += 1
                quiet += [f"{pattern}: {how} at {at}"] if found == "QUIET" else []
    finally:
        for copy in copies:
            copy.renew()  # with modes that can be removed
            shutil.rmtree(copy.root, ignore_errors=True)
        trial.close()
    print("| file | damage | tried | " + " | ".join(CLASSES) + " |\n| --- | --- | ---: |" + " ---: |" * len(CLASSES))
    for pattern, _, _ in STORES:
        for how in ("flip", "cut"):
            counts = [sums[pattern, how, each] for each in CLASSES]
            print(f"| `{pattern}` | {how} | {sum(counts):,} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    print("\n".join(["", *quiet[:40]]))
    return 1 if quiet or not sums else 0
