#include "worker/run/sender.h"

#include "common/io/clock.h"
#include "common/wire/wire.h"

enum { HELLO_FIRST_MS = 10, HELLO_MOST_MS = 500 }; /* waits before a HELLO that could not be sent is tried again */

void sender_init (struct sender *sender, const struct join_config *join, const struct log *log)
{
    *sender = (struct sender){ .join = join, .log = log };
    buf_init (&sender->bytes, MSG_MAX_BYTES);
    buf_init (&sender->hello, MSG_MAX_BYTES);
}

void sender_release (struct sender *sender)
{
    buf_release (&sender->hello);
    buf_release (&sender->bytes);
}

/* One count for both sockets: whoever watches the numbers sees them rise, whichever way a message took. */
static void address (struct sender *sender, struct msg *msg)
{
    uint64_t session = member_session (sender->member);
    if (session != sender->session)
        sender->seq = 0;
    sender->session = session;
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ (const char *) sender->join->run_id, RUN_ID_BYTES };
    msg->epoch = member_epoch (sender->member);
    msg->session = session;
    msg->seq = ++sender->seq;
    msg->ack = member_seen_seq (sender->member);
}

bool sender_send_or_lose (struct sender *sender, enum link_channel channel, struct msg *msg)
{
    address (sender, msg);
    buf_clear (&sender->bytes);
    wire_put_msg (&sender->bytes, msg);
    if (sender->bytes.overflow) {
        log_print (sender->log, "message %s of more than %d bytes was not sent", msg_name (msg->kind), MSG_MAX_BYTES);
        return false;
    }
    return spoke_send (sender->spoke, channel, sender->bytes.ptr, sender->bytes.len);
}

static void keep_hello (struct sender *sender, uint64_t now_ms)
{
    buf_clear (&sender->hello);
    buf_add (&sender->hello, sender->bytes.ptr, sender->bytes.len);
    sender->hello_wait_ms = HELLO_FIRST_MS;
    sender->hello_at_ms = now_ms + sender->hello_wait_ms;
}

void sender_send_control (struct sender *sender, struct msg *msg)
{
    bool sent = sender_send_or_lose (sender, LINK_CONTROL, msg);
    if (msg->kind == MSG_HELLO)
        buf_clear (&sender->hello);
    if (sent)
        return;
    /* Not sent is like lost: the member says everything again until it is answered. */
    log_detail (sender->log, "message %s was not sent", msg_name (msg->kind));
    if (msg->kind == MSG_HELLO)
        keep_hello (sender, clock_boot_ms ());
}

/* The first HELLO comes before the connection is made; the member's next one would cost each join a second. */
void sender_poll (struct sender *sender, uint64_t now_ms)
{
    if (sender->hello.len == 0 || now_ms < sender->hello_at_ms)
        return;
    if (spoke_send (sender->spoke, LINK_CONTROL, sender->hello.ptr, sender->hello.len)) {
        buf_clear (&sender->hello);
        return;
    }
    if (sender->hello_wait_ms < HELLO_MOST_MS)
        sender->hello_wait_ms *= 2;
    sender->hello_at_ms = now_ms + sender->hello_wait_ms;
}

uint64_t sender_deadline_ms (const struct sender *sender)
{
    return sender->hello.len ? sender->hello_at_ms : UINT64_MAX;
}
