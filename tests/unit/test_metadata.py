"""The builtin `facts` asks a metadata server, a real one on loopback here, and nothing that a server does hurts it."""
import contextlib
import json
import os
import pathlib
import socket
import socketserver
import subprocess
import threading
import time
import unittest

WORKER = pathlib.Path(os.environ["SLICEUP_BUILD"]) / "bin" / "sliceup-worker"
BOUND_S = 60
TPU_ENV = "ACCELERATOR_TYPE: 'v6e-16'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\nHOST_BOUNDS: '2,2,1'\nTOPOLOGY: '4x4'\nWORKER_ID: '3'\nZONE: 'z'\n"
REAL = {
    "attributes": {"accelerator-type": "v6e-16", "agent-worker-number": "3\n", "tpu-env": TPU_ENV, "ssh-keys": "\u00e4" * 100000,
                   "worker-network-endpoints": "unknown:1:10.0.0.1,unknown:2:10.0.0.2,unknown:3:fe80::3,name-only"},
    "upcomingMaintenance": {"error": "no notifications have been received yet, try again later"},
    "image": "projects/p/global/images/tpu-image-7",
    "machineType": "projects/1/machineTypes/ct6e-standard-4t",
    "zone": "projects/1/zones/us-x1-a",
    "id": 9007199254740993711,
    "scheduling": {"preemptible": "FALSE"},
}


