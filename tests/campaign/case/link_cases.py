"""link_cases.py - ways between the coordinator and its hosts."""
import lab
from caselib import Case

CLOSED = ("nft flush ruleset; nft add table inet f; nft 'add chain inet f i {{ type filter hook input priority 0; }}'; "
          "nft add rule inet f i iif lo accept; nft add rule inet f i ct state established,related accept; nft add rule inet f i {}")


def no_way_back(s, how, **coordinator):
    """Only ssh goes outwards, as from a laptop behind NAT or a firewall."""
    s.node(CLOSED.format(how))
    s.sliceup("run", s.slice(**({"coordinator": coordinator} if coordinator else {})), "--plain")
    s.note(f"left running: {s.net.left_running()}")


def carried_and_cut(s):
    """The connection that carries the link dies, and so does its courier, while the rung runs."""
    s.node(CLOSED.format("drop"))
    path = s.slice(ladder=s.ladder({"id": "work", "command": ["sh", "-c", "sleep 20; echo done"]}))
    said = s.net.start("--plain", "run", path)
    lab.wait_for(lambda: all(["sleep", "20"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    courier = next(pid for pid, words in s.net.node_processes().items() if "host h1 over ssh" in words[0])
    lab.end_by_pid(courier)
    for pid in s["h0"].sessions():
        s["h0"].kill(pid)
    said.end(90)
    s.note(said.out)
    s.note(f"left running: {s.net.left_running()}")


def carried_and_forgotten(s):
    """NAT forgets the connections: what is sent on them is lost, and nobody is told. New ones are made."""
    s.node(CLOSED.format("drop"))
    path = s.slice(ladder=s.ladder({"id": "work", "command": ["sh", "-c", "sleep 45; echo done"], "timeout": "90s"}))
    said = s.net.start("--plain", "run", path)
    lab.wait_for(lambda: all(["sleep", "45"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    s.node("nft 'add chain inet f o { type filter hook output priority 0; }'; for p in $(ss -tnH dport = :22 | sed 's/.*10.77.0.1:\\([0-9]*\\) .*/\\1/'); do "
           "nft insert rule inet f i tcp dport $p drop; nft add rule inet f o tcp sport $p drop; done; nft list ruleset")
    said.end(120)
    s.note(said.out)


def no_ipv6(s):
    """A machine whose IPv6 is switched off, as hardened images have it."""
    s.node("sysctl -qw net.ipv6.conf.all.disable_ipv6=1; ip -6 addr")
    s.sliceup("run", s.slice(), "--plain")
    s.sliceup("run", s.slice(coordinator={"reach": "ssh"}), "--plain")


def carried_and_resumed(s):
    """The coordinator is killed, and its couriers with it; another one goes on."""
    s.node(CLOSED.format("reject"))
    path = s.slice(ladder=s.ladder({"id": "work", "command": ["sh", "-c", "sleep 15; echo done"]}, {"id": "more", "command": ["echo", "more"]}))
    said = s.net.start("--plain", "run", path)
    lab.wait_for(lambda: all(["sleep", "15"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    for pid in s.net.node_processes():
        lab.end_by_pid(pid)
    said.end(10)
    s.sliceup("--plain", "resume")
    s.note(f"left running: {s.net.left_running()}")


def asked_for(s):
    """The link is carried though the hosts could reach the coordinator, which nothing else may then."""
    said = s.net.start("--plain", "run", s.slice(coordinator={"reach": "ssh"}, ladder=s.ladder({"id": "work", "command": ["sleep", "5"]})))
    lab.wait_for(lambda: all(["sleep", "5"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    s.node("ss -tn state established")
    said.end(60)
    s.note(said.out)


def no_way_back_with_a_jump(s):
    """h0 is the way to the others, and nobody reaches the coordinator."""
    s.node(CLOSED.format("drop"))
    hosts = [{"name": host.name, "address": host.address} for host in s.net.hosts[1:]]
    s.sliceup("run", s.slice(hosts=hosts, ssh={"user": "root", "identities": [str(s.net.root / "user_key")], "agent": False, "jump": "root@h0",
                                               "known_hosts": str(s.net.root / "known_hosts")}), "--plain")
    s.note(f"left running: {s.net.left_running()}")


def ipv6_only(s):
    """Hosts that have no IPv4, and a slice file that says nothing of it."""
    s.node("ip -6 addr add fd77::1/64 dev bridge nodad")
    s.net.variables = "\nListenAddress ::"
    for number, host in enumerate(s.net.hosts):
        host.reboot()
        host.run("sh", "-c", f"ip -6 addr add fd77::1{number}/64 dev eth0 nodad; ip -4 addr flush dev eth0")
    known = "".join(f"fd77::1{number} {' '.join(host.public_key.split()[:2])}\n" for number, host in enumerate(s.net.hosts))
    (s.net.root / "known_hosts").write_text(known)
    hosts = [{"name": host.name, "address": f"fd77::1{number}"} for number, host in enumerate(s.net.hosts)]
    s.sliceup("run", s.slice(hosts=hosts), "--plain")
    s.note(f"left running: {s.net.left_running()}")


def refused_forwarding(s):
    for host in s.net.hosts:
        s.net.variables = "\nPermitListen none" if host.name == "h0" else "\nAllowTcpForwarding no"
        host.reboot()
    no_way_back(s, "reject")


CASES = {
    "no-way-back": Case(lambda s: no_way_back(s, "reject"), (r"ended: passed", r"h\[0-1\].*cannot reach.*refused", r"left running: \{\}"),
                        (r"did not join",), 2, {"run": 30}),
    "no-way-back-dropped": Case(lambda s: no_way_back(s, "drop"), (r"ended: passed", r"h\[0-1\].*cannot reach.*no answer", r"left running: \{\}"),
                                (r"did not join",), 2, {"run": 40}),
    "no-way-back-direct": Case(lambda s: no_way_back(s, "drop", reach="direct"),
                               (r"h\[0-1\] .*cannot reach this machine at 10\.77\.0\.1:\d+: no answer", r"whose: .*launch", r"next: .*reach: auto.*control_port", r"left running: \{\}"),
                               (r"did not join",), 2, {"run": 20}),
    "no-forwarding": Case(refused_forwarding, (r"h\[0-1\].*cannot reach .*10\.77\.0\.1:\d+", r"next: set AllowTcpForwarding yes, PermitListen any", r"left running: \{\}"),
                          (r"did not join",), 2, {"run": 20}),
    "carried-and-forgotten": Case(carried_and_forgotten, (r"tcp sport \d+ drop", r"ended: passed"), (r"lost",), 2, long=True),
    "no-ipv6": Case(no_ipv6, (r"ended: passed.*ended: passed",), (), 2, {"run": 30}),
    "carried-and-resumed": Case(carried_and_resumed, (r"ended: passed", r"left running: \{\}"), (r"lost",), 2, {"--plain resume": 40}),
    "reach-ssh": Case(asked_for, (r"ended: passed", r"10\.77\.0\.1:\d+ 10\.77\.0\.1[01]:22"), (r"10\.77\.0\.1[01]:(?!22\b)", "cannot reach"), 2),
    "no-way-back-jump": Case(no_way_back_with_a_jump, (r"ended: passed", r"left running: \{\}"), (r"did not join",), 3, {"run": 30}),
    "ipv6-default-listen": Case(ipv6_only, (r"ended: passed", r"left running: \{\}"), (r"cannot reach",), 2, {"run": 30}),
    "carried-and-cut": Case(carried_and_cut, (r"ended: passed", r"left running: \{\}"), (r"lost",), 2, long=True),
}
