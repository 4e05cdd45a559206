"""ssh_cases.py - ssh as people have it: agents with many keys, and the blocks that gcloud, SkyPilot and years of habit put into ~/.ssh/config."""
import lab
import sshd
from caselib import Case
from link_cases import CLOSED

# What `gcloud compute start-iap-tunnel HOST PORT --listen-on-stdin` is to ssh.
TUNNEL = """#!/usr/bin/env python3
import os, select, socket, sys
words = sys.argv[1:]
if words[:2] != ["compute", "start-iap-tunnel"] or "--listen-on-stdin" not in words:
    sys.exit("ERROR: (gcloud) Invalid choice")
if not os.environ.get("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"):
    sys.exit("ERROR: (gcloud.compute.start-iap-tunnel) You do not currently have an active account selected.")
link = socket.create_connection((words[2], int(words[3])))
while True:
    for end in select.select([0, link], [], [])[0]:
        piece = os.read(0, 65536) if end == 0 else link.recv(65536)
        if not piece:
            sys.exit(0)
        link.sendall(piece) if end == 0 else os.write(1, piece)
"""


def home(s, config, known=True):
    """A user's home with this ~/.ssh/config and the key of the lab; known: also with the hosts' keys."""
    folder = s.write("user/.ssh/config", config.replace("KEY", str(s.net.root / "user_key"))).parent
    if known:
        (folder / "known_hosts").write_text((s.net.root / "known_hosts").read_text())
    return s.env(HOME=str(folder.parent), PATH=f"{folder.parent}/bin:{s.env()['PATH']}")


def fleet(s, hosts, name="fleet.yaml", **more):
    return s.slice(name=name, hosts=hosts, ssh={"config": True}, coordinator={"address": "10.77.0.1"}, **more)


def agent_many_keys(s):
    s.node(f"eval $(ssh-agent -a {s.folder}/agent) >{s.folder}/said; for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f {s.folder}/junk$i; "
           f"ssh-add -q {s.folder}/junk$i; done; echo $SSH_AGENT_PID >{s.folder}/pid")
    env = s.env(SSH_AUTH_SOCK=f"{s.folder}/agent")
    keys = {"user": "root", "identities": [str(s.net.root / "user_key")], "known_hosts": str(s.net.root / "known_hosts")}
    s.sliceup("run", s.slice(ssh=keys), "--plain", env=env)
    s.sliceup("exec", "--slice", s.slice(ssh={**keys, "agent": False}, name="off.yaml"), "--", "hostname", env=env)
    env = {**home(s, "Host *\n User root\n IdentityFile KEY\n IdentitiesOnly yes\n"), "SSH_AUTH_SOCK": f"{s.folder}/agent"}
    s.sliceup("run", fleet(s, "h[0-1]", name="only.yaml"), "--plain", env=env)
    s.node(f"kill $(cat {s.folder}/pid)")


