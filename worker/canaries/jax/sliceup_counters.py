"""What devices tell by themselves of their load and health, as facts with their source in the name.

nvidia-smi.GPU.FIELD and .nvlink: of the command. libtpu-sdk.METRIC: of libtpu's own module. Where neither is here nothing is told,
and a field that is not supported is left out: absent is never zero. What they print is another program's: bounded and checked.
Xid errors are not among what nvidia-smi may be asked for; host-facts has them of the kernel's log. Neither is waited for longer
than SECONDS, even where a driver hangs.
"""

import collections
import os
import re
import select
import subprocess
import threading
import time

FIELDS = ("index", "utilization.gpu", "utilization.memory", "memory.used", "memory.total", "temperature.gpu", "power.draw",
          "clocks.sm", "clocks_throttle_reasons.active", "pcie.link.gen.current", "pcie.link.width.current", "ecc.mode.current", "ecc.errors.uncorrected.volatile.total")
# Drivers that do not know them refuse these two, so they are asked for by themselves. Rows of the second stand in the order of cards.
LATER = ("index", "fabric.state", "fabric.status")
REMAPPED = ("remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure")
KNOWN = {*FIELDS, *LATER, *REMAPPED} - {"index"}
# "GPU 0: NVIDIA H100 PCIe (UUID: ...)", then " Link 3: 26.562 GB/s" or " Link 4: <inactive>"
CARD, LINK = re.compile(r"GPU (\d{1,3}):", re.ASCII), re.compile(r"\s+Link \d{1,3}: <?([ -;=?-~]{1,32}?)>?", re.ASCII)
METRICS = ("duty_cycle_pct", "tensorcore_util", "hbm_capacity_total", "hbm_capacity_usage", "tpu_throttle_score", "ici_link_health")
# For all calls together: other hosts wait meanwhile.
SECONDS, BYTES, DEVICES = 10, 1 << 16, 16
# nvidia-smi's, of which all data were printed: all is well, and an infoROM that is corrupt (its man page, "Return value")
PRINTED = (0, 14)
# A result has room for 256, and the worker and the end of a canary add some.
FACTS = 224


def nvidia_smi(*words, until=None, command="nvidia-smi"):
    """What it prints; "": it is not here, fails, hangs or prints more than BYTES. A driver that does not know a field refuses all."""
    until = time.monotonic() + SECONDS if until is None else until
    try:
        process = subprocess.Popen([command, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return ""
    text = read_until(process.stdout.fileno(), until)
    process.stdout.close()  # ends a command that goes on printing
    try:
        done = process.wait(max(0, until - time.monotonic())) in PRINTED
    except subprocess.TimeoutExpired:
        process.kill()  # and is not waited for: a driver that hangs does not let it end
        done = False
    return text.decode("utf-8", "replace") if done and len(text) <= BYTES else ""


def read_until(file, until):
    """What is there until its end, that time, or one byte more than BYTES."""
    text = b""
    while len(text) <= BYTES and select.select([file], [], [], max(0, until - time.monotonic()))[0]:
        piece = os.read(file, BYTES + 1 - len(text))
        if not piece:
            break
        text += piece
    return text


def is_value(word):
    """"[N/A]", "[Not Supported]" and "[Unknown Error]" are none."""
    return bool(word) and len(word) <= 64 and word.isascii() and word.isprintable() and word != "N/A" and not word.startswith("[")


def nvidia_facts(text):
    """(name, value) of CSV with a header: "utilization.gpu [%]" names the unit, which stands behind the value as well. A row is of the
    card of its index, or where none was asked for of the card of its place."""
    lines = [[word.strip() for word in line.split(",")] for line in text.splitlines()]
    header = [word.partition(" ")[0] for word in lines[0]] if lines else []
    for place, row in enumerate(lines[1:DEVICES + 1]):
        told = dict(zip(header, row)) if len(row) == len(header) else {}
        gpu = told.pop("index", str(place) if set(header) & set(REMAPPED) else "")
        if not gpu.isdecimal() or not gpu.isascii() or len(gpu) > 3:
            continue
        for name, value in told.items():
            if name in KNOWN and is_value(value):
                yield f"nvidia-smi.{gpu}.{name}", value


def nvlink_facts(text):
    """(name, "18 x 26.562 GB/s"), or "16 x 26.562 GB/s, 2 x inactive", of each card with links."""
    links, card = {}, None
    for line in text.splitlines():
        begins, link = CARD.match(line), LINK.fullmatch(line)
        card = begins.group(1) if begins else card
        if link and card:
            links.setdefault(card, collections.Counter())[link.group(1)] += 1
        elif card and "all links are inactive" in line.lower():
            links[card] = collections.Counter()
    for card, states in list(links.items())[:DEVICES]:
        yield f"nvidia-smi.{card}.nvlink", ", ".join(f"{many} x {state}" for state, many in states.most_common(4)) if states else "all inactive"


def libtpu_facts():
    """(name, values of all chips) of libtpu's module, for as many metrics as this version knows."""
    try:
        from libtpu.sdk import tpumonitoring
        known = set(tpumonitoring.list_supported_metrics())
    except Exception:  # other versions lack the module or a library below it
        return
    for name in METRICS:
        try:
            values = [str(one) for one in tpumonitoring.get_metric(name).data()] if name in known else []
        except Exception:  # it answers while a program of this host computes, and raises what it likes
            continue
        if values and all(map(is_value, values)):
            yield f"libtpu-sdk.{name}", ",".join(values[:DEVICES])


def within(seconds, facts):
    """What facts() yields in that time; a thread that is late is left behind."""
    found = []

    def collect():
        for fact in facts():
            found.append(fact)

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[:]


def tell(canary):
    """As many as there is room for, and how many there was none for."""
    until = time.monotonic() + SECONDS
    asked = [f"--query-gpu={','.join(FIELDS)}", f"--query-gpu={','.join(LATER)}", f"--query-remapped-rows={','.join(REMAPPED)}"]
    tables = [fact for query in asked for fact in nvidia_facts(nvidia_smi(query, "--format=csv", until=until))]
    facts = [*tables, *nvlink_facts(nvidia_smi("nvlink", "--status", until=until)), *within(max(0, until - time.monotonic()), libtpu_facts)]
    room = max(0, FACTS - canary.facts_told)
    for name, value in facts[:room]:
        canary.fact(name, value)
    if facts[room:]:
        canary.note(f"{len(facts[room:])} of {len(facts)} facts that devices tell by themselves were left out: "
                    f"there is room for {FACTS} facts in all")
