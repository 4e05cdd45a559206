"""docs/guide/first-ladder.md as it stands: its files, its changes to them, its commands, and what it says is printed."""
import re
import unittest

import lab

PAGE = lab.TOP / "docs/guide" / "first-ladder.md"
CHANGING = re.compile(r"(?:run|watch|explain) [0-9a-f]{8}|\[ *[0-9.]+ s\]|[0-9.]+ (ms|s|min|KiB free)\b|/\S+/sum\.py")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE.read_text())


def alike(line):
    """A printed line without what differs from run to run: also whether all hosts saw the same room on one disk."""
    return CHANGING.sub("#", line).replace("h0: /tmp", "/tmp")


class FirstLadder(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.place = self.lab.files
        for name, text in zip(("slice.yaml", "ladder.yaml"), blocks("yaml")):
            (self.place / name).write_text(text)
        self.program, self.top, self.bad = blocks("python")
        (self.place / "sum.py").write_text(self.program)

    def run_and_compare(self, status, shown):
        ended = self.lab.sliceup("run", self.place / "slice.yaml")
        self.assertEqual(status, ended.status, ended)
        printed = {alike(line) for line in ended.out.splitlines()}
        for line in shown.splitlines():
            self.assertIn(alike(line), printed, ended.out)

    def make_wrong(self):
        lines = self.program.splitlines(keepends=True)
        return self.top + self.bad + "".join(lines[1:])

    def test_the_page_is_what_happens(self):
        passed, failed, full, hung = blocks("text")
        self.assertEqual(0, self.lab.sliceup("check", self.place / "slice.yaml").status)
        self.run_and_compare(0, passed)
        (self.place / "sum.py").write_text(self.make_wrong())
        self.run_and_compare(1, failed)
        for command in re.findall(r"(?m)^sliceup (receipt.*|logs|explain|drift)$", re.sub(r" +#.*", "", "".join(blocks("sh")))):
            self.assertIn(self.lab.sliceup(*command.split()).status, (0, 1), command)
        ladder = blocks("yaml")[1]
        (self.place / "ladder.yaml").write_text(ladder.replace("1000000", "1000000000000"))
        self.run_and_compare(1, full)
        (self.place / "sum.py").write_text(self.make_wrong().replace("import os", "import os, time").replace(
            "else 0\n", "else 0\ntime.sleep(1000 * bad)\n"))
        (self.place / "ladder.yaml").write_text(ladder.replace("timeout: 10s", "timeout: 2s"))
        self.run_and_compare(1, hung.replace("10 s", "2 s"))

    def test_the_slice_over_ssh_has_no_mistake(self):
        (self.place / "slice.yaml").write_text(blocks("yaml")[2])
        (self.lab.root / ".ssh").mkdir(exist_ok=True)
        ended = self.lab.sliceup("check", self.place / "slice.yaml")
        self.assertEqual(0, ended.status, ended)


if __name__ == "__main__":
    unittest.main()
