"""What the program of a `command` rung imports, to show what no exit status shows: docs/guide/your-own-step.md.

    import sliceup_program

    program = sliceup_program.start()      # before the framework compiles
    for batch in batches:
        ...
        program.step()                     # at the end of each step
    loss = program.reduced("loss", local_loss)

A launcher that starts the processes which compute, such as torchrun, is started as `python -m sliceup_program MODULE ARGUMENTS`: they then
report through it. At the end the program's live framework is asked for its backend and its counters; no variable is. Standard library only; jax,
torch_xla and torch are used where the program itself has imported them. Outside a rung, as when it is run by hand, nothing is
reported, and reduced() still reduces.
"""

import atexit
import collections
import importlib
import io
import os
import platform
import runpy
import select
import stat
import statistics
import sys
import threading
import time

# On a host all lie in one folder; where they are installed, in the one above and beside it, which hold no libraries.
HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "torch_xla"), HERE]


def ours(name):
    """A module of sliceup. Its places must not stay in the path: the names of their folders are those of libraries."""
    sys.path.extend(PLACES)
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[-len(PLACES):]


sliceup_canary = ours("sliceup_canary")
sliceup_program_children = ours("sliceup_program_children")

REQUEST = "/jax/core/compile/backend_compile_duration"
HIT = "/jax/compilation_cache/cache_hits"
# Operations of the host that read a value, and need no lowering (pytorch/xla:docs/source/learn/troubleshoot.md).
READS = ("aten::_local_scalar_dense", "aten::nonzero")
FIRST_LINE_S = 5
EXIT_S = 3
FALLBACKS_TOLD = 16
DTYPES = ("float64", "float32", "float16", "bfloat16")  # the one that rounds most last
COUNTED = ("requests", "executions", "fallbacks", "reads")
SAMPLE_S = 0.02
SETTLED_S, APART_S, LET_GO_S = 2.0, 0.1, 0.02
LEARN_S, LOCK_BYTES = 0.1, 256  # Python's lock is a mutex and a condition beside each other
STEPS_KEPT = 1000  # the last ones: their medians are told
# System calls in which a thread waits for another thread or for a socket: futex, poll, select, epoll, recv (Linux, syscall tables).
WAITS = {"x86_64": (202, 7, 271, 23, 270, 232, 281, 45, 47, 299), "aarch64": (98, 73, 72, 22, 207, 212, 243)}
PACKAGES = ("torch", "torch_xla", "jax", "jaxlib", "libtpu", "numpy")


def start():
    """The program's report; the same one each time. Call it once the framework is imported, before anything compiles."""
    global program
    if program is None or (program.canary and program.pid != os.getpid() and sliceup_program_children.FOLDER in os.environ):
        program = Program(sliceup_program_children.of_child() or (sliceup_canary.connect() if has_channel() and comes_first() else None))
    return program


def number(name, value):
    """A number of this host, such as disk_mbps, that drift compares between hosts."""
    start().number(name, value)


def has_channel():
    """False outside a rung, and in a process that the program has started, which does not inherit it."""
    number = os.environ.get("SLICEUP_FD")
    if number is None:
        return False
    try:
        is_channel = stat.S_ISSOCK(os.fstat(int(number)).st_mode)
    except (OSError, ValueError):
        is_channel = False
    if not is_channel:
        print("sliceup_program: this process was started by the program and reports nothing: call start() in the program's first "
              "process, before it starts others, or start that one as python -m sliceup_program (docs/guide/your-own-step.md)",
              file=sys.stderr)
    return is_channel


def comes_first():
    """False in a process whose rung is reported by another one already: the line that describes the attempt is read once."""
    ready, _, _ = select.select([int(os.environ["SLICEUP_FD"])], [], [], FIRST_LINE_S)
    if not ready:
        print("sliceup_program: another process of this rung reports already; this one reports nothing "
              "(docs/guide/your-own-step.md)", file=sys.stderr)
    return bool(ready)


