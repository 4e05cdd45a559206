"""Random damages of the journals of stopped coordinators, through the real commands: refused by name, or nothing changed.

SLICEUP_DAMAGE_SAMPLES (500) of them over twenty moments of one run; SLICEUP_DAMAGE_SEED (1) draws. tests/campaign/damage tries
every byte, without processes.
"""
import concurrent.futures
import os
import random
import unittest

import lab
import stopped

SAMPLES, SEED = (int(os.environ.get(f"SLICEUP_DAMAGE_{name}", default)) for name, default in (("SAMPLES", 500), ("SEED", 1)))
AT_ONCE = 2
# Most of what is read lies in the log; of the mark and the shared memory most bytes mean nothing.
CHOICE = {"journal.db-wal": 6, "journal.db": 3, "journal.db.mark": 2, "journal.db-shm": 1}
RESUMED = 4  # so many of the refused ones are also resumed: one in


def flip(content, rng):
    at = rng.randrange(len(content))
    content[at] ^= 1 << rng.randrange(8)
    return content, f"bit flipped in byte {at}"


def flip_two(content, rng):
    content, first = flip(content, rng)
    content, second = flip(content, rng)
    return content, f"{first}, {second}"


def cut(content, rng):
    at = rng.randrange(len(content))
    return content[:at], f"cut at byte {at}"


def zero(content, rng):
    at = rng.randrange(len(content)) // 512 * 512
    content[at:at + 512] = bytes(len(content[at:at + 512]))
    return content, f"512 bytes of 0 at byte {at}"


DAMAGES = (flip, flip, flip, flip_two, cut, cut, zero)


class Samples(lab.LabTest):
    def said(self, home, command, folder, *more):
        return self.lab.sliceup(command, folder.name, *more, env=self.lab.env(SLICEUP_HOME=str(home)), bound_s=60)

    def one(self, folder, rng, number):
        """What was done, and what the commands made of it: "same", "named", or how they failed."""
        home, files = folder.parent.parent, [name for name in CHOICE if (folder / name).exists() and (folder / name).stat().st_size]
        name = rng.choices(files, [CHOICE[name] for name in files])[0]
        sound = {each: (folder / each).read_bytes() for each in CHOICE if (folder / each).exists()}
        content, how = rng.choice(DAMAGES)(bytearray(sound[name]), rng)
        (folder / name).write_bytes(content)
        said = self.said(home, "receipt", folder, "--json")
        verdict = "named" if said.status == 5 and "journal.db" in said.err else "same" if said.out == self.sound[folder] else str(said)
        if verdict == "named" and number % RESUMED == 0:
            said = self.said(home, "resume", folder)
            verdict = verdict if said.status == 5 and "journal.db" in said.err else f"receipt refused, resume did not: {said}"
        for each in CHOICE:
            (folder / each).unlink(missing_ok=True)
        for each, before in sound.items():
            (folder / each).touch(mode=0o600)
            (folder / each).write_bytes(before)
        return f"{name}: {how}", verdict

    def all_of(self, number, folder):
        """Each moment has draws of its own, so that what one of them does changes no other."""
        rng = random.Random(f"{SEED} {number}")
        self.sound[folder] = self.said(folder.parent.parent, "receipt", folder, "--json").out
        return [(number, *self.one(folder, rng, i)) for i in range(SAMPLES // len(self.moments))]

    def test_no_damage_passes_silently(self):
        self.moments, ended = stopped.stopped_run(self.lab, self.lab.root / "moments")
        self.assertEqual((20, 0), (len(self.moments), ended.status), ended)
        self.sound = {}
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = sum(pool.map(self.all_of, range(len(self.moments)), self.moments), [])
        silent = [f"moment {number}, {what}: {verdict}" for number, what, verdict in found if verdict not in ("same", "named")]
        named = sum(verdict == "named" for _, _, verdict in found)
        print(f"    {len(found)} damages with seed {SEED}: {named} refused by name, {len(found) - named - len(silent)} changed nothing")
        self.assertEqual([], silent[:10], f"{len(silent)} of {len(found)}")
        self.assertGreater(named, len(found) / 3)


if __name__ == "__main__":
    unittest.main()
