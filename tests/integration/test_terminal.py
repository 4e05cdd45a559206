"""A run watched in a real terminal (tmux): what is on the screen is what the receipt says, host by host; keys; hostile
text; the terminal is given back whatever happens. The screens are kept under tests/pictures of the build."""
import json
import os
import pathlib
import re
import resource
import signal
import unittest

import lab
import terminal
import tmux

HOSTS = {f"h{i}" for i in range(6)}
ENDED = r"(?m)^slice  run \w{8}  (PASSED|FAILED|LOST|TIMED-OUT|CANCELLED) "
COMPILING = r"(?m)^. *h\S+ +r .*compile"    # h[0-1] where both stand alike
LETTERS = {"passed": "P", "failed": "F", "timed-out": "T", "lost": "L", "cascade": "c", "blocked": "B", "cancelled": "X",
           "not-reached": "-"}


class Terminals(lab.LabTest):
    def on_terminal(self, name, *words, columns=80, rows=24, in_shell=False, **env):
        env = self.lab.env(**{"LANG": "C.UTF-8", **env})
        shown = tmux.Tmux(f"terminal-{name}", ["bash", "--norc", "-i"] if in_shell else [lab.SLICEUP, *words], env, columns, rows)
        self.addCleanup(shown.close)
        return shown

    def without_handler(self):
        """The sanitizer's, which ends the process in a way of its own."""
        return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"}

    def watch(self, name, *words, **more):
        return self.on_terminal(name, "watch", *words, **more)

    def slow(self, seconds=60, **more):
        return self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", [
            self.lab.rung("low", "slow.py", args={"seconds": seconds, "phases": ["compile"]})])), **more)

    def running(self):
        run = self.lab.start("run", self.slow())
        self.addCleanup(lambda: run.process.returncode is None and run.kill_and_reap())
        lab.wait_for(lambda: self.lab.count("pass-began"), "the pass", 30)
        return run


