"""The canary protocol for Python canaries: JSON lines over one inherited descriptor.

Standard library only, so that it also serves a host on which nothing is installed.
The protocol is written down in docs/spec/canary.md. A canary is:

    import sliceup_canary

    def body(canary):
        canary.phase("run")
        canary.check("two and two", 4, 2 + 2)

    sliceup_canary.run(body)

Without SLICEUP_FD the lines go to standard output and the canary plays a single host by itself;
arguments are then given as key=value words.
"""

import faulthandler
import json
import math
import os
import resource
import secrets
import signal
import socket
import sys
import traceback

PROTOCOL = 1
MAX_LINE = 64 * 1024
MAX_TEXT = 4096
MAX_NAME = 255

OWNERS = ("host", "device", "launch", "bundle", "cache", "compiler", "peer", "program", "platform", "unknown")
DURABILITIES = ("stable", "rerun", "recheck")
POLICY_PREFIXES = ("XLA_", "LIBTPU_", "JAX_", "TPU_", "PJRT_", "PT_XLA_", "MEGASCALE_")
COUNTERS = ("compile_requests", "cache_hits", "cache_misses", "executions",
            "compile_ms", "retrieval_ms", "saved_ms")


# The worker starts Python with -B: nothing may be written beside what is installed. Folders of others are theirs to cache.
if "SLICEUP_FD" in os.environ and not os.path.abspath(sys.argv[0]).startswith(os.path.dirname(os.path.abspath(__file__)) + os.sep):
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))


class Failure(Exception):
    """The canary knows what went wrong and who owns it. `layer` is the former name of `owner`."""

    def __init__(self, owner=None, text="", *, layer=None):
        super().__init__(text)
        self.owner = owner or layer


class Stopped(Exception):
    """The worker said stop; the reason is the text."""


class ProtocolError(Exception):
    """The other side said something that the protocol does not allow."""


def leave_path(place):
    """The folder of this module is in the path once for PYTHONPATH and once for each helper that put it there. It holds folders
    named jax and torch_xla: left there they are taken for the libraries, where these are not installed."""
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != place]


def clean(value, limit=MAX_TEXT):
    """Text that every JSON reader accepts: valid UTF-8, no NUL, bounded length."""
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\0", "\\x00")[:limit]


def shortened(name, limit=MAX_NAME):
    """A name of at most `limit` bytes whose end stays: in the name of a cache entry that is its digest."""
    kept = clean(name).encode()
    if len(kept) > limit:
        kept = kept[:limit - 80] + b"..." + kept[-77:]
    return kept.decode("utf-8", "ignore")


def encode(message):
    line = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > MAX_LINE:
        raise ProtocolError(f"a {message.get('type')} line of {len(line)} bytes is too long; expected at most {MAX_LINE}")
    return line


def decode(line):
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not a JSON line: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ProtocolError("expected a line with a JSON object that has a type")
    return message


class Descriptor:
    """The socket to the worker."""

    def __init__(self, number):
        # Children of the canary must not keep the channel open after the canary is gone, whether they run another
        # program or are copies of this one.
        os.set_inheritable(number, False)
        self.socket = socket.socket(fileno=number)
        os.register_at_fork(after_in_child=self.forget)
        # One reader for the whole life: what it buffered must not be lost between two lines.
        self.lines = self.socket.makefile("rb")

    def forget(self):
        if self.socket.fileno() >= 0:
            os.close(self.socket.detach())

    def send(self, message):
        self.socket.sendall(encode(message))

    def receive(self):
        line = self.lines.readline(MAX_LINE + 1)
        if not line.endswith(b"\n"):
            raise ProtocolError("line too long" if len(line) > MAX_LINE else "the worker closed the channel")
        return decode(line)


class ByHand:
    """No worker: the lines are shown, the attempt is made up, and every gate opens at once."""

    def __init__(self, words):
        self.answers = [hand_attempt(words)]

    def send(self, message):
        sys.stdout.write(encode(message).decode("ascii"))
        sys.stdout.flush()
        if message["type"] == "gate":
            self.answers.append({"type": "go", "gate": message["name"], "value": message["value"]})

    def receive(self):
        return self.answers.pop(0)


def hand_args(words):
    """["steps=3", "host=a"] to {"steps": 3, "host": "a"}."""
    args = {}
    for word in words:
        key, _, value = word.partition("=")
        try:
            args[key] = json.loads(value)
        except ValueError:
            args[key] = value
    return args


