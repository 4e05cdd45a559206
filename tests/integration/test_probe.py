"""A PJRT plugin that works is shown to work, and one that does not is named with its step, whatever it does: real plugins
for CPU from a package index, and one of our own that lies, hangs and crashes."""
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import lab
import schema
import plugins

WORKER = lab.BUILD / "bin" / "sliceup-worker"
STEPS = ["file", "load", "interface", "initialize", "attributes", "client", "platform", "devices", "compile", "transfer",
         "execute", "read", "serialize", "reload", "execute-again", "memory", "close"]
SHORT = "3s"        # a hang is waited for this long; loading and hashing a small library takes milliseconds
HASTE = "1500ms"

# lie -> (step, layer, words that the sentence has)
WRONG = {
    "size_tiny": ("interface", "bundle", "PJRT_Api has 8 bytes"),
    "size_small": ("interface", "bundle", "PJRT_Api has 400 bytes; expected at least 608"),
    "size_huge": ("interface", "bundle", "PJRT_Api has 1099511627776 bytes"),
    "size_negative": ("interface", "bundle", "PJRT_Api has 18446744073709551608 bytes"),
    "size_odd": ("interface", "bundle", "PJRT_Api has 1143 bytes"),
    "major_1": ("interface", "bundle", "PJRT interface is 1.114"),
    "major_negative": ("interface", "bundle", "PJRT interface is -1.114"),
    "minor_28": ("interface", "bundle", "PJRT interface is 0.28; expected 0.29"),
    "minor_56": ("interface", "bundle", "exactly 0.56"),
    "minor_negative": ("interface", "bundle", "PJRT interface is 0.-114"),
    "api_null": ("interface", "bundle", "GetPjrtApi returns nothing"),
    "none-execute": ("interface", "bundle", "has no PJRT_LoadedExecutable_Execute"),
    "none-error_message": ("interface", "bundle", "has no PJRT_Error_Message"),
    "old_caller": ("initialize", "bundle", "expected 24, got 16. The plugin is likely built with a later version"),
    "babble": ("initialize", "bundle", "wrote to the probe's pipe"),
    "babble_call": ("initialize", "bundle", "wrote to the probe's pipe"),
    "double": ("attributes", "bundle", "wrote to the probe's pipe"),
    "done": ("initialize", "bundle", "wrote to the probe's pipe"),
    "flood_voice": ("initialize", "bundle", "wrote to the probe's pipe"),
    "flood_calls": ("initialize", "bundle", "wrote to the probe's pipe: \"endless\""),
    "endless_line": ("initialize", "bundle", "wrote to the probe's pipe"),
    "close": ("initialize", "bundle", "the plugin closed the probe's pipe, or ended the probe, with exit status 4"),
    "attributes_none": ("attributes", "bundle", "reports 1 attributes, but returns none"),
    "attributes_many": ("attributes", "bundle", "18446744073709551615 attributes"),
    "attributes_wild": ("attributes", "bundle", "attribute 1 of the plugin's 1 cannot be read"),
    "says-busy": ("client", "device", "FAILED_PRECONDITION: TPU initialization failed: open(/dev/vfio/0): Device or resource "
                                      "busy: Device or resource busy; Couldn't open iommu group /dev/vfio/0"),
    "says-permission": ("client", "device", "PERMISSION_DENIED: open(/dev/accel0): Operation not permitted"),
    "says-none": ("client", "host", "NOT_FOUND: No ba16c7433 device found."),
    "says-new": ("client", "unknown", "an unknown code: something\nthat \\ nobody\tknows \x1b[31m"),
    "error_huge": ("client", "unknown", "INTERNAL: the end of memory (of a message of 18446744073709551615 bytes"),
    "error_unterminated": ("client", "unknown", "(of a message of 262144 bytes)"),
    "error_null": ("client", "unknown", "(of a message of 20 bytes"),
    "client_null": ("client", "bundle", "made a client, but returns none"),
    "text_null": ("platform", "bundle", "platform.name has 3 bytes, of which 0 can be read"),
    "text_negative": ("platform", "bundle", "platform.name has 18446744073709551613 bytes, of which 3 can be read"),
    "process_negative": ("platform", "bundle", "reports the invalid number -1 of this process"),
    "process_far": ("devices", "bundle", "invalid process number 1073741824 of a device"),
    "devices_zero": ("devices", "host", "has no devices"),
    "devices_null": ("devices", "bundle", "the plugin reports 2 devices, but the list that it returns cannot be read"),
    "devices_negative": ("devices", "bundle", "the plugin reports 18446744073709551615 devices"),
    "devices_empty": ("devices", "bundle", "one entry of the plugin's list of devices is empty"),
    "devices_elsewhere": ("devices", "host", "has no devices of this host"),
    "devices_more": ("devices", "bundle", "60000"),
    "description_null": ("devices", "bundle", "has no description"),
    "compiled_null": ("compile", "compiler", "returns nothing"),
    "compiled_elsewhere": ("compile", "launch", "got 0 devices of this host"),
    "outputs_two": ("compile", "compiler", "the plugin reports 2 outputs of the compiled program"),
    "output_null": ("execute", "bundle", "returns no output"),
    "wrong_value": ("read", "device", "element 4 of x + y is 45; expected 44"),
    "not_a_number": ("read", "device", "element 3 of x + y is"),
    "unwritten": ("read", "device", "element 1 of x + y is nan"),
    "output_negative": ("read", "bundle", "has 18446744073709551600 bytes"),
    "serialized_null": ("serialize", "compiler", "7 bytes at no address"),
    "serialized_negative": ("serialize", "compiler", "18446744073709551615 bytes"),
    "reloaded_null": ("reload", "compiler", "returns nothing"),
    "wrong_value_again": ("execute-again", "device", "element 4 of x + y is 45; expected 44"),
}
# slot -> step and function
SLOTS = {
    "dlopen": ("load", "dlopen"), "GetPjrtApi": ("interface", "GetPjrtApi"),
    "initialize": ("initialize", "PJRT_Plugin_Initialize"), "attributes": ("attributes", "PJRT_Plugin_Attributes"),
    "client_create": ("client", "PJRT_Client_Create"), "platform_name": ("platform", "PJRT_Client_PlatformName"),
    "devices": ("devices", "PJRT_Client_Devices"), "compile": ("compile", "PJRT_Client_Compile"),
    "from_host": ("transfer", "PJRT_Client_BufferFromHostBuffer"), "event_await": ("transfer", "PJRT_Event_Await"),
    "execute": ("execute", "PJRT_LoadedExecutable_Execute"), "to_host": ("read", "PJRT_Buffer_ToHostBuffer"),
    "serialize": ("serialize", "PJRT_Executable_Serialize"), "load": ("reload", "PJRT_Executable_DeserializeAndLoad"),
    "device_memory": ("memory", "PJRT_Device_MemoryStats"), "client_destroy": ("close", "PJRT_Client_Destroy"),
}