class WholeRun(Terminals):
    """h1 fails, h2 hangs to its limit, h3 falls silent for good, h0, h4 and h5 do well."""

    def begin(self):
        mixed = self.lab.rung("mixed", "mixed.py", timeout="9s",
                              args={"fails": "h1", "hangs": "h2", "seconds": 5})
        run = self.lab.start("run", self.lab.slice(
            hosts=6, ladder=str(self.lab.ladder("ladder.yaml", [{"id": "facts", "builtin": "facts"}, mixed])),
            limits={"suspect": "2s", "lost": "7s", "stop": "1s"}))
        lab.wait_for(lambda: self.lab.count("pass-began") == 2, lambda: f"the second pass: {run.out}", 10)
        return run

    def rows(self, screen):
        """host -> its letters: now, and of each rung."""
        rows = (line.lstrip("> *").split() for line in screen.splitlines())
        return {words[0]: words[1:4] for words in rows if words and words[0] in HOSTS and len(words) > 3 and len(words[1]) == 1}

    def agrees(self, screen):
        for entry in self.lab.receipt()["hosts"]:
            outcomes = {rung["rung"]: LETTERS[rung["outcome"]] for rung in entry["rungs"]}
            self.assertEqual(HOSTS, set(self.rows(screen)), screen)
            self.assertEqual([outcomes["facts"], outcomes["mixed"]], self.rows(screen)[entry["host"]][1:], screen)

    def test_screen_and_receipt_agree(self):
        run = self.begin()
        small, large = self.watch("80x24"), self.watch("200x50", columns=200, rows=50)
        small.press("e", "o", "o")    # a line a host, by rank
        large.press("e")
        worker = self.lab.worker_pids()["h3"]
        os.kill(worker, signal.SIGSTOP)
        self.addCleanup(lab.end_by_pid, worker)
        small.wait(r"(?m)^. *h1 +f .*failed so far")
        large.wait(r"(?m)^. *h3 +\? .*silent")
        self.opens_a_log_that_grows(small)
        small.wait(r"(?m)^. *h2 +r .*waits")
        small.keep("running")
        large.keep("running")
        self.filters(small)
        small.resize(60, 12)
        self.assertLessEqual(max(map(len, small.wait(r"(?m)^slice  run \w{8}  RUNNING").splitlines())), 60)
        small.resize(80, 24)
        self.assertEqual(1, run.end(60).status)
        for shown in (small, large):
            shown.wait(r"(?m)^. *h3 +L .*lost")
            self.agrees(shown.wait(ENDED))
            self.agrees(shown.keep("ended"))
        self.explains(small)
        self.reads_logs(small)
        self.misses_a_log(small)
        small.press("q")
        large.press("q")
        self.assertEqual((1, 1), (small.ended(), large.ended()))
        self.assertIn("slice slice: stopped at rung mixed", small.screen())

    def opens_a_log_that_grows(self, shown):
        shown.press("End")
        shown.wait(r"(?m)^> *h5 ")
        shown.press("Enter")
        shown.wait(r"(?m)^h5: rung mixed, once, attempt 1\nstep 0")
        shown.wait(r"(?m)^step [1-4]$")
        shown.wait(r"sliceup logs \w{8} --hosts h5")
        shown.keep("host")
        shown.press("Escape")

    def filters(self, shown):
        shown.press("/")
        shown.type("outcome:failed-so-far")
        shown.press("Enter")
        screen = shown.wait("5 of 6 hidden by /outcome:failed-so-far")
        self.assertEqual({"h1"}, set(self.rows(screen)), screen)
        shown.press("/", "C-u", "Enter")
        shown.wait(r"(?m)^. *h0 ")

    def explains(self, shown):
        shown.press("Home", "n", "Enter")
        screen = shown.wait(r"(?m)^h1  rank 1 ")
        cause = self.attempt(self.lab.receipt(), "h1", "mixed")["cause"]
        self.assertRegex(screen, re.escape(cause["text"][:30]) + r"[^;]*(\n[^;]*)?; whose: [a-z ]+")
        self.assertIn("broken \\x1b[2J\\x1b]0;owned\\x07 \\u{202e} <b>&\\u{9b}31m", screen)
        self.assertRegex(shown.keep("failed"), r"F failed")
        shown.press("Escape")

    def misses_a_log(self, shown):
        (self.lab.run_folder() / "logs" / "h5" / "mixed.once.1.log").unlink()
        shown.press("End", "Enter")
        shown.wait(r"(?m)^h5: rung mixed, once, attempt 1: no log here: nothing printed, or removed$")
        shown.press("Escape")

    def reads_logs(self, shown):
        shown.press("m", "Down", "m", "End", "m", "Up", "m", "l")
        screen = shown.wait(r"(?m)^h\[4-5\]: rung mixed, once, attempt 1$")
        self.assertRegex(screen, r"(?m)^h1: rung mixed, once, attempt 1$")
        shown.press("End")
        self.assertEqual(1, shown.wait("step 4").count("step 4"))
        shown.wait(r"sliceup logs \w{8} --hosts h1,h2,h5,h4")
        shown.press("Escape")


