"""What canaries of torch_xla said on four devices of one process, judged: tests/campaign/torch_xla runs the real ones."""
import unittest

import lab


class Recorded(lab.LabTest):
    def judged(self, which, metrics):
        rung = self.lab.rung("recorded", "torch_xla_recorded.py", scope="slice", metrics=metrics, args={"which": which})
        path = self.lab.slice(hosts=1, ladder=str(self.lab.ladder("ladder.yaml", [rung])), profile="cpu-torch-xla-spmd", mesh={"host": 4})
        ended = self.lab.sliceup("run", path)
        receipt = self.lab.receipt()
        return ended.status, self.attempt(receipt, "h0", "recorded"), [item["proof"] for item in receipt["reductions"]]

    def test_a_reduction_within_the_program_is_proved(self):
        status, attempt, proofs = self.judged("proved", ["loss"])
        self.assertEqual((0, "passed", ["proved"]), (status, attempt["outcome"], proofs), attempt)
        self.assertEqual(1, attempt["counters"]["ExecuteReplicatedTime"])

    def test_a_value_of_mesh_reduce_is_local(self):
        status, attempt, proofs = self.judged("local", ["loss"])
        self.assertEqual((1, "failed", ["local"]), (status, attempt["outcome"], proofs), attempt)

    def test_a_read_in_each_step_is_the_programs_and_counted(self):
        status, attempt, _ = self.judged("reads", [])
        self.assertEqual((1, "failed", "program"), (status, attempt["outcome"], attempt["cause"]["owner"]), attempt)
        self.assertIn("values were read 5 times in 5 steps", attempt["cause"]["text"])
        self.assertEqual(5, attempt["counters"]["TransferFromDeviceTime"])


if __name__ == "__main__":
    unittest.main()