class Program:
    """What one process of the program reports. Methods are for one thread."""

    def __init__(self, canary):
        self.canary = canary
        self.steps, self.first, self.last, self.ours = 0, None, None, Counts()
        self.jax = JaxCounting() if "jax" in sys.modules else None
        self.cleared, self.local_reductions, self.chosen = Cleared(), [], os.environ.get("PJRT_DEVICE")
        if canary and "torch_xla" in sys.modules:
            self.cleared.watch()
            watch_local_reductions(self.local_reductions)
        self.pid, self.is_over, self.again, self.was_reset = os.getpid(), threading.Event(), {}, False
        self.times = StepTimes(self.is_over)
        self.children = None
        if canary:
            sys.excepthook = self.end_uncaught
            self.exit, sys.exit = sys.exit, self.end_by_exit
            self.children = sliceup_program_children.watch(canary, self.finish)
            canary.phase("run")

    @property
    def rank(self):
        """The number of this host in the rung, from 0."""
        return self.canary.rank if self.canary else 0

    @property
    def world(self):
        """How many hosts take part in the rung."""
        return self.canary.world if self.canary else 1

    @property
    def devices_per_host(self):
        """What the profile says; 1 outside a rung."""
        return self.canary.devices_per_host if self.canary else 1

    @property
    def hold_s(self):
        """For how long to repeat steps: `hold` of the rung; 0 without it, and outside a rung."""
        return self.canary.hold_s if self.canary else 0.0

    def shaped(self, **sizes):
        """The sizes to compute with, by the profile's `shapes`, as a dict; call it before anything compiles. A size that they do
        not allow ends the program, or is padded where they say so."""
        return self.canary.shaped((self.counts() - self.ours).requests, **sizes) if self.canary else sizes

    def rendezvous(self, port=0):
        """ADDRESS:PORT of rank 0, the same on all hosts, once all are here. port: that of rank 0; 0: one that is free there."""
        import socket

        address = self.canary.attempt["address"] if self.canary else "127.0.0.1"
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if self.rank == 0 and not port:
            with socket.socket(family) as listener:
                listener.bind((address, 0))
                port = listener.getsockname()[1]
        whole = f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
        if self.world == 1:
            return whole
        return self.canary.gate("rendezvous", "share", whole if self.rank == 0 else "")

    def step(self):
        """A step of the program has ended. What is compiled between the first and the last of these calls are recompilations.

        The first step is the first one that has compiled something: a loader may let it run only when it fetches the next batch.
        How long steps took is told as the median, and apart from it what this host did by itself: see waits().
        """
        self.steps += 1
        self.times.step()
        before, self.last = self.last, self.counts() - self.ours
        self.was_reset |= before is not None and any(getattr(self.last, name) < getattr(before, name) for name in COUNTED)
        if self.jax:
            self.again = dict(self.jax.again)
        if self.first is None and self.last.requests:
            self.first = self.last
            if self.jax:
                self.jax.again.clear()
                self.again = {}

    def waits(self):
        """From here to the end of the step this host waits for others. Without it that is taken from what the thread waits in."""
        self.times.waits()

    def reduced(self, name, local, weight=1.0, reduction="mean", claimed=None, dtype=None):
        """The weighted mean, or the sum, of `local` over all devices of all hosts, and its proof.

        local: what each local device has by itself, before any reduction: a list, in the order of jax.local_devices() (jax) or
        of the mesh (SPMD of torch_xla); with one local device a number. weight: the same, or one number for all. reduction:
        "mean" or "sum". claimed: the value that the program holds for reduced, judged in place of ours. dtype: what it was
        computed in, where neither it nor `local` is an array that says so. All processes call it together. Returns our value,
        a float.
        """
        if reduction not in ("mean", "sum"):
            raise ValueError(f"reduced: the reduction is {reduction!r}, expected 'mean' or 'sum'")
        if dtype is not None and dtype_word(dtype) not in DTYPES:
            raise ValueError(f"reduced: the dtype is {dtype!r}, expected one of {', '.join(DTYPES)}")
        settle()
        before, again = self.counts(), dict(self.jax.again) if self.jax else {}
        devices = max(local_devices(), 1)
        pairs = list(zip(one_each(name, local, devices, devices == 1), one_each(name, weight, devices, True)))
        rows = [[one * scale, scale, self.secret() + number] for number, (one, scale) in enumerate(pairs, first_device())]
        seen = all_reduce(rows, self.rank, self.world)
        settle()
        self.ours = self.ours + (self.counts() - before)
        if self.jax:
            self.jax.again = again
        value = seen[0] / seen[1] if reduction == "mean" else seen[0]
        if self.reports():
            told = value if claimed is None else float(claimed)
            shards = [{"value": told, "proof": seen[2], "local": one, "weight": scale} for one, scale in pairs]
            self.canary.metric(name, reduction, self.canary.axes, told, shards,
                               dtype="float32" if claimed is None else coarsest_dtype(claimed, local) if dtype is None else dtype_word(dtype))
        return value

    def check(self, name, expected, observed, tolerance=0.0):
        """A value that the rung must have; with a cache a restored pass needs one, or a metric."""
        if self.reports():
            self.canary.check(name, expected, observed, tolerance)

    def note(self, text):
        """A sentence for the receipt."""
        if self.reports():
            self.canary.note(text)

    def number(self, name, value):
        """See number() of the module."""
        sliceup_canary.finite(name, value)
        if self.reports():
            self.canary.fact(f"number.{name}", format(value, ".15g"))

    def reports(self):
        """False outside a rung, in a process that was forked, and after the end: nothing may follow it."""
        return bool(self.canary) and not self.is_over.is_set() and os.getpid() == self.pid

    # ---- what it has seen ----

    def secret(self):
        return self.canary.attempt["secret"] if self.canary else 0

    def counts(self):
        """Of both frameworks, where a program uses both."""
        counted = self.jax.counts() if self.jax else Counts()
        return counted + self.cleared.counts + torch_xla_counts() if "torch_xla" in sys.modules else counted

    def tell_backend(self):
        """Without a framework there is none to report; a program whose processes compute has theirs."""
        seen = self.children.backend() if self.children and not self.steps else None
        if seen is None:
            seen = torch_xla_backend(self.chosen) if torch_xla_started() else jax_backend(sys.modules["jax"]) if jax_started() else None
        if seen:
            self.canary.backend(**seen, kernel_path="")

    def counters(self):
        """Of the program alone: what reduced() made the framework do is not its own."""
        if self.jax is None and jax_started():
            raise RuntimeError("jax was imported after sliceup_program.start(), so what it compiled was not counted")
        for name in self.jax.cleared if self.jax else []:
            raise RuntimeError(f"the program called {name}(), so nothing is known of all that was compiled")
        if self.was_reset:
            raise RuntimeError("the counters of the framework fell between two steps: the program has cleared them")
        whole = self.counts() - self.ours
        told = {"steps": self.steps, **self.times.counters()}
        if self.children and self.children.counters() and not self.steps:
            return {**told, **self.children.counters()}
        if not self.jax and "torch_xla" not in sys.modules:
            return told
        told.update(compile_requests=whole.requests, cache_hits=whole.hits, cache_misses=whole.requests - whole.hits,
                    compile_ms=whole.compile_ms, retrieval_ms=whole.retrieval_ms)
        if self.steps:
            told["later_compilations"] = (self.last - self.first).requests if self.first else 0
        if torch_xla_started():
            told.update(executions=whole.executions, fallbacks=whole.fallbacks, reads=whole.reads,
                        **dict(sorted(self.cleared.fallen_back().items())[:FALLBACKS_TOLD]))
        return told

    def tell_of_children(self):
        """Where the first process takes the steps itself, what others counted is not its own."""
        if self.children:
            self.children.read()
            self.children.tell(self.canary)
            if self.steps and self.children.computing():
                self.canary.note("the program's first process took steps, and so did others that it started: counters and devices are the first one's alone")

    def tell_what_compiled_again(self):
        """jax names the functions."""
        if self.again:
            names = sorted(self.again.items(), key=lambda item: (-item[1], item[0]))[:8]
            self.canary.note("compiled after the first step: " + ", ".join(f"{name} {count} times" for name, count in names))

    def tell_failure_of_children(self):
        """A launcher only says that one of those that it started failed: what that one said stands for it."""
        if not self.children:
            return False
        self.children.read()
        for failure in self.children.lines("failure")[:1]:
            self.canary.failure(failure["layer"], failure["text"])
        return self.canary.failed

    def refuse_local_reductions(self):
        if self.local_reductions:
            raise sliceup_canary.Failure("program", f"mesh_reduce ('{self.local_reductions[0]}') under SPMD reduces nothing: it "
                                         "returned the value of this process alone. Reduce on the mesh, within the program")

    # ---- its end ----

    def finish(self):
        """At exit. A process that was forked is not the program; whatever fails here is a note of the receipt and no more."""
        if os.getpid() != self.pid or self.is_over.is_set():
            return
        if self.canary.failed:
            if self.children:
                self.children.remove()
            return
        self.canary.counted.clear()
        settle()
        for part in (lambda: self.canary.bundle(sliceup_canary.versions(PACKAGES)), self.canary.policy, self.tell_of_children, self.tell_backend,
                     self.canary.memory, self.refuse_local_reductions, self.tell_what_compiled_again,
                     lambda: self.canary.counted.update(self.counters()), self.canary.counters, self.canary.done):
            try:
                part()
            except sliceup_canary.Failure as failure:
                self.canary.failure(failure.owner, str(failure))
                break
            except Exception as error:  # noqa: BLE001 - the exit status is the program's own
                self.incomplete(error)
        self.is_over.set()

    def incomplete(self, error):
        """What a rung asks for and is not reported fails it; this says why it was not."""
        text = f"sliceup_program: the report of this program is not complete: {error}"
        print(text, file=sys.stderr)
        try:
            self.canary.note(text)
        except (OSError, sliceup_canary.ProtocolError):
            return

    def end_by_exit(self, status=None):
        """sys.exit() of the program, which may also be caught: then it goes on, and ends as it will."""
        if status not in (None, 0) and self.world > 1:
            threading.Thread(target=self.leave_others, args=(status,), daemon=True).start()
        self.exit(status)

    def leave_others(self, status):
        """Once the program ends: exit handlers of a distributed runtime would wait for the other hosts, far beyond EXIT_S."""
        self.is_over.wait()
        time.sleep(EXIT_S)
        sliceup_canary.leave("", status if isinstance(status, int) else 1)

    def end_uncaught(self, kind, error, trace):
        """Other hosts would wait for an exit handler of this one; alone, a program ends as it always does. torch.distributed lets
        hooks before its own write into a buffer, which it would print when they have returned."""
        if isinstance(sys.stderr, io.StringIO) and sys.__stderr__:
            sys.stderr = sys.__stderr__
        sys.__excepthook__(kind, error, trace)
        if isinstance(error, Exception) and not self.tell_failure_of_children():
            sliceup_canary.tell_failure(self.canary, error)
        if self.world > 1:
            sliceup_canary.leave("")


