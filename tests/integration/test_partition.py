"""Hosts cut off, paused, killed, rebooted, and coordinators that die, return or are two: always the right outcome, in
bounded time, nothing left running. Four real hosts over ssh (tests/lib/netlab.py), with limits of seconds."""
import re
import shutil
import signal
import time
import unittest

import held
import lab
import netlab

SUSPECT_S, LOST_S, ORPHAN_S, EXIT_S = 2, 5, 8, 12
SAID_EVERY_S = 4        # a worker hears its coordinator more often than every half of ORPHAN_S
LIMITS = {"join": "60s", "suspect": f"{SUSPECT_S}s", "lost": f"{LOST_S}s", "orphan": f"{ORPHAN_S}s",
          "exit": f"{EXIT_S}s", "cascade": "1s", "stop": "300ms"}
SLACK_S = 12            # for what a busy machine adds to a bound of the product
CONNECTION_S = 14       # libzmq gives a connection up 6 s after a ping, of which there is one every 2 s, without an answer
HALF_S = 2.4            # of being cut off: TCP sends again 3.0 s after the first loss; silence is longer than the cut


def here(seconds, others=1):
    """A command that takes its time on some hosts, {name: seconds}, and `others` on the rest."""
    cases = " ".join(f"{name}) exec sleep {value};;" for name, value in seconds.items())
    script = f"case $(hostname) in {cases} *) exec sleep {others};; esac"
    return {"id": "slow", "command": ["sh", "-c", script], "timeout": "2m"}


class Hosts(netlab.NetLabTest):
    COUNT = 4
    SHARED = (lab.CANARIES, lab.TOP / "worker" / "canaries")

    def begin(self, rungs, limits=None, at=1, **more):
        """A run whose rung number `at` is running on every host."""
        ladder = str(self.lab.ladder("ladder.yaml", rungs))
        run = self.lab.start("run", self.lab.slice(ladder=ladder, limits={**LIMITS, **(limits or {})}, **more))
        lab.wait_for(lambda: run.process.poll() is not None or self.runs_everywhere(at), "every host's program", 90)
        self.assertIsNone(run.process.poll(), f"the run ended before anything happened to it:\n{run.out}")
        return run

    def runs_everywhere(self, at):
        """Before the first rung there are only the shells that bring the workers; a session that is cut off stays."""
        begun = self.lab.count("pass-began") >= at
        return begun and all(host.programs() and not host.sessions() for host in self.lab.hosts)

    def held(self):
        folder = self.lab.files / self._testMethodName
        folder.mkdir()
        patient = held.Held(folder, [host.name for host in self.lab.hosts])
        self.addCleanup(patient.close)
        return patient

    def outcomes(self, rung="slow"):
        receipt = self.lab.receipt()
        return {host.name: self.attempt(receipt, host.name, rung)["outcome"] for host in self.lab.hosts}

    def cause(self, host, rung="slow"):
        return self.attempt(self.lab.receipt(), host, rung)["cause"]["text"]

    def ends(self, run, status, bound_s):
        """The run ends by itself with this status within the bound."""
        began = time.monotonic()
        ended = run.end(bound_s + 60)
        took_s = time.monotonic() - began
        self.assertEqual(status, ended.status, ended)
        self.assertLess(took_s, bound_s, ended)
        return ended

    def stops_itself(self, hosts, since):
        """Hosts to which nobody speaks end their program by the orphan limit and their worker by the exit limit."""
        lab.wait_for(lambda: not any(self.lab[name].programs() for name in hosts),
                     f"the programs of {hosts} to be ended by their workers",
                     max(since + ORPHAN_S + SLACK_S - time.monotonic(), 1))
        programs_s = time.monotonic() - since
        self.assertGreater(programs_s, ORPHAN_S - SAID_EVERY_S, "programs were ended before their time")
        self.assertTrue(all(self.lab[name].workers() for name in hosts),
                        "a worker left before its time, or ended its program only then")
        lab.wait_for(lambda: not any(self.lab[name].processes() for name in hosts), f"the workers of {hosts} to leave",
                     max(since + EXIT_S + SLACK_S - time.monotonic(), 1))
        workers_s = time.monotonic() - since
        self.assertGreater(workers_s, EXIT_S - SAID_EVERY_S, "workers left before their time")
        self.assertGreater(workers_s - programs_s, 1, "the program was ended by the exit limit only")
        print(f"    {', '.join(hosts)}: programs ended {programs_s:.1f} s, workers {workers_s:.1f} s after the cut")


