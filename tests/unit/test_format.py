"""Every C file is as clang-format 14 writes it with our .clang-format: to mend one, clang-format-14 -i FILE."""
import pathlib
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES_A_CALL = 100


def c_files():
    listed = subprocess.run(["git", "-C", str(TOP), "ls-files", "*.c", "*.h"], capture_output=True, text=True)
    if listed.returncode:  # an exported tree
        return sorted(str(path) for room in ("common", "coordinator", "worker", "tests") for path in (TOP / room).rglob("*.[ch]"))
    return [str(TOP / name) for name in listed.stdout.splitlines() if (TOP / name).exists()]


class Format(unittest.TestCase):
    def test_every_file_is_formatted(self):
        files = c_files()
        self.assertGreater(len(files), 500)
        calls = [subprocess.Popen(["clang-format-14", "--dry-run", "-Werror", "--style=file", *files[at:at + FILES_A_CALL]],
                                  stderr=subprocess.PIPE, text=True) for at in range(0, len(files), FILES_A_CALL)]
        said = [call.communicate()[1] for call in calls]
        wrong = sorted({line.split(":")[0] for text in said for line in text.splitlines() if ": error: " in line})
        self.assertEqual(wrong, [], "clang-format-14 -i these")
        self.assertEqual([call.returncode for call in calls], [0] * len(calls), said)


if __name__ == "__main__":
    unittest.main()