class Probe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sliceup-probe-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(self.end_holders)

    def liar(self, lie):
        """A copy: then who holds it is of this test."""
        path = self.folder / f"{lie}.so"
        if not path.exists():
            shutil.copy(plugins.LIAR, path)
        return path

    def holders(self):
        """pids that have a plugin of this test mapped."""
        found = []
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            try:
                if f" {self.folder}/" in maps.read_text():
                    found.append(int(maps.parent.name))
            except OSError:
                continue
        return found

    def end_holders(self):
        for pid in self.holders():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def env(self):
        return {"PATH": os.environ["PATH"], "TMPDIR": str(self.folder), **lab.SANITIZERS}

    def run_probe(self, *args, bound_s=120, pass_fds=(), **more):
        done = subprocess.run([str(WORKER), "probe", *map(str, args)], env={**self.env(), **more}, timeout=bound_s,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape",
                              pass_fds=pass_fds, check=False)
        self.assertNotRegex(done.stderr, lab.REPORT)
        self.assertIn(done.returncode, (0, 1, 2, 3), done)
        return done

    def probe(self, plugin, *args, **more):
        done = self.run_probe("--plugin", plugin, "--json", *args, **more)
        self.assertEqual("", done.stderr)
        report = schema.document(done.stdout)
        self.assertEqual(report["works"], done.returncode == 0)
        self.assertEqual(report["works"], report["failure"] is None)
        return report

    def fails(self, plugin, step, layer, words, *args, **more):
        report = self.probe(plugin, *args, **more)
        self.assertFalse(report["works"], plugin)
        failure = report["failure"]
        self.assertEqual((step, layer), (failure["step"], failure["owner"]), failure)
        self.assertIn(words, failure["sentence"])
        self.assertTrue(failure["next"])
        self.assertEqual(["ok"] * (len(report["steps"]) - 1) + ["fails"], [s["state"] for s in report["steps"]])
        self.assertEqual(STEPS[:len(report["steps"])], [s["step"] for s in report["steps"]])
        return failure