WAYS = {"h1": {"outward": False}, "h2": {"inward": False}, "h3": {}}   # no word gets in; none gets out; neither


class CutOff(Hosts):
    def cut(self, hosts=tuple(WAYS)):
        for name in hosts:
            self.lab[name].cut(**WAYS[name])
        return time.monotonic()

    def test_a_cut_shorter_than_lost_is_only_a_suspicion_whichever_way_it_goes(self):
        run = self.begin([here({}, others=8), {"id": "above", "builtin": "facts"}])
        since = self.cut()
        run.wait_out(r"h[\[1-3].*(suspect|silent)", HALF_S + SLACK_S)
        lab.wait_for(lambda: time.monotonic() > since + HALF_S, "the end of the cut")
        for name in WAYS:
            self.lab[name].heal()
        ended = self.ends(run, 0, 60)
        self.assertEqual({"passed"}, set(self.outcomes().values()))
        self.assertNotIn(" lost", ended.out)
        self.assertRegex(ended.out, r"h\[?[1-3].* came back after (at least )?\d")
        told = [item["what"] for item in self.lab.receipt()["recoveries"]]
        whose = r"h[1-3] came back after \S+ s of silence: (its worker ran on, so the network was cut off|what it had sent came late, .*)$"
        self.assertTrue([what for what in told if re.match(whose, what)], told)
        self.assertFalse([what for what in told if "its worker stood still" in what], told)
        self.assertEqual(4, self.lab.count("host-joined"), "a worker had to join again")
        self.nothing_is_left()

    def test_a_survived_silence_says_whose_it_was(self):
        """h1 is stopped, h2 is cut off until its connection is given up, so that nothing waits in it."""
        patient = self.held()
        run = self.begin([patient.rung], limits={"lost": "90s", "orphan": "120s", "exit": "150s"})
        since = self.cut(["h2"])
        self.lab["h1"].pause()
        self.addCleanup(self.lab["h1"].resume)
        lab.wait_for(lambda: time.monotonic() > since + CONNECTION_S, "the connection to be given up", 2 * CONNECTION_S)
        self.lab["h1"].resume()
        self.lab["h2"].heal()
        stood, cut_off = "its worker stood still (stopped, frozen or swapping)", "its worker ran on, so the network was cut off"
        for host, why in (("h1", stood), ("h2", cut_off)):
            run.wait_out(rf"\] {host} came back after \d+ s of silence: {re.escape(why)}\n", 60)
        patient.let_go(["h0", "h1", "h2", "h3"])
        self.ends(run, 0, 60)
        told = [item["what"] for item in self.lab.receipt()["recoveries"]]
        for host, why in (("h1", stood), ("h2", cut_off)):
            self.assertTrue([what for what in told if what.startswith(f"{host} came back after ") and what.endswith(f" of silence: {why}")], told)
        for command in ("receipt", "explain"):
            self.assertIn(f" of silence: {stood}", " ".join(self.lab.sliceup(command).out.split()))
        self.nothing_is_left()

    def test_a_host_cut_off_for_good_is_named_whichever_way_and_stops_itself(self):
        run = self.begin([here({"h0": 2}, others=300), {"id": "above", "builtin": "facts"}])
        since = self.cut()
        ended = self.ends(run, 1, LOST_S + SLACK_S)
        self.assertEqual({"h0": "passed", "h1": "lost", "h2": "lost", "h3": "lost"}, self.outcomes())
        self.assertRegex(self.lab.receipt()["headers"][0]["sentence"], r"stopped at rung slow \(1 of 2\): h\[1-3\] lost: silent for ")
        self.assertFalse(self.lab["h0"].programs())
        self.stops_itself(sorted(WAYS), since)
        self.nothing_is_left()

    def test_a_lost_host_that_returns_is_told_to_stop_and_changes_no_verdict(self):
        """Healed before it is an orphan: what ends its program then is the coordinator's word."""
        patient = self.held()
        run = self.begin([patient.rung, {"id": "above", "builtin": "facts"}], limits={"orphan": "60s", "exit": "90s"})
        patient.let_go(["h1", "h2"])
        self.cut(["h3"])
        run.wait_out(r"h3 lost", LOST_S + SLACK_S)
        self.assertTrue(self.lab["h3"].programs(), "its program was ended though nobody could tell it to")
        self.lab["h3"].heal()
        run.wait_out(r"h3 joined again", 2 * SLACK_S)
        lab.wait_for(lambda: not self.lab["h3"].programs(), "the program of h3 to be ended as it is told", SLACK_S)
        self.assertTrue(self.lab["h0"].programs(), "h0 had to stop as well")
        patient.let_go(["h0"])
        ended = self.ends(run, 1, 60)
        wanted = {"h0": "passed", "h1": "passed", "h2": "passed", "h3": "lost"}
        self.assertEqual(wanted, self.outcomes(patient.name))
        self.assertIn("silent for ", self.cause("h3", patient.name))
        self.assertNotIn("two different results", ended.out)
        self.assertEqual(["h0", "h1", "h2", "h3"], patient.begun(), "a program was started again")
        self.nothing_is_left()

    def test_in_a_rung_of_the_slice_the_others_cascade(self):
        rung = self.lab.rung("slow", "marks.py", scope="slice", timeout="2m",
                             args={"file": str(self.lab.files / self._testMethodName), "seconds": 100})
        run = self.begin([rung, {"id": "above", "builtin": "facts"}])
        since = self.cut(["h2"])
        ended = self.ends(run, 1, LOST_S + SLACK_S)
        self.assertEqual({"h0": "cascade", "h1": "cascade", "h2": "lost", "h3": "cascade"}, self.outcomes())
        self.assertRegex(ended.out, r"h2 lost: silent for ")
        for name in ("h0", "h1", "h3"):
            self.assertFalse(self.lab[name].programs(), f"{name} still runs its program")
        self.assertLess(time.monotonic() - since, ORPHAN_S + SLACK_S)


