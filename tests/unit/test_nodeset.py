"""`sliceup hosts` against ClusterShell's nodeset, which it takes its syntax from: the same sets, folded, listed and
split the same way; what nodeset gets wrong is refused. And the sources of hosts: Slurm, TPU VMs, files, a slice."""
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

try:
    from ClusterShell.NodeSet import NodeSet, RESOLVER_NOGROUP
except ImportError:  # Debian package clustershell, for /usr/bin/python3
    NodeSet = None

TOP = pathlib.Path(__file__).resolve().parents[2]
SLICEUP = pathlib.Path(os.environ.get("SLICEUP_BUILD", TOP / "build-test")) / "bin" / "sliceup"
NODESET = shutil.which("nodeset")
BOUND_S = 100
VARIABLES = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "TPU_WORKER_HOSTNAMES", "GCE_METADATA_HOST")


class HostsTest(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="sliceup-hosts-")
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)

    def run_hosts(self, *words, given="", **variables):
        """The ended process of `sliceup hosts WORDS`; no source of hosts but `variables`."""
        env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        env.update(SLICEUP_HOME=str(self.home), ASAN_OPTIONS="exitcode=99", UBSAN_OPTIONS="exitcode=99", **variables)
        ended = subprocess.run([str(SLICEUP), "hosts", *map(str, words)], input=given, env=env, capture_output=True,
                               text=True, timeout=BOUND_S)
        self.assertIn(ended.returncode, (0, 2, 3), ended.stderr)
        return ended

    def answer(self, *words, **more):
        ended = self.run_hosts(*words, **more)
        self.assertEqual((0, ""), (ended.returncode, ended.stderr))
        self.assertTrue(ended.stdout.endswith("\n"))
        return ended.stdout[:-1]

    def refusal(self, *words, status=2, **more):
        ended = self.run_hosts(*words, **more)
        self.assertEqual((status, ""), (ended.returncode, ended.stdout), ended.stderr)
        self.assertEqual(1, ended.stderr.count("\n"), ended.stderr)
        return ended.stderr

    def each(self, expressions, *words):
        """One answer for each expression, as JSON."""
        ended = self.run_hosts("--each", "--json", *words, given="".join(e + "\n" for e in expressions))
        answers = [json.loads(line) for line in ended.stdout.splitlines()]
        self.assertEqual(len(expressions), len(answers), ended.stderr)
        return answers


def numbers(rng):
    """A bracket: numbers and ranges, some padded, some stepped, of few values so that sets meet."""
    width = rng.choice((0, 0, 0, 2, 3))
    entries = []
    for _ in range(rng.randrange(1, 4)):
        if rng.random() < .1:
            width = rng.choice((0, 2, 3))
        low = rng.randrange(14)
        high = low + rng.randrange(6)
        step = f"/{rng.randrange(1, 4)}" if rng.random() < .2 else ""
        entries.append(f"{low:0{width}d}" if rng.random() < .5 else f"{low:0{width}d}-{high:0{width}d}{step}")
    return "[" + ",".join(entries) + "]"


def operand(rng):
    text = rng.choice(("n", "n", "r", "", "a-", "x."))
    brackets = rng.choice((0, 1, 1, 2, 2, 3))
    for left in range(brackets, 0, -1):
        text += rng.choice((numbers(rng), numbers(rng), str(rng.randrange(12)), f"{rng.randrange(12):02d}"))
        text += rng.choice(("n", "n", "-ib", ".x", "_") if left > 1 else ("", "", "", "-ib"))
    return text if text and text[0] not in "-." else "q" + text


def expression(rng):
    text = operand(rng)
    for _ in range(rng.choice((0, 1, 2, 4, 8))):
        text += rng.choice((",", ",", ",", "!", "&", "^", " ! ", ", ")) + operand(rng)
    return text


