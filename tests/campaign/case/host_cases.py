"""host_cases.py - hosts that are one machine, have one number, do not reach each other, or are taken away."""
import time

import lab
from caselib import Case

CLOSED = ("nft flush ruleset; nft add table inet f; nft 'add chain inet f i {{ type filter hook input priority 0; }}'; "
          "nft add rule inet f i ct state established,related accept; nft add rule inet f i iif lo accept; "
          "nft add rule inet f i ip saddr 10.77.0.1 accept; nft 'add rule inet f i tcp dport {{ 22, {open} }} accept'; nft add rule inet f i {how}")
# As a framework's rendezvous: rank 0 listens, the others connect to it and give up.
MEET = """import os, socket
rank, first = int(os.environ["SLICEUP_RANK"]), os.environ["SLICEUP_ADDRESSES"].split(",")[0]
if rank == 0:
    server = socket.create_server((first, 29500))
    server.settimeout(8)
    for each in range(int(os.environ["SLICEUP_WORLD"]) - 1):
        server.accept()
else:
    socket.create_connection((first, 29500), timeout=4)
"""


def closed(s, host, how, ports=8470):
    s[host].run("sh", "-c", CLOSED.format(how=how, open=ports))


def ways(s, **args):
    rungs = {"id": "ways", "builtin": "ways", **({"args": args} if args else {})}, {"id": "work", "command": ["true"], "scope": "slice"}
    s.sliceup("run", s.slice(ladder=s.ladder(*rungs)), "--plain")


def rank_0_closed(s, how, **args):
    closed(s, "h0", how, ports="8476" if args else 8470)
    ways(s, **args)


def one_pair_closed(s):
    s["h1"].run("sh", "-c", "nft add table inet f; nft 'add chain inet f i { type filter hook input priority 0; }'; nft add rule inet f i ip saddr 10.77.0.12 drop")
    ways(s)


def all_closed(s):
    for host in s.net.hosts:
        closed(s, host.name, "drop")
    ways(s)


def port_taken(s):
    s["h1"].run("sh", "-c", "python3 -m http.server 8471 >/dev/null 2>&1 &")
    lab.wait_for(lambda: ":2117 00000000:0000 0A" in s["h1"].run("cat", "/proc/net/tcp").stdout, "port 8471 to be taken", 20)
    ways(s, ports=[8476, 8471])


def name_leads_astray(s):
    """On h2 the name of h0 is that of h1."""
    names = "10.77.0.11 h0\n10.77.0.11 h1\n10.77.0.12 h2\n"
    s["h2"].run("sh", "-c", f"printf '{names}' >/etc/hosts")
    for host in ("h0", "h1"):
        s[host].run("sh", "-c", f"printf '{names.replace('10.77.0.11 h0', '10.77.0.10 h0')}' >/etc/hosts")
    rungs = {"id": "ways", "builtin": "ways"}, {"id": "work", "command": ["true"], "scope": "slice"}
    s.sliceup("run", s.slice(hosts="h[0-2]", ladder=s.ladder(*rungs)), "--plain")


def closed_without_the_rung(s):
    closed(s, "h0", "drop")
    s.write("meet.py", MEET)
    s.sliceup("run", s.slice(ladder=s.ladder({"id": "train", "command": ["python3", "./meet.py"], "scope": "slice", "timeout": "30s"})), "--plain")


def one_number_twice(s, **profile):
    """Two hosts have one process id, as a job that was started by hand in two terminals."""
    text = {"profile": "own", "frontend": "plain", "backend": "cpu", "devices_per_host": 2, **profile}
    own = s.yaml("own.yaml", text)
    rungs = {"id": "host-facts", "builtin": "facts"}, {"id": "train", "command": ["sh", "-c", "echo began"], "scope": "slice"}
    s.sliceup("run", s.slice(profile=own, ladder=s.ladder(*rungs)), "--plain")


def inherited_twice(s):
    for host, number in zip(s.net.hosts, (0, 1, 1)):
        s.net.variables = f" SLURM_PROCID={number}"
        host.reboot()
    one_number_twice(s, inherit=["SLURM_PROCID"])


def one_machine_twice(s):
    """h0 has two addresses, and the slice file has both."""
    s["h0"].run("ip", "addr", "add", "10.77.0.110/24", "dev", "eth0")
    s["h0"].run("sh", "-c", "sed 's/^ListenAddress.*/ListenAddress 10.77.0.110/' /run/lab/sshd_config >/run/lab/second; "
                            "/usr/sbin/sshd -f /run/lab/second")
    known = s.net.root / "known_hosts"
    known.write_text(known.read_text() + f"10.77.0.110 {' '.join(s['h0'].public_key.split()[:2])}\n")
    hosts = [{"name": "a", "address": "10.77.0.10"}, {"name": "b", "address": "10.77.0.110"}, {"name": "h1", "address": "10.77.0.11"}]
    s.sliceup("run", s.slice(hosts=hosts), "--plain")


