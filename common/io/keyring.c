#include "common/io/keyring.h"

#include <assert.h>
#include <string.h>

#include "common/base/mem.h"

enum { NOBODY = UINT32_MAX };

struct slot {
    struct curve_key key;
    bool held;
    uint32_t version;
    uint32_t next; /* in its bucket's chain */
};

struct keyring {
    struct slot *slots;
    uint32_t slots_len;
    uint32_t *buckets;
    uint32_t mask;
};

/* A public key is as good as random already. */
static uint32_t *bucket_of (const struct keyring *ring, const struct curve_key *key)
{
    uint32_t start;
    memcpy (&start, key->bytes, sizeof start);
    return &ring->buckets[start & ring->mask];
}

struct keyring *keyring_make (uint32_t slots)
{
    assert (slots > 0 && slots <= UINT32_MAX / 4);
    uint32_t buckets = 1;
    while (buckets < 2 * slots)
        buckets *= 2;
    struct keyring *ring = mem_alloc (sizeof *ring);
    ring->slots = mem_array (slots, sizeof ring->slots[0]);
    ring->slots_len = slots;
    ring->buckets = mem_array (buckets, sizeof ring->buckets[0]);
    ring->mask = buckets - 1;
    memset (ring->buckets, 0xFF, buckets * sizeof ring->buckets[0]); /* NOBODY */
    return ring;
}

void keyring_free (struct keyring *ring)
{
    if (!ring)
        return;
    mem_free (ring->buckets);
    mem_free (ring->slots);
    mem_free (ring);
}

bool keyring_find (const struct keyring *ring, const struct curve_key *key, uint32_t *slot)
{
    uint32_t at = *bucket_of (ring, key);
    while (at != NOBODY && memcmp (ring->slots[at].key.bytes, key->bytes, sizeof key->bytes) != 0)
        at = ring->slots[at].next;
    if (at == NOBODY)
        return false;
    *slot = at;
    return true;
}

static void take (struct keyring *ring, uint32_t slot)
{
    struct slot *from = &ring->slots[slot];
    uint32_t *link = bucket_of (ring, &from->key);
    while (*link != slot)
        link = &ring->slots[*link].next;
    *link = from->next;
    from->held = false;
    from->version++;
}

void keyring_put (struct keyring *ring, uint32_t slot, const struct curve_key *key)
{
    uint32_t old;
    assert (slot < ring->slots_len);
    struct slot *to = &ring->slots[slot];
    if (keyring_find (ring, key, &old)) {
        if (old == slot)
            return; /* nothing changes: connections stay good */
        take (ring, old);
    }
    if (to->held)
        take (ring, slot);
    uint32_t *bucket = bucket_of (ring, key);
    to->key = *key;
    to->held = true;
    to->version++;
    to->next = *bucket;
    *bucket = slot;
}

uint32_t keyring_slot_version (const struct keyring *ring, uint32_t slot)
{
    assert (slot < ring->slots_len);
    return ring->slots[slot].version;
}
