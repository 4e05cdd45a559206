"""What jax tells of its compile cache, program by program: which key, of which parts, and what became of the entry.

There is no interface for it: jax writes log records and warnings (jax-ml/jax:jax/_src/compiler.py, cache_key.py,
compilation_cache.py, lru_cache.py; the texts below are those of 0.10.2). They are read in the process and not printed.
A text that has changed is not understood and nothing is told: the counters decide, this only explains.
"""

import logging
import re
import threading
import warnings

LOGGERS = ("jax._src.compiler", "jax._src.cache_key", "jax._src.compilation_cache", "jax._src.lru_cache")

# As cache_key.get names what it hashes -> as people do.
PARTS = {"jax_lib version": "jaxlib", "backend version": "platform version", "XLA flags": "flags",
         "compile_options": "compile options", "accelerator_config": "topology", "custom_hook": "hook"}
# Rising: a program that was compiled and then found was compiled, and an entry that could not be loaded stays in the
# way of the new one, since jax never replaces a file.
STATES = ("none", "hit", "missed", "below-threshold", "written", "unwritten", "unreadable")
PART_DIGITS = 12
PARTS_MAX = 12

# Said in this order while one thread compiles one program: parts, found or not found, hit or miss, and after a miss
# what became of the new entry. A warning comes where JAX_RAISE_PERSISTENT_CACHE_ERRORS does not ask for the exception.
PART = re.compile(r"get_cache_key hash of serialized (.+): ([0-9a-f]{12,})$")
LOOKED = re.compile(r"Cache (hit|miss) for key: '([^']+)'")
NOT_ASKED = re.compile(r"get_executable_and_time: (cache is disabled.*)")
HIT = re.compile(r"Persistent compilation cache hit for '(.+)' with key '([^']+)'")
MISS = re.compile(r"PERSISTENT COMPILATION CACHE MISS for '(.+)' with key '([^']+)'")
WRITING = re.compile(r"Writing (.+) to persistent compilation cache with key '([^']+)'")
NOT_WRITTEN = re.compile(r"Not writing persistent cache entry")
THRESHOLD = re.compile(r"because it took <|is less than threshold")
UNREAD = re.compile(r"Error reading persistent compilation cache entry for '(.+?)': (.*)", re.S)
UNPUT = re.compile(r"Error writing persistent compilation cache entry for '(.+?)': (.*)", re.S)


class Asked(threading.local):
    """The program that this thread asks the cache for just now."""

    def __init__(self):
        self.begin()

    def begin(self):
        self.parts, self.found, self.not_asked, self.entry = {}, None, None, None

    def is_compiling(self, key):
        return self.entry is not None and self.entry.key == key and self.entry.state in ("missed", "written")


class Entry:
    """One key, the state that was seen last, and jax's own words about it."""

    def __init__(self, program, key, parts):
        self.program, self.key, self.parts = program, key, parts
        self.state, self.why, self.compile_ms, self.told = "none", "", 0, None


