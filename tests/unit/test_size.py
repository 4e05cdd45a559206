"""The product's C does not grow: its lines and files stay within tests/size.txt, whose figures only ever fall.

A line of the file that begins with `raised` says why they rose once; each such line allows one rise."""
import pathlib
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
FIGURES = "tests/size.txt"


def figures(text):
    return {name: int(value) for name, value in (line.split() for line in text.splitlines() if not line.startswith("raised"))}


def reasons(text):
    return [line for line in text.splitlines() if line.startswith("raised ")]


def measured(top):
    """Of all C outside of tests and build folders."""
    files = [path for pattern in ("*.c", "*.h") for path in top.rglob(pattern)
             if path.relative_to(top).parts[0] != "tests" and not path.relative_to(top).parts[0].startswith("build")]
    return {"lines": sum(path.read_bytes().count(b"\n") for path in files), "files": len(files)}


def git(*args):
    return subprocess.run(["git", "-C", str(TOP), *args], capture_output=True, text=True)


class Size(unittest.TestCase):
    def test_the_product_is_no_larger_than_its_figures(self):
        allowed, found = figures((TOP / FIGURES).read_text()), measured(TOP)
        self.assertGreater(found["files"], 100)
        for name in found:
            self.assertLessEqual(found[name], allowed[name], f"{name}: take away as much as you add; when fewer are left, lower {FIGURES}")

    def test_the_figures_never_rose(self):
        commits = git("log", "--format=%H", "--", FIGURES)
        if commits.returncode:
            self.skipTest("an exported tree has no history")
        before = [git("show", f"{commit}:{FIGURES}").stdout for commit in reversed(commits.stdout.split())]
        for older, newer in zip(before, [*before[1:], (TOP / FIGURES).read_text()]):
            if reasons(newer) != reasons(older):
                self.assertEqual([*reasons(older), reasons(newer)[-1]], reasons(newer), "a reason is added, and stays")
                continue
            for name, value in figures(older).items():
                self.assertLessEqual(figures(newer)[name], value, FIGURES)


if __name__ == "__main__":
    unittest.main()
