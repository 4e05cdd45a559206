"""A repository of one's own as a rung: its folder travels whole, over ssh as on this machine; what did not travel is named, and what a venv has."""
import json
import shutil
import subprocess
import unittest

import lab
import netlab

TRAIN = """import json, os
from utils import data
import model
conf = json.load(open("configs/base.json"))
os.makedirs("checkpoints")
open("checkpoints/last", "w").write("x")
print("trained", model.step(data.batches(conf["steps"])), sorted(os.listdir(".")), os.access("./run.sh", os.X_OK), flush=True)
"""
FILES = {"train.py": TRAIN, "model.py": "def step(batches): return sum(batches)\n", "utils/__init__.py": "", "configs/base.json": '{"steps": 4}',
         "utils/data.py": "def batches(n): return range(n)\n", "pkg/__init__.py": "", "pkg/train.py": "from utils import data\nprint('as a module')\n",
         "run.sh": "#!/bin/sh\nexec python3 train.py\n", ".gitignore": "ignored.txt\n__pycache__/\n", "ignored.txt": "", "gone.py": ""}
HERE = {"slice": "here", "launcher": "local", "hosts": "h[0-1]", "profile": "plain", "cache": {"mode": "off"}}


class Folder(netlab.NetLabTest):
    COUNT = 2

    def setUp(self):
        super().setUp()
        self.repo = self.lab.root / "repo"
        shutil.rmtree(self.repo, ignore_errors=True)
        for name, text in FILES.items():
            (self.repo / name).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / name).write_text(text)
        (self.repo / "run.sh").chmod(0o755)

    def git(self):
        for words in (["init", "-q"], ["add", "-A"], ["-c", "user.email=a@b", "-c", "user.name=a", "commit", "-qm", "all"]):
            subprocess.run(["git", "-C", str(self.repo), *words], check=True)
        (self.repo / "gone.py").unlink()
        (self.repo / "new.txt").write_text("git does not know it yet")

    def files(self, launcher, command, **more):
        rung = {"id": "train", "command": command, "timeout": "1m", **more}
        ladder = self.repo / "ladder.yaml"
        ladder.write_text(f"ladder: own\nrungs:\n  - {json.dumps(rung)}\n")
        if launcher == "ssh":
            return self.lab.slice(ladder=str(ladder))
        return self.lab.write_settings("here.yaml", {**HERE, "ladder": str(ladder)})

    def printed(self, launcher, command, **more):
        path = self.files(launcher, command, **more)
        self.checked = self.lab.sliceup("check", path)
        self.passes(self.checked)
        self.ended = self.lab.sliceup("run", path)
        return self.lab.sliceup("logs", "--rung", "train").out

    def both(self, out, text):
        """Both hosts printed the same, and it begins so."""
        self.passes(self.ended)
        self.assertEqual(f"h[0-1], rung train, once, attempt 1:\n{text}", out.rstrip() + "\n")

    def test_it_runs_over_ssh_as_here(self):
        self.git()
        there = "['.gitignore', '__pycache__', 'checkpoints', 'configs', 'ladder.yaml', 'model.py', 'new.txt', 'pkg', 'run.sh', 'train.py', 'utils']"
        for launcher in ("ssh", "local"):
            for command in (["python3", "./train.py"], ["./run.sh"]):
                out = self.printed(launcher, command, folder=".")
                self.both(out, f"trained 6 {there} True\n")
                self.assertRegex(self.checked.out, rf"the folder {self.repo}, \d+\.\d KiB")
            self.both(self.printed(launcher, ["python3", "-m", "pkg.train"], folder="."), "as a module\n")
            self.both(self.printed(launcher, ["sh", "-c", "basename $PWD; ls"], folder=".", workdir="./utils"), "utils\n__init__.py\ndata.py\n")
            self.both(self.printed(launcher, ["pwd"], workdir="/opt"), "/opt\n")
        self.nothing_is_left()

    def test_without_git_it_is_all_of_it_but_what_is_made_anew(self):
        for name in ("__pycache__/x.pyc", ".venv/pyvenv.cfg", ".venv/lib/x.py"):
            (self.repo / name).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / name).write_text("")
        out = self.printed("local", ["sh", "-c", "find . -type f | LC_ALL=C sort"], folder=".")
        self.both(out, "".join(f"./{name}\n" for name in sorted([*FILES, "ladder.yaml"])))
        (self.repo / "data.bin").write_bytes(b"x" * (17 << 20))
        ended = self.lab.sliceup("check", self.files("ssh", ["true"], folder="."))
        self.assertEqual(2, ended.status, ended)
        self.assertIn("expected one of at most 16 MiB", ended.err)
        (self.repo / ".git").mkdir()        # what git would ignore must not travel because git cannot read it
        (self.repo / ".gitignore").write_text("data.bin\n")
        ended = self.lab.sliceup("check", self.files("ssh", ["true"], folder="."))
        self.assertEqual(2, ended.status, ended)
        self.assertIn("fatal: not a git repository", ended.err)

    def test_what_did_not_travel_is_named_and_no_host_is_blamed(self):
        listed = ["./utils/__init__.py", "./utils/data.py", "./configs/base.json"]
        for command, more, name, beside in ((["python3", "./train.py"], {}, "utils", "train.py"),
                                            (["python3", "./train.py"], {"files": listed}, "configs", "train.py"),
                                            (["python3", "train.py"], {}, "train.py", "the ladder file"),
                                            (["python3", "-m", "pkg.train"], {}, "pkg", "the ladder file")):
            self.printed("ssh", command, **more)
            self.assertEqual(1, self.ended.status, self.ended)
            said = " ".join(self.ended.out.split())
            self.assertIn(f"{name} lies beside {beside} here and was not copied", said)
            self.assertIn("whose: how it was launched (certain)", said)
            self.assertIn("give the rung the key folder: .", said)
            self.assertRegex(self.checked.err, "(?s)warning: .* copied to hosts, expected .*the rung's key folder: [.]")
        failed = self.printed("ssh", ["python3", "-c", "import nowhere_at_all"])
        self.assertIn("nowhere_at_all", failed)
        self.assertNotIn("lies beside", self.ended.out)


