"""A server in place of sliceup-web that says what a test wants, and a browser that looks at it."""
import http.server
import json
import pathlib
import threading
import time
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PAGE = pathlib.Path(__file__).resolve().parents[2] / "coordinator/picture"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
          "frame-ancestors 'none'; require-trusted-types-for 'script'")
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
NOTHING = b"there is no such thing\n"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><b>&amp; \u202egnp.exe \x1b[31m'\""


def browser(folder, size=(1280, 1000)):
    """Downloads go to `folder`."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                 "--hide-scrollbars", "--force-prefers-reduced-motion", f"--window-size={size[0]},{size[1]}"):
        options.add_argument(word)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder), "download.prompt_for_download": False})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


class StandIn(http.server.ThreadingHTTPServer):
    """`answers`: what stands behind /api/ -> JSON, bytes, or a function that makes them of the query."""
    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Request)
        self.answers, self.asked, self.away = answers, [], False
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Request(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # the browser went away

    def do_GET(self):
        where = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(where.query))
        self.server.asked.append((where.path, query, self.headers.get("Authorization")))
        name = where.path.lstrip("/") or "page.html"
        if self.server.away:
            return
        if not name.startswith("api/"):
            kind = TYPES.get(name.rsplit(".")[-1])
            return self.answer((PAGE / name).read_bytes() if kind else None, kind)
        answer = self.server.answers.get(name[4:])
        answer = answer(query) if callable(answer) else answer
        return self.answer(answer if isinstance(answer, bytes) or answer is None else json.dumps(answer).encode(), "application/json")

    def answer(self, body, kind):
        body = NOTHING if body is None else body
        self.send_response(404 if body is NOTHING else 200)
        self.send_header("Content-Type", f"{kind or 'text/plain'}; charset=utf-8")
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# ---- what it says: a run of which one host failed, four fell with it, one hangs and one is silent ----

def columns_of(rows):
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def marks(n):
    return ("rgrF" + "r" * 4 + "c" * 4 + "r?T" + "r" * n)[:n]


def group(index, outcome, names, first, count, said, cause_host=None, cause_group=None):
    return {"index": index, "rung": 2, "pass": "once", "outcome": outcome, "owner": "host", "certainty": "known", "preliminary": True, "signature": "",
            "line": f"RuntimeError: {outcome} {said}", "cause": f"we say {outcome} {said}", "next": f"look {said}", "phase": "compile",
            "names": names, "first": first, "count": count, "cause_host": cause_host, "cause_group": cause_group}


def rung(index, name, now):
    return {"index": index, "id": name, "outcome": "passed" if index < 2 else None, "pass": "once", "attempt": 1, "running": index == 2,
            "slice_wide": False, "began_ms": 900 if index == 2 else None, "spent_ms": 900 if index < 3 else None, "limit_ms": 60000,
            "hosts": len(now) if index < 3 else None, "ended": 3 if index < 3 else None,
            "cells": "P" * len(now) if index < 2 else now if index == 2 else "." * len(now)}


def state(hosts=16, columns=4, said="", rungs=("facts", "device", "tiny", "slice")):
    now = marks(hosts)
    summary = {"slice": f"pod{said}", "ladder": "tpu", "version": "0.3.0", "mesh": "data=4, model=4", "state": "running", "outcome": None,
               "exit_status": None, "sentence": f"tiny runs {said}", "opened_wall_ms": 1795000000000, "hosts": hosts, "joined": hosts, "silent": 1, "violations": 0,
               "lost": 0, "columns": columns, "frontier": 2, "left_ms": 20000, "usual_ms": 60000, "usual_runs": 3, "cancelling": False,
               "waiting": [f"v6e-13: silent for 9 s {said}"], "generation": 7, "entries": 12, "bytes": 34000000, "adopted": False}
    groups = [group(0, "failed", "v6e-3", 3, 1, said), group(1, "timed-out", "v6e-14", 14, 1, said),
              group(2, "cascade", "v6e-[8-11]", 8, 4, said, "v6e-3", 0)]
    metrics = [{"rung": 1, "pass": "once", "name": f"loss{said}", "axes": "data", "value": 3.5, "proof": "collective", "why": said, "culprits": ""}]
    gates = [{"rung": 1, "pass": "once", "attempt": 1, "gate": "meet", "last": "v6e-2", "hosts": hosts, "median_wait_ms": 400, "longest_wait_ms": 900,
              "opened_ms": 1700}]
    return {"boot": "b00t", "revision": 12, "now_ms": 31200, "run": "3fa9c0de00112233", "whole": True, "summary": summary,
            "names": [f"v6e-{i}" for i in range(hosts)], "now": now, "rungs": [rung(i, name, now) for i, name in enumerate(rungs)],
            "phases": {"words": ["", f"compile{said}", "gate:meet"], "of": ";<" + ";" * (hosts - 2)},
            "groups": columns_of(groups), "groups_n": 3, "groups_left_out": 0, "ungrouped": 0,
            "group_of": (":::;::::====::<" + ":" * hosts)[:hosts], "metrics": columns_of(metrics), "gates": columns_of(gates),
            "notes": [[i, 100 * i, f"note {i} {said}"] for i in range(1, 30)], "notes_skipped": 37}


def nothing_new(whole):
    time.sleep(0.2)
    return {part: whole[part] for part in ("boot", "revision", "now_ms", "run", "summary")} | {"whole": False, "notes": [], "notes_skipped": 0}


def host(name, said=""):
    spans = [{"name": "start", "gate": False, "began_ms": 1000, "ms": 300, "awaited": None},
             {"name": "gate:meet", "gate": True, "began_ms": 1300, "ms": 200, "awaited": "v6e-2"},
             {"name": f"compile{said}", "gate": False, "began_ms": 1500, "ms": 350, "awaited": None}]
    attempts = [{"rung": i, "pass": "once", "attempt": 1, "purpose": "climb", "mark": "PPF"[i], "began_ms": 1000 * i, "ms": 900,
                 "ended_ms": 1000 * i + 900, "group": None, "spans": [{**span, "began_ms": span["began_ms"] + 1000 * (i - 1)} for span in spans]} for i in range(3)]
    return {"boot": "b00t", "revision": 12, "run": "3fa9", "host": name, "rank": int(name[4:]), "life": "joined", "why": said,
            "attempts": attempts, "facts": {"kernel": f"6.{name[-1]}", f"memory{said}": f"64 GiB{said}"}}


def drift(said=""):
    groups = [{"value": f"6.1{said}", "hosts": "v6e-[0-4,6-15]", "count": 15, "reference": True, "before": None},
              {"value": f"5.10{said}", "hosts": "v6e-5", "count": 1, "reference": False, "before": None}]
    return {"sentence": f"1 fact differs {said}", "findings": [{"fact": f"fact kernel{said}", "verdict": "differs", "severity": "breaks", "why": said,
                                                               "next": f"update it {said}", "groups": groups}]}


def runs(said=""):
    return {"runs": [{"run": f"{i}fa9c0de", "slice": f"pod{said}", "state": "ended", "outcome": "failed", "sentence": f"said {said}",
                      "began_wall_ms": 1795000000000 - i, "ended_wall_ms": 1795000100000, "rung": None, "hosts": 16} for i in (1, 2)]}


def numbers(said="", hosts=16, slow=13, times=1):
    """One host is slow at each rung, and at one phase of it; a number that hosts told."""
    def near(base, one):
        return [times * (one if i == slow else base + i % 5 * base // 100) for i in range(hosts)]
    return {"hosts": [f"v6e-{i}" for i in range(hosts)],
            "numbers": {"facts/once": near(1000, 1400), "device/once": near(20000, 61000), f"device/once/compile{said}": near(15000, 55000),
                        f"number.speed.compute{said}": [None, *near(400, 250)[1:-1]]}}


def stacks(said=""):
    groups = [{"hosts": "v6e-3", "count": 1, "where": f"fault.py:4 maybe () {said}", "frames": [f'File "/k/fault.py", line 4 in maybe {said}'],
               "waits": [f"python3: main thread sleeping in futex {said}"], "looked_ms": 1500}]
    return {"schema": "sliceup.stacks/1", "run": "3fa9c0de00112233", "rung": "tiny", "pass": "once", "groups": groups, "groups_left_out": 2,
            "sentence": f"the odd one out now: v6e-3 {said}"}


def answers(said="", **more):
    whole = state(said=said, **more)
    return {"state": lambda query: nothing_new(whole) if "since" in query else whole, "host": lambda query: host(query["host"], said),
            "within": lambda query: {"boot": "b00t", "revision": 12, "hosts": "...xx" + "." * 11 if query["time"] == "1400-2100" else "." * 16},
            "log": lambda query: f"a line of the log {said}\n".encode() * 50 if "from" not in query else b"", "drift": drift(said),
            "runs": runs(said), "stacks": stacks(said), "receipt": b"{}",
            "numbers": lambda query: numbers(said, more.get("hosts", 16), slow=5 if query["run"][0] in "12" else 13)}
