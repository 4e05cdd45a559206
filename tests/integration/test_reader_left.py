"""A reader that leaves (| head) changes no exit status and is told of nothing; a full disk is told, and does."""
import os
import signal
import subprocess
import unittest

import lab

COMMANDS = (("receipt",), ("receipt", "--json"), ("receipt", "--markdown"), ("status",), ("status", "--json"), ("runs",), ("runs", "--json"),
            ("logs",), ("explain",), ("explain", "--json"), ("drift",), ("drift", "--all"), ("watch",), ("watch", "--json"), ("calibration",),
            ("hosts", "-e", "n[0-99999]"), ("hosts", "--json", "n[0-99]"), ("help",), ("--help",), ("--version",), ("run", "--help"))


class ReaderLeft(lab.LabTest):
    def slice(self, failing=False):
        return self.climbs([self.lab.rung("low", "slow.py", args={"seconds": 0.2}),
                            self.lab.rung("top", "exit3.py" if failing else "plain/hello.py")])

    def climbs(self, rungs):
        return self.lab.slice(ladder=str(self.lab.ladder("ladder.yaml", rungs)))

    def without_reader(self, *args):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run([str(lab.SLICEUP), *args], env=self.lab.env(), stdin=subprocess.DEVNULL, stdout=writer,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        finally:
            os.close(writer)
        return done

    def piped(self, command):
        """Bash's own word for how the first of a pipe ended, and all that was said."""
        done = subprocess.run(["bash", "-c", f'{command} | head -1; echo "status ${{PIPESTATUS[0]}}"'],
                              env={**self.lab.env(), "sliceup": str(lab.SLICEUP)}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False)
        return done.stdout, done.stderr

    def test_every_command_ends_as_with_a_reader(self):
        self.assertEqual(1, self.lab.sliceup("run", self.slice(failing=True)).status)
        for args in COMMANDS:
            with self.subTest(args):
                whole, cut = self.lab.sliceup(*args), self.without_reader(*args)
                self.assertEqual((whole.status, whole.err), (cut.returncode, cut.stderr))

    def test_a_run_goes_on_to_its_end(self):
        for failing in (False, True):
            out, err = self.piped(f'"$sliceup" run --plain {self.slice(failing)}')
            self.assertRegex(out, rf"^run [0-9a-f]{{8}} .*\nstatus {int(failing)}\n$")
            self.assertEqual("", err)
            self.assertEqual(int(failing), self.lab.sliceup("status").status)
            self.assertEqual(self.lab.sliceup("receipt").status, int(failing))

    def test_who_follows_a_run_leaves_it_running(self):
        run = self.lab.start("run", self.climbs([self.lab.rung("low", "slow.py", args={"seconds": 20})]))
        lab.wait_for(lambda: self.lab.count("pass-began"), "the rung to begin")
        for command in ("logs --follow", "watch --plain"):
            with self.subTest(command):
                done = self.without_reader(*command.split())
                self.assertEqual((0, ""), (done.returncode, done.stderr))
                self.assertIsNone(run.process.poll(), run.out)
        out, err = self.piped('"$sliceup" watch --plain')
        self.assertRegex(out, r"\nstatus 0\n$")
        self.assertEqual("", err)
        run.kill(signal.SIGTERM)
        run.end(60)

    def test_a_full_disk_is_told(self):
        for args in (("hosts", "-e", "n[0-99999]"), ("--help",), ("help", "run"), ("version",)):
            with self.subTest(args), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([str(lab.SLICEUP), *args], env=self.lab.env(), stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
                self.assertEqual(3, done.returncode)
                self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    unittest.main()