def grid(rng):
    """Points of a grid with holes, or scattered ones, in any order."""
    dims = rng.choice((1, 2, 2, 2, 3, 4))
    side = {1: 40, 2: rng.choice((3, 5, 12)), 3: rng.choice((2, 3, 5)), 4: 3}[dims]
    pads = [rng.choice((0, 0, 2)) for _ in range(dims)]
    density = rng.random()
    points = {p for p in itertools.product(range(8, 8 + side), repeat=dims) if rng.random() < density}
    if rng.random() < .3:
        points = {tuple(rng.randrange(120) for _ in range(dims)) for _ in range(80)}
    points = list(points) or [(7,) * dims]
    rng.shuffle(points)
    return ",".join("".join(f"{letter}{value:0{pad}d}" for letter, value, pad in zip("wxyz", point, pads))
                    for point in points)


@unittest.skipUnless(NodeSet, "no ClusterShell for this Python (Debian package clustershell)")
class Oracle(HostsTest):
    SEEDS = (1, 2, 3)

    @staticmethod
    def seen(nodes):
        return {"count": len(nodes), "folded": str(nodes), "hosts": list(nodes)}

    def same_as_nodeset(self, expressions, seed):
        for text, ours in zip(expressions, self.each(expressions, "--split", "3")):
            nodes = NodeSet(text, resolver=RESOLVER_NOGROUP)
            parts = nodes.split(3) if nodes else [nodes]
            theirs = {**self.seen(nodes), "parts": [self.seen(part) for part in parts], "schema": "sliceup.hosts/1"}
            self.assertEqual(theirs, ours, f"seed {seed}: {text}")

    def test_random_expressions_give_what_nodeset_gives(self):
        for seed in self.SEEDS:
            rng = random.Random(seed)
            self.same_as_nodeset([expression(rng) for _ in range(600)], seed)

    def test_grids_with_holes_fold_as_in_nodeset(self):
        for seed in self.SEEDS:
            rng = random.Random(seed)
            self.same_as_nodeset([grid(rng) for _ in range(60)], seed)

    def test_expanding_what_was_folded_gives_the_same_hosts_in_the_same_order(self):
        rng = random.Random(4)
        first = self.each([grid(rng) for _ in range(60)])
        self.assertEqual(first, self.each([answer["folded"] for answer in first]))

    # what nodeset makes of it -> where and why it is refused
    WRONG = {"n[1-4-6]": ("n[-4-6]", "character 6 ", "a range has one '-', and its numbers have no sign"),
             "n[-5--2]": ("n[-5--2]", "character 3 ", "no sign"),
             "n1[8-11]": ("n[18-111]", "character 3 ", "n1[8-11] could also mean n[18-111]"),
             "n1[9,10]": ("n[19-110]", "character 3 ", "the same width"),
             "a b": ("a b", "character 3 ", "operator"),
             "n[1-2],a$(x)": ("a$(x),n[1-2]", "character 9 ", "operator")}

    def test_what_nodeset_gets_wrong_is_refused_with_its_place(self):
        for text, (theirs, place, why) in self.WRONG.items():
            self.assertEqual(theirs, str(NodeSet(text, resolver=RESOLVER_NOGROUP)))
            said = self.refusal(text)
            self.assertIn(place, said, text)
            self.assertIn(why, said, text)

    def test_what_nodeset_refuses_is_refused(self):
        texts = ("a,,b", ",a", "a,", "a!", "!a", "n[3-1]", "n[01-100]", "n[1-02]", "n[5/2]", "n[1-5/0]", "n[]", "n[1,]",
                 "n[1", "n1]", "n[1]]", "n[[1]", "n[1-2][3-4]", "n[1-2]0[3-4]", "n[a-b]", "n0[8-11]", "n[1--2]")
        for text, answer in zip(texts, self.each(texts)):
            with self.assertRaises(Exception, msg=text):
                NodeSet(text, resolver=RESOLVER_NOGROUP)
            self.assertRegex(answer.get("error", ""), r"^host set, character \d+ ", text)


