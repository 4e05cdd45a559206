"""Eight local hosts with one planted difference each: drift finds it, first line; and nothing where nothing differs.

Their environments (real wheels, really installed), what a canary observes after its imports, how long it takes. What
workers see of their machines is test_drift_hosts.py's; where the forms of the output matter, a canary tells facts."""
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile

import lab
import schema

IDENTICAL_RUNS = int(os.environ.get("SLICEUP_DRIFT_RUNS", "5"))
FACTS = ["hugepages.transparent=always", "mount.env_dir=ext4 rw,relatime /dev/sda1", "pci.google=4 x 0x006f (vfio-pci)"]


def wheel(folder, name, version):
    """A real wheel with a library in it; returns its sha256."""
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/__init__.py": b"", f"{name}/lib{name}.so": b"\x7fELF" + bytes(range(256)) * 64,
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
             f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    digests = {path: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
               for path, content in files.items()}
    record = "".join(f"{path},sha256={digests[path]},{len(files[path])}\n" for path in files) + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(member, content)
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Drifting(lab.LabTest):
    def drift(self, *arguments, status):
        ended = self.lab.sliceup("drift", *arguments)
        self.assertEqual(status, ended.status, ended)
        return ended

    def first_line(self, *arguments, status=1):
        return self.drift(*arguments, status=status).out.splitlines()[0]

    def climb(self, rungs, status=0, hosts=8, options=(), **more):
        ladder = self.lab.ladder("ladder.yaml", rungs)
        ended = self.lab.sliceup("run", *options, self.lab.slice(hosts=hosts, ladder=str(ladder), cache={"mode": "off"}, **more))
        self.assertEqual(status, ended.status, ended)
        self.said = ended.out

    def differs(self, timeout="60s", **args):
        self.climb([self.lab.rung("odd", "differs.py", args={"host": "h3", "facts": FACTS, **args}, timeout=timeout)])


