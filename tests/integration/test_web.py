"""sliceup serve and run --web: who is answered, within which bounds, and that a run does not notice who watches it."""
import gzip
import http.client
import json
import pathlib
import re
import selectors
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

import lab
import schema

TRANSIENT = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
STOPPED, STOPPED_BYTES = 32, 64 << 10
RAW = ("\x1b", "\x9b", "\x07", "\x08", "\u202e")


class Web:
    """A server, and requests to it."""

    def __init__(self, laboratory, *words, env=None):
        self.peers = []
        self.process = subprocess.Popen([str(lab.SLICEUP), "serve", *words], env=env or laboratory.env(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://([^/]+):(\d+)/(?:#token=([0-9a-f]{32}))?", self.url)
        if not found:
            raise AssertionError(f"no address: {self.url!r} {self.process.communicate(timeout=10)}")
        self.port, self.token = int(found[2]), found[3]

    def end(self):
        for peer in self.peers:
            peer.close()
        self.process.terminate()
        try:
            out, err = self.process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return lab.Ended(self.process.returncode, out, err)

    def ask(self, target, method="GET", host=None, **headers):
        """(status, headers, body)"""
        with_host = {"Host": host or f"127.0.0.1:{self.port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, target, headers=with_host)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, target):
        status, _, body = self.ask(target)
        if status != 200:
            raise AssertionError(f"{target}: {status} {body}")
        return json.loads(body)

    def made(self, target):
        """A file of the run, which is written soon after its end."""
        def ready():
            answer = self.ask(target)
            return answer if answer[0] != 503 else None
        status, headers, body = lab.wait_for(ready, target, 90)
        if status != 200:
            raise AssertionError(f"{target}: {status} {body}")
        return headers, body

    def dial(self, words="", window=None):
        peer = socket.socket()
        if window:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        peer.settimeout(30)
        self.peers.append(peer)
        peer.connect(("127.0.0.1", self.port))
        peer.sendall(words.encode())
        return peer


class Watcher(threading.Thread):
    """Follows a run as the page does, and keeps what it was told as one state."""

    def __init__(self, web, run):
        super().__init__(daemon=True)
        self.run_id, self.state, self.answers, self.largest, self.problem = run, {}, [], 0, None
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)

    def run(self):
        try:
            while self.state.get("summary", {}).get("state") != "ended":
                self.take()
        except Exception as problem:  # told by whoever waits for it
            self.problem = problem
        self.connection.close()

    def take(self):
        since = f"&since={self.state['revision']}&wait=1" if self.state else ""
        self.connection.request("GET", f"/api/state?run={self.run_id}{since}")
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:  # it is being made
            time.sleep(0.2)
            return
        self.answers.append(time.monotonic())
        self.largest = max(self.largest, len(body))
        self.merge(json.loads(body))

    def merge(self, told):
        if told["whole"]:
            self.state = told
            return
        if told["boot"] != self.state["boot"]:
            self.state = {}
            return
        if "groups" in told:
            told["groups"] = merged_groups(self.state["groups"], told["groups"], told["groups_n"])
        rungs = {rung["index"]: rung for rung in [*self.state["rungs"], *told.pop("rungs", [])]}
        notes = self.state["notes"] + told.pop("notes", [])
        self.state.update(told, rungs=[rungs[index] for index in sorted(rungs)], notes=notes)


def merged_groups(known, told, n):
    """Columns; those that changed have their index."""
    rows = {table["index"][at]: {name: column[at] for name, column in table.items()} for table in (known, told) for at in range(len(table.get("index", [])))}
    return {name: [rows[index][name] for index in range(n)] for name in rows[0]} if n else {}


def picture(state):
    """What all who watch have to agree on, however they came to it."""
    return {name: state[name] for name in ("summary", "now", "phases", "rungs", "groups", "group_of", "metrics", "gates")}


class WebTest(lab.LabTest):
    def serve(self, *words, **more):
        web = Web(self.lab, *words, **more)
        self.addCleanup(self.ends_well, web)
        return web

    def ends_well(self, web):
        if web.process.poll() is None:
            self.passes(self.lab._checked(web.end()))

    def finished(self, *rungs, **more):
        rungs = rungs or (self.lab.rung("low", "plain/hello.py"),)
        ended = self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", list(rungs))), **more))
        return ended, self.lab.run_folder().name


class Answers(WebTest):
    def test_an_ended_run_is_answered_as_the_commands_tell_it(self):
        ended, run = self.finished(self.lab.rung("paints", "escape.py"), self.lab.rung("fails", "escape.py", args={"fails": True}))
        self.assertEqual(1, ended.status, ended)
        web = self.serve("--all", "--listen", "127.0.0.1:0")
        stacks = schema.document(web.ask("/api/stacks")[2])
        self.assertEqual((run, None, [], 0), (stacks["run"], stacks["rung"], stacks["groups"], stacks["groups_left_out"]))
        listed = web.json("/api/runs")["runs"]
        told = json.loads(self.passes(self.lab.sliceup("runs", "--json")).out)["runs"]
        self.assertEqual([run], [entry["run"] for entry in listed])
        self.assertEqual((told[0]["slice"], told[0]["state"]), (listed[0]["slice"], listed[0]["outcome"]))
        state = web.json(f"/api/state?run={run[:6]}")
        self.assertTrue(state["whole"])
        self.assertEqual(self.lab.status()["rungs"][1]["passes"][0]["duration_ms"], state["rungs"][1]["spent_ms"])
        self.assertEqual("FF", state["rungs"][1]["cells"])
        receipt = (self.lab.run_folder() / "receipt.json").read_bytes()
        numbers = web.json(f"/api/numbers?run={run[:6]}")
        self.assertEqual(["h0", "h1"], numbers["hosts"])
        for rung in ("paints", "fails"):
            self.assertEqual([attempt["duration_ms"] for host in json.loads(receipt)["hosts"] for attempt in host["rungs"] if attempt["rung"] == rung],
                             numbers["numbers"][f"{rung}/once"])
        headers, made = web.made("/api/receipt?form=json")
        self.assertEqual(json.loads(receipt)["hosts"], json.loads(made)["hosts"])
        self.assertIn(f"sliceup-{run[:8]}.json", headers["Content-Disposition"])
        self.assertEqual(self.lab.sliceup("receipt", "--markdown").out.encode(), web.made("/api/receipt?form=markdown")[1])
        self.assertEqual(self.lab.sliceup("drift", "--json").out.encode(), web.made("/api/drift")[1])
        for form, word in (("junit", b"<testsuite"), ("trace", run.encode())):
            self.assertEqual(subprocess.run([str(lab.SLICEUP), "report", run, "--print", form], env=self.lab.env(), capture_output=True,
                                            timeout=60, check=False).stdout, web.made(f"/api/receipt?form={form}")[1])
            self.assertIn(word, web.made(f"/api/receipt?form={form}")[1])
        self.log(web, run)
        whole = web.ask("/api/state")
        _, headers, gzipped = web.ask("/api/state", Accept_Encoding="br, gzip")
        self.assertEqual((None, "gzip", "Accept-Encoding"), (whole[1]["Content-Encoding"], headers["Content-Encoding"], headers["Vary"]))
        self.assertEqual(json.loads(whole[2])["rungs"], json.loads(gzip.decompress(gzipped))["rungs"])
        self.assertIsNone(web.ask("/api/state", Accept_Encoding="gzip;q=0")[1]["Content-Encoding"])
        _, headers, metrics = web.ask("/metrics")
        self.assertRegex(headers["Content-Type"], "^application/openmetrics-text")
        self.assertTrue(metrics.endswith(b"# EOF\n"), metrics)
        host = web.json("/api/host?host=h1")
        self.assertEqual(["paints", "fails"], [state["rungs"][one["rung"]]["id"] for one in host["attempts"]])
        for words, hosts in (("0-0", "xx"), ("86400000-0", ".."), ("0-0", "xx"), ("0-1", "..")):
            self.assertEqual(hosts, web.json(f"/api/within?time={words}")["hosts"], words)
        for target in ("/api/state", "/api/host?host=h1", "/api/runs", "/metrics"):
            body = web.ask(target)[2].decode()
            for raw in RAW:
                self.assertNotIn(raw, body, target)
            for text in self.texts(json.loads(body) if target != "/metrics" else body.split("\n")):
                self.assertFalse(set(text) & set(RAW), f"{target}: {text!r}")
        self.assertNotEqual(state["boot"], "", state)

    def log(self, web, run):
        target = f"/api/log?run={run}&host=h0&rung=paints&pass=once&attempt=1"
        file = (self.lab.run_folder() / "logs" / "h0" / "paints.once.1.log").read_bytes()
        status, headers, body = web.ask(target)
        self.assertEqual((200, file, str(len(file))), (status, body, headers["X-Sliceup-Next"]))
        _, headers, body = web.ask(f"{target}&from=5")
        self.assertEqual((file[5:], str(len(file))), (body, headers["X-Sliceup-Next"]))
        for behind in ("99999999", str(2 ** 63 - 1)):
            status, headers, body = web.ask(f"{target}&from={behind}")
            self.assertEqual((200, b"", behind), (status, body, headers["X-Sliceup-Next"]))
        for wrong in (f"from={2 ** 63}", "from=-1", "&" * 500, "from=1&" * 500):
            self.assertEqual(400, web.ask(f"{target}&{wrong}")[0], wrong)
        for wrong in ("host=..&rung=paints", "host=h0&rung=..%2f..%2fjournal", "host=h9&rung=paints", "host=h0&rung=fail"):
            self.assertEqual(404, web.ask(f"/api/log?{wrong}&pass=once&attempt=1")[0], wrong)
        self.assertEqual(404, web.ask(target.replace("attempt=1", "attempt=2"))[0])
        longer = self.lab.run_folder() / "logs" / "h0" / "paints.once.6.log"
        longer.write_bytes(b"begins " + b"x" * 65536)
        _, headers, body = web.ask(target.replace("attempt=1", "attempt=6"))
        self.assertEqual((b"x" * 65536, "65543"), (body, headers["X-Sliceup-Next"]), "without from: the end")
        secret = self.lab.root / "secret"
        secret.write_text("secret")
        (self.lab.run_folder() / "logs" / "h0" / "paints.once.7.log").symlink_to(secret)
        self.assertEqual(404, web.ask(target.replace("attempt=1", "attempt=7"))[0], "a link is not followed")

    def texts(self, value):
        if isinstance(value, dict):
            value = [*value.keys(), *value.values()]
        if isinstance(value, list):
            return [text for one in value for text in self.texts(one)]
        return [value] if isinstance(value, str) else []


class Access(WebTest):
    def test_who_is_answered_and_how(self):
        _, run = self.finished()
        web = self.serve("--listen", "127.0.0.1:0", "--name", "bastion.example.org")
        self.assertIsNone(web.token)
        for host in (f"localhost:{web.port}", "127.0.0.1", "BASTION.example.org:1"):
            self.assertEqual(200, web.ask("/api/runs", host=host)[0], host)
        for host in ("evil.example", f"evil.example:{web.port}", "127.0.0.1.evil.example", "[::1]"):
            self.assertEqual(421, web.ask("/api/runs", host=host)[0], host)
            self.assertEqual(421, web.ask("/", host=host)[0], host)
        self.assertEqual(403, web.ask("/api/state", Sec_Fetch_Site="cross-site")[0])
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"):
            status, headers, _ = web.ask("/api/runs", method)
            self.assertEqual((405, "GET, HEAD"), (status, headers["Allow"]), method)
        status, headers, body = web.ask("/", "HEAD")
        self.assertEqual((200, b""), (status, body))
        self.assertGreater(int(headers["Content-Length"]), 0)
        for target, wanted in (("/", 200), ("/page.js", 200), ("/page.css", 200), ("/api/state", 200), ("/nowhere", 404),
                               ("/../../etc/passwd", 404), ("/api/state?run=ffffffffff", 404), ("/api/state?run=%2e%2e", 400),
                               ("/api/state?what=1", 400), ("/api/host?host=nobody", 404)):
            status, headers, _ = web.ask(target)
            self.assertEqual(wanted, status, target)
            self.assertRegex(headers["Content-Security-Policy"], "^default-src 'none'; script-src 'self'; ")
            self.assertIn("require-trusted-types-for 'script'", headers["Content-Security-Policy"])
            self.assertEqual(("nosniff", "no-referrer", "no-store", "same-origin"),
                             tuple(headers[name] for name in ("X-Content-Type-Options", "Referrer-Policy", "Cache-Control",
                                                              "Cross-Origin-Resource-Policy")), target)
        self.assertEqual(431, web.ask("/", X_Long="x" * 9000)[0])
        again = self.lab.sliceup("serve", "--listen", f"127.0.0.1:{web.port}", bound_s=30)
        self.assertEqual(3, again.status, again)
        self.assertIn("another program listens on 127.0.0.1", again.err)
        self.assertEqual(2, self.lab.sliceup("serve", "--listen", "everywhere", bound_s=30).status)
        with open("/dev/full", "w", encoding="ascii") as full:
            untold = subprocess.run([str(lab.SLICEUP), "serve", "--listen", "127.0.0.1:0"], env=self.lab.env(), stdin=subprocess.DEVNULL,
                                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
        self.assertEqual(3, untold.returncode, untold)
        self.assertIn("cannot write the address to standard output: No space left on device", untold.stderr)
        self.assertEqual(2, self.lab.sliceup("serve", run, "--all", bound_s=30).status)
        self.assertEqual(2, self.lab.sliceup("serve", "ffffffff", bound_s=30).status)
        # A damaged run is told as such, at once.
        journal = self.lab.run_folder() / "journal.db"
        whole = journal.read_bytes()
        journal.write_bytes(b"no journal")
        damaged = self.serve("--listen", "127.0.0.1:0", "--all")
        status, _, body = damaged.ask("/api/state")
        self.assertEqual(500, status)
        self.assertIn(b"damaged", body)
        self.assertEqual("damaged", damaged.json("/api/runs")["runs"][0]["state"])
        journal.write_bytes(whole)
        # One that serves one run has no other.
        self.finished()
        self.assertEqual([run], [entry["run"] for entry in web.json("/api/runs")["runs"]])
        self.assertEqual(404, web.ask(f"/api/state?run={self.lab.run_folder().name}")[0])

    def test_elsewhere_a_token_is_needed_which_survives_a_restart(self):
        self.finished()
        web = self.serve("--listen", "0.0.0.0:0", "--name", "bastion.example.org")
        self.assertIn("http://bastion.example.org:", web.url)
        file = self.lab.home / "web.token"
        self.assertEqual((web.token, 0o600), (file.read_text(), stat.S_IMODE(file.stat().st_mode)))
        wrong = f"{'0' if web.token[0] != '0' else '1'}{web.token[1:]}"
        for target in ("/api/runs", "/api/state", "/metrics"):
            for words in ({}, {"Authorization": f"Bearer {wrong}"}, {"Authorization": web.token}):
                self.assertEqual(401, web.ask(target, **words)[0], (target, words))
        for target in ("/", "/page.js"):
            self.assertEqual(200, web.ask(target)[0])
        self.assertEqual(200, web.ask("/api/runs", Authorization=f"Bearer {web.token}")[0])
        self.assertEqual(401, web.ask(f"/api/runs?token={web.token}")[0])
        self.assertEqual(421, web.ask("/", host="evil.example")[0])
        web.end()
        self.assertEqual(web.token, self.serve("--listen", "0.0.0.0:0").token)
        file.chmod(0o644)
        refused = self.lab.sliceup("serve", "--listen", "0.0.0.0:0", bound_s=30)
        self.assertEqual(3, refused.status, refused)
        self.assertIn("chmod 600", refused.err)


class Crowd(threading.Thread):
    """Connections that say `words`, each of which is made anew when it is closed, and says them again once it was answered."""

    def __init__(self, web, n, words):
        super().__init__(daemon=True)
        self.port, self.words, self.over, self.made = web.port, words.encode(), threading.Event(), 0
        self.selector = selectors.DefaultSelector()
        self.n = n

    def run(self):
        for _ in range(self.n):
            self.dial()
        while not self.over.is_set():
            for key, events in self.selector.select(0.2):
                self.serve(key.fileobj, events)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()

    def dial(self):
        peer = socket.socket()
        peer.setblocking(False)
        peer.connect_ex(("127.0.0.1", self.port))
        self.selector.register(peer, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def serve(self, peer, events):
        try:
            if events & selectors.EVENT_WRITE:
                self.selector.modify(peer, selectors.EVENT_READ)
                peer.send(self.words)
                self.made += peer.getpeername() is not None  # it was taken; one that was not raises OSError
            if events & selectors.EVENT_READ:
                if not peer.recv(65536):
                    raise ConnectionError
                peer.send(self.words)
        except BlockingIOError:
            pass
        except OSError:
            self.selector.unregister(peer)
            peer.close()
            self.dial()

    def end(self):
        self.over.set()
        self.join(30)


class Crowds(WebTest):
    """Whoever has the token is answered, however many others there are, who never go away."""

    def crowded(self, web, n, words):
        crowd = Crowd(web, n, words)
        crowd.start()
        self.addCleanup(crowd.end)
        lab.wait_for(lambda: crowd.made >= n, "the crowd to come", 60)
        for _ in range(3):
            for target in ("/api/runs", "/api/state", "/"):
                self.assertEqual(200, web.ask(target, **({"Authorization": f"Bearer {web.token}"} if web.token else {}))[0], (words, target))
        crowd.end()

    def test_strangers_who_are_silent_slow_or_refused_starve_nobody(self):
        self.finished()
        web = self.serve("--listen", "0.0.0.0:0")
        head = "HTTP/1.1\r\nHost: localhost\r\n"
        for n, words in ((64, ""), (300, ""), (300, f"GET /api/state {head}X-Slow: "), (300, f"GET / {head}\r\n"), (300, f"GET /api/runs {head}\r\n")):
            self.crowded(web, n, words)

    def test_open_pages_starve_nobody(self):
        self.finished()
        for words in (("--listen", "127.0.0.1:0"), ("--listen", "0.0.0.0:0")):
            web = self.serve(*words)
            more = {"Authorization": f"Bearer {web.token}"} if web.token else {}
            revision = json.loads(web.ask("/api/state", **more)[2])["revision"]
            shown = "".join(f"{name}: {value}\r\n" for name, value in more.items())
            for n in (64, 256):
                self.crowded(web, n, f"GET /api/state?since={revision}&wait=1 HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n")


class Live(WebTest):
    def test_a_run_is_unharmed_by_all_who_watch_and_they_agree(self):
        rungs = [self.lab.rung("low", "slow.py", args={"seconds": 1.5, "phases": ["compile", "run"]}),
                 self.lab.rung("falls", "fail_on.py", args={"host": "h1"})]
        run = self.lab.start("run", self.lab.slice(hosts=3, ladder=str(self.lab.ladder("ladder.yaml", rungs))), "--plain", "--web")
        port = int(run.wait_out(r"in a browser: http://127\.0\.0\.1:(\d+)/")[1])
        beside = Web.__new__(Web)
        beside.port = port
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 60)
        web = self.serve("--listen", "127.0.0.1:0")
        run_id = self.lab.run_folder().name
        watchers = [Watcher(web, run_id) for _ in range(10)] + [Watcher(beside, run_id)]
        for watcher in watchers:
            watcher.start()
        lab.wait_for(lambda: all(watcher.state for watcher in watchers), "all to be told", 30)
        ask = f"GET /api/state?run={run_id}&since=1&wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(200):
            web.dial()                                              # say nothing
        for _ in range(10):
            web.dial(ask * 3).close()                               # go away without a word
        for _ in range(5):
            web.dial(ask * 3, window=2048)                          # never read
        ended = run.end(60)
        self.assertEqual(1, ended.status, ended)
        for watcher in watchers:
            watcher.join(30)
            self.assertIsNone(watcher.problem)
            self.assertFalse(watcher.is_alive(), watcher.state)
        late = lab.wait_for(lambda: self.late(web, run_id), "a late watcher to see the end", 20)
        for watcher in watchers:
            self.assertEqual(picture(late), picture(watcher.state))
            if watcher is not watchers[-1]:  # which hosts share a note depends on when their facts were heard
                self.assertEqual(late["notes"], watcher.state["notes"])
            self.assertLess(watcher.largest, 64 * 1024)
            gaps = [after - before for before, after in zip(watcher.answers[1:], watcher.answers[2:])]
            self.assertGreater(len(watcher.answers), 4, "it was told as it happened")
            self.assertGreater(sorted(gaps)[len(gaps) // 4], 0.15, f"at most four a second: {gaps}")
        self.assertTrue(lab.tells_end(ended.out, late["summary"]["sentence"]), ended.out)
        lab.wait_for(lambda: not lab.listens(port), "the page's server to end after its run", 15)

    def late(self, web, run_id):
        status, _, body = web.ask(f"/api/state?run={run_id}")
        state = json.loads(body) if status == 200 else {}
        return state if state.get("summary", {}).get("state") == "ended" else None

    def test_a_watcher_that_was_stopped_skips_to_now_and_is_told_what_it_missed(self):
        """Of an answer's notes 32 are kept, of the run's 256: it misses more than both."""
        rungs = [self.lab.rung(f"r{i}", "transient.py", args={"host": "h0", "text": TRANSIENT, "times": 5}) for i in range(12)]
        path = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("ladder.yaml", rungs)), limits={"stop": "200ms", "retries": 5, "retry_wait": "0s"})
        run = self.lab.start("run", path)
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 60)
        run.kill(signal.SIGSTOP)  # it goes on once the watcher has stopped
        env = self.lab.env(ASAN_OPTIONS=lab.SANITIZERS["ASAN_OPTIONS"] + ":quarantine_size_mb=1")
        web, without = (self.serve("--listen", "127.0.0.1:0", env=env) for _ in range(2))
        run_id = self.lab.run_folder().name
        stopped = Watcher(web, run_id)
        lab.wait_for(lambda: stopped.take() or stopped.state, "a state", 30)
        seen, note = stopped.state["revision"], stopped.state["notes"][-1][0]
        for _ in range(STOPPED):
            web.dial(f"GET /api/state?run={run_id}&since={seen}&wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3, window=2048)
        others = [Watcher(web, run_id), Watcher(without, run_id)]
        for other in others:
            other.start()
        run.kill(signal.SIGCONT)
        self.passes(run.end(180))
        for other in others:
            other.join(30)
            self.assertEqual("ended", other.state["summary"]["state"], other.problem)
        late = self.late(web, run_id)
        self.assertLess(self.resident_bytes(web) - self.resident_bytes(without), STOPPED * STOPPED_BYTES)
        body = web.ask(f"/api/state?run={run_id}&since={seen}")[2]
        self.assertLess(len(body), 32 * 1024)
        told = json.loads(body)
        self.assertEqual((False, late["revision"]), (told["whole"], told["revision"]))
        first, last = told["notes"][0][0], told["notes"][-1][0]
        self.assertGreater(last, note + 256)
        self.assertEqual(first - note - 1, told["notes_skipped"], "what was dropped between the last note that it has and the first of these")
        self.assertEqual(list(range(first, last + 1)), [number for number, _, _ in told["notes"]])
        self.assertEqual(late["notes"], told["notes"], "it is told as much as who comes now")
        stopped.merge(told)
        self.assertEqual(picture(late), picture(stopped.state))

    def resident_bytes(self, web):
        """Of the server: serve becomes sliceup-web."""
        text = pathlib.Path(f"/proc/{web.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024

    def test_a_coordinator_that_is_gone_is_told_and_one_that_comes_back(self):
        rungs = [self.lab.rung("low", "slow.py", args={"seconds": 4, "phases": ["compile"]})]
        run = self.lab.start("run", self.lab.slice(hosts=2, ladder=str(self.lab.ladder("ladder.yaml", rungs))))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the first pass", 60)
        web = self.serve("--all", "--listen", "127.0.0.1:0")
        self.assertEqual("running", web.json("/api/state")["summary"]["state"])
        run.kill_and_reap()
        lab.wait_for(lambda: web.json("/api/state")["summary"]["state"] == "interrupted", "the loss to be told", 15)
        lab.wait_for(lambda: web.json("/api/runs")["runs"][0]["state"] == "interrupted", "the list to say so", 15)
        self.passes(self.lab.sliceup("resume"))
        lab.wait_for(lambda: web.json("/api/state")["summary"]["state"] == "ended", "the end", 15)
        self.assertEqual("passed", web.json("/api/runs")["runs"][0]["outcome"])

    def test_it_ends_at_once_also_when_somebody_waits(self):
        self.finished()
        web = self.serve("--listen", "127.0.0.1:0")
        revision = web.json("/api/state")["revision"]
        began = time.monotonic()
        peer = web.dial(f"GET /api/state?since={revision}&wait=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(200, web.ask("/")[0])
        web.peers.clear()
        self.passes(web.end())
        self.assertLess(time.monotonic() - began, 10, "it waited as long as who waits may")
        self.assertIn(b"HTTP/1.1", peer.recv(100), "whoever waits is answered")
        peer.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
