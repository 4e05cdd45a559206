"""torch_xla's own counters in the protocol's words, and what they show of a program's steps."""

import time

from sliceup_canary import Failure

# What a proof looks at, beside the words of the protocol: a row that is absent was never counted up.
RAW = ("CachedCompile", "UncachedCompile", "PersistentCacheHit", "PersistentCacheMiss",
       "PersistentCacheDeserializeFailure", "MarkStep")
# Operations that need no lowering: reading a value is one (pytorch/xla:docs/source/learn/troubleshoot.md).
READS = ("aten::_local_scalar_dense", "aten::nonzero")
# Always said, also as 0. ExecuteReplicatedTime is an execution under SPMD; a transfer from a device is a value that was read.
SAMPLED = ("ExecuteTime", "ExecuteReplicatedTime", "TransferFromDeviceTime")
SETTLED_S, APART_S = 2.0, 0.1


class Counts:
    def __init__(self, metrics):
        self.metrics = metrics

    def counter(self, name):
        """None there means that it never happened."""
        return int(self.metrics.counter_value(name) or 0)

    def samples(self, name):
        seen = self.metrics.metric_data(name)
        return int(seen[0]) if seen else 0

    def milliseconds(self, name):
        """The sum of a metric's samples; it is kept in nanoseconds."""
        seen = self.metrics.metric_data(name)
        return round(seen[1] / 1e6) if seen else 0

    def compiled(self):
        """How many programs were compiled or loaded so far: what was found in memory is not among them."""
        return self.counter("PersistentCacheHit") + self.counter("UncachedCompile")

    def reads(self):
        """How often values were read from devices so far; each waits until the device is done."""
        return self.samples("TransferFromDeviceTime")

    def fallen(self):
        return [name for name in self.metrics.counter_names() if name.startswith("aten::") and name not in READS]

    def executions(self):
        return self.samples("ExecuteTime") + self.samples("ExecuteReplicatedTime")

    def settle(self):
        """Since 2.8 an execution is counted after its values can be read (of one, 6 of 12 programs of 2.9.0 saw none)."""
        until, seen = time.monotonic() + SETTLED_S, -1
        while (self.executions() != seen or (seen == 0 and self.compiled())) and time.monotonic() < until:
            seen = self.executions()
            time.sleep(APART_S)

    def put_into(self, counted):
        self.settle()
        counted.update(
            compile_requests=self.compiled(), cache_hits=self.counter("PersistentCacheHit"),
            cache_misses=self.counter("UncachedCompile"),
            executions=self.executions(),
            compile_ms=self.milliseconds("CompileTime"), retrieval_ms=self.milliseconds("PersistentCacheLoad"))
        counted.update({name: self.samples(name) for name in SAMPLED})
        counted[READS[0]] = self.counter(READS[0])
        counted.update({name: self.counter(name) for name in RAW if self.counter(name)})
        if self.samples("CompileTime"):
            counted["CompileTime"] = self.samples("CompileTime")

    def expect_compiled_operations(self):
        fallen = self.fallen()
        if fallen:
            raise Failure("program", f"{', '.join(fallen[:4])} ran on the host's processor, outside the compiled program: "
                          f"torch_xla has no lowering for {'it' if len(fallen) == 1 else f'these {len(fallen)} operations'}")


class Steps:
    """The steps of a loop, watched by the runtime's counters: the first one compiles, no other does, and values are read seldom."""

    def __init__(self, counts):
        self.counts, self.number = counts, 0
        self.before, self.first, self.read = counts.compiled(), 0, counts.reads()

    def ended(self):
        self.number += 1
        if self.number == 1:
            self.first = self.counts.compiled() - self.before

    def judge(self, reads):
        """reads: how many the program says that it needs."""
        more, seen = self.counts.compiled() - self.before - self.first, self.counts.reads() - self.read
        if self.first > 1 or more:
            raise Failure("program", f"step 1 asked for {self.first} programs and steps 2..{self.number} for {more} more, expected 1 and 0: a "
                          "number or a shape that changes from step to step is part of the program; make it a tensor")
        if seen > reads:
            raise Failure("program", f"values were read {seen} times in {self.number} steps, expected at most {reads}: each read waits for "
                          "the device; keep values on it and read them every so many steps")
