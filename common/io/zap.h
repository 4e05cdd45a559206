/* zap.h - private to common/io: admits connections: the process's one ZAP handler (RFC 27), on its own thread.
 *
 * It answers from memory: no file, no allocation, bounded work a request. Two domains with a keyring each; a key has
 * one role. User-Id of a connection is "<rank>.<generation>", or a monitor's number in place of the rank; so frames of
 * a replaced key on an old connection can be told apart. Call all functions on the thread that opened it; a mutex
 * guards what the handler shares. */
#ifndef SLICEUP_COMMON_IO_ZAP_H
#define SLICEUP_COMMON_IO_ZAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/io/curve_key.h"
#include "common/io/socket.h"

#define ZAP_WORKERS "workers"
#define ZAP_MONITORS "monitors"
enum { ZAP_SOCKETS_MAX = 3, ZAP_MONITORS_MAX = 1024, ZAP_USER_BYTES = 24 };

struct zap;
/* Binds the handler; call it before opening sockets that need it; refused while another hub of this process has one. */
struct zap *zap_open (void *context, uint32_t workers, struct err *err);
/* Counts failed handshakes on `socket`, which is not bound yet. Call it before zap_start. */
int zap_watch_failures (struct zap *zap, void *socket, struct err *err);
int zap_start (struct zap *zap, struct err *err);
void zap_close (struct zap *zap);

int zap_admit_worker (struct zap *zap, uint32_t rank, const struct curve_key *key, struct err *err);
int zap_admit_monitor (struct zap *zap, const struct curve_key *key, struct err *err);
uint32_t zap_worker_key_version (const struct zap *zap, uint32_t rank); /* 0: nobody was ever admitted */
bool zap_parse_user (const char *user, uint32_t *rank, uint32_t *generation);

uint64_t zap_failures (struct zap *zap); /* failed handshakes, without the decoy's */
/* Waits, not for long, until that many listening sockets are closed and their ports free again. */
void zap_wait_ports_free (struct zap *zap, uint32_t listeners);

/* ---- keyring ---- */

/* Which key speaks for which slot (a rank, or a monitor's place).
 *
 * A slot has at most one key, a key at most one slot. Each change of a slot's key gives the slot a new generation, from
 * 1; 0: it never had one. Size fixed when made; a search visits every slot, so an unknown key costs as much as a known
 * one, little beside a handshake. Not thread-safe. */

struct keyring;
struct keyring *keyring_make (uint32_t slots);
void keyring_free (struct keyring *ring);
void keyring_put (struct keyring *ring, uint32_t slot, const struct curve_key *key); /* takes it from another slot */
bool keyring_find (const struct keyring *ring, const struct curve_key *key, uint32_t *slot);
uint32_t keyring_slot_version (const struct keyring *ring, uint32_t slot);

/* ---- zap self test ---- */

/* Tests that a new socket refuses an unknown key, before it is used. */

/* Connects to `bound` with a throw-away key. 0: our own handler refused it. -1: anything else. Waits at most 10 s,
 * because the workers of a restarted coordinator connect at the same time. */
int zap_self_test (void *context, int client_type, const struct endpoint *bound, const char *server_public_key,
                   struct zap *zap, struct err *err);

#endif
