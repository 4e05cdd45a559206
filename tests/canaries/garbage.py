"""Writes what no reader wants on the descriptor. args: kind (all), one of the names in JUNK."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

JUNK = {
    "text": b"this is not JSON\n",
    "array": b"[1,2,3]\n",
    "untyped": b'{"name":"x"}\n',
    "unknown": b'{"type":"nonsense"}\n',
    "fields": b'{"type":"check","name":7,"expected":"a","observed":null}\n',
    "utf8": b'{"type":"note","text":"\xff\xfe\xc3("}\n',
    "nul": b'{"type":"note","text":"a\\u0000b"}\n\0\0\0\n',
    "number": b'{"type":"memory","peak_bytes":1e999}\n{"type":"memory","peak_bytes":-5}\n',
    "deep": b"[" * 30000 + b"]" * 30000 + b"\n",
    "deep_object": b'{"type":"bundle","items":' + b'{"a":' * 9000 + b"1" + b"}" * 9001 + b"\n",
    "long": b'{"type":"note","text":"' + b"a" * 70000 + b'"}\n',
    "endless": b"a" * (4 * 1024 * 1024),
}


def body(canary):
    canary.phase("run")
    kind = canary.args.get("kind", "all")
    for name, junk in JUNK.items():
        if kind in ("all", name):
            canary.channel.socket.sendall(junk)


sliceup_plain.run(body)
