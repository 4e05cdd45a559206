#include "worker/sandbox/confine_report.h"

#include "common/wire/wire.h"
#include <errno.h>
#include <sys/socket.h>

enum { REPORT_BYTES_MAX = 32 * 1024 };

static const struct field confine_report_fields[] = {
    F_BOOL (1, struct confine_report, ready),
    F_TEXT (2, struct confine_report, problem, SENTENCE_MAX_BYTES),
    F_ENUM (3, struct confine_report, owner, &owner_names),
    F_ENUM (4, struct confine_report, reached, &enforcement_names),
    F_RECORD (5, struct confine_report, view, &cache_view_record),
    F_TEXTS (6, struct confine_report, notes, CONFINE_NOTES_MAX, SENTENCE_MAX_BYTES),
};
const struct record confine_report_record = RECORD ("confine-report", struct confine_report, confine_report_fields);

int confine_report_send (int fd, const struct confine_report *report, struct err *err)
{
    struct buf bytes;
    buf_init (&bytes, REPORT_BYTES_MAX);
    wire_put_record (&bytes, &confine_report_record, report);
    int rc = 0;
    if (bytes.overflow)
        rc = err_set (err, ERR_LIMIT, "the report of the sandbox is longer than %d bytes", REPORT_BYTES_MAX);
    else if (send (fd, bytes.ptr, bytes.len, MSG_NOSIGNAL) != (ssize_t) bytes.len)
        rc = err_errno (err, ERR_IO, "cannot send the report of the sandbox to the worker");
    buf_release (&bytes);
    return rc;
}

static bool take (struct text packet, struct arena *arena, struct confine_report *report)
{
    struct confine_report received;
    if (wire_get_record (packet, &confine_report_record, &received, arena, NULL) < 0)
        return false;
    record_copy (&confine_report_record, report, &received, arena); /* the texts alias the packet */
    return true;
}

bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over)
{
    char *packet = mem_alloc (REPORT_BYTES_MAX);
    bool said = false;
    *over = false;
    for (;;) {
        ssize_t got = recv (fd, packet, REPORT_BYTES_MAX, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        *over = got == 0 || (got < 0 && errno != EAGAIN);
        if (got <= 0)
            break;
        said |= take ((struct text){ packet, (uint32_t) got }, arena, report);
    }
    mem_free (packet);
    return said;
}