program = None


class StepTimes:
    """How long each step took, the first one left out, and for how long of it its thread did not wait for others.

    Another thread looks at it every 20 ms. It waits for others where the kernel says that it waits for a thread or a socket, unless
    it does so in Python's own library: there it waits for a queue, a child or a server of its own host's work. Whenever the other thread
    looks, it holds Python's lock, for which this one may wait: that is no waiting for others."""

    def __init__(self, is_over):
        self.is_over, self.whole, self.own = is_over, collections.deque(maxlen=STEPS_KEPT), collections.deque(maxlen=STEPS_KEPT)
        self.began = self.waits_since = self.file = None
        self.own_s = self.own_before_s = 0.0
        self.lock, self.computes = None, threading.Event()  # the address at which a thread waits for Python's lock
        self.calls = [str(one).encode() for one in WAITS.get(platform.machine(), ())]

    def step(self):
        now = time.monotonic()
        if self.began is None:
            self.begin_sampling()
            now = time.monotonic()
        else:
            self.whole.append(now - self.began)
            if self.waits_since is not None or self.file is not None:
                own_s = self.own_s - self.own_before_s if self.waits_since is None else self.waits_since - self.began
                self.own.append(min(now - self.began, own_s))
        self.began, self.waits_since, self.own_before_s = now, None, self.own_s

    def waits(self):
        if self.waits_since is None:
            self.waits_since = time.monotonic()

    def counters(self):
        """Medians; below 1 ms 1, since nobody is a hundred times as slow as 0."""
        return {name: max(1, round(1000 * statistics.median(times)))
                for name, times in (("step_ms", self.whole), ("step_own_ms", self.own)) if times}

    def begin_sampling(self):
        """Where the kernel does not say it, nothing is known unless the program calls waits()."""
        self.thread = threading.get_ident()
        try:
            if self.calls:
                self.file = os.open(f"/proc/self/task/{threading.get_native_id()}/syscall", os.O_RDONLY | os.O_CLOEXEC)
                self.is_waiting()
                threading.Thread(target=self.sample, daemon=True).start()
                self.wait_for_the_lock()
        except OSError:
            self.file = None

    def wait_for_the_lock(self):
        """Computes until the other thread has seen where this one waits for its turn."""
        end = time.monotonic() + LEARN_S
        self.computes.set()
        while self.lock is None and time.monotonic() < end:
            pass

    def learn_the_lock(self):
        self.computes.wait()    # until then it waits for this thread to begin
        end = time.monotonic() + LEARN_S / 2
        while self.lock is None and time.monotonic() < end:
            words = self.looked_at()
            self.lock = int(words[1], 16) if words[0] in self.calls else None

    def sample(self):
        """own_s only grows, and step() takes differences: the two threads never write the same."""
        self.learn_the_lock()
        before = time.monotonic()
        while not self.is_over.wait(SAMPLE_S):
            try:
                waiting = self.is_waiting()
            except OSError:     # the thread that stepped has ended
                return
            now = time.monotonic()
            self.own_s += 0.0 if waiting else now - before
            before = now

    def looked_at(self):
        """The number of its system call and the arguments; `running` outside of one."""
        return os.pread(self.file, 128, 0).split()

    def is_waiting(self):
        words = self.looked_at()
        if words[0] not in self.calls or (self.lock is not None and abs(int(words[1], 16) - self.lock) < LOCK_BYTES):
            return False
        frame = sys._current_frames().get(self.thread)
        file = frame.f_code.co_filename if frame else ""
        return "-packages" in file or not file.startswith(os.path.dirname(os.__file__) + os.sep)


