"""A checkpoint that all hosts write together with orbax, for the rung checkpoint-read: new processes, on another mesh.

Adds: a state that leaves the processes. Each host writes the shards of its own devices into a folder that all share; orbax commits it when all
have. Shapes, dtypes and arguments: sliceup_saved.py.
"""

import time

import sliceup_jax
import sliceup_saved


def body(session):
    canary, ocp = session.canary, sliceup_saved.orbax()
    state = sliceup_saved.State(session)
    if session.compile_only:
        return
    path = sliceup_saved.shared_folder(canary)
    arrays = {name: session.array(value.shape, value.dtype, state.sharding(name, session.mesh), lambda index, value=value: value[index])
              for name, value in state.values.items()}
    canary.phase("write")
    began = time.monotonic()
    with ocp.StandardCheckpointer() as writer:
        writer.save(path / "state", arrays, force=True)
    took = time.monotonic() - began
    canary.check("checkpoints that are not committed", 0, int(not ocp.utils.is_checkpoint_finalized(path / "state")))
    size = sum(file.stat().st_size for file in (path / "state").rglob("*") if file.is_file())
    canary.fact("number.checkpoint.write_mbs", f"{size / took / 1e6:.3g}")
    canary.note(f"orbax {ocp.__version__} wrote {size} bytes to {path}")


sliceup_jax.run(body)
