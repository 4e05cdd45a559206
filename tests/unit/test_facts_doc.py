"""docs/spec/facts.md lists what the builtin `facts` tells, and configs/drift/default.yaml compares it as it says."""
import json
import os
import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(os.environ["SLICEUP_BUILD"]) / "bin" / "sliceup-worker"
WORDS = ("agree", "tokens", "tolerance", "expected", "ignored", "near_zero")


def documented():
    """name -> how it is compared, from the tables."""
    told = {}
    for line in (TOP / "docs/spec/facts.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        names = re.findall(r"`([a-z0-9_.]+)`", cells[0])
        word = next((cell.split(",")[0].split(";")[0] for cell in cells[1:] if cell.split(",")[0].split(";")[0] in WORDS), None)
        if names and word and "." in names[0] + ".":
            told.update({name: word for name in names})
    return told


def ruled(name):
    """The word of the first rule that matches."""
    for line in (TOP / "configs/drift/default.yaml").read_text().splitlines():
        rule = re.match(r"  - \{fact: '([^']+)', compare: ([a-z_]+)", line)
        if rule and re.fullmatch(re.escape(rule[1]).replace(r"\*", ".*"), f"fact {name}"):
            return rule[2]
    return "agree"


class Documented(unittest.TestCase):
    def test_every_fact_is_in_the_tables_and_every_row_is_told(self):
        done = subprocess.run([WORKER, "facts"], env={"PATH": os.environ["PATH"]}, capture_output=True, timeout=60, check=True)
        lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
        told = {line["name"] for line in lines if line["type"] == "fact"}
        self.assertEqual(told, {name for name in documented() if name not in WORDS})

    def test_the_default_policy_compares_as_the_tables_say(self):
        rows = documented()
        self.assertGreater(len(rows), 60)
        self.assertEqual(rows, {name: ruled(name) for name in rows})

    def test_variables_of_a_host_by_itself_are_expected_to_differ(self):
        text = (TOP / "docs/spec/facts.md").read_text()
        listed = re.findall(r"`(env\.[A-Z_]+)`", text[text.index("Of a host by itself"):])
        self.assertGreater(len(listed), 6)
        self.assertEqual({name: "expected" for name in listed}, {name: ruled(name) for name in listed})
        self.assertEqual("tokens", ruled("env.XLA_FLAGS"))


if __name__ == "__main__":
    unittest.main()