class Asked(Hosts):
    """What is said of a host that fell silent: the machine was asked from the node, in time for the verdict."""

    def setUp(self):
        super().setUp()
        self.lab.node_run("sh", "-c", "echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")

    def part(self, host):
        return self.attempt(self.lab.receipt(), host, "slow")["cause"]

    def test_a_cut_link_a_killed_worker_and_a_machine_without_sshd_are_told_apart(self):
        self.addCleanup(self.lab["h3"].reboot)
        self.addCleanup(setattr, self.lab["h3"], "address", self.lab["h3"].address)
        self.lab["h3"].address = "h3"   # a name is not looked up: it is asked where its worker came from
        run = self.begin([here({"h1": 300, "h2": 300, "h3": 300}), {"id": "above", "builtin": "facts"}],
                         limits={"lost": "12s", "orphan": "20s", "exit": "40s"})
        self.lab["h1"].cut()
        for name in ("h2", "h3"):
            for pid in self.lab[name].workers():
                self.lab[name].run("kill", "-KILL", pid, check=False)
        self.lab["h3"].run("sh", "-c", "kill -KILL $(pgrep -x sshd)")
        ended = self.ends(run, 1, 12 + SLACK_S)
        said = {"h1": "answers nothing at 10.77.0.11 (ssh port, ping)",
                "h2": "answers on its ssh port, its worker does not", "h3": "refuses ssh at 10.77.0.13:22"}
        told = [item["what"] for item in self.lab.receipt()["recoveries"]]
        for host, words in said.items():
            self.assertIn(f"] {host} {words}\n", ended.out)
            self.assertIn(f"{host} {words}", told)
            self.assertLess(ended.out.index(words), ended.out.index(f"{host} lost: "), "the answer came after the loss")
        self.assertRegex(self.part("h1")["text"], r"^silent for 1\d s; it answers nothing \(ssh port, ping\)$")
        self.assertRegex(self.part("h2")["text"], r"^silent for 1\d s; it answers on its ssh port, its worker does not$")
        self.assertRegex(self.part("h3")["text"], r"^silent for 1\d s; it refuses ssh$")
        self.assertEqual("look at its console first: is it up?", self.part("h1")["next"])
        self.assertRegex(ended.out, r"(?m)^ +to go on with the 1 that are up: \S*sliceup run \S+ --min-hosts 1$")
        self.assertIn("console: the machine is up", self.part("h3")["next"])
        command = self.part("h2")["next"]
        self.assertRegex(command, r"^ssh -i \S+ .*root@10\.77\.0\.12 ")
        looked = self.lab.node_run("sh", "-c", command, check=False)
        self.assertLess(looked.returncode, 2, f"{command}: {looked.stdout}{looked.stderr}")
        self.assertNotIn("sliceup-worker", looked.stdout)
        self.assertIn("it answers on its ssh port", self.lab.sliceup("explain").out)


