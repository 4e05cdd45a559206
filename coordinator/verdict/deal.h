/* deal.h - what a pass tells each host alone: a secret integer for the reduction proof, and the nonce of its attempt.
 *
 * Device i of a host contributes `secret + i` to the collective that reduces the metric. Rules that make the proof
 * exact: secrets are distinct multiples of devices_per_host, none is 0, and the sum over all devices stays below 2^24,
 * so that a float32 sum is exact in any order.
 *
 * Everything is HMAC-SHA256 under a key that stays with the coordinator, and whoever resumes the run: what one host is
 * told says nothing of what another one is, or of any other pass. */
#ifndef SLICEUP_COORDINATOR_VERDICT_DEAL_H
#define SLICEUP_COORDINATOR_VERDICT_DEAL_H

#include "common/base/digest.h"
#include "common/model/result.h"

/* The key of one pass, below that of the run. */
struct digest deal_pass_key (const struct digest *run_key, const struct attempt_key *pass);
/* Fills `secrets` for `hosts` hosts. False: more devices than can be told apart exactly; all secrets are then 0. */
bool deal_secrets (const struct digest *pass_key, uint32_t hosts, uint32_t devices_per_host, uint64_t secrets[]);
/* 32 hex digits for one host's attempt: what its canary must say back. */
void deal_host_nonce (const struct digest *pass_key, uint32_t host, char nonce[33]);

#endif
