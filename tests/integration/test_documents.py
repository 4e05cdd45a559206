"""README, quickstart and guides: every command in them is run here, by another test, or needs something that is named to
the reader. What is shown between backticks exists, with its options.

Placeholders are filled: a host of a slice that nobody has becomes a local one, a number of a generation the one that is
there. What would go to hosts far away is held against `sliceup check`, with the arguments it has.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

import lab

PAGES = ("README.md", "docs/quickstart.md", *sorted(f"docs/guide/{path.name}" for path in (lab.TOP / "docs/guide").glob("*.md")))
FENCE = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^ *```$")
REFUSED = re.compile(r"unknown argument|one word too many|there is no command|usage: sliceup|needs a value")


class Rule:
    """What becomes of the commands of a page that match: `kind` and what that takes."""

    def __init__(self, page, command, kind, *more, status=(0,)):
        self.page, self.command, self.kind, self.more = page, re.compile(command), kind, more
        self.status, self.used = status, False

    def takes(self, page, command):
        return re.search(self.page, page) and self.command.search(command)


def run(page, command, status=(0,), fill=(), says="^"):
    """Run as it stands, or with these texts in place of others. A status for what is missing here: then it says so."""
    return Rule(page, command, "run", fill, says, status=status)


def plan(page, command):
    """sliceup run, which would go to hosts far away or to an index of packages: checked instead."""
    return Rule(page, command, "plan")


def elsewhere(page, command, test, words):
    """Another test runs it: its file holds these words."""
    return Rule(page, command, "elsewhere", test, words)


def needs(page, command, words):
    """What it needs is told to the reader in these words of the page."""
    return Rule(page, command, "needs", words)


ONE = (("cache explain v6e-0@3fa9 v6e-0@last", "cache explain v6e-0@last v6e-0@last"), ("7 9", "1"), ("export 7 ", "export 1 "),
       ("export 5 ", "export 1 "), ("jax/5f2ac01277d0e1b3", "1"), ("/tmp/warm", "tmp-warm"), ("./warmed", "warmed"),
       ("/mnt/other/cache", "other-cache"), ("/mnt/shared/sliceup-cache", "shared-cache"),
       ("configs/slices/local-jax.yaml", "$LOCAL"), ("--plugin libtpu.so", "--plugin $BUILD/tests/liar.so"))
RULES = (
    needs("README", r"^deploy/quickstart", "On a fresh Debian 12 or Ubuntu 24.04 machine"),
    needs("README", r"^tests/run", "builds with sanitizers and runs every test"),
    elsewhere("gate.md", r"^exec /usr/bin/sliceup gate", "integration/test_slurm.py", 'gate --check'),
    elsewhere("gate.md", r"/shared/gate.new", "integration/test_slurm.py", 'gate.new'),
    run("README|gate.md", r"sliceup gate", fill=(("/shared/gate.json", "gate.json"), ("slice.yaml", "$LOCAL"))),
    run("gate.md", r"sliceup hosts"),
    elsewhere("gate.md", r"sliceup run", "integration/test_gate.py", '"--exclude", "@suspect"'),
    needs("gate.md", r"^srun", "Slurm, in the job's script"),
    elsewhere("gate.md", r"SLICEUP_HOSTS_DEVICE", "integration/test_slurm.py", "docs/guide/gate.md"),
    run("README", r"sliceup init"),
    elsewhere("README|hosts.md", r"sliceup selftest", "integration/test_selftest.py", '"selftest"'),
    elsewhere("README", r"sliceup rehearse", "integration/test_rehearse.py", 'tpu-v6e-16.yaml'),
    elsewhere("tpu-vm.md", r"^sliceup (init|check v6e.yaml)", "integration/test_init.py", '"--gcloud"'),
    plan("README", r"sliceup run (configs/slices/local-jax.yaml|slice.yaml --(exclude|min-hosts))"),
    run("README", r"sliceup (check|watch|status|receipt|resume|runs|hosts|calibration)"),
    run("README", r"sliceup logs"),
    run("README", r"sliceup monitor-key", status=(3,), says="no coordinator"),  # test_monitor.py has a run that goes on
    elsewhere("README|watching.md", r"sliceup serve", "integration/test_web.py", '"serve"'),
    elsewhere("watching.md", r"^sliceup (run slice.yaml --)?metrics", "integration/test_metrics.py", '"--metrics"'),
    elsewhere("README", r"sliceup cancel", "integration/test_cancel_command.py", '"cancel"'),
    run("README", r"sliceup explain"),
    run("README", r"sliceup drift", status=(0, 1, 3)),
    run("README", r"sliceup env check", status=(1, 3),
        fill=(("build/", "SLICEUP_HOME=$PWD/other build/"), ("slice.yaml", "pinned.yaml"))),  # 'last' stays the run above
    run("README", r"sliceup-worker probe", fill=ONE, status=(0, 1)),
    run("README|cache.md|aot.md", r"sliceup cache explain", fill=ONE, status=(0, 3)),
    run("README|cache.md|aot.md", r"sliceup cache", fill=ONE),
    elsewhere("README|exec.md", r"sliceup copy", "campaign/case/file_cases.py", 's.sliceup("copy"'),
    elsewhere("exec.md", r"sliceup outputs", "campaign/case/file_cases.py", 's.sliceup("outputs"'),
    run("README|exec.md", r"sliceup exec", fill=(("exec -w", "exec --launcher local -w"),)),  # over ssh: test_exec.py
    plan("aot.md", r"sliceup run tpu-v6e-16"),
    needs("cache.md", r"^rsync", "over there"),
    run("watching.md", r"^sliceup runs"),
    run("README|watching.md", r"sliceup report", fill=(("3fa9", "last"),)),
    run("watching.md", r"^sliceup drift", status=(0, 1, 3), fill=(("3fa9", "last"), ("9c21", "last"))),
    run("drift.md", r"^sliceup drift", status=(0, 1, 3)),
    elsewhere("drift.md", r"^printf", "integration/test_command.py", "disk_mbps"),
    needs("environment.md", r"^pip download", "Collect the wheels on a machine that does"),
    run("environment.md", r"sliceup env restore", status=(2,), fill=(("slice.yaml", "pinned.yaml"), ("~/wheels", "wheels")),
        says="wheel"),
    run("hosts.md", r"^gzip -dc", fill=(("sliceup-worker.bundle", "$BUILD/bin/sliceup-worker.bundle"),)),
    run("hosts.md", r"^./sliceup-worker preflight", status=(0, 3)),
    elsewhere("first-ladder.md", r"^sliceup", "integration/test_first_ladder.py", '"first-ladder.md"'),
    elsewhere("your-own-step.md", r"^sliceup (check|run)", "integration/test_command.py", '"your-own-step.md"'),
    needs("install.md", r"^deploy/package", "on Debian 12 or Ubuntu 24.04"),
    run("install.md", r"^sliceup (init|check)"),
    elsewhere("install.md", r"", "campaign/package", "docs/guide/install.md"),
    elsewhere("hostsets.md", r"", "unit/test_nodeset.py", "docs/guide/hostsets.md"),
    elsewhere("slurm.md", r"", "integration/test_slurm.py", '"slurm.md"'),
    run("join|kubernetes|tpu-vm", r"^sliceup ticket"),
    needs("join.md", r"^scp ", "Carry each ticket to its own host"),
    run("join.md", r"^rm tickets/"),
    elsewhere("join.md", r"^sliceup-worker join", "integration/test_join.py", '"--stay"'),
    run("join.md", r"^find ", fill=(("/var/tmp/sliceup/runs", "runs"),)),
    elsewhere("join.md", r"^(useradd|install|systemctl|journalctl)", "integration/test_join.py", "sliceup-worker@.service"),
    run("kubernetes.md", r"^keys="),
    needs("kubernetes.md", r"kubectl", "You need the JobSet controller in the cluster"),
    run("kubernetes.md", r"^rm -r tickets"),
    elsewhere("kubernetes.md", r"^sliceup watch --key", "integration/test_monitor.py", "--key"),
    needs("tpu-vm.md", r"gcloud", "A slice made as a TPU VM"),
    plan("ssh.md|tpu-vm.md", r"^sliceup run"),
    run("ssh.md", r"^sliceup check"),
    needs("ssh.md", r"ssh-keygen|ssh-copy-id|ssh-keyscan|ssh-agent|ssh-add|known_hosts", "A way in|compare the fingerprints|the keys of the agent"),
    needs("ssh.md", r"^nft |^ssh tpu@", "on every host of the slice over ssh"),
    elsewhere("(ssh|drift).md", r"^sliceup exec --slice", "integration/test_exec.py", '"--slice"'),
)


def commands_of(block):
    """Each command of a piece of shell, which may be several lines: what bash takes for whole."""
    held = ""
    for line in block.splitlines():
        held += line + "\n"
        if held.strip() and not held.rstrip().endswith("\\") and complete(held):
            if not re.fullmatch(r"\s*(#.*)?\s*", held):
                yield re.sub(r"\s+# .*$", "", held.strip()) if held.count("\n") == 1 else held.strip()
            held = ""
    assert not held.strip(), f"not a whole command: {held}"


def complete(text):
    """One that ends in the middle is an error or, of a here-document, a warning."""
    if not re.search(r"<<|^\s*(for|if|while)\b|[\"'(&|\\]", text):
        return True
    return not subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, timeout=10).stderr


def shown_by(page):
    """(line, command) of every block of a page that is for a shell."""
    text = (lab.TOP / page).read_text()
    for fence in FENCE.finditer(text):
        indent, language, block = fence.groups()
        lines = [line.removeprefix(indent) for line in block.splitlines()]
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        if language in ("sh", "console"):
            yield from commands_of("\n".join(lines))


def yaml_of(page):
    block = next(match for match in FENCE.finditer((lab.TOP / page).read_text()) if match.group(2) == "yaml")
    return "".join(line.removeprefix(block.group(1)) for line in block.group(3).splitlines(keepends=True))


class Documents(lab.LabTest):
    PAGE_SLICES = ("docs/guide/ssh.md", "docs/guide/join.md", "docs/guide/kubernetes.md", "docs/guide/tpu-vm.md")

    def setUp(self):
        super().setUp()
        self.place = self.lab.root / "place"
        for name in ("build", "wheels", "runs"):
            (self.place / name).mkdir(parents=True)
        (self.place / "build" / "bin").symlink_to(lab.BUILD / "bin")
        (self.place / "configs").symlink_to(lab.TOP / "configs")

    def env(self):
        env = self.lab.env(BUILD=str(lab.BUILD), LOCAL=str(self.lab.files / "local.yaml"))
        env["PATH"] = f"{lab.BUILD / 'bin'}:{env['PATH']}"
        return env

    def shell(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.place, env=self.env(), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=120, errors="surrogateescape")
        return self.lab._checked(lab.Ended(done.returncode, done.stdout, done.stderr))

    def a_run_has_ended(self):
        """With the hosts, the rung and the generation that pages speak of."""
        self.lab.write("keeps.yaml", "profile: keeps\nfrontend: jax\nbackend: cpu\ndevices_per_host: 1\n")
        rung = self.lab.rung("tiny", "keeps.py", warm="solo", timeout="60s", args={"marks": str(self.lab.files / "marks")})
        path = self.lab.slice(hosts=["local[0-1]", "v6e-0", "v6e-3"], profile="./keeps.yaml",
                              ladder=str(self.lab.ladder("tiny.yaml", [{"id": "facts", "builtin": "facts"}, rung])),
                              cache={"mode": "single-writer", "writable": [str(self.lab.files)]}, name="local.yaml")
        self.passes(self.lab.sliceup("run", path))

    def slices_of(self, page):
        """slice.yaml as the page has it; for those that show none, many hosts over ssh, with a group."""
        if page in self.PAGE_SLICES or page == "docs/quickstart.md":
            text = yaml_of(page)
        else:
            text = ("slice: far\nlauncher: ssh\nhosts: v6e-[0-15]\ngroups: {spare: 'v6e-[12-15]'}\nprofile: plain\ncache: {mode: off}\n"
                    "ladder: plain\n")
        (self.place / "slice.yaml").write_text(text)
        (self.place / "pinned.yaml").write_text("slice: pinned\nhosts: h0\nprofile: plain\nladder: plain\ncache: {mode: off}\n"
                                                f"pins: {{file: {lab.TOP / 'tests/pins/tiny.txt'}}}\n")
        shutil.rmtree(self.place / "tickets", ignore_errors=True)
        shutil.rmtree(self.lab.home / "slices", ignore_errors=True)

    def is_run(self, command, rule):
        for name, value in rule.more[0]:
            command = command.replace(name, value)
        ended = self.shell(command)
        self.assertIn(ended.status, rule.status, str(ended))
        self.assertRegex(ended.err, rule.more[1], str(ended))
        self.assertNotRegex(ended.err, REFUSED, str(ended))

    def is_planned(self, command, rule):
        words = shlex.split(command, comments=True)
        ended = self.shell(shlex.join(["sliceup", "check", *(word for word in words[2:] if word != "--ask-pass")]))
        self.assertEqual(0, ended.status, str(ended))

    def is_elsewhere(self, command, rule):
        self.assertIn(rule.more[1], (lab.TOP / "tests" / rule.more[0]).read_text())

    def is_told(self, page, rule):
        text = re.sub(r"\s+", " ", (lab.TOP / page).read_text())
        for words in rule.more[0].split("|"):
            self.assertIn(words, text, "the reader is not told what this needs")

    def check(self, page, command):
        rule = next((rule for rule in RULES if rule.takes(page, command)), None)
        self.assertIsNotNone(rule, "neither run nor marked with what it needs")
        rule.used = True
        if rule.kind == "run":
            self.is_run(command, rule)
        elif rule.kind == "plan":
            self.is_planned(command, rule)
        elif rule.kind == "elsewhere":
            self.is_elsewhere(command, rule)
        else:
            self.is_told(page, rule)

    def test_every_command_is_run_or_marked_with_what_it_needs(self):
        self.a_run_has_ended()
        counted = {}
        for page in PAGES:
            self.slices_of(page)
            for command in shown_by(page):
                with self.subTest(f"{page}: {command}"):
                    self.check(page, command)
                counted[page] = counted.get(page, 0) + 1
        self.assertGreater(sum(counted.values()), 100, counted)
        self.assertGreaterEqual(counted.get("README.md", 0), 24)
        for rule in RULES:
            self.assertTrue(rule.used, f"no command of {rule.page} is {rule.command.pattern!r}")

    def test_no_command_hides_in_an_indented_block(self):
        for page in PAGES:
            text = FENCE.sub("", (lab.TOP / page).read_text())
            self.assertNotRegex(text, r"(?m)^    (\$ |sliceup\b|build/bin/)", page)


class Reference(lab.LabTest):
    def test_a_program_inherits_what_the_reference_says(self):
        page = (lab.TOP / "docs/spec/configuration.md").read_text()
        said = re.search(r"A program inherits ([A-Z, and]+) without being told", page).group(1)
        inherited = set(re.findall(r"[A-Z]{2,}", said))
        path = self.lab.slice(hosts=1, cache={"mode": "off"}, ladder=str(self.lab.ladder("env.yaml", [{"id": "env", "command": ["env"]}])))
        env = self.lab.env(TZ="UTC", LANG="C.UTF-8", TMPDIR="/tmp", EDITOR="ed", LC_ALL="C", LOGNAME="nobody")
        self.passes(self.lab.sliceup("run", path, env=env))
        printed = self.passes(self.lab.sliceup("logs", "--rung", "env", "--raw")).out
        variables = dict(line.partition("=")[::2] for line in printed.splitlines() if re.match(r"[A-Z_]+=", line))
        guide = (lab.TOP / "docs/guide/your-own-step.md").read_text()
        named = {name for row in re.findall(r"(?m)^\| (`[A-Z].*?) \|", guide) for name in re.findall(r"`([A-Z_]+)`", row)}
        self.assertEqual(named - {"SLICEUP_CACHE_DIR", "SLICEUP_FILES_DIR"}, set(variables) - {"SLICEUP_FD"})
        self.assertLessEqual({*inherited, "HOME"}, set(variables))
        self.assertTrue(pathlib.Path(variables["HOME"]).is_relative_to(self.lab.run_folder() / "hosts"), variables["HOME"])


class Words(lab.LabTest):
    """`sliceup VERB --option` between backticks."""

    def setUp(self):
        super().setUp()
        self.helps = {}

    def help_of(self, program, *verb):
        if (program, verb) not in self.helps:
            words = [str(lab.BUILD / "bin" / program), *filter(None, verb), "--help"]
            done = subprocess.run(words, env=self.lab.env(), capture_output=True, text=True, timeout=60)
            self.helps[program, verb] = done.stdout + done.stderr
            self.assertIn(done.returncode, (0, 2), self.helps[program, verb])
        return self.helps[program, verb]

    def named(self, page):
        text = FENCE.sub("", (lab.TOP / page).read_text())
        for code in re.findall(r"`([^`]+)`", text):
            words = re.sub(r"\s+", " ", code).split(" ")
            program = words[0].removeprefix("build/bin/")
            if program in ("sliceup", "sliceup-worker") and len(words) > 1:
                yield code, program, words[1:]

    def test_what_pages_name_between_backticks_exists(self):
        n = 0
        for page in PAGES:
            for code, program, words in self.named(page):
                with self.subTest(f"{page}: {code}"):
                    verb = words[0] if re.fullmatch(r"[a-z][a-z-]+", words[0]) else None
                    text = self.help_of(program, verb) if verb else self.help_of(program, None)
                    if verb in ("cache", "env", "runs") and re.fullmatch("[a-z]+", "".join(words[1:2])):
                        text = self.help_of(program, verb, words[1])
                    self.assertNotRegex(text, "there is no command")
                    for option in (word for word in words if re.match(r"--[a-z]", word)):
                        self.assertIn(option.partition("=")[0], text + self.help_of("sliceup", None))
                n += 1
        self.assertGreater(n, 30)


if __name__ == "__main__":
    unittest.main()
