"""What devices tell by themselves of their load and health, as facts with their source in the name.

nvidia-smi.GPU.FIELD: of one call of the command. libtpu-sdk.METRIC: of libtpu's own module. Where neither is here nothing is told,
and a field that is not supported is left out: absent is never zero. What they print is another program's: bounded and checked.
Xid errors are not among what nvidia-smi may be asked for; the kernel's log has them.
"""

import subprocess

FIELDS = ("index", "utilization.gpu", "utilization.memory", "memory.used", "memory.total", "temperature.gpu", "power.draw",
          "clocks.sm", "clocks_throttle_reasons.active", "ecc.errors.uncorrected.volatile.total")
METRICS = ("duty_cycle_pct", "tensorcore_util", "hbm_capacity_total", "hbm_capacity_usage", "tpu_throttle_score", "ici_link_health")
SECONDS, BYTES, DEVICES = 10, 1 << 16, 16


def nvidia_smi(command="nvidia-smi"):
    """What it prints; "": it is not here, fails or hangs. A driver that does not know a field refuses all of them."""
    try:
        ended = subprocess.run([command, f"--query-gpu={','.join(FIELDS)}", "--format=csv"], capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout[:BYTES].decode("utf-8", "replace") if ended.returncode == 0 else ""


def is_value(word):
    """"[N/A]", "[Not Supported]" and "[Unknown Error]" are none."""
    return bool(word) and len(word) <= 64 and word.isascii() and word.isprintable() and word != "N/A" and not word.startswith("[")


def nvidia_facts(text):
    """(name, value) of CSV with a header: "utilization.gpu [%]" names the unit, which stands behind the value as well."""
    lines = [[word.strip() for word in line.split(",")] for line in text.splitlines()]
    header = [word.partition(" ")[0] for word in lines[0]] if lines else []
    if "index" not in header:
        return
    for row in lines[1:DEVICES + 1]:
        gpu = row[header.index("index")] if len(row) == len(header) else ""
        if not gpu.isdecimal() or not gpu.isascii() or len(gpu) > 3:
            continue
        for name, value in zip(header, row):
            if name in FIELDS[1:] and is_value(value):
                yield f"nvidia-smi.{gpu}.{name}", value


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


def tell(canary):
    for name, value in [*nvidia_facts(nvidia_smi()), *libtpu_facts()]:
        canary.fact(name, value)
