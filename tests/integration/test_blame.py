"""One host aborts and seven follow with the texts that real runtimes print: one initiator, whatever the seven say."""
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


if __name__ == "__main__":
    unittest.main()
