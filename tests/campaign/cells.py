"""cells.py - the campaign's cells: what happens, and which outcome is right. docs/lab.md tells the rules in words.

A trial returns its cells as (name, what is right, what was seen, whether it is that). Where a silence is so close to a
limit that TCP's repetitions decide on which side it falls, either outcome is right, but one of them has to be there as
a whole.
"""
import signal
import time

from trial import HOSTS, LIMIT_S, SLACK_S

SUSPECT_S, LOST_S, ORPHAN_S, EXIT_S = LIMIT_S.values()
FACTORS = (0.5, 1, 2, 10)
WAYS = {"h1": "cut inwards", "h2": "cut outwards", "h3": "cut both ways", "h4": "paused"}
RETURN_S = 8            # to be heard again after a cut: longest pause between connects 5 s, and HELLO every second
SAID_EVERY_S = 4        # a worker hears its coordinator at least as often: ORPHAN_S / 4, told with a beat a second
BACK_IN_TIME_S = LOST_S / 2
SURELY_LOST_S = LOST_S + 1
SURELY_ORPHANED_S = ORPHAN_S * 2
SURELY_BACK_S = EXIT_S / 2
SURELY_LEFT_S = EXIT_S * 2


def begin_fault(trial, host):
    one = trial.lab[host]
    {"h1": lambda: one.cut(outward=False), "h2": lambda: one.cut(inward=False), "h3": one.cut, "h4": one.pause}[host]()


def end_fault(trial, host):
    if host == "h4":
        trial.lab[host].resume()
    else:
        trial.lab[host].heal()


class Sight:
    """What is wrong with one cell; nothing is, until it is said."""

    def __init__(self):
        self.wrong, self.seen = [], []

    def must(self, good, words):
        if not good:
            self.wrong.append(words)

    def cell(self, name, right):
        return name, right, "; ".join(self.wrong or self.seen), not self.wrong


def ends_by(sight, trial, host, when, latest_s, what, earliest_s=None):
    """Something on the host is gone, not before and not after these moments."""
    gone = when.get(host)
    became = "lived on" if gone is None else f"went after {gone:.0f} s"
    sight.must(gone is not None and gone <= latest_s, f"its {what} {became}, expected within {latest_s:.0f} s")
    if gone is not None and earliest_s is not None:
        sight.must(gone >= earliest_s, f"its {what} went after {gone:.0f} s, expected not before {earliest_s:.0f} s")


# ---- a silence of a host ----

def silence(limit, factor, program):
    """Four hosts fall silent, each in its way; `program` of theirs outlasts the silence, ends in it, or is left alone:
    then the coordinator goes as soon as it has given them up."""
    span_s = LIMIT_S[limit] * factor

    def happen(trial):
        trial.begin([trial.hold()])
        trial.happens()
        for host in WAYS:
            begin_fault(trial, host)
        if program == "left alone":
            trial.let_go(["h0"])
        trial.pass_time(span_s / 2)
        if program == "ends meanwhile":
            trial.let_go(WAYS)
        trial.pass_time(span_s)
        for host in WAYS:
            end_fault(trial, host)
        trial.healed_s = trial.now_s()
        if program != "left alone":
            come_to_rest(trial)
        status = trial.status(LOST_S + 3 * SLACK_S)
        trial.pass_time(max(trial.now_s(), EXIT_S, trial.healed_s if program == "left alone" else 0) + SLACK_S,
                        lambda: len(trial.workers_gone) == len(HOSTS))
        left = trial.empties(1)
        return [judge_silence(trial, host, status, left, span_s, program) for host in WAYS]

    def come_to_rest(trial):
        """Whoever was given up is back or has left; the others' programs may end; then h0's, and with it the run."""
        trial.let_go(host for host in WAYS if span_s <= BACK_IN_TIME_S)
        trial.pass_time(trial.now_s() + RETURN_S + SLACK_S, lambda: span_s <= BACK_IN_TIME_S or all(
            trial.came_back(host) or host in trial.workers_gone for host in WAYS))
        trial.let_go(WAYS)
        trial.let_go(["h0"])

    return f"{limit} x {factor}, {program}", span_s, happen


