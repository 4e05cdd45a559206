"""Programs of rungs try to leave their sandbox through sliceup's own files: over real ssh, by real Slurm and on this machine, as root
and as an ordinary user, in the same run and in the next. docs/spec/cache.md, "What else cannot be written"."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import lab
import netlab
import slurm_lab
from test_env import make_wheel

ORDINARY = 65534
ATTACKED = ("escapes", "once")


class Escaping:
    """What is asserted of every such run."""

    def ladder(self, folders, mark, waits=()):
        rung = self.lab.rung("escapes", "escapes.py", warm="solo", timeout="60s", args={"folders": folders, "mark": mark})
        once = self.lab.rung("once", "escapes.py", timeout="60s", args={"folders": folders, "mark": mark})
        again = self.lab.rung("again", "escapes.py", warm="solo", timeout="60s", args={"folders": [], "mark": mark})
        rungs = [rung, once, *waits, again]
        for each in (rung, once, again):
            each["env"] = False
        return str(self.lab.ladder("escape.yaml", rungs))

    def stays_inside(self, ended, mark):
        self.assertEqual(0, ended.status, f"{ended}\n{self.lab.sliceup('logs', 'last').out}")
        self.assertFalse(os.path.exists(mark), "code of a program ran outside of its sandbox")
        count = len(self.lab.receipt()["hosts"])
        hosts = f"h[0-{count - 1}]" if count > 1 else "h0"
        text = self.lab.sliceup("receipt", "last").out
        self.assertIn(f"programs are kept from writing the cache by namespace+landlock on {hosts}\n", text)
        self.assertIn(f"ways in which programs could still write the cache on {hosts}: path-socket\n", text)
        for host in self.lab.receipt()["hosts"]:
            ran = [attempt for attempt in host["rungs"] if attempt["rung"] in ATTACKED and attempt["pass"] != "cold"]
            self.assertEqual(["passed", "passed"], [attempt["outcome"] for attempt in ran], ran)
            for attempt in ran:
                self.assertGreaterEqual(len([check for check in attempt["checks"] if check["name"].startswith("escape")]), 16)
        return ended


class Hosts(Escaping, netlab.NetLabTest):
    """Two hosts that are reached by ssh and are nodes of Slurm as well; all see one cache."""
    SHARED = (lab.CANARIES, lab.TOP / "worker" / "canaries")

    @classmethod
    def setUpClass(cls):
        cls.netlab = slurm_lab.SlurmLab(2, shared=cls.SHARED)
        cls.addClassCleanup(cls.netlab.close)

    def use(self, launcher, uid):
        self.lab.home = self.lab.root / self._testMethodName
        self.lab.become(uid)
        if self.lab.node_run(lab.SLICEUP, "--version", check=False).returncode:
            self.skipTest(f"uid {uid} does not reach {lab.SLICEUP}")
        self.directory = f"/var/tmp/sliceup-{uid}"
        self.cache = self.lab.files / f"cache-{self._testMethodName}"
        self.cache.mkdir(mode=0o755)
        os.chown(self.cache, uid, uid)
        self.mark = str(self.cache / "ESCAPED")
        # An environment of an earlier run, and the folder of another host: there to be attacked.
        for host in self.lab.hosts:
            for name in ("envs/some-py3.11/bin", "runs/of/another"):
                host.run("mkdir", "-p", "-m", "755", f"{self.directory}/{name}")
                host.run("sh", "-c", f"echo '#!/bin/sh' >{self.directory}/{name}/python; chmod 755 {self.directory}/{name}/python")
            host.run("chown", "-R", f"{uid}:{uid}", self.directory)
            host.run("chmod", "700", self.directory)
        limits = {**netlab.LIMITS, "join": "60s"}
        settings = {"slice": f"escape-{launcher}-{uid}", "launcher": launcher, "profile": "cpu-jax", "pins": "jax-cpu",
                    "ladder": self.ladder([self.directory], self.mark), "limits": limits,
                    "start": {"directory": self.directory, "deadline": "60s"}, "coordinator": {"address": netlab.NODE},
                    "cache": {"root": str(self.cache), "writer": "h0"}}
        if launcher == "ssh":
            settings["hosts"] = [{"name": host.name, "address": host.address} for host in self.lab.hosts]
            settings["ssh"] = {"user": "nobody" if uid else "root", "agent": False, "known_hosts": str(self.lab.root / "known_hosts"),
                               "identities": [str(self.lab.user_keys.get(uid, self.lab.root / "user_key"))]}
        else:
            settings["hosts"] = "h[0-1]"
        self.settings = settings

    def run_slice(self, **more):
        path = self.lab.write_settings("slice.yaml", {**self.settings, **more})
        path.chmod(0o644)
        return self.lab.sliceup("run", path, bound_s=200)

    def bundle(self, host):
        return next(host.path(f"{self.directory}/bundles").iterdir())

    def both_directions(self, launcher, uid):
        self.use(launcher, uid)
        self.stays_inside(self.run_slice(), self.mark)
        left = {host.name: self.bundle(host).read_bytes() for host in self.lab.hosts}
        self.stays_inside(self.run_slice(), self.mark)
        # What nobody confined does to it between two runs is seen, told and undone.
        for host in self.lab.hosts:
            self.bundle(host).write_text(f"#!/bin/sh\necho $0 $* >>{self.mark}\nexit 0\n")
        ended = self.stays_inside(self.run_slice(), self.mark)
        said = re.findall(r"sliceup: (\S+): the worker bundle on the host did not match its sha256", ended.err)
        named = [self.lab.sliceup("hosts", "--expand", hosts).out.split() for hosts in said]
        self.assertEqual(sorted(host.name for host in self.lab.hosts), sorted(name for names in named for name in names), ended)
        for host in self.lab.hosts:
            self.assertEqual(left[host.name], self.bundle(host).read_bytes())
        self.assertEqual(0, self.lab.sliceup("cache", "verify").status)

    def test_over_ssh_as_root(self):
        self.both_directions("ssh", 0)

    def test_over_ssh_as_an_ordinary_user(self):
        self.both_directions("ssh", ORDINARY)

    def test_by_slurm_as_root(self):
        self.both_directions("slurm", 0)

    def test_by_slurm_as_an_ordinary_user(self):
        self.both_directions("slurm", ORDINARY)

    def test_what_is_done_to_the_file_of_a_worker_that_runs_changes_nothing(self):
        """Between two rungs, by somebody whom nothing confines: the processes that seal and audit come after it."""
        self.use("ssh", 0)
        signals = self.lab.files / "signals"    # beside the cache new names cannot be made, in a folder that is there they can
        signals.mkdir()
        began, go = signals / "began", signals / "go"
        waits = {"id": "waits", "timeout": "60s", "command": ["sh", "-c", f"touch {began}; for i in $(seq 500); do [ -e {go} ] && exit 0; "
                                                                         "sleep 0.1; done; exit 1"]}
        self.settings["ladder"] = self.ladder([self.directory], self.mark, [waits])
        path = self.lab.write_settings("slice.yaml", self.settings)
        run = self.lab.start("run", path)
        lab.wait_for(began.exists, "the rung between", 60)
        for host in self.lab.hosts:
            bundle = self.bundle(host)
            bundle.with_name("new").write_text(f"#!/bin/sh\necho $0 $* >>{self.mark}\n")
            bundle.with_name("new").chmod(0o755)
            os.rename(bundle.with_name("new"), bundle)
        go.touch()
        self.stays_inside(run.end(120), self.mark)


class Here(Escaping, lab.LabTest):
    """Local workers: SLICEUP_HOME below /tmp, with the run folders of all hosts, environments, keys and the journal in it."""

    def python_below_tmp(self):
        """The pins' interpreter: a script elsewhere that starts an environment of copies, whose base lies beside it. All are below /tmp."""
        say = "import os, sys; print(os.path.realpath(sys.executable)); print(os.path.dirname(os.__file__))"
        program, modules = subprocess.run(["python3", "-I", "-c", say], capture_output=True, text=True, check=True).stdout.split()
        base, modules = self.lab.root / "base", pathlib.Path(modules)
        (base / "bin").mkdir(parents=True)
        shutil.copy2(program, base / "bin" / "python3")
        shutil.copytree(modules / "encodings", base / "lib" / modules.name / "encodings", ignore=shutil.ignore_patterns("__pycache__"))
        for each in modules.iterdir():
            if each.name not in ("encodings", "site-packages", "dist-packages"):
                (base / "lib" / modules.name / each.name).symlink_to(each)
        subprocess.run([str(base / "bin" / "python3"), "-I", "-m", "venv", "--copies", "--without-pip", str(self.lab.root / "venv")], check=True)
        (self.lab.root / "wrapper").mkdir()
        wrapper = self.lab.root / "wrapper" / "python3"
        wrapper.write_text(f'#!/bin/sh\nexec {self.lab.root}/venv/bin/python3 "$@"\n')
        wrapper.chmod(0o755)
        return wrapper

    def use_pins(self, python, folders, mark):
        """A ladder whose programs attack, and then restores what is pinned, unconfined, with the interpreter given."""
        pins = self.lab.write("pins.txt", make_wheel(self.lab.files, "sliceup-one", "1.0", {"__init__.py": b""}))
        self.ladder(folders, mark, [{"id": "environment", "builtin": "restore", "timeout": "5m"}])
        return self.lab.slice(hosts=1, ladder=str(self.lab.files / "escape.yaml"), profile="cpu-jax", limits={"stop": "500ms"},
                              pins={"file": str(pins), "python": str(python), "wheels": str(self.lab.files)},
                              cache={"root": str(self.lab.root / "cache"), "writer": "h0"})

    def test_what_the_interpreter_of_the_pins_loads_is_out_of_reach(self):
        mark = str(self.lab.root / "cache" / "ESCAPED")
        python = self.python_below_tmp()
        path = self.use_pins(python, [str(self.lab.root / name) for name in ("base", "venv", "wrapper")], mark)
        for _ in range(2):
            self.stays_inside(self.lab.sliceup("run", path), mark)

    def test_an_interpreter_that_does_not_tell_what_it_loads_is_not_used(self):
        python = self.lab.write("python", "#!/bin/sh\nexit 7\n")
        python.chmod(0o755)
        ended = self.lab.sliceup("run", self.use_pins(python, [], "/nonexistent"))
        self.assertEqual(3, ended.status, ended)
        self.assertIn(f"cannot find out what {python} loads, which programs must not change: "
                      "the interpreter did not print its paths, but exited with status 7", ended.out)

    def test_the_home_the_program_and_the_configuration_are_out_of_reach(self):
        mark = str(self.lab.root / "cache" / "ESCAPED")
        programs = self.lab.root / "bin"
        programs.mkdir()
        for name in ("sliceup", "sliceup-worker"):
            shutil.copy2(lab.BUILD / "bin" / name, programs / name)
        env = self.lab.home / "envs" / "some-py3.11" / "bin"
        env.mkdir(parents=True, mode=0o755)
        self.lab.home.chmod(0o700)
        (env / "python").write_text("#!/bin/sh\n")
        files = [str(self.lab.files / name) for name in ("escape.yaml", "slice.yaml")]
        ladder = self.ladder([str(self.lab.home), str(programs), *files], mark)
        path = self.lab.slice(hosts=2, ladder=ladder, profile="cpu-jax", pins="jax-cpu",
                              cache={"root": str(self.lab.root / "cache"), "writer": "h0"}, limits={"stop": "500ms"})
        before = {name: pathlib.Path(name).read_text() for name in files}
        for _ in range(2):
            done = subprocess.run([str(programs / "sliceup"), "run", str(path)], env=self.lab.env(), capture_output=True,
                                      stdin=subprocess.DEVNULL, text=True, timeout=200)
            self.stays_inside(lab.Ended(done.returncode, done.stdout, done.stderr), mark)
        self.assertEqual(before, {name: pathlib.Path(name).read_text() for name in files})
        self.assertEqual(0, self.lab.sliceup("cache", "verify").status)


if __name__ == "__main__":
    unittest.main(verbosity=1)
