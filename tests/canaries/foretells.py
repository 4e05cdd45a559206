"""A liar that works out what the others were told, from its own `attempt` line alone: it inverts splitmix64, as which
nonces and secrets were once drawn. It computes nothing and talks to nobody, and yet it has the sums of all secrets."""

import lab

lab.helpers("plain")
import sliceup_plain  # noqa: E402

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
FACTORS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(z):
    z = (z ^ (z >> 30)) * FACTORS[0] & MASK
    z = (z ^ (z >> 27)) * FACTORS[1] & MASK
    return z ^ (z >> 31)


def unshifted(z, bits):
    out = z
    for _ in range(64 // bits):
        out = z ^ (out >> bits)
    return out


def unmixed(z):
    z = unshifted(z, 31) * pow(FACTORS[1], -1, 1 << 64) & MASK
    z = unshifted(z, 27) * pow(FACTORS[0], -1, 1 << 64) & MASK
    return unshifted(z, 30)


def parent_of(seed, purpose):
    return unmixed(unmixed(seed) ^ mixed((~purpose + 2 * GAMMA) & MASK) * GAMMA & MASK) - GAMMA & MASK


def seed_of_pass(attempt, host):
    """`high` is the first number of a generator that was begun for this host, below the seed of the pass."""
    return parent_of(unmixed(int(attempt["nonce"][:16], 16)) - GAMMA & MASK, host)


def secrets_below(seed, hosts, devices):
    slots = min(((1 << 24) // (hosts * devices) - devices) // devices, 1 << 16)
    taken = []
    for turn in range(hosts):
        slot = mixed(seed + (turn + 1) * GAMMA & MASK) % slots
        while slot in taken:
            slot = (slot + 1) % slots
        taken.append(slot)
    return [(slot + 1) * devices for slot in taken]


def body(canary):
    sliceup_plain.start(canary)
    attempt = canary.attempt
    hosts, devices = attempt["world"], attempt["devices_per_host"]
    secrets = secrets_below(seed_of_pass(attempt, attempt["rank"]), hosts, devices)
    proof = sum(secret + device for secret in secrets for device in range(devices))
    shards = [{"local": 7.0, "weight": 1.0, "value": 7.0, "proof": float(proof)} for _ in range(devices)]
    canary.phase("run")
    canary.metric("loss", "mean", canary.axes, 7.0, shards)
    sliceup_plain.finish(canary)


sliceup_plain.run(body)
