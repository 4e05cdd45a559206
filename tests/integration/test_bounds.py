"""What is too large or too much is refused with a sentence, where it is first known."""
import json
import unittest

import lab


class Sizes(lab.LabTest):
    def test_a_rung_that_no_message_can_tell_a_host_is_refused_before_anything_starts(self):
        long = {"id": "long", "command": ["true"] + ["x" * 4000] * 20, "timeout": "5s"}
        path = self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", [long])))
        for command in ("check", "run"):
            ended = self.lab.sliceup(command, path, bound_s=20)
            self.assertEqual(2, ended.status, ended)
            self.assertIn("rung 'long' takes more to be told to a host than the 63488 bytes", ended.err)
        self.assertFalse((self.lab.home / "runs").exists(), "a run was begun all the same")

    def test_receipts_that_are_too_many_for_one_are_not_merged(self):
        self.passes(self.lab.sliceup("run", self.lab.slice(hosts=1)))
        receipt = self.lab.receipt()
        files = []
        for part in range(2):
            receipt["headers"] = [{**receipt["headers"][0], "run": f"{part}-{number}"} for number in range(600)]
            files.append(self.lab.write(f"{part}.json", json.dumps(receipt)))
        self.passes(self.lab.sliceup("receipt", "--json", "--merge", files[0]))
        ended = self.lab.sliceup("receipt", "--json", "--merge", *files)
        self.assertEqual(3, ended.status, ended.err)
        self.assertIn("receipt.headers: items 1200, at most 1024", ended.err)
        self.assertIn("merge fewer at a time", ended.err)
        self.assertEqual("", ended.out)


if __name__ == "__main__":
    unittest.main()
