"""One host aborts and seven follow with the texts that real runtimes print: one initiator, whatever the seven say."""
import os
import signal
import unittest

import lab

HOSTS = 8
# As jaxlib prints them when a task stops answering, and when it ends by itself because of that.
HEARTBEAT = ("E1121 15:16:28.779033   26426 coordination_service_agent.cc:289] Polled an error from coordination service (this can be "
             "an error from this or another task).\n"
             "F1121 15:16:28.779697   26426 client.h:80] Terminating process because the JAX distributed service detected fatal errors. "
             "This most likely indicates that another task died; see the other task logs for more details. absl::Status: UNAVAILABLE: "
             "Task 5 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly.")
DISK = ("Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    write(state)\n"
        "OSError: [Errno 28] No space left on device: '/scratch/step-12'")
NOVEL = ("Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    step(state)\n"
         "ZeroDivisionError: division by zero")


class Blame(lab.LabTest):
    def fall(self, text, others=HEARTBEAT):
        """host -> its attempt at the rung."""
        rung = self.lab.rung("together", "falls.py", scope="slice", args={"host": "h5", "text": text, "others": others})
        ladder = self.lab.ladder("ladder.yaml", [rung])
        limits = {"stop": "200ms", "cascade": "20s", "retries": 1, "retry_wait": "200ms"}
        ended = self.lab.sliceup("run", self.lab.slice(hosts=HOSTS, ladder=str(ladder), limits=limits))
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        return {entry["host"]: self.attempt(receipt, entry["host"], "together") for entry in receipt["hosts"]}

    def only_h5(self, rungs):
        self.assertEqual(HOSTS, len(rungs))
        self.assertEqual(["h5"], [host for host, rung in rungs.items() if rung["outcome"] == "failed"], rungs)
        self.assertEqual(HOSTS - 1, sum(rung["outcome"] == "cascade" for rung in rungs.values()), rungs)
        self.assertEqual({"aborted because h5 failed"}, {rung["cause"]["text"] for host, rung in rungs.items() if host != "h5"})
        aborted = [rung for host, rung in rungs.items() if host != "h5" and "peer-died" in str(rung["sightings"])]
        self.assertGreaterEqual(len(aborted), 2, "too few of the seven were heard: nothing was told apart here")
        self.assertEqual(0, self.lab.count("retry-planned"))
        self.nothing_is_left()

    def test_a_known_cause_is_told_apart_from_what_its_peers_say(self):
        rungs = self.fall(DISK)
        self.only_h5(rungs)
        cause = rungs["h5"]["cause"]
        self.assertEqual(("host", "disk-full"), (cause["owner"], cause["signature"]))
        self.assertIn("Errno 28", cause["evidence"])

    def test_an_exception_of_the_program_is_likely_the_programs_and_shows_its_lines(self):
        rungs = self.fall(NOVEL)
        self.only_h5(rungs)
        cause = rungs["h5"]["cause"]
        self.assertEqual(("program", "likely", "program-type"), (cause["owner"], cause["certainty"], cause["signature"]))
        self.assertIn("ZeroDivisionError: division by zero", cause["evidence"])

    def test_the_last_word_of_a_silent_host_is_that_the_others_name_it(self):
        rungs = self.fall("step 12")
        self.only_h5(rungs)
        self.assertIn("the other hosts name this one", rungs["h5"]["cause"]["text"])


# From a post-mortem of a v5p-64: the chip's error, after which the process hung, and what its peers said of it.
VFIO = ("E0429 10:11:12.345678    412 tpu_init.cc:88] TPU initialization failed: open(/dev/vfio/0): Device or resource busy: Device or "
        "resource busy; Couldn't open iommu group /dev/vfio/0")
SOCKET = ("F0429 10:11:20.100000    377 client.h:77] Terminating process because the JAX distributed service detected fatal errors. "
          "This most likely indicates that another task died; see the other task logs for more details. absl::Status: UNAVAILABLE: Socket closed")