@unittest.skipUnless(NODESET, "no nodeset (Debian package clustershell)")
class CommandLine(HostsTest):
    def nodeset(self, *words, given=""):
        ended = subprocess.run([NODESET, *words], input=given, capture_output=True, text=True, check=True,
                               timeout=BOUND_S)
        return ended.stdout[:-1]

    def test_the_same_words_give_the_same_lines(self):
        lines = (("-f", "n[1-4]", "n5", "-x", "n[2-3]", "x9"), ("-e", "rack[1-2]n[01-02]", "a"),
                 ("-c", "n[1-4]", "-i", "n[3-9]"), ("-f", "a[1-3]", "-X", "a[3-4],b"), ("--split=3", "-f", "a[1-10]"),
                 ("--split=30", "-e", "a[1-3]"), ("--split=2", "-c", "r[1-2]n[1-3]"), ("-e", "-S", "\\n", "a[1-3]"),
                 ("-e", "-S", ",", "a[1-3]"), ("-f", "a1\nb[1-2]\n"), ("-f", "a!a"), ("-c", "a!a"), ("-e", "a!a"))
        for words in lines:
            self.assertEqual(self.nodeset(*words), self.answer(*words), words)

    def test_standard_input_is_read_as_nodeset_reads_it(self):
        given = "a[1-3] b # not c\n# nothing\n\n  x,b!b  \n"
        for words in (("-f", "-"), ("-f", "b", "-x", "-"), ("-c", "n[1-2]", "-", "a9")):
            self.assertEqual(self.nodeset(*words, given=given), self.answer(*words, given=given), words)


class Hosts(HostsTest):
    def test_folding_is_what_is_done_when_nothing_is_said(self):
        self.assertEqual("rack[1-2]n[01-02]", self.answer("rack2n02,rack1n01", "rack[1-2]n[01-02]"))

    def test_json_has_all_forms(self):
        self.assertEqual({"schema": "sliceup.hosts/1", "count": 3, "folded": "a[1-3]", "hosts": ["a1", "a2", "a3"],
                          "parts": [{"count": 2, "folded": "a[1-2]", "hosts": ["a1", "a2"]},
                                    {"count": 1, "folded": "a3", "hosts": ["a3"]}]},
                         json.loads(self.answer("a[1-3]", "--json", "--split", "2")))

    def test_a_refused_line_does_not_stop_the_others(self):
        ended = self.run_hosts("--each", "-e", "--split", "2", given="a[1-3]\nn[\n\nb")
        self.assertEqual(2, ended.returncode)
        lines = ended.stdout.splitlines()
        self.assertEqual(("a1 a2\ta3", "b"), (lines[0], lines[3]))
        for line in lines[1:3]:
            self.assertRegex(line, r"^error: host set, character \d+ ")
        self.assertEqual(4, len(lines))

    def test_explosions_are_refused_before_they_happen(self):
        for text in ("h[1-999999999]", "h[0-99999999999999999]x[0-99999999999999999]", "a[0-999]b[0-999]",
                     "a!h[1-999999999]"):
            began = time.monotonic()
            self.assertIn("more than 100000 hosts", self.refusal(text))
            self.assertLess(time.monotonic() - began, 30)
        self.assertEqual("100000", self.answer("-c", "h[1-100000]"))

    def test_ten_thousand_names_go_through_a_file(self):
        names = [f"rack{i // 100}n{i % 100:02d}" for i in range(10000)]
        random.Random(5).shuffle(names)
        path = self.home / "names"
        path.write_text("\n".join(names))
        self.assertEqual("rack[0-99]n[00-99]", self.answer("--from-file", path))
        self.assertEqual("10000", self.answer("-c", "-", given=" ".join(names)))

    def test_wrong_usage_is_a_sentence(self):
        for words, why in (((), "no hosts were given"), (("-x", "a"), "the first set before"), (("-e", "-c", "a"), "choose"),
                           (("--split", "0", "a"), "--split"), (("--split", "x", "a"), "--split"),
                           (("--folt", "a"), "--fold"), (("--each", "a"), "--each"),
                           (("--from", "elsewhere"), "slurm, tpu or env"), (("",), "empty"),
                           (("--from-file", "/nowhere/at/all"), "/nowhere/at/all"),
                           (("-e", "-S", "x" * 64, "a"), "64 bytes"), (("-S", ",", "a"), "--expand"), (("a\x1b[2J",), "\\x1b")):
            self.assertIn(why, self.refusal(*words), words)
            self.assertNotIn("\x1b", self.refusal(*words))
        self.refusal("--from-file", self.home, status=3)

    def test_a_slice_gives_hosts_and_groups(self):
        shipped = (TOP / "configs" / "slices" / "local-plain.yaml").read_text()
        self.assertEqual(1, shipped.count("\nhosts: "))
        slice_file = self.home / "slice.yaml"
        slice_file.write_text(shipped + "groups: {low: 'local[0-1]', most: '@low,local2'}\n")
        everybody = self.answer("--slice", slice_file)
        self.assertRegex(everybody, r"^local\[0-\d+\]$")
        self.assertEqual("local[0-2]", self.answer("--slice", slice_file, "@most"))
        self.assertEqual(self.answer(everybody, "-x", "local[0-1]"), self.answer("--slice", slice_file, "-x", "@low"))
        self.assertEqual(self.answer(f"{everybody}!local0"), self.answer("--slice", slice_file, "@*!local0"))
        self.assertIn("no group nobody", self.refusal("--slice", slice_file, "@nobody"))
        self.assertIn("no groups are defined here", self.refusal("@low"))


