/* keyring.h - private to common/io: which key speaks for which slot (a rank, or a monitor's place).
 *
 * A slot has at most one key, a key at most one slot. Each change of a slot's key gives the slot a new generation, from
 * 1; 0: it never had one. Size fixed when made; finding looks at every slot, so a stranger's key costs no more than a
 * known one, and both little beside a handshake. Not thread-safe. */
#ifndef SLICEUP_COMMON_IO_KEYRING_H
#define SLICEUP_COMMON_IO_KEYRING_H
#include "common/io/curve_key.h"
#include <stdbool.h>
#include <stdint.h>
struct keyring;
struct keyring *keyring_make (uint32_t slots);
void keyring_free (struct keyring *ring);
void keyring_put (struct keyring *ring, uint32_t slot, const struct curve_key *key); /* takes it from another slot */
bool keyring_find (const struct keyring *ring, const struct curve_key *key, uint32_t *slot);
uint32_t keyring_slot_version (const struct keyring *ring, uint32_t slot);
#endif