class Counts:
    """Counters of a framework since the process began."""

    NAMES = ("requests", "hits", "executions", "compile_ms", "retrieval_ms", "fallbacks", "reads")

    def __init__(self, **seen):
        for name in self.NAMES:
            setattr(self, name, seen.get(name, 0))

    def __add__(self, other):
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in self.NAMES})

    def __sub__(self, other):
        return Counts(**{name: max(getattr(self, name) - getattr(other, name), 0) for name in self.NAMES})


class JaxCounting:
    """Listens to jax.monitoring. An event comes once after each compilation or retrieval."""

    def __init__(self):
        import jax

        self.requests = self.hits = 0
        self.compile_s, self.was_hit, self.again = 0.0, False, {}
        self.cleared = []
        watch_clearing(jax.monitoring, ("clear_event_listeners",), self.cleared)
        jax.monitoring.register_event_listener(self.on_event)
        jax.monitoring.register_event_duration_secs_listener(self.on_duration)

    def on_event(self, event, **_):
        if event == HIT:
            self.hits, self.was_hit = self.hits + 1, True

    def on_duration(self, event, seconds, fun_name="a function", **_):
        if event == REQUEST:
            self.requests += 1
            self.again[fun_name] = self.again.get(fun_name, 0) + 1
            self.compile_s += 0.0 if self.was_hit else seconds
            self.was_hit = False

    def counts(self):
        return Counts(requests=self.requests, hits=self.hits, compile_ms=round(self.compile_s * 1000))


