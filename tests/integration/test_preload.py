"""A copy of a preloaded interpreter is what an executed interpreter is: the same rights, descriptors, variables, evidence and
ends, and every attack on the sandbox ends alike. Where no copy can be had it is executed, and the receipt says why.
"""
import json
import os
import pathlib
import re
import signal
import unittest

import lab

STATE = '''
import json, os, re, resource, signal, sys, threading
import sliceup_canary

def fields(*names):
    with open("/proc/self/status") as file:
        lines = dict(line.rstrip("\\n").split(":\\t", 1) for line in file)
    return {name: lines[name].strip() for name in names}

def opened():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = re.sub(r"\\[\\d+\\]", "", os.readlink("/proc/self/fd/" + name))
        except FileNotFoundError:
            pass  # that of the folder itself
    return found

def outside():
    """What a program can reach that is not its own."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]

def writes(path):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        return True
    except OSError as error:
        return error.errno

def state(args):
    return {
        "status": fields("Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn", "Umask"),
        "caught": int(fields("SigCgt")["SigCgt"], 16),
        "fds": opened(), "outside": outside(), "parent": os.getppid(), "leads": os.getsid(0) == os.getpid() == os.getpgid(0),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
        "cwd": os.getcwd(), "argv": sys.argv[1:], "flags": str(sys.flags), "path": sys.path, "main": [__name__, os.path.basename(__file__)],
        "env": {name: value for name, value in os.environ.items()}, "bytecode": sys.dont_write_bytecode, "prefix": sys.prefix,
        "executable": sys.executable, "python_threads": [thread.name for thread in threading.enumerate()],
        "writes": {path: writes(path) for path in args["paths"]}, "unmounts": os.system("umount /proc 2>/dev/null") != 0,
    }

def body(canary):
    import jax
    device = jax.local_devices()[0]
    canary.backend(platform=device.platform, device_kind=device.device_kind, devices=2, local_devices=2, process_count=1, process_index=0)
    print("STATE", json.dumps(state(canary.args)), flush=True)

sliceup_canary.run(body)
'''

ENDS = '''
import os, signal, sys
import sliceup_canary

def fails():
    raise RuntimeError("raised at the end")

def body(canary):
    canary.backend(platform="cpu", device_kind="none", devices=2, local_devices=2, process_count=1, process_index=0)
    how = canary.args["how"]
    print("before the end", flush=True)
    if how == "raises":
        {}["missing"]
    if how == "raises at the top":
        import atexit
        atexit.register(fails)
    if how == "exits":
        os._exit(7)
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "strays":
        if os.fork() == 0:
            import time
            os.setsid()
            time.sleep(600)
    if how == "waits":
        canary.phase("waits")
        import time
        time.sleep(600)

sliceup_canary.run(body)
'''


def without_number(value, replaced):
    """The text of a value in which what differs from attempt to attempt does not."""
    text = json.dumps(value)
    for word in replaced:
        text = text.replace(word, "X")
    text = re.sub(r"0x[0-9a-f]+", "0xX", text)
    # The one frame below a copied program, and the list of what it has imported before.
    text = re.sub(r"(\[sliceup\] )?  File \\\"[^\"]*/sliceup_preload.py\\\", line \d+ in <module>\\n", "", text)
    return json.loads(re.sub(r"\\nExtension modules: [^\\]*\\n", "", text))


def words_of(entry):
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


