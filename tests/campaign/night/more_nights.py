"""more_nights.py - ten bad nights of another author: how they are made, and what is right, written before the first run."""
import pathlib
import re
import subprocess
import time

import lab
from nightlib import FACTS, JAX, JAX_SLICE, PROGRAMS, RESTORE, Night, jax, program


def gone_readonly(s):
    s.on_all("truncate -s 48M /var/tmp/data.img; mkfs.ext4 -q -F /var/tmp/data.img; mount -o loop,errors=remount-ro /var/tmp/data.img /srv; mkdir /srv/wal")
    disk = s["h3"].run("findmnt", "-n", "-o", "SOURCE", "/srv").stdout.strip().removeprefix("/dev/")
    said = s.start("--plain", "run", s.slice(FACTS, program("wal.py")))
    lab.wait_for(lambda: s["h3"].run("test", "-e", "/srv/wal/segment-000004", check=False).returncode == 0, "h3 to have written five segments", 90)
    time.sleep(0.15)
    pathlib.Path(f"/sys/fs/ext4/{disk}/trigger_fs_error").write_text("disk error of the night")
    s.see("h3", "touch /srv/wal/x", "Read-only")
    s.see("h2", "touch /srv/wal/x && rm /srv/wal/x && echo fine", "fine")
    said.end(120)


def wrong_peer(s):
    s.on_all(r"sed 's/^10\.77\.0\.10 h0$/10.77.0.15 h0   # moved, ticket 8841/' /etc/hosts > /run/hosts; mount --bind /run/hosts /etc/hosts", ["h4"])
    s.see("h4", "getent ahostsv4 h0", r"^10\.77\.0\.15 ")
    s.see("h2", "getent ahostsv4 h0", r"^10\.77\.0\.10 ")
    s.run(s.slice(FACTS, program("store.py", scope="slice", timeout="90s"), profile={"env": {"MASTER_ADDR": "h0", "MASTER_PORT": "23456"}}))


def port_taken(s):
    s.put("/srv/lib/tensor_relay.py", "tensor_relay.py", ["h1"])
    s.on_all("setsid python3 /srv/lib/tensor_relay.py > /dev/null 2>&1 < /dev/null &", ["h1"])
    s.words["pid"] = lab.wait_for(lambda: next((pid for pid, words in s["h1"].processes().items() if "/srv/lib/tensor_relay.py" in words), None),
                                  "the holder", 20)
    lab.wait_for(lambda: ":72D8 00000000:0000 0A" in s["h1"].run("cat", "/proc/net/tcp").stdout, "port 29400 to be taken", 20)
    s.see("h1", "timeout 2 bash -c 'exec 3<>/dev/tcp/10.77.0.11/29400' && echo taken", "taken")
    s.see("h2", "timeout 2 bash -c 'exec 3<>/dev/tcp/10.77.0.12/29400' || echo free", "free")
    s.run(s.slice(FACTS, program("ring_async.py", scope="slice", timeout="60s")))


def variable(s):
    for host in s.net.hosts:
        s.net.variables = " FEED_SCHEMA=" + ("v5" if host.name == "h2" else "v7")
        host.reboot()
    s.see("h2", "cat /run/lab/sshd_config", "SetEnv .*FEED_SCHEMA=v5")
    s.see("h3", "cat /run/lab/sshd_config", "SetEnv .*FEED_SCHEMA=v7")
    s.on_all("mount -t tmpfs tmpfs /srv; mkdir -p /srv/feed/v5 /srv/feed/v7; "
             """echo '{"rows": 4096, "offsets": [0, 1024, 2048, 3072], "labels": 17}' > /srv/feed/v5/manifest.json; """
             """echo '{"rows": 4096, "offsets": [0, 1024, 2048, 3072], "label_offsets": [0, 64, 128, 192]}' > /srv/feed/v7/manifest.json""")
    s.run(s.slice(FACTS, program("load_feed.py"), profile={"inherit": ["FEED_SCHEMA"]}))