class Liar(Probe):
    def test_one_that_tells_the_truth_works(self):
        report = self.probe(self.liar("good"))
        self.assertEqual(STEPS, [step["step"] for step in report["steps"]])
        self.assertEqual({"ok"}, {step["state"] for step in report["steps"]})
        self.assertEqual(("110", "110", "2", "1.13.3"), tuple(report["found"][name] for name in (
            "value", "value.again", "devices.here", "stablehlo_current_version")))
        self.assertEqual([], report["notes"])

    def test_every_lie_is_named_with_its_step_and_owner(self):
        for lie, (step, layer, words) in WRONG.items():
            with self.subTest(lie=lie):
                self.fails(self.liar(lie), step, layer, words)

    def test_a_crash_is_named_with_its_signal_and_function(self):
        for slot, (step, function) in SLOTS.items():
            with self.subTest(slot=slot):
                layer = "bundle" if STEPS.index(step) <= STEPS.index("attributes") else "unknown"
                self.fails(self.liar(f"crash-{slot}"), step, layer, f"in {function}: the plugin crashed with SIGSEGV")
        self.fails(self.liar("api_wild"), "interface", "bundle", "SIGSEGV")
        self.fails(self.liar("done-client_destroy"), "close", "unknown", "SIGSEGV")     # "done" was said, and is not so

    def test_an_abort_gives_the_line_that_says_why(self):
        failure = self.fails(self.liar("abort-compile"), "compile", "unknown", "crashed with SIGABRT")
        self.assertIn("it printed: F1121 15:00:00.000000 1 liar.cc:1] Check failed: it lies", failure["sentence"])
        self.assertIn("I0000 all is well", failure["printed"])

    def test_a_process_that_the_plugin_ends_with_success_is_no_success(self):
        for slot, (step, function) in SLOTS.items():
            with self.subTest(slot=slot):
                layer = "bundle" if STEPS.index(step) <= STEPS.index("attributes") else "unknown"
                self.fails(self.liar(f"exit-{slot}"), step, layer, "ended the probe, with exit status 0")

    def test_a_hang_is_killed_and_named(self):
        for slot in ("dlopen", "initialize", "client_create", "event_await", "execute", "client_destroy"):
            with self.subTest(slot=slot):
                step, function = SLOTS[slot]
                began = time.monotonic()
                failure = self.fails(self.liar(f"hang-{slot}"), step, "unknown", f"in {function}: the plugin had not finished after",
                                     "--timeout", HASTE)
                self.assertLess(time.monotonic() - began, 30)
                if slot == "client_create":
                    self.assertIn("waits until all its hosts make one", failure["sentence"])
                    self.assertIn("client: false", failure["next"])
                if slot == "initialize":
                    self.assertIn("TPU_SKIP_MDS_QUERY=1", failure["next"])

    def test_endless_output_neither_fills_memory_nor_moves_the_limit(self):
        failure = self.fails(self.liar("flood"), "initialize", "unknown", "had not finished after", "--timeout", SHORT)
        self.assertIn("and on and on", failure["printed"])
        self.assertLessEqual(len(failure["printed"]), 8 * 1024)

    def test_what_it_leaves_behind_is_ended(self):
        for lie in ("leave_child", "leave_daemon"):
            with self.subTest(lie=lie):
                report = self.probe(self.liar(lie))
                self.assertTrue(report["works"])
                self.assertEqual(["the plugin left 1 process running; the probe ended them"], report["notes"])
                self.assertEqual([], self.holders())
        for lie, notes in (("daemon_and_hang", ["the plugin left 1 process running; the probe ended them"]), ("change_group", [])):
            with self.subTest(lie=lie):
                report = self.probe(self.liar(lie), "--timeout", HASTE)
                self.assertIn("had not finished after", report["failure"]["sentence"])
                self.assertEqual(notes, report["notes"])
                self.assertEqual([], self.holders())

    def test_children_that_its_caller_had_are_left_alone(self):
        """A shell that becomes the probe leaves it its children."""
        words = f"sleep 120 >/dev/null & echo $!; exec {WORKER} probe --plugin {self.liar('leave_daemon')} --json"
        done = subprocess.run(["/bin/sh", "-c", words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, text=True, check=False, env=self.env())
        number, report = done.stdout.split("\n", 1)
        os.kill(int(number), signal.SIGKILL)    # ProcessLookupError: the probe ended it
        self.assertIn("left 1 process running", json.dumps(json.loads(report)["notes"]))

    def test_what_the_caller_holds_open_is_not_the_plugins(self):
        with open(self.folder / "lock", "w") as lock:
            high = fcntl.fcntl(lock, fcntl.F_DUPFD, 20)     # not where the probe puts its pipe
        self.addCleanup(os.close, high)
        failure = self.fails(self.liar("tell_place"), "initialize", "bundle", "SIGABRT", pass_fds=[high])
        self.assertIn("descriptor 3: socket:", failure["printed"])
        self.assertNotIn(str(self.folder), failure["printed"])

    def test_one_that_the_kernel_kills_did_not_crash(self):
        self.fails(self.liar("kill-compile"), "compile", "host", "in PJRT_Client_Compile: the probe was killed with SIGKILL, but not for its time limit")

    def test_what_a_plugin_lacks_is_said_and_no_failure(self):
        for lie, lacking in (("memory_lacks", {"memory"}), ("serialize_lacks", {"serialize"}),
                             ("load_lacks", {"reload"})):
            with self.subTest(lie=lie):
                report = self.probe(self.liar(lie))
                self.assertTrue(report["works"])
                self.assertEqual(lacking, {s["step"] for s in report["steps"] if s["state"] == "lacks"})
        report = self.probe(self.liar("memory_negative"))
        self.assertTrue(report["works"])
        self.assertEqual(2, len(report["notes"]), report["notes"])
        self.assertNotIn("program.bytes", report["found"])

    def test_late_functions_are_asked_for_only_where_the_structure_covers_them(self):
        self.assertEqual("48", self.probe(self.liar("good"))["found"]["program.bytes"])
        report = self.probe(self.liar("size_early"))
        self.assertTrue(report["works"])
        self.assertNotIn("program.bytes", report["found"])

    def test_an_attribute_that_is_there_twice_is_told_once(self):
        report = self.probe(self.liar("attributes_twice"))
        self.assertTrue(report["works"], report["failure"])
        self.assertEqual("1.13.3", report["found"]["stablehlo_current_version"])

    def test_a_later_interface_is_noted(self):
        notes = self.probe(self.liar("minor_later"))["notes"]
        self.assertTrue(any("0.900 is later than" in note for note in notes), notes)

    def test_without_a_client_nothing_is_asked_of_a_device(self):
        report = self.probe(self.liar("hang-client_create"), "--no-client", "--timeout", "60s")
        self.assertTrue(report["works"])
        self.assertEqual("attributes", report["steps"][-1]["step"])

    def test_options_get_there_with_their_types(self):
        options = ("count=4", "on=true", "part=0.5", "name=four", "text:string=4", "real:float=4", "empty=", "neg=-7")
        words = [word for option in options for word in ("--option", option)]
        printed = self.fails(self.liar("tell_options"), "client", "unknown", "these were the options", *words)["printed"]
        self.assertEqual(["option count type 1 of 1: 4", "option on type 4 of 1: 1", "option part type 3 of 1: 0.5",
                          "option name type 0 of 4: four", "option text type 0 of 1: 4", "option real type 3 of 1: 4",
                          "option empty type 0 of 0: ", "option neg type 1 of 1: -7"], printed.splitlines())

    def test_no_core_file_is_left(self):
        """Asked of the process itself: where a core file would go is the machine's own business."""
        words = f"ulimit -c unlimited && exec {WORKER} probe --plugin {self.liar('tell_place')} --json"
        env = self.env()
        env["ASAN_OPTIONS"] = f"{env.get('ASAN_OPTIONS', '')}:disable_coredump=0"      # else that is done already
        done = subprocess.run(["/bin/sh", "-c", words], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertIn("a core file has at most 0 bytes", json.loads(done.stdout)["failure"]["printed"])
        self.assertEqual([self.liar("tell_place")], list(self.folder.iterdir()))

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_it_works_in_a_folder_that_its_user_may_not_enter(self):
        closed = self.folder / "closed"
        closed.mkdir(mode=0o700)
        self.folder.chmod(0o755)
        done = subprocess.run([WORKER, "probe", "--plugin", self.liar("good"), "--json"], cwd=closed, env=self.env(), user=65534, group=65534,
                              extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((0, True), (done.returncode, json.loads(done.stdout)["works"]), done.stderr)

    def test_lines_end_with_the_verdict_and_are_safe_for_a_terminal(self):
        lines = self.run_probe("--plugin", self.liar("good")).stdout.splitlines()
        self.assertEqual(STEPS, [line.split()[0] for line in lines[:-1]])
        self.assertTrue(lines[-1].startswith("works: "), lines)
        done = self.run_probe("--plugin", self.liar("says-new"))
        self.assertEqual(1, done.returncode)
        self.assertTrue(done.stdout.splitlines()[-1].startswith("does not work (owner: unknown): step client, in PJRT_Client_Create"))
        self.assertNotIn("\x1b", done.stdout)


class Words(Probe):
    def test_wrong_words_are_refused_with_what_was_expected(self):
        for args, words in (((), "--plugin PATH"), (("--plugin",), "--plugin needs a value"),
                            (("--plugin", "x", "--timeout", "7"), "duration"),
                            (("--plugin", "x", "--option", "y"), "expected NAME=VALUE"),
                            (("--plugin", "x", "--option", "y:int64=z"), "is not of type int64"),
                            (("--plugin", "x", "--option", "y:list=1"), "is not a type"),
                            (("--plugin", "x", "--option", "a b=1"), "is not valid"),
                            (("--what",), "unknown option --what")):
            with self.subTest(args=args):
                done = self.run_probe(*args)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertIn(words, done.stderr)

    def test_help_teaches(self):
        done = self.run_probe("--help")
        self.assertEqual(0, done.returncode)
        for word in ("--option NAME=VALUE", "--no-client", "Exit status"):
            self.assertIn(word, done.stdout)

    def test_what_is_no_plugin_is_named(self):
        text = self.folder / "text.so"
        text.write_text("no library")
        os.mkfifo(self.folder / "pipe.so")
        self.fails(text, "load", "bundle", "Failed to open")
        self.fails(self.folder / "pipe.so", "file", "bundle", "is not a regular file")
        self.fails(self.folder / "none.so", "file", "bundle", "No such file or directory")
        libc = next(pathlib.Path("/lib").glob("*-linux-gnu/libm.so.6"))
        self.fails(libc, "load", "bundle", "GetPjrtApi not found in")


class Real(Probe):
    """Plugins that others built."""

    @classmethod
    def setUpClass(cls):
        cls.place = plugins.real()

    def test_each_works_all_the_way(self):
        for name, path in plugins.CPU.items():
            with self.subTest(plugin=name):
                report = self.probe(self.place / path, "--timeout", "5m", bound_s=400)
                self.assertTrue(report["works"], report["failure"])
                found = report["found"]
                self.assertEqual(("cpu", "110", "110"), (found["platform.name"], found["value"], found["value.again"]))
                self.assertGreaterEqual(int(found["api.minor"]), 81)
                self.assertEqual({"memory"}, {s["step"] for s in report["steps"] if s["state"] == "lacks"})

    def test_an_option_reaches_a_real_client(self):
        report = self.probe(self.place / plugins.CPU["xla-cpu-pjrt"], "--option", "cpu_device_count=3", "--timeout", "5m",
                            bound_s=400)
        self.assertTrue(report["works"], report["failure"])
        self.assertEqual("3", report["found"]["devices.here"])

    def test_a_real_one_that_aborts_is_named_in_its_own_words(self):
        """It takes the option for an int64 without looking (std::bad_variant_access)."""
        failure = self.fails(self.place / plugins.CPU["xla-cpu-pjrt"], "client", "unknown", "crashed with SIGABRT",
                             "--option", "cpu_device_count:string=many", "--timeout", "5m")
        self.assertIn("Unexpected index", failure["sentence"])


    def test_a_flag_that_a_real_one_does_not_know_is_the_launch_policys(self):
        """It ends the process, and has printed why."""
        failure = self.fails(self.place / plugins.CPU["xla-cpu-pjrt"], "client", "launch", "Unknown flag in XLA_FLAGS: "
                             "--sliceup_knows_no_such_flag", "--timeout", "5m", XLA_FLAGS="--sliceup_knows_no_such_flag=1")
        self.assertIn("ended the probe, with exit status 1", failure["sentence"])


class Rung(lab.LabTest):
    """As a rung, in a slice of four local hosts."""

    def slice(self, args, hosts=4, **more):
        self.links = self.lab.root / "plugins"
        self.links.mkdir(exist_ok=True)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "probe", "builtin": "probe", "timeout": "2m", "args": args, **more}])
        profile = self.lab.write("profile.yaml", "profile: probed\nfrontend: plain\nbackend: cpu\ndevices_per_host: 2\n"
                                                 "env: {SAID_BY: the-profile}\n")
        return self.lab.slice(hosts=hosts, ladder=str(ladder), profile=str(profile), limits={"retries": 0})

    def link(self, name):
        path = self.lab.root / "plugins" / f"{name}.so"
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(plugins.LIAR)
        return str(path)

    def test_a_real_plugin_proves_itself_on_every_host(self):
        plugin = str(plugins.real() / plugins.CPU["xla-cpu-pjrt"])
        self.passes(self.lab.sliceup("run", self.slice({"plugin": plugin, "options": {"cpu_device_count": 2}},
                                                       backend="required")))
        receipt = self.lab.receipt()
        for host in ("h0", "h1", "h2", "h3"):
            attempt = self.attempt(receipt, host, "probe")
            self.assertEqual("passed", attempt["outcome"])
            self.assertEqual([110.0, 110.0], [check["observed"] for check in attempt["checks"]])
            self.assertEqual(2, attempt["counters"]["executions"])
            self.assertIn('"pjrt-api": "0.81"', json.dumps(receipt))
        self.nothing_is_left()

    def test_a_backend_that_is_not_the_one_required_fails(self):
        ended = self.lab.sliceup("run", self.slice({"plugin": self.link("good")}, hosts=2, backend="required"))
        self.assertEqual(1, ended.status, ended)
        self.assertIn("the rung asks for backend cpu, but its program ran on lie", ended.out)

    def test_a_hang_ends_within_the_limit_and_names_its_step(self):
        ended = self.lab.sliceup("run", self.slice({"plugin": self.link("hang-client_create")}, timeout="8s"))
        self.assertEqual(1, ended.status, ended)
        self.assertIn("step client, in PJRT_Client_Create: the plugin had not finished after", ended.out)
        self.assertIn("h[0-3]", ended.out)
        self.nothing_is_left()

    def test_what_a_plugin_leaves_does_not_outlive_its_rung(self):
        ended = self.lab.sliceup("run", self.slice({"plugin": self.link("daemon_and_hang")}, hosts=2, timeout="6s"))
        self.assertEqual(1, ended.status, ended)
        self.assertIn("step initialize, in PJRT_Plugin_Initialize: the plugin had not finished after", ended.out)
        self.assertIn("the plugin left 1 process running", json.dumps(self.lab.receipt()))
        self.nothing_is_left()

    def test_the_plugins_own_words_are_the_cause(self):
        ended = self.lab.sliceup("run", self.slice({"plugin": self.link("says-busy")}))
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        cause = self.attempt(receipt, "h2", "probe")["cause"]
        self.assertEqual("device", cause["owner"])
        self.assertIn("open(/dev/vfio/0): Device or resource busy", json.dumps(cause))

    def test_without_a_client_it_passes_and_claims_nothing(self):
        self.passes(self.lab.sliceup("run", self.slice({"plugin": self.link("hang-client_create"), "client": False}, hosts=2)))
        attempt = self.attempt(self.lab.receipt(), "h1", "probe")
        self.assertEqual(("passed", []), (attempt["outcome"], attempt["checks"]))

    def test_a_plugin_among_the_packages_of_the_environment_is_found(self):
        ladder = self.lab.ladder("ladder.yaml", [
            {"id": "environment", "builtin": "restore", "timeout": "10m"},
            {"id": "probe", "builtin": "probe", "env": True, "timeout": "5m",
             "args": {"plugin": plugins.CPU["xla-cpu-pjrt"], "options": {"cpu_device_count": 2}}}])
        profile = self.lab.write("profile.yaml", "profile: probed\nfrontend: plain\nbackend: cpu\ndevices_per_host: 2\n")
        where = self.lab.slice(hosts=2, ladder=str(ladder), profile=str(profile), pins=str(plugins.PINS),
                               env_dir=str(lab.SHARED_ENVS / "pjrt-cpu"))
        self.passes(self.lab.sliceup("run", where, bound_s=600))
        facts = json.dumps(self.lab.receipt())
        self.assertIn(f"site-packages/{plugins.CPU['xla-cpu-pjrt']}", facts)