def watch_clearing(module, names, cleared):
    """Puts the name of each function in the list that the program calls, and that takes counters away."""

    def watched(name, clear):
        return lambda: (cleared.append(name), clear())[1]

    for name in names:
        if hasattr(module, name):
            setattr(module, name, watched(name, getattr(module, name)))


def watch_local_reductions(seen):
    """mesh_reduce under SPMD returns this process's own value without a word (seen with torch_xla 2.7.0)."""
    from torch_xla import runtime
    from torch_xla.core import xla_model

    real = xla_model.mesh_reduce

    def mesh_reduce(tag, *args, **more):
        if runtime.is_spmd():
            seen.append(tag)
        return real(tag, *args, **more)

    xla_model.mesh_reduce = mesh_reduce


class Cleared:
    """What torch_xla had counted before something cleared it: the program, or torch.compile with the backend openxla, which
    clears counters as it goes."""

    def __init__(self):
        self.counts, self.operations = Counts(), {}

    def watch(self):
        metrics = importlib.import_module("torch_xla.debug.metrics")
        for name in ("clear_all", "clear_counters", "clear_metrics"):
            if hasattr(metrics, name):
                setattr(metrics, name, self.keeping(getattr(metrics, name)))

    def keeping(self, clear):
        def keep():
            before, operations = torch_xla_counts(), fallen_back()
            clear()
            self.counts = self.counts + (before - torch_xla_counts())
            for name in operations.keys() - fallen_back().keys():
                self.operations[name] = self.operations.get(name, 0) + operations[name]

        return keep

    def fallen_back(self):
        now = fallen_back()
        return {name: now.get(name, 0) + self.operations.get(name, 0) for name in now.keys() | self.operations.keys()}


