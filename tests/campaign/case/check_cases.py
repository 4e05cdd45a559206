"""check_cases.py - what `check` and the rung cache accept is what hosts then do."""
import shutil

import lab
from caselib import Case

LABEL = "llama3-70b-v6e-256-longctx-slice-job-0"
BIND = "bindfs --force-user=root --perms={} --chmod-ignore --chown-ignore --xattr-none under mnt"


def long_names(s):
    """Pods of a JobSet have names of their workload twice; the longest that RFC 1123 allows differ in their last letter."""
    names = [f"{LABEL}-0.{LABEL}", *(".".join(["a" * 63] * 3 + ["a" * 60 + letter]) for letter in "bc")]
    hosts = [{"name": name, "address": host.address} for name, host in zip(names, s.net.hosts)]
    known = "".join(f"{host.address} {' '.join(host.public_key.split()[:2])}\n" for host in s.net.hosts)
    (s.net.root / "known_hosts").write_text(known)
    s.sliceup("check", s.slice(hosts=hosts))
    s.sliceup("run", s.slice(hosts=hosts), "--plain")
    s.sliceup("logs", "--hosts", names[1])
    s.node(f"ls {s.home}/runs/*/receipts | wc -l")
    s.sliceup("exec", "--slice", s.folder / "fleet.yaml", "-w", names[2], "--", "echo", "here")
    s.note(f"left running: {s.net.left_running()}")


def bare_ipv6(s):
    s.node("ip -6 addr add fd77::1/64 dev bridge nodad")
    s.net.variables = "\nListenAddress ::"
    home, known = s.folder / ".ssh", ""
    for at, host in enumerate(s.net.hosts):
        host.reboot()
        host.run("ip", "-6", "addr", "add", f"fd77::1{at}/64", "dev", "eth0", "nodad")
        known += f"fd77::1{at} {' '.join(host.public_key.split()[:2])}\n"
    home.mkdir(exist_ok=True)
    (home / "known_hosts").write_text(known)
    (home / "config").write_text(f"Host fd77::1?\n  IdentityFile {s.net.root}/user_key\n  UserKnownHostsFile {home}/known_hosts\n")
    for words in ("root@fd77::10", "root@[fd77::10],root@fd77::11"):
        s.sliceup("exec", "-w", words, "--", "echo", "here", env=s.env(HOME=str(s.folder)))
    s.write("kept", "kept\n")
    s.sliceup("copy", "-w", "root@fd77::10", "-w", "root@[fd77::11]", "kept", ":/var/tmp/x", env=s.env(HOME=str(s.folder)))
    s.node(f"cat {s.net.root}/hosts/h[01]/var-tmp/x/kept")


def one_mode(s):
    """A mount that gives all files one mode, as gcsfuse does, and one whose mode fits."""
    ladder = s.ladder({"id": "host-facts", "builtin": "facts"}, {"id": "cache", "builtin": "cache"},
                      {"id": "tiny", "canary": "jax/tiny.py", "warm": "solo"})
    settings = {"slice": "fuse", "hosts": "h[0-1]", "launcher": "local", "profile": "cpu-jax", "pins": "jax-cpu",
                "ladder": str(ladder), "cache": {"mode": "single-writer", "root": str(s.folder / "mnt" / "c")}}
    s.node(f"mkdir -p under mnt && {BIND.format('a+rwX,go-w')}")
    s.sliceup("run", s.yaml("fuse.yaml", settings), "--plain")
    s.node(f"umount mnt && {BIND.format('0600,u+X')} && {lab.SLICEUP.parent}/sliceup-worker cache --root $PWD/mnt/c; umount mnt")
    s.note("-- all may write")
    s.node(f"rm -r under/*; {BIND.format('0777')}")
    s.sliceup("check", s.folder / "fuse.yaml")
    s.node(f"{lab.SLICEUP.parent}/sliceup-worker cache --root $PWD/mnt/c; umount mnt")
    s.note("-- read-only")
    s.node("mkdir under/c && mount --bind under mnt && mount -o remount,bind,ro mnt")
    s.sliceup("run", s.folder / "fuse.yaml", "--plain")
    s.node("umount mnt")


CASES = {
    "long-names": Case(long_names, (r"no mistakes found", r"ended: passed", r"\b3 \[status 0\]", r"here"), (r"at most 63 bytes", r"did not join"), 3),
    "exec-ipv6": Case(bare_ipv6, (r"ip-fd77--10: here.*ip-fd77--\[10-11\] \(2 hosts\): here.*kept kept",), (r"not reached",), 2),
}
if shutil.which("bindfs"):
    CASES["cache-fixed-modes"] = Case(one_mode, (
        r'gets mode 0644.*file-mode=600,dir-mode=700.*\[status 3.*"type":"done"',
        r"all may write.*\$ sliceup check .*gets mode 0777: its mount \(fuse.*umask=0077.*\[status 3.*sliceup-worker.*gets mode 0777.*read-only",
        r"-- read-only.*cache: h0 blocked: the cache root \S+mnt/c is mounted read-only \(.*next: mount it writable on the hosts that write"), (r"chmod (600|go-w)",))
