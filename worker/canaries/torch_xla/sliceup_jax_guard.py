"""Refuses the import of jax until torch_xla has its client: whoever makes the first client has the devices of a TPU.

torch_xla's own use of jax makes its client before it imports jax (pytorch/xla:torch_xla/core/xla_builder.py, jax_import_guard); on
CPU the order changes nothing (seen with 2.7.0 and 2.9.0).
"""

import sys

import sliceup_canary

FIRST = ("jax was imported before torch_xla made its client: on a TPU it may take the devices, and torch_xla waits for them. Make torch_xla's "
         "first device (torch_xla.device()) before anything imports jax")


class Guard:
    """A finder of sys.meta_path that is asked first. Whoever only looks whether jax is there is told; who imports it is refused."""

    def find_spec(self, name, path=None, target=None):
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")] if name == "jax" else []
        spec = next((spec for spec in (finder.find_spec(name, path, target) for finder in others) if spec), None)
        if spec:
            spec.loader = self
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        raise sliceup_canary.Failure("launch", FIRST)

    def refuse_loaded(self):
        """What came before the guard itself."""
        if "jax" in sys.modules:
            raise sliceup_canary.Failure("launch", FIRST)

    def open(self):
        """The client is there."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def tell_early(kind, error, trace):
    """A refusal while the canary's file is still read: the worker waits for the first line, and connect() has not been called."""
    if not isinstance(error, sliceup_canary.Failure):
        return sys.__excepthook__(kind, error, trace)

    def again(canary):
        raise error

    return sliceup_canary.run(again)


def install():
    guard = Guard()
    sys.meta_path.insert(0, guard)
    sys.excepthook = tell_early
    return guard
