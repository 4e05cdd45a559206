"""Says again what canaries of torch_xla 2.7.0 said on four CPU devices of one process, run by hand (secret 1000), with this attempt's
secret. args: which (proved: collective.py; local: values of mesh_reduce under SPMD; reads: a loop that reads in each step)."""

import json

import lab

lab.helpers("plain")
import sliceup_canary  # noqa: E402

SECRET = 1000
BEGIN = """
{"type":"backend","platform":"cpu","platform_version":"built into torch_xla 2.7.0 (d5871fc44222)","device_kind":"cpu","devices":4,"local_devices":4,"process_count":1,"process_index":0,"kernel_path":"native"}
"""
PROVED = BEGIN + """
{"type":"metric","name":"loss","reduction":"mean","axes":["host"],"scope":"global","value":0.6428571428571429,"shards":[{"value":0.6428571428571429,"proof":4006.0,"local":0.25,"weight":1.0},{"value":0.6428571428571429,"proof":4006.0,"local":0.5,"weight":2.0},{"value":0.6428571428571429,"proof":4006.0,"local":0.75,"weight":3.0},{"value":0.6428571428571429,"proof":4006.0,"local":1.0,"weight":1.0}]}
{"type":"counters","values":{"compile_requests":1,"cache_hits":0,"cache_misses":1,"executions":1,"compile_ms":177,"retrieval_ms":0,"saved_ms":0,"ExecuteTime":0,"ExecuteReplicatedTime":1,"TransferFromDeviceTime":1,"aten::_local_scalar_dense":0,"UncachedCompile":1,"CompileTime":1}}
"""
LOCAL = BEGIN + """
{"type":"metric","name":"loss","reduction":"mean","axes":["host"],"scope":"global","value":1.0,"shards":[{"value":1.0,"proof":1000.0,"local":1.0,"weight":1.0},{"value":2.0,"proof":1001.0,"local":2.0,"weight":1.0},{"value":3.0,"proof":1002.0,"local":3.0,"weight":1.0},{"value":4.0,"proof":1003.0,"local":4.0,"weight":1.0}]}
{"type":"counters","values":{"compile_requests":3,"cache_hits":0,"cache_misses":3,"executions":9,"compile_ms":875,"retrieval_ms":0,"saved_ms":0,"ExecuteTime":0,"ExecuteReplicatedTime":9,"TransferFromDeviceTime":24,"aten::_local_scalar_dense":16,"CachedCompile":6,"UncachedCompile":3,"MarkStep":14,"CompileTime":3}}
"""
READS = BEGIN + """
{"type":"counters","values":{"compile_requests":1,"cache_hits":0,"cache_misses":1,"executions":5,"compile_ms":368,"retrieval_ms":0,"saved_ms":0,"ExecuteTime":0,"ExecuteReplicatedTime":5,"TransferFromDeviceTime":5,"aten::_local_scalar_dense":0,"CachedCompile":4,"UncachedCompile":1,"MarkStep":6,"CompileTime":1}}
{"type":"failure","layer":"program","text":"values were read 5 times in 5 steps, expected at most 1: each read waits for the device; keep values on it and read them every so many steps"}
"""


def main(canary):
    for line in {"proved": PROVED, "local": LOCAL, "reads": READS}[canary.args["which"]].split("\n"):
        message = json.loads(line) if line else None
        for shard in (message or {}).get("shards", ()):
            shard["proof"] += shard["proof"] // SECRET * (canary.attempt["secret"] - SECRET)
        if message:
            canary.failed = canary.failed or message["type"] == "failure"
            canary.say(message.pop("type"), **message)


sliceup_canary.run(main)
