"""sliceup exec folds outputs as clush -b does: on ten made cases the same hosts stand above the same text."""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import unittest

import lab

CASES = sorted((pathlib.Path(__file__).parent / "exec_fold").iterdir())


def expected_groups(case):
    """[(hosts, bytes of what they printed, with its last newline)] in host order; standard error counts as well."""
    groups = {}
    for host, run in json.loads((case / "expected.json").read_text())["hosts"].items():
        said = base64.b64decode(run["stdout_base64"]) + base64.b64decode(run["stderr_base64"])
        if said:
            groups.setdefault(said if said.endswith(b"\n") else said + b"\n", []).append(host)
    return [(hosts, said) for said, hosts in groups.items()]


def folded(hosts):
    done = subprocess.run([str(lab.SLICEUP), "hosts", "--fold", ",".join(hosts)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def clush_groups(printed):
    """hosts, folded -> text, of what `clush -b` prints. It shows hosts of another exit status apart, also with an equal output."""
    blocks, said = re.split(rb"(?m)^-{15}\n(.+)\n-{15}\n", printed), {}
    for head, body in zip(blocks[1::2], blocks[2::2]):
        said.setdefault(body, []).append(re.sub(r" \(\d+\)$", "", head.decode()))
    return {folded(hosts): body for body, hosts in said.items()}


class Fold(lab.LabTest):
    def exec(self, case, *more):
        about = json.loads((case / "case.json").read_text())
        script = self.lab.write("script.sh", "HOSTNAME_OF_CASE=${1:-$SLICEUP_HOST}\n" + about["script"])
        command = [str(lab.SLICEUP), "exec", "--launcher", "local", "-w", about["hosts"], *more, "--", "sh", str(script)]
        return subprocess.run(command, env=self.lab.env(), capture_output=True, timeout=60), about["hosts"], script

    def test_there_are_ten(self):
        self.assertEqual(len(CASES), 10)

    def test_every_case_prints_what_was_expected(self):
        for case in CASES:
            with self.subTest(case.name):
                done, _, _ = self.exec(case, "--raw")
                blocks = []
                for hosts, said in expected_groups(case):
                    count = f" ({len(hosts)} hosts)" if len(hosts) > 1 else ""
                    blocks.append(f"{folded(hosts)}{count}:\n".encode() + said)
                self.assertEqual(done.stdout, b"\n".join(blocks))
                statuses = json.loads((case / "expected.json").read_text())["nonzero"]
                self.assertEqual(done.returncode, 1 if statuses else 0)
                for host, status in statuses.items():
                    self.assertIn(f"{host}: exit status {status}\n".encode(), done.stderr)

    @unittest.skipUnless(shutil.which("clush"), "needs clustershell")
    def test_clush_says_the_same(self):
        for case in CASES:
            with self.subTest(case.name):
                done, hosts, script = self.exec(case, "--json")
                ours = {output["hosts"]: output["output"] for output in json.loads(done.stdout)["outputs"] if output["output"]}
                peer = subprocess.run(["clush", "-R", "exec", "-b", "-w", hosts, f"sh {script} %h 2>&1"],
                                      env=self.lab.env(HOME=str(self.lab.root)), capture_output=True, timeout=60)
                theirs = clush_groups(peer.stdout)
                self.assertEqual(sorted(ours), sorted(theirs))
                for group, text in theirs.items():
                    if text.isascii():
                        self.assertEqual(ours[group], text.decode())


if __name__ == "__main__":
    unittest.main()