def judge_silence(trial, host, status, left, span_s, program):
    sight = Sight()
    outcome, lost = trial.outcome(host), trial.recovered(host, "was lost")
    sight.seen.append(f"{outcome}{', lost' if lost else ''}{', back' if trial.came_back(host) else ''}")
    right = what_is_right(span_s)
    sight.must(outcome == ("lost" if lost else "passed"), f"{outcome}, though {'' if lost else 'not '}lost")
    sight.must(right != "passed" or not lost, f"lost after a silence of {span_s} s")
    sight.must(right != "lost" or lost, f"not lost after a silence of {span_s} s")
    sight.must(trial.outcome("h0") == "passed", f"h0, to which nothing happened, is {trial.outcome('h0')}")
    any_lost = any(trial.recovered(one, "was lost") for one in WAYS)
    sight.must(status == int(any_lost), f"exit status {status} instead of {int(any_lost)}")
    sight.must(trial.marked().count(f"{host} hold") == 1, "its program was started again")
    sight.must(not trial.said(rf"{host} sent two different results"), "it was said to have sent two results")
    sight.must(not left, f"left running: {left}")
    judge_stopping(sight, trial, host, span_s, program, lost)
    return sight.cell(f"{WAYS[host]}, {program}", right)


def what_is_right(span_s):
    return "passed" if span_s <= BACK_IN_TIME_S else "lost" if span_s >= SURELY_LOST_S else "either"


def judge_stopping(sight, trial, host, span_s, program, lost):
    """When the program and the worker of a host that was given up ended."""
    if not lost:
        return
    healed_s, paused = trial.healed_s, host == "h4"
    back_s = healed_s + RETURN_S + SLACK_S
    if program != "ends meanwhile" and not paused and span_s >= SURELY_ORPHANED_S:
        ends_by(sight, trial, host, trial.programs_gone, ORPHAN_S + SLACK_S, "program", ORPHAN_S - SAID_EVERY_S)
    elif program == "left alone":
        ends_by(sight, trial, host, trial.programs_gone, max(ORPHAN_S, healed_s if paused else 0) + SLACK_S, "program")
    else:
        ends_by(sight, trial, host, trial.programs_gone, back_s, "program")
    if program == "left alone":
        ends_by(sight, trial, host, trial.workers_gone, max(EXIT_S, healed_s if paused else 0) + SLACK_S, "worker",
                EXIT_S - SAID_EVERY_S)
    elif span_s <= SURELY_BACK_S:
        sight.must(trial.came_back(host), f"it was not back {RETURN_S + SLACK_S} s after it could be")
    elif span_s >= SURELY_LEFT_S and not paused:
        ends_by(sight, trial, host, trial.workers_gone, EXIT_S + SLACK_S, "worker", EXIT_S - SAID_EVERY_S)


def silences():
    for limit, span_s in LIMIT_S.items():
        for factor in FACTORS:
            for program in ("outlasts it", "ends meanwhile", "left alone"):
                if program != "left alone" or span_s * factor >= SURELY_LOST_S:
                    yield silence(limit, factor, program)


# ---- a silence of one host of a program of the slice ----

def in_a_slice(host, span_s, right):
    def happen(trial):
        marks = str(trial.marks)
        rung = trial.lab.rung("slow", "marks.py", scope="slice", timeout="5m", args={"file": marks, "seconds": 12})
        trial.begin([rung], lambda: len(trial.marked()) == len(HOSTS))
        trial.happens()
        begin_fault(trial, host)
        trial.pass_time(span_s)
        end_fault(trial, host)
        status = trial.status(60)
        sight = Sight()
        outcomes = {one: trial.outcome(one, "slow") for one in HOSTS}
        sight.seen.append(" ".join(f"{one} {outcome}" for one, outcome in outcomes.items()))
        cascade = {one: "lost" if one == host else "cascade" for one in HOSTS}
        wanted = cascade if right == "cascade" else dict.fromkeys(HOSTS, "passed")
        sight.must(outcomes == wanted, f"{outcomes}")
        sight.must(status == int(right == "cascade"), f"exit status {status}")
        left = trial.empties(EXIT_S + SLACK_S)
        sight.must(not left, f"left running: {left}")
        return [sight.cell(f"{WAYS[host]} for {span_s} s", right)]

    return f"a program of the slice, {WAYS[host]}, {span_s} s", span_s + 12, happen


# ---- something on a host is killed ----

def kill_worker(trial, host):
    for pid in trial.lab[host].workers():
        trial.lab[host].run("kill", "-KILL", pid, check=False)


def end_worker(trial, host):
    """SIGTERM to the worker itself; its init process is a child of it."""
    trial.lab[host].kill(trial.lab[host].workers()[0], signal.SIGTERM)


def cut_and_kill(trial, host):
    trial.lab[host].cut()
    kill_worker(trial, host)