def preempted(s, after_s, scope):
    """All of a machine's processes get SIGTERM, and the machine goes off."""
    path = s.slice(ladder=s.ladder({"id": "work", "command": ["sleep", "12"], "scope": scope}))
    said = s.net.start("--plain", "run", path)
    lab.wait_for(lambda: all(["sleep", "12"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    time.sleep(after_s)
    s["h2"].run("sh", "-c", "for p in $(ls /proc | grep -E '^[0-9]+$'); do [ $p -gt 2 ] && [ $p != $$ ] && kill -TERM $p 2>/dev/null; done; true",
                check=False)
    lab.wait_for(lambda: not s["h2"].workers(), "its worker to have ended", 20)
    s["h2"].power_off()
    said.end(90)
    s.note(said.out)


PLATFORM, UNKNOWN = r"whose: the platform", r"whose: not known|isolated|run by themselves"
TERMINATED = (r"h2 lost: something outside ended its worker \(stopped: told to end by SIGTERM\)", PLATFORM, r"next: .*ssh .*10\.77\.0\.12 last -x")
def port_of_the_profile(s):
    """The profile says which port the job will use: nobody has to say it again, and the rung before does not keep it."""
    for host in s.net.hosts[:1]:
        host.run("sh", "-c", CLOSED.format(open="8476", how="drop"))
    hello = "import os, socket; rank = int(os.environ['RANK']); at = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])); " \
            "print(socket.create_server(at) if rank == 0 else at)"
    rungs = {"id": "ways", "builtin": "ways"}, {"id": "work", "command": ["python3", "-c", hello], "scope": "slice"}
    s.sliceup("run", s.slice(ladder=s.ladder(*rungs), profile="torchrun"), "--plain")
    s["h0"].run("nft", "flush", "ruleset")
    s.sliceup("run", s.slice(ladder=s.ladder(*rungs), profile="torchrun"), "--plain")


CASES = {
    "peers-firewalled": Case(lambda s: rank_0_closed(s, "drop"),
                             (r"h0 failed: h\[1-2\] do not reach h0 at 10\.77\.0\.10:\d+ \(no answer\)", PLATFORM, r"next: ssh .*10\.77\.0\.10 nft list ruleset"),
                             (UNKNOWN, r"h\[1-2\] failed"), 3, {"run": 6}),
    "peers-rejected": Case(lambda s: rank_0_closed(s, "reject with tcp reset"), (r"h0 failed: h\[1-2\] do not reach h0 .*\(refused\)",), (UNKNOWN,), 3, {"run": 6}),
    "peers-open-port": Case(lambda s: rank_0_closed(s, "drop", ports=[8476]), (r"ways: 3 passed", r"ended: passed"), (r"failed",), 3),
    "peers-one-pair": Case(one_pair_closed, (r"h2 failed: does not reach h1 at 10\.77\.0\.11:\d+ \(no answer\)",), (UNKNOWN, r"h0 failed"), 3),
    "peers-all-closed": Case(all_closed, (r"h\[0-2\] failed: hosts do not reach each other", PLATFORM), (UNKNOWN,), 3),
    "peers-port-taken": Case(port_taken, (r"h1 failed: cannot listen at port 8471.*ss -ltnp 'sport = :8471' names the process.*Address already in use", r"h\[0,2\] cascade"), (UNKNOWN,), 3),
    "peers-wrong-name": Case(name_leads_astray, (r"h2 failed: does not reach h0 at h0:\d+ \(h1 answers there\)", r"whose: how it was launched"), (UNKNOWN,), 3),
    "peers-firewalled-torchrun": Case(port_of_the_profile, (r"h\[1-2\].* h0 .*10\.77\.0\.10:29500", r"ended: passed"), (), 3),
    "peers-firewalled-no-rung": Case(closed_without_the_rung, (r"h\[1-2\] failed: .*does not reach h0 at 10\.77\.0\.10:\d+ \(no answer", PLATFORM), (UNKNOWN,), 3),
    "duplicate-process-id": Case(inherited_twice, (r"h\[1-2\] failed: has SLURM_PROCID 1, and so have h\[1-2\] all", r"whose: how it was launched"),
                                 (r"train attempt",), 3),
    "duplicate-process-id-set": Case(lambda s: one_number_twice(s, env={"RANK": "0"}), (r"h\[0-1\] failed: has RANK 0",), (r"train attempt",), 2),
    "process-id-of-each": Case(lambda s: one_number_twice(s, env={"RANK": "{rank}"}), (r"ended: passed",), (), 2),
    "same-machine-twice": Case(one_machine_twice, (r"b failed: a and b are one machine", r"next: list it once \(-x b"), (r"proved over host",), 2),
    "preempted": Case(lambda s: preempted(s, 3, "host"), TERMINATED, (r"h2 cancelled", r"ended: cancelled"), 3),
    "preempted-at-once": Case(lambda s: preempted(s, 0, "slice"), TERMINATED, (r"h2 cancelled", r"ended: cancelled", r"the connection was lost"), 3),
}