class Stopped(Hosts):
    def test_a_paused_host_is_lost_and_leaves_when_it_wakes(self):
        run = self.begin([here({"h3": 300}), {"id": "above", "builtin": "facts"}])
        self.lab["h3"].pause()
        ended = self.ends(run, 1, LOST_S + SLACK_S)
        self.assertEqual({"h0": "passed", "h1": "passed", "h2": "passed", "h3": "lost"}, self.outcomes())
        self.assertIn("h3 lost: silent for ", ended.out)
        self.assertTrue(self.lab["h3"].programs(), "nobody could have ended it")
        self.lab["h3"].resume()
        self.nothing_is_left(EXIT_S + SLACK_S)

    def test_a_killed_worker_is_lost_and_its_program_dies_with_it(self):
        run = self.begin([here({"h1": 300}), {"id": "above", "builtin": "facts"}])
        for pid in self.lab["h1"].workers():
            self.lab["h1"].run("kill", "-KILL", pid, check=False)
        lab.wait_for(lambda: not self.lab["h1"].processes(), "the program to die with its worker", 5)
        self.ends(run, 1, LOST_S + SLACK_S)
        self.assertEqual({"h0": "passed", "h1": "lost", "h2": "passed", "h3": "passed"}, self.outcomes())
        self.nothing_is_left()

    def test_a_rebooted_host_is_lost_and_can_take_part_again(self):
        run = self.begin([{"id": "facts", "builtin": "facts"}, here({"h2": 300})], at=2)
        self.lab["h2"].reboot()
        ended = self.ends(run, 1, LOST_S + SLACK_S)
        self.assertEqual({"h0": "passed", "h1": "passed", "h2": "lost", "h3": "passed"}, self.outcomes())
        self.assertIn("h2 lost: ", ended.out)
        self.nothing_is_left()
        boots = self.boot_ids()
        self.passes(self.lab.sliceup("run", self.lab.slice()))
        self.assertEqual(["h2"], [name for name, boot in self.boot_ids().items() if boot != boots[name]])
        self.nothing_is_left()

    def boot_ids(self):
        return {host["host"]: host["facts"]["boot_id"] for host in self.lab.receipt()["hosts"]}