def reboot(trial, host):
    trial.lab[host].reboot()


KILLS = {"h1": ("worker killed", kill_worker), "h2": ("worker told to end", end_worker),
         "h3": ("worker killed behind a cut", cut_and_kill), "h4": ("rebooted", reboot)}


def kills():
    def happen(trial):
        trial.begin([trial.hold(), trial.hold("above")])
        trial.happens()
        for host, (_, kill) in KILLS.items():
            kill(trial, host)
        trial.pass_time(LOST_S + SLACK_S, lambda: len(trial.workers_gone) == len(KILLS))
        trial.let_go(["h0"])
        status = trial.status(LOST_S + 2 * SLACK_S)
        left = trial.empties(SLACK_S)
        return [judge_kill(trial, host, name, status, left) for host, (name, _) in KILLS.items()]

    return "kills", 20, happen


def judge_kill(trial, host, name, status, left):
    sight = Sight()
    sight.seen.append(f"{trial.outcome(host)}: {trial.cause(host)}")
    sight.must(trial.outcome(host) in ("lost", "cancelled"), f"{trial.outcome(host)}")
    sight.must(trial.outcome("h0") == "passed", f"h0, to which nothing happened, is {trial.outcome('h0')}")
    sight.must(status == 1, f"exit status {status}")
    sight.must(not [line for line in trial.marked() if "above" in line], "the next rung was begun")
    sight.must(not left, f"left running: {left}")
    ends_by(sight, trial, host, trial.programs_gone, SLACK_S, "program")
    ends_by(sight, trial, host, trial.workers_gone, SLACK_S, "worker")
    return sight.cell(name, trial.outcome(host))


# ---- the coordinator is gone for a while ----

def judge_coordinator(trial, name, right, rungs, status, left, more=lambda sight: None):
    """`right`: passed, lost (on every host, of the rung that ran), either."""
    sight = Sight()
    outcomes = [trial.outcome(host, rung) for rung in rungs for host in HOSTS]
    kinds = set(outcomes) - {"never began"}
    sight.seen.append(", ".join(sorted(kinds)))
    passed = status == 0 and set(outcomes) == {"passed"}
    stopped = status == 1 and kinds <= {"lost", "passed"} and "lost" in kinds
    sight.must(passed if right == "passed" else stopped if right == "lost" else passed or stopped,
               f"exit status {status}, outcomes {outcomes}: {trial.cause('h1', rungs[0])}")
    once = sorted(set(trial.marked())) == sorted(trial.marked())
    sight.must(once, f"programs were started again: {trial.marked()}")
    sight.must(not left, f"left running: {left}")
    more(sight)
    return sight.cell(name, right)


def absence(limit, factor):
    """The coordinator is killed while every program runs, and resumed after a while."""
    span_s = LIMIT_S[limit] * factor

    def happen(trial):
        trial.begin([trial.hold()])
        trial.kill_coordinator()
        trial.happens()
        trial.pass_time(span_s)
        trial.start("resume")
        lab_bound_s = trial.now_s() + RETURN_S + SLACK_S
        trial.pass_time(lab_bound_s, lambda: trial.run.process.poll() is not None or
                        all(trial.came_back(host) for host in HOSTS))
        trial.let_go()
        status = trial.status(LOST_S + RETURN_S + 2 * SLACK_S)
        trial.pass_time(trial.now_s() + SLACK_S, lambda: len(trial.workers_gone) == len(HOSTS))
        left = trial.empties(EXIT_S)

        def stopping(sight):
            if span_s < SURELY_ORPHANED_S:
                return
            for host in HOSTS:
                ends_by(sight, trial, host, trial.programs_gone, ORPHAN_S + SLACK_S, "program",
                        ORPHAN_S - SAID_EVERY_S)
                if span_s >= SURELY_LEFT_S:
                    ends_by(sight, trial, host, trial.workers_gone, EXIT_S + SLACK_S, "worker", EXIT_S - SAID_EVERY_S)

        right = "passed" if span_s <= BACK_IN_TIME_S else "lost" if span_s > ORPHAN_S else "either"
        return [judge_coordinator(trial, "killed, resumed later", right, ["hold"], status, left, stopping)]

    return f"coordinator, {limit} x {factor}", span_s, happen


