"""A checkpoint of one host: each shard that its devices hold in a file of its own, and a manifest that names them all.

A file is written beside its name, brought to the disk and renamed, and the manifest comes last: what can be read was
written whole. Reading holds every file against its sha256.
"""

import hashlib
import json
import os
import pathlib

from sliceup_canary import Failure

MANIFEST = "manifest.json"


def write(folder, shards):
    """shards: (name, index, array): index a tuple of (start, stop). Returns how many bytes they have."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    entries, size = [], 0
    for number, (name, index, array) in enumerate(shards):
        content = array.tobytes()
        put(folder / f"{number}.bin", content)
        size += len(content)
        entries.append({"name": name, "index": index, "dtype": str(array.dtype), "shape": array.shape,
                        "file": f"{number}.bin", "sha256": hashlib.sha256(content).hexdigest()})
    put(folder / MANIFEST, json.dumps({"shards": entries}, indent=1).encode())
    return size


def put(path, content):
    beside = path.with_name(f".{path.name}")
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def read(numpy, folder):
    """(name, index) -> array, of every shard in the manifest."""
    folder, found = pathlib.Path(folder), {}
    for entry in json.loads((folder / MANIFEST).read_text())["shards"]:
        content = (folder / entry["file"]).read_bytes()
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise Failure("host", f"{folder / entry['file']}: its sha256 differs from the manifest: "
                          "this disk does not return what was written to it")
        array = numpy.frombuffer(content, entry["dtype"]).reshape(entry["shape"])
        found[entry["name"], tuple(tuple(part) for part in entry["index"])] = array
    return found
