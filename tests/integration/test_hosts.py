"""Slices of real hosts over ssh: every host has its own address, name, processes, folders and sshd (tests/lib/netlab.py)."""
import os
import pathlib
import re
import shutil
import time
import unittest

import lab
import netlab

MESH = {"data": 4, "model": 2}
WARM = ["tiny", "collective"]
# As tiny they run on each host by itself, which is test_jax.py's; here it is about what lies between hosts.
ALONE = ["--leave-out", "dense", "--leave-out", "adamw"]


class OverSsh(netlab.NetLabTest):
    def all_passed(self, receipt, hosts):
        self.assertEqual("passed", receipt["outcome"])
        self.assertEqual([(f"h{number}", "passed") for number in range(hosts)],
                         [(host["host"], host["outcome"]) for host in receipt["hosts"]])
        self.assertEqual({"proved"}, {item["proof"] for item in receipt["reductions"]})
        names = {host["host"]: host["facts"]["hostname"] for host in receipt["hosts"]}
        self.assertEqual({f"h{number}": f"h{number}" for number in range(hosts)}, names, "a worker ran on another host")


class Plain(OverSsh):
    def bundles(self, host):
        """Every bundle on a host, with the time at which it was put there."""
        return [(path.name, path.stat().st_mtime_ns) for path in sorted(host.path(f"{netlab.DIRECTORY}/bundles").glob("*"))]

    def test_eight_hosts_climb_the_plain_ladder_to_the_top(self):
        began = time.monotonic()
        ended = self.passes(self.lab.sliceup("run", self.lab.slice()))
        first_s = time.monotonic() - began
        self.assertIn("3 of 3 rungs passed on h[0-7]", ended.out)
        self.all_passed(self.lab.receipt(), 8)
        self.nothing_is_left()
        before = {host.name: self.bundles(host) for host in self.lab.hosts}
        self.assertEqual({1}, {len(found) for found in before.values()}, before)

        began = time.monotonic()
        self.passes(self.lab.sliceup("run", self.lab.slice()))
        print(f"    with upload {first_s:.1f} s, without {time.monotonic() - began:.1f} s")
        self.assertEqual(before, {host.name: self.bundles(host) for host in self.lab.hosts}, "a bundle travelled again")
        self.nothing_is_left()

    def test_workers_outlive_the_connections_that_brought_them(self):
        rung = {"id": "slow", "command": ["sleep", "9"], "timeout": "60s"}
        run = self.lab.start("run", self.lab.slice(ladder=str(self.lab.ladder("slow.yaml", [rung]))))
        lab.wait_for(lambda: self.lab.count("pass-began") and all(host.programs() for host in self.lab.hosts),
                     "the program on every host", 90)
        lab.wait_for(lambda: not any(host.sessions() for host in self.lab.hosts), "the ssh sessions to be gone", 10)
        lab.wait_for(lambda: sorted(self.lab.node_processes()) == [run.process.pid], "the couriers to be gone", 20)
        self.assertTrue(all(host.programs() for host in self.lab.hosts), "the programs ended before that was seen")
        self.passes(run.end(90))
        self.nothing_is_left()

    def test_a_host_that_is_off_delays_nobody_and_is_named(self):
        dead = self.lab["h5"]
        dead.power_off()
        try:
            path = self.lab.slice(start={"directory": netlab.DIRECTORY, "deadline": "5s"}, limits={"join": "12s"})
            ended = self.lab.sliceup("run", path, bound_s=60)
        finally:
            dead.begin()
            dead.link()
            dead.up()
        self.assertEqual(3, ended.status, ended)
        sentence = self.lab.receipt()["headers"][0]["sentence"]
        self.assertRegex(sentence, r"\bh5 blocked: .*connect")
        self.assertEqual(7, self.lab.count("host-joined"))
        self.nothing_is_left()

    def test_a_host_key_that_is_not_the_known_one_is_refused(self):
        known = (self.lab.root / "known_hosts").read_text().splitlines()
        swapped = [line.replace(line.split()[2], known[0].split()[2]) if line.startswith("h2,") else line for line in known]
        self.lab.write("known_hosts", "\n".join(swapped) + "\n")
        before = self.accepted("h2")
        ssh = {"user": "root", "identities": [str(self.lab.root / "user_key")], "agent": False,
               "known_hosts": str(self.lab.files / "known_hosts")}
        ended = self.lab.sliceup("run", self.lab.slice(hosts=["h0", "h2"], ssh=ssh, limits={"join": "20s"}), bound_s=60)
        self.assertEqual(3, ended.status, ended)
        self.assertRegex(self.lab.receipt()["headers"][0]["sentence"], r"\bh2 blocked: .*host.key")
        self.assertEqual(before, self.accepted("h2"), "a user's key was shown to a host that is not the known one")
        self.nothing_is_left()

    def test_one_machine_under_two_addresses_is_not_two_hosts(self):
        """Both networks of a machine in a hosts file: nothing is proved over it."""
        again = self.lab["h0"].address + "0"
        host = self.lab["h0"]
        host.run("ip", "addr", "add", f"{again}/24", "dev", "eth0")
        self.addCleanup(host.run, "ip", "addr", "del", f"{again}/24", "dev", "eth0")
        host.run("sh", "-c", f"sed 's/^ListenAddress.*/ListenAddress {again}/' /run/lab/sshd_config > /run/lab/twice && /usr/sbin/sshd -f /run/lab/twice")
        known = (self.lab.root / "known_hosts").read_text()
        both = self.lab.write("known_hosts", known.replace(f"h0,{host.address} ", f"h0,{host.address},{again} "))
        ssh = {"user": "root", "identities": [str(self.lab.root / "user_key")], "agent": False, "known_hosts": str(both)}
        hosts = [{"name": name, "address": address} for name, address in (("a", host.address), ("b", again), ("h1", self.lab["h1"].address))]
        ended = self.lab.sliceup("run", self.twice(hosts, ssh), bound_s=90)
        self.assertEqual(1, ended.status, ended)
        receipt = self.lab.receipt()
        cause = self.attempt(receipt, "b", "host-facts")["cause"]
        self.assertEqual("launch", cause["owner"])
        self.assertIn(f"a and b are one machine: the same boot and name (h0), at {host.address} and {again}", cause["text"])
        self.assertIn("-x b", cause["next"])
        self.assertEqual([], receipt["reductions"])
        self.nothing_is_left()

    def twice(self, hosts, ssh):
        settings = {"slice": "twice", "launcher": "ssh", "profile": "plain", "ladder": "plain", "hosts": hosts, "ssh": ssh,
                    "start": {"directory": netlab.DIRECTORY, "deadline": "60s"}, "coordinator": {"address": netlab.NODE},
                    "cache": {"mode": "off"}, "limits": netlab.LIMITS}
        return self.lab.write_settings("twice.yaml", settings)

    def accepted(self, name):
        """How often this host's sshd was shown a user's key."""
        return len(re.findall(r"(?i)publickey|user root", (self.lab[name].folder / "sshd.log").read_text()))

    def test_a_network_that_loses_packets_is_only_slower(self):
        for host in self.lab.hosts:
            host.lossy(3)
        self.passes(self.lab.sliceup("run", self.lab.slice()))
        self.all_passed(self.lab.receipt(), 8)
        self.nothing_is_left()