class Together(lab.LabTest):
    """Commands of all hosts that end at once, or hang with the cause on their lips."""

    def run_command(self, script, **more):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "train", "command": ["sh", "-c", script], "scope": "slice", "timeout": "60s", **more}])
        path = self.lab.slice(hosts=3, ladder=str(ladder), limits={"stop": "500ms", "cascade": "2s"}, cache={"mode": "off"})
        ended = self.lab.sliceup("run", path)
        receipt = self.lab.receipt()
        return ended, [self.attempt(receipt, f"h{i}", "train") for i in range(3)]

    def test_an_equal_failure_of_all_is_one_cause_and_nobody_is_blamed(self):
        for script, cause in (("echo usage >&2; exit 2", "exited with status 2"), ("kill -SEGV $$", "killed by signal 11 (Segmentation fault)"),
                              ('echo "Fatal: rank $SLICEUP_RANK, pid $$ lost its mesh" >&2; exit 1', "exited with status 1")):
            with self.subTest(script):
                ended, attempts = self.run_command(script)
                self.assertEqual(1, ended.status, ended)
                self.assertEqual(["failed"] * 3, [attempt["outcome"] for attempt in attempts], ended)
                self.assertIn("\n  h[0-2] failed (3 of 3)\n", ended.out)
                card = ended.out[ended.out.index("\nslice "):]
                self.assertIn(f"\n    {cause}", card)
                if "Fatal" in script: # the line of one host is told as that host's
                    self.assertRegex(card, r"\n    h(\d): Fatal: rank \1, pid \d+ lost its mesh\n")
                    self.assertRegex(self.lab.sliceup("receipt").out, r"(evidence|at the end): h(\d): Fatal: rank \2, pid \d+ lost its mesh")
                self.assertNotIn("cascade", ended.out)
                self.assertEqual(1, self.lab.count("pass-began"), "an equal failure tells no host apart: no parts are tried")

    def test_who_printed_the_cause_and_hangs_is_blamed_not_who_ended_first(self):
        ended, attempts = self.run_command(f"case $SLICEUP_RANK in 1) echo \"{VFIO}\"; sleep 600;; *) sleep 2; echo \"{SOCKET}\"; kill -ABRT $$;; esac")
        self.assertEqual(["cascade", "failed", "cascade"], [attempt["outcome"] for attempt in attempts], ended)
        self.assertEqual(("device", "vfio-busy"), (attempts[1]["cause"]["owner"], attempts[1]["cause"]["signature"]))
        self.assertIn("\n  h1 failed (1 of 3)\n    E0429", ended.out)

    def test_a_worker_that_is_ended_from_outside_was_not_cancelled(self):
        ladder = self.lab.ladder("ladder.yaml", [{"id": "train", "command": ["sh", "-c", "echo step; exec sleep 5"], "timeout": "60s"}])
        run = self.lab.start("run", self.lab.slice(hosts=3, ladder=str(ladder), limits={"stop": "500ms"}, cache={"mode": "off"}))
        run.wait_out("train attempt 1 began")
        lab.wait_for(lambda: len(self.lab.processes_under()) >= 6, "the programs")
        os.kill(self.lab.worker_pids()["h2"], signal.SIGTERM)
        ended = run.end()
        self.assertEqual(1, ended.status, ended)
        cause = self.attempt(self.lab.receipt(), "h2", "train")["cause"]
        self.assertEqual("platform", cause["owner"])
        self.assertIn("told to end by SIGTERM", cause["text"])
        if cause["certainty"] == "known": # likely: on a busy machine its word that it leaves comes before the result
            self.assertIn("something outside ended its worker (stopped: told to end by SIGTERM): a shutdown, a preemption, scancel, kill, an srun that ended or a newer worker", cause["text"])
            self.assertIn("look at the state of the machine", cause["next"])
        self.assertNotIn("cancelled", ended.out)


if __name__ == "__main__":
    unittest.main()