def fallen_back():
    """The counters of operations that ran on the host's processor."""
    from torch_xla.debug import metrics

    return {name: int(metrics.counter_value(name)) for name in metrics.counter_names()
            if name.startswith("aten::") and name not in READS and metrics.counter_value(name)}


def torch_xla_counts():
    from torch_xla.debug import metrics

    def counter(name):
        return int(metrics.counter_value(name) or 0)

    def samples(name, place=0):
        seen = metrics.metric_data(name)
        return seen[place] if seen else 0

    hits = counter("PersistentCacheHit")
    return Counts(requests=hits + counter("UncachedCompile"), hits=hits,
                  executions=samples("ExecuteTime") + samples("ExecuteReplicatedTime"),
                  compile_ms=round(samples("CompileTime", 1) / 1e6),
                  retrieval_ms=round(samples("PersistentCacheLoad", 1) / 1e6),
                  fallbacks=sum(fallen_back().values()),
                  reads=samples("TransferFromDeviceTime"))


def settle():
    """Since 2.8 torch_xla counts an execution some time after its values can be read."""
    if not torch_xla_started() or sliceup_canary.versions(["torch_xla"]).get("torch_xla", "").startswith(("2.5", "2.6", "2.7")):
        return
    until, seen = time.monotonic() + SETTLED_S, -1
    while (now := torch_xla_counts().executions) != seen and time.monotonic() < until:
        seen = now
        time.sleep(APART_S)


def torch_xla_started():
    return "torch_xla" in sys.modules and sys.modules["torch_xla"]._XLAC._xla_runtime_is_initialized()


def jax_started():
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bridge.backends_are_initialized()


def local_devices():
    """Those that the program uses; 0: no framework has made a client. Without SPMD a process of torch_xla uses one."""
    if torch_xla_started():
        from torch_xla import runtime

        return runtime.addressable_runtime_device_count() if runtime.is_spmd() else 1
    return sys.modules["jax"].local_device_count() if jax_started() else 0


def jax_backend(jax):
    local = jax.local_devices()
    version = sliceup_canary.clean(getattr(local[0].client, "platform_version", ""))
    return dict(platform=local[0].platform, platform_version=version, device_kind=local[0].device_kind,
                devices=jax.device_count(), local_devices=len(local), process_count=jax.process_count(),
                process_index=jax.process_index())


def torch_xla_backend(chosen):
    """From the names of the live client's devices. Failure where the program is not where it says, such as a late use_spmd().
    chosen: what PJRT_DEVICE was at the start."""
    import torch_xla

    version = sliceup_canary.versions(["torch_xla"]).get("torch_xla", "")
    client = ours("sliceup_torch_xla_client").Client(torch_xla, version, torch_xla.runtime.is_spmd())
    said = os.environ.get("PJRT_DEVICE")
    if said != chosen:
        raise sliceup_canary.Failure("program", f"the program changed PJRT_DEVICE from {chosen} to {said}; its client and devices are of "
                                     f"{client.platform()}")
    client.expect_variable()
    used = local_devices()
    seen = client.describe()
    return {**{name: seen[name] for name in seen if name != "kernel_path"}, "local_devices": used,
            "devices": torch_xla.runtime.process_count() * used}


# ---- reducing ----


def one_each(name, value, devices, may_be_one):
    """A float for each local device, of a number, a list, or a jax array with one element on each."""
    shards = getattr(value, "addressable_shards", ())
    whole = getattr(value, "is_fully_replicated", False)  # one number that each device holds: reduced, and nobody's own
    if not whole and len(shards) == devices > 1 and all(shard.data.size == 1 for shard in shards):
        places = {shard.device: shard.data for shard in shards}
        return [float(places[device].reshape(())) for device in sys.modules["jax"].local_devices()]
    if not getattr(value, "shape", True) or not hasattr(value, "__len__"):
        if may_be_one:
            return [float(value)] * devices
        raise ValueError(f"reduced: one number for the {name} of {devices} local devices, expected a list of what each device has "
                         "by itself, before any reduction; `claimed` is for the number that the program holds for reduced")
    values = [float(one) for one in value]
    if len(values) != devices:
        raise ValueError(f"reduced: {len(values)} numbers for the {name} of {devices} local devices, expected one each")
    return values


