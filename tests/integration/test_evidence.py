"""What a worker finds out on its host: known failures anywhere in a log, who has the device, where the time went."""
import json
import unittest

import device_lab
import lab

FAST = {"stop": "200ms", "cascade": "1s"}
KNOWN = "FROB-1234: the frobnicator is on fire"
NEXT = "Put it out."
ONLY_H2 = 'case "$PWD" in */hosts/h2/*) ;; *) exit 0;; esac; '
FILL = "head -c {} /dev/zero | tr '\\0' x | fold -w 100; echo"


class Recognised(lab.LabTest):
    def climb(self, script, hosts=4, limits=FAST, **more):
        known = self.lab.write("known.yaml", "signatures: known\nlist:\n" + json.dumps(
            [{"id": "frob", "text": KNOWN, "layer": "program", "next": NEXT}]) + "\n")
        ladder = self.lab.ladder("ladder.yaml", [{"id": "trains", "command": ["bash", "-c", script], "timeout": "60s"}])
        ended = self.lab.sliceup("run", self.lab.slice(hosts=hosts, ladder=str(ladder), limits=limits,
                                                       signatures=[str(known)], **more))
        self.assertEqual(1, ended.status, ended)
        return self.lab.receipt()

    def is_frob(self, attempt):
        self.assertEqual(["frob"], [s["signature"] for s in attempt["sightings"]], attempt["cause"])
        self.assertIn(KNOWN, attempt["sightings"][0]["text"])
        self.assertEqual("frob", attempt["cause"]["signature"])
        self.assertEqual("program", attempt["cause"]["owner"])
        self.assertIn(NEXT, attempt["cause"]["next"])

    def test_a_known_text_1_MB_before_the_end_is_recognised_on_one_of_four_hosts(self):
        receipt = self.climb(ONLY_H2 + f"echo starting; echo '{KNOWN}'; " + FILL.format(1 << 20) + "; exit 7")
        attempt = self.attempt(receipt, "h2", "trains")
        self.is_frob(attempt)
        self.assertEqual((2, 9), (attempt["sightings"][0]["line"], attempt["sightings"][0]["offset"]))
        self.assertIn("read", attempt["phases"])
        self.assertEqual("h2", receipt["frontier"]["next_failing"]["hosts"])
        for host in ("h0", "h1", "h3"):
            self.assertEqual([], self.attempt(receipt, host, "trains")["sightings"])
            self.assertNotIn("read", self.attempt(receipt, host, "trains")["phases"])
        text = self.lab.sliceup("receipt", "last").out
        self.assertIn("line 2: " + KNOWN, text)

    def test_the_table_stands_by_its_hash_and_is_shared_by_runs(self):
        script = f"echo '{KNOWN}'; exit 1"
        for _ in range(2):
            self.is_frob(self.attempt(self.climb(script, hosts=1), "h0", "trains"))
        tables = list((self.lab.home / "signatures").iterdir())
        self.assertEqual(1, len(tables), tables)

    def test_a_text_that_nobody_knows_is_shown(self):
        receipt = self.climb(ONLY_H2 + "echo starting; echo 'ZorkError: grue at the door'; " + FILL.format(1 << 20) + "; exit 7")
        attempt = self.attempt(receipt, "h2", "trains")
        self.assertEqual([], attempt["sightings"])
        self.assertEqual("unknown", attempt["cause"]["owner"])
        self.assertIsNone(attempt["cause"]["signature"])
        self.assertIn("grue at the door", attempt["cause"]["evidence"])

    def test_a_5_MB_log_of_which_1_MB_is_kept_is_read_at_both_ends(self):
        for where, script in (("beginning", f"echo '{KNOWN}'; " + FILL.format(5 << 20)),
                              ("end", FILL.format(5 << 20) + f"; echo '{KNOWN}'")):
            with self.subTest(where):
                receipt = self.climb(script + "; exit 7", hosts=1, limits={**FAST, "log": "1MiB"})
                attempt = self.attempt(receipt, "h0", "trains")
                self.assertGreater(attempt["dropped_bytes"], 4 << 20)
                self.is_frob(attempt)
                sighting = attempt["sightings"][0]
                self.assertEqual((1, 0) if where == "beginning" else (None, attempt["output_bytes"] - len(KNOWN) - 1),
                                 (sighting["line"], sighting["offset"]))

    def test_a_whole_5_MB_log_is_read_in_the_middle(self):
        script = FILL.format(3 << 20) + f"; echo '{KNOWN}'; " + FILL.format(2 << 20) + "; exit 7"
        receipt = self.climb(script, hosts=1, limits={**FAST, "log": "8MiB"})
        attempt = self.attempt(receipt, "h0", "trains")
        self.is_frob(attempt)
        self.assertEqual(0, attempt["dropped_bytes"])
        self.assertGreater(attempt["sightings"][0]["offset"], 3 << 20)

    def test_binary_garbage_around_it_is_no_obstacle(self):
        garbage = "head -c 300000 /dev/urandom; printf '\\n\\033[31m'; "
        attempt = self.attempt(self.climb(garbage + f"echo '{KNOWN}'; " + garbage + "exit 7", hosts=1), "h0", "trains")
        self.is_frob(attempt)

    def test_what_a_canary_could_not_handle_is_in_its_log(self):
        known = self.lab.write("known.yaml", "signatures: known\nlist:\n" + json.dumps(
            [{"id": "frob", "text": KNOWN, "layer": "program", "next": NEXT}]) + "\n")
        self.lab.write("raises.py", "import sliceup_canary\n\n\ndef body(canary):\n    canary.phase('run')\n"
                                    f"    raise RuntimeError({KNOWN!r})\n\n\nsliceup_canary.run(body)\n")
        rung = {"id": "raises", "canary": str(self.lab.files / "raises.py"), "timeout": "60s"}
        ladder = self.lab.ladder("ladder.yaml", [rung])
        ended = self.lab.sliceup("run", self.lab.slice(hosts=1, ladder=str(ladder), limits=FAST, signatures=[str(known)]))
        self.assertEqual(1, ended.status, ended)
        attempt = self.attempt(self.lab.receipt(), "h0", "raises")
        self.is_frob(attempt)
        self.assertIn("RuntimeError", attempt["sightings"][0]["text"])