class Preload(lab.LabTest):
    def setUp(self):
        super().setUp()
        self.folder = self.lab.root / "canaries"
        (self.folder / "jax").mkdir(parents=True)
        (self.folder / "sliceup_canary.py").write_bytes((lab.TOP / "worker/canaries/sliceup_canary.py").read_bytes())
        for name, text in (("state", STATE), ("ends", ENDS)):
            (self.folder / "jax" / f"{name}.py").write_text(text)

    def canary(self, name, id=None, preload=True, **more):
        return {"id": id or name, "canary": str(self.folder / "jax" / f"{name}.py"), "timeout": "2m", "preload": preload, **more}

    variables = {}

    def profile(self, preload=True):
        env = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2", "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo", **self.variables}
        return self.lab.write(f"profile-{preload}.yaml", json.dumps(
            {"profile": "cpu-jax", "frontend": "jax", "backend": "cpu", "devices_per_host": 2, "preload": preload, "env": env}))

    def slice_of(self, rungs, way="copied", hosts=2, **more):
        ladder = self.lab.ladder(f"{way}.yaml", [{"id": "environment", "builtin": "restore", "timeout": "10m"}, *rungs])
        return self.lab.slice(hosts=hosts, ladder=str(ladder), profile=str(self.profile(way == "copied")), pins="jax-cpu",
                              mesh={"data": hosts, "model": 2}, env_dir=str(lab.SHARED_ENVS / "jax-cpu"),
                              name=f"{way}-slice.yaml", **more)

    def climb(self, rungs, way="copied", hosts=2, **more):
        """How the run ended, and its receipt."""
        ended = self.lab.sliceup("run", self.slice_of(rungs, way, hosts, **more), bound_s=300)
        self.assertTrue(self.lab.runs(), ended)
        return ended, self.lab.receipt()

    def printed(self, rung):
        """What the rung of the last run printed on h0, as it was."""
        return self.passes(self.lab.sliceup("logs", "--rung", rung, "--hosts", "h0", "--raw")).out

    def interpreters(self, receipt, rung):
        return {host["host"]: self.attempt(receipt, host["host"], rung)["interpreter"] for host in receipt["hosts"]}

    def preloaded(self):
        """pids of the interpreters that wait, of workers of the last run."""
        workers = self.lab.worker_pids()
        return [int(entry.name) for entry in pathlib.Path("/proc").iterdir()
                if entry.name.isdigit() and lab.parent_of(int(entry.name)) in workers.values() and b"/sliceup_preload.py" in words_of(entry)]


class Alike(Preload):
    def test_a_copy_has_what_an_executed_interpreter_has_and_no_more(self):
        victims = [str(self.lab.home / "cache" / "x"), "/etc/x", str(self.folder / "jax/state.py")]
        rungs = [{"id": "tiny", "canary": "jax/tiny.py", "warm": "solo", "timeout": "3m"}, # with a cache, so with its sandbox
                 self.canary("state", id="first", args={"paths": victims}),
                 self.canary("state", id="second", args={"paths": victims})]
        states = {}
        for way in ("copied", "executed"):
            ended, receipt = self.climb(rungs, way)
            self.passes(ended)
            states[way] = [json.loads(line.split("STATE ", 1)[1]) for line in self.printed("second").splitlines() if "STATE " in line]
            self.assertTrue(states[way], ended)
            self.assertEqual({"h0": way, "h1": way}, self.interpreters(receipt, "second"), ended)
            states[way] = without_number(states[way][0], [self.lab.run_folder().name])
        copied, executed = states["copied"], states["executed"]
        # Handlers of libraries that are imported already; an interpreter that was executed has none of them yet.
        self.assertEqual(executed["caught"], copied["caught"] & executed["caught"])
        for state in states.values():
            del state["caught"]
        for name in executed:
            self.assertEqual(executed[name], copied[name], name)
        self.assertNotIn(True, copied["writes"].values())
        self.assertTrue(copied["unmounts"])
        self.nothing_is_left()

    def ends(self, way, how, timeout="1m"):
        """Of a program that ends so: what the receipt and the log say, without what differs from run to run."""
        # The rung before it imports as well, so that the interpreter has done so when its seconds begin.
        rungs = [self.canary("ends", id="before", args={"how": "passes"}), self.canary("ends", id="ends", args={"how": how}, timeout=timeout)]
        _, receipt = self.climb(rungs, way, hosts=1, limits={"stop": "1s"})
        ended = self.attempt(receipt, "h0", "ends")
        self.assertEqual(way, ended["interpreter"])
        kept = {name: ended[name] for name in ("outcome", "cause", "phase", "strays", "bad_lines")}
        return without_number([kept, self.printed("ends")], [self.lab.run_folder().name])

    def test_it_ends_as_an_executed_program_ends_and_says_the_same(self):
        self.maxDiff = None
        for how in ("raises", "raises at the top", "exits", "segfault", "strays", "waits"):
            with self.subTest(how):
                told = [self.ends(way, how, "15s" if how == "waits" else "1m") for way in ("executed", "copied")]
                self.assertEqual(*told)

    def test_programs_that_are_restored_have_the_same_digests_and_checks(self):
        ladder = [{"id": "probe", "canary": "jax/probe.py", "timeout": "3m"},
                  {"id": "tiny", "canary": "jax/tiny.py", "warm": "solo", "timeout": "3m"},
                  {"id": "adamw", "canary": "jax/adamw.py", "warm": "solo", "timeout": "3m", "args": {"steps": 2}}]
        receipts = {}
        for way in ("copied", "executed"):
            ended, receipts[way] = self.climb(ladder, way)
            self.passes(ended)
            self.assertEqual({"h0": "executed", "h1": "executed"}, self.interpreters(receipts[way], "probe"))
        for rung in ("tiny", "adamw"):
            self.assertEqual({"h0": "copied", "h1": "copied"}, self.interpreters(receipts["copied"], rung))
            of_way = [self.attempt(receipts[way], "h1", rung, kind="restored") for way in ("copied", "executed")]
            for name in ("programs", "checks", "keys", "cache", "backend"):
                self.assertEqual(*(one[name] for one in of_way), name)