class Leaving(Terminals):
    def test_cancel_asks_and_does_what_the_command_does(self):
        run = self.running()
        shown = self.watch("cancel")
        shown.wait("compile")
        shown.press("s")
        shown.wait(r"sliceup stacks \w{8}")
        shown.press("Enter")
        shown.wait(r"(?m)^  stands: .*(sleeping|running)")
        shown.press("Escape")
        shown.press("c", "n")
        shown.wait("not cancelled")
        self.assertEqual(0, self.lab.count("cancel-asked"))
        shown.press("c")
        shown.wait("Cancel run .* y/N")
        shown.press("y")
        self.assertEqual(130, run.end(30).status)
        shown.wait(ENDED)
        shown.press("q")
        self.assertEqual(130, shown.ended())
        self.assertEqual("cancelled", self.lab.receipt()["outcome"])

    def test_a_monitor_key_reads_and_neither_cancels_nor_has_logs(self):
        self.running()
        key = self.lab.write("a.key", self.passes(self.lab.sliceup("monitor-key", "last")).out)
        key.chmod(0o600)
        shown = self.watch("key", "--key", key)
        shown.wait("compile")
        shown.press("c", "y")
        shown.wait("a monitor key does not allow it; on the coordinator's machine: sliceup cancel")
        shown.press("Enter")
        shown.wait("h0: its log is on the coordinator's machine")
        shown.wait(r"(?m)^on the coordinator's machine: sliceup logs \w{8} --hosts h0(  |$)")
        shown.press("Escape")
        shown.wait(rf"(?m)^sliceup status --key {key}(  |$)")
        self.assertEqual(0, self.lab.count("cancel-asked"))

    def test_whatever_ends_it_the_terminal_is_given_back(self):
        self.running()
        for number, status in ((signal.SIGTERM, 130), (signal.SIGSEGV, 139), (signal.SIGABRT, 134), (signal.SIGHUP, 130)):
            shown = self.watch(number.name, **self.without_handler())
            shown.wait("compile")
            os.kill(shown.pid(), number)
            self.assertEqual(status, shown.ended(), number.name)
            self.assertNotIn("? keys", shown.screen())
            shown.close()
        shown = self.watch("ctrl-c")
        shown.wait("compile")
        shown.press("C-c")
        self.assertEqual(130, shown.ended())
        self.assertEqual(0, self.lab.count("run-ended"))

    def test_a_terminal_that_takes_nothing_is_waited_for_by_nobody(self):
        run = self.running()
        shown = self.watch("stopped")
        shown.wait("compile")
        shown.press("C-s")
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, run.end(30).status)
        self.assertNotRegex(shown.screen(), ENDED)
        shown.press("C-q")
        shown.wait(ENDED)
        shown.press("C-s")
        os.kill(shown.pid(), signal.SIGTERM)
        lab.wait_for(lambda: shown.status.exists() and shown.status.read_text(), "an end without a terminal", 10)

    def test_what_is_typed_ahead_is_not_lost(self):
        self.running()
        gate = self.lab.files / "gate"
        os.mkfifo(gate)
        shown = self.on_terminal("ahead", in_shell=True)
        shown.type(f"read < {gate}; {lab.SLICEUP} watch")
        shown.press("Enter")
        with gate.open("w", encoding="utf-8") as opened:  # then the shell reads
            shown.press("j", "n", "?")  # of them the first two need a frame
            shown.wait(r"(?m)^jn\?$")
            opened.write("\n")
        shown.wait("Ctrl-L +draw everything again")

    def test_a_frame_that_no_pipe_would_take_is_whole(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=6, ladder=str(self.lab.ladder("ladder.yaml", [
            self.lab.rung("low", "slow.py", args={"seconds": 0, "phases": []})])))))
        for host in sorted(HOSTS):
            log = self.lab.run_folder() / "logs" / host / "low.once.1.log"
            log.parent.mkdir(exist_ok=True)
            log.write_text("".join(f"{host} line {line:02} {'x' * 740}\n" for line in range(20)))
        shown = self.watch("large", columns=800, rows=140)
        shown.wait(ENDED)
        for _ in HOSTS:
            shown.press("m", "Down")
        shown.press("l")
        shown.wait(r"(?m)^h5 line 19 x{740}$")
        self.assertEqual(120, len(re.findall(r"(?m)^h\d line \d\d x{740}$", shown.screen())))

    def test_bold_and_pale_cost_a_frame_few_bytes(self):
        self.running()
        shown = terminal.Terminal(["sh", "-c", '"$0" watch <> "$(tty)"', str(lab.SLICEUP)], self.lab.env(TERM="xterm-256color"))
        shown.read_until(rb"compile")
        os.write(shown.master, b"\x0c")
        shown.read_until(rb"\x1b\[H\x1b\[2J[^\0]*compile[^\0]*q leave")
        frame = shown.raw.rpartition(b"\x1b[H\x1b[2J")[2]
        self.assertIn(b"\x1b[0;1m", frame)
        self.assertLessEqual(frame.count(b"\x1b(B"), 2, frame)  # ASCII is chosen once a frame, and one more may have come
        os.write(shown.master, b"q")
        self.assertEqual(0, shown.end())

    def test_no_colour_ascii_and_other_terminals(self):
        self.running()
        shown = self.watch("ascii", NO_COLOR="1", LANG="C")
        self.assertTrue(shown.wait("compile").isascii())
        self.assertNotIn("\x1b[", shown.painted())
        shown.press("C-l")
        shown.wait("compile")
        shown.press("q")
        self.assertEqual(0, shown.ended())
        self.assertIn("\x1b[", self.coloured())

    def coloured(self):
        shown = self.watch("colours")
        shown.wait("compile")
        return shown.painted()


