"""Runtime probe: the client starts, says what it has, and each device that a program can be given keeps the bytes it got.

Adds: a live client: devices, their kind and attributes, the runtime's version. Nothing is compiled, so it has no cold or
restored pass. Without SPMD, also where the profile asks for it: a virtual device has no kind and no memory of its own.
args: elements (1024): how many int32 go to each device and back.
"""

import json

import sliceup_torch_xla


def body(session):
    numpy, canary, client = session.numpy, session.canary, session.client
    canary.phase("run")
    canary.fact("runtime.kind", client.kind())
    canary.fact("runtime.version", client.platform_version())
    local, attributes = client.local(), client.attributes()
    for name in local:
        # No fact: coordinates differ from host to host, and facts are compared.
        canary.note(f"{name}: {json.dumps(attributes[sliceup_torch_xla.ordinal(name)], sort_keys=True, default=str)}", "recheck")
    # sent, back: (elements,) int32
    sent = numpy.arange(canary.args.get("elements", 1024), dtype=numpy.int32)
    for number, name in enumerate(local):
        back = session.torch.from_numpy(sent).to(f"xla:{number}").cpu().numpy()
        canary.check(f"bytes kept by device {name}", int(sent.sum()), int(back.sum()))


sliceup_torch_xla.run(body, spmd=False)
