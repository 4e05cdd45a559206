#include "common/io/keyring.h"

#include <assert.h>
#include <string.h>

#include "common/base/mem.h"

struct keyring {
    uint32_t n;
    struct keyring_slot {
        struct curve_key key;
        bool held;
        uint32_t version;
    } slots[];
};

struct keyring *keyring_make (uint32_t slots)
{
    assert (slots > 0);
    struct keyring *ring = mem_alloc (sizeof *ring + slots * sizeof ring->slots[0]);
    ring->n = slots;
    return ring;
}

void keyring_free (struct keyring *ring)
{
    mem_free (ring);
}

bool keyring_find (const struct keyring *ring, const struct curve_key *key, uint32_t *slot)
{
    for (uint32_t i = 0; i < ring->n; i++)
        if (ring->slots[i].held && memcmp (ring->slots[i].key.bytes, key->bytes, sizeof key->bytes) == 0) {
            *slot = i;
            return true;
        }
    return false;
}

void keyring_put (struct keyring *ring, uint32_t slot, const struct curve_key *key)
{
    uint32_t old;
    assert (slot < ring->n);
    bool known = keyring_find (ring, key, &old);
    if (known && old == slot)
        return; /* nothing changes: connections stay good */
    if (known) {
        ring->slots[old].held = false;
        ring->slots[old].version++;
    }
    ring->slots[slot] = (struct keyring_slot){ *key, true, ring->slots[slot].version + 1 };
}

uint32_t keyring_slot_version (const struct keyring *ring, uint32_t slot)
{
    assert (slot < ring->n);
    return ring->slots[slot].version;
}
