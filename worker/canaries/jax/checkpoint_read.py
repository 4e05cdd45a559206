"""The checkpoint of the rung checkpoint-write, read by new processes onto another mesh; and torn copies of it, which must be refused.

Adds: a state that comes back where other devices need other parts of it. The mesh here is one axis over half of each host's devices (8 become
4), in the reverse order; with one device a host over all of them. Every number is compared, bit by bit, with what each host makes anew. Then
the host of rank 0 tears copies: a truncated file, a missing one, one that was never committed. It changes a bit as well: orbax keeps no sums of
what it wrote, so there the comparison has to find it. Shapes, dtypes and arguments: sliceup_saved.py.
"""

import shutil

import sliceup_jax
import sliceup_saved
from sliceup_canary import Failure

BEGUN = ".orbax-checkpoint-tmp"


def other_mesh(session):
    jax, hosts = session.jax, session.canary.world
    grid = session.mesh.devices.reshape(hosts, -1)
    return jax.sharding.Mesh(grid[::-1, :max(grid.shape[1] // 2, 1)].reshape(-1), ("all",))


def restored(session, ocp, state, path, mesh):
    """Of every array the numbers that are wrong on this host's devices."""
    try:
        with ocp.StandardCheckpointer() as reader:
            arrays = reader.restore(path, state.shapes(mesh))
    except Exception as error:  # noqa: BLE001 - orbax raises what it likes
        raise Failure("platform", f"the checkpoint in {path} is torn, orbax refuses it: {str(error.__cause__ or error)[:600]}") from error
    return {name: sum(sliceup_saved.differing(session.numpy, session.numpy.asarray(shard.data), state.values[name][shard.index])
                      for shard in array.addressable_shards) for name, array in arrays.items()}


def read_alone(session, ocp, state, path):
    """By this process without the others, whole; how many numbers are wrong."""
    alone = ocp.options.MultiprocessingOptions(primary_host=session.canary.rank, active_processes={session.canary.rank}, barrier_sync_key_prefix="alone")
    wanted = {name: ocp.RestoreArgs(restore_type=session.numpy.ndarray, dtype=value.dtype) for name, value in state.values.items()}
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(multiprocessing_options=alone), multiprocessing_options=alone) as reader:
        read = reader.restore(path, args=ocp.args.PyTreeRestore(restore_args=wanted))
    return sum(sliceup_saved.differing(session.numpy, session.numpy.asarray(read[name]), value) for name, value in state.values.items())


def largest(path):
    return max((file for file in path.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)


def truncated(path):
    file = largest(path)
    file.write_bytes(file.read_bytes()[:file.stat().st_size // 2])
    return path


def missing(path):
    largest(path).unlink()
    return path


def uncommitted(path):
    """As it is left by a writer that ended before the end: orbax writes beside the name, and renames."""
    return path.rename(path.with_name(path.name + BEGUN))


def changed(path):
    file = largest(path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return path


def torn(session, ocp, state, path):
    """What reading each torn copy comes to: "refused: ...", "differs" or "read"."""
    answers, folder = {}, path.with_name("torn")
    for tear in (truncated, missing, uncommitted, changed):
        copy = folder / tear.__name__
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was interrupted here
        shutil.copytree(path, copy)
        try:
            answers[tear.__name__] = "differs" if read_alone(session, ocp, state, tear(copy)) else "read"
        except Exception as error:  # noqa: BLE001 - orbax raises what it likes; that it raises is what is asked for
            answers[tear.__name__] = f"refused: {error}"[:300]
        shutil.rmtree(folder, ignore_errors=True)
    return answers


def body(session):
    canary, ocp = session.canary, sliceup_saved.orbax()
    state, path = sliceup_saved.State(session), sliceup_saved.folder(canary) / "state"
    if session.compile_only:
        return
    if not path.exists():
        raise absent(canary, path)
    canary.phase("read")
    mesh = other_mesh(session)
    for name, wrong in restored(session, ocp, state, path, mesh).items():
        canary.check(f"numbers of {name} that differ on a mesh of {mesh.size} of {session.mesh.size} devices", 0, wrong)
    if canary.rank == 0:
        canary.phase("tear")
        judge_torn(canary, ocp, torn(session, ocp, state, path))
    if canary.world > 1:
        canary.gate("torn", "agree", "")
    if canary.rank == 0:
        shutil.rmtree(path.parent, ignore_errors=True)


def absent(canary, path):
    begun = sorted(path.parent.glob("state" + BEGUN + "*"))
    if begun:
        return Failure("platform", f"the checkpoint in {begun[0]} was never committed: its writers ended before its end")
    if canary.attempt["attempt"] > 1:
        return Failure("launch", f"there is no {path}: an earlier attempt read it to its end and removed it, or a host does not see it; begin a new run")
    return Failure("launch", f"there is no {path}: the rung checkpoint-write comes before, in the same run; {sliceup_saved.remedy(canary)}")


def judge_torn(canary, ocp, answers):
    for name, answer in answers.items():
        told = answer.startswith("refused") or (name == "changed" and answer == "differs")
        canary.check(f"torn checkpoints ({name}) that were read without a word", 0, int(not told))
        canary.note(f"orbax {ocp.__version__}, checkpoint {name}: {answer}")


sliceup_jax.run(body)
