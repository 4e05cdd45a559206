#include "coordinator/verdict/deal.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/rng.h"

enum { EXACT_SUM = 1 << 24, SLOTS_MAX = 1 << 16 }; /* float32 counts exactly to 2^24 */

static uint64_t permutation_sum (uint64_t hosts, uint64_t devices_per_host)
{
    return devices_per_host * devices_per_host * (hosts * (hosts + 1) / 2) +
           hosts * (devices_per_host * (devices_per_host - 1) / 2);
}

/* How many distinct secrets there are: slots 1 .. n. */
static uint32_t slots (uint32_t hosts, uint32_t devices_per_host)
{
    uint64_t devices = (uint64_t) hosts * devices_per_host;
    if (devices == 0 || devices >= EXACT_SUM)
        return 0;
    uint64_t device_max = EXACT_SUM / devices;
    if (device_max <= devices_per_host)
        device_max = devices_per_host;
    uint64_t n = (device_max - devices_per_host) / devices_per_host;
    if (n < hosts && permutation_sum (hosts, devices_per_host) < EXACT_SUM)
        n = hosts; /* a permutation of the smallest slots: its sum is known whatever the order */
    return n < SLOTS_MAX ? (uint32_t) n : SLOTS_MAX;
}

bool deal_secrets (uint64_t seed, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[])
{
    memset (secrets, 0, hosts * sizeof (secrets[0]));
    uint32_t n = slots (hosts, devices_per_host);
    if (n < hosts)
        return false;
    struct rng rng = rng_seed (seed);
    bool *taken = mem_array (n, sizeof (*taken));
    for (uint32_t host = 0; host < hosts; host++) {
        uint32_t slot = (uint32_t) rng_below (&rng, n);
        while (taken[slot])
            slot = (slot + 1) % n;
        taken[slot] = true;
        secrets[host] = (uint64_t) (slot + 1) * devices_per_host;
    }
    mem_free (taken);
    return true;
}

void deal_host_nonce (uint64_t seed, uint32_t host, char nonce[33])
{
    struct rng rng = rng_seed (rng_derive_seed (seed, host));
    unsigned long long high = rng_next (&rng), low = rng_next (&rng);
    snprintf (nonce, 33, "%016llx%016llx", high, low);
}
