/* sender.h - sends this worker's messages: gives each its envelope, a number and its bytes on the wire.
 *
 * An unsendable message is lost; the member sends it again until answered. Only a HELLO before the connection exists is
 * kept and tried again. It decides nothing and receives nothing. Borrows what it is given. Main thread only. */
#ifndef SLICEUP_WORKER_RUN_SENDER_H
#define SLICEUP_WORKER_RUN_SENDER_H

#include "common/io/log.h"
#include "worker/core/member.h"
#include "worker/run/join.h"

struct sender {
    const struct join_config *join;
    const struct log *log;
    struct spoke *spoke; /* set once, with the member, before anything is sent */
    const struct member *member;
    struct buf bytes;
    struct buf hello; /* one that could not be sent yet; empty: none */
    uint64_t hello_at_ms, hello_wait_ms;
    uint64_t session, seq; /* seq counts within a session */
};

void sender_init (struct sender *sender, const struct join_config *join, const struct log *log);
void sender_release (struct sender *sender);
/* False: it is lost. */
bool sender_send_or_lose (struct sender *sender, enum link_channel channel, struct msg *msg);
/* Over the control channel; a HELLO that is not sent is tried again by sender_poll. */
void sender_send_control (struct sender *sender, struct msg *msg);
void sender_poll (struct sender *sender, uint64_t now_ms);
uint64_t sender_deadline_ms (const struct sender *sender); /* UINT64_MAX: none */

#endif