class Planted(Drifting):
    def test_a_flag_is_named_with_its_words(self):
        self.differs(env=["XLA_FLAGS=--xla_both=1 --xla_usual=1"], odd_env=["XLA_FLAGS=--xla_odd=1 --xla_both=1"])
        self.assertEqual("h3: policy XLA_FLAGS lacks --xla_usual=1 and has --xla_odd=1, unlike 7 others",
                         self.first_line())

    def test_an_environment_variable_is_named(self):
        self.differs(odd_env=["TPU_STDERR_LOG_LEVEL=0"])
        self.assertEqual("h3: policy TPU_STDERR_LOG_LEVEL is 0, 7 others have none", self.first_line())

    def test_who_ends_early_saw_no_other_devices(self):
        self.climb([self.lab.rung("hello", "plain/hello.py"),
                    self.lab.rung("sum", "falls_in_slice.py", scope="slice", args={"host": "h0", "when": "start"})],
                   status=1, hosts=4, mesh={"data": 4, "model": 2})
        seen = {host["host"]: [rung["backend"] and rung["backend"]["devices"] for rung in host["rungs"]]
                for host in self.lab.receipt()["hosts"]}
        self.assertEqual({"h0": [2, None], "h1": [2, 8], "h2": [2, 8], "h3": [2, 8]}, seen)
        told = schema.document(self.lab.sliceup("drift", "--json").out)
        self.assertEqual([], [finding["sentences"] for finding in told["findings"]])

    def test_a_slow_host_is_named_with_rung_and_phase(self):
        self.differs(seconds=12, phase="compile")
        self.assertRegex(self.first_line(), r"^h3: phase compile of rung odd [\d.]+ × the median \(1\d s, .* of 7\)$")
        self.assertIn(f"\ndrift: {self.first_line()}", self.said)
        told = schema.document(self.drift("--json", status=1).out)
        self.assertEqual(("h[0-2,4-7]", 1), (told["reference"], told["counts"]["findings"]))
        receipt = self.lab.sliceup("receipt").out
        self.assertIn(f"drift    {self.first_line()}\n", receipt)
        self.assertIn(self.first_line(), self.lab.sliceup("explain").out)
        kept = [one for one in self.lab.receipt()["drift"] if one["verdict"] == "outlier"]
        self.assertEqual([("duration odd/compile", {"h3", "h[0-2,4-7]"})], [(one["fact"], {group["hosts"] for group in one["groups"]}) for one in kept])
        self.assertIn("\nsliceup_drift_findings 1\n", re.sub(r"\{.*?\}", "", self.passes(self.lab.sliceup("metrics")).out))
        self.assertRegex(self.first_line("--rung", "odd"), r"^h3: phase compile of rung odd .* \(1\d s,")

    def test_what_a_killed_program_could_not_tell_is_no_drift_and_packages_have_one_name(self):
        told = {"env": ["XLA_LATER=1"], "bundle": ["ml_dtypes=0.6.0", "Late.Package=1"], "facts": FACTS}
        self.climb([self.lab.rung("first", "differs.py", args={"bundle": ["ml-dtypes=0.6.0"], "facts": ["early=1"]}),
                    self.lab.rung("later", "differs.py", args={"host": "h3", "killed": True, **told})], status=1)
        drift = schema.document(self.lab.sliceup("drift", "--json").out)    # eight hosts of a busy machine differ in how long they took
        self.assertEqual([], [finding["sentences"] for finding in drift["findings"] if not finding["fact"].startswith("duration ")])
        hosts = {host["host"]: host for host in self.lab.receipt()["hosts"]}
        self.assertEqual({"ml-dtypes", "late-package", "python"}, set(hosts["h0"]["bundle"]))
        self.assertEqual({"0.6.0": "ml-dtypes", "not heard": "late-package"}, {value: name for name, value in hosts["h3"]["bundle"].items() if name != "python"})
        self.assertEqual(("1", "not heard"), (hosts["h3"]["facts"]["early"], hosts["h3"]["facts"]["mount.env_dir"]))
        self.assertNotIn("not heard", self.lab.sliceup("receipt").out.partition("policy")[2].partition("versions")[0])

    def test_a_program_that_fails_on_one_host_only_is_told_to_be_compared_there(self):
        program = self.lab.write("feed.py", "import os\nassert os.environ['SLICEUP_HOST'] != 'h3', 'labels are of another version'\n")
        self.climb([{"id": "feed", "scope": "host", "command": ["python3", str(program)], "timeout": "60s"}], status=1, hosts=4)
        cause = next(host for host in self.lab.receipt()["hosts"] if host["host"] == "h3")["rungs"][0]["cause"]
        run = self.lab.run_folder().name[:8]
        self.assertEqual(("program", "host", "likely"), (cause["owner"], cause["else_owner"], cause["certainty"]))
        self.assertEqual(f"sliceup drift {run} (it passed on 3 others: what is different here?); else: Correct feed.py:2.", cause["next"])

    def test_what_a_failed_host_took_no_part_in_is_no_drift(self):
        self.climb([self.lab.rung("first", "differs.py", args={"host": "h1", "killed": True, "facts": ["early=1"]}),
                    self.lab.rung("later", "differs.py", args={"host": "", "facts": ["late=1"]})],
                   status=1, hosts=4, options=["--keep-going"])
        drift = schema.document(self.lab.sliceup("drift", "--json").out)
        self.assertEqual([], [finding["sentences"] for finding in drift["findings"] if not finding["fact"].startswith("duration ")])
        hosts = {host["host"]: host["facts"] for host in self.lab.receipt()["hosts"]}
        self.assertEqual(["1", "not heard"], [hosts[name]["late"] for name in ("h0", "h1")])

    def test_a_difference_is_told_in_every_form_and_against_another_run(self):
        self.differs()
        baseline = self.lab.files / "good.json"
        self.assertIn(f"baseline written: {baseline}", self.drift("--save", baseline, status=0).out)
        self.differs(odd_facts=["hugepages.transparent=never"])
        told = schema.document(self.drift("--json", status=1).out)
        self.assertEqual(("sliceup.drift/1", "drift"), (told["schema"], told["verdict"]))
        self.assertEqual("fact hugepages.transparent", told["findings"][0]["fact"])
        self.assertEqual({"always": "h[0-2,4-7]", "never": "h3"},
                         {group["value"]: group["hosts"] for group in told["findings"][0]["groups"]})
        self.assertIn("| h3 | fact hugepages.transparent |", self.drift("--markdown", status=1).out)
        changed = "h3: fact hugepages.transparent was always, is never"
        self.assertEqual(changed, self.first_line("--against", baseline))
        first = sorted(self.lab.runs(), key=lambda path: int((path / "created").read_text().split()[0]))[0].name
        self.assertEqual(changed, self.first_line("last", "--against", first))
        self.assertRegex(self.first_line("--hosts", "h[0-2]", status=0), "^no drift: 3 hosts")
        receipt = self.lab.run_folder() / "receipt.json"
        self.assertEqual("h3: fact hugepages.transparent is never, 7 others have always", self.first_line(receipt))
        policy = self.lab.write("ours.yaml", "drift: ours\nrules:\n  - {fact: 'fact hugepages.*', compare: ignored}\n"
                                             "  - {fact: 'fact *', compare: agree}\n")
        self.assertRegex(self.first_line("--policy", policy, status=0), "^no drift: 8 hosts")
        self.refusals(baseline)

    def refusals(self, baseline):
        damaged = self.lab.write("damaged.json", baseline.read_text().replace("always", "sometimes", 1))
        self.assertIn("changed after it was saved", self.drift("--against", damaged, status=3).err)
        self.assertIn("neither a baseline nor a receipt",
                      self.drift("--against", self.lab.write("cut.json", baseline.read_text()[:-20]), status=3).err)
        self.drift("--against", "no-such-run", status=2)
        self.drift(baseline, "--against", "no-such-run", status=2)  # the run is at fault, not the file
        self.drift("--against", self.lab.files / "nothing.json", status=3)
        self.drift("no-such-run", status=2)  # as receipt, status and explain say it
        self.drift("--rung", "nowhere", status=3)
        self.drift("--markdwon", status=2)
        self.assertIn("exclude each other", self.drift("--json", "--markdown", status=2).err)
        bad = self.lab.write("bad.yaml", "drift: bad\nrules:\n  - {fact: 'fact *', compare: agreed}\n")
        self.assertIn("bad.yaml:3", self.drift("--policy", bad, status=2).err)
        for rule in ("near_zero", "near_zero, tolerance_percent: 5", "near_zero, tolerance_percent: 5, least: 1s", "agree, least: 1s", "tolerance"):
            bad = self.lab.write("bad.yaml", "drift: bad\nrules:\n  - {fact: 'fact *', compare: %s}\n" % rule)
            self.assertIn("`compare: near_zero` needs least", self.drift("--policy", bad, status=2).err, rule)


