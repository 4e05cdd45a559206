"""Typical mistakes, each played on the real program: what is said names the place, what was expected and what to write.

The table is tests/lib/mistakes.py. A mistake in a file or on the command line begins no run, and is told once.
"""
import re
import shlex
import subprocess
import unittest

import lab
import mistakes

INTERNAL = re.compile(r"Traceback|Assertion|[a-z_]+\.c:\d|errno|libfyaml|fy_")


class Mistakes(lab.LabTest):
    def play(self, title, files, command, status, *words):
        folder = self.lab.root / f"{len(list(self.lab.root.iterdir()))}-{re.sub(r'[^a-z]+', '-', title)}"
        self.lab.files, self.lab.home = folder, folder / "home"
        folder.mkdir()
        for name, text in {"ladder.yaml": mistakes.ladder_of(*mistakes.RUNGS), **files}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text if isinstance(text, bytes) else self.placed(text).encode())
        return self.command(command, status, *words)

    def command(self, command, status, *words):
        done = subprocess.run([lab.SLICEUP, *shlex.split(self.placed(command))], env=self.lab.env(), cwd=self.lab.files,
                              timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        ended = self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))
        said = ended.out + ended.err
        self.assertEqual(status, ended.status, ended)
        for word in words:
            self.assertIn(self.placed(word), said)
        self.assertNotRegex(said, INTERNAL)
        return said

    def placed(self, text):
        return text.replace("@DIR@", str(self.lab.files))

    def each(self, table):
        for row in table:
            with self.subTest(row[0]):
                said = self.play(*row)
                self.assertFalse((self.lab.home / "runs").exists(), "a run was begun")
                told = re.findall(r"(?m)^(?:[\w./-]+:\d+:\d+|--[a-z-]+|SLICE): (?!warning)", said)
                places = sum(bool(re.match(r"[\w./-]+:\d+:", word)) for word in row[4:])
                self.assertLessEqual(len(told), max(places, 1), f"more complaints than mistakes:\n{said}")

    def test_the_command_line(self):
        self.each(mistakes.COMMAND_LINE)

    def test_after_a_run(self):
        self.play("a good run", mistakes.S(), "run slice.yaml", 0)
        run = self.lab.run_folder().name[:8]
        for title, command, status, *words in mistakes.AFTER_A_RUN:
            with self.subTest(title):
                self.command(command, status, *(word.replace("@RUN@", run) for word in words))

    def test_programs(self):
        for title, rung, status, *words in mistakes.PROGRAMS:
            with self.subTest(title):
                files = mistakes.R(rung, pins="{file: jax-cpu, python: python3.99}", more={"own.py": "print('hello')\n"})
                said = self.play(title, files, "run slice.yaml", status, *words)
                what = words[0].partition(": ")[2] or words[0]
                happens = [line.startswith("[") for line in said.replace("\n    ", "; ").splitlines() if what in line]
                self.assertIn(True, happens, said)  # of hosts that end one by one there are lines of their own
                self.assertEqual(1, happens.count(False), f"told once at the end:\n{said}")

    def test_what_is_written_in_yaml(self):
        self.each(mistakes.YAML)

    def test_which_hosts(self):
        self.each(mistakes.HOSTS)

    def test_names_and_values(self):
        self.each(mistakes.VALUES)

    def test_files_of_this_machine(self):
        self.each(mistakes.FILES)


if __name__ == "__main__":
    unittest.main()