def shadowed(s):
    s.on_all("mount -t tmpfs tmpfs /srv")
    for name in ("stream_shards.py", "evidence.py"):
        s.put(f"/srv/app/{name}", name)
    s.put("/srv/app/queue.py", "queue_of_a_colleague.txt", ["h3"])
    s.see("h3", "cd /srv/app && python3 -c 'import queue; print(queue.__file__)'", "^/srv/app/queue.py")
    s.see("h1", "cd /srv/app && python3 -c 'import queue; print(queue.__file__)'", "^/(usr|root)/.*lib/python3")
    s.run(s.slice(FACTS, {"id": "stream", "command": ["python3", "/srv/app/stream_shards.py"], "timeout": "60s"}))


def deadlock(s):
    s.run(s.slice(FACTS, program("rebalance.py", scope="slice", timeout="40s")))
    seen = "".join(f"{host.name}: {mark and 'marked its exchange'}\n" for host in s.net.hosts for mark in [s.marked([host.name])])
    s.transcript.append(f"--- the defect, seen: who began the exchange that never ended\n{seen}")
    assert s.marked(["h1", "h4"]) and not any(s.marked([name]) for name in ("h0", "h2", "h3", "h5", "h6")), seen


def throttled(s):
    s.group("cpu", "h3", cpu__cfs_period_us="100000", cpu__cfs_quota_us="10000")
    s.run(s.slice(FACTS, program("average.py", scope="slice", timeout="180s"),
                  start={"directory": "/var/tmp/sliceup", "deadline": "150s"}, limits={"join": "180s", "suspect": "8s", "lost": "60s"}), bound_s=420)
    throttled = re.search(r"nr_throttled (\d+)", (s.groups[0] / "cpu.stat").read_text())
    s.transcript.append(f"--- the defect, seen: the kernel's count of its group: {throttled[0]}\n")
    assert int(throttled[1]) > 50, throttled
    s.judged = "all"


def segfault(s):
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-I/usr/include/python3.11", "-o", s.folder / "_rowcodec.abi3.so", PROGRAMS / "_rowcodec.c"], check=True)
    blocks = (s.folder / "make_blocks.py").read_text()
    s.on_all(f"mount -t tmpfs tmpfs /srv; mkdir /srv/rows; python3 - /srv/rows <<'E'\n{blocks}E\n")
    # A sector of one block holds what belongs to another file.
    s.on_all("printf '\\000\\000\\377\\177\\000\\000\\377\\177' | dd of=/srv/rows/block-0004.bin bs=1 seek=16 conv=notrunc", ["h2"])
    for name in ("h1", "h2"):
        s.see(name, "sha256sum /srv/rows/block-0004.bin; od -A d -t u4 -j 8 -N 32 /srv/rows/block-0004.bin", "2147418112" if name == "h2" else "^((?!2147418112)[^~])*$")
    rung = jax("decoded", "120s")
    rung["files"].append("./_rowcodec.abi3.so")
    s.run(s.slice(FACTS, RESTORE, rung, profile=JAX, **JAX_SLICE))


def pids(s):
    s.group("pids", "h5", pids__max="32")
    s.run(s.slice(FACTS, program("prefetch_pool.py")))
    refused = re.search(r"max (\d+)", (s.groups[0] / "pids.events").read_text())
    s.transcript.append(f"--- the defect, seen: the kernel's count of refused forks of its group: {refused[1]}\n")
    assert int(refused[1]) > 0, refused


def rebooted(s):
    said = s.start("--plain", "run", s.slice(FACTS, RESTORE, jax("slow_rows", "120s"), profile=JAX, **JAX_SLICE))
    lab.wait_for(lambda: s.marked(["h1"]), "h1 to have come to its fifth step", 180)
    before = s["h1"].run("cat", "/proc/sys/kernel/random/boot_id").stdout
    s.evidence = time.monotonic()
    s["h1"].reboot()
    after = s["h1"].run("cat", "/proc/sys/kernel/random/boot_id").stdout
    s.transcript.append(f"--- the defect, seen: the boot id of h1 was {before.strip()}, is {after.strip()}; it took {time.monotonic() - s.evidence:.1f} s\n")
    assert before != after and not s["h1"].workers(), (before, after, s["h1"].workers())
    said.end(240)