def head(body, status="200 OK", flavor="Google"):
    return (f"HTTP/1.1 {status}\r\nMetadata-Flavor: {flavor}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


class Server(socketserver.ThreadingTCPServer):
    """Hands each connection, once its request was read, to `answer (server, send)`."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, answer):
        self.requests, self.stopped = [], threading.Event()
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                request = b""
                self.request.settimeout(BOUND_S)
                with contextlib.suppress(OSError):
                    while b"\r\n\r\n" not in request:
                        more = self.request.recv(4096)
                        if not more:
                            return
                        request += more
                    server.requests.append(request.decode())
                    answer(server, self.request.sendall)

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.stopped.set()
        self.shutdown()
        self.server_close()


def real(**other):
    return lambda server, send: send(head(json.dumps({**REAL, **other}).encode()))


def ask(address=None, wait_s=10, **more):
    """name -> value of all facts, the notes, and how long it took."""
    environment = {"PATH": os.environ["PATH"], **more}
    if address:
        environment["GCE_METADATA_HOST"] = address
    if wait_s:
        environment["GCE_METADATA_TIMEOUT"] = str(wait_s)
    began = time.monotonic()
    done = subprocess.run([WORKER, "facts"], env=environment, capture_output=True, timeout=BOUND_S)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr.decode()
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert lines[-1]["type"] == "done", lines[-1]
    return ({line["name"]: line["value"] for line in lines if line["type"] == "fact"},
            [line["text"] for line in lines if line["type"] == "note"], took)


class Metadata(unittest.TestCase):
    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.close)
        return server, f"127.0.0.1:{server.server_address[1]}"

    def test_what_the_server_tells_becomes_the_place_in_the_slice(self):
        server, address = self.serve(real())
        facts, notes, _ = ask(address)
        told = {name: value for name, value in facts.items() if name.startswith(("tpu.", "metadata."))}
        self.assertEqual({
            "tpu.worker_id": "3", "tpu.worker_hostnames": "10.0.0.1,10.0.0.2,fe80::3,name-only",
            "tpu.accelerator_type": "v6e-16", "tpu.topology": "4x4", "tpu.chips_per_host_bounds": "2,2,1",
            "tpu.host_bounds": "2,2,1", "tpu.conflicts": "none", "tpu.chips": facts["tpu.chips"],
            "tpu.generation": facts["tpu.generation"], "metadata.state": "answered", "metadata.image": "tpu-image-7",
            "metadata.machine_type": "ct6e-standard-4t", "metadata.zone": "us-x1-a", "metadata.instance": "9007199254740993711",
            "metadata.preemptible": "FALSE", "metadata.maintenance": "none"}, told)
        self.assertFalse([note for note in notes if "maintenance" in note])
        self.assertEqual(["GET /computeMetadata/v1/instance/?recursive=true HTTP/1.0\r\nHost: metadata.google.internal\r\n"
                          "Metadata-Flavor: Google\r\nUser-Agent: sliceup\r\n\r\n"], server.requests)

    def test_an_id_of_64_bits_without_a_sign_loses_nothing_else(self):
        _, address = self.serve(real(id=2**64 - 1))
        facts, _, _ = ask(address)
        self.assertEqual(("answered", "us-x1-a"), (facts["metadata.state"], facts["metadata.zone"]))

    def test_variables_win_and_what_they_contradict_is_named(self):
        _, address = self.serve(real())
        facts, _, _ = ask(address, TPU_WORKER_ID="0", TPU_ACCELERATOR_TYPE="v6e-16", TPU_TOPOLOGY="8x8",
                          TPU_WORKER_HOSTNAMES="a,b")
        self.assertEqual(("0", "8x8", "a,b", "v6e-16"), tuple(facts[f"tpu.{name}"] for name in (
            "worker_id", "topology", "worker_hostnames", "accelerator_type")))
        self.assertEqual("tpu.worker_id, tpu.topology", facts["tpu.conflicts"])

    def test_without_a_server_the_variables_are_enough(self):
        facts, _, _ = ask(TPU_SKIP_MDS_QUERY="true", TPU_WORKER_ID="1", TPU_HOST_BOUNDS="1,1,1", TPU_TOPOLOGY="2x2",
                          TPU_CHIPS_PER_PROCESS_BOUNDS="2,2,1")
        self.assertEqual(("1", "1,1,1", "2x2", "2,2,1", "absent", "not asked", "absent"), tuple(facts[name] for name in (
            "tpu.worker_id", "tpu.host_bounds", "tpu.topology", "tpu.chips_per_host_bounds", "tpu.worker_hostnames",
            "metadata.state", "metadata.maintenance")))

    def test_who_says_skip_is_not_asked(self):
        server, address = self.serve(real())
        facts, _, _ = ask(address, TPU_SKIP_MDS_QUERY="0")
        self.assertEqual("not asked", facts["metadata.state"])
        self.assertEqual([], server.requests)
        self.assertEqual("answered", ask(address, TPU_SKIP_MDS_QUERY="")[0]["metadata.state"])

    def test_a_name_is_not_looked_up(self):
        self.assertEqual("not asked", ask("metadata.example.com")[0]["metadata.state"])
        self.assertEqual("not asked", ask("127.0.0.1:99999")[0]["metadata.state"])

    def test_maintenance_is_a_fact_and_a_note(self):
        _, address = self.serve(real(upcomingMaintenance={
            "maintenanceType": "SCHEDULED", "maintenanceStatus": "PENDING", "windowStartTime": "2031-01-01T00:00:00Z",
            "windowEndTime": "2031-01-01T04:00:00Z", "canReschedule": True}))
        facts, notes, _ = ask(address)
        told = "SCHEDULED PENDING from 2031-01-01T00:00:00Z to 2031-01-01T04:00:00Z"
        self.assertEqual(told, facts["metadata.maintenance"])
        self.assertIn(f"maintenance is coming: {told}", notes)

    def test_nobody_there_is_absent(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            facts, _, _ = ask(f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(("absent", "absent", "absent"), (facts["metadata.state"], facts["tpu.worker_id"],
                                                          facts["metadata.maintenance"]))

    def test_a_server_that_does_not_answer_is_slow_and_soon_left(self):
        _, address = self.serve(lambda server, send: server.stopped.wait(BOUND_S))
        facts, _, took = ask(address, wait_s=None)
        self.assertEqual("slow", facts["metadata.state"])
        self.assertEqual({"not heard"}, {facts[name] for name in ("tpu.topology", "tpu.worker_id", "metadata.image",
                                                            "metadata.maintenance")})
        self.assertLess(took, 10)

    def test_an_answer_that_never_ends_is_slow(self):
        def answer(server, send):
            send(head(json.dumps(REAL).encode()))
            server.stopped.wait(BOUND_S)

        _, address = self.serve(answer)
        self.assertEqual("slow", ask(address, wait_s=None)[0]["metadata.state"])

    def test_what_a_variable_says_needs_no_server(self):
        _, address = self.serve(lambda server, send: server.stopped.wait(BOUND_S))
        facts, _, _ = ask(address, wait_s=None, TPU_TOPOLOGY="2x2")
        self.assertEqual(("2x2", "none"), (facts["tpu.topology"], facts["tpu.conflicts"]))

    def test_an_answer_in_pieces_is_read(self):
        def answer(server, send):
            for byte in head(json.dumps({**REAL, "attributes": {"tpu-env": TPU_ENV}}).encode()):
                send(bytes([byte]))

        _, address = self.serve(answer)
        facts, _, _ = ask(address)
        self.assertEqual(("answered", "4x4", "tpu-image-7"), (facts["metadata.state"], facts["tpu.topology"], facts["metadata.image"]))

    def test_what_is_not_there_is_absent(self):
        _, address = self.serve(lambda server, send: send(head(b'{"id": 1}')))
        facts, _, _ = ask(address)
        self.assertEqual(("answered", "1", "absent", "none"), (facts["metadata.state"], facts["metadata.instance"],
                                                               facts["tpu.worker_id"], facts["metadata.maintenance"]))

    def test_a_server_that_refuses_tells_nothing(self):
        _, address = self.serve(lambda server, send: send(head(b"not found", "404 Not Found")))
        facts, _, _ = ask(address)
        self.assertEqual(("answered", "absent", "absent"), (facts["metadata.state"], facts["tpu.worker_id"],
                                                            facts["metadata.maintenance"]))

    def test_an_answer_of_somebody_else_is_not_believed(self):
        for flavor in ("Microsoft", "Google 2", ""):
            with self.subTest(flavor=flavor):
                _, address = self.serve(lambda server, send, flavor=flavor: send(head(json.dumps(REAL).encode(), flavor=flavor)))
                facts, _, _ = ask(address)
                self.assertEqual(("no metadata server", "absent", "absent"), (facts["metadata.state"], facts["tpu.worker_id"],
                                                                              facts["metadata.maintenance"]))

    def test_odd_names_of_variables_hurt_nobody(self):
        done = subprocess.run([WORKER, "facts"], capture_output=True, timeout=BOUND_S,
                              env={b"XLA_\xff\xfe": b"x", b"XLA_A B": b"x", b"XLA_OK": b"\xff", b"PATH": b"/usr/bin"})
        self.assertEqual(0, done.returncode, done.stderr)
        told = [json.loads(line) for line in done.stdout.decode().splitlines() if '"env.' in line]
        self.assertEqual([("env.XLA_OK", "\\xff"), ("env.left_out", "2")], [(one["name"], one["value"]) for one in told])

    def test_garbage_hurts_nobody(self):
        for garbage in (b"\x00\xff" * 3000, b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5000,
                        head(b"")[:-2], head(b""), head(b"short"), head(b"[]"), head(json.dumps(REAL).encode())[:-2],
                        head(b"[" * 30000), head(b'{"id": %b}' % (b"9" * 60000)), head(b'{"image": "\xff"}')):
            with self.subTest(garbage=garbage[:40]):
                _, address = self.serve(lambda server, send, garbage=garbage: send(garbage))
                facts, _, _ = ask(address)
                self.assertEqual(("no metadata server", "absent"), (facts["metadata.state"], facts["tpu.worker_id"]))

    def test_an_endless_answer_is_cut_off(self):
        def answer(server, send):
            send(b"HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\n\r\n")
            while not server.stopped.is_set():
                send(b"x" * 65536)

        _, address = self.serve(answer)
        facts, _, took = ask(address)
        self.assertEqual("no metadata server", facts["metadata.state"])
        self.assertLess(took, 30)

    def test_hostile_values_stay_values(self):
        _, address = self.serve(real(
            attributes={"accelerator-type": "\x1b[2Jv6e\r\n{\"type\":\"done\"}\x00\u202e",
                        "worker-network-endpoints": "a:b:" + "x" * 5000 + ",c",
                        "tpu-env": "TOPOLOGY: '" + "4x" * 4000 + "\nHOST_BOUNDS: \"\x07\"\nTOPOLOGY: '1x1'\n"},
            image="/".join("x" * 300 for _ in range(9)), upcomingMaintenance="[" * 30000, id="9" * 60000, scheduling=["FALSE"]))
        facts, _, _ = ask(address, **{f"XLA_V{number}": "v" * 5000 for number in range(100)})
        # What evidence_state.c counts for each; the rest of EVIDENCE_MAX_BYTES is for notes.
        self.assertLess(sum(len(name) + len(value.encode()) + 28 for name, value in facts.items()), 36 * 1024)
        for name, value in facts.items():
            self.assertLessEqual(len(value.encode()), 4000, name)
            self.assertTrue(value.isprintable(), (name, value))
        self.assertEqual("answered", facts["metadata.state"])
        self.assertTrue(facts["tpu.worker_hostnames"].startswith("unreadable ("))
        self.assertTrue(facts["metadata.maintenance"].startswith("unreadable ("))
        self.assertTrue(facts["tpu.topology"].startswith("unreadable ("))
        self.assertIn("v6e", facts["tpu.accelerator_type"])


if __name__ == "__main__":
    unittest.main()
