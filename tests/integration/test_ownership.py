"""Whoever may change the home or the cache decides what runs: neither is taken over from another user without a word."""
import json
import os
import re
import shutil
import subprocess
import unittest

import lab

ALICE, BOB = 61001, 61002  # nobody's: a uid needs no account


def root_only(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root: what it looks at belongs to several users")(test)


class Owned(lab.LabTest):
    def refused(self, ended, *words, status=3):
        self.assertEqual(status, ended.status, str(ended))
        said = [line for line in ended.err.splitlines() if line.startswith("sliceup: ")]
        self.assertEqual(1, len(said), str(ended))
        for word in words:
            self.assertIn(str(word), said[0])
        return said[0]

    def give(self, path, uid, mode=None):
        for each in (path, *path.rglob("*")) if path.is_dir() else (path,):
            os.chown(each, uid, uid, follow_symlinks=False)
        if mode is not None:
            path.chmod(mode)


class Home(Owned):
    COMMANDS = (("runs",), ("status",), ("receipt",), ("resume",), ("logs",), ("cache", "ls"), ("calibration",), ("hosts", "a[1-2]"))

    def setUp(self):
        super().setUp()
        self.plan = self.lab.slice(hosts=1, cache={"mode": "off"}, ladder=str(self.lab.ladder(
            "ladder.yaml", [{"id": "facts", "builtin": "facts"}])))

    def every_command_refuses(self, *words):
        before = sorted(self.lab.home.rglob("*"))
        for command in (*self.COMMANDS, ("check", self.plan), ("run", self.plan)):
            self.refused(self.lab.sliceup(*command), "home", self.lab.home, *words)
        self.assertEqual(before, sorted(self.lab.home.rglob("*")), "something was made there")

    def test_one_that_others_may_write(self):
        self.lab.home.mkdir()
        for mode in (0o777, 0o1777, 0o770):
            self.lab.home.chmod(mode)
            self.every_command_refuses(f"mode {mode:04o}", "owner ", "chmod go-w", "--home")
        self.lab.home.chmod(0o755)
        self.passes(self.lab.sliceup("run", self.plan))

    def test_one_that_is_a_link(self):
        (self.lab.root / "real").mkdir(0o700)
        self.lab.home.symlink_to(self.lab.root / "real")
        self.every_command_refuses("symbolic link", "owner ", "--home")

    @root_only
    def test_one_that_another_user_owns(self):
        self.passes(self.lab.sliceup("run", self.plan))
        self.give(self.lab.home, ALICE)
        self.every_command_refuses(f"uid {ALICE}", "mode 0700", "chown")

    def test_one_below_a_folder_that_others_may_write(self):
        (self.lab.root / "open").mkdir()
        (self.lab.root / "open").chmod(0o777)
        self.lab.home = self.lab.root / "open" / "home"
        self.refused(self.lab.sliceup("runs"), "lies below", "mode 0777")
        self.assertFalse(self.lab.home.exists())
        (self.lab.root / "open").chmod(0o1777)  # as /tmp is
        self.passes(self.lab.sliceup("runs"))

    def test_one_that_is_made_is_closed_to_others(self):
        self.lab.root.chmod(0o755)
        for name, before in (("home", 0), ("a/b/home", 0o077)):
            self.lab.home = self.lab.root / name
            done = subprocess.run([str(lab.SLICEUP), "runs"], env=self.lab.env(), umask=before, capture_output=True, timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(0o700, self.lab.home.stat().st_mode & 0o7777)

    def test_the_usual_place_below_folders_of_mode_755(self):
        user = self.lab.root / "user"
        for folder in (user, user / ".local", user / ".local" / "state"):
            folder.mkdir()
            folder.chmod(0o755)
        env = self.lab.env(HOME=str(user))
        del env["SLICEUP_HOME"]
        self.passes(self.lab.sliceup("runs", env=env))
        self.assertEqual(0o700, (user / ".local" / "state" / "sliceup").stat().st_mode & 0o7777)
        env["XDG_STATE_HOME"] = str(user / "state")
        self.passes(self.lab.sliceup("runs", env=env))

    @root_only
    def test_another_users_home_is_not_roots(self):
        """Nor root's another user's."""
        self.lab.root.chmod(0o755)
        self.lab.home.mkdir(0o755)
        done = subprocess.run([str(lab.SLICEUP), "runs"], env=self.lab.env(), user=ALICE, group=ALICE, extra_groups=[],
                              capture_output=True, text=True, timeout=60)
        self.refused(lab.Ended(done.returncode, done.stdout, done.stderr), "belongs to root (uid 0)", f"chown it to uid {ALICE}")


if __name__ == "__main__":
    unittest.main()
