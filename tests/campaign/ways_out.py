"""ways_out.py - ways by which programs of rungs could leave their sandbox, for tests/campaign/escapes.

Each function prepares a scene and returns what its program does, as shell scripts, one for each rung. What shows that it worked is
scene.proof: by default that scene.payload ran where it may not. `variant` gives the ways their conditions; `blind`: thought of by
somebody who knew the documents and not the code. The second of two that are stacked comes first in the table.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import lab
import netlab

VARIANTS = []
LINK = "goes through the symbolic link .*, which programs may replace"
PYTHON = shutil.which("python3", path=netlab.PATH)
CANARY = '''import json, os, socket, sys
try:
    import beside
except ImportError:
    pass
speaks = socket.socket(fileno=int(os.environ["SLICEUP_FD"])).makefile("rw")
attempt = json.loads(speaks.readline())
entry = os.path.join(os.environ["JAX_COMPILATION_CACHE_DIR"], "entry")
hit = os.path.exists(entry)
if not hit:
    with open(entry, "w") as out:
        out.write("compiled")
counted = {"compile_requests": 1, "cache_hits": int(hit), "cache_misses": int(not hit), "executions": 1, "compile_ms": 1,
           "retrieval_ms": 1, "saved_ms": 1}
for record in ({"type": "backend", "platform": "cpu", "platform_version": "cpu", "device_kind": "cpu", "devices": 1, "local_devices": 1,
                "process_count": 1, "process_index": 0, "kernel_path": "native"},
               {"type": "counters", "values": counted},
               {"type": "check", "name": "it holds", "expected": 1.0, "observed": 1.0, "tolerance": 0.0},
               {"type": "done", "nonce": attempt["nonce"]}):
    speaks.write(json.dumps(record) + "\\n")
speaks.flush()
'''


class Variant:
    def __init__(self, what, prepare, user, level, launcher, runs, blind, stops, told, documented):
        self.what, self.prepare, self.user, self.level, self.launcher = what, prepare, user, level, launcher
        self.runs, self.blind, self.stops, self.told, self.documented = runs, blind, stops, told, documented


def variant(what, user="root", level="best", launcher="local", runs="same", blind=False, stops=None, told=None, documented=None):
    """`runs`: the run in which it shows. `stops`: what a run says that does not start the program; `told`: what the run or
    `cache verify` says when it works; `documented`: words of cache.md."""
    def take(prepare):
        VARIANTS.append(Variant(what, prepare, user, level, launcher, runs, blind, stops, told, documented))
        return prepare
    return take


def changed(path, content):
    return lambda: path.read_text() != content


def plants(scene, path):
    """The payload as a line of Python, which .pth files may hold as well."""
    line = f"import os; os.system('{scene.payload}')".replace("$", "\\$")
    return f'echo "{line}" > {path}'


def touched(path):
    """To be made by the program, where it may not."""
    return path.exists


# ---- what runs next ----

@variant("a .pth in an environment in /tmp that is first in PATH", user="ordinary", level="landlock", runs="next", blind=True)
@variant("a .pth in an environment in /tmp that is first in PATH", runs="next", blind=True)
def environment(scene):
    venv = scene.open / "venv"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(venv)], check=True)
    scene.env["PATH"] = f"{venv}/bin:{netlab.PATH}"
    return [plants(scene, next((venv / "lib").glob("python3*/site-packages")) / "planted.pth")]


@variant("python3 of PATH is a link to one in /tmp, which is exchanged", user="ordinary", runs="next", blind=True)
@variant("python3 of PATH is a link to one in /tmp, which is exchanged", runs="next", blind=True)
def interpreter(scene):
    real, first = scene.open / "py" / "bin" / "python3", scene.far / "bin"
    scene.write(real, f'#!/bin/sh\nexec {PYTHON} "$@"\n', 0o755)
    first.mkdir()
    (first / "python3").symlink_to(real)
    scene.env["PATH"] = f"{first}:{netlab.PATH}"
    evil = scene.write(scene.far / "evil", f'#!/bin/sh\n{scene.payload}\nexec {PYTHON} "$@"\n', 0o755)
    return [f"cp {evil} {real}.new; mv {real}.new {real}"]


def exchanged_library(scene):
    code = ('#include <stdlib.h>\n__attribute__ ((constructor)) static void f (void) { unsetenv ("LD_PRELOAD"); '
            f'(void) !system ("{scene.payload}"); }}\n')
    for path, text in ((scene.open / "lib" / "used.so", "int nothing;\n"), (scene.far / "evil.so", code)):
        path.parent.mkdir(exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), "-x", "c", "-"], input=text, text=True, check=True)
    return [f"cp {scene.far}/evil.so {scene.open}/lib/new.so; mv {scene.open}/lib/new.so {scene.open}/lib/used.so"]


@variant("a library in /tmp that the profile preloads", user="ordinary", level="landlock", runs="next", blind=True)
@variant("a library in /tmp that the profile preloads", runs="next", blind=True)
def preloaded(scene):
    scene.variables["LD_PRELOAD"] = str(scene.open / "lib" / "used.so")
    return exchanged_library(scene)


@variant("a library in a folder in /tmp that the profile names in LD_LIBRARY_PATH", user="ordinary", runs="next", blind=True)
def library_path(scene):
    scene.variables["LD_LIBRARY_PATH"] = str(scene.open / "lib")
    scene.canary.write_text(f"import ctypes\nctypes.CDLL('used.so')\n{CANARY}")
    return exchanged_library(scene)


@variant("a module beside a canary in /tmp", runs="next", blind=True)
def beside(scene):
    scene.canary = scene.write(scene.open / "project" / "canary.py", CANARY)
    return [plants(scene, scene.open / "project" / "beside.py")]


@variant(".bashrc in a HOME below /var/tmp, at the next login", user="ordinary", launcher="ssh", runs="next", blind=True)
def login(scene):
    home = f"/var/tmp/{scene.open.name}-home"
    scene.host.run("sh", "-c", f"mkdir {home}; touch {home}/.bashrc; chown -R nobody {home}; "
                   f"sed 's#^nobody:.*#nobody:x:65534:65534::{home}:/bin/bash#' /etc/passwd > /run/lab/new; cat /run/lab/new > /etc/passwd")
    return [f"echo 'touch {scene.mark}' >> {home}/.bashrc"]


# ---- links ----

@variant("a link in /tmp on the way to SLICEUP_HOME", user="ordinary", blind=True)
@variant("a link in /tmp on the way to SLICEUP_HOME", level="landlock", blind=True)
def link_to_home(scene):
    (scene.far / "real").mkdir()
    scene.home = scene.link(scene.open / "link", scene.far / "real") / "home"
    return [f"ln -sfn /nonexistent {scene.open}/link"]


@variant("a link in /tmp on the way to the cache", blind=True)
def link_to_cache(scene):
    (scene.far / "real").mkdir()
    scene.root = scene.link(scene.open / "link", scene.far / "real") / "cache"
    return [f"ln -sfn /nonexistent {scene.open}/link"]


@variant("a link in /var/tmp on the way to start.directory", user="ordinary", launcher="ssh", blind=True)
@variant("a link in /var/tmp on the way to start.directory", launcher="ssh", blind=True)
def link_to_start(scene):
    (scene.far / "real").mkdir()
    link = f"/var/tmp/{scene.open.name}-link"
    scene.host.run("ln", "-s", scene.far / "real", link)
    scene.host.run("chown", "-h", scene.uid, link)
    scene.start = f"{link}/start"
    scene.proof = lambda: scene.host.run("readlink", link, check=False).stdout.strip() != str(scene.far / "real")
    return [f"ln -sfn /nonexistent {link}"]


@variant("the slice file is a link in /tmp", user="ordinary", blind=True)
def link_to_slice(scene):
    scene.slice = scene.link(scene.open / "p" / "slice.yaml", scene.slice)
    return [f"ln -sfn /nonexistent {scene.slice}"]


@variant("the canary is a link in /tmp", level="landlock", user="ordinary", blind=True)
def link_to_canary(scene):
    scene.canary = scene.link(scene.open / "p" / "canary.py", scene.canary)
    return [f"ln -sfn /nonexistent {scene.canary}"]


@variant("a cache.writable path, exchanged for a link by the rung before", user="ordinary", level="landlock", blind=True, stops=LINK)
@variant("a cache.writable path, exchanged for a link by the rung before", user="ordinary", launcher="ssh", blind=True, stops=LINK)
@variant("a cache.writable path, exchanged for a link by the rung before", blind=True, stops=LINK)
def writable(scene):
    out, victim = scene.open / "out", scene.far / "victim"
    out.mkdir()
    victim.mkdir()
    scene.writable = [out]
    scene.proof = touched(victim / "planted")
    return [f"rmdir {out}; ln -s {victim} {out}", f"touch {out}/planted"]


@variant("a cache.writable path leads to /", user="ordinary", level="landlock", blind=True, stops="is the whole file system")
@variant("a cache.writable path leads to /", blind=True, stops="is the whole file system")
def writable_whole(scene):
    (scene.far / "all").symlink_to("/")
    scene.writable = [scene.far / "all"]
    scene.proof = touched(scene.far / "planted")
    return [f"touch {scene.far}/planted"]


# ---- what is sliceup's own ----

@variant("a folder above SLICEUP_HOME in /tmp is moved away", user="ordinary", blind=True)
@variant("a folder above SLICEUP_HOME in /tmp is moved away", level="landlock", blind=True)
def ancestors(scene):
    (scene.open / "a" / "b").mkdir(parents=True)
    scene.home = scene.open / "a" / "b" / "home"
    scene.proof = touched(scene.open / "moved")
    return [f"mv {scene.open}/a {scene.open}/moved || mv {scene.open}/a/b {scene.open}/moved"]


@variant("the cache under a second name, by a mount in /tmp", user="ordinary", blind=True)
@variant("the cache under a second name, by a mount in /tmp", level="landlock", blind=True)
def second_name(scene):
    scene.honest()
    entry, other = scene.entry(), scene.open / "other"
    other.mkdir()
    user, scene.lab.user = scene.lab.user, []
    scene.lab.node_run("mount", "--bind", scene.root, other)
    scene.lab.user = user
    scene.ends.append(lambda: subprocess.run([*scene.lab.enter()[:6], "--", "umount", "-l", str(other)], check=False))
    scene.proof = changed(entry, "compiled")
    name = other / entry.relative_to(scene.root)
    return [f"chmod u+w {name.parent} {name}; echo poison > {name}"]


@variant("a hard link to an entry that was in /tmp before", user="ordinary", blind=True, told="violated changed in generation 1")
@variant("a hard link to an entry that was in /tmp before", level="landlock", blind=True, told="violated changed in generation 1")
def hard_link(scene):
    scene.honest()
    entry, name = scene.entry(), scene.open / "entry"
    os.link(entry, name)
    scene.proof = changed(entry, "compiled")
    return [f"chmod u+w {name}; echo poison > {name}"]


@variant("the worker's file in start.directory is exchanged", launcher="ssh")
def bundle(scene):
    scene.honest()
    folder = scene.host.path(f"{scene.start}/bundles")
    scene.proof = lambda: any(path.read_bytes()[:4] == b"evil" for path in folder.iterdir())
    exchange = "echo evil > new; mv new $f || { echo evil > $f.new; mv $f.new $f; } || cat new > $f"
    return [f"for f in {scene.start}/bundles/*; do {exchange}; done"]


@variant("the interpreter of an environment in start.directory", user="ordinary", launcher="ssh")
def interpreter_of_pins(scene):
    python = f"{scene.start}/envs/some-py3.11/bin/python"
    scene.host.run("sh", "-c", f"umask 022; mkdir -p {os.path.dirname(python)}; echo old > {python}; "
                   f"chown -R {scene.uid} {scene.start}; chmod 700 {scene.start}")
    scene.proof = lambda: scene.host.path(python).read_text() != "old\n"
    return [f"echo evil > new; mv new {python} || echo evil > {python}"]


def joined(scene):
    """A worker waits for runs of another slice of the same home (`join --stay`); its key lies there."""
    port = 17000 + 10 * int(scene.open.name[:2]) + (5 if scene.open.name.endswith("attack") else 0)
    text = (f"slice: joined\nhosts: [{{name: j0, address: 127.0.0.1}}]\nlauncher: join\nprofile: {scene.far}/profile.yaml\n"
            f"ladder: {scene.far}/evil.yaml\ncache: {{mode: off}}\nlimits: {{join: 15s}}\n"
            f"coordinator: {{address: 127.0.0.1, listen: 127.0.0.1, control_port: {port}, bulk_port: {port + 1}}}\n")
    scene.write(scene.far / "joined.yaml", text)
    scene.write(scene.far / "evil.yaml", f"ladder: evil\nrungs:\n  - {{id: evil, command: [touch, {scene.mark}]}}\n")
    scene.settle("warm", [])
    scene.own()
    ticket = scene.sliceup("ticket", scene.far / "joined.yaml", "--out", scene.far / "tickets")
    if ticket.status:
        raise AssertionError(f"no ticket: {ticket}")
    words = ["join", "--ticket", str(scene.far / "tickets" / "j0.ticket"), "--directory", str(scene.far / "joined"), "--stay"]
    waits = lab.Background([*scene.lab.enter(), str(lab.BUILD / "bin" / "sliceup-worker"), *words], scene.lab.env())
    scene.lab.running.append(waits)
    scene.ends.append(lambda: waits.process.poll() is None and waits.kill_and_reap())
    return [f"mkdir -m 700 fake; cp -r {scene.home}/slices fake/; {lab.SLICEUP} run {scene.far}/joined.yaml --plain --home $PWD/fake"]


variant("the key of a slice whose worker waits is read, to speak as its coordinator", user="ordinary", level="landlock", blind=True)(joined)
variant("the key of a slice whose worker waits is read, to speak as its coordinator", user="ordinary", blind=True)(joined)
variant("the key of a slice whose worker waits is read, to speak as its coordinator", blind=True)(joined)


# ---- the host ----

@variant("the mode of /dev/null, and through what hides the catalogue", blind=True)
def device(scene):
    before = os.stat("/dev/null").st_ctime_ns
    scene.proof = lambda: os.stat("/dev/null").st_ctime_ns != before
    return ["chmod 0666 /dev/null", f"chmod 0666 {scene.root}/catalogue.db"]


@variant("remounting, unmounting and another mount namespace, then a write outside", user="ordinary")
@variant("remounting, unmounting and another mount namespace, then a write outside")
def mounts(scene):
    planted = scene.far / "planted"
    scene.proof = touched(planted)
    opens = f"mount -o remount,rw,bind {scene.far}; umount {scene.far}; umount {scene.root}"
    return [f"{opens}; unshare -Urm sh -c '{opens}; touch {planted}'; unshare -m touch {planted}; touch {planted}"]


@variant("through /proc/PID/root and /proc/PID/cwd of every process in sight", user="ordinary", level="landlock")
@variant("through /proc/PID/root and /proc/PID/cwd of every process in sight")
def proc(scene):
    planted = scene.far / "planted"
    scene.proof = touched(planted)
    return [f"for p in /proc/[0-9]* /proc/self; do touch $p/root{planted}; (cd $p/cwd && cd {scene.far} && touch planted); done"]


@variant("a program that stays behind, and writes when the run is over", user="ordinary", level="landlock", blind=True)
@variant("a program that stays behind, and writes when the run is over", blind=True)
def daemon(scene):
    go, late, there = scene.far / "go", scene.open / "late", scene.open / "there"

    def proof():
        go.touch()
        end = time.monotonic() + 2
        while not late.exists() and time.monotonic() < end:
            time.sleep(0.05)
        return late.exists()

    scene.proof = proof
    loop = f"for i in $(seq 400); do [ -e {go} ] && touch {late} && exit; sleep 0.05; done"
    return [f"setsid sh -c 'trap \"\" TERM HUP INT QUIT; touch {there}; {loop}' </dev/null >/dev/null 2>&1 & "
            f"for i in $(seq 400); do [ -e {there} ] && break; sleep 0.05; done"]


# ---- what cannot be closed ----

@variant("a process outside that acts for whoever asks at a socket in /tmp", user="ordinary", blind=True,
         told="could still write the cache on .*path-socket")
def socket_process(scene):
    path = scene.open / "socket"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o777)
    listener.listen()

    def serve():
        try:
            listener.accept()
            scene.mark.touch()
        except OSError:
            return

    threading.Thread(target=serve, daemon=True).start()
    scene.ends.append(listener.close)
    return [f"{PYTHON} -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'; sleep 0.2"]


@variant("a lock on the catalogue", user="ordinary", level="landlock")
def lock(scene):
    scene.honest()
    scene.proof = touched(scene.open / "locked")
    locks = f'fcntl.lockf(open("{scene.root}/catalogue.db", "rb"), fcntl.LOCK_SH | fcntl.LOCK_NB)'
    return [f"{PYTHON} -c 'import fcntl; {locks}; open(\"{scene.open}/locked\", \"w\")'"]


@variant("a setuid file left in /tmp", blind=True, documented="A file with the setuid bit that a program leaves in an open place")
def setuid(scene):
    path = scene.open / "setuid"
    scene.proof = lambda: path.exists() and bool(path.stat().st_mode & 0o4000)
    return [f"cp /usr/bin/id {path}; chmod 4755 {path}"]


@variant("start.directory of another slice, in /tmp", user="ordinary", blind=True,
         documented="What another run, slice or user trusts: its SLICEUP_HOME or `start.directory`")
def other_slice(scene):
    python = scene.write(scene.open / "start" / "envs" / "x" / "bin" / "python", "old\n", 0o755)
    scene.proof = changed(python, "old\n")
    return [f"echo evil > {python}"]


def modes(scene):
    scene.proof = lambda: bool(scene.canary.stat().st_mode & 0o002)
    return [f"chmod 666 {scene.canary}"]


variant("the mode of a canary, so that another user may write it", user="ordinary", level="landlock", blind=True,
        documented="At level `landlock`, modes, times and attributes of everything that the user owns")(modes)
variant("the mode of a canary, so that another user may write it", user="ordinary", blind=True)(modes)


# ---- what is reached by another name than its own ----

def python_in_tmp(scene):
    """A Python whose program and encodings are its own; the rest of its modules are links. Returns its encodings, to be written on."""
    say = "import os, sys; print(os.path.realpath(sys.executable)); print(os.path.dirname(os.__file__))"
    program, modules = subprocess.run([PYTHON, "-I", "-c", say], capture_output=True, text=True, check=True).stdout.split()
    modules = pathlib.Path(modules)
    folder = scene.open / "base" / "lib" / modules.name
    (scene.open / "base" / "bin").mkdir(parents=True)
    shutil.copy2(program, scene.open / "base" / "bin" / "python3")
    shutil.copytree(modules / "encodings", folder / "encodings", ignore=shutil.ignore_patterns("__pycache__"))
    for each in modules.iterdir():
        if each.name not in ("encodings", "site-packages", "dist-packages"):
            (folder / each.name).symlink_to(each)
    return folder / "encodings" / "__init__.py"


def appends(scene, path):
    """To Python's own first module: os is not there yet."""
    line = f"import posix; posix.system('{scene.payload}')".replace("$", "\\$")
    return [f'echo "{line}" >> {path}']