# ---- what is right, written before the first run ----

HOST, PROGRAM = r"whose: (the )?(host|machine|platform)", r"whose: (your |the )?program"
BUNDLE, DEVICE = r"whose: .{0,20}(bundle|package|environment|pin|installed versions)", r"whose: (the )?device"
NETWORK, LAUNCH = r"whose: .{0,20}network", r"whose: .{0,20}(launch|flag|polic|variable)"
UNKNOWN = "whose: not known"
EMPTY = "see what it printed|docs/guide"                  # a next step that is none
PATH_OTHER = "named in the lines before|of the path that it names"
LINK = "suspect a link|number of hosts"
TIMEOUT = r"raise the rung's timeout"

NIGHTS = {
    "gone-readonly": Night(gone_readonly, 6, "h3", "h3: its /srv went read-only in the middle of the program; host; look at dmesg and /srv there", r"h3.*[Rr]ead-only",
        (r"[Rr]ead-only", r"/srv"), HOST, (r"/srv|dmesg|\bmount\b",),
        {"points to a path that is not there": PATH_OTHER, "program": PROGRAM, "a full disk": r"[Nn]o space|[Ff]ree space|is full", "next is empty": f"next: .*({EMPTY})"}, True),
    "wrong-peer": Night(wrong_peer, 6, "h4", "h4 takes h0 for 10.77.0.15, which is h5, and is refused there; its /etc/hosts; host, network or launch", r"h4.*(refused|10\.77\.0\.15)",
        (r"refused", r"10\.77\.0\.15|/etc/hosts|\bh5\b"), f"{NETWORK}|{HOST}|{LAUNCH}", (r"/etc/hosts|getent|resol|10\.77\.0\.15|\bh5\b",),
        {"suspects a link": LINK, "sends to h0": r"look at h0\b|h0 (failed|timed-out)|suspect: h0|next: [^|]{0,60}\bon h0\b", "raise the timeout": TIMEOUT,
         "suspects others": r"suspect: h(?!4)\S", "next is empty": f"next: .*({EMPTY})"}),
    "port-taken": Night(port_taken, 6, "h1", "h1: port 29400 is taken there by pid P, tensor_relay.py; launch or host; end it, or another port", r"h1.*(already in use|EADDRINUSE)",
        (r"already in use|EADDRINUSE", r"\b29400\b"), f"{LAUNCH}|{HOST}", (r"\bss -|lsof|fuser|\b{pid}\b|tensor_relay|who (holds|has|listens)|(another|other|free) port",),
        {"program": PROGRAM, "suspects a link": LINK, "the coordinator's port": r"control_port|coordinator\.", "suspects others": r"suspect: h(?!1)\S",
         "others as causes": r"(?m)^  h\[?[02-5]\S* failed", "next is empty": f"next: .*({EMPTY})"}, True),
    "variable": Night(variable, 6, "h2", "h2: KeyError label_offsets, because FEED_SCHEMA is v5 there and v7 on the others; launch; make it equal", r"h2.*(label_offsets|FEED_SCHEMA)",
        (r"label_offsets", r"FEED_SCHEMA\W.{0,60}v5|v5.{0,60}FEED_SCHEMA"), f"{LAUNCH}|{HOST}", (r"FEED_SCHEMA|variable|inherit",),
        {"program": PROGRAM, "correct the program": r"[Cc]orrect the program|load_feed\.py:\d+[^|]{0,20}correct", "next is empty": f"next: .*({EMPTY})"}, True),
    "shadowed": Night(shadowed, 5, "h3", "h3: /srv/app/queue.py stands in for Python's own queue, so it has no SimpleQueue; bundle or host; move that file away", r"h3.*SimpleQueue",
        (r"SimpleQueue", r"/srv/app/queue\.py|shadow|hides"), f"{BUNDLE}|{HOST}|{LAUNCH}", (r"queue\.py|/srv/app\b(?!/stream)|shadow",),
        {"program": PROGRAM, "another version of a package": r"pip install|apt(-get)? install|\bpin(s|ned)\b", "next is empty": f"next: .*({EMPTY})"}, True),
    "deadlock": Night(deadlock, 7, "h1 h4", "h1 and h4 both send to one another in rebalance.py exchange () and nobody reads; the others wait for them; program",
        r"h(\[1,4\]|1\b|4\b).*rebalance\.py",
        (r"rebalance\.py:\d+", r"exchange|send"), f"{PROGRAM}|{UNKNOWN}|{HOST}", (r"rebalance\.py|stacks|logs.*h\[?[14]|exchange",),
        {"suspects a link": LINK, "raise the timeout": TIMEOUT, "suspects others": r"suspect: (h(\[[^\]]*[02356][^\]]*\]|[02356]\b)|[^;\n]*, h[02356])"}),
    "throttled": Night(throttled, 5, "h3", "all passed; drift: h3's own part of a step is N x the median; its group may use 0.1 processors (cpu.cgroup_max)", r"h3\b.*(step|slow|longer|×|cgroup)",
        (r"h3: (step|rung|phase|duration).{0,60}(×|times)", r"cpu\.cgroup_max|\bquota\b|throttl"), "", (),
        {"no difference": r"no host differs|no drift|0 differences", "others are slow": r"h(\[?[0124]\S*): (step|rung|phase|duration)[^\n]*×", "silent": r"h3 (was )?silent|h3 lost",
         "h3 ended first": r"h3 failed"}, True),
    "segfault": Night(segfault, 5, "h2", "h2: signal 11 in native code (_rowcodec, from decoded.py) behind step 3; not known or program; a core, or faulthandler", r"h2.*(signal 11|SIGSEGV|[Ss]egmentation)",
        (r"signal 11|SIGSEGV|[Ss]egmentation", r"_rowcodec|decoded\.py|step 3"), f"{UNKNOWN}|{PROGRAM}", (r"faulthandler|\bcore\b|coredump|gdb|dmesg|native|stack",),
        {"suspects a link": LINK, "suspects others": r"suspect: h(?!2)\S", "others as causes": r"(?m)^  h\[?[0134]\S* failed", "out of memory": r"out of memory",
         "next is empty": f"next: .*({EMPTY})"}),
    "pids": Night(pids, 6, "h5", "h5 cannot fork: the limit of processes of its group is 32 (pids.max); host; raise it, or start fewer", r"h5.*(temporarily unavailable|EAGAIN|fork)",
        (r"temporarily unavailable|EAGAIN|fork", r"\bpids\b|limit of (its )?(processes|tasks)|(process|processes|task|tasks) limit"), HOST, (r"\bpids\b|processes|ulimit -u|TasksMax",),
        {"program": PROGRAM, "retries": r"before retry|after 1 retry", "out of memory": r"out of memory", "next is empty": f"next: .*({EMPTY})"}, True),
    "rebooted": Night(rebooted, 4, "h1", "h1 was rebooted: the machine answers ssh, its worker is gone; the others fell with it; host; ssh h1 uptime, run again", r"h1\b.*(silent|lost|answers|reboot)",
        (r"h1[^|]{0,60}(lost|silent|reboot)", r"reboot|boot id|booted|answers (on )?(its )?ssh|its worker (does not|is gone)"), f"{HOST}|{NETWORK}",
        (r"ssh \S*h1\b|ssh .{0,80}10\.77\.0\.11|uptime|--min-hosts 3|last reboot",),
        {"suspects a link": LINK, "suspects others": r"suspect: h(?!1)\S", "out of memory": r"out of memory", "others as causes": r"(?m)^  h\[?[023]\S* (failed|timed-out)",
         "next is empty": f"next: .*({EMPTY})"}),
}
