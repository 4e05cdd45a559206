"""A program of the slice: compiled, agreed on by all hosts, and then executed."""

import hashlib
import os
import sys

FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def fingerprint(core, outputs):
    """Of the program that would give these lazy tensors, with the shardings of its arguments; nothing runs yet."""
    return hashlib.sha256(core._get_xla_tensors_hlo(list(outputs)).encode()).hexdigest()


class Program:
    """One compiled program that has passed the program gate.

    sync() would compile and execute at once. This is the way of torch.compile: look up the graph by its hash, compile it
    without executing, and run what was compiled with the tensors that it was traced with.
    """

    def __init__(self, session, name, outputs):
        canary, core = session.canary, session.client.core
        self.session, self.core = session, core
        canary.phase("trace")
        digest = fingerprint(core, outputs)
        canary.program(name, digest)
        canary.phase("compile")
        self.hash = core._get_graph_hash(outputs)
        _, self.inputs = core._get_tensors_xla_device_data_node(outputs)
        core._xla_warm_up_cache(outputs, [])
        session.programs += 1
        # Last before execution: all hosts have compiled, none waits on a device for another's compiler.
        if canary.world > 1:
            # A gate opens once in an attempt, so each program has one of its own.
            gate = "program" if session.programs == 1 else f"program {session.programs}"
            canary.gate(gate, "agree", identity(digest))
        canary.phase("run")

    def __call__(self):
        """Executes and waits for the result; a counted execution has really ended."""
        results = self.core._run_cached_graph(self.hash, self.inputs)
        self.core._xla_wait_device_ops([])
        # The traced tensors have no values and never will: left alone, the next sync would compile them again.
        self.core._clear_pending_irs(str(self.session.client.device))
        return results


def identity(digest):
    """What the gate compares: the program, and the flags by which the same program becomes another executable."""
    words = [word for name in FLAGS for word in os.environ.get(name, "").split()]
    words += [word for word in sys.argv if word.startswith("--xla")]
    return hashlib.sha256("\n".join([digest, *sorted(set(words))]).encode()).hexdigest()