class Coordinators(Hosts):
    def setUp(self):
        super().setUp()
        self.marks = self.lab.files / f"marks-{self._testMethodName}"

    def marked(self):
        return self.marks.read_text().splitlines() if self.marks.exists() else []

    def rung(self, name, seconds=0.3):
        return self.lab.rung(name, "marks.py", args={"file": str(self.marks), "seconds": seconds}, timeout="60s")

    def each_ran_once(self, rungs):
        wanted = sorted(f"{host.name} {rung} once 1" for host in self.lab.hosts for rung in rungs)
        self.assertEqual(wanted, sorted(self.marked()))

    def test_a_coordinator_that_stood_still_blames_nobody(self):
        """What its workers said meanwhile lies in its sockets: it is heard before anybody is given up."""
        patient = self.held()
        run = self.begin([patient.rung], limits={"orphan": "60s", "exit": "90s"})
        run.kill(signal.SIGSTOP)
        since = time.monotonic()
        lab.wait_for(lambda: time.monotonic() > since + LOST_S + 0.5, "more than the limit for a lost host")
        run.kill(signal.SIGCONT)
        patient.let_go()
        ended = self.ends(run, 0, 60)
        self.assertNotIn(" lost", ended.out)
        self.nothing_is_left()

    def test_a_coordinator_killed_at_several_moments_is_replaced_and_nothing_runs_again(self):
        rungs = ("low", "middle", "high")
        run = self.begin([self.rung("low", 2), self.rung("middle", 2), self.rung("high")])
        for moment, what in ((lambda: self.lab.count("attempt-ended") >= 1, "a first result"),
                             (lambda: len(self.marked()) >= 5, "a program of the second rung"),
                             (lambda: self.lab.count("attempt-ended") >= 8, "the end of the second rung")):
            lab.wait_for(lambda: run.process.poll() is not None or moment(), what, 60)
            if run.process.poll() is not None:
                break
            run.kill_and_reap()
            run = self.lab.start("resume")
        self.ends(run, 0, 60)
        self.each_ran_once(rungs)
        self.assertGreaterEqual(self.lab.count("epoch-began"), 3)
        self.assertTrue([item for item in self.lab.receipt()["recoveries"] if "coordinator" in item["what"]])
        self.nothing_is_left()

    def test_without_a_coordinator_every_host_stops_itself(self):
        run = self.begin([here({}, others=300)])
        run.kill_and_reap()
        self.stops_itself([host.name for host in self.lab.hosts], time.monotonic())
        self.nothing_is_left()

    def test_cancel_reaches_every_host(self):
        run = self.begin([here({}, others=300)])
        run.kill(signal.SIGINT)
        self.ends(run, 130, SLACK_S)
        self.nothing_is_left()

    def test_an_interrupted_run_holds_its_hosts_and_its_cancel_reaches_them(self):
        run = self.begin([here({}, others=300)], limits={"orphan": "60s", "exit": "90s"})
        run.kill_and_reap()
        interrupted = self.lab.run_folder().name[:8]
        slice_file = self.lab.slice(ladder=str(self.lab.ladder("short.yaml", [{"id": "facts", "builtin": "facts"}])))
        refused = self.lab.sliceup("run", slice_file)
        self.assertEqual(3, refused.status, refused)
        self.assertRegex(refused.err, rf"run {interrupted} .* may still have workers on h\[0-3\]: .* resume {interrupted},.* cancel {interrupted},")
        self.assertEqual(4, sum(bool(host.workers()) for host in self.lab.hosts))
        cancelled = self.lab.sliceup("cancel", interrupted)
        self.assertEqual(0, cancelled.status, cancelled)
        self.assertNotIn("without an answer", cancelled.out)
        self.nothing_is_left()
        self.assertEqual(0, self.lab.sliceup("run", slice_file).status)
        self.nothing_is_left()

    def test_a_second_coordinator_is_refused_while_the_first_lives(self):
        run = self.begin([here({}, others=6)])
        second = self.lab.sliceup("resume", bound_s=30)
        self.assertNotEqual(0, second.status, second)
        self.assertRegex(second.out + second.err, r"(?i)another|already|lives|drives")
        self.ends(run, 0, 60)
        self.assertEqual(1, self.lab.count("epoch-began"))
        self.nothing_is_left()

    def test_an_older_coordinator_that_comes_back_is_obeyed_by_no_worker(self):
        """The node hangs; its run is taken over from a copy of its folder, at its address; then the first returns."""
        limits = {"lost": "40s", "orphan": "60s", "exit": "90s"}
        rungs = ("low", "middle", "high")
        first = self.begin([self.rung("low"), self.rung("middle", 15), self.rung("high")], limits=limits)
        lab.wait_for(lambda: len(self.marked()) == 8, "the second rung on every host", 60)
        first.kill(signal.SIGSTOP)
        home = self.lab.home
        self.lab.home = self.lab.root / "taken-over"
        shutil.copytree(home, self.lab.home)
        other = self.lab.second_node()
        self.lab.move_address(self.lab.node, other)
        self.addCleanup(self.lab.move_address, other, self.lab.node)
        second = self.lab.start("resume", node=other)
        lab.wait_for(lambda: self.lab.count("host-joined") >= 8, "every worker to join the second coordinator", 60)

        self.lab.move_address(other, self.lab.node)
        self.hears_and_is_given_nothing(first, home)

        self.lab.move_address(self.lab.node, other)
        ended = self.ends(second, 0, 90)
        self.assertIn("3 of 3 rungs passed on h[0-3]", ended.out)
        self.each_ran_once(rungs)
        self.nothing_is_left()

    def facts_of(self, home):
        keep, self.lab.home = self.lab.home, home
        try:
            return [kind for _, kind in self.lab.facts()]
        finally:
            self.lab.home = keep

    def hears_and_is_given_nothing(self, first, home):
        """The workers find the first one again. None joins it, none brings it a result; it learns whom they obey, and leaves."""
        before = self.facts_of(home)
        first.kill(signal.SIGCONT)
        ended = first.end(60)
        self.assertEqual(5, ended.status, ended)
        self.assertRegex(ended.out, r"host h\d has joined epoch 2, but the last epoch in this journal is 1: the run was continued "
                                    r"from another copy of its folder")
        given = set(self.facts_of(home)[len(before):])
        names = {name for name, number in lab.FACTS.items() if number in given}
        self.assertIn("loss-told", names)
        self.assertFalse(names & {"host-joined", "attempt-ended", "pass-ended", "pass-began", "run-ended"}, names)