def hand_attempt(words):
    devices = int(os.environ.get("JAX_NUM_CPU_DEVICES") or os.environ.get("CPU_NUM_DEVICES") or 1)
    return {"type": "attempt", "protocol": PROTOCOL, "nonce": secrets.token_hex(16), "run": "by-hand",
            "host": "localhost", "rung": os.path.basename(sys.argv[0]), "pass": "once", "attempt": 1,
            "scope": "host", "rank": 0, "world": 1, "address": "127.0.0.1",
            "mesh": [{"axis": "host", "size": devices}], "devices_per_host": devices,
            "backend": os.environ.get("JAX_PLATFORMS") or os.environ.get("PJRT_DEVICE", "cpu").lower(), "secret": 1000,
            "args": hand_args(words)}


class Canary:
    """One attempt: what the worker said about it, and a method for each line a canary may say."""

    def __init__(self, channel):
        self.channel = channel
        self.attempt = self.first_line()
        self.args = self.attempt.get("args") or {}
        self.counted = dict.fromkeys(COUNTERS, 0)
        self.failed, self.facts_told = False, 0

    def first_line(self):
        attempt = self.channel.receive()
        if attempt["type"] != "attempt" or attempt.get("protocol") != PROTOCOL:
            raise ProtocolError(f"expected an attempt of protocol {PROTOCOL}, got {clean(attempt, 200)}")
        return attempt

    @property
    def rank(self):
        return self.attempt["rank"]

    @property
    def world(self):
        return self.attempt["world"]

    @property
    def devices_per_host(self):
        return self.attempt["devices_per_host"]

    @property
    def hold_s(self):
        """For how long to repeat what it does: `hold` of the rung; 0 without it."""
        return self.attempt.get("hold_ms", 0) / 1000

    @property
    def axes(self):
        return [axis["axis"] for axis in self.attempt["mesh"]]

    @property
    def sizes(self):
        return [axis["size"] for axis in self.attempt["mesh"]]

    def shaped(self, compiled=0, /, **sizes):
        """The sizes to compute with, by the `shapes` of the profile: name of a dimension to the sizes that it may have.
        compiled: how many programs were compiled already, while no size was asked for."""
        if compiled:
            raise Failure("program", "sizes are checked before the first program is compiled, and one was compiled already")
        shapes = self.attempt.get("shapes") or {}
        return {name: allowed_size(name, size, shapes[name], shapes.get("padding", False)) if name in shapes else size
                for name, size in sizes.items()}

    def say(self, kind, **fields):
        self.channel.send({"type": kind, **fields})

    def phase(self, name):
        self.say("phase", name=name)

    def bundle(self, items):
        self.say("bundle", items={name: clean(version) for name, version in items.items()})

    def policy(self):
        """Sent after the imports, because imports edit these variables."""
        seen = {name: clean(value) for name, value in sorted(os.environ.items())
                if name.startswith(POLICY_PREFIXES)}
        self.say("policy", observed=seen)

    def backend(self, **fields):
        self.say("backend", **fields)

    def program(self, name, fingerprint):
        self.say("program", name=name, fingerprint=fingerprint)

    def gate(self, name, mode, value):
        """Blocks until the coordinator lets this host through; returns the value of the go line."""
        self.say("gate", name=name, mode=mode, value=value)
        while True:
            message = self.channel.receive()
            if message["type"] == "stop":
                raise Stopped(clean(message.get("reason", "")))
            if message["type"] == "go":
                return self.through(name, message)

    def through(self, name, message):
        if message.get("gate") != name or not isinstance(message.get("value"), str):
            raise ProtocolError(f"waiting at gate {name}; got {clean(message, 200)}")
        return message["value"]

    def counters(self):
        """All of them, always: an absent counter is no evidence."""
        self.say("counters", values=dict(self.counted))

    def check(self, name, expected, observed, tolerance=0.0):
        """The worker judges; a value that JSON cannot carry is judged here."""
        finite(name, observed)
        self.say("check", name=name, expected=expected, observed=observed, tolerance=tolerance)

    def metric(self, name, reduction, axes, value, shards, scope="global", dtype="float32"):
        """dtype: in what the value was computed; what rounding may come to follows from it."""
        finite_metric(name, value, shards)
        self.say("metric", name=name, reduction=reduction, axes=list(axes), scope=scope,
                 value=value, shards=shards, dtype=dtype)

    def cache(self, program, key, state, why="", parts=None, compile_ms=0):
        """What became of one program's entry in the compile cache; state is a word of docs/spec/canary.md."""
        more = {"compile_ms": compile_ms} if compile_ms else {}
        self.say("cache", program=shortened(program), key=shortened(key), state=state, why=clean(why, MAX_NAME),
                 parts=parts or {}, **more)

    def memory(self, predicted_bytes=0, device_peak_bytes=0):
        """Of one device, as the compiler said and as the runtime counted; 0: nobody says."""
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        more = {"predicted_bytes": predicted_bytes, "device_peak_bytes": device_peak_bytes}
        self.say("memory", peak_bytes=peak_kib * 1024, **{name: value for name, value in more.items() if value})

    def note(self, text, durability="rerun", source=None):
        self.say("note", text=clean(text), source=source or self.attempt["rung"], durability=durability)

    def fact(self, name, value):
        self.facts_told += 1
        self.say("fact", name=name, value=clean(value))

    def failure(self, owner=None, text="", *, layer=None):
        self.failed = True
        self.say("failure", layer=owner or layer, text=clean(text))

    def offer_stacks(self):
        """The worker asks for the stacks of a program that is late or silent; other handlers are left alone."""
        number, path = self.attempt.get("stacks_signal"), self.attempt.get("stacks_file")
        try:
            if not number or not path or signal.getsignal(number) is not signal.SIG_DFL:
                return
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            faulthandler.register(number, file=file, all_threads=True)
        except (OSError, RuntimeError, TypeError, ValueError):
            return
        self.say("stacks", signal=number, pid=os.getpid())

    def done(self):
        self.say("done", nonce=self.attempt["nonce"])