class Configured(OverSsh):
    """The slice file names aliases that only ~/.ssh/config of the user knows."""
    COUNT = 3
    BLOCKS = """Host one two
    IdentityFile ~/.ssh/lab_key
    UserKnownHostsFile {home}/.ssh/lab_known_hosts
    StrictHostKeyChecking no
Host one
    HostName 10.77.0.10
    Port 2222
    User nobody
    HostKeyAlias=compute.75
Host two
    HostName 10.77.0.11
"""

    def home(self, config, known_names):
        """A user's home with this configuration; known_names: under which name the key of a host is known."""
        home = self.lab.root / f"user.{self._testMethodName}"
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh/config").write_text(config.replace("{home}", str(home)))       # ssh takes ~ from the password file
        shutil.copy(self.lab.root / "user_key", home / ".ssh/lab_key")
        (home / ".ssh/lab_known_hosts").write_text("".join(
            f"{known} {' '.join(self.lab[host].public_key.split()[:2])}\n" for host, known in known_names.items()))
        return self.lab.env(HOME=str(home))

    def slice(self):
        return self.lab.write_settings("slice.yaml", {
            "slice": "aliases", "launcher": "ssh", "profile": "plain", "ladder": "plain",
            "hosts": [{"name": name, "address": self.lab[host].address} for name, host in (("one", "h0"), ("two", "h1"))],
            "ssh": {"config": True, "agent": False}, "coordinator": {"address": netlab.NODE}, "cache": {"mode": "off"},
            "start": {"directory": f"/var/tmp/{self._testMethodName}"}, "limits": netlab.LIMITS})

    def entered(self, host, user):
        return len(re.findall(f"Accepted publickey for {user} from", (self.lab[host].folder / "sshd.log").read_text()))

    def test_aliases_are_reached_as_the_configuration_says(self):
        self.lab["h0"].run("/usr/sbin/sshd", "-f", "/run/lab/sshd_config", "-p", "2222", "-E", "/run/lab/second.log")
        env = self.home(self.BLOCKS, {"h0": "compute.75", "h1": "10.77.0.11"})
        checked = self.passes(self.lab.sliceup("check", self.slice(), env=env))
        self.assertIn("  one: ssh nobody@10.77.0.10:2222; ~/.ssh/config gives address, port, user, key alias, known hosts, keys\n",
                      checked.out)
        self.assertIn("  two: ssh 10.77.0.11; ~/.ssh/config gives address, known hosts, keys\n", checked.out)
        self.assertRegex(checked.err, r"config: warning: StrictHostKeyChecking 'false' is ignored")
        ended = self.passes(self.lab.sliceup("run", self.slice(), env=env))
        self.assertIn("3 of 3 rungs passed on one,two", ended.out)
        self.assertIn("Accepted publickey for nobody from", self.lab["h0"].path("/run/lab/second.log").read_text())
        self.nothing_is_left()

    def test_the_jump_host_has_its_own_block(self):
        before = self.entered("h2", "root")
        env = self.home("Host two one\n ProxyJump hop\nHost hop\n HostName 10.77.0.12\n User root\nHost one\n HostName 10.77.0.10\n"
                        "Host two\n HostName 10.77.0.11\nHost *\n IdentityFile %d/.ssh/lab_key\n UserKnownHostsFile {home}/.ssh/lab_known_hosts\n",
                        {f"h{number}": f"10.77.0.1{number}" for number in range(3)})
        checked = self.passes(self.lab.sliceup("check", self.slice(), env=env))
        self.assertRegex(checked.out, r"ssh 10\.77\.0\..* via root@10\.77\.0\.12:22; ~/\.ssh/config gives address, jump host, known hosts, keys\n")
        self.passes(self.lab.sliceup("run", self.slice(), env=env))
        self.assertEqual(before + 2, self.entered("h2", "root"), "not each host was reached through the jump host")
        self.nothing_is_left()

    def test_a_host_behind_a_command_is_reached_by_it(self):
        before = self.entered("h2", "root")
        blocks = ("Host *\n User root\n IdentityFile %d/.ssh/lab_key\n UserKnownHostsFile {home}/.ssh/lab_known_hosts\nHost hop\n"
                  " HostName 10.77.0.12\nHost one\n HostName 10.77.0.10\nHost two\n HostName 10.77.0.11\n ProxyCommand ")
        known = {f"h{number}": f"10.77.0.1{number}" for number in range(3)}
        env = self.home(blocks + "ssh -F {home}/.ssh/config -i {home}/.ssh/lab_key -q -W %h:%p hop\n", known)
        checked = self.passes(self.lab.sliceup("check", self.slice(), env=env))
        self.assertRegex(checked.out, r"  two: ssh 10\.77\.0\.11; .*; reached by the command of ~/\.ssh/config: ssh -F \S* -i \S* -q -W 10\.77\.0\.11:22 hop\n")
        self.passes(self.lab.sliceup("run", self.slice(), env=env))
        self.assertEqual(before + 1, self.entered("h2", "root"))
        self.nothing_is_left()
        (pathlib.Path(env["HOME"]) / ".ssh/config").write_text(
            f"{blocks}sh -c 'echo no credentials of $CLOUD_OF_MINE >&2; exit 7'\n".replace("{home}", env["HOME"]))
        said = "its ProxyCommand ended with 7 before the ssh server was reached; its last output: no credentials of mine"
        for words in (("run", self.slice(), "--plain"), ("exec", "--slice", self.slice(), "-w", "two", "--", "true")):
            ended = self.lab.sliceup(*words, env={**env, "CLOUD_OF_MINE": "mine"})
            self.assertEqual(3, ended.status, ended)
            self.assertIn(said, ended.out + ended.err)
        self.nothing_is_left()

    def test_keys_that_a_block_asks_to_skip_are_collected_by_the_command_that_is_told(self):
        env = self.home("Host one two\n User root\n IdentityFile %d/.ssh/lab_key\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
                        " UserKnownHostsFile /dev/null\nHost one\n HostName 10.77.0.10\nHost two\n HostName 10.77.0.11\n", {})
        for words in (("run", self.slice(), "--plain"), ("exec", "--slice", self.slice(), "--", "true")):
            ended = self.lab.sliceup(*words, env=env)
            self.assertEqual(3, ended.status, ended)
            told = re.search(r"next: ~/\.ssh/config asks to skip the check of host keys, .*: (ssh-keyscan -p 22 -t ed25519 10\.77\.0\.10 10\.77\.0\.11 >> \S*)",
                             ended.out + ended.err)
            self.assertTrue(told, ended)
        self.lab.node_run("sh", "-c", told[1])
        self.passes(self.lab.sliceup("run", self.slice(), env=env))
        self.nothing_is_left()

    def test_a_host_may_be_written_with_its_user(self):
        env = self.home("Host *\n IdentityFile %d/.ssh/lab_key\n UserKnownHostsFile {home}/.ssh/lab_known_hosts\n",
                        {f"h{number}": f"10.77.0.1{number},h{number}" for number in range(3)})
        before = self.entered("h0", "nobody")
        (self.lab.files / "hosts").write_text("nobody@h0  # a file\n")
        for hosts in ("nobody@h0,root@h1", ["nobody@h0", {"name": "root@h1"}], [{"from": "file", "file": "hosts"}, "h1"]):
            settings = {"slice": "users", "launcher": "ssh", "profile": "plain", "ladder": "plain", "hosts": hosts,
                        "ssh": {"config": True, "user": "root"}, "coordinator": {"address": netlab.NODE}, "cache": {"mode": "off"},
                        "start": {"directory": f"/var/tmp/{self._testMethodName}"}, "limits": netlab.LIMITS}
            ended = self.passes(self.lab.sliceup("run", self.lab.write_settings("users.yaml", settings), env=env))
            self.assertIn("3 of 3 rungs passed on h[0-1]", ended.out)
        self.assertEqual(before + 3, self.entered("h0", "nobody"))
        self.assertIn("nobody\n", self.lab.sliceup("exec", "-w", "nobody@h0", "--user", "root", "--", "id", "-un", env=env).out)
        path = self.lab.write_settings("users.yaml", {**settings, "start": {"directory": "/var/tmp/of_nobody"}})
        self.assertEqual("h1:\nnobody\n", self.lab.sliceup("exec", "--slice", path, "-w", "nobody@h1", "--", "id", "-un", env=env).out)
        self.nothing_is_left()