class Guide(HostsTest):
    def examples(self):
        """(command, what it prints) of every console block of the guide."""
        found = []
        for block in re.findall(r"^```console\n(.*?)^```$", (TOP / "docs/guide/hostsets.md").read_text(), re.M | re.S):
            for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
                found.append(part.split("\n", 1))
        return found

    def test_every_command_of_the_guide_prints_what_it_says(self):
        examples = self.examples()
        self.assertGreater(len(examples), 9)
        env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        env.update(PATH=f"{SLICEUP.parent}:{env['PATH']}", SLICEUP_HOME=str(self.home))
        for command, expected in examples:
            ended = subprocess.run(["/bin/sh", "-c", command], env=env, stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BOUND_S)
            self.assertEqual(expected, ended.stdout, command)


class Metadata:
    """What answers one request at a time on a port of its own; `answer` gets the connection."""

    def __init__(self, answer):
        self.answer, self.asked, self.ended = answer, [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.1)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while not self.ended.is_set():
            with contextlib.suppress(TimeoutError, socket.timeout):
                connection, _ = self.listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(BOUND_S)
                    self.asked.append(connection.recv(65536).decode())
                    self.answer(connection)

    @property
    def host(self):
        return "127.0.0.1:%d" % self.listener.getsockname()[1]

    def close(self):
        self.ended.set()
        self.thread.join()
        self.listener.close()


def answering(status="200 OK", body="", flavor="Metadata-Flavor: Google\r\n", length=None):
    text = f"HTTP/1.1 {status}\r\n{flavor}Content-Length: {len(body) if length is None else length}\r\n\r\n{body}"
    return lambda connection: connection.sendall(text.encode())