def dtype_word(dtype):
    """Of a word, or of a dtype of numpy, jax or torch."""
    return getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]


def coarsest_dtype(claimed, local):
    """Of a value and of what it is said to be reduced from. A number of Python says nothing, and whole numbers are exact."""
    parts = [claimed, local, *(local if isinstance(local, (list, tuple)) else ())]
    words = {dtype_word(getattr(part, "dtype", "")) for part in parts}
    return max((word for word in words if word in DTYPES), key=DTYPES.index, default="float32")


def first_device():
    """The number of this process's first device among those of its host: torch_xla without SPMD and torchrun have a process for each."""
    if not torch_xla_started():
        return int(os.environ.get("LOCAL_RANK", "0")) if torch_distributed() and not jax_started() else 0
    from torch_xla import runtime

    return 0 if runtime.is_spmd() else runtime.local_ordinal()


def all_reduce(rows, rank, world):
    """rows: [local * weight, weight, secret] of each local device; their sums over all devices, by the program's framework."""
    if torch_xla_started():
        return torch_xla_sum(rows)
    if jax_started():
        return jax_sum(sys.modules["jax"], rows)
    if torch_distributed():
        return torch_sum(sys.modules["torch"], rows)
    if world > 1:
        raise RuntimeError(f"reduced: the program of rank {rank} uses neither jax, torch_xla nor torch.distributed: nothing "
                           "reaches the other hosts")
    return [sum(column) for column in zip(*rows)]


def torch_distributed():
    torch = sys.modules.get("torch")
    return torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()


def torch_sum(torch, rows):
    """Threads of gloo let go of a collective's tensors after its end, and want Python's lock for it, which destroy_process_group () holds
    while it waits for them: a third of programs that called it next hung (torch 2.7.0)."""
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    total = torch.tensor(rows, dtype=torch.float64, device=device).sum(0)
    torch.distributed.all_reduce(total)
    if device == "cpu":
        select.select([], [], [], LET_GO_S)     # a wait, as that for others: see WAITS
    return [float(one) for one in total]


def jax_sum(jax, rows):
    """rows: (local devices, 3) float32, one row on each device; all devices of all processes take part."""
    import numpy

    mesh = jax.sharding.Mesh(numpy.array(jax.devices()), ("device",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("device"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    own = {device: numpy.asarray([row], numpy.float32) for device, row in zip(jax.local_devices(), rows)}
    parts = [jax.device_put(own[device], device) for device in jax.local_devices()]
    array = jax.make_array_from_single_device_arrays((jax.device_count(), 3), split, parts)
    total = jax.jit(lambda rows: rows.sum(0), out_shardings=whole)(array)
    return [float(one) for one in numpy.asarray(total.addressable_data(0))]


def torch_xla_sum(rows):
    """rows: (local devices, 3) float32. Under SPMD the devices of all processes take part, of which each process's tensor fills its own
    (torch_xla/distributed/spmd: a marked tensor is global); else the one device of each process."""
    import numpy
    import torch
    import torch_xla
    from torch_xla import runtime
    from torch_xla.distributed import spmd

    if not runtime.is_spmd():
        from torch_xla.core import xla_model

        total = xla_model.all_reduce(xla_model.REDUCE_SUM, torch.tensor(rows, dtype=torch.float32).to(torch_xla.device()).sum(0))
        torch_xla.sync(wait=True)
        return [float(one) for one in total.cpu()]
    devices = runtime.global_runtime_device_count()
    mesh = spmd.Mesh(numpy.arange(devices), (devices, 1), ("device", "value"))
    whole = torch.zeros((devices, 3), dtype=torch.float32)
    own = sorted(int(name.rpartition(":")[2]) for name in torch_xla._XLAC._xla_get_runtime_devices())
    whole[own] = torch.tensor(rows, dtype=torch.float32)
    array = whole.to(torch_xla.device())
    spmd.mark_sharding(array, mesh, ("device", None))
    total = array.sum(0)
    torch_xla.sync(wait=True)
    return [float(one) for one in total.cpu()]


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m sliceup_program MODULE ARGUMENTS: a launcher, such as torch.distributed.run, whose processes report")
    ours("sliceup_program").start()  # this module under its own name, as those find it who import it
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