def stands_still(span_s, right):
    """The coordinator is stopped and goes on: what was said to it meanwhile lies in its sockets."""
    def happen(trial):
        trial.begin([trial.hold()])
        trial.happens()
        trial.run.kill(signal.SIGSTOP)
        trial.pass_time(span_s)
        trial.run.kill(signal.SIGCONT)
        trial.pass_time(span_s + RETURN_S)
        trial.let_go()
        status = trial.status(LOST_S + 2 * SLACK_S)
        left = trial.empties(EXIT_S + SLACK_S)
        return [judge_coordinator(trial, f"stopped for {span_s} s", right, ["hold"], status, left)]

    return f"coordinator stopped {span_s} s", span_s, happen


MOMENTS = {
    "as soon as it began": lambda trial: trial.lab.count("epoch-began") >= 1,
    "while keys come": lambda trial: trial.lab.count("host-keyed") >= 1,
    "when all keys are there": lambda trial: trial.lab.count("host-keyed") == len(HOSTS),
    "while hosts join": lambda trial: trial.lab.count("host-joined") >= 1,
    "when a pass begins": lambda trial: trial.lab.count("pass-began") >= 1,
    "at the first result": lambda trial: trial.lab.count("attempt-ended") >= 1,
    "at the end of a rung": lambda trial: trial.lab.count("pass-ended") >= 1,
    "in the second rung": lambda trial: trial.lab.count("pass-began") >= 2,
    "at the last result": lambda trial: trial.lab.count("attempt-ended") >= 2 * len(HOSTS),
    "at the end of the run": lambda trial: trial.lab.count("run-ended") >= 1,
}


def killed_at(name, twice=False):
    """Killed at a moment of a run of two short rungs, resumed at once; `twice`: the next one as soon as it began."""
    def happen(trial):
        args = {"file": str(trial.marks), "seconds": 1}
        rungs = [trial.lab.rung(rung, "marks.py", args=args) for rung in ("low", "high")]
        trial.start("run", trial.slice(rungs, orphan="60s", exit="90s"))
        trial.until(lambda: MOMENTS[name](trial), name, 90)
        trial.happens()
        for epoch in range(2 if twice else 1):
            trial.kill_coordinator()
            trial.start("resume")
            if twice and epoch == 0:
                trial.until(lambda: trial.lab.count("epoch-began") >= 2, "the second epoch", 30)
        status = trial.status(90)
        return [judge_coordinator(trial, name + (", twice" if twice else ""), "passed", ["low", "high"], status,
                                  trial.empties(2 * SLACK_S))]

    return f"coordinator killed {name}{', twice' if twice else ''}", 15, happen


def killed_while_cut(span_s, right):
    """Killed while h1 is cut off, and resumed at once; the cut ends later, or never."""
    def happen(trial):
        trial.begin([trial.hold()])
        trial.happens()
        trial.lab["h1"].cut()
        trial.pass_time(0.5)
        trial.kill_coordinator()
        trial.start("resume")
        trial.pass_time(span_s)
        trial.lab["h1"].heal()
        trial.let_go(HOSTS[1:])
        trial.pass_time(trial.now_s() + RETURN_S, lambda: right == "passed")
        trial.let_go()
        status = trial.status(LOST_S + RETURN_S + 2 * SLACK_S)
        left = trial.empties(EXIT_S + SLACK_S)

        def others(sight):
            outcomes = {trial.outcome(host) for host in HOSTS if host != "h1"}
            sight.must(outcomes == {"passed"}, f"hosts to which nothing happened: {outcomes}")

        name = f"killed while a host is cut off for {span_s} s"
        return [judge_coordinator(trial, name, right, ["hold"], status, left, others)]

    return f"coordinator killed, h1 cut {span_s} s", span_s, happen


def coordinators():
    for name in MOMENTS:
        yield killed_at(name)
    for name in ("while hosts join", "when a pass begins", "in the second rung"):
        yield killed_at(name, twice=True)
    for limit in LIMIT_S:
        for factor in FACTORS:
            yield absence(limit, factor)
    for span_s, right in ((SUSPECT_S / 2, "passed"), (SUSPECT_S, "passed"), (BACK_IN_TIME_S, "passed"),
                          (LOST_S + 0.5, "passed"), (2 * ORPHAN_S, "lost")):
        yield stands_still(span_s, right)
    yield killed_while_cut(1, "passed")
    yield killed_while_cut(2 * LOST_S, "lost")


def all_trials():
    """[(name, seconds that it lasts at least, what to do with a Trial)]"""
    slices = [in_a_slice(host, span_s, right) for host in WAYS for span_s, right in
              ((BACK_IN_TIME_S, "passed"), (2 * LOST_S, "cascade"))]
    return [*silences(), *slices, kills(), *coordinators()]
