/* deal.h - secret integers for the reduction proof, one per host and attempt.
 *
 * Device i of a host contributes `secret + i` to the collective that reduces the metric. Rules that make the proof
 * exact: secrets are distinct multiples of devices_per_host, none is 0, and the sum over all devices stays below 2^24,
 * so that a float32 sum is exact in any order. A pure function of the seed: replay deals the same. */
#ifndef SLICEUP_COORDINATOR_VERDICT_DEAL_H
#define SLICEUP_COORDINATOR_VERDICT_DEAL_H

#include <stdbool.h>
#include <stdint.h>

/* Fills `secrets` for `hosts` hosts. False: more devices than can be told apart exactly; all secrets are then 0. */
bool deal_secrets (uint64_t seed, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[]);
/* 32 hex digits for one host's attempt: what its canary must say back. */
void deal_host_nonce (uint64_t seed, uint32_t host, char nonce[33]);

#endif