class Sources(HostsTest):
    def metadata(self, answer):
        server = Metadata(answer)
        self.addCleanup(server.close)
        return server

    def ask(self, server):
        """The bound is of wall-clock time, and a busy machine may take it from a server that does answer: once more."""
        for _ in range(10):
            ended = self.run_hosts("--from", "tpu", GCE_METADATA_HOST=server.host)
            if "did not answer" not in ended.stderr:
                break
        return ended

    def test_slurm_says_its_nodes(self):
        self.assertEqual("login1,tux[1-3]", self.answer("--from", "slurm", SLURM_JOB_NODELIST="tux[1-3],login1"))
        self.assertEqual("a[1-2]", self.answer("--from", "slurm", SLURM_NODELIST="a[1-2]"))
        self.assertEqual("tux[1,3]", self.answer("--from", "slurm", "-x", "tux2", SLURM_JOB_NODELIST="tux[1-3]"))
        self.assertIn("SLURM_JOB_NODELIST is not set", self.refusal("--from", "slurm", status=3))
        for hostile in ("(null)", "a!b", "@all", "a b", "a;b", "-x", "a[1-999999999]", "[", " "):
            self.refusal("--from", "slurm", SLURM_JOB_NODELIST=hostile)

    def test_a_tpu_says_its_workers_in_the_environment(self):
        self.assertEqual("w-[0-3]", self.answer("--from", "tpu", TPU_WORKER_HOSTNAMES="w-0,w-1, w-2,w-3\n"))
        for hostile in ("w-0,,w-1", "w[0-3]", "w-0;reboot", "-oProxyCommand=x", ",", " ", "a" * 64):
            self.refusal("--from", "tpu", TPU_WORKER_HOSTNAMES=hostile)

    def test_the_environment_is_asked_in_order_and_no_server(self):
        self.assertEqual("s1", self.answer("--from", "env", SLURM_JOB_NODELIST="s1", TPU_WORKER_HOSTNAMES="t1"))
        self.assertEqual("t1", self.answer("--from", "env", TPU_WORKER_HOSTNAMES="t1"))
        server = self.metadata(answering(body="a:b:10.0.0.1"))
        self.assertIn("neither", self.refusal("--from", "env", status=3, GCE_METADATA_HOST=server.host))
        self.assertEqual([], server.asked)

    def test_a_tpu_vm_is_asked_for_its_workers(self):
        server = self.metadata(answering(body="unknown:unknown:10.0.0.7,unknown:unknown:10.0.0.8,w-9"))
        self.assertEqual("10.0.0.[7-8],w-9\n", self.ask(server).stdout)
        self.assertIn("GET /computeMetadata/v1/instance/attributes/worker-network-endpoints HTTP/1.", server.asked[0])
        self.assertIn("\r\nMetadata-Flavor: Google\r\n", server.asked[0])

    def test_other_answers_are_not_believed(self):
        cases = ((3, "not a TPU VM", answering("404 Not Found", "x")), (3, "status 503", answering("503 No", "x")),
                 (3, "not a Google metadata server", answering(body="a:b:10.0.0.1", flavor="")),
                 (2, "does not speak HTTP", lambda connection: connection.sendall(b"SSH-2.0-x\r\n\r\n\r\n")),
                 (2, "does not speak HTTP", lambda connection: None), (2, "empty", answering(body="\n")),
                 (2, "entry 2", answering(body="a:b:10.0.0.1,a:b")),
                 (2, "entry 1", answering(body="a:b:-oProxyCommand=x")),
                 (3, "ended the connection before", answering(body="a:b:10.0.0.1", length=99)))
        for status, why, answer in cases:
            ended = self.ask(self.metadata(answer))
            self.assertEqual((status, ""), (ended.returncode, ended.stdout), why)
            self.assertIn(why, ended.stderr)

    def test_a_server_that_says_nothing_or_never_ends_is_left(self):
        def endless(connection):
            while True:
                connection.sendall(b"HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\n\r\n" + b"a" * 65536)

        ended = threading.Event()
        self.addCleanup(ended.set)
        server = self.metadata(lambda connection: ended.wait(BOUND_S))
        began = time.monotonic()
        said = self.refusal("--from", "tpu", status=3, GCE_METADATA_HOST=server.host)
        self.assertIn("did not answer within 2000 ms", said)
        self.assertLess(time.monotonic() - began, 30)
        ended.set()
        self.assertIn("longer than", self.ask(self.metadata(endless)).stderr)

    def test_nobody_at_the_address_is_a_sentence(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            host = "127.0.0.1:%d" % listener.getsockname()[1]
        self.assertIn("cannot be reached", self.refusal("--from", "tpu", status=3, GCE_METADATA_HOST=host))
        self.assertIn("GCE_METADATA_HOST", self.refusal("--from", "tpu", GCE_METADATA_HOST="a b;c"))


if __name__ == "__main__":
    unittest.main()