def allowed_size(name, size, allowed, padding):
    """The size itself, or with padding the next larger one that is allowed."""
    larger = min((each for each in allowed if each >= size), default=None)
    if larger == size or (padding and larger):
        return larger
    listed = ", ".join(str(each) for each in sorted(allowed))
    hint = "choose one of them" if larger is None else f"choose one of them, or set padding: true to compute with {larger}"
    raise Failure("program", f"{name} {size} is in no bucket of the profile's shapes ({listed}); nothing was compiled: {hint}")


def versions(packages):
    """Of Python and of those of the packages that are installed, by name."""
    import importlib.metadata

    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def finite(name, value):
    if not math.isfinite(value):
        raise Failure("program", f"{name} is {value}")


def finite_metric(name, value, shards):
    """One value that is not finite spoils the reduction on every host: whoever gave one is at fault, if anybody did."""
    for device, shard in enumerate(shards):
        for part in ("local", "weight"):
            if not math.isfinite(shard.get(part, 0)):
                raise Failure("program", f"{name} is {value}: local device {device} gave the {part} {shard[part]} to it")
    if not math.isfinite(value):
        raise Failure("unknown", f"{name} has no finite value, though all that this host gave to it is finite")


def connect():
    """The canary at the descriptor that the worker left, or one run by hand."""
    number = os.environ.pop("SLICEUP_FD", None)
    canary = Canary(ByHand(sys.argv[1:]) if number is None else Descriptor(int(number)))
    canary.offer_stacks()
    sys.excepthook = lambda kind, error, trace: end_uncaught(canary, error)
    return canary


def run(body):
    """Runs body(canary) to its end and leaves the process."""
    try:
        canary = connect()
        body(canary)
        if canary.failed:
            leave("failed")
        canary.done()
    except Stopped as stop:
        leave(f"stopped: {stop}")
    except SystemExit as exit:
        number = isinstance(exit.code, int)
        leave("" if number or exit.code is None else exit.code, exit.code if number else int(exit.code is not None))
    except Exception as error:
        traceback.print_exc()
        tell_failure(locals().get("canary"), error)
        leave("failed")


def tell_failure(canary, error):
    """Of an error that names no owner the text says whose it is: the run's signatures know more than a canary."""
    named = getattr(error, "owner", None) or getattr(error, "layer", None)
    owner = named if isinstance(named, str) and named in OWNERS else "unknown"
    text = f"{error}" if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
    try:
        if canary:
            canary.failure(owner, text)
    except (OSError, ProtocolError):
        print("the worker is gone; the failure could not be reported", file=sys.stderr)


def end_uncaught(canary, error):
    """What no handler took, also in a program that does not use run()."""
    traceback.print_exception(error)
    if isinstance(error, Exception):
        tell_failure(canary, error)
    leave("failed")


def leave(word, status=1):
    """Leaves at once: exit handlers of a runtime may wait for peers that will never answer."""
    if word:
        print(word, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
