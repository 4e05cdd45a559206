"""unlucky.py - a `sliceup` whose machine dies or stalls at a chosen moment, or has a wrong clock (tests/plugins/unlucky.c)."""
import lab

LIBRARY = lab.BUILD / "tests" / "unlucky.so"


def env(lab_, die=None, stop=None, gate=None, clock=None):
    """The environment of such a process: SIGKILL before its `die`-th change of a file, SIGSTOP before its `stop`-th;
    nothing becomes durable while `gate` exists; its wall clock is `clock` seconds ahead."""
    more = {"LD_PRELOAD": str(LIBRARY)}
    more["ASAN_OPTIONS"] = lab_.env()["ASAN_OPTIONS"] + ":verify_asan_link_order=0"
    if die is not None:
        more["UNLUCKY_DIE"] = str(die)
    if stop is not None:
        more["UNLUCKY_STOP"] = str(stop)
    if gate is not None:
        more["UNLUCKY_GATE"] = str(gate)
    if clock is not None:
        more["UNLUCKY_CLOCK"] = str(clock)
    return lab_.env(**more)
