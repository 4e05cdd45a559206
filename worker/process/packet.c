#include "worker/process/packet.h"

#include "common/wire/wire.h"
#include <errno.h>
#include <sys/socket.h>

int packet_send (int fd, const struct record *record, const void *value, struct err *err)
{
    int rc = 0;
    ssize_t sent;
    LOCAL_BUF bytes = { .max = PACKET_BYTES_MAX };
    wire_put_record (&bytes, record, value);
    do
        sent = bytes.overflow ? 0 : send (fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (bytes.overflow)
        rc = err_set (err, ERR_LIMIT, "the %s is longer than %d bytes", record->name, PACKET_BYTES_MAX);
    else if (sent != (ssize_t) bytes.len)
        rc = err_errno (err, ERR_IO, "cannot send the %s to the worker", record->name);
    return rc;
}

/* An empty packet looks like the end, but only the end repeats: this many in a row are the end. */
enum { EMPTY_MAX = 64 };

static ssize_t packet_take (int fd, char bytes[PACKET_BYTES_MAX])
{
    ssize_t got = 0;
    for (uint32_t empty = 0; got == 0 && empty < EMPTY_MAX; empty++)
        do
            got = recv (fd, bytes, PACKET_BYTES_MAX, MSG_DONTWAIT);
        while (got < 0 && errno == EINTR);
    return got;
}

enum packet packet_receive (int fd, const struct record *record, void *out, struct text *raw, struct arena *arena)
{
    char bytes[PACKET_BYTES_MAX];
    ssize_t got = packet_take (fd, bytes);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? PACKET_NONE : PACKET_OVER;
    *raw = text_copy (arena, (struct text){ bytes, (uint32_t) got });
    return wire_get_record (*raw, record, out, arena, NULL) < 0 ? PACKET_REFUSED : PACKET_RECORD;
}
