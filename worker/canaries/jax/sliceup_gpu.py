"""What the libraries of GPUs say of themselves while a canary runs: versions of CUDA and what NCCL chose as facts, its warnings in the log.

ask() before the runtime starts: NCCL then writes its account into the attempt's own folder, of which Warnings copies the warnings to
stderr as they come, since a program that waits for NCCL may never come to its end. tell() at the end reads the rest. RCCL takes the same
variables and writes the same lines. A profile that sets any NCCL_DEBUG* keeps it, and nothing of NCCL is told here.
A host whose network fell from "IB" to "Socket", or whose ways have lost "GDRDMA", works and is many times slower: drift names it.
Sources: NVIDIA/nccl, src/init.cc, src/transport and src/debug.cc of 2.14 to 2.30; ROCm/rccl, src/init.cc; aws/aws-ofi-nccl.
"""

import glob
import os
import re
import sys
import threading
import time

# Bytes read of each file, and files: one a process.
BYTES, FILES, VALUE = 4 << 20, 64, 400
WARNINGS, LOOK_S, LINE = 50, 1, 2000
FOUND = {
    "version": re.compile(r"\b[NR]CCL version(?: :)? ([\w.+:-]{1,60})"),
    "network": re.compile(r"NCCL INFO Using network ([\w .+-]{1,60})"),
    "provider": re.compile(r"NCCL INFO NET/OFI Selected [Pp]rovider is ([\w;-]{1,60})"),
    "nvls": re.compile(r"NCCL INFO NVLS multicast support is ((?:not )?available)"),
}
CARDS = re.compile(r"NCCL INFO NET/(\w+) ?: Using (\[0\][^;\n]{1,2000})")
CARD = re.compile(r"\[\d{1,3}\]")
# RCCL says " comm 0x95cdeb0 nRanks 08" behind some of them.
WAY = re.compile(r"NCCL INFO Channel [^:\n]{1,40}: [^\n]{1,80}? via ([^\n]{1,80}?)(?: comm 0x[^\n]*)?$", re.MULTILINE)
CUDA = ("cuda_driver", "cuda_runtime", "cudnn", "cublas")


def file_of(folder):
    return os.path.join(folder, "nccl")


def files(folder):
    return sorted(glob.glob(glob.escape(file_of(folder)) + ".*"))[:FILES]


def ask(environ):
    """NCCL fills %h and %p. False: it is left as it was asked for."""
    if "%" in environ["HOME"] or any(name.startswith("NCCL_DEBUG") for name in environ):
        return False
    environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,ENV", NCCL_DEBUG_FILE=file_of(environ["HOME"]) + ".%h.%p")
    return True


class Warnings:
    """Copies what NCCL warns of to stderr, from a thread of its own. Memory and lines are bounded."""

    def __init__(self, folder):
        self.folder, self.read, self.rest, self.left = folder, {}, {}, WARNINGS
        self.lock = threading.Lock()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while True:
            time.sleep(LOOK_S)
            self.look()

    def look(self):
        with self.lock:
            for name in files(self.folder):
                try:
                    self.look_at(name)
                except OSError:
                    continue

    def look_at(self, name):
        with open(name, "rb") as file:
            file.seek(self.read.get(name, 0))
            while piece := file.read(1 << 16):
                *lines, rest = (self.rest.get(name, b"") + piece).split(b"\n")
                self.rest[name] = rest[-LINE:]
                for line in lines:
                    self.show(line)
            self.read[name] = file.tell()

    def show(self, line):
        if b"NCCL WARN" in line and self.left:
            self.left -= 1
            print(line[:LINE].decode("utf-8", "replace"), file=sys.stderr, flush=True)


def account(folder):
    """What NCCL wrote, of all processes."""
    text = ""
    for name in files(folder):
        with open(name, encoding="utf-8", errors="replace") as file:
            text += file.read(BYTES) + "\n"
    return text


def kind_of(way):
    """ "NET/IB/0(8)/GDRDMA", "P2P/indirect/9[1]" and "P2P/CUMEM" without numbers of cards and of devices, which differ by place."""
    parts = re.sub(r"\(\d+\)|\d+\[[0-9a-f]+\]", "", way).split("/")
    return "/".join(part for part in parts if part and not part.isdecimal())


def facts(text):
    """(name, value); values are sorted and without counts, since counts differ by the place in a ring."""
    told = {name: {one.strip() for one in seen.findall(text)} for name, seen in FOUND.items()}
    told["ways"] = {kind_of(way) for way in WAY.findall(text)}
    # Sockets are of every interface that a host has, its pods' among them; in braces stand the parts of a card.
    told["cards"] = {f"{net} {len(CARD.findall(re.sub(r'[{][^}]*[}]', '', cards)))}" for net, cards in CARDS.findall(text) if net != "Socket"}
    for name, values in told.items():
        if values:
            yield f"nccl.{name}", ", ".join(sorted(values))[:VALUE]


def cuda_facts(versions):
    """(name, number) as CUDA writes them: 12080 is 12.8. cuda_driver: of CUDA that the driver can run. versions: jax's module, or None."""
    for name in CUDA:
        try:
            yield f"cuda.{name.removeprefix('cuda_')}", str(getattr(versions, f"{name}_get_version")())
        except Exception:  # no such function in this version of jax, or the library is not here
            continue


def tell(canary, warnings):
    """warnings: of what was asked for; None: it was not."""
    try:
        from jax._src.lib import cuda_versions  # None without a plugin for CUDA
    except ImportError:
        cuda_versions = None
    for name, value in (*cuda_facts(cuda_versions), *facts(account(warnings.folder) if warnings else "")):
        canary.fact(name, value)
