"""`sliceup check` of slices on other machines: what it prints before anything is touched, and the guide's own examples."""
import hashlib
import re
import unittest

import lab

SSH = """slice: elsewhere
launcher: ssh
hosts:
  - v6e-[0-3]
  - {{name: v6e-4, address: 10.0.0.5, ssh: {{address: 34.1.2.3, port: 2222, user: tpu, jump: "me@bastion"}}}}
groups: {{spare: "v6e-[2-3]"}}
ssh: {{user: root}}
coordinator: {{address: 10.0.0.1, control_port: 7001}}
{more}profile: plain
cache: {{mode: off}}
ladder: plain
"""
REST = "profile: plain\ncache: {mode: off}\nladder: plain\n"


class Planning(lab.LabTest):
    def check(self, text, *args, **env):
        return self.lab.sliceup("check", self.lab.write("slice.yaml", text), *args, env=self.lab.env(**env))

    def test_the_way_to_every_host_is_printed_folded(self):
        ended = self.passes(self.check(SSH.format(more="")))
        self.assertIn("launch  ssh: starts at most 32 hosts at once, each within 1 min; files below /var/tmp/sliceup", ended.out)
        self.assertIn("a worker outlives the connection", ended.out)
        self.assertIn("  v6e-[0-3]: ssh root@v6e-[0-3]\n", ended.out)
        self.assertIn("  v6e-4: ssh tpu@34.1.2.3:2222 via me@bastion\n", ended.out)
        self.assertIn("listens at all addresses, control port 7001, bulk any free port", ended.out)
        self.assertIn("hosts reach it at 10.0.0.1, or else through its ssh connection\n", ended.out)

    def test_each_command_that_reaches_a_host_is_printed(self):
        home = self.lab.root / "user"
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "config").write_text("Host vm-[01]\n ProxyCommand one --way\nHost vm-*\n ProxyCommand to %h\n".replace("[01]", "0 vm-1"))
        ended = self.passes(self.check("slice: s\nlauncher: ssh\nhosts: vm-[0-19]\nssh: {config: true}\n" + REST, HOME=str(home)))
        self.assertIn("  vm-[0-1]: ssh vm-[0-1]; ~/.ssh/config gives command; reached by the command of ~/.ssh/config: one --way\n", ended.out)
        for host in (2, 3, 16):
            self.assertIn(f"  vm-{host}: ssh vm-{host}; ~/.ssh/config gives command; reached by the command of ~/.ssh/config: to vm-{host}\n", ended.out)
        self.assertIn("  ... hosts not shown: 3\n", ended.out)

    def test_no_secret_of_the_profile_is_printed(self):
        profile = self.lab.write("profile.yaml", "profile: p\nfrontend: plain\nbackend: cpu\ndevices_per_host: 1\n"
                                                 "env: {MY_TOKEN: tvalue, https_proxy: 'http://me:pvalue@proxy:8080', SHOWN: svalue}\n")
        ended = self.passes(self.check(f"slice: s\nhosts: h[0-1]\nprofile: {profile}\ncache: {{mode: off}}\nladder: plain\n"))
        self.assertNotRegex(ended.out + ended.err, "tvalue|pvalue")
        for shown in ("MY_TOKEN=present", "https_proxy=http://***@proxy:8080", "SHOWN=svalue"):
            self.assertIn(shown, ended.out)

    def test_other_launchers_say_how_they_start(self):
        local = self.passes(self.check(f"slice: s\nhosts: h[0-1]\n{REST}"))
        self.assertIn("launch  local: processes of this machine\n  listens at 127.0.0.1, control any free port", local.out)
        slurm = self.passes(self.check("slice: s\nlauncher: slurm\nhosts: {from: slurm}\n"
                                       f"slurm: {{partition: tpu, options: [--exclusive]}}\n{REST}",
                                       SLURM_JOB_NODELIST="tux[08-11]"))
        self.assertIn("tux11", slurm.out)
        self.assertIn("  srun --partition=tpu --exclusive, once for each host\n", slurm.out)
        self.assertIn("ends with the connection", slurm.out)
        join = self.passes(self.check("slice: s\nlauncher: join\nhosts: h[0-1]\n"
                                      f"coordinator: {{address: c, control_port: 1, bulk_port: 2}}\n{REST}"))
        self.assertIn("a service manager starts each worker", join.out)

    def test_the_cache_is_told_with_its_writers_and_what_each_rung_does(self):
        jax = "slice: s\nhosts: h[0-3]\nprofile: cpu-jax\npins: jax-cpu\nladder: {ladder}\ncache: {cache}\n"

        def check(cache, rungs=({"id": "tiny", "canary": "jax/tiny.py", "warm": "solo"},)):
            ladder = self.lab.ladder("ladder.yaml", list(rungs))
            return self.passes(self.check(jax.format(ladder=ladder, cache=cache)))
        aot = {"id": "ahead", "canary": "jax/tiny.py", "warm": "aot"}
        one = check('{writer: "h[2,1]", root: /c, enforcement: namespace, overlay: true, writable: [/out]}',
                    [aot, {"id": "tiny", "canary": "jax/tiny.py", "warm": "solo"}])
        self.assertIn("cache   single-writer, written by one of h2, h1, under /c, lease 15 s\n"
                      "  enforcement at least namespace; readers see the cache through an overlay\n  programs may write /out\n", one.out)
        self.assertRegex(one.out, r"1  cache +host +builtin +once +at most 1 min")
        self.assertRegex(one.out, r"2  ahead +host +canary +compiled ahead by the writer, restored on all +at most")
        self.assertRegex(one.out, r"3  tiny +host +canary +cold on the writer, restored on all +at most")
        own = check("{mode: per-host, enforcement: cooperative}")
        self.assertRegex(own.out, r"cache   per-host, under \S+/cache\n  enforcement at least cooperative \(by file modes only")
        self.assertIn("cold on each host, restored on all", own.out)
        reading = check("{mode: read-only}")
        self.assertIn("enforcement at least landlock\n", reading.out)
        self.assertIn("restored on all, read-only", reading.out)
        off = check("{mode: off}")
        self.assertIn("cache   off\nladder", off.out)
        self.assertRegex(off.out, r"1  tiny +host +canary +once ")

    def test_what_lies_behind_a_link_is_not_kept_from_programs_with_it(self):
        """The link and the file are; a folder of results beside the slice's is not."""
        real, link = self.lab.root / "real", self.lab.root / "link"
        for name in ("slice", "out"):
            (real / name).mkdir(parents=True)
        link.symlink_to(real)
        ladder = self.lab.ladder("ladder.yaml", [{"id": "tiny", "canary": "jax/tiny.py", "warm": "solo"}])
        (real / "slice" / "slice.yaml").write_text(f"slice: s\nhosts: h0\nprofile: cpu-jax\npins: jax-cpu\nladder: {ladder}\n"
                                                   f"cache: {{root: /c, writer: h0, writable: [{link}/out, {real}/out]}}\n")
        for named in (link / "slice" / "slice.yaml", link / "out" / ".." / "slice" / "slice.yaml"):
            told = self.passes(self.lab.sliceup("check", named)).out
            kept = next(line for line in told.splitlines() if "the files of sliceup: " in line).split("sliceup: ")[1].split(", ")
            self.assertIn(f"{real}/slice/slice.yaml", kept)
            self.assertFalse({str(link), str(real)} & set(kept), kept)
        self.assertIn(f"{link}/slice/slice.yaml", self.lab.sliceup("check", link / "slice" / "slice.yaml").out)

    def test_hosts_are_left_out_on_the_command_line(self):
        ended = self.passes(self.check(SSH.format(more=""), "--hosts", "v6e-[0-3]", "--exclude", "@spare"))
        self.assertIn("hosts   2\n", ended.out)
        self.assertIn("  v6e-[0-1]: ssh root@v6e-[0-1]\n", ended.out)
        self.assertNotIn("v6e-2", ended.out)
        ended = self.check(SSH.format(more="mesh: {data: 5, model: 2}\n"), "--exclude=v6e-4")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("a mesh of {data: 4, model: 2} would fit", ended.err)
        ended = self.check(SSH.format(more=""), "--hosts", "v6e-9")
        self.assertEqual(2, ended.status, ended)
        self.assertIn("--hosts: the hosts 'v6e-9' are not in this slice, expected hosts of 'v6e-[0-4]'", ended.err)

    def test_what_the_environment_does_not_say_is_a_mistake_in_place(self):
        ended = self.check(f"slice: s\nlauncher: slurm\nhosts: {{from: slurm}}\n{REST}")
        self.assertEqual(2, ended.status, ended)
        self.assertRegex(ended.err, r"slice\.yaml:3:15: from: slurm: .*SLURM_JOB_NODELIST")

    def test_a_slice_on_standard_input_names_files_of_the_working_folder(self):
        self.lab.write("own.yaml", "ladder: own\nrungs:\n  - {id: says, command: [echo, hello]}\n")
        text = "slice: piped\nhosts: h[0-1]\nprofile: plain\ncache: {mode: off}\nladder: ./own.yaml\n"
        checked = self.passes(self.lab.sliceup("check", "-", told=text, cwd=self.lab.files))
        self.assertIn("slice   piped (-)\n", checked.out)
        self.assertIn("says", checked.out)
        elsewhere = self.lab.sliceup("check", "-", told=text, cwd=self.lab.root)
        self.assertEqual(2, elsewhere.status, elsewhere)
        self.assertIn(f"-:5:9: ladder './own.yaml' does not exist, expected the file {self.lab.root}/own.yaml", elsewhere.err)
        self.passes(self.lab.sliceup("run", "-", "--exclude", "h1", told=text, cwd=self.lab.files))
        receipt = self.lab.receipt()
        self.assertEqual(("piped", "passed"), (receipt["slice"], receipt["outcome"]))
        self.assertIn("hello", self.lab.sliceup("logs", "--rung", "says").out)
        blocked = self.lab.sliceup("check", "-", "--exclude", "h[0-1]", told=text, cwd=self.lab.files)
        self.assertEqual(2, blocked.status, blocked)
        self.assertIn("-:2:8: the slice has no hosts left", blocked.err)

    def test_nothing_is_said_of_devices_where_there_are_none(self):
        rungs = [{"id": "says", "command": ["echo"]}]
        for more, wanted in (({}, False), ({"profile": "cpu-jax"}, True)):
            told = self.passes(self.lab.sliceup("check", self.lab.slice(ladder=str(self.lab.ladder("own.yaml", rungs)), **more)))
            for word in ("device", "mesh"):
                self.assertEqual(wanted, word in told.out, told.out)

    def test_wheels_lie_beside_the_slice_file(self):
        wheel = self.lab.files / "wheels" / "tiny-1.0-py3-none-any.whl"
        wheel.parent.mkdir()
        wheel.write_bytes(b"any")
        pins = self.lab.write("pins.txt", f"tiny==1.0 --hash=sha256:{hashlib.sha256(b'any').hexdigest()}\n")
        for folder, status in ((wheel.parent, 0), ("./wheels", 0), ("./wheels/../wheels", 0), ("./", 2), ("wheels", 2)):
            ended = self.check(f"slice: s\nhosts: h0\n{REST}pins: {{file: {pins}, wheels: {folder}}}\n")
            self.assertEqual(status, ended.status, ended)
        self.assertIn("expected a path of this machine: absolute, or beginning with ~/ or ./", ended.err)
        wheel.rename(self.lab.files / wheel.name)
        self.passes(self.check(f"slice: s\nhosts: h0\n{REST}pins: {{file: {pins}, wheels: ./}}\n"))

    def test_home_is_that_of_the_user(self):
        missing = SSH.format(more="").replace("user: root", "identities: [~/none]")
        ended = self.check(missing, HOME=str(self.lab.files))
        self.assertEqual(2, ended.status, ended)
        self.assertIn(f"'{self.lab.files}/none' cannot be read on this machine: No such file", ended.err)

    def test_every_example_of_the_guide_is_accepted(self):
        guide = (lab.TOP / "docs" / "guide" / "ssh.md").read_text()
        blocks = re.findall(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 4)
        for block in blocks:
            with self.subTest(block):
                whole = "" if block.startswith("slice:") else "slice: s\nlauncher: ssh\n" + REST
                hosts = "" if re.search(r"^hosts:", block, re.MULTILINE) else "hosts: node-[0-3]\n"
                self.passes(self.check(whole + hosts + block))


if __name__ == "__main__":
    unittest.main()
