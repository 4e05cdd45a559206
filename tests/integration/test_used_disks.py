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

    def fails(self, does, signature, found, look):
        """A rung whose program fails on one host. What is `found` there stands behind its error, and `look` shows it."""
        rung = {"id": "fills", "command": ["sh", "-c", f"[ ! -d /var/tmp/data ] || {{ {does}; }}"], "timeout": "60s"}
        self.small.run("mkdir", "/var/tmp/data")
        ended = self.lab.sliceup("run", self.slice(rung))
        self.assertEqual(1, ended.status, ended)
        cause = self.attempt(self.lab.receipt(), "h1", "fills")["cause"]
        self.assertEqual(signature, cause["signature"], cause)
        self.assertTrue(cause["text"].endswith(f"; {found}"), cause)
        self.assertEqual(self.enter() + look, cause["next"])
        self.assertIn(found, re.sub(r"\n +", " ", ended.out))
        self.nothing_is_left()

    def mounted(self, options):
        self.small.run("mount", "-t", "tmpfs", "-o", options, "none", "/mnt")
        self.addCleanup(self.small.run, "umount", "-l", "/mnt")

    def test_a_program_that_fills_the_disk_of_its_worker_is_told_which_it_is(self):
        self.fails("cp /dev/zero /var/tmp/data/shard", "disk-full", "/var/tmp (tmpfs, 300 MiB) is full", "df -h /var/tmp")

    def test_a_disk_that_only_the_program_names_is_named(self):
        self.mounted("size=2m")
        self.fails("cp /dev/zero /mnt/shard", "disk-full", "/mnt (tmpfs, 2.0 MiB) is full", "df -h /mnt")

    def test_a_disk_that_nobody_names_is_found(self):
        self.mounted("size=2m")
        self.fails("cd /mnt; cp /dev/zero shard", "disk-full", "/mnt (tmpfs, 2.0 MiB) is full", "df -h /mnt")

    def test_a_path_that_has_room_is_not_the_full_one(self):
        self.mounted("size=2m")
        error = "/bin/cp: error writing 'shard': No space left on device"
        self.fails(f'cd /mnt; cp /dev/zero shard 2>/dev/null; echo "{error}"; exit 1', "disk-full", "/mnt (tmpfs, 2.0 MiB) is full", "df -h /mnt")

    def test_inodes_that_are_used_up_are_told_from_bytes(self):
        self.mounted("size=80m,nr_inodes=20")
        self.fails("cd /mnt; seq 40 | xargs touch", "disk-full", "/mnt (tmpfs, 80.0 MiB) is full: no inode is free", "df -i /mnt")

    def test_a_file_system_that_became_read_only_is_named(self):
        self.mounted("size=80m,ro")
        self.fails("date > /mnt/stamp", "read-only-fs", "/mnt (tmpfs, 80.0 MiB) is mounted read-only", "findmnt /mnt")

    def test_a_host_that_resolves_no_names_tells_its_name_server(self):
        self.small.run("sh", "-c", "echo nameserver 10.77.0.99 >/run/resolv; mount --bind /run/resolv /etc/resolv.conf")
        self.addCleanup(self.small.run, "umount", "-l", "/etc/resolv.conf")
        error = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
        self.fails(f"echo '{error}'; exit 1", "name-resolution", "its name server is 10.77.0.99", "cat /etc/resolv.conf")


if __name__ == "__main__":
    unittest.main()
