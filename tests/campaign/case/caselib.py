"""caselib.py - what a case has: a folder, a lab of hosts if it wants some, all that was said, and the judgement of that."""
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import lab
import netlab


@dataclasses.dataclass
class Case:
    do: object              # the function, which gets the Stand
    right: tuple            # patterns; each has to be found in what was said
    never: tuple = ()       # patterns; none may be found
    hosts: int = 0          # hosts of its lab; 0: no lab, and this machine
    within: dict = dataclasses.field(default_factory=dict)  # words of a command: the seconds that it may take
    shared: tuple = ()      # folders that its hosts see at the same path
    long: bool = False      # it takes more than seconds, so it is no test


class Stand:
    def __init__(self, name, hosts, shared):
        self.name, self.said = name, []
        self.net = netlab.NetLab(hosts, shared) if hosts else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sliceup-case-")) if not hosts else self.net.root / "case"
        self.folder.mkdir(exist_ok=True)
        self.home = self.net.home if hosts else self.folder / "home"

    def __getitem__(self, host):
        return self.net[host]

    def env(self, **more):
        own = self.net.env() if self.net else {**os.environ, **lab.SANITIZERS, "SLICEUP_HOME": str(self.home)}
        return {**own, "NO_COLOR": "1", **more}

    def write(self, name, text, mode=None):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if mode is not None:
            path.chmod(mode)
        return path

    def yaml(self, name, settings):
        """A file of sliceup's, as JSON is YAML; only its top level in lines."""
        return self.write(name, "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))

    def ladder(self, *rungs, name="ladder.yaml"):
        return self.yaml(name, {"ladder": "case", "rungs": list(rungs)})

    def slice(self, ladder="plain", profile="plain", name="fleet.yaml", **more):
        """A slice over all hosts of the lab by ssh, as its user would write it: nothing about the coordinator, and default limits."""
        settings = {"slice": "fleet", "launcher": "ssh", "profile": str(profile), "ladder": str(ladder),
                    "hosts": [{"name": host.name, "address": host.address} for host in self.net.hosts],
                    "ssh": {"user": "root", "identities": [str(self.net.root / "user_key")], "agent": False,
                            "known_hosts": str(self.net.root / "known_hosts")}, "cache": {"mode": "off"}, **more}
        return self.yaml(name, {key: value for key, value in settings.items() if value is not None})

    def enter(self, folder=None):
        """To where sliceup runs, in the case's folder: nsenter leaves the one of its caller."""
        return [*(self.net.enter() if self.net else []), "env", "-C", str(folder or self.folder)]

    def node(self, script, bound_s=120):
        """A shell's commands where sliceup runs; what they print is kept."""
        words = [*self.enter(), "bash", "-c", script]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bound_s, cwd="/",
                              env=self.env(), stdin=subprocess.DEVNULL, check=False)
        self.said.append(f"# {script}\n{done.stdout}[status {done.returncode}]\n")
        return done

    def sliceup(self, *words, bound_s=120, env=None, text=None, cwd=None):
        """One command of sliceup to its end; a hang is a wrong case."""
        began = time.monotonic()
        command = [*self.enter(cwd), str(lab.SLICEUP), *map(str, words)]
        given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bound_s, errors="surrogateescape",
                              cwd="/", env=env or self.env(), check=False, **given)
        done.seconds = time.monotonic() - began
        self.said.append(f"$ sliceup {' '.join(map(str, words))}\n{done.stdout}[status {done.returncode}, {done.seconds:.1f} s]\n")
        return done

    def note(self, text):
        self.said.append(f"{text}\n")

    def text(self):
        return "".join(self.said)

    def close(self):
        if self.net:
            self.net.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def judged(case, stand, timed=True):
    """What is not right; lines that are wrapped count as one. `timed`: also what took too long, which a busy machine does."""
    said = re.sub(r"\s+", " ", stand.text())
    wrong = [f"not said: {pattern}" for pattern in case.right if not re.search(pattern, said)]
    wrong += [f"said: {pattern}" for pattern in case.never if re.search(pattern, said)]
    for words, seconds in case.within.items() if timed else ():
        lasted = [float(found) for found in re.findall(rf"\$ sliceup {words}[^\n]*\n(?:(?!\[status).*\n)*\[status -?\d+, ([\d.]+) s\]", stand.text())]
        if not lasted or max(lasted) > seconds:
            wrong.append(f"sliceup {words} took {lasted} s, more than {seconds}")
    return wrong
