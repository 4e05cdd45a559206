"""transformed.py - what pipes, schedulers and log stores do to the output of a program: for tests/campaign/failure_logs --transformed.

Each function takes a log and gives it changed; what failed, and whose it is, stays what it was.
"""
import json
import textwrap

STEPS = "".join(f"step {number} loss {2.5 - number * 1e-6:.6f} 412.3 ms\n" for number in range(75000))   # 3 MB
OTHERS = "".join(f"[rank{rank}]: step {number} loss 2.31\n" for number in range(40) for rank in (1, 2, 3))
STAMP = "2026-03-04T05:06:07.123456789Z"


def each_line(text, before):
    return "".join(before(number) + line + "\n" for number, line in enumerate(text.splitlines()))


def mixed(text):
    """Lines of another speaker between those of this one, each with its rank."""
    lines = text.splitlines()
    return "".join(f"0: {line}\n" + (f"1: step {number} loss 2.31\n" if number % 3 == 0 else "") for number, line in enumerate(lines))


def as_json(text, severity):
    return "".join(json.dumps({"textPayload": line, "severity": severity, "timestamp": STAMP, "insertId": f"{number:x}"}) + "\n"
                   for number, line in enumerate(text.splitlines()))


def structured(text):
    """All that was printed in one field of one line, as a logger of events keeps an exception."""
    first, _, rest = text.partition("\n")
    return json.dumps({"event": first, "level": "info"}) + "\n" + json.dumps({"event": "job failed", "level": "error", "exception": rest}) + "\n"


def folded(text):
    return "".join("\n".join(textwrap.wrap(line, 100, drop_whitespace=False, break_on_hyphens=False) or [""]) + "\n" for line in text.splitlines())


ALL = {
    "colours": lambda text: each_line(text, lambda number: "\x1b[3%dm" % (number % 7 + 1)).replace("\n", "\x1b[0m\n"),
    "bars of \\r": lambda text: each_line(text, lambda number: "".join(f"{at}%|###\r" for at in range(0, 100, 20))),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "`0: `, others between": mixed,
    "CRI": lambda text: each_line(text, lambda number: f"{STAMP} stderr F "),
    "kubectl --prefix": lambda text: each_line(text, lambda number: "[pod/train-0-abcde/train] "),
    "journald": lambda text: each_line(text, lambda number: "Mar 04 05:06:07 node-3 train[4711]: "),
    "3 MB of steps before": lambda text: STEPS + text,
    "other ranks go on behind": lambda text: text + OTHERS,
    "folded at 100 columns": folded,
    "GKE JSON, ERROR": lambda text: as_json(text, "ERROR"),
    "GKE JSON, INFO": lambda text: as_json(text, "INFO"),
    "one field of structlog": structured,
    "three steps behind": lambda text: text + "step 41 loss 2.31\nstep 42 loss 2.31\nstep 43 loss 2.30\n",
    "6 MB before, a farewell behind": lambda text: STEPS + STEPS + text + "closing 12 files\nflushing metrics\nbye\n",
}
