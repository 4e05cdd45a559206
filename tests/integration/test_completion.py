"""What a real bash completes, that asking makes nothing and asks nobody, and that the man pages are without mistakes."""
import subprocess
import unittest

import lab

BASH = r"""
source <("$sliceup" completion bash) || exit 9
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sliceup "$sliceup" "$2" "$1" || exit 8
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
"""


def tree(folder):
    """What is there, and when it was written; a journal's shared memory is also written by who reads."""
    return {str(path): (path.lstat().st_size, path.suffix != ".db-shm" and path.lstat().st_mtime_ns) for path in [folder, *folder.rglob("*")]}


class Completes(lab.LabTest):
    def complete(self, *words, **env):
        done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", "sliceup", *words], capture_output=True, text=True, timeout=60,
                              env={**self.lab.env(**env), "sliceup": str(lab.SLICEUP)}, cwd=self.lab.files, check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout.split("\n")[:-1]

    def test_commands_options_and_words(self):
        self.assertEqual(["run", "runs"], self.complete("ru"))
        self.assertIn("--json", self.complete("receipt", "--"))
        self.assertEqual(["--merge"], self.complete("receipt", "--json", "--me"))
        self.assertEqual([], self.complete("receipt", "--json", "--js"))  # a switch once
        self.assertEqual(["--hosts", "--home"], self.complete("receipt", "--hosts", "a", "--ho"))  # these add up
        self.assertEqual(["ls"], self.complete("cache", "l"))
        self.assertEqual(["--keep"], self.complete("cache", "gc", "--k"))
        self.assertEqual([], self.complete("cache", "ls", "--k"))
        self.assertEqual(["restored"], self.complete("logs", "--pass", "r"))
        self.assertEqual(["restored"], self.complete("logs", "--pass", "=", "r"))  # as bash cuts --pass=r
        self.assertEqual(["once", "cold", "restored"], self.complete("logs", "--pass", "="))
        self.assertEqual(["cache", "calibration", "cancel"], sorted(self.complete("help", "ca")))
        self.assertEqual(["bash"], self.complete("--plain", "completion", ""))
        self.assertEqual([], self.complete("nonsense", ""))
        self.assertNotIn("__complete", self.complete(""))

    def test_files_where_files_are_wanted(self):
        (self.lab.files / "folder").mkdir()
        (self.lab.files / "four words.yaml").touch()
        self.assertEqual(["folder", "four words.yaml"], sorted(self.complete("run", "fo")))
        self.assertEqual(["folder"], self.complete("run", "a.yaml", "--wheels", "fo"))
        self.assertEqual([], self.complete("status", "fo"))
        self.assertEqual(["cpu-jax", "cpu-jax-cluster", "cpu-jax-debug"], sorted(self.complete("run", "--profile", "cpu-jax")))
        self.assertEqual(["jax-cpu", "jax-cpu-train", "jax-cuda12"], self.complete("check", "a.yaml", "--pins=jax-c".partition("=")[0], "=", "jax-c"))
        self.assertEqual(["default"], self.complete("drift", "--policy", "def"))

    def test_hosts_and_rungs_of_a_slice_file(self):
        path = self.lab.slice(hosts=12)
        self.assertEqual(["h1", "h10", "h11"], sorted(self.complete("run", path, "--hosts", "h1")))
        self.assertEqual(["h0,h5"], self.complete("run", path, "-w", "h0,h5"))
        self.assertEqual(["hello"], self.complete("check", path, "--leave-out", "he"))
        self.assertEqual(["dense"], self.complete("check", path, "--ladder", "jax", "--pins", "jax-cpu", "--profile", "cpu-jax",
                                                  "--leave-out", "de"))
        self.assertEqual([], self.complete("run", "no.yaml", "--hosts", "h1"))

    def test_runs_and_what_they_had(self):
        self.assertEqual(["last"], self.complete("logs", ""))
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=3)))
        run = self.lab.run_folder().name[:8]
        self.assertEqual({"last", run}, set(self.complete("logs", "")))
        self.assertEqual([run], self.complete("receipt", run[:3]))
        self.assertEqual(["h0", "h1", "h2"], sorted(self.complete("logs", "--hosts", "")))
        self.assertEqual(["hello"], self.complete("logs", run, "--rung", "he"))
        self.assertEqual([], self.complete("logs", "ffffffffff", "--rung", "he"))

    def test_it_makes_nothing_and_asks_nobody(self):
        nowhere = self.lab.root / "nowhere"
        for words in (("logs", ""), ("logs", "--rung", ""), ("run", self.lab.slice(), "--hosts", ""), ("--home", str(nowhere), "logs", "")):
            self.complete(*words, SLICEUP_HOME=str(nowhere))
        self.assertFalse(nowhere.exists())
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2)))
        before = tree(self.lab.root)
        trace = self.lab.root.parent / (self.lab.root.name + ".trace")
        self.addCleanup(trace.unlink)
        for words in (("logs", ""), ("logs", "--rung", ""), ("run", str(self.lab.files / "slice.yaml"), "--hosts", "")):
            subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=socket,connect", lab.SLICEUP, "__complete", "--", *words],
                           env=self.lab.env(ASAN_OPTIONS="detect_leaks=0"), capture_output=True, timeout=60, check=True)
            self.assertNotIn("AF_INET", trace.read_text())
            self.complete(*words)
        self.assertEqual(before, tree(self.lab.root))


class Manual(lab.LabTest):
    def test_pages_are_without_mistakes(self):
        pages = self.lab.root / "pages"
        subprocess.run([lab.TOP / "deploy/pages", lab.SLICEUP, pages], env=self.lab.env(), check=True, timeout=120)
        names = {path.name for path in pages.iterdir()}
        self.assertTrue({"sliceup.1", "sliceup-run.1", "sliceup-cache.1", "completion"} <= names)
        for page in sorted(pages.glob("*.1")):
            with self.subTest(page.name):
                done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-cbou", page], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertIn("NAME", done.stdout)
        self.assertNotIn("__complete", (pages / "sliceup.1").read_text())
        shown = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", pages / "sliceup-hosts.1"], capture_output=True, text=True, timeout=60,
                               check=True).stdout
        self.assertIn("-S, --separator TEXT", shown)
        self.assertIn(r"\n and \t are newline and tab", shown)


if __name__ == "__main__":
    unittest.main()