class OwnTerminal(Terminals):
    """The terminal in which `sliceup run` was typed."""

    def run_on_terminal(self, name, seconds=60, **more):
        shown = self.on_terminal(name, "run", self.slow(seconds), **more)
        shown.wait(COMPILING)
        return shown

    def stopped(self, name):
        """A run that a shell with job control started, stopped; and its pid."""
        shown = self.on_terminal(name, in_shell=True)
        shown.type(f"{lab.SLICEUP} run {self.slow(60)}")
        shown.press("Enter")
        shown.wait(COMPILING)
        coordinator = self.lab.status()["pid"]
        os.kill(coordinator, signal.SIGSTOP)
        shown.wait("Stopped")
        return shown, coordinator

    def test_it_has_keys_and_ends_by_itself(self):
        shown = self.run_on_terminal("own", seconds=6)
        shown.press("Enter")
        shown.wait(r"(?m)^h0: rung low, once, attempt 1")
        self.assertEqual(0, shown.ended())
        screen = shown.screen()
        self.assertEqual(1, screen.count("of slice slice: 2 hosts, 1 rung"), screen)
        self.assertRegex(screen, r"(?m)^. low +once +2 passed")
        self.assertRegex(screen, r"(?m)^slice slice: climbed to the top: 1 of 1 rungs passed")
        self.assertRegex(screen, r"(?m)^receipt:")
        self.assertNotIn("? keys", screen)

    def test_the_address_of_its_page_is_on_the_screen(self):
        shown = self.on_terminal("own-page", "run", self.slow(), "--web")
        shown.wait(r"(?m)^in a browser: http://127\.0\.0\.1:\d+/")
        shown.wait(COMPILING)
        self.assertRegex(shown.screen(), r"(?m)^in a browser: http://127\.0\.0\.1:\d+/\S*$")
        shown.press("C-c")
        self.assertEqual(130, shown.ended())

    def test_ctrl_c_asks_and_the_second_kills(self):
        shown = self.run_on_terminal("own-ctrl-c", columns=120)
        shown.press("C-c")
        self.assertEqual(130, shown.ended())
        screen = shown.screen()
        self.assertIn("cancelled", screen)
        self.assertIn("sliceup: stopping: asking the running rung to end", screen)

    def test_the_key_that_cancels_does_so_once(self):
        shown = self.on_terminal("own-thrice", "run", self.slow(60, limits={"stop": "4s"}))
        shown.wait(COMPILING)
        for worker in self.lab.worker_pids().values():  # nothing ends meanwhile
            os.kill(worker, signal.SIGSTOP)
            self.addCleanup(lab.end_by_pid, worker)
        for _ in range(3):
            shown.press("c")
            shown.wait("Cancel run .* y/N")
            shown.press("y")
        lab.wait_for(lambda: self.lab.count("cancel-asked") == 1, "the cancelling", 10)
        for worker in self.lab.worker_pids().values():
            os.kill(worker, signal.SIGCONT)
        self.assertEqual(130, shown.ended(40))
        self.assertNotIn("leaving without waiting", shown.screen())
        self.assertIn("cancelled", shown.screen())

    def test_an_abort_in_the_background_ends_it(self):
        shown, coordinator = self.stopped("own-abort")
        shown.type("bg")
        shown.press("Enter")
        lab.wait_for(lambda: self.lab.status()["pid"] == coordinator, "the run in the background", 10)
        os.kill(coordinator, signal.SIGABRT)
        lab.wait_for(lambda: not pathlib.Path(f"/proc/{coordinator}/exe").exists(), "the end of the process", 10)

    def test_a_signal_behind_ctrl_s_gives_the_screen_back(self):
        shown = self.run_on_terminal("own-stopped-term", 3)
        shown.press("C-s")
        lab.wait_for(lambda: next(self.lab.home.glob("runs/*/receipt.json"), None), "the receipt", 30)
        os.kill(shown.pid(), signal.SIGTERM)
        shown.ended()
        self.assertFalse(shown.has_screen())

    def test_cancelling_by_key_asks_first(self):
        shown = self.run_on_terminal("own-cancel")
        shown.press("c")
        shown.wait("Cancel run .* y/N")
        shown.press("y")
        self.assertEqual(130, shown.ended())
        self.assertEqual("cancelled", self.lab.receipt()["outcome"])

    def test_who_leaves_it_sees_lines(self):
        shown = self.run_on_terminal("own-left")
        shown.press("q")
        shown.wait(r"(?m)^> low|^. low +once")
        self.assertEqual(0, self.lab.count("cancel-asked"))
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, shown.ended())
        screen = shown.screen()
        self.assertRegex(screen, r"(?m)^\[ *\d+\.\d s\] cancelled: the running rung is asked to end")
        self.assertRegex(screen, r"sliceup: sliceup cancel \(pid \d+\) ends this run")

    def test_what_is_logged_is_a_note_and_stays_behind(self):
        shown = self.run_on_terminal("own-log", columns=120)
        self.passes(self.lab.sliceup("cancel"))
        self.assertEqual(130, shown.ended())
        grid, _, logged = shown.screen().partition("sliceup: sliceup cancel (pid ")
        self.assertRegex(grid, r"(?m)^. low +once")
        self.assertIn("ends this run", logged)
        self.assertNotIn("ends this run", grid)

    def test_a_stopped_terminal_does_not_stop_the_run(self):
        limits = {"orphan": "6s"}  # a coordinator that waits for its terminal would lose its workers
        shown = self.on_terminal("own-stopped", "run", self.slow(8, limits=limits))
        shown.wait("compile")
        shown.press("C-s")
        receipt = lab.wait_for(lambda: next(self.lab.home.glob("runs/*/receipt.json"), None), "the receipt", 60)
        self.assertEqual("passed", json.loads(receipt.read_text())["outcome"])
        self.assertFalse(shown.status.exists(), "it did not wait for its terminal: the test proves nothing")
        shown.press("C-q")
        self.assertEqual(0, shown.ended())
        self.assertFalse(shown.has_screen())
        self.assertNotIn("? keys", shown.screen())
        self.assertRegex(shown.screen(), r"(?m)^receipt:")

    def test_whatever_ends_it_the_terminal_is_given_back(self):
        for number, status in ((signal.SIGSEGV, 139), (signal.SIGABRT, 134)):
            shown = self.run_on_terminal("own-" + number.name, **self.without_handler())
            os.kill(shown.pid(), number)
            self.assertEqual(status, shown.ended(), number.name)
            self.assertFalse(shown.has_screen(), number.name)
            shown.close()
            resumed = self.on_terminal("own-resumed", "resume")
            resumed.wait(COMPILING)
            resumed.press("C-c")
            self.assertEqual(130, resumed.ended())
            self.assertIn("cancelled", resumed.screen())
            resumed.close()

    def test_without_descriptors_it_says_so(self):
        shown = self.run_on_terminal("own-descriptors")
        resource.prlimit(shown.pid(), resource.RLIMIT_NOFILE, (3, 3))
        os.kill(shown.pid(), signal.SIGABRT)  # as libzmq ends a process without any
        self.assertEqual(3, shown.ended())
        self.assertFalse(shown.has_screen())
        self.assertIn("this process cannot get more open files", shown.screen())

    def test_a_terminal_of_an_unknown_kind_stops_and_goes_on(self):
        shown = self.on_terminal("own-unknown", in_shell=True)
        shown.type(f"TERM=nonsense {lab.SLICEUP} run {self.slow(60)}")
        shown.press("Enter")
        shown.wait(r"low attempt 1 began")
        shown.press("C-z")
        shown.wait("Stopped")
        shown.type("fg")
        shown.press("Enter")
        self.passes(self.lab.sliceup("cancel"))
        lab.wait_for(lambda: self.lab.count("run-ended"), "the end", 20)
        shown.type("echo status $?")
        shown.press("Enter")
        shown.wait(r"(?m)^status 130$")  # and not that of the leak sanitizer

    def test_logs_that_are_redirected_are_not_held_back(self):
        errors = self.lab.files / "errors"
        shown = self.on_terminal("own-redirected", in_shell=True)
        shown.type(f"{lab.SLICEUP} run {self.slow(60)} 2> {errors}")
        shown.press("Enter")
        shown.wait(COMPILING)
        workers = self.lab.worker_pids().values()
        for worker in workers:  # the run does not end meanwhile
            os.kill(worker, signal.SIGSTOP)
            self.addCleanup(lab.end_by_pid, worker)
        shown.press("C-c")
        lab.wait_for(lambda: "stopping: asking the running rung to end" in errors.read_text(), "the log", 5)
        self.assertEqual(0, self.lab.count("run-ended"))
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
        lab.wait_for(lambda: self.lab.count("run-ended"), "the end", 30)

    def test_a_terminal_that_goes_away_does_not_keep_it(self):
        shown = self.run_on_terminal("own-gone", seconds=3)
        coordinator = self.lab.status()["pid"]
        shown.close()
        receipt = lab.wait_for(lambda: next(self.lab.home.glob("runs/*/receipt.json"), None), "the receipt", 30)
        self.assertEqual("passed", json.loads(receipt.read_text())["outcome"])
        lab.wait_for(lambda: not pathlib.Path(f"/proc/{coordinator}").exists(), "the end of the process", 10)

    def test_no_colour_ascii_and_sizes(self):
        shown = self.run_on_terminal("own-ascii", columns=40, rows=12, NO_COLOR="1", LANG="C")
        self.assertTrue(shown.screen().isascii())
        self.assertNotIn("\x1b[", shown.painted())
        shown.press("C-c")
        self.assertEqual(130, shown.ended())
        self.assertTrue(shown.screen().isascii())

    def test_in_the_background_it_neither_reads_nor_draws(self):
        shown, coordinator = self.stopped("own-background")
        shown.type("bg; echo typed $((6 * 7))")
        shown.press("Enter")
        shown.wait("typed 42")
        now = self.lab.status()["now_ms"]
        lab.wait_for(lambda: self.lab.status()["now_ms"] > now + 1000, "a second of the run", 10)
        self.assertNotEqual("T", pathlib.Path(f"/proc/{coordinator}/stat").read_text().rpartition(")")[2].split()[0])
        self.assertIn("typed 42", shown.screen())  # a frame would have covered it
        shown.type("fg")
        shown.press("Enter")
        shown.wait(COMPILING)
        shown.press("C-c")
        lab.wait_for(lambda: self.lab.count("run-ended"), "the end", 20)


if __name__ == "__main__":
    unittest.main()