def iap(s):
    env = home(s, "Host h*\n User root\n IdentityFile KEY\n ProxyCommand gcloud compute start-iap-tunnel %h %p --listen-on-stdin --project=proj "
                  "--zone=us-central1-a --quiet\n")
    s.write("user/bin/gcloud", TUNNEL, 0o755)
    token = s.write("token", "")
    s.sliceup("check", fleet(s, "h[0-1]"), env=env)
    s.sliceup("run", fleet(s, "h[0-1]"), "--plain", env={**env, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token)})
    s.sliceup("run", fleet(s, "h[0-1]"), "--plain", env=env)
    s.node("nft add table inet f; nft 'add chain inet f i { type filter hook input priority 0; }'; nft add rule inet f i iif lo accept; "
           "nft add rule inet f i ct state established,related accept; nft add rule inet f i drop")
    s.sliceup("run", s.slice(name="back.yaml", slice="back", hosts="h[0-1]", ssh={"config": True}), "--plain",
              env={**env, "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token)})
    s.note(f"left running: {s.net.left_running()}")


def old_jump(s):
    env = home(s, f"Host *\n User root\n IdentityFile KEY\n UserKnownHostsFile {s.net.root}/known_hosts\nHost h1 h2\n"
                  f" ProxyCommand ssh -F {s.folder}/user/.ssh/config -W %h:%p -q h0\n")
    s.sliceup("run", fleet(s, "h[1-2]"), "--plain", env=env)
    s.node(f"grep -c 'Accepted publickey' {s['h0'].folder}/sshd.log")
    s.note(f"left running: {s.net.left_running()}")


def skypilot(s):
    block = ("Host my{0}\n  HostName 10.77.0.1{0}\n  User root\n  IdentityFile KEY\n  IdentitiesOnly yes\n  ForwardAgent yes\n  StrictHostKeyChecking no\n"
             "  UserKnownHostsFile=/dev/null\n  GlobalKnownHostsFile=/dev/null\n  Port 22\n")
    env = home(s, block.format(0) + block.format(1), known=False)
    s.sliceup("check", fleet(s, "my[0-1]"), env=env)
    s.sliceup("run", fleet(s, "my[0-1]"), "--plain", env=env)
    s.sliceup("exec", "-w", "my[0-1]", "--", "hostname", env=env)


def gcloud_config_ssh(s):
    block = ("Host vm{0}.zone.proj\n    HostName 10.77.0.1{0}\n    IdentityFile KEY\n    UserKnownHostsFile={1}/google_compute_known_hosts\n"
             "    HostKeyAlias=compute.75{0}\n    IdentitiesOnly=yes\n    CheckHostIP=no\n    StrictHostKeyChecking=no\n")
    env = home(s, "".join(block.format(number, s.folder) for number in range(2)), known=False)
    s.write("google_compute_known_hosts", "")
    s.sliceup("run", fleet(s, "vm[0-1].zone.proj"), "--plain", env=env)


def host_with_user(s):
    env = home(s, "Host *\n IdentityFile KEY\n")
    s.sliceup("exec", "-w", "nobody@h0,root@h1", "--", "id", "-un", env=env)
    s.sliceup("run", fleet(s, "nobody@h0,root@h1"), "--plain", env=env)
    s.sliceup("check", fleet(s, "nobody@h0,root@h0", name="two.yaml"), env=env)


def with_passwords(s, **more):
    """The hosts accept root's password and no key; the environment of a user whose program of SSH_ASKPASS answers, and a slice."""
    for host in s.net.hosts:
        host.run("sh", "-c", f"sed 's#^root:[^:]*#root:{sshd.HASH}#' /etc/shadow >/run/lab/new; cat /run/lab/new >/etc/shadow; sed -i 's/^PasswordAuth.*/"
                             "PasswordAuthentication yes/; s/^PermitRoot.*/PermitRootLogin yes/' /run/lab/sshd_config; kill -HUP $(pgrep -o -x sshd)")
    known = {"user": "root", "known_hosts": str(s.net.root / "known_hosts"), "agent": False}
    answers = {name: str(s.write(name, f"#!/bin/sh\necho '{answer}'\n", 0o700)) for name, answer in (("right", sshd.PASSWORD), ("wrong", "wrong horse"))}
    path = s.slice(ssh=known, **more)
    return path, lambda name: s.env(HOME=str(s.folder), SSH_ASKPASS=answers[name], SSH_ASKPASS_REQUIRE="force")


def password(s):
    path, env = with_passwords(s)
    s.sliceup("run", path, "--plain", env=env("right"))
    s.sliceup("run", path, "--plain", "--ask-pass", env=env("wrong"))
    s.note(f"tries: {[(host.folder / 'sshd.log').read_text().count('Failed password') for host in s.net.hosts]}")
    s.sliceup("run", path, "--plain", "--ask-pass", env=env("right"))
    s.note(f"left running: {s.net.left_running()}")
    kept = [path for path in s.net.root.rglob("*") if path.is_file() and sshd.PASSWORD.encode() in path.read_bytes() and path.parent != s.folder]
    s.note(f"kept: {kept}")


def password_carried(s):
    """The connection that carries the link dies, then the coordinator: the next ones need the password as well."""
    s.node(CLOSED.format("reject"))
    path, env = with_passwords(s, ladder=s.ladder({"id": "work", "command": ["sh", "-c", "sleep 25; echo done"]}, {"id": "more", "command": ["echo", "more"]}))
    said = s.net.start("--plain", "run", path, "--ask-pass", env=env("right"))
    lab.wait_for(lambda: all(["sleep", "25"] in host.processes().values() for host in s.net.hosts), "the programs to run", 60)
    lab.end_by_pid(next(pid for pid, words in s.net.node_processes().items() if "host h1 over ssh" in words[0]))
    lab.wait_for(lambda: "host h1 over ssh" in str(s.net.node_processes()), "another courier", 30)
    lab.wait_for(lambda: (s["h1"].folder / "sshd.log").read_text().count("Accepted password") == 2, "the password to be given again", 30)
    for pid in s.net.node_processes():
        lab.end_by_pid(pid)
    said.end(10)
    s.sliceup("--plain", "resume", "--ask-pass", env=env("right"))
    s.note(f"left running: {s.net.left_running()}")


CASES = {
    "agent-many-keys": Case(agent_many_keys, (r"the server ended the connection: too many authentication failures; 7 keys of the agent were offered\. "
                                              r"Write `ssh: \{agent: false\}`, after which \S+/user_key is tried, or empty the agent: ssh-add -D",
                                              r"h0: h0 h1: h1", r"3 of 3 rungs passed on h\[0-1\]"), hosts=2, within={"run": 10}),
    "sshconfig-iap": Case(iap, (r"reached by the command of ~/\.ssh/config: gcloud compute start-iap-tunnel h0 22 --listen-on-stdin",
                                r"3 of 3 rungs passed on h\[0-1\]", r"its ProxyCommand ended with 1 .*You do not currently have an active account",
                                r"slice back: climbed to the top", r"left running: \{\}"), (r"sliceup runs no command",), hosts=2, within={"run": 30}),
    "sshconfig-oldjump": Case(old_jump, (r"3 of 3 rungs passed on h\[1-2\]", r"sshd\.log 2 \[status 0\]", r"left running: \{\}"), hosts=3, within={"run": 20}),
    "sshconfig-skypilot": Case(skypilot, (r"failed in step host-key.*next: ~/\.ssh/config asks to skip the check of host keys, which is never skipped here: .*"
                                          r"ssh-keyscan -p 22 -t ed25519 10\.77\.0\.10 10\.77\.0\.11 >> \S+/\.ssh/known_hosts",
                                          r"not reached: host-key: .*next: .*ssh-keyscan"), hosts=2, within={"run": 10}),
    "gcloud-config-ssh": Case(gcloud_config_ssh, (r"next: ~/\.ssh/config asks to skip .*ssh -i \S+ -oUserKnownHostsFile=\S+/google_compute_known_hosts "
                                                  r"vm0\.zone\.proj -oStrictHostKeyChecking=accept-new \S+ -oHostKeyAlias=compute\.750 true",),
                              (r"ssh-keyscan -p",), hosts=2, within={"run": 10}),
    "password": Case(password, (r"h\[0-1\].*accepted no key for user root\..*publickey,password\..*--ask-pass asks you for the password",
                                r"h\[0-1\].*failed in step authentication: the password was not accepted for user root\. .*tries: \[1, 1\]",
                                r"3 of 3 rungs passed on h\[0-1\].*left running: \{\} kept: \[\]"), (r"wrong horse", r"correct horse"), hosts=2,
                     within={"run": 20}),
    "password-carried": Case(password_carried, (r"ended: passed", r"left running: \{\}"), (r"lost",), hosts=2, within={"--plain resume": 60}),
    "host-with-user": Case(host_with_user, (r"h0: nobody h1: root", r"3 of 3 rungs passed on h\[0-1\]", r"h0 is named twice"), hosts=2, within={"run": 20}),
}