class Keys:
    """Listens from its making on; tell() says what is new."""

    def __init__(self, canary):
        self.canary = canary
        self.wanted = canary.attempt["pass"] in ("cold", "restored")
        # Whoever restores a cache never writes to it: that an entry was not written says nothing then.
        self.writes = canary.attempt["pass"] != "restored"
        self.asked = Asked()
        self.entries = {}
        self.lock = threading.Lock()
        for name in LOGGERS:
            listen(logging.getLogger(name), self.hear)
        listen_to_warnings(self.hear_warning)

    def hear(self, text):
        for pattern, take in ((PART, self.on_part), (LOOKED, self.on_looked), (NOT_ASKED, self.on_not_asked),
                              (HIT, self.on_hit), (MISS, self.on_miss), (WRITING, self.on_writing)):
            match = pattern.match(text)
            if match:
                return take(*match.groups())
        if NOT_WRITTEN.match(text) and self.asked.entry:
            self.unwritten(text, "below-threshold" if THRESHOLD.search(text) else "unwritten")

    def hear_warning(self, text):
        read, put = UNREAD.match(text), UNPUT.match(text)
        if read and self.asked.found:
            self.become("unreadable", self.asked.found, why=read[2])
        elif put and self.asked.entry:
            self.unwritten(put[2], "unwritten")

    def on_part(self, name, digest):
        asked = self.asked
        if name in asked.parts or name == "computation":
            asked.begin()
        if len(asked.parts) < PARTS_MAX:
            asked.parts[name] = digest[:PART_DIGITS]

    def on_looked(self, word, key):
        # A cache that checks its contents looks once more when it writes: that is no finding.
        if word == "hit" and not self.asked.is_compiling(key):
            self.asked.found = key

    def on_not_asked(self, words):
        self.asked.not_asked = words

    def on_hit(self, program, key):
        self.become("hit", key, program)

    def on_miss(self, program, key):
        if self.asked.not_asked:
            self.become("none", key, program, self.asked.not_asked)
        else:
            self.become("missed", key, program)

    def on_writing(self, program, key):
        if self.writes:
            self.become("written", key, program)

    def unwritten(self, text, state):
        entry = self.asked.entry
        if self.writes and entry.state in ("missed", "written"):
            self.become(state, entry.key, entry.program, text)

    def become(self, state, key, program=None, why=""):
        """The asked key is in this state now; its name begins with the program's."""
        program = program or key.rpartition("-")[0] or key
        with self.lock:
            entry = self.entries.setdefault((program, key), Entry(program, key, self.asked.parts))
            if STATES.index(state) >= STATES.index(entry.state):
                entry.state, entry.why = state, why
        self.asked.entry, self.asked.found, self.asked.not_asked = entry, None, None

    def took(self, seconds):
        """The program that this thread asked for last has been compiled. One that asks no cache has no entry."""
        entry = self.asked.entry
        if entry is not None and entry.state not in ("none", "hit") and not entry.compile_ms:
            entry.compile_ms = max(1, round(seconds * 1000))

    def failed(self, error):
        """Says what is new after an exception; the entry at which it was raised, or None."""
        asked, text = self.asked, f"{type(error).__name__}: {error}"
        culprit = None
        if asked.found:
            # Found, and neither a hit nor a miss since: this is what reading it raised.
            self.become("unreadable", asked.found, why=text)
            culprit = asked.entry
        elif asked.entry and asked.entry.state == "written" and isinstance(error, OSError):
            self.unwritten(text, "unwritten")
            culprit = asked.entry
        self.tell()
        return culprit

    def tell(self):
        with self.lock:
            news = [entry for entry in self.entries.values() if entry.told != (entry.state, entry.why, entry.compile_ms)]
            for entry in news:
                entry.told = (entry.state, entry.why, entry.compile_ms)
        for entry in news:
            # The parts of a key that was found are those of the writer's.
            parts = {} if entry.state == "hit" and not self.writes else named(entry.parts)
            self.canary.cache(entry.program, entry.key, entry.state, entry.why, parts, entry.compile_ms)


def named(parts):
    return {PARTS.get(name, name): digest for name, digest in parts.items()}


class Listener(logging.Filter):
    """Sees every record of a logger, and lets through only what would have been logged without it."""

    def __init__(self, logger, hear):
        super().__init__()
        self.hear = hear
        self.own_level = logger.level
        self.parent = logger.parent

    def filter(self, record):
        try:
            self.hear(record.getMessage())
        except Exception:  # noqa: BLE001 - what explains must never break what is explained
            pass
        level = self.own_level or (self.parent.getEffectiveLevel() if self.parent else logging.WARNING)
        return record.levelno >= level


def listen(logger, hear):
    logger.addFilter(Listener(logger, hear))
    logger.setLevel(logging.DEBUG)


def listen_to_warnings(hear):
    warnings.filterwarnings("always", message="Error (reading|writing) persistent compilation cache entry")
    show = warnings.showwarning

    def heard(message, *args, **named_args):
        try:
            hear(str(message))
        except Exception:  # noqa: BLE001 - as above
            pass
        show(message, *args, **named_args)

    warnings.showwarning = heard
