"""nightlib.py - of the bad nights: the stack of one night, and the judgement of what was said of it."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import time

import lab
import netlab
import sshd

PROGRAMS = pathlib.Path(__file__).resolve().parent
KEPT = pathlib.Path(os.environ["SLICEUP_BUILD"]) / "nights"
WHEELS, ENV = KEPT / "wheels", KEPT / "env"  # the JAX environment, built once: all hosts see it at this path
ENV_SLICE = """slice: envs
hosts: h0
launcher: local
profile: cpu-jax
pins: jax-cpu
env_dir: {}
cache: {{mode: 'off'}}
ladder: jax
"""


@dataclasses.dataclass
class Night:
    make: object            # the function
    count: int
    hosts: str              # who has to be blamed
    sentence: str           # the right one, in words
    first: str              # a line that has this names host and cause
    what: tuple             # each has to be said
    whose: str              # one regular expression; '': nobody's
    next: tuple             # what one has to be able to do by it
    misleads: dict          # name: what would mislead if it were said
    drift: bool = False     # the host differs in itself, so drift must not call it normal


def prepared():
    """The JAX environment and a wheel, which need PyPI once; hosts of a lab reach nobody."""
    if not list(WHEELS.glob("idna-3.7-*.whl")):
        subprocess.run(["pip", "download", "-q", "--no-deps", "-d", WHEELS, "idna==3.7"], check=True)
    if not list(ENV.glob("jax-py*/.sliceup-complete")):
        KEPT.mkdir(exist_ok=True)
        (KEPT / "slice.yaml").write_text(ENV_SLICE.format(ENV / "jax"))
        subprocess.run([lab.SLICEUP, "--plain", "env", "restore", KEPT / "slice.yaml"], check=True,
                       env={**os.environ, **lab.SANITIZERS, "SLICEUP_HOME": str(KEPT / "home")})


class Said(lab.Background):
    """A command whose lines are kept with the moment at which each came."""

    def __init__(self, argv, env):
        self.at = []
        super().__init__(argv, env)

    def _collect(self):
        for line in self.process.stdout:
            self.at.append((time.monotonic(), line.rstrip("\n")))
            self.collected.append(line)


class Stack:
    """The hosts of one night, what was seen of its defect, and all that sliceup said."""

    def __init__(self, count):
        self.net = netlab.NetLab(count, [ENV] if ENV.is_dir() else [])
        self.folder = self.net.root / "slice"      # hosts do not see it: what they need has to travel
        self.folder.mkdir()
        for path in PROGRAMS.iterdir():
            if path.is_file() and path.name not in ("nightlib.py", "more_nights.py"):
                (self.folder / path.name).write_bytes(path.read_bytes())
        self.lines, self.transcript, self.groups, self.began = [], [], [], time.monotonic()
        self.words = {}         # what strings of the table may name: pids, run ids
        self.judged = None      # None: the card at the end of the run
        self.evidence = None    # None: as the programs marked it

    def __getitem__(self, name):
        return self.net[name]

    def on_all(self, script, only=None):
        for host in self.net.hosts:
            if only is None or host.name in only:
                host.run("sh", "-ec", script)

    def put(self, path, name, only=None):
        """A program that lies on the hosts, and does not travel."""
        text = (self.folder / name).read_text()
        self.on_all(f"mkdir -p {pathlib.Path(path).parent}; cat > {path} <<'END_OF_FILE'\n{text}END_OF_FILE\n", only)

    def see(self, name, command, wanted):
        """Looks at the defect itself; it is no night where it is not there."""
        done = self[name].run("sh", "-c", command, check=False)
        said = done.stdout + done.stderr
        self.transcript.append(f"--- the defect, seen on {name}: {command}\n{said}")
        if not re.search(wanted, said):
            raise AssertionError(f"{name} does not have the defect: {said!r} lacks {wanted!r}")

    def group(self, controller, name, **limits):
        """The host, and what will run on it, in a control group of its own."""
        group = pathlib.Path(f"/sys/fs/cgroup/{controller}/nights-{os.getpid()}")
        group.mkdir()
        self.groups.append(group)
        for file, value in limits.items():
            (group / file.replace("__", ".")).write_text(value)
        first = self[name].first_pid()
        for pid in (first, *sshd.children_of(first)):
            with contextlib.suppress(ProcessLookupError):       # a login that has ended meanwhile
                (group / "cgroup.procs").write_text(str(pid))

    def slice(self, *rungs, profile=None, **more):
        (self.folder / "ladder.yaml").write_text("ladder: night\nrungs:\n" + "".join(f"  - {json.dumps(rung)}\n" for rung in rungs))
        settings = {"profile": "night", "frontend": "plain", "backend": "cpu", "devices_per_host": 1, **(profile or {})}
        settings["env"] = {**settings.get("env", {}), "EVIDENCE": str(self.net.files / "evidence")}
        (self.folder / "profile.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))
        limits = {"suspect": "3s", "lost": "10s", "orphan": "60s", "exit": "120s", "stop": "2s", **more.pop("limits", {})}
        return self.net.slice(ladder=str(self.folder / "ladder.yaml"), profile=str(self.folder / "profile.yaml"), name="fleet.yaml",
                              limits=limits, **more)

    def start(self, *words):
        said = Said([*self.net.enter(), str(lab.SLICEUP), *map(str, words)], self.net.env())
        self.net.running.append(said)
        self.lines = said.at
        return said

    def run(self, path, *words, bound_s=240):
        """A run to its end; what it says is what is judged."""
        self.words["began"] = time.monotonic()
        said = self.start("--plain", "run", path, *words)
        said.end(bound_s)
        return said

    def keep(self, title, lines):
        self.transcript.append(f"--- {title}\n" + "".join(f"{at - self.began:8.2f}  {line}\n" for at, line in lines))

    def marked(self, hosts):
        """When all of these hosts had marked their evidence."""
        files = [self.net.files / f"evidence.{host}" for host in hosts]
        texts = [file.read_text() if file.exists() else "" for file in files]
        return max(map(float, texts)) if all(texts) else None

    def until_marked(self, hosts, bound_s=90):
        lab.wait_for(lambda: self.marked(hosts), "the programs to have come to their fifth round", bound_s)

    def first_line(self, pattern, evidence):
        """(moment, line): the first that has the pattern, from the evidence on."""
        return next(((at, line) for at, line in self.lines if evidence and at >= evidence - 0.5 and said_of(pattern, line, self.words)), None)

    def close(self):
        try:
            self.net.close()
        except AssertionError as error:     # a sanitizer spoke
            self.transcript.append(f"--- afterwards\n{error}\n")
        for group in self.groups:
            lab.wait_for(lambda group=group: not (group / "cgroup.procs").read_text(), f"{group} to be empty", 20)
            group.rmdir()


# ---- what slices are made of ----

FACTS = {"id": "host-facts", "builtin": "facts"}
RESTORE = {"id": "environment", "builtin": "restore", "timeout": "10m"}


def program(name, *words, rung=None, timeout="60s", **more):
    return {"id": rung or name.split(".")[0].replace("_", "-"), "command": ["sh" if name.endswith(".sh") else "python3", f"./{name}", *words],
            "timeout": timeout, **more}


def jax(reader, timeout):
    """A JAX program of all hosts, whose rows come from `reader`."""
    return {"id": "train", "command": ["python", "./train.py", reader], "files": [f"./{reader}.py", "./evidence.py"], "env": True,
            "scope": "slice", "timeout": timeout}


JAX = {"frontend": "jax", "devices_per_host": 1,
       "env": {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}}
JAX_SLICE = {"pins": "jax-cpu", "env_dir": str(ENV / "jax")}


# ---- the judgement ----

def expand(text):
    """The hosts h0, h1 ... that a text names."""
    found = set()
    for one, many in re.findall(r"\bh(?:(\d+)\b|\[([\d,-]+)\])", text):
        for part in (one or many).split(","):
            first, _, last = part.partition("-")
            found |= {f"h{n}" for n in range(int(first), int(last or first) + 1)}
    return found


def said_of(pattern, text, words):
    for name, value in words.items():
        pattern = pattern.replace(f"{{{name}}}", str(value))
    return re.search(pattern, text, re.IGNORECASE)


def judge(name, night, s, run, explain, drift):
    """A row of the table, and the details for the transcript."""
    card = run[run.rfind("\nslice ") + 1:] if "\nslice " in run else run[-2000:]
    passed = "climbed to the top" in card
    everything = "\n".join((run, explain, drift))
    judged = (everything if passed else card) if s.judged == "all" else s.judged or card
    flat, flat_more = (" ".join(text.split()) for text in (judged, f"{judged} {explain}"))
    wanted = expand(night.hosts)
    told = re.findall(r"(?m)^  (h[\d\[]\S*) ", card) + re.findall(r"(?::|\|) (h[\d\[]\S*) (?:blocked|failed|lost|timed-out|crashed)\b", card)
    blamed = set() if passed else set().union(*map(expand, told))
    host_ok = blamed == wanted if not passed and s.judged in (None, "all") else bool(said_of(night.what[0], flat, s.words)) and blamed <= wanted
    hits = [bool(said_of(pattern, flat, s.words)) for pattern in night.what]
    what = "yes" if all(hits) else "explain" if all(said_of(p, flat_more, s.words) for p in night.what) else "part" if any(hits) else "no"
    whose = not night.whose or bool(said_of(night.whose, flat, s.words))
    steps = flat if judged is not card else " / ".join(
        " ".join(re.split(r"\n  h|\n  \d+ others|\nall of it|\nreceipt:| \| h|whose:", card[m.end():])[0].split()) for m in re.finditer("next: ", card))
    further = all(said_of(pattern, steps, s.words) for pattern in night.next)
    verdict = "right" if host_ok and what == "yes" and whose and further else \
        "half" if host_ok and (what != "no" or night.whose and whose) else "wrong"
    misled = [label for label, pattern in night.misleads.items() if said_of(pattern, everything, s.words)]
    others = blamed - wanted
    misled += [f"blames {', '.join(sorted(others))}"] if others else []
    normal = re.search(r"(?m)^(?:normal|reference): (.*)", drift)
    if night.drift and normal and wanted & expand(normal[1]):
        misled.append("drift calls it normal")
    evidence = s.evidence or s.marked(sorted(wanted))
    line = s.first_line(night.first, evidence)
    seconds = f"{max(0, line[0] - evidence):.1f}" if line else "no evidence" if not evidence else "never"
    row = (f"| {name} | {night.sentence} | {seconds} | {'yes' if host_ok else 'no'} | {what} | {('yes' if whose else 'no') if night.whose else '-'} | "
           f"{('yes' if further else 'no') if night.next else '-'} | **{verdict}** | {'; '.join(misled) or '-'} |")
    details = (f"first line: {line and line[1]}\nblamed {sorted(blamed)}, wanted {sorted(wanted)}\nwhat: {dict(zip(night.what, hits))}\n"
               f"whose {night.whose}: {whose}\nnext {night.next}: {further}, of: {steps[:600]}\nmisled: {misled}\n")
    return row, details, verdict