class Otherwise(Preload):
    def test_one_that_is_killed_is_replaced_by_executed_programs_and_that_is_said(self):
        waits = self.canary("ends", id="waits", args={"how": "waits"}, timeout="4s")
        run = self.lab.start("run", self.slice_of([waits, self.canary("ends", id="after", args={"how": "passes"})], hosts=1, limits={"stop": "1s", "retries": 0}),
                             "--keep-going")
        run.wait_out("waits attempt 1 began")
        lab.wait_for(self.preloaded, "an interpreter that waits")
        for pid in self.preloaded():
            os.kill(pid, signal.SIGKILL)
        ended = run.end()
        self.assertEqual("timed-out", self.attempt(self.lab.receipt(), "h0", "waits")["outcome"], ended)
        self.nothing_is_left()

    def test_a_copy_that_is_not_made_in_time_is_executed_and_a_users_canary_always(self):
        passes = {"name": "ends", "args": {"how": "passes"}}
        rungs = [self.canary(id="first", **passes), {"id": "pause", "command": ["sleep", "3"]}, self.canary(id="second", **passes),
                 self.canary(id="own", preload=False, **passes)]
        del rungs[-1]["preload"]
        run = self.lab.start("run", self.slice_of(rungs, hosts=1))
        run.wait_out("pause attempt 1 began")
        for pid in lab.wait_for(self.preloaded, "an interpreter that waits"):
            os.kill(pid, signal.SIGSTOP)
        self.passes(run.end())
        receipt = self.lab.receipt()
        self.assertEqual(["copied", "executed: it made no copy in 5 s", "executed"],
                         [self.attempt(receipt, "h0", id)["interpreter"] for id in ("first", "second", "own")])
        self.assertEqual(1, self.printed("second").count("before the end"))
        self.assertIn("programs executed, not copied: second, since it made no copy in 5 s on h0\n", self.lab.sliceup("receipt").out)

    def test_it_dies_with_its_worker(self):
        waits = self.canary("ends", id="waits", args={"how": "waits"}, timeout="1m")
        run = self.lab.start("run", self.slice_of([waits], hosts=1))
        run.wait_out("waits attempt 1 began")
        lab.wait_for(self.preloaded, "an interpreter that waits")
        of_it = self.preloaded()
        self.lab.kill_workers()
        lab.wait_for(lambda: not any(lab.alive(pid) for pid in of_it), "the interpreter to be gone", 10)
        run.kill_and_reap()

    def test_a_module_that_cannot_be_imported_is_said_and_the_program_executed(self):
        self.variables = {"JAX_ENABLE_X64": "perhaps"}
        ended, receipt = self.climb([self.canary("ends", id="passes", args={"how": "passes"})], hosts=1)
        self.passes(ended)
        self.assertRegex(self.attempt(receipt, "h0", "passes")["interpreter"], r"^executed: failed: ValueError: .*perhaps")


if __name__ == "__main__":
    unittest.main()
