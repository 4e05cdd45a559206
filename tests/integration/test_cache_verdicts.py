"""Why was it compiled again? Real JAX, one difference planted on each host, and what the receipt says of it.

The environment is the one of test_jax.py, built once below $SLICEUP_BUILD/envs.
"""
import unittest

import lab
import schema


class Verdicts(lab.LabTest):
    def climb(self, hosts, **args):
        canary = lab.CANARIES / "jax" / "planted.py"
        rung = {"id": "planted", "canary": str(canary), "warm": "solo", "timeout": "3m", "args": args}
        ladder = self.lab.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "10m"}, rung])
        path = self.lab.slice(hosts=hosts, ladder=str(ladder), profile="cpu-jax", pins="jax-cpu",
                              mesh={"data": hosts, "model": 2}, env_dir=str(lab.SHARED_ENVS / "jax-cpu"),
                              limits={"stop": "1s", "cascade": "3s"})
        ended = self.lab.sliceup("run", path, bound_s=600)
        self.assertIn("planted restored attempt 1 began", ended.out, ended)
        return self.lab.receipt()

    def verdict(self, receipt, host):
        """(outcome, cache, cause) of the restored pass."""
        attempt = self.attempt(receipt, host, "planted")
        self.assertEqual("restored", attempt["pass"], attempt)
        return attempt["outcome"], attempt.get("cache"), attempt.get("cause", {}).get("text")

    def test_each_host_is_told_why_it_compiled_again(self):
        both, one = "compiled 2 of 2 programs again: ", "compiled 1 of 2 programs again: "
        planted = {"flag": both + "jit_doubled's cache key differs from the writer's in flags and compile options; and 1 more",
                   "argument": both + "jit_doubled's cache key differs from the writer's in flags; and 1 more",
                   "shape": one + "jit_sum_of_squares's cache key differs from the writer's in computation",
                   "device": one + "jit_sum_of_squares's cache key differs from the writer's in computation and compile options",
                   "other": "compiled 1 of 3 programs again: entry missing: no writer compiled jit__lambda",
                   "off": "the cache was never consulted: JAX_ENABLE_COMPILATION_CACHE is false"}
        words = [f"h{number + 1}/restored={name}" for number, name in enumerate(planted)]
        receipt = self.climb(2 + len(planted), planted=words)
        for number, (name, sentence) in enumerate(planted.items()):
            with self.subTest(name):
                outcome, cache, cause = self.verdict(receipt, f"h{number + 1}")
                self.assertEqual(("failed", "recompiled"), (outcome, cache))
                # jax makes up the name of a program without one.
                self.assertEqual(sentence, cause.rstrip("_") if name == "other" else cause)
        for host in ("h0", f"h{1 + len(planted)}"):
            self.assertEqual(("passed", "restored"), self.verdict(receipt, host)[:2])
        self.explained(1 + len(planted))
        self.nothing_is_left()

    def explained(self, last):
        """`sliceup cache explain` finds the same, and between hosts of which one only loaded."""
        for host, words in (("h1", ("jit_doubled: flags differs", "XLA_FLAGS has --xla_")), ("h3", ("computation differs",))):
            ended = self.lab.sliceup("cache", "explain", "h0", host)
            self.assertEqual(1, ended.status, ended)
            for word in words:
                self.assertIn(word, ended.out)
            told = schema.document(self.lab.sliceup("cache", "explain", "h0", host, "--json").out)
            self.assertIn(words[0].split()[0].rstrip(":") if host == "h1" else "computation", str(told["rungs"]))
        ended = self.lab.sliceup("cache", "explain", "h0", f"h{last}")
        self.assertEqual(0, ended.status, ended)
        self.assertIn("equal cache keys for 2 programs", ended.out)

    def test_what_its_writer_did_not_keep_is_below_the_threshold(self):
        receipt = self.climb(2, planted=["h0/cold=threshold"])
        cause = "compiled 1 of 2 programs again: jit_sum_of_squares is below the write threshold: " \
                "the writer compiled it, but did not store it in the cache"
        for host in ("h0", "h1"):
            self.assertEqual(("failed", "recompiled", cause), self.verdict(receipt, host))

    def test_an_entry_that_its_writer_tore_is_torn(self):
        """h0 asks for the error, as every host does by itself; on h1 jax warns and compiles."""
        receipt = self.climb(2, planted=["h0/cold=torn", "h1/restored=warns"])
        for host in ("h0", "h1"):
            outcome, _, cause = self.verdict(receipt, host)
            self.assertEqual("failed", outcome)
            self.assertIn("jit_doubled was found but could not be loaded: error: Error -5 while decompressing", cause)
            self.assertEqual("cache", self.attempt(receipt, host, "planted")["cause"]["owner"])
        self.assertEqual("torn", self.verdict(receipt, "h1")[1])


if __name__ == "__main__":
    unittest.main()