class Times(lab.LabTest):
    def test_the_phases_of_an_attempt_add_up(self):
        self.lab.write("phases.py", "import time\nimport sliceup_canary\n\n\ndef body(canary):\n"
                                    "    canary.backend(platform='cpu', devices=2, local_devices=2, process_count=1, process_index=0)\n"
                                    "    for name in ('trace', 'compile', 'trace', 'run'):\n"
                                    "        canary.phase(name)\n        time.sleep(0.2)\n"
                                    "    canary.memory(predicted_bytes=1 << 30, device_peak_bytes=1 << 29)\n"
                                    "\n\nsliceup_canary.run(body)\n")
        rung = {"id": "phases", "canary": str(self.lab.files / "phases.py"), "timeout": "60s"}
        ladder = self.lab.ladder("ladder.yaml", [rung])
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=2, ladder=str(ladder))))
        for host in ("h0", "h1"):
            attempt = self.attempt(self.lab.receipt(), host, "phases")
            phases = attempt["phases"]
            self.assertEqual({"files", "start", "trace", "compile", "run"}, set(phases))
            self.assertGreaterEqual(phases["trace"], 350)
            self.assertGreaterEqual(phases["compile"], 150)
            self.assertGreaterEqual(sum(phases.values()), attempt["duration_ms"])
            self.assertEqual((1 << 30, 1 << 29), (attempt["memory"]["predicted_bytes"], attempt["memory"]["device_peak_bytes"]))
        self.assertIn("memory of h0: predicted 1.0 GiB, 512 MiB seen (-50 %)", self.passes(self.lab.sliceup("receipt")).out)


