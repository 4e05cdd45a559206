"""The counters of the canary protocol, from the events that jax sends."""

REQUEST = "/jax/core/compile/backend_compile_duration"
CONSULTED = "/jax/compilation_cache/compile_requests_use_cache"
HIT = "/jax/compilation_cache/cache_hits"
SAVED = "/jax/compilation_cache/compile_time_saved_sec"
RETRIEVAL = "/jax/compilation_cache/cache_retrieval_time_sec"


class Counting:
    """Listens to jax.monitoring and keeps the canary's counters; must exist before the first compile."""

    def __init__(self, jax, counted, keys):
        self.counted, self.keys = counted, keys
        self.counted["cache_requests"] = 0
        self.hit = False
        self.seconds = {"compile_ms": 0.0, "retrieval_ms": 0.0, "saved_ms": 0.0}
        jax.monitoring.register_event_listener(self.on_event)
        jax.monitoring.register_event_duration_secs_listener(self.on_duration)

    def on_event(self, event, **_):
        if event == HIT:
            self.hit = True
            self.counted["cache_hits"] += 1
        elif event == CONSULTED:
            self.counted["cache_requests"] += 1

    def on_duration(self, event, seconds, **_):
        if event == SAVED:
            # Of each program whole seconds of its compilation are kept: less is 0 here (jax/_src/compilation_cache.py).
            self.add("saved_ms", max(seconds, 0.0))
        elif event == RETRIEVAL:
            self.add("retrieval_ms", seconds)
        elif event == REQUEST:
            self.on_request(seconds)

    def on_request(self, seconds):
        """Comes once after each compile or retrieval; after a retrieval its time is no compile time."""
        self.counted["compile_requests"] += 1
        if not self.hit:
            self.add("compile_ms", seconds)
            self.keys.took(seconds)
        self.hit = False
        self.counted["cache_misses"] = self.counted["compile_requests"] - self.counted["cache_hits"]

    def add(self, counter, seconds):
        self.seconds[counter] += seconds
        self.counted[counter] = round(self.seconds[counter] * 1000)


class Reads:
    """How many values are brought to the host while it is entered: in `count`.

    A guard of jax refuses them where device and host have memories of their own, and not on CPU, where a read still waits
    for the program: there the property of jax's arrays that all reads go through is watched.
    """

    def __init__(self, jax, array):
        self.guard, self.kind, self.count = jax.transfer_guard_device_to_host("disallow"), type(array), 0

    def __enter__(self):
        self.guard.__enter__()
        self.whole = getattr(self.kind, "_value", None)
        if isinstance(self.whole, property):
            self.kind._value = property(self.read)
        return self

    def read(self, array):
        self.count += 1
        return self.whole.fget(array)

    def __exit__(self, *raised):
        if isinstance(self.whole, property):
            self.kind._value = self.whole
        return self.guard.__exit__(*raised)