@variant("the base in /tmp of an environment of copies elsewhere", user="ordinary", level="landlock", runs="next", blind=True)
@variant("the base in /tmp of an environment of copies elsewhere", runs="next", blind=True)
def base(scene):
    encodings = python_in_tmp(scene)
    subprocess.run([str(scene.open / "base" / "bin" / "python3"), "-I", "-m", "venv", "--copies", "--without-pip", str(scene.far / "venv")],
                   check=True)
    scene.env["PATH"] = f"{scene.far}/venv/bin:{netlab.PATH}"
    return appends(scene, encodings)


@variant("python3 of PATH is a script that starts one in /tmp", user="ordinary", runs="next", blind=True)
@variant("python3 of PATH is a script that starts one in /tmp", runs="next", blind=True)
def wrapped(scene):
    encodings = python_in_tmp(scene)
    scene.write(scene.far / "bin" / "python3", f'#!/bin/sh\nexec {scene.open}/base/bin/python3 "$@"\n', 0o755)
    scene.env["PATH"] = f"{scene.far}/bin:{netlab.PATH}"
    return appends(scene, encodings)


@variant("a file in /tmp that the profile names in BASH_ENV", user="ordinary", runs="next", blind=True)
@variant("a file in /tmp that the profile names in BASH_ENV", level="landlock", runs="next", blind=True)
def bash_env(scene):
    path = scene.write(scene.open / "env.sh", "")
    scene.variables["BASH_ENV"] = str(path)
    scene.canary.write_text(f"import subprocess\nsubprocess.run(['bash', '-c', ':'], check=True)\n{CANARY}")
    return [f"echo '{scene.payload}' >> {path}"]


@variant("the interpreter in /tmp of a script that a canary starts", runs="next", blind=True,
         documented="an interpreter that the first line of a script names")
def interpreter_of_tool(scene):
    shell = scene.open / "shells" / "sh"
    scene.write(shell, "", 0o755)
    shutil.copy2("/bin/sh", shell)
    tool = scene.write(scene.far / "tool", f"#!{shell}\n", 0o755)
    scene.canary.write_text(f"import subprocess\nsubprocess.run(['{tool}'], check=True)\n{CANARY}")
    evil = scene.write(scene.far / "evil", f"#!/bin/sh\n{scene.payload}\n:\n", 0o755)
    return [f"cp {evil} {shell}.new; mv {shell}.new {shell}"]