class Held(lab.LabTest):
    """A real device file, and a process that really has it open."""

    def slice_of(self, device_wait, timeout="120s"):
        profile = self.lab.write("device.yaml", "profile: device\nfrontend: plain\nbackend: tpu\ndevices_per_host: 1\n")
        ladder = self.lab.ladder("ladder.yaml", [{"id": "first", "builtin": "facts", "timeout": "60s"},
                                                 {"id": "trains", "command": ["true"], "timeout": timeout}])
        return self.lab.slice(hosts=1, ladder=str(ladder), profile=str(profile), limits={**FAST, "device_wait": device_wait})

    def test_a_device_that_gets_free_is_waited_for_and_that_is_told(self):
        holder = device_lab.Holder(self)
        run = holder.run(self.lab, "run", self.slice_of("100s"), "--plain")
        lab.wait_for(lambda: self.lab.count("pass-began") == 2, "the second rung to begin")
        lab.wait_for(lambda: "device" in self.lab.sliceup("status", "last").out, "the status to say that the device is waited for")
        holder.let_go()
        self.passes(run.end())
        attempt = self.attempt(self.lab.receipt(), "h0", "trains")
        self.assertEqual(1, len(attempt["recovered"]), attempt["recovered"])
        self.assertRegex(attempt["recovered"][0], rf"^/dev/accel0 was held by {holder.pid} .*device_lab\.py for ")
        self.assertGreater(attempt["phases"]["device"], 0)
        notes = [note for note in self.lab.receipt()["hosts"][0]["notes"] if note["source"] == "device"]
        self.assertEqual([("recheck", attempt["recovered"][0])], [(note["durability"], note["text"]) for note in notes])
        self.nothing_is_left()

    def test_a_device_that_stays_held_is_not_started_into_and_its_holder_lives(self):
        holder = device_lab.Holder(self)
        ended = holder.run(self.lab, "run", self.slice_of("1s"), "--plain").end()
        self.assertEqual(3, ended.status, ended)
        attempt = self.attempt(self.lab.receipt(), "h0", "trains")
        self.assertEqual(("blocked", "device", "device"),
                         (attempt["outcome"], attempt["cause"]["owner"], attempt["phase"]), attempt["cause"])
        self.assertRegex(attempt["cause"]["text"],
                         rf"^/dev/accel0 is held by {holder.pid} .*device_lab\.py, since .*; waited .* for it ")
        self.assertEqual(f"kill {holder.pid}", attempt["cause"]["next"])
        self.assertRegex(ended.out, rf"(?m)^\[ .*\] h0: /dev/accel0 is held by {holder.pid} .*device_lab\.py, since ")
        self.assertTrue(holder.holds())
        self.nothing_is_left()

    def test_the_holder_is_named_before_the_time_of_the_rung_is_over(self):
        holder = device_lab.Holder(self)
        ended = holder.run(self.lab, "run", self.slice_of("1h", timeout="16s"), "--plain").end()
        self.assertEqual(3, ended.status, ended)
        cause = self.attempt(self.lab.receipt(), "h0", "trains")["cause"]
        self.assertEqual("device", cause["owner"])
        self.assertIn(f"/dev/accel0 is held by {holder.pid} ", cause["text"])
        self.nothing_is_left()

    def test_the_holder_is_named_to_a_program_that_found_the_device_busy(self):
        holder = device_lab.Holder(self)
        busy = {"id": "trains", "command": ["sh", "-c", "echo 'open(/dev/accel0): Device or resource busy'; exit 1"]}
        ladder = self.lab.ladder("ladder.yaml", [busy])
        ended = holder.run(self.lab, "run", self.lab.slice(hosts=1, ladder=str(ladder), limits=FAST), "--plain").end()
        self.assertEqual(1, ended.status, ended)
        cause = self.attempt(self.lab.receipt(), "h0", "trains")["cause"]
        self.assertEqual("device", cause["owner"], cause)
        self.assertRegex(cause["text"], rf"; /dev/accel0 is held by {holder.pid} .*device_lab\.py, since ")
        self.assertEqual(f"kill {holder.pid}", cause["next"])
        self.nothing_is_left()

    def test_a_free_device_is_not_mentioned(self):
        holder = device_lab.Holder(self)
        holder.let_go()
        self.passes(holder.run(self.lab, "run", self.slice_of("1s"), "--plain").end())
        attempt = self.attempt(self.lab.receipt(), "h0", "trains")
        self.assertEqual([], attempt["recovered"])
        self.assertEqual([], [note for note in self.lab.receipt()["hosts"][0]["notes"] if note["source"] in ("device", "warning")])


if __name__ == "__main__":
    unittest.main()
