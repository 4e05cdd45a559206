"""trial.py - one run in a lab to which something happens, and what was seen of it on every host.

The program of each host waits until the trial lets it end (a fifo in a folder that all hosts share), so nothing here
depends on how long something takes: a trial cuts, heals, kills and resumes while the programs stay as they are.
"""
import os
import re
import signal
import time

import held
import lab
import netlab

# In seconds. TCP sends what was lost again 0.2, 0.6, 1.4, 3.0, 6.2 s after the first loss: 2.5 s of silence on the wire
# are 4.0 s for who waits for a heartbeat a second, so with `lost` at 5 s a cut of half of it is surely survived.
LIMIT_S = {"suspect": 2, "lost": 5, "orphan": 9, "exit": 24}
LIMITS = {**{name: f"{value}s" for name, value in LIMIT_S.items()}, "join": "60s", "cascade": "1s", "stop": "300ms"}
HOSTS = ("h0", "h1", "h2", "h3", "h4")
SLACK_S = 8             # what a busy machine may add to any bound of the product
POLL_S = 0.25


class Trial:
    """The verbs of which cells.py is made. Everything it starts ends with `finish`, whatever happened before."""

    def __init__(self, laboratory, number):
        self.lab, self.number = laboratory, number
        self.place = laboratory.files / f"trial-{number}"
        self.place.mkdir()
        self.marks = self.place / "marks"
        laboratory.home = laboratory.root / f"home-{number}"
        self.run, self.epochs, self.since = None, [], None
        self.programs_gone, self.workers_gone, self.helds = {}, {}, {}

    # ---- what runs ----

    def hold(self, name="hold"):
        """A rung whose programs wait to be let go."""
        self.helds[name] = held.Held(self.place, HOSTS, name)
        return self.helds[name].rung

    def let_go(self, hosts=HOSTS):
        self.helds["hold"].let_go(hosts)

    def begin(self, rungs, running=None):
        """A run whose first rung's program runs on every host."""
        self.start("run", self.slice(rungs))
        self.until(running or self.everywhere, "the program on every host", 90)

    def slice(self, rungs, **limits):
        ladder = self.lab.ladder(f"{self.number}.yaml", rungs)
        return self.lab.slice(ladder=str(ladder), limits={**LIMITS, **limits})

    def start(self, *args):
        self.run = self.lab.start(*args)
        self.epochs.append(self.run)

    def everywhere(self):
        begun = set(self.helds["hold"].begun())
        return begun == set(HOSTS) and not any(host.sessions() for host in self.lab.hosts)

    def marked(self):
        """A line for each program that began: "h0 hold", or what marks.py writes."""
        lines = [f"{host} {name}" for name, rung in self.helds.items() for host in rung.begun()]
        return lines + (self.marks.read_text().splitlines() if self.marks.exists() else [])

    def until(self, condition, what, bound_s):
        """Waits for the condition while the run goes on."""
        lab.wait_for(lambda: self.run.process.poll() is not None or condition(), what, bound_s)
        if self.run.process.poll() is not None and not condition():
            raise AssertionError(f"the run ended while {what} was awaited:\n{self.run.end(5).out}")

    def kill_coordinator(self):
        self.run.kill_and_reap()

    # ---- time ----

    def happens(self):
        """From here on it is counted and watched."""
        self.since = time.monotonic()

    def now_s(self):
        return time.monotonic() - self.since

    def look(self, hosts=HOSTS):
        """Notes when a host was first seen without its program, and without its worker."""
        for name in hosts:
            if name in self.workers_gone:
                continue
            host = self.lab[name]
            workers, everything = set(host.workers()), set(host.processes())
            if not workers:
                self.workers_gone[name] = self.now_s()
            if not everything - workers - set(host.sessions()):
                self.programs_gone.setdefault(name, self.now_s())

    def pass_time(self, until_s, enough=lambda: False):
        """Watches the hosts until so much has passed since it happened, or enough was seen."""
        while self.now_s() < until_s and not enough():
            self.look()
            rest_s = max(min(POLL_S, until_s - self.now_s()), 0.01)
            lab.wait_for(lambda at=time.monotonic() + rest_s: time.monotonic() >= at, "a moment", 60)

    # ---- what became of it ----

    def said(self, pattern):
        return any(re.search(pattern, epoch.out) for epoch in self.epochs)

    def came_back(self, host):
        return self.said(rf"(?m)^\[[^]]*s\] {host} joined again")

    def recovered(self, host, words):
        """As the receipt of the run has it: "h1 was lost: silent for 5 s", "h1 joined again (session 12)"."""
        return any(re.match(rf"{host} {words}", entry["what"]) for entry in self.lab.receipt()["recoveries"])

    def status(self, bound_s):
        """The exit status of the run's last coordinator; None when it does not end in time."""
        try:
            lab.wait_for(lambda: self.run.process.poll() is not None, "the end", bound_s)
        except AssertionError:
            return None
        return self.run.end(10).status

    def outcome(self, host, rung="hold"):
        hosts = {entry["host"]: entry for entry in self.lab.receipt()["hosts"]}
        found = [entry for entry in hosts[host]["rungs"] if entry["rung"] == rung]
        return found[-1]["outcome"] if found else "never began"

    def cause(self, host, rung="hold"):
        hosts = {entry["host"]: entry for entry in self.lab.receipt()["hosts"]}
        found = [entry for entry in hosts[host]["rungs"] if entry["rung"] == rung]
        return found[-1]["cause"]["text"] if found else ""

    def empties(self, bound_s):
        """{host: words} of what is left anywhere after the bound; {} as soon as nothing is."""
        try:
            lab.wait_for(lambda: not self.lab.left_running(), "everything to be gone", bound_s)
        except AssertionError:
            return self.lab.left_running()
        return {}

    def finish(self):
        """The lab as it was, for the next trial, also when this one failed half way."""
        for coordinator in self.epochs:
            if coordinator.process.poll() is None:
                coordinator.kill()
                coordinator.end(30)
        for pid in self.lab.node_processes():
            os.kill(pid, signal.SIGKILL)
        for host in self.lab.hosts:
            host.heal()
            for pid in host.processes():
                host.run("kill", "-KILL", pid, check=False)
        for rung in self.helds.values():
            rung.close()
        self.lab.running.clear()


def laboratory():
    return netlab.NetLab(len(HOSTS), shared=(lab.CANARIES, lab.TOP / "worker" / "canaries"))
