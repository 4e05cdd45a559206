"""A canary attacks the shared cache in a real run, in the very sandbox that rungs get; docs/spec/cache.md."""
import hashlib
import json
import unittest

import lab


class Attacked(lab.LabTest):
    """The frontend is named for its settings only: the canary compiles nothing, so no environment is needed."""

    def setUp(self):
        super().setUp()
        self.root = self.lab.root / "cache"

    def run_slice(self, hosts=2, args=None, cache=None, limits=None):
        rung = self.lab.rung("writes", "writes_cache.py", warm="solo", timeout="2m",
                             args={"root": str(self.root), **(args or {})})
        rung["env"] = False
        ladder = self.lab.ladder("attack", [{"id": "cache", "builtin": "cache", "timeout": "60s"}, rung])
        slice_file = self.lab.slice(hosts=hosts, ladder=str(ladder), profile="cpu-jax", pins="jax-cpu", limits=limits,
                                    cache={"root": str(self.root), "writer": "h0", **(cache or {})})
        return self.lab.sliceup("run", slice_file, bound_s=600)

    def listing(self):
        """path -> (mode, sha256) of every file of a sealed generation."""
        return {str(path): (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
                for path in sorted(self.root.rglob("gen-*/*")) if path.is_file()}

    def view(self, host, rung):
        """What the journal's receipt says of the cache as that host saw it."""
        return self.attempt(self.lab.receipt(), host, rung)

    def test_readers_cannot_write_and_the_manifest_stays(self):
        ended = self.run_slice()
        self.assertEqual(0, ended.status, f"{ended}\n{json.dumps(self.lab.receipt(), indent=1)[:8000]}")
        first = self.listing()
        self.assertTrue([path for path in first if path.endswith("/MANIFEST")], "nothing was sealed")
        for host in ("h0", "h1"):
            checks = {check["name"]: check for check in self.view(host, "writes").get("checks", [])}
            tried = [name for name in checks if name.startswith("way ")]
            self.assertGreaterEqual(len(tried), 14, f"{host} tried {tried}")
        ended = self.run_slice()
        self.assertEqual(0, ended.status, ended)
        self.assertEqual(first, self.listing(), "an attacked generation changed")

    def test_more_than_this_host_can_do_is_said_before_anything_is_compiled(self):
        ended = self.run_slice(cache={"enforcement": "storage"})
        self.assertNotEqual(0, ended.status)
        self.assertIn("can protect the cache only at level", ended.out + json.dumps(self.lab.receipt()))
        self.assertEqual({}, self.listing())
        self.assertFalse(list(self.root.glob("probe-*")), "the survey left something")

    def test_an_overlay_throws_away_what_is_written_and_says_so(self):
        ended = self.run_slice(cache={"overlay": True},
                               args={"allowed": sorted(lab_ways())})
        receipt = json.dumps(self.lab.receipt())
        self.assertEqual(0, ended.status, f"{ended}\n{receipt[:8000]}")
        first = self.listing()
        self.assertTrue(first)
        self.assertIn("scratch layer over the generation", receipt)


def lab_ways():
    """Every way, at the constant path, is open above an overlay."""
    text = (lab.CANARIES / "writes_cache.py").read_text()
    return {line.split()[1].split("(")[0] for line in text.splitlines() if line.startswith("    def ")}


if __name__ == "__main__":
    unittest.main()
