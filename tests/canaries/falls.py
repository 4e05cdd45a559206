"""One host fails with a text; the others notice in the reduction and abort with theirs, as the runtime does for them.

args: host and text (required), others (required): what they print; "@PATH": the text of that file. after: a file without which
the others do not abort yet.
A rung of scope slice: everybody has met before that host fails, and reports the metric "devices".
"""

import os
import pathlib
import resource
import signal
import sys

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def words(text):
    """What to print: the text itself, or that of the file it names."""
    return pathlib.Path(text[1:]).read_text(errors="surrogateescape") if text.startswith("@") else text


def abort(text):
    """No exception, no words of the protocol: a library ended the process."""
    print(words(text), file=sys.stderr, flush=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGABRT)


def body(canary):
    sliceup_plain.start(canary)
    star = sliceup_plain.Star(canary)
    canary.phase("run")
    if canary.attempt["host"] == canary.args["host"]:
        print(words(canary.args["text"]), file=sys.stderr, flush=True)
        os._exit(1)
    try:
        ones = [(1.0, 1.0) for _ in sliceup_plain.numbers(canary)]
        sliceup_plain.proved_metric(canary, star, "devices", "sum", canary.axes, ones)
    except (sliceup_plain.Failure, OSError):
        lab.until_there(canary.args.get("after"))
        abort(canary.args["others"])
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