class Versions(netlab.NetLabTest):
    """What a Python of one's own has installed is told by its files, without starting it and without a line of ours in the script."""
    COUNT = 3

    def venv(self, host, **packages):
        folder = self.lab[host].path("/run/venv")
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to("/usr/bin/python3")
        (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
        version = self.lab[host].run("python3", "-c", "import os, sys; print(os.path.basename(os.path.realpath('/usr/bin/python3')))").stdout.strip()
        for name, number in packages.items():
            (folder / "lib" / version / "site-packages" / f"{name}-{number}.dist-info").mkdir(parents=True)

    def drift(self, command):
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "train", "command": command}]
        ladder = self.lab.ladder("ladder.yaml", rungs)
        self.passes(self.lab.sliceup("run", self.lab.slice(ladder=str(ladder))))
        return self.lab.sliceup("drift").out, self.lab.sliceup("receipt").out

    def test_unlike_ones_are_drift_and_unknown_ones_are_no_agreement(self):
        for host, jax in (("h0", "0.10.2"), ("h1", "0.10.2"), ("h2", "0.10.1")):
            self.venv(host, jax=jax, torch_xla="2.7.0", orbax_checkpoint="0.11.4" if host == "h1" else "0.11.5", **{"ipython": "9.1.0"} if host == "h0" else {})
        drift, receipt = self.drift(["/run/venv/bin/python", "-c", "print('x')"])
        self.assertIn("h2: bundle jax is 0.10.1, 2 others have 0.10.2", drift)
        self.assertRegex(drift, r"(?s)h1: package orbax-checkpoint is 0.11.4, 2 others have 0.11.5.*h.1-2.: no package ipython, h0 has 9.1.0")
        self.assertIn("torch-xla 2.7.0", receipt)
        drift, receipt = self.drift(["true"])
        self.assertIn("versions of packages are not known; nothing else differs: 3 hosts", drift)
        self.assertRegex(receipt, r"drift +versions of packages are not known; else none [(]")


if __name__ == "__main__":
    unittest.main()
