"""What advice names is there: facts, pages and files, commands with their options, keys of the configuration.

Advice is what signatures have as `next`, and every sentence of the programs' own."""
import os
import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
SLICEUP = pathlib.Path(os.environ["SLICEUP_BUILD"]) / "bin" / "sliceup"
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
WORDS_LEAST = 4
# What people say of sliceup, where it is no command.
VERBS = set("adds and another brings builds can cannot completes copies did does had home isolates itself journal keeps link may never process "
            "process reads set sets shown stand-in started starts that tries".split())
# Names with a dot that belong to others.
FOREIGN = {"slurm.conf", "pids.max"}
# What a signature says when it is about something that others grant.
GRANTS = re.compile(r"quota|no more capacity|reserved capacity|POOL_EXHAUSTED|credential|permission|\bgated|not authorized|\b40[137]\b|\b429\b", re.I)


def sentences():
    """(file, text) of all advice; C literals that stand side by side are one."""
    for path in sorted((TOP / "configs/signatures").glob("*.yaml")):
        for text in re.findall(r"(?m)^    next: '?(.*?)'?$", path.read_text()):
            yield path.name, text
    for folder in ("common", "coordinator", "worker"):
        for path in sorted((TOP / folder).rglob("*.c")):
            code = re.sub(r"/\*.*?\*/|(?m:^#include[^\n]*$)", "", path.read_text(), flags=re.S)
            for found in re.finditer(rf"{LITERAL}(?:\s*{LITERAL})*", code):
                text = "".join(part[1:-1] for part in re.findall(LITERAL, found[0])).replace("\\n", "\n").replace('\\"', '"')
                if len(text.split()) >= WORDS_LEAST:
                    yield path.name, text


def quoted(page):
    """What a page has in its tables' first cells between backquotes, without placeholders."""
    found = set()
    for line in (TOP / page).read_text().splitlines():
        if line.startswith("|"):
            found.update(re.findall(r"`([a-z][a-z0-9_.]*)[`<]", line.split("|")[1]))
    return found


def signatures():
    """id -> the lines of each signature."""
    found = {}
    for path in sorted((TOP / "configs/signatures").glob("*.yaml")):
        for block in re.split(r"(?m)^  - (?=id: )", path.read_text())[1:]:
            found[block.split(None, 2)[1]] = block
    return found


OWN_NAMES = {"data", "spare", "steps", "key"}  # in examples: an axis, a group, an argument, any key


class Advice(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = list(sentences())

    def named(self, pattern):
        """(file, name) of everything that the pattern finds."""
        found = [(name, match) for name, text in self.all for match in re.findall(pattern, text)]
        self.assertTrue(found, f"nothing in all advice looks like {pattern}")
        return found

    def test_pages_and_files_are_there(self):
        for name, path in self.named(r"\b((?:docs|configs)/[A-Za-z0-9_/-]+(?:\.[a-z]+)*)"):
            self.assertTrue((TOP / path).exists(), f"{name} names {path}")

    def test_facts_are_told(self):
        facts = quoted("docs/spec/facts.md")
        families = {fact.split(".")[0] for fact in facts if "." in fact}
        keys = quoted("docs/spec/configuration.md")
        for name, fact in self.named(r"(?<![\w/.{<-])([a-z]+\.[a-z_]+)\b(?![\w/(=.-])"):
            family, _, rest = fact.partition(".")
            if family in families and fact not in FOREIGN and rest not in ("md", "json", "yaml", "so", "db", "h", "c", "log"):
                self.assertTrue(fact in facts or rest in keys, f"{name} names {fact}")
        for name, fact in self.named(r"\bfact ([a-z]+\.[a-z_.]+[a-z])"):
            self.assertIn(fact, facts, name)

    def test_keys_are_those_of_the_configuration(self):
        keys = quoted("docs/spec/configuration.md") | quoted("docs/spec/probe.md")
        sections = "cache|limits|ssh|slurm|start|coordinator|pins|profile"
        for name, key in self.named(rf"(?<![\w/.-])(?:{sections})\.([a-z_]+)\b(?!\.?\w*\()"):
            self.assertTrue(key in keys or key in ("md", "c", "conf"), f"{name} names {key}")
        for name, key in self.named(r"(?:\b|\{)([a-z][a-z_]*): (?:true|false|off|null)\b") + self.named(r"(?<!args: )\{([a-z_]+): "):
            self.assertIn(key, keys | OWN_NAMES, name)
        for name, key in self.named(r"\b([a-z]+_[a-z_]+) (?:in|of) (?:the|its) (?:profile|slice file|ladder)"):
            self.assertIn(key, keys, name)

    def test_commands_and_their_options_are_there(self):
        commands = set(re.findall(r"(?m)^  ([a-z][a-z-]+)  ", self.help()))
        self.assertIn("drift", commands)
        for name, text in self.all:
            for command, rest in re.findall(r"(?<![\w/-])sliceup ([a-z][a-z-]+)([^;:.\n)]*)", text):
                if command in VERBS:
                    continue
                self.assertIn(command, commands, f"{name}: {text}")
                options = re.findall(r"(?<!\S)--[a-z][a-z-]+", rest)
                if options:
                    told = "--help" + self.help(command, *re.findall(r"^ ([a-z]+)", rest)[:command in ("cache", "env", "runs")])
                    for option in options:
                        self.assertIn(option, told, f"{name}: {text}")

    def help(self, *command):
        return subprocess.run([SLICEUP, *command, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout

    def test_what_others_grant_is_rechecked(self):
        found = [(name, block) for name, block in signatures().items() if "    noise: true" not in block and "    rule: " not in block
                 and GRANTS.search(" ".join(re.findall(r"(?m)^(?:id|    text|    also|    next): ?(.*)$", block)))]
        self.assertGreater(len(found), 20)
        for name, block in found:
            self.assertIn("recheck: true", block, name)


if __name__ == "__main__":
    unittest.main()
