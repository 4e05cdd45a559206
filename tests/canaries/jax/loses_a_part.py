"""all_reduce.py on a slice whose sums lose a part: of arrays above `above` floats the last element is the device's own.

args: above. It stands for a library of collectives that is wrong for one size and right for others.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lab  # noqa: E402

lab.helpers("jax")
import sliceup_jax  # noqa: E402


class Session(sliceup_jax.Session):
    def __init__(self, canary):
        super().__init__(canary)
        whole, above = self.jax.lax.psum, canary.args["above"]
        self.jax.lax.psum = lambda x, axes: whole(x, axes).at[-1].set(x[-1]) if x.size > above else whole(x, axes)


sliceup_jax.Session = Session
import all_reduce  # noqa: E402,F401