class Jax(OverSsh):
    """Real gloo collectives between hosts; the environment and the cache lie on storage that all hosts share."""
    COUNT = 4
    SHARED = (lab.SHARED_ENVS,)
    PATH = os.environ["PATH"]           # of the interpreter that the environment was built with

    @classmethod
    def setUpClass(cls):
        netlab.needs_root()
        lab.SHARED_ENVS.mkdir(parents=True, exist_ok=True)
        cls.build_environment()
        super().setUpClass()

    @classmethod
    def build_environment(cls):
        """Here, where there may be a package index; the hosts have no way to one. Built once, whichever test comes first."""
        local = lab.Lab()
        try:
            ladder = local.ladder("ladder.yaml", [{"id": "environment", "builtin": "restore", "timeout": "20m"}])
            ended = local.sliceup("run", local.slice(hosts=1, ladder=str(ladder), profile="cpu-jax", pins="jax-cpu",
                                                     env_dir=str(lab.SHARED_ENVS / "jax-cpu")), bound_s=800)
            if ended.status != 0:
                raise AssertionError(f"the environment could not be built: {ended}")
        finally:
            local.close()

    def test_the_jax_ladder_is_climbed_to_the_top_and_restored(self):
        cache = pathlib.Path(self.lab.files / "cache")
        path = self.lab.slice(ladder="jax", profile="cpu-jax", pins="jax-cpu", mesh=MESH,
                              env_dir=str(lab.SHARED_ENVS / "jax-cpu"), cache={"mode": "single-writer", "root": str(cache)},
                              limits={"suspect": "10s", "lost": "60s", "orphan": "60s", "exit": "120s"})
        for kind in ("cold", "restored"):
            began = time.monotonic()
            ended = self.passes(self.lab.sliceup("run", path, *ALONE, bound_s=400))
            print(f"    {kind} {time.monotonic() - began:.1f} s")
            self.assertIn("7 of 7 rungs passed on h[0-3]", ended.out)
            self.climbed(self.lab.receipt(), cold=kind == "cold")
            self.nothing_is_left()
        self.assertTrue(list(cache.rglob("gen-*")), "no generation was published below the shared root")

    def climbed(self, receipt, cold):
        self.all_passed(receipt, 4)
        for number in range(4):
            attempts = [item for item in self.rungs(receipt, f"h{number}") if item[0] in WARM]
            compiles = cold and number == 0 # the others take part in the gang's cold pass, too
            wanted = [(rung, kind, "passed") for rung in WARM for kind in ("cold", "restored")
                      if kind == "restored" or compiles or (cold and rung == "collective")]
            self.assertEqual(wanted, attempts)
            self.assertEqual("restored", self.attempt(receipt, f"h{number}", "collective")["cache"])


if __name__ == "__main__":
    unittest.main()
