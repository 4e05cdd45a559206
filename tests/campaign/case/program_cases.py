"""program_cases.py - scripts of others, unchanged: what they read of a launcher, the repository that they lie in, the Python that they bring."""
import os
import subprocess

import lab
from caselib import Case

lab.SHARED_ENVS.mkdir(parents=True, exist_ok=True)
UP = r"climbed to the top: \d of \d rungs passed on h\[0-2\]"

ENV = """import os
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
print("rank", rank, "of", world, "at", os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
"""

TUTORIAL = """import jax, jax.numpy as jnp
from jax.experimental import multihost_utils
jax.distributed.initialize()
print(f"process {jax.process_index()}/{jax.process_count()} local {jax.local_device_count()} global {jax.device_count()}")
print("sum", multihost_utils.process_allgather(jnp.array([jax.process_index()])).sum())
"""


def environment(s):
    """The pins of jax on the CPU, restored on this machine, since the lab's hosts reach no index; its keys of a slice."""
    keys = {"pins": "jax-cpu", "env_dir": str(lab.SHARED_ENVS / "jax-cpu")}
    ladder = s.ladder({"id": "environment", "builtin": "restore", "timeout": "10m"}, name="restore.yaml")
    here = s.yaml("here.yaml", {"slice": "here", "hosts": "h0", "profile": "cpu-jax", "ladder": str(ladder), "cache": {"mode": "off"}, **keys})
    subprocess.run([lab.SLICEUP, "run", here], env={**s.env(), "SLICEUP_HOME": str(s.folder / "here"), "PATH": os.environ["PATH"]}, check=True,
                   capture_output=True, timeout=900)
    return keys


def train(s, script, command=("python3", "./train.py"), rung=None, **more):
    s.write("train.py", script)
    ladder = s.ladder({"id": "train", "command": list(command), "scope": "slice", "timeout": "2m", **(rung or {})})
    path = s.slice(ladder=ladder, **more)
    s.sliceup("check", path)
    s.sliceup("run", path, "--plain", bound_s=240)
    s.sliceup("logs", "--rung", "train")


def env_contract(s):
    train(s, ENV, profile="torchrun")


def port_taken(s):
    """Somebody of another job listens there already."""
    s["h0"].run("sh", "-c", "python3 -m http.server 29500 >/dev/null 2>&1 &")
    lab.wait_for(lambda: "29500" in s["h0"].run("ss", "-ltn").stdout, "a listener", 20)
    train(s, ENV, profile="torchrun")
    s.sliceup("receipt", "--json")


def noarg_initialize(s):
    train(s, TUTORIAL, ("python", "./train.py"), {"env": True}, profile="cpu-jax-cluster", **environment(s))


def noarg_with_another_profile(s):
    train(s, TUTORIAL, ("python", "./train.py"), {"env": True}, profile="cpu-jax", **environment(s))


def repository(s):
    """Data in a folder beside the script, and a package in another; as a module as well."""
    s.write("src/app/__init__.py", "")
    s.write("src/app/main.py", "import pathlib\nfrom app.lib import two\nprint('lines', len(pathlib.Path('data/a.txt').read_text().split()) * two)\n")
    s.write("src/app/lib.py", "two = 2\n")
    s.write("src/data/a.txt", "a b c\n")
    train(s, "", ("python3", "-m", "app.main"), {"scope": "host", "folder": ".", "workdir": "src"})


def repository_that_stayed(s):
    s.write("layers/__init__.py", "")
    train(s, "import importlib\nimportlib.import_module('layers')\n", rung={"scope": "host"})


CASES = {
    "script-env-contract": Case(env_contract, (UP, *(rf"rank {rank} of 3 at 10\.77\.0\.10 29500" for rank in range(3))), hosts=3),
    "script-port-taken": Case(port_taken, (UP, r"the port of \{port\}, 29500, is taken on this host", r"rank 2 of 3 at 10\.77\.0\.10 29501"), hosts=3),
    "script-noarg-initialize": Case(noarg_initialize, (UP, "process 2/3 local 2 global 6", "sum 3"), hosts=3, shared=(lab.SHARED_ENVS,)),
    "script-noarg-another-profile": Case(noarg_with_another_profile, ("Take the profile cpu-jax-cluster", "whose: how it was launched"), hosts=3,
                                         shared=(lab.SHARED_ENVS,)),
    "script-repository": Case(repository, (UP, "lines 6", r"the folder \S+, [\d.]+ KiB"), hosts=3),
    "script-repository-stayed": Case(repository_that_stayed, ("layers lies beside train.py here and was not copied", "whose: how it was launched",
                                                              "the key folder: [.]"), never=("whose: the bundle",), hosts=3),
}
