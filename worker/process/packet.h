/* packet.h - sends one record a packet, over a pair of SEQPACKET sockets between two processes of the worker.
 *
 * The kernel keeps packets whole and in order. The receiver distrusts the sender as wire.h does, because others that
 * have the descriptor may write anything. Any thread; no state. */
#ifndef SLICEUP_WORKER_PROCESS_PACKET_H
#define SLICEUP_WORKER_PROCESS_PACKET_H

#include "common/base/err.h"
#include "common/model/record.h"

enum { PACKET_BYTES_MAX = 32 * 1024 };

enum packet {
    PACKET_NONE, /* none now */
    PACKET_OVER, /* none any more: the other end is closed */
    PACKET_RECORD,
    PACKET_REFUSED, /* not such a record, or too long */
};

/* Waits for room, and raises no SIGPIPE. Errors name the record. */
int packet_send (int fd, const struct record *record, const void *value, struct err *err);
/* Never waits. RECORD and REFUSED: `*raw` are the bytes, cut to PACKET_BYTES_MAX. Both live in the arena. */
enum packet packet_receive (int fd, const struct record *record, void *out, struct text *raw, struct arena *arena);

#endif
