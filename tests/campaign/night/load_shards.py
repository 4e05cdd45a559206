"""Loads its shards into memory."""
import evidence

held = []
for shard in range(80):
    evidence.now(again=True)
    held.append(bytearray(b"\x01") * (10 << 20))
    if shard % 10 == 0:
        print("loading shard", shard)
print("loaded", len(held))
