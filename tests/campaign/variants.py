"""variants.py - what happens to folders beside single bits: files that are exchanged, removed, put back, forged. For tests/campaign/damage.

Each variant changes a copy of a stopped moment; `right` is what the commands have to make of it: "named" (exit status 5 and a
sentence), or "same" (nothing changed). Moments are those of tests/lib/stopped.py: up to 8 before the first checkpoint, from 9 on after it.
"""
import hashlib
import shutil
import sqlite3
import struct

import stopped

PAGE, FRAME_HEAD, LOG_HEAD = 8192, 24, 32
DB, LOG, SHM, MARK = stopped.FILES
EARLY, LATER, FRESH, AFTER, LAST = 5, 8, 10, 16, 19


class Scene:
    """One moment's folder, to be changed; `at` gives the folders of others."""

    def __init__(self, folder, at, other):
        self.folder, self.at, self.other = folder, at, other

    def take(self, name, moment):
        """A file as it was at another moment, or is in another run."""
        source = (moment if hasattr(moment, "joinpath") else self.at(moment)) / name
        (self.folder / name).unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, self.folder / name)
            (self.folder / name).chmod(0o600)

    def remove(self, name):
        (self.folder / name).unlink()

    def edit(self, name, change):
        content = bytearray((self.folder / name).read_bytes())
        changed = change(content)
        (self.folder / name).write_bytes(content if changed is None else changed)

    def sql(self, *statements):
        journal = sqlite3.connect(self.folder / DB)
        for statement in statements:
            journal.execute(statement)
        journal.commit()
        journal.close()


def frames(content):
    """Where each frame of a log begins."""
    return range(LOG_HEAD, len(content) - PAGE - FRAME_HEAD + 1, FRAME_HEAD + PAGE)


def set_zero(begin, end):
    def change(content):
        content[begin:end] = bytes(len(content[begin:end]))
    return change


def swap_frames(content):
    at = list(frames(content))
    one, two, size = at[-3], at[-2], FRAME_HEAD + PAGE
    content[one:one + size], content[two:two + size] = content[two:two + size], content[one:one + size]


def cut_last_commit(content):
    """At a border of frames, where a torn log would end: after the last but one that ends a commit."""
    commits = [at for at in frames(content) if struct.unpack(">I", content[at + 4:at + 8])[0]]
    return content[:commits[-2] + FRAME_HEAD + PAGE]


def flip(*places):
    def change(content):
        for place in places:
            content[place if place >= 0 else len(content) + place] ^= 0x10
    return change


def forget_newest_slot(content):
    """As a torn slot, though no power was lost."""
    at = range(0, 3 * 4096, 4096)
    newest = max(at, key=lambda slot: int.from_bytes(content[slot + 120:slot + 128], "little"))
    content[newest:newest + 192] = bytes(192)


def forge_end(scene):
    scene.sql("DELETE FROM fact WHERE idx > 6", "UPDATE meta SET value = 6 WHERE name = 'last'")


def forge_chain(scene):
    """One fact is changed, and every digest after it made right again."""
    journal = sqlite3.connect(scene.folder / DB)
    rows = journal.execute("SELECT idx, bytes, chain FROM fact ORDER BY idx").fetchall()
    previous = rows[2][2]
    for index, content, _ in rows[3:]:
        if index == 4:
            content = content[:-1] + bytes([content[-1] ^ 1])
        previous = hashlib.sha256(previous + content).digest()
        journal.execute("UPDATE fact SET bytes = ?, chain = ? WHERE idx = ?", (content, previous, index))
    journal.commit()
    journal.close()


def older_files(*names):
    return lambda scene: [scene.take(name, EARLY) for name in names]


