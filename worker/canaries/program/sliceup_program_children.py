"""What the processes of a program report, where these compute: such as those of torch_xla.launch and multiprocessing.

The first process holds the channel to the worker. A process that it starts writes the same lines into a file of its own, in a folder
that only this user can read; the first one reads them at its end, and says what all together did. Standard library only.
"""

import atexit
import json
import multiprocessing
import multiprocessing.util
import os
import shutil
import sys
import tempfile

import sliceup_canary

FOLDER, ATTEMPT, KEPT = "SLICEUP_PROGRAM_FOLDER", "attempt.json", 64
SUMMED = ("compile_requests", "cache_hits", "cache_misses", "executions", "fallbacks", "reads", "later_compilations")


class ToFile:
    """The channel of a process that the program has started."""

    def __init__(self, folder):
        with open(os.path.join(folder, ATTEMPT), encoding="utf-8") as file:
            self.attempt = json.load(file)
        place = os.environ.get("LOCAL_RANK", "0")
        number, _ = tempfile.mkstemp(prefix=f"{os.getpid()}.{place if place.isdecimal() else 0}.", suffix=".lines", dir=folder)
        self.file = open(number, "wb")

    def send(self, message):
        if message["type"] == "gate":
            raise RuntimeError("a gate is for the program's first process, which the others may ask")
        self.file.write(sliceup_canary.encode(message))
        self.file.flush()

    def receive(self):
        return self.attempt


def of_child():
    """None: this process was not started by one that reports, or after that one's end."""
    try:
        return sliceup_canary.Canary(ToFile(os.environ[FOLDER])) if FOLDER in os.environ else None
    except OSError as error:
        print(f"sliceup_program: this process reports nothing: {error}", file=sys.stderr)
        return None


def watch(canary, finish):
    """Calls finish() at the end of this process. Those that the first one starts report through it; None in these, and where they cannot."""
    if isinstance(canary.channel, ToFile):
        multiprocessing.util.Finalize(None, end_of_child, (canary, finish), exitpriority=100)  # its processes leave without atexit
        atexit.register(finish)
        return None
    atexit.register(finish)
    try:
        return Children(canary.attempt)
    except OSError as error:
        canary.note(f"sliceup_program: processes that the program starts cannot report: {error}")
        return None


def end_of_child(canary, finish):
    """multiprocessing comes here while the exception that ends the process is on its way."""
    error = sys.exc_info()[1]
    if isinstance(error, Exception):
        sliceup_canary.tell_failure(canary, error)
    finish()


class Children:
    """Those of the first process. reports: the lines of each, by what type they are, in the order of the runtime's processes, or by LOCAL_RANK."""

    def __init__(self, attempt):
        # In a rung HOME is a folder of the attempt, so what is left of a bad end goes with it.
        self.left_out = 0
        self.folder, self.reports = tempfile.mkdtemp(prefix=".sliceup-program-", dir=os.environ.get("HOME")), []
        with open(os.open(os.path.join(self.folder, ATTEMPT), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(attempt, file)
        os.environ[FOLDER] = self.folder

    def read(self):
        """After those that Python itself would wait for."""
        for process in multiprocessing.active_children():
            if not process.daemon:
                process.join()
        os.environ.pop(FOLDER, None)
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(".lines"))
            self.left_out = len(names[KEPT:])
            self.reports = [self.report(name) for name in names[:KEPT]]
        finally:
            self.remove()
        self.reports.sort(key=lambda report: report["backend"][0]["process_index"] if "backend" in report else report["place"])

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def report(self, name):
        """Up to the first line that is not whole: its process was ended while it wrote."""
        kinds = {}
        with open(os.path.join(self.folder, name), "rb") as file:
            for line in file:
                try:
                    message = sliceup_canary.decode(line)
                except sliceup_canary.ProtocolError:
                    break
                kinds.setdefault(message.pop("type"), []).append(message)
        process, place = name.split(".")[:2]
        return {"process": process, "place": int(place), **kinds}

    def computing(self):
        """Those that took steps: others, such as loaders, have no part in counters and devices."""
        return [report for report in self.reports if any(message["values"].get("steps") for message in report.get("counters", ()))]

    def lines(self, kind):
        return [message for report in self.reports for message in report.get(kind, ())]

    def backend(self):
        """Of all devices of this host; None: no process had a client."""
        seen = [message for report in self.computing() for message in report.get("backend", ())]
        if not seen:
            return None
        first, count = seen[0], len(seen)
        return {**{name: first[name] for name in first if name != "kernel_path"}, "local_devices": sum(one["local_devices"] for one in seen),
                "process_count": max(1, first["process_count"] // count), "process_index": first["process_index"] // count}

    def counters(self):
        """Sums; of steps the fewest, of times and memory the longest and largest; {}: no process took a step."""
        seen = [report["counters"][-1]["values"] for report in self.computing()]
        told = {}
        for name in {name for values in seen for name in values}:
            each = [values[name] for values in seen if name in values]
            summed = name in SUMMED or name.startswith("aten::")
            told[name] = sum(each) if summed else min(each) if name == "steps" else max(each)
        return told

    def tell(self, canary):
        """Metrics with the values of all, each check once, by the process that is farthest off, and what went wrong."""
        for report in self.reports:
            if "done" not in report and "failure" not in report:
                canary.note(f"process {report['process']}, which the program started, ended without its report")
        if self.left_out:
            canary.note(f"the reports of {self.left_out} processes beyond {KEPT} were not read")
        for failure in self.lines("failure")[:1]:
            raise sliceup_canary.Failure(failure["layer"], failure["text"])
        for metric in self.metrics():
            canary.say("metric", **metric)
        checks = {}
        for check in self.lines("check"):
            off = abs(check["expected"] - check["observed"]) - check["tolerance"]
            checks.setdefault(check["name"], []).append((off, check))
        for each in checks.values():
            canary.say("check", **max(each, key=lambda one: one[0])[1])
        for kind, key in (("note", "text"), ("fact", "name")):
            for message in {message[key]: message for message in self.lines(kind)}.values():
                canary.say(kind, **message)

    def metrics(self):
        """The n-th of a name of each process belong together."""
        merged = {}
        for report in self.reports:
            met = {}
            for metric in report.get("metric", ()):
                number = met[metric["name"]] = met.get(metric["name"], -1) + 1
                whole = merged.setdefault((metric["name"], number), {**metric, "shards": []})
                whole["shards"] = [*whole["shards"], *metric["shards"]]
        return merged.values()
