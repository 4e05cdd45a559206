"""File systems that a run uses get full on real hosts over ssh: told before a program fails by it, and when one does."""
import re
import unittest

import lab
import netlab

FACTS = {"id": "facts", "builtin": "facts", "timeout": "60s"}
FREE_KIB = 12 * 1024


class UsedDisks(netlab.NetLabTest):
    COUNT = 4

    def setUp(self):
        super().setUp()
        self.small = self.lab["h1"]
        self.small.run("mount", "-t", "tmpfs", "-o", "size=300m,mode=1777", "none", "/var/tmp")
        self.addCleanup(self.small.run, "umount", "-l", "/var/tmp")

    def slice(self, *rungs):
        return self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", [FACTS, *rungs])))

    def fill(self, free_kib=0):
        """All of the small file system but so much."""
        fill = f"""free=$(df -k --output=avail /var/tmp | tail -1)
            head -c $(((free - {free_kib}) * 1024)) /dev/zero >/var/tmp/filler || [ {free_kib} = 0 ]"""
        self.small.run("sh", "-c", fill)

    def brought(self):
        """A first run brings the worker there, so that the second one has nothing to upload."""
        self.passes(self.lab.sliceup("run", self.slice()))
        self.nothing_is_left()

    def enter(self):
        net = self.lab
        return f"ssh -i {net.root}/user_key -oUserKnownHostsFile={net.root}/known_hosts root@{self.small.address} "

    def test_what_is_nearly_full_is_a_warning_of_a_rung_that_passes(self):
        self.brought()
        self.fill(FREE_KIB)
        ended = self.passes(self.lab.sliceup("run", self.slice(), "--plain"))
        told = r"h1: /var/tmp \(tmpfs, 300 MiB\) has 1[0-2](\.\d)? MiB free"
        self.assertRegex(ended.out, rf"(?m)^\[ .*\] {told}$")
        self.assertRegex(self.lab.sliceup("receipt").out, rf"(?m)^ *(warning )? *{told}$")
        facts = {host["host"]: host["facts"]["disk.start_dir"] for host in self.lab.receipt()["hosts"]}
        self.assertEqual("nearly full", facts.pop("h1"))
        self.assertEqual(1, len(set(facts.values())), facts)
        drift = self.lab.sliceup("drift")
        self.assertEqual(1, drift.status, drift)
        self.assertRegex(drift.out, "h1: .*disk.start_dir")
        self.nothing_is_left()

    def test_a_full_one_fails_the_facts_of_its_host(self):
        self.brought()
        self.fill()
        ended = self.lab.sliceup("run", self.slice({"id": "hello", "command": ["true"]}), "--plain")
        self.assertEqual(1, ended.status, ended)
        attempt = self.attempt(self.lab.receipt(), "h1", "facts")
        cause = attempt["cause"]
        self.assertEqual(("failed", "host"), (attempt["outcome"], cause["owner"]), cause)
        self.assertEqual("/var/tmp (tmpfs, 300 MiB) is full", cause["text"])
        self.assertEqual(self.enter() + "df -h /var/tmp", cause["next"])
        self.assertNotIn("h1: /var/tmp", ended.out.replace("h1 failed", ""))
        self.nothing_is_left()

    def fails(self, fills, full):
        """A rung whose program fills a disk of one host."""
        rung = {"id": "fills", "command": ["sh", "-c", f"if [ -d /var/tmp/data ]; then exec {fills}; fi"], "timeout": "60s"}
        self.small.run("mkdir", "/var/tmp/data")
        ended = self.lab.sliceup("run", self.slice(rung))
        self.assertEqual(1, ended.status, ended)
        cause = self.attempt(self.lab.receipt(), "h1", "fills")["cause"]
        self.assertEqual(("host", "disk-full"), (cause["owner"], cause["signature"]), cause)
        self.assertTrue(cause["text"].endswith(f"; {full} is full"), cause)
        self.assertEqual(self.enter() + f"df -h {full.partition(' ')[0]}", cause["next"])
        self.assertIn(f"{full} is full", ended.out)
        self.nothing_is_left()

    def test_a_program_that_fills_the_disk_of_its_worker_is_told_which_it_is(self):
        self.fails("cp /dev/zero /var/tmp/data/shard", "/var/tmp (tmpfs, 300 MiB)")

    def test_a_disk_that_only_the_program_names_is_named(self):
        self.small.run("mount", "-t", "tmpfs", "-o", "size=2m,mode=1777", "none", "/mnt")
        self.addCleanup(self.small.run, "umount", "-l", "/mnt")
        self.fails("cp /dev/zero /mnt/shard", "/mnt (tmpfs, 2.0 MiB)")


if __name__ == "__main__":
    unittest.main()
