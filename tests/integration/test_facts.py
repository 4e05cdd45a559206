"""The facts rung of a run: what workers' surroundings and the profile say is in the receipt, and no secret is."""
import http.server
import json
import threading
import unittest

import lab
import test_join

SECRET = "a-value-that-nobody-may-see"


class Talkative(http.server.BaseHTTPRequestHandler):
    """A metadata server that has far too much to say about everything."""
    def do_GET(self):
        attributes = {"tpu-env": "TOPOLOGY: " + "x" * 30000 + "\nHOST_BOUNDS: " + "y" * 30000, "accelerator-type": "z " * 3000}
        told = dict.fromkeys(("image", "machineType", "zone", "id"), "z " * 3000)
        body = json.dumps({**told, "attributes": attributes, "upcomingMaintenance": "z " * 3000}).encode()
        self.send_response(200)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Facts(test_join.Joiners):
    def run_with(self, profile, *environments):
        """Facts of hosts that came by themselves, each with an environment of its own, as pods do."""
        path = self.lab.write("profile.yaml", "profile: mine\nfrontend: plain\nbackend: cpu\ndevices_per_host: 2\n"
                                              f"env: {json.dumps(profile)}\n")
        slice_path = self.slice(hosts=len(environments), profile=str(path),
                                rungs=[{"id": "host-facts", "builtin": "facts", "timeout": "60s"}])
        self.passes(self.issue(slice_path))
        for number, env in enumerate(environments):
            worker = lab.Background([str(test_join.WORKER), "join", "--ticket", str(self.ticket(f"h{number}")), "--directory",
                                     str(self.place / f"h{number}")], self.lab.env(**env))
            self.workers.append(worker)
            self.lab.running.append(worker)
        self.passes(self.lab.sliceup("run", slice_path))
        return [host["facts"] for host in self.lab.receipt()["hosts"]]

    def test_variables_of_worker_and_profile_are_told_apart(self):
        env = {"XLA_FLAGS": "--stale", "TPU_WORKER_HOSTNAMES": "h0,h1", "TPU_TOPOLOGY": "2x4", "JAX_API_KEY": SECRET,
               "SOMETHING_ELSE": "x", "GRPC_PROXY": f"http://me:{SECRET}@127.0.0.1:9"}
        facts = self.run_with({"XLA_FLAGS": "--b --a", "JAX_TOKEN": SECRET}, {**env, "TPU_WORKER_ID": "0"},
                              {**env, "TPU_WORKER_ID": "1"})
        self.assertEqual(["0", "1"], [told["tpu.worker_id"] for told in facts])
        for told in facts:
            self.assertEqual("--b --a", told["profile.XLA_FLAGS"])
            self.assertEqual("present", told["profile.JAX_TOKEN"])
            self.assertEqual("--stale", told["env.XLA_FLAGS"])
            self.assertEqual("present", told["env.JAX_API_KEY"])
            self.assertEqual("http://***@127.0.0.1:9", told["env.GRPC_PROXY"])
            self.assertEqual(("h0,h1", "2x4"), (told["tpu.worker_hostnames"], told["tpu.topology"]))
            self.assertNotIn("env.SOMETHING_ELSE", told)
        self.assertNotIn(SECRET, json.dumps(self.lab.receipt()), "also not where the launch policy is told")

    def test_programs_do_not_get_the_variables_of_their_worker(self):
        """They are told, because they belong to the host; a program has what the profile says, and nothing else."""
        path = self.slice(hosts=1, rungs=[{"id": "bare", "command": ["sh", "-c", 'test -z "$XLA_FLAGS$TPU_WORKER_ID"']}])
        self.passes(self.issue(path))
        worker = lab.Background([str(test_join.WORKER), "join", "--ticket", str(self.ticket("h0")), "--directory",
                                 str(self.place / "h0")], self.lab.env(XLA_FLAGS="--stale", TPU_WORKER_ID="0"))
        self.workers.append(worker)
        self.lab.running.append(worker)
        self.passes(self.lab.sliceup("run", path))

    def test_the_most_that_can_be_told_fits_a_result(self):
        """Many long variables on both sides: the attempt passes, and nothing is refused on its way."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Talkative)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        env = {f"TPU_{'V' * 90}{number:03}": "v" * 3000 for number in range(90)}
        env.update(GCE_METADATA_HOST=f"127.0.0.1:{server.server_port}", GCE_METADATA_TIMEOUT="10")
        told, = self.run_with({f"XLA_V{number:03}": "v" * 500 for number in range(60)},
                              {**env, "TPU_WORKER_HOSTNAMES": ",".join(["a-host-name"] * 300)})
        self.assertEqual(48, sum(name.startswith("profile.XLA_") for name in told))
        self.assertEqual("12", told["profile.left_out"])
        self.assertGreaterEqual(int(told["env.left_out"]), 91 - 64)
        self.assertLess(len(told), 256)
        self.assertEqual(300, told["tpu.worker_hostnames"].count("a-host-name"))
        self.assertIn("containment", told)
        self.assertEqual("answered", told["metadata.state"])
        self.assertEqual("z " * 127 + "z", told["metadata.image"])
        self.assertIn("metadata.maintenance", told)


if __name__ == "__main__":
    unittest.main()
