/* socket.h - private to common/io: the one libzmq context of this process, and sockets with every option set before
 * they bind or connect.
 *
 * The caller owns what is opened, uses it on one thread, and closes it with socket_close before context_release. */
#ifndef SLICEUP_COMMON_IO_SOCKET_H
#define SLICEUP_COMMON_IO_SOCKET_H

#include "common/io/link.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

/* One context, since several with CURVE can crash one another in libzmq 4.3.4, and inproc names (the ZAP handler's)
 * belong to one. Hubs and spokes hold it while they have sockets; the last release waits for lingering ones. Any
 * thread. After fork the child must not touch what the parent holds. */
void *context_hold (struct err *err);
void context_release (void);

enum { CONTROL_QUEUE_MAX = 256, BULK_QUEUE_MAX = 64 }; /* messages, in each direction */
enum { CLOSE_LINGER_MS = 2000 };
/* Useless messages that are dropped at a time: a peer that sends them without end must not hold up the loop. */
enum { USELESS_AT_ONCE = 64 };

struct socket_kind {
    int type; /* ZMQ_ROUTER, ... */
    int queue_max;
    uint32_t bytes_max;    /* of one frame coming in */
    int handshake_more_ms; /* beside what every handshake may take: where many come at once */
};
/* A side that binds: CURVE server; the ZAP handler decides under `domain` who may connect. No domain: whoever knows its
 * public key, without which CURVE's first message cannot be made (RFC 26); nobody, in a process that has a hub. */
void *socket_open_server (void *context, const struct socket_kind *kind, const char *domain,
                          const struct link_keys *keys, struct err *err);
/* A side that connects, and connects again for ever. */
void *socket_open_client (void *context, const struct socket_kind *kind, const char *server_public_key,
                          const struct link_keys *keys, struct err *err);
void socket_close (void **socket, uint64_t linger_ms); /* *socket may be NULL already */

int socket_bind (void *socket, const struct endpoint *at, struct endpoint *bound, struct err *err);
int socket_connect (void *socket, const struct endpoint *to, struct err *err);
int socket_fd (void *socket);
/* Receives one part without waiting. False: nothing there; errno has the reason. Everything else is a bug. */
bool socket_receive (void *socket, zmq_msg_t *part);
bool socket_send (void *socket, const void *bytes, size_t len, int flags);
void socket_skip_parts (void *socket, zmq_msg_t *part); /* the rest of a message whose last part read is `part` */

/* ---- handshake ---- */

/* Reads the events of a socket's handshakes and listeners from libzmq
 * (zmq_socket_monitor). For counting and for the self-test; never for deciding who is alive. */

/* A PAIR that receives the `wanted` ZMQ_EVENT_* of `socket`; call it before bind or connect; close it with
 * socket_close. Keep reading it: the thread that sends into it is libzmq's only one. */
void *handshake_watch (void *context, void *socket, int wanted, struct err *err);
bool handshake_read (void *events, uint16_t *event, uint32_t *value); /* false: none now */

/* ---- zap.c: private to common/io: admits connections: the process's one ZAP handler (RFC 27), on its own thread ----
 *
 * It answers from memory: no file, no allocation, bounded work a request. Two domains with a keyring each; a key has
 * one role. User-Id of a connection is "<rank>.<generation>", or a monitor's number in place of the rank; so frames of
 * a replaced key on an old connection can be told apart. Call all functions on the thread that opened it; a mutex
 * guards what the handler shares. */

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
