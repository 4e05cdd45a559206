"""What the libraries of GPUs say of themselves while a canary runs, as facts: versions of CUDA, and what NCCL chose.

ask() before the runtime starts: NCCL then writes its account into the attempt's own folder. tell() at the end reads it. RCCL takes the
same variables and writes the same lines. A profile that sets NCCL_DEBUG or NCCL_DEBUG_FILE keeps them, and nothing is told of it here.
A host whose network fell from "IB" to "Socket", or whose ways have lost "GDRDMA", works and is many times slower: drift names it.
Sources: NVIDIA/nccl, src/init.cc, src/transport and src/debug.cc of 2.14 to 2.30.
"""

import glob
import os
import re
import sys

# Bytes read of each file, and files: one a process and device.
BYTES, FILES, VALUE, WARNINGS = 4 << 20, 64, 400, 20
VERSION = re.compile(r"\b[NR]CCL version ([\w.+-]{1,60})")
NETWORK = re.compile(r"NCCL INFO Using network ([\w .+-]{1,60})")
CARDS = re.compile(r"NCCL INFO NET/(\w+) ?: Using (\[0\].{1,2000})")
CARD = re.compile(r"\[\d{1,3}\]")
# RCCL says " comm 0x95cdeb0 nRanks 08" behind some of them.
WAY = re.compile(r"NCCL INFO Channel [^:\n]{1,40}: [^\n]{1,80}? via ([^\n]{1,80}?)(?: comm 0x[^\n]*)?$", re.MULTILINE)
CUDA = ("cuda_driver", "cuda_runtime", "cudnn", "cublas")


def file_of(folder):
    return os.path.join(folder, "nccl")


def ask(environ):
    if "NCCL_DEBUG" in environ or "NCCL_DEBUG_FILE" in environ:
        return
    environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=file_of(environ["HOME"]) + ".%h.%p")


def account(folder):
    """What NCCL wrote, of all processes."""
    text = ""
    for name in sorted(glob.glob(glob.escape(file_of(folder)) + ".*"))[:FILES]:
        with open(name, encoding="utf-8", errors="replace") as file:
            text += file.read(BYTES)
    return text


def kind_of(way):
    """ "NET/IB/0(8)/GDRDMA" and "P2P/CUMEM" without numbers of cards and of devices behind a proxy, which differ by place."""
    return "/".join(part for part in re.sub(r"\(\d+\)", "", way).split("/") if not part.isdecimal())


def facts(text):
    """(name, value); values are sorted and without counts, since counts differ by the place in a ring."""
    versions, networks = sorted(set(VERSION.findall(text))), sorted({one.strip() for one in NETWORK.findall(text)})
    ways = sorted({kind_of(way) for way in WAY.findall(text)})
    cards = sorted({f"{net} {len(CARD.findall(cards))}" for net, cards in CARDS.findall(text)})
    for name, values in (("version", versions), ("network", networks), ("cards", cards), ("ways", ways)):
        if values:
            yield f"nccl.{name}", ", ".join(values)[:VALUE]


def asked(environ):
    return environ.get("NCCL_DEBUG_FILE", "").startswith(file_of(environ.get("HOME", "")) + ".%h")


def cuda_facts(versions):
    """(name, number) as CUDA writes them: 12080 is 12.8. cuda_driver: of CUDA that the driver can run. versions: jax's module, or None."""
    for name in CUDA:
        try:
            yield f"cuda.{name.removeprefix('cuda_')}", str(getattr(versions, f"{name}_get_version")())
        except Exception:  # no such function in this version of jax, or the library is not here
            continue


def tell(canary, environ):
    try:
        from jax._src.lib import cuda_versions  # None without a plugin for CUDA
    except ImportError:
        cuda_versions = None
    for name, value in (*cuda_facts(cuda_versions), *facts(account(environ["HOME"]) if asked(environ) else "")):
        canary.fact(name, value)


def show_warnings(environ):
    """Of a canary that failed: into its log, where its error stands as well."""
    lines = account(environ["HOME"]).splitlines() if asked(environ) else []
    for line in [line for line in lines if "NCCL WARN" in line][-WARNINGS:]:
        print(line, file=sys.stderr, flush=True)
