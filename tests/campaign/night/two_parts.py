"""Reads its part, writes its index."""
import gzip
import os
import zlib
import evidence

try:
    with gzip.open("/srv/parts/part.gz") as part:
        rows = part.read().count(b"\n")
    with open("/media/index/rows", "w") as out:
        out.write(f"{rows}\n")
except (OSError, EOFError, zlib.error):
    evidence.now()
    raise
print(rows, "rows", os.path.getsize("/media/index/rows"))
