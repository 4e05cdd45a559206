"""Runtime probe: the backend starts, and each local device keeps the bytes it was given.

Adds: a live device. Nothing is compiled, so it has no cold or restored pass.
args: elements (1024): how many int32 go to each device and back.
"""

import sliceup_jax


def body(session):
    jax, numpy, canary = session.jax, session.numpy, session.canary
    canary.phase("run")
    # sent, back: (elements,) int32
    sent = numpy.arange(canary.args.get("elements", 1024), dtype=numpy.int32)
    for device in jax.local_devices():
        back = numpy.asarray(jax.device_put(sent, device))
        canary.check(f"bytes kept by device {device.id}", int(sent.sum()), int(back.sum()))
    peak = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    if peak is not None:
        canary.fact("device.peak_bytes", peak)


sliceup_jax.run(body)