class Environments(Drifting):
    """Seven hosts share an environment, h3 has one of its own: both really built, then one of them tampered with.

    The first case builds them; the others begin with copies, which the run before they are tampered with verifies."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="sliceup-drift-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.pins = cls.folder / "pins.txt"
        digest = wheel(cls.folder, "tinylib", "1.0")
        cls.pins.write_text(f"--no-index\n--find-links {cls.folder}\ntinylib==1.0 --hash=sha256:{digest}\n")

    def setUp(self):
        super().setUp()
        kept = [self.folder / "shared", self.folder / "odd"]
        there = kept[1].exists()
        if there:
            self.copy(kept, self.lab.root)
        self.build(0)
        if not there:
            self.copy([self.lab.root / "shared", self.lab.root / "odd"], self.folder)
        self.assertEqual(1, len(self.files("tinylib/libtinylib.so")))

    @staticmethod
    def copy(folders, to):
        subprocess.run(["cp", "-a", *map(str, folders), str(to)], check=True, timeout=60)

    def build(self, status):
        hosts = ["h[0-2]", {"name": "h3", "env_dir": str(self.lab.root / "odd" / "env")}, "h[4-7]"]
        self.climb([{"id": "restore", "builtin": "restore", "timeout": "120s"}], hosts=hosts, pins=str(self.pins),
                   status=status, env_dir=str(self.lab.root / "shared" / "env"))

    def files(self, name):
        return list((self.lab.root / "odd").glob(f"env-*/lib/python3*/site-packages/{name}"))

    def test_equal_environments_in_two_places_are_no_drift(self):
        self.assertRegex(self.first_line(status=0), "^no drift: 8 hosts")

    def test_another_version_of_a_package_is_named_and_held_against_the_pin(self):
        metadata = self.files("tinylib-1.0.dist-info/METADATA")[0]
        metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
        self.build(1)
        self.assertEqual("h3: bundle tinylib is 1.1, pinned is 1.0, as 7 others have", self.first_line())
        told = [line for finding in schema.document(self.drift("--json", status=1).out)["findings"] for line in finding["sentences"]]
        self.assertEqual([], [line for line in told if "h3: no " in line], "what follows from the failure alone")
        self.assertIn("drift    h3: bundle tinylib is 1.1, pinned is 1.0, as 7 others have\n", self.lab.sliceup("receipt").out)
        self.assertIn("\nsliceup_drift_findings{", self.lab.sliceup("metrics").out)
        self.pins_that_are_gone_are_told_everywhere()

    def pins_that_are_gone_are_told_everywhere(self):
        kept = self.pins.read_text()
        self.pins.write_text(kept + "# as edited\n")
        told = "pins: the run's pin file is missing or changed, so versions were compared between hosts only"
        pages = [self.lab.sliceup(page).out for page in ("drift", "receipt", "explain")]
        metrics = self.lab.sliceup("metrics").out
        self.pins.write_text(kept)
        for page in pages:
            self.assertIn(told, page)
            self.assertNotIn("drift    none", page)
        self.assertNotIn("sliceup_drift_findings{", metrics)

    def test_a_flipped_byte_of_a_library_is_named_though_size_and_time_are_the_same(self):
        library = self.files("tinylib/libtinylib.so")[0]
        before = library.stat()
        content = bytearray(library.read_bytes())
        content[1000] ^= 1
        library.write_bytes(content)
        os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.build(1)
        self.assertRegex(self.first_line(),
                         r"^h3: fact library\.tinylib/libtinylib\.so is [0-9a-f]+, 7 others have [0-9a-f]+")


class Equal(Drifting):
    """What equal hosts say of themselves, and what changes by itself, is no drift."""

    def test_what_is_of_one_host_by_itself_is_expected(self):
        usual = ["device.holders=/dev/nvidia0 by process 811 (daemon)", "device.held_by=1 x daemon", "libtpu.lock=free",
                 "libtpu.lockfile=absent", "shm.bytes=386547056640", "rlimit.nproc=2886431", "pids.cgroup_max=432964",
                 "memory.swap_bytes=8589930496", "memory.cgroup_max=773094113280", "clock.max_error_us=4000",
                 "env.NVIDIA_VISIBLE_DEVICES=GPU-1", "env.JAX_PROCESS_ID=0", "memory.total_bytes=773094113280"]
        odd = ["device.holders=/dev/nvidia0 by process 907 (daemon)", "libtpu.lockfile=uid 0 mode 0600, not locked",
               "shm.bytes=386547052544", "rlimit.nproc=2886420", "pids.cgroup_max=432963", "memory.swap_bytes=8589926400",
               "memory.cgroup_max=773094109184", "clock.max_error_us=1024000", "env.NVIDIA_VISIBLE_DEVICES=GPU-2",
               "env.JAX_PROCESS_ID=3", "memory.total_bytes=773094109184"]
        self.differs(facts=usual, odd_facts=odd)
        self.assertRegex(self.first_line(status=0), "^no drift: 8 hosts")

    def test_what_looks_alike_and_matters_is_found(self):
        usual = ["device.held_by=none seen", "libtpu.lock=free", "shm.bytes=386547056640"]
        self.differs(facts=usual, odd_facts=["device.held_by=1 x python3", "libtpu.lock=held", "shm.bytes=67108864"])
        told = schema.document(self.drift("--json", status=1).out)
        self.assertEqual({"fact device.held_by", "fact libtpu.lock", "fact shm.bytes"}, {one["fact"] for one in told["findings"]})


class Identical(Drifting):
    def test_identical_runs_never_differ(self):
        slice_file = self.lab.slice(hosts=8, cache={"mode": "off"})
        for run in range(IDENTICAL_RUNS):
            self.passes(self.lab.sliceup("run", slice_file))
            self.assertRegex(self.first_line(status=0), "^no drift: 8 hosts", f"run {run + 1} of {IDENTICAL_RUNS}")


if __name__ == "__main__":
    unittest.main()
