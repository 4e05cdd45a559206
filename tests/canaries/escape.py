"""Puts terminal escapes into its output, a phase, a note and a fact; otherwise it passes.

args: fails (false): puts them into a failure as well.
"""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

ESCAPES = "\x1b[2J\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m \x08\x08 \r over \u202e backwards"


def body(canary):
    sliceup_plain.start(canary)
    print(ESCAPES, flush=True)
    canary.phase("run" + ESCAPES)
    canary.note(ESCAPES)
    canary.fact("escape", ESCAPES)
    canary.check("name" + ESCAPES, 1, 1)
    if canary.args.get("fails"):
        raise sliceup_plain.Failure("program", "it fails" + ESCAPES)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
