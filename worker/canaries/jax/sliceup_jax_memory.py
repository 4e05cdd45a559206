"""Device memory of a program: what the compiler laid out before anything ran, and what the runtime counted."""

# Of one device. What is donated appears as argument and as output, and is there once: the aliased bytes come off.
PARTS = ("argument", "output", "temp", "generated_code")


def predicted_bytes(compiled):
    """0 where the backend does not report it, or reports it only for executables that did not come from a cache."""
    try:
        analysis = compiled.memory_analysis()
    except Exception:  # noqa: BLE001 - a figure that is not there fails no rung; backends raise what they like
        return 0
    if analysis is None:
        return 0
    whole = sum(getattr(analysis, f"{part}_size_in_bytes", 0) for part in PARTS)
    return max(int(whole - getattr(analysis, "alias_size_in_bytes", 0)), 0)


def peak_bytes(devices):
    """The peak of the device that needed most; 0 where the backend does not count: as on CPU, or -1 from a plugin that does not say."""
    return max(0, *(int(stats(device).get("peak_bytes_in_use", 0)) for device in devices))


def stats(device):
    try:
        return device.memory_stats() or {}
    except Exception:  # noqa: BLE001 - as above
        return {}
