"""certificate.py - reads a czmq certificate as pyzmq's zmq.auth.load_certificate does, and the words that stand in it."""
import pathlib


def pair_of(path):
    """(public, secret), as text; line by line, as pyzmq 24 and 26 find them."""
    found = {}
    for line in pathlib.Path(path).read_text().splitlines():
        line = line.strip()
        for name in ("public-key", "secret-key"):
            if not line.startswith("#") and line.startswith(name):
                found[name] = line.split("=", 1)[1].strip(" \t'\"")
    return found["public-key"], found["secret-key"]


def words_of(text):
    """All that a certificate of ours says: name -> value, whatever the section."""
    pairs = (line.split(" = ", 1) for line in text.splitlines() if " = " in line and not line.startswith("#"))
    return {name.strip(): value.strip('"') for name, value in pairs}


def monitor_key_of(text):
    """What a certificate says that `sliceup monitor-key` printed."""
    words = words_of(text)
    return {"sliceup-monitor": 1, "run": words["run"], "address": words["address"], "port": int(words["port"]),
            "coordinator_key": words["coordinator-key"], "public_key": words["public-key"], "secret_key": words["secret-key"]}