# (moment, name, what is done, what is right)
VARIANTS = (
    (LATER, "the log is removed", lambda s: s.remove(LOG), "named"),
    (LATER, "the log is emptied", lambda s: s.edit(LOG, lambda content: content[:0]), "named"),
    (LATER, "the log of an earlier moment", older_files(LOG), "named"),
    (LATER, "journal, log and shared memory of an earlier moment, the mark of this one", older_files(DB, LOG, SHM), "named"),
    (LATER, "the log ends at the border of a commit", lambda s: s.edit(LOG, cut_last_commit), "named"),
    (LATER, "two frames of the log changed places", lambda s: s.edit(LOG, swap_frames), "named"),
    (LATER, "the log's salt is another one", lambda s: s.edit(LOG, flip(16)), "named"),
    (LATER, "the second half of the log is 0", lambda s: s.edit(LOG, lambda c: set_zero(len(c) // 2, len(c))(c)), "named"),
    (LATER, "two bits of the log's last page", lambda s: s.edit(LOG, flip(-100, -4000)), "named"),
    (LATER, "a bit of the log and a bit of the shared memory", lambda s: (s.edit(LOG, flip(-100)), s.edit(SHM, flip(20))), "named"),
    (LATER, "a bit of the log and a bit of the mark's newest slot", lambda s: (s.edit(LOG, flip(-100)), s.edit(MARK, flip(4096 + 130))), "named"),
    (LATER, "all files cut in half", lambda s: [s.edit(name, lambda c: c[:len(c) // 2]) for name in stopped.FILES], "named"),
    (LATER, "the shared memory is removed", lambda s: s.remove(SHM), "same"),
    (LATER, "the shared memory of another moment", lambda s: s.take(SHM, EARLY), "same"),
    (LATER, "the mark is removed", lambda s: s.remove(MARK), "named"),
    (LATER, "the mark is emptied", lambda s: s.edit(MARK, lambda content: content[:0]), "named"),
    (LATER, "the newest slot of the mark is 0", lambda s: s.edit(MARK, forget_newest_slot), "named"),
    (LATER, "the mark of another run", lambda s: s.take(MARK, s.other), "named"),
    (LATER, "the mark of an earlier moment", older_files(MARK), "same"),
    (LATER, "the lock file is removed", lambda s: s.remove("journal.db.lock"), "same"),
    (LATER, "journal.db is removed, the rest is there", lambda s: s.remove(DB), "named"),
    (LATER, "journal.db is emptied, the rest is there", lambda s: s.edit(DB, lambda content: content[:0]), "named"),
    (LATER, "the last facts are deleted with SQL, and the note of the last index made right", forge_end, "named"),
    (LATER, "a fact is changed with SQL, and the chain made right to its end", forge_chain, "named"),
    (LATER, "all files of another run", lambda s: [s.take(name, s.other) for name in stopped.FILES], "named"),
    (FRESH, "the database of before the checkpoint, with the log of after it", lambda s: s.take(DB, LATER), "named"),
    (FRESH, "the log of before the checkpoint, with the database of after it", lambda s: s.take(LOG, LATER), "named"),
    (FRESH, "the new log is removed", lambda s: s.remove(LOG), "named"),
    (AFTER, "a page of the database is 0", lambda s: s.edit(DB, set_zero(3 * PAGE, 4 * PAGE)), "named"),
    (AFTER, "two pages of the database changed places",
     lambda s: s.edit(DB, lambda c: c[:3 * PAGE] + c[4 * PAGE:5 * PAGE] + c[3 * PAGE:4 * PAGE] + c[5 * PAGE:]), "named"),
    (AFTER, "the database says that it has no log", lambda s: s.edit(DB, set_zero(18, 20)), "same"),
    (LAST, "the run ended: the mark is removed", lambda s: s.remove(MARK), "same"),
    (LAST, "the run ended: its last fact is taken out with SQL",
     lambda s: s.sql("DELETE FROM fact WHERE idx = (SELECT max(idx) FROM fact)", "UPDATE meta SET value = value - 1 WHERE name = 'last'"), "named"),
    (LAST, "the run ended: journal.db of an earlier moment", lambda s: s.take(DB, AFTER), "named"),
)
