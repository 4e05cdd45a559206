"""Identifiers and file names use the words of docs/glossary.md: none of those that it lists as retired."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
COMMENT = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
WORD = re.compile(r"[A-Za-z_]\w*")


def retired():
    table = (TOP / "docs/glossary.md").read_text().split("## Retired words")[1]
    return {row.group(1) for row in re.finditer(r"^\| ([a-z]+) \|", table, re.M)} - {"retired"}


def parts(name):
    return {part for part in re.split(r"_|(?<=[a-z])(?=[A-Z])", name.lower()) if part}


def sources():
    for room in ("common", "coordinator", "worker", "tests"):
        yield from sorted((TOP / room).rglob("*.[ch]"))


# Of the retired words those that are no ordinary English of this field: in comments and documents, too.
NOT_IN_PROSE = re.compile(r"\b(errands?|chores?|mourn\w*|askers?|unconfessed|confess\w*)\b", re.I)
MAY_NAME_THEM = {"docs/glossary.md", "tests/unit/test_words.py"}


def prose():
    for pattern in ("README.md", "docs/**/*.md", "common/**/*", "coordinator/**/*", "worker/**/*", "configs/**/*", "deploy/**/*"):
        yield from (path for path in sorted(TOP.glob(pattern))
                    if path.is_file() and path.suffix in ("", ".md", ".c", ".h", ".py", ".yaml", ".sh"))


class Words(unittest.TestCase):
    def test_the_list_is_there(self):
        self.assertGreater(len(retired()), 20)
        self.assertIn("errand", retired())

    def test_no_identifier_has_a_retired_word(self):
        gone, found = retired(), set()
        for path in sources():
            for name in set(WORD.findall(COMMENT.sub(" ", path.read_text()))):
                if parts(name) & gone:
                    found.add(f"{path.relative_to(TOP)}: {name}")
        self.assertEqual(sorted(found), [])

    def test_no_file_has_a_retired_word(self):
        found = [str(path.relative_to(TOP)) for path in sources() if parts(path.stem) & retired()]
        self.assertEqual(found, [])

    def test_prose_keeps_to_the_list(self):
        found = []
        for path in prose():
            name = str(path.relative_to(TOP))
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if name not in MAY_NAME_THEM and NOT_IN_PROSE.search(line):
                    found.append(f"{name}:{number}: {line.strip()[:80]}")
        self.assertEqual(found, [])

    def test_a_retired_word_is_found(self):
        self.assertTrue(parts("cache_errand_audit") & retired())
        self.assertFalse(parts("cache_task_audit") & retired())


if __name__ == "__main__":
    unittest.main()
