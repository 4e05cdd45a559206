"""sliceup env: environments built by the real pip, from wheels that the test makes; verified, judged, carried, listed."""
import base64
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
import zipfile

import lab
import schema
import netlab

PROFILE = "profile: {name}\nfrontend: {frontend}\nbackend: {backend}\ndevices_per_host: 1\n"


def row(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"


def make_wheel(folder, name, version, files):
    """A wheel as an index would have it, the same bytes every time; returns its line in a pin file."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    members = {f"{module}/{path}": content for path, content in files.items()}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(row(path, content) for path, content in members.items()) + f"{info}/RECORD,,\n"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**members, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(zipfile.ZipInfo(member), content)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


class Index:
    """A package index that has nothing, and remembers that it was asked."""

    def __init__(self):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Wheels:
    """What both labs need: a folder of wheels, a pin file, a slice that names them."""

    def make(self, packages, options=""):
        self.wheels = self.lab.root / f"wheels-{self._testMethodName}" # hosts of a network lab are those of a class
        self.wheels.mkdir()
        lines = [make_wheel(self.wheels, name, version, files) for name, version, files in packages]
        self.pins = self.lab.write("own.txt", options + "".join(lines))

    def ladder(self):
        rungs = [{"id": "facts", "builtin": "facts"}, {"id": "environment", "builtin": "restore", "timeout": "5m"},
                 {"id": "high", "command": ["false"]}]
        return str(self.lab.ladder("ladder.yaml", rungs))

    def profile(self, frontend, backend):
        text = PROFILE.format(name="own", frontend=frontend, backend=backend)
        return str(self.lab.write("own.yaml", text))

    def cause(self, host="h0", rung="environment"):
        return self.attempt(self.lab.receipt(), host, rung)["cause"]

    def host(self, name="h0"):
        return next(host for host in self.lab.receipt()["hosts"] if host["host"] == name)


PACKAGES = [("sliceup-one", "1.0", {"__init__.py": b"VALUE = 1\n", "libone.so": b"\x7fELF, as if" * 1000}),
            ("sliceup-two", "2.5", {"__init__.py": b"", "deep/er/file.txt": b"text\n"})]


class Environments(lab.LabTest, Wheels):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="sliceup-envs-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.kept = pathlib.Path(cls.folder.name) / "envs"

    def setUp(self):
        super().setUp()
        self.index = Index()
        self.addCleanup(self.index.close)
        os.environ.update(PIP_INDEX_URL=self.index.url, PIP_CONFIG_FILE=os.devnull)
        self.addCleanup(os.environ.pop, "PIP_INDEX_URL")
        self.addCleanup(os.environ.pop, "PIP_CONFIG_FILE")

    def slice(self, hosts=1, **more):
        return self.lab.slice(hosts=hosts, ladder=self.ladder(), pins=str(self.pins), env_dir=str(self.lab.root / "envs" / "own"),
                              **more)

    def site(self):
        site, = (self.lab.root / "envs").glob("own-py*/lib/python3*/site-packages")
        return site

    def built(self, hosts=1):
        slice_file = self.slice(hosts)
        self.passes(self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels))
        return slice_file

    def restored(self):
        """One of PACKAGES, for what happens to it later: built by the first case that asks, and copied for the others."""
        envs = self.lab.root / "envs"
        if self.kept.exists():
            self.copy(self.kept, envs)
        slice_file = self.built()
        if not self.kept.exists():
            self.copy(envs, self.kept)
        return slice_file

    @staticmethod
    def copy(folder, to):
        """Whole, or not there: later cases look whether it is."""
        part = to.with_name(f"{to.name}.part")
        subprocess.run(["cp", "-a", str(folder), str(part)], check=True, timeout=60)
        part.rename(to)

    def test_an_environment_is_built_from_wheels_and_no_index_is_asked(self):
        self.make(PACKAGES, options=f"--index-url {self.index.url}\n")
        self.built(hosts=2)
        self.assertEqual([], self.index.asked)
        self.assertEqual("VALUE = 1\n", (self.site() / "sliceup_one" / "__init__.py").read_text())
        host = self.host("h1")
        self.assertEqual(["facts", "environment"], [rung["rung"] for rung in host["rungs"]])
        self.assertEqual({"sliceup-one": "1.0", "sliceup-two": "2.5"},
                         {name: host["bundle"][name] for name in ("sliceup-one", "sliceup-two")})
        self.assertEqual(host["bundle"]["fingerprint"], host["facts"]["bundle.identity"])
        library = hashlib.sha256((self.wheels.parent / self.site() / "sliceup_one" / "libone.so").read_bytes()).hexdigest()
        self.assertEqual(library, host["facts"]["library.sliceup-one/libone.so"])
        self.assertEqual("as installed", host["facts"]["environment.records"])
        methods = {entry["host"]: entry["setup"]["restore_method"] for entry in self.lab.receipt()["hosts"]}
        self.assertEqual(1, sum("from the coordinator's wheels" in method for method in methods.values()), methods)
        self.assertEqual([], list(self.lab.run_folder().glob("hosts/*/wheels/*.part")))
        self.nothing_is_left()

    def with_setup(self, script, hosts=2):
        """A slice whose pins have this setup script."""
        self.make(PACKAGES)
        setup = self.lab.write("prepare.sh", script)
        return self.lab.slice(hosts=hosts, ladder=self.ladder(), env_dir=str(self.lab.root / "envs" / "own"),
                              pins={"file": str(self.pins), "setup": str(setup), "wheels": str(self.wheels)})

    def test_the_setup_script_runs_on_each_host_before_the_build_and_at_every_restore(self):
        mark = self.lab.root / "prepared"
        slice_file = self.with_setup(f"#!/bin/bash\nset -o pipefail\ntest -e {self.lab.root}/envs/own-py*/bin && when=after || when=before\n"
                                     f"echo $when >> {mark}\necho prepared [[ok]]\n")
        self.passes(self.lab.sliceup("env", "restore", slice_file))
        self.assertEqual(["before"] * 2, mark.read_text().split())
        setup = self.host("h1")["setup"]
        self.assertEqual((str(self.lab.root / "files" / "prepare.sh"), "ended with status 0", "environment"),
                         (setup["script"], setup["script_result"], setup["script_rung"]))
        for host in "h0", "h1":
            self.assertIn("prepared [[ok]]", self.lab.sliceup("logs", "--hosts", host, "--rung", "environment").out)
        self.assertRegex(self.lab.sliceup("receipt").out, r"\nscript   \S+/prepare.sh \(sha256 [0-9a-f]{12}\) ended with status 0 "
                         r"\(its output: sliceup logs --rung environment\) on h\[0-1\]\n")
        self.passes(self.lab.sliceup("env", "restore", slice_file))
        self.assertEqual(["before", "before", "after", "after"], mark.read_text().split())
        self.passes(self.lab.sliceup("env", "check", slice_file))
        self.assertEqual(4, len(mark.read_text().split()), "a check changes nothing")

    def test_a_setup_script_that_fails_says_how(self):
        slice_file = self.with_setup("echo one; echo two; echo three >&2\necho disk /dev/own is not there >&2\nexit 3\n")
        ended = self.lab.sliceup("env", "restore", slice_file)
        self.assertEqual(3, ended.status, ended)
        cause = self.cause("h1")
        self.assertEqual("host", cause["owner"])
        self.assertEqual("the setup script ended with status 3: two | three | disk /dev/own is not there (exited with status 1)", cause["text"])
        self.assertIn("one\ntwo\nthree\n", self.lab.sliceup("logs").out)
        self.assertEqual("ended with status 3", self.host("h1")["setup"]["script_result"])
        self.assertFalse((self.lab.root / "envs").exists(), "nothing is built on a host that is not ready")

    def test_a_setup_script_that_no_rung_runs_is_warned_of(self):
        self.with_setup("true\n")
        ladder = str(self.lab.ladder("none.yaml", [self.lab.rung("own", str(self.lab.write("own.py", "")))]))
        slice_file = self.lab.slice(ladder=ladder, pins={"file": str(self.pins), "setup": str(self.lab.root / "files" / "prepare.sh")})
        self.assertIn("warning: the setup script is not run: the ladder has no rung with builtin: restore",
                      self.passes(self.lab.sliceup("check", slice_file)).err)

    def test_a_setup_script_that_is_no_text_of_a_size_to_run_is_refused(self):
        for script in "#" * (100 * 1024 + 1), "true\0":
            ended = self.lab.sliceup("check", self.with_setup(script))
            self.assertEqual(2, ended.status, ended)
            self.assertIn(f"the setup script has {len(script)} bytes, expected a text of at most 102400 without a byte 0", ended.err)
            shutil.rmtree(self.wheels)

    def test_without_wheels_the_index_is_asked(self):
        self.make(PACKAGES)
        ended = self.lab.sliceup("env", "restore", self.slice())
        self.assertEqual(1, ended.status, ended)
        self.assertTrue(self.index.asked)
        self.assertEqual("bundle", self.cause()["owner"])

    def test_a_check_builds_nothing(self):
        self.make(PACKAGES)
        ended = self.lab.sliceup("env", "check", self.slice(), "--wheels", self.wheels)
        self.assertEqual(1, ended.status, ended)
        self.assertIn("there is no complete environment at", self.cause()["text"])
        self.assertFalse((self.lab.root / "envs").exists())
        slice_file = self.restored()
        self.passes(self.lab.sliceup("env", "check", slice_file))

    def test_one_changed_byte_is_found_whatever_its_time_says(self):
        self.make(PACKAGES)
        slice_file = self.restored()
        library = self.site() / "sliceup_one" / "libone.so"
        before = library.stat()
        content = bytearray(library.read_bytes())
        content[77] ^= 1
        library.write_bytes(content)
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
        for verb in ("check", "restore"):
            ended = self.lab.sliceup("env", verb, slice_file)
            self.assertEqual(1, ended.status, ended)
            self.assertEqual("bundle", self.cause()["owner"])
            self.assertIn("sliceup-one 1.0: sliceup_one/libone.so differs from its entry in RECORD; in "
                          f"{self.site().parents[2]}", self.cause()["text"])
            self.assertEqual("remove that environment there and run again: it is built anew", self.cause()["next"])
        facts = self.host()["facts"]
        self.assertEqual(hashlib.sha256(content).hexdigest(), facts["library.sliceup-one/libone.so"])
        self.assertIn("libone.so", facts["environment.records"])
        self.assertNotIn("bundle.identity", facts, "what is not as pinned has no identity of its pins")

    def test_additions_and_losses_are_named(self):
        self.make(PACKAGES)
        slice_file = self.restored()
        (self.site() / "sitecustomize.py").write_text("import os\n")
        (self.site() / "sliceup_two" / "deep" / "er" / "file.txt").unlink()
        self.assertEqual(1, self.lab.sliceup("env", "check", slice_file).status)
        self.assertIn("sliceup-two 2.5: sliceup_two/deep/er/file.txt is missing", self.cause()["text"])
        self.assertIn("sitecustomize.py is not in the RECORD file of any package", self.cause()["text"])

    def test_what_python_compiled_later_is_no_difference(self):
        self.make(PACKAGES)
        slice_file = self.restored()
        (self.site() / "sliceup_one" / "__pycache__" / "__init__.cpython-39.opt-2.pyc").write_bytes(b"compiled")
        self.passes(self.lab.sliceup("env", "check", slice_file))

    def test_a_bundle_that_is_known_bad_fails_and_a_good_one_is_noted(self):
        rules = self.lab.write("rules.yaml", json.dumps({"bundles": "rules", "list": [
            {"id": "broken", "word": "bad", "parts": {"sliceup-one": "1.0", "sliceup-two": "2.*"}, "why": "it loses bytes",
             "source": "a test"},
            {"id": "fine", "word": "good", "parts": {"sliceup-one": "<2", "sliceup-two": "*"}, "source": "a test"}]}))
        self.make(PACKAGES)
        self.restored()
        ended = self.lab.sliceup("env", "restore", self.slice(bundles=[str(rules)]), "--wheels", self.wheels)
        self.assertEqual(1, ended.status, ended)
        self.assertEqual("bundle", self.cause()["owner"])
        self.assertIn("sliceup-one 1.0 with sliceup-two 2.5 is known bad: it loses bytes (a test)", self.cause()["text"])
        rules.write_text(rules.read_text().replace('"1.0"', '"1.1"'))
        self.passes(self.lab.sliceup("env", "check", self.slice(bundles=[str(rules)])))
        notes = [note for note in self.host()["notes"] if note["source"] == "bundles"]
        self.assertEqual(["sliceup-one 1.0 with sliceup-two 2.5 is known good (fine: a test)"], [note["text"] for note in notes])

    def test_the_shipped_list_knows_a_bad_jax(self):
        self.make([("jax", "0.4.32", {"__init__.py": b""}), ("libtpu", "0.0.2", {"__init__.py": b"", "libtpu.so": b"as if"})])
        slice_file = self.slice(profile=self.profile("jax", "tpu"))
        ended = self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels)
        self.assertEqual(1, ended.status, ended)
        self.assertIn("jax 0.4.32 with libtpu 0.0.2 is known bad", self.cause()["text"])
        self.assertIn("CHANGELOG", self.cause()["text"])

    def test_a_tuple_in_no_list_is_noted_and_fails_nothing(self):
        self.make([("jax", "0.99.1", {"__init__.py": b""}), ("libtpu", "0.9.9", {"libtpu.so": b"as if"})])
        self.passes(self.lab.sliceup("env", "restore", self.slice(hosts=2, profile=self.profile("jax", "tpu")), "--wheels", self.wheels))
        for name in ("h0", "h1"):
            notes = [note["text"] for note in self.host(name)["notes"] if note["source"] == "bundles"]
            self.assertEqual(["not known: jax 0.99.1, libtpu 0.9.9 on tpu is in no list of versions that work or fail together (configs/bundles)"], notes)
        self.assertIn("library.libtpu/libtpu.so", self.host()["facts"])

    def test_a_pin_without_a_wheel_is_found_before_any_host(self):
        self.make(PACKAGES)
        next(self.wheels.glob("sliceup_two*")).unlink()
        for words in (("check",), ("env", "restore")):
            ended = self.lab.sliceup(*words, self.slice(), "--wheels", self.wheels)
            self.assertEqual(2, ended.status, ended)
            self.assertIn("has no wheel with a pinned sha256 for sliceup-two==2.5", ended.err)
        self.assertFalse((self.lab.home / "runs").exists())

    def test_a_slice_without_pins_is_refused(self):
        ended = self.lab.sliceup("env", "restore", self.lab.slice())
        self.assertEqual(2, ended.status, ended)
        self.assertIn("has no pin set", ended.err)

    def test_a_loose_file_is_locked_and_its_lock_is_built(self):
        self.make(PACKAGES)
        loose = self.lab.write("loose.txt", f"--no-index\n--find-links {self.wheels}\nsliceup_one>=0.5  # any\nsliceup-two\n")
        made = self.passes(self.lab.sliceup("env", "lock", loose, "-o", self.lab.root / "locked.txt"))
        self.assertIn("2 packages are pinned", made.err)
        locked = (self.lab.root / "locked.txt").read_text()
        self.assertIn(self.pins.read_text(), locked)
        self.assertIn(f"--no-index\n--find-links {self.wheels}\n", locked)
        self.assertRegex(locked, r"for Python 3\.\d+ on linux ")
        again = self.lab.sliceup("env", "lock", loose, "-o", self.lab.root / "locked.txt")
        self.assertEqual((2, True), (again.status, "is not replaced" in again.err), again)
        self.pins.write_text(locked)
        self.built()

    def test_what_has_no_hash_cannot_be_locked(self):
        self.make(PACKAGES)
        project = self.lab.root / "project"
        project.mkdir()
        (project / "setup.py").write_text("from setuptools import setup\nsetup(name='mine', version='1')\n")
        for line, says in ((f"mine @ {project.as_uri()}", ""), ("sliceup-three", "No matching distribution")):
            loose = self.lab.write("loose.txt", f"--no-index\n--find-links {self.wheels}\n{line}\n")
            ended = self.lab.sliceup("env", "lock", loose)
            self.assertEqual((3, ""), (ended.status, ended.out), ended)
            self.assertIn(says, ended.err)
        self.assertEqual(2, self.lab.sliceup("env", "lock", self.lab.root / "nowhere.txt").status)

    def test_an_export_is_built_as_its_markers_say(self):
        self.make(PACKAGES)
        one, two = self.pins.read_text().splitlines()
        hashed = lambda line, marker: line.replace(" --hash", f" ; {marker} \\\n    --hash").replace("==", "[x,y]==", 1)
        old = "sliceup-two==1.0 ; python_full_version < '3.4' --hash=sha256:" + "a" * 64
        gone = "sliceup-three==1.0 ; sys_platform == 'win32' --hash=sha256:" + "a" * 64
        lines = [hashed(one, "python_full_version >= '3.4' and sys_platform == 'linux'"), "    # via somebody", old,
                 hashed(two, "python_version >= '3.4'"), gone]
        self.pins.write_text("# This file was autogenerated by uv\n" + "\n".join(lines) + "\n")
        self.built()
        self.passes(self.lab.sliceup("env", "check", self.slice()))
        shutil.rmtree(next(self.site().glob("sliceup_two-*")))
        ended = self.lab.sliceup("env", "check", self.slice())
        self.assertEqual(1, ended.status, ended)
        self.assertIn("sliceup-two is not installed, 2.5 is pinned", self.cause()["text"])

    def test_environments_are_listed(self):
        self.assertIn("no environments here", self.passes(self.lab.sliceup("env", "ls")).out)
        self.make(PACKAGES)
        self.restored()
        unfinished = self.lab.home / "envs" / "abc-py3.11"
        unfinished.mkdir(parents=True)
        (unfinished / ".sliceup-environment").touch()
        (self.lab.home / "envs" / "foreign-py3.11").mkdir()
        listed = {entry["path"]: entry for entry in schema.document(self.passes(self.lab.sliceup("env", "ls", "--json")).out)["environments"]}
        path = str(self.site().parents[2])
        self.assertEqual({path, str(unfinished)}, set(listed))
        own = listed[path]
        self.assertEqual((True, "own", self.lab.run_folder().name), (own["complete"], own["pins"], own["last_run"]))
        self.assertEqual(hashlib.sha256(self.pins.read_bytes()).hexdigest(), own["pins_sha256"])
        self.assertRegex(own["python"], r"^3\.\d+\.\d+$")
        self.assertGreater(own["bytes"], 1 << 20)
        self.assertEqual((False, None, None), tuple(listed[str(unfinished)][key] for key in ("complete", "pins", "last_run")))
        text = self.passes(self.lab.sliceup("env", "ls")).out
        self.assertRegex(text, rf"own [0-9a-f]{{8}} +complete .*{self.lab.run_folder().name[:8]}, .* ago +{path}")
        self.assertRegex(text, r"incomplete +.*no run of this home")


class CarriedOverSsh(netlab.NetLabTest, Wheels):
    """Hosts with a network of their own, from which no index can be reached and no file of this machine be seen."""

    def test_wheels_travel_to_hosts_that_reach_no_index(self):
        block = hashlib.sha256(b"seed").digest() * 65536 # 2 MiB, stored as they are
        self.make([*PACKAGES, ("sliceup-large", "3.0", {f"part{i}.bin": bytes([i]) + block for i in range(3)})])
        slice_file = self.lab.slice(hosts=["h0", "h1"], ladder=self.ladder(), pins=str(self.pins))
        self.passes(self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels))
        for name in ("h0", "h1"):
            host = self.host(name)
            self.assertEqual("3.0", host["bundle"]["sliceup-large"])
            self.assertIn("from the coordinator's wheels", host["setup"]["restore_method"])
            folder = self.lab[name].path(netlab.DIRECTORY)
            self.assertEqual([], [str(path) for path in folder.rglob("*.whl*")], "what came is of no further use")
        before = {path: path.stat().st_ino for name in ("h0", "h1")
                  for path in self.lab[name].path(netlab.DIRECTORY).glob("envs/*/.sliceup-complete")}
        self.assertEqual(2, len(before))
        self.passes(self.lab.sliceup("env", "restore", slice_file, "--wheels", self.wheels))
        self.assertIn("already installed", self.host("h1")["setup"]["restore_method"])
        self.nothing_is_left()

    def test_a_wheel_that_changed_on_its_way_is_refused(self):
        self.make(PACKAGES)
        gate = {"id": "waits", "command": ["sh", "-c", f"until [ -e '{self.lab.files}/go' ]; do sleep 0.05; done"], "timeout": "2m"}
        ladder = self.lab.ladder("ladder.yaml", [gate, {"id": "environment", "builtin": "restore", "timeout": "5m"}])
        slice_file = self.lab.slice(hosts=["h2"], ladder=str(ladder), pins=str(self.pins))
        run = self.lab.start("run", slice_file, "--wheels", str(self.wheels))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first rung", 90)
        wheel = next(self.wheels.glob("sliceup_one*"))
        content = bytearray(wheel.read_bytes())
        content[-1] ^= 1
        wheel.write_bytes(content)
        (self.lab.files / "go").touch()
        ended = run.end(180)
        self.assertEqual(3, ended.status, ended)
        self.assertIn("has another sha256 than the plan names", self.cause("h2")["text"])
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
