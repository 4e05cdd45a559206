"""What `cmake --install` copies works where it is put, and the Debian packages say what the tree says. No package is built
here: tests/campaign/package does that."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["SLICEUP_BUILD"])
DEBIAN = TOP / "deploy/debian"
VERSION = re.search(r"project \(sliceup VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text())[1]
# Of what the build needs, not in the lists of what the packages need to be built: every Debian builder has it, or it is needed to run.
EVERYWHERE = {"build-essential", "python3", "python3-venv"}


def listed(path):
    return {line for line in path.read_text().splitlines() if line and not line.startswith("#")}


class Debian(unittest.TestCase):
    def test_the_changelog_begins_with_the_version_of_the_project(self):
        self.assertEqual(VERSION, re.match(r"sliceup \(([^)]+)\)", (DEBIAN / "changelog").read_text())[1])

    def test_what_the_build_needs_is_told_once_more_without_a_difference(self):
        field = re.search(r"(?m)^Build-Depends:(.*(?:\n .*)*)", (DEBIAN / "control").read_text())[1]
        names = {re.match(r"\S+", entry.strip())[0] for entry in field.split(",")}
        self.assertEqual(listed(TOP / "deploy/packages.txt") - EVERYWHERE, {name for name in names if not name.startswith(("debhelper", "dh-"))})
        self.assertIn("debhelper", listed(DEBIAN / "packages.txt"))

    def test_scripts_are_scripts(self):
        scripts = [*DEBIAN.glob("*.p*inst"), *DEBIAN.glob("*.p*rm"), DEBIAN / "built-using", TOP / "deploy/tpu-vm/startup.sh"]
        self.assertGreaterEqual(len(scripts), 5)
        for script in scripts:
            done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, timeout=60)
            self.assertEqual((0, ""), (done.returncode, done.stderr), script.name)

    def test_each_file_belongs_to_a_package_that_there_is(self):
        packages = set(re.findall(r"(?m)^Package: (.*)$", (DEBIAN / "control").read_text()))
        self.assertEqual({"sliceup", "sliceup-worker"}, packages)
        for path in DEBIAN.glob("sliceup*"):
            self.assertIn(path.name.rpartition(".")[0], packages)


class Install(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-install-"))
        self.addCleanup(shutil.rmtree, self.root)

    def install(self, component):
        done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", "/usr", "--component", component], capture_output=True, text=True,
                              timeout=100, env={**os.environ, "DESTDIR": str(self.root / component)})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return self.root / component / "usr"

    def test_what_is_installed_finds_its_files_and_its_worker(self):
        usr, worker = self.install("coordinator"), self.install("worker")
        self.assertEqual([], list(usr.rglob("sliceup-worker")), "two packages must not have one file")
        subprocess.run(["cp", "-a", f"{worker}/.", str(usr)], check=True, timeout=60)
        moved = usr.rename(self.root / "moved")
        for name in ("sliceup-courier", "sliceup-web", "sliceup-worker", "sliceup-worker.bundle", "sliceup-worker.bundle.head", "libtpu-stand-in.so"):
            self.assertTrue((moved / "libexec/sliceup" / name).is_file(), name)
        for source, there in (("configs", "share/sliceup/configs"), ("worker/canaries", "share/sliceup/worker/canaries"), ("docs", "share/doc/sliceup/docs")):
            shipped = {path.relative_to(TOP / source) for path in (TOP / source).rglob("*") if path.suffix in (".yaml", ".txt", ".md", ".py", ".json")}
            self.assertGreater(len(shipped), 10)
            self.assertEqual(set(), {path for path in shipped if not (moved / there / path).is_file()}, source)
        self.assertEqual([], list(moved.rglob("__pycache__")))
        # A ladder that only the installed folder has: neither the source tree nor the place of the build is asked.
        configs = moved / "share/sliceup/configs"
        (configs / "ladders/here.yaml").write_text((configs / "ladders/plain.yaml").read_text().replace("ladder: plain", "ladder: here"))
        (configs / "slices/local-here.yaml").write_text("slice: here\nhosts: h[0-1]\nlauncher: local\nprofile: plain\ncache: {mode: off}\nladder: here\n")
        env = {name: value for name, value in os.environ.items() if name != "SLICEUP_SHARE"}
        done = subprocess.run([moved / "bin/sliceup", "--home", self.root / "home", "run", "configs/slices/local-here.yaml"], capture_output=True,
                              text=True, timeout=100, env=env, cwd=self.root)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        done = subprocess.run([moved / "bin/sliceup", "check", "configs/slices/none.yaml"], capture_output=True, text=True, timeout=100, env=env,
                              cwd=self.root)
        self.assertEqual(2, done.returncode)
        self.assertIn(f"{self.root}/configs/slices/none.yaml", done.stderr)

    def test_the_unit_names_the_installed_worker(self):
        unit = self.install("worker") / "lib/systemd/system/sliceup-worker@.service"
        program = re.search(r"(?m)^ExecStart=(\S+)", unit.read_text())[1]
        self.assertEqual("/usr/bin/sliceup-worker", program)
        self.assertTrue((self.root / "worker" / program[1:]).exists())
        self.assertIn("/usr/bin/sliceup-worker", (self.root / "worker/usr/share/doc/sliceup-worker/examples/startup.sh").read_text())
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        here = self.root / unit.name
        here.write_text(unit.read_text().replace(program, str(self.root / "worker" / program[1:])))
        done = subprocess.run(["systemd-analyze", "verify", str(here)], capture_output=True, text=True, timeout=100)
        self.assertEqual((0, ""), (done.returncode, done.stderr))


class Manual(unittest.TestCase):
    def test_the_page_of_the_worker_has_what_its_help_has(self):
        """Its commands, and every option: but those of what a worker runs for itself."""
        page = (TOP / "deploy/man/sliceup-worker.1").read_text().replace("\\-", "-")
        told = "".join(subprocess.run([BUILD / "bin/sliceup-worker", *words, "--help"], capture_output=True, text=True, timeout=60).stdout
                       for words in ([], ["probe"]))
        commands = set(re.findall(r"(?m)^  ([a-z]+) +(?! |\(for )", told))
        options = set(re.findall(r"--[a-z][a-z-]+", told))
        self.assertGreaterEqual((len(commands), len(options)), (6, 12))
        for word in [*commands, *options]:
            self.assertRegex(page, rf"(?<![\w-]){word}(?![\w-])")


if __name__ == "__main__":
    unittest.main()
