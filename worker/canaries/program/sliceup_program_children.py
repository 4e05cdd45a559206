"""What the processes of a program report, where these compute: such as those of torch_xla.launch and multiprocessing.

The first process holds the channel to the worker. A process that it starts writes the same lines into a file of its own, in a folder
that only this user can read; the first one reads them at its end, and says what all together did. Standard library only.
"""

import atexit
import json
import multiprocessing.util
import os
import shutil
import tempfile

import sliceup_canary

FOLDER, ATTEMPT, KEPT = "SLICEUP_PROGRAM_FOLDER", "attempt.json", 64
SUMMED = ("compile_requests", "cache_hits", "cache_misses", "executions", "fallbacks", "reads", "later_compilations")


def private(path, flags):
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


class ToFile:
    """The channel of a process that the program has started."""

    def __init__(self, folder):
        self.folder = folder
        self.file = open(os.path.join(folder, f"{os.getpid()}.lines"), "xb", opener=private)

    def send(self, message):
        if message["type"] == "gate":
            raise RuntimeError("a gate is for the program's first process, which the others may ask")
        self.file.write(sliceup_canary.encode(message))
        self.file.flush()

    def receive(self):
        with open(os.path.join(self.folder, ATTEMPT), encoding="utf-8") as file:
            return json.load(file)


def of_child():
    """None: this process was not started by one that reports."""
    folder = os.environ.get(FOLDER)
    return sliceup_canary.Canary(ToFile(folder)) if folder and os.path.isdir(folder) else None


def watch(canary, finish):
    """Calls finish() at the end of this process. Those that the first one starts report through it; None in these."""
    if isinstance(canary.channel, ToFile):
        multiprocessing.util.Finalize(None, finish, exitpriority=100)  # its processes leave without atexit
        atexit.register(finish)
        return None
    atexit.register(finish)
    return Children(canary.attempt)


class Children:
    """Those of the first process. reports: the lines of each, by what type they are, in the order of the runtime's processes."""

    def __init__(self, attempt):
        self.folder, self.reports = tempfile.mkdtemp(prefix="sliceup-program-"), []
        with open(os.path.join(self.folder, ATTEMPT), "x", encoding="utf-8", opener=private) as file:
            json.dump(attempt, file)
        os.environ[FOLDER] = self.folder

    def read(self):
        os.environ.pop(FOLDER, None)
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".lines"))[:KEPT]
        self.reports = [self.report(name) for name in names]
        self.reports.sort(key=lambda report: report["backend"][0]["process_index"] if "backend" in report else -1)
        shutil.rmtree(self.folder, ignore_errors=True)

    def report(self, name):
        kinds = {}
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            for line in file:
                message = sliceup_canary.decode(line.encode())
                kinds.setdefault(message.pop("type"), []).append(message)
        return {"process": name.partition(".")[0], **kinds}

    def lines(self, kind):
        return [message for report in self.reports for message in report.get(kind, ())]

    def backend(self):
        """Of all devices of this host; None: no process had a client."""
        seen = self.lines("backend")
        if not seen:
            return None
        first, count = seen[0], len(seen)
        return {**{name: first[name] for name in first if name != "kernel_path"}, "local_devices": sum(one["local_devices"] for one in seen),
                "process_count": max(1, first["process_count"] // count), "process_index": first["process_index"] // count}

    def counters(self):
        """Sums; of steps the fewest, of times the longest. Processes that took no step, such as loaders, do not count; {}: none did."""
        seen = [message["values"] for message in self.lines("counters") if message["values"].get("steps")]
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
