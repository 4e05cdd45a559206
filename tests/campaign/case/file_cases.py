"""file_cases.py - files to hosts, and home from them."""
import hashlib
import io
import os
import tarfile

from caselib import Case

WRITES = ["sh", "-c", 'mkdir -p "$SLICEUP_OUTPUT_DIR/sub"; echo "of $SLICEUP_HOST" > "$SLICEUP_OUTPUT_DIR/sub/a b.txt"; '
                      'ln -s /etc/passwd "$SLICEUP_OUTPUT_DIR/link"; mkfifo "$SLICEUP_OUTPUT_DIR/pipe"; head -c 3000000 /dev/urandom > "$SLICEUP_OUTPUT_DIR/big"']


def copied(s):
    """A folder, an odd name and 20 MB; a host whose disk is full, and one where the folder may not be written."""
    s.write("data/one.txt", "1\n")
    s.write("data/deep/two words.txt", "2\n")
    (s.folder / "big.bin").write_bytes(os.urandom(20 << 20))
    wanted = hashlib.sha256((s.folder / "big.bin").read_bytes()).hexdigest()
    hosts = ["-w", "h[0-3]", "--slice", s.slice()]
    s["h2"].run("sh", "-c", "mkdir -p /srv && mount -t tmpfs -o size=1m tmpfs /srv")
    s["h3"].run("sh", "-c", "mkdir -p /srv && mount -t tmpfs -o ro tmpfs /srv")
    s["h1"].run("sh", "-c", "mount -t tmpfs tmpfs /srv")
    s["h0"].run("sh", "-c", "mount -t tmpfs tmpfs /srv")
    s.sliceup("copy", *hosts, "data", "big.bin", ":/srv/work")
    s.sliceup("exec", *hosts, "cd /srv/work && sha256sum big.bin && cat data/one.txt 'data/deep/two words.txt' && ls -A")
    s.sliceup("copy", "-w", "h0", "big.bin", "/srv")
    s.sliceup("copy", "-w", "h0", "data/one.txt", "data/../data/one.txt", ":/srv")
    s.sliceup("copy", "-w", "h0", "--slice", hosts[3], "missing.bin", ":/srv")
    s.note("as it should be: " + wanted)
    s.note("arrived whole" if s.text().count(wanted + "  big.bin") == 1 else "did not arrive whole")
    s.note(f"left running: {s.net.left_running()}")


def brought_home(s):
    """Outputs with a blank in a name, a link and a FIFO; one host has none."""
    path = s.slice(ladder=s.ladder({"id": "write", "command": WRITES, "timeout": "30s"}, {"id": "fail", "command": ["false"]}))
    s.sliceup("run", path, "--plain")
    s["h2"].run("sh", "-c", "rm -r /var/tmp/sliceup/runs/*/h2/scratch/*/output")
    s.sliceup("outputs", "-o", "out")
    s.node("find out -type f -o -type l -o -type p | sort; cat 'out/h1/write.once.1/sub/a b.txt'; stat -c %s out/h0/write.once.1/big")
    s.sliceup("outputs", "-o", "out", "-w", "h0")
    s.sliceup("outputs", "last")
    s["h1"].power_off()
    s.sliceup("outputs", "-o", "other", "--timeout", "20s")


def of_hostile_hosts(s):
    """What comes is no list of plain files: a way out of the folder, a link, a broken archive."""
    path = s.slice(ladder=s.ladder({"id": "write", "command": WRITES, "timeout": "30s"}))
    s.sliceup("run", path, "--plain")
    away, link = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=away, mode="w") as out:
        entry = tarfile.TarInfo("../../away")
        entry.size = 4
        out.addfile(entry, io.BytesIO(b"away"))
    with tarfile.open(fileobj=link, mode="w") as out:
        entry = tarfile.TarInfo("./0.once.1/output/link")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        out.addfile(entry)
    for host, content in (("h0", away.getvalue()), ("h1", link.getvalue()), ("h2", b"nonsense" * 1000)):
        (s.net.files / host).write_bytes(content)
        s[host].run("sh", "-c", f"printf '#!/bin/sh\\ncat {s.net.files}/{host}\\n' > /run/tar; chmod 755 /run/tar; mount --bind /run/tar /usr/bin/tar")
    s.sliceup("outputs", "-o", "out/deep")
    s.node("find . -name away -o -name link; find out | sort")


def of_local_hosts(s):
    ladder = s.ladder({"id": "write", "command": WRITES, "timeout": "30s"})
    path = s.yaml("local.yaml", {"slice": "here", "hosts": "l[0-1]", "profile": "plain", "ladder": str(ladder), "cache": {"mode": "off"}})
    s.sliceup("run", path, "--plain")
    s.sliceup("outputs", "-o", "out")
    s.node("find out -type f | sort")
    s.sliceup("copy", "-w", "l0", "--launcher", "local", "local.yaml", f":{s.folder}/copied")
    s.node("ls copied")


CASES = {
    "copy": Case(copied, (r"h2: .*No space left|No space left.*h2", r"h3.*[Rr]ead-only|[Rr]ead-only.*h3", r"arrived whole", r"'/srv': expected the folder on the hosts",
                          r"missing\.bin: No such file", r"another file of the same name", r"h\[0-1\] \(2 hosts\)|h\[0-1\]", r"data", r"left running: \{\}"), (r"did not arrive",), 4),
    "outputs": Case(brought_home, (r"out: 4 files from 2 hosts", r"out/h0/write\.once\.1/sub/a b\.txt", r"of h1", r" 3000000 ", r"cannot make out/h0", r"-o DIR", r"h1: "),
                    (r"out/h2", r"link", r"pipe "), 3, long=True),
    "outputs-hostile": Case(of_hostile_hosts, (r"h1: it holds something that is no file", r"h2: tar", r"\[status 1, "),
                            (r" \./away", r" \./out/away", r"out/deep/h1/", r"out/deep/h2/"), 3),
    "outputs-local": Case(of_local_hosts, (r"out: 4 files from 2 hosts", r"out/l1/write\.once\.1/big", r"local\.yaml \[status 0\]"), ()),
}
