#include "coordinator/verdict/deal.h"

#include <stdio.h>
#include <string.h>

#include "common/base/mem.h"

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

static struct digest deal_draw (const struct digest *key, const char *what, uint32_t a, uint32_t b, uint32_t c)
{
    char message[64];
    snprintf (message, sizeof message, "%s %u %u %u", what, (unsigned) a, (unsigned) b, (unsigned) c);
    return digest_hmac (key, text_of (message));
}

struct digest deal_pass_key (const struct digest *run_key, const struct attempt_key *pass)
{
    return deal_draw (run_key, "pass", pass->rung, pass->pass, pass->attempt);
}

/* 64 bits for at most 2^16 slots: none comes up more often than another by more than 2^-48. */
static uint32_t deal_slot (const struct digest *pass_key, uint32_t host, uint32_t slots)
{
    struct digest drawn = deal_draw (pass_key, "secret", host, 0, 0);
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number; i++)
        number = number << 8 | drawn.bytes[i];
    return (uint32_t) (number % slots);
}

bool deal_secrets (const struct digest *pass_key, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[])
{
    memset (secrets, 0, hosts * sizeof (secrets[0]));
    uint32_t n = slots (hosts, devices_per_host);
    if (n < hosts)
        return false;
    bool *taken = mem_array (n, sizeof (*taken));
    for (uint32_t host = 0; host < hosts; host++) {
        uint32_t slot = deal_slot (pass_key, host, n);
        while (taken[slot])
            slot = (slot + 1) % n;
        taken[slot] = true;
        secrets[host] = (uint64_t) (slot + 1) * devices_per_host;
    }
    mem_free (taken);
    return true;
}

void deal_host_nonce (const struct digest *pass_key, uint32_t host, char nonce[33])
{
    struct digest drawn = deal_draw (pass_key, "nonce", host, 0, 0);
    char hex[DIGEST_HEX_BYTES];
    snprintf (nonce, 33, "%.32s", digest_hex (&drawn, hex));
}
