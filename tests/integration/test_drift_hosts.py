"""Eight local hosts, one of which is another machine: drift finds it in the facts that workers capture themselves.

Each worker is started through a wrapper that gives it a mount namespace of its own, and in it a machine with four
accelerators; that of whichever comes first differs in one thing. Same process throughout: the coordinator watches its pid.
"""
import json
import os
import shutil
import sys
import unittest
from unittest import mock

import lab
from odd_machine import ACCELERATORS, THP, another_setting

WRAPPER = """#!/bin/sh
if mkdir {scratch}/taken 2>/dev/null; then odd={odd}; else odd=none; fi
exec unshare --mount --propagation private {python} -B {machine} "$odd" {scratch} {worker} "$@"
"""


@unittest.skipUnless(os.geteuid() == 0, "a machine of its own for each worker takes root")
class Machines(lab.LabTest):
    def drift(self, odd):
        """The status and the first line of drift after a run of the facts rung on eight hosts, one of which is odd."""
        scratch = self.lab.root / "scratch"
        install = self.lab.root / "install"
        (install / "bin").mkdir(parents=True)
        scratch.mkdir()
        shutil.copy(lab.SLICEUP, install / "bin" / "sliceup")
        wrapper = install / "bin" / "sliceup-worker"
        machine = lab.TOP / "tests" / "lib" / "odd_machine.py"
        wrapper.write_text(WRAPPER.format(odd=odd, python=sys.executable, machine=machine, scratch=scratch,
                                          worker=lab.BUILD / "bin" / "sliceup-worker"))
        wrapper.chmod(0o755)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "host-facts", "builtin": "facts"}])
        slice_file = self.lab.slice(hosts=8, ladder=str(ladder), cache={"mode": "off"})
        with mock.patch.object(lab, "SLICEUP", install / "bin" / "sliceup"):
            self.passes(self.lab.sliceup("run", slice_file, env=self.lab.env(SLICEUP_SHARE=str(lab.TOP))))
        ended = self.lab.sliceup("drift")
        return ended.status, ended.out.splitlines()[0]

    def finds(self, odd, pattern):
        status, line = self.drift(odd)
        self.assertEqual(1, status, line)
        self.assertRegex(line, f"^h[0-7]: {pattern}$")

    def test_equal_machines_are_no_drift(self):
        status, line = self.drift("none")
        self.assertEqual(0, status, line)
        self.assertRegex(line, "^versions of packages are not known; nothing else differs: 8 hosts")
        self.assertTrue(json.loads(self.lab.sliceup("drift", "--json").out)["versions_unknown"])
        told = [host["facts"]["device.accel"] for host in self.lab.receipt()["hosts"]]
        self.assertTrue(all(value.startswith(f"{ACCELERATORS} x ") for value in told), told)

    def test_a_huge_page_setting_is_found(self):
        usual = THP.read_text().partition("[")[2].partition("]")[0]
        odd = another_setting(THP.read_text())[1]
        self.finds("hugepages", f"fact hugepages.transparent is {odd}, 7 others have {usual}")

    def test_a_mount_is_found(self):
        self.finds("mount", r"fact mount\.(start_dir|tmp) lacks \S+ and has \S*nosuid\S*, unlike 7 others")

    def test_a_missing_device_is_found(self):
        self.finds("device", rf"fact device\.accel is {ACCELERATORS - 1} x .*, 7 others have {ACCELERATORS} x .*")

    def test_a_missing_function_on_the_bus_is_found(self):
        self.finds("function", rf"fact pci\.google is {ACCELERATORS - 1} x 0x006f.*, 7 others have {ACCELERATORS} x 0x006f.*")


if __name__ == "__main__":
    unittest.main()