class Joiners(Hosts):
    """Launcher join: each host's worker was started by the host, and is started again by it."""

    def begin_by_ticket(self, rungs):
        self.tickets = self.lab.root / f"tickets-{self._testMethodName}"
        settings = {"slice": "slice", "launcher": "join", "profile": "plain",
                    "ladder": str(self.lab.ladder("ladder.yaml", rungs)), "cache": {"mode": "off"},
                    "hosts": [{"name": host.name, "address": host.address} for host in self.lab.hosts],
                    "coordinator": {"address": netlab.NODE, "control_port": 7100, "bulk_port": 7101},
                    "limits": {**LIMITS, "lost": "40s", "orphan": "60s", "exit": "90s"}}
        path = self.lab.write_settings("join.yaml", settings)
        self.passes(self.lab.sliceup("ticket", path, "--out", self.tickets))
        bundle = self.lab.files / "bundle"
        bundle.mkdir()
        lab.unpack_worker(bundle)
        for host in self.lab.hosts:
            self.come(host)
        run = self.lab.start("run", path)
        lab.wait_for(lambda: run.process.poll() is not None or self.runs_everywhere(1), "every host's program", 90)
        self.assertIsNone(run.process.poll(), f"the run ended before anything happened to it:\n{run.out}")
        return run

    def come(self, host):
        """As its init would start it; the ticket lies where no other host sees it."""
        ticket = self.tickets / f"{host.name}.ticket"
        host.run("sh", "-c", "umask 077; cat >/run/ticket", text=ticket.read_text())
        worker = f"{self.lab.files}/bundle/worker join --ticket /run/ticket --directory {netlab.DIRECTORY} --wait 60s"
        host.run("sh", "-c", f"exec setsid {worker} >/run/worker.log 2>&1 </dev/null &")

    def test_a_rebooted_host_is_told_from_a_restarted_worker(self):
        patient = self.held()
        run = self.begin_by_ticket([patient.rung])
        self.lab["h1"].reboot()
        for pid in self.lab["h2"].workers():
            self.lab["h2"].run("kill", "-KILL", pid, check=False)
        lab.wait_for(lambda: not self.lab["h2"].processes(), "everything of the worker of h2 to be gone", SLACK_S)
        for name in ("h1", "h2"):
            self.come(self.lab[name])
            run.wait_out(rf"held: {name} lost: ", 2 * SLACK_S)
        patient.let_go(["h0", "h3"])
        self.ends(run, 1, 60)
        wanted = {"h0": "passed", "h1": "lost", "h2": "lost", "h3": "passed"}
        self.assertEqual(wanted, self.outcomes(patient.name))
        self.assertEqual("the host was rebooted during the run", self.cause("h1", patient.name))
        self.assertEqual("its worker was restarted during the run", self.cause("h2", patient.name))
        self.assertEqual(["h0", "h1", "h2", "h3"], patient.begun(), "a program was started again")
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main()
