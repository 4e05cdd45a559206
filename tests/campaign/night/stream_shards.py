"""Reads shards ahead with a few threads."""
import concurrent.futures
import hashlib
import evidence


def shard(number):
    return hashlib.sha256(b"%d" % number * 4096).hexdigest()


def main():
    evidence.now()
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as readers:
        digests = list(readers.map(shard, range(64)))
    print("64 shards, the last is", digests[-1][:12])


main()
