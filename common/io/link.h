/* link.h - authenticated frames between coordinator, workers and monitors; the monitors' own end is
 * coordinator/monitor/events_client.c. The only home of libzmq.
 *
 * Knows hosts by rank and frames as bytes, no messages. CURVE is always on; only admitted keys pass our own ZAP handler
 * (its own thread, fail-closed, self-tested when the hub listens). One libzmq context per process. The thread that
 * opened a hub, spoke or peer uses it alone; nothing here blocks.
 *
 * Descriptors are edge-triggered (ZMQ_FD): after every event, and after every send, drain with *_receive until it
 * returns false, or call again soon without an event. */
#ifndef SLICEUP_COMMON_IO_LINK_H
#define SLICEUP_COMMON_IO_LINK_H

#include "common/base/text.h"
#include "common/io/process_capacity.h"
#include <stdbool.h>
#include <stdint.h>

/* An address and a port as libzmq takes them. */
enum { ENDPOINT_BYTES = 300 };
struct endpoint {
    char text[ENDPOINT_BYTES];
};
int endpoint_make (const char *address, uint16_t port, struct endpoint *out, struct err *err); /* port 0: any */
uint16_t endpoint_port (const struct endpoint *bound);
/* The address at which a client on this machine reaches a bound socket, also one bound to "any address". */
struct endpoint endpoint_for_local_client (const struct endpoint *bound);

enum { LINK_KEY_BYTES = 41 }; /* Z85: 40 characters and NUL */
struct link_keys {
    char public_key[LINK_KEY_BYTES];
    char secret_key[LINK_KEY_BYTES];
};
void link_keys_make (struct link_keys *keys);

enum { LINK_ADDRESS_BYTES = 64 };

enum link_channel { LINK_CONTROL, LINK_BULK, LINK_CHANNELS };

/* Largest frame of a monitor's question, and of an answer. */
enum { QUESTION_MAX_BYTES = 64, ANSWER_MAX_BYTES = 32 * 1024, LINK_ROUTING_ID_BYTES = 5 };
/* Limits on connections of monitors. One place is reserved for each of MONITOR_KEYS keys; the rest are for all, at most
 * MONITOR_PLACES_A_KEY a key. A place expires MONITOR_STAY_MS after its last question. */
enum { MONITOR_KEYS = 65, MONITOR_PLACES_A_KEY = 4, MONITOR_STAY_MS = 10000 };

/* ---- coordinator side: three ROUTERs: control, bulk, events ---- */
struct hub;
struct hub_options {
    const struct link_keys *keys;
    uint32_t hosts; /* ranks 0 .. hosts - 1 */
    uint32_t control_bytes_max, bulk_bytes_max;
};
/* What a hub needs of the process's limits; hub_open checks it. */
struct capacity_needs hub_capacity_needed (uint32_t hosts);
/* Opens no port: admit known keys first. libzmq 4.3.4 leaves a connection with a still unknown key open and mute until
 * its handshake times out (5 s, zap.c), and only then tries again. */
struct hub *hub_open (const struct hub_options *options, struct err *err);
struct hub_ports {
    const char *address;            /* to bind, e.g. "127.0.0.1" or "0.0.0.0" */
    uint16_t control, bulk, events; /* 0: any free one */
};
/* Call once. Opens the ports, whose numbers are known from now on, and proves on each that an unknown key is refused.
 * After a failure the hub can only be closed. */
int hub_listen (struct hub *hub, const struct hub_ports *ports, struct err *err);
void hub_close (struct hub *hub); /* lingers at most 2 s for what was sent */
uint16_t hub_port (const struct hub *hub, enum link_channel channel);
uint16_t hub_events_port (const struct hub *hub);
/* From now on only `public_key` speaks for host `rank`, and only for it; replaces the rank's earlier key. */
int hub_admit_worker (struct hub *hub, uint32_t rank, struct text public_key, struct err *err);
int hub_admit_monitor (struct hub *hub, struct text public_key, struct err *err);
int hub_fd (const struct hub *hub, enum link_channel channel);
/* The next frame. `*rank` is the host whose key the connection proved; `*bytes` lives until the next receive on this
 * channel. False: nothing there now. Frames of more than one part and of unknown peers are counted and dropped. */
