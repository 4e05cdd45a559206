"""Does everything right and then says done with another attempt's nonce."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402


def body(canary):
    sliceup_plain.start(canary)
    canary.phase("run")
    sliceup_plain.finish(canary)
    canary.attempt["nonce"] = "0" * 32


sliceup_plain.run(body)