class Plan(lab.LabTest):
    def test_what_a_probe_cannot_be_is_refused_before_anything_runs(self):
        for rung, words in (({}, "a probe without a plugin"),
                            ({"args": {"plugin": "libtpu/libtpu.so"}}, "is relative, expected an absolute path"),
                            ({"args": {"plugin": "../x.so"}}, "leads out of the packages of the environment"),
                            ({"args": {"plugin": "/x.so", "chips": 4}}, "is not an argument of a probe"),
                            ({"args": {"plugin": "/x.so", "options": [1]}}, "expected a map of names"),
                            ({"args": {"plugin": "/x.so", "options": {"a": [1, 2]}}}, "the value of an option is a list"),
                            ({"args": {"plugin": "/x.so", "client": "yes"}}, "client is another value, expected true or false"),
                            ({"args": {"plugin": "/x.so", "client": False}, "backend": "required"}, "client: false with"),
                            ({"args": {"plugin": "/x.so"}, "scope": "slice"}, "a probe runs alone on its host")):
            with self.subTest(rung=rung):
                ladder = self.lab.ladder("ladder.yaml", [{"id": "probe", "builtin": "probe", **rung}])
                ended = self.lab.sliceup("check", self.lab.slice(ladder=str(ladder)))
                self.assertEqual(2, ended.status, ended)
                self.assertIn(words, ended.err + ended.out)


if __name__ == "__main__":
    unittest.main()