bool hub_receive (struct hub *hub, enum link_channel channel, uint32_t *rank, struct text *bytes);
/* The IP address from which the worker of a host last spoke, also when it has left; empty: not known. */
const char *hub_worker_address (const struct hub *hub, uint32_t rank);
/* hub_receive returned false after a useless frame; more may wait. No event follows: call it again soon. */
bool hub_frames_remain (const struct hub *hub, enum link_channel channel);
/* False: the host is not connected, or its queue is full; the caller sends again later. */
bool hub_send (struct hub *hub, enum link_channel channel, uint32_t rank, const void *bytes, size_t len);
/* The next question of a monitor; the monitor then receives what is published for MONITOR_STAY_MS. */
struct hub_monitor {
    uint8_t id[LINK_ROUTING_ID_BYTES]; /* its connection, for the answer; valid while it is connected */
    uint32_t key;                      /* which of the admitted keys it proved */
};
int hub_events_fd (const struct hub *hub);
bool hub_receive_question (struct hub *hub, struct hub_monitor *from, struct text *bytes);
bool hub_questions_remain (const struct hub *hub); /* as hub_frames_remain */
/* False: errno EHOSTUNREACH: it disconnected; else its queue is full, and it will ask again. */
bool hub_answer (struct hub *hub, const struct hub_monitor *to, const void *bytes, size_t len);
/* Sends to all monitors that asked lately. Never blocks; slow monitors miss frames and notice it by the index
 * inside. */
void hub_publish (struct hub *hub, const void *bytes, size_t len);
struct hub_counts {
    uint64_t refused_handshakes, dropped_frames, unsent;
};
struct hub_counts hub_counts (const struct hub *hub);

/* ---- worker side: two DEALERs; bulk connects with the first frame that is sent there, and queues a few ---- */
struct spoke;
struct spoke_options {
    const char *address;
    uint16_t control_port, bulk_port;
    const char *hub_public_key;
    const struct link_keys *keys;
    uint32_t control_bytes_max, bulk_bytes_max;
};
struct spoke *spoke_open (const struct spoke_options *options, struct err *err);
void spoke_close (struct spoke *spoke, uint64_t linger_ms);
/* The coordinator is reached at other ports from now on. */
int spoke_move (struct spoke *spoke, const char *address, uint16_t control_port, uint16_t bulk_port, struct err *err);
int spoke_fd (const struct spoke *spoke, enum link_channel channel);
bool spoke_receive (struct spoke *spoke, enum link_channel channel, struct text *bytes);
bool spoke_frames_remain (const struct spoke *spoke, enum link_channel channel); /* as hub_frames_remain */
bool spoke_send (struct spoke *spoke, enum link_channel channel, const void *bytes, size_t len);

/* ---- between hosts: one listens, others ask it ---- */

/* The key of one that listens is made for it alone and is its secret: who was not told it can complete no handshake, and it
 * is never on a wire in clear. So it is told over links that are authenticated, to those that may ask. */
struct peer;
/* At any port of `address`, else of all IPv4 addresses. `bytes_max`: a frame coming in; at least 1,024 (handshake). */
struct peer *peer_listen (const char *address, uint32_t bytes_max, struct err *err);
struct peer *peer_connect (const char *address, uint16_t port, const char *public_key, uint32_t bytes_max,
                           struct err *err);
void peer_close (struct peer *peer); /* NULL is fine; drops what was not sent */
uint16_t peer_port (const struct peer *peer);
const char *peer_public_key (const struct peer *peer);
int peer_fd (const struct peer *peer);
bool peer_receive (struct peer *peer, struct text *bytes);
bool peer_frames_remain (const struct peer *peer); /* as hub_frames_remain */
/* One that listens sends to whoever sent what it received last. */
bool peer_send (struct peer *peer, const void *bytes, size_t len);

/* ---- curve keys ---- */

/* A CURVE key as text (Z85, 40 characters) and as bytes. Pure. */

enum { CURVE_KEY_BYTES = 32 };
struct curve_key {
    uint8_t bytes[CURVE_KEY_BYTES];
};
/* Each key has exactly one accepted spelling. The error does not repeat the text: it may be a secret. */
int curve_key_parse (struct text z85, struct curve_key *out, struct err *err);
/* Both parse, and the public one belongs to the secret one. */
int link_keys_check (const struct link_keys *keys, struct err *err);

#endif
