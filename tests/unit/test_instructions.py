"""The coordinator executes no more instructions a message than tests/instructions.txt says: tests/bench/instructions counts them."""
import importlib.machinery
import importlib.util
import os
import pathlib
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("instructions", str(TOP / "tests" / "bench" / "instructions"))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", loader))
loader.exec_module(instructions)


class Instructions(unittest.TestCase):
    def test_no_figure_grew(self):
        rows = instructions.compare(pathlib.Path(os.environ["SLICEUP_BUILD"]) / "bench")
        self.assertGreater(len(rows), 1)
        for hosts, _, scope, found, limit in rows:
            with self.subTest(hosts=hosts, scope=scope):
                self.assertLessEqual(found, limit * instructions.ALLOWED, "say in tests/instructions.txt's commit what it buys")
                self.assertGreater(found, limit / 2, "much less: write the figure down")


if __name__ == "__main__":
    unittest.main()
