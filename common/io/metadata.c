#include "common/io/metadata.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/io/clock.h"
#include "common/io/fd.h"

enum { ADDRESS_BYTES_MAX = 255, REQUEST_BYTES = 1024, PIECE_BYTES = 4096 };

/* ---- connecting ---- */

/* A bare IPv6 address has more than one colon. */
static bool split_address (const char *address, char host[ADDRESS_BYTES_MAX + 1], char port[8])
{
    const char *colon = strrchr (address, ':'), *shut = strchr (address, ']');
    bool bracketed = address[0] == '[' && shut;
    bool has_port = colon && (bracketed ? colon == shut + 1 : strchr (address, ':') == colon);
    struct text number = has_port ? text_of (colon + 1) : TEXT_LIT ("80");
    const char *from = bracketed ? address + 1 : address;
    const char *to = bracketed ? shut : has_port ? colon : address + strlen (address);
    uint64_t value;
    return to - from <= ADDRESS_BYTES_MAX && text_to_u64 (number, &value) && value > 0 && value < 65536 &&
           text_to_c (number, port, 8) &&
           text_to_c ((struct text){ from, (uint32_t) (to - from) }, host, ADDRESS_BYTES_MAX + 1);
}

static struct addrinfo *find_server (const struct metadata_question *question, struct err *err)
{
    const struct addrinfo hints = { .ai_flags = question->resolves ? 0 : AI_NUMERICHOST | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char host[ADDRESS_BYTES_MAX + 1], port[8];
    int rc = split_address (question->server, host, port) ? getaddrinfo (host, port, &hints, &found) : EAI_NONAME;
    if (rc != 0)
        err_set (err, ERR_IO, "the metadata server at %s cannot be found: %s", question->server, gai_strerror (rc));
    return found;
}

/* False: the time is over. */
static bool wait_server (int fd, short events, uint64_t until_ms)
{
    struct pollfd there = { .fd = fd, .events = events };
    uint64_t now_ms = clock_boot_ms ();
    return now_ms < until_ms && poll (&there, 1, (int) (until_ms - now_ms)) != 0;
}

static int fail_late (const struct metadata_question *question, struct err *err)
{
    return err_set (err, ERR_IO, "the metadata server at %s did not answer within %" PRIu64 " ms (is this a TPU VM?)",
                    question->server, question->limit_ms);
}

static int connect_server (const struct metadata_question *question, const struct addrinfo *servers, uint64_t until_ms,
                           struct err *err)
{
    int fd = -1;
    for (const struct addrinfo *one = servers; one && fd < 0; one = one->ai_next)
        fd = tcp_connect (one, until_ms);
    if (fd < 0 && errno == ETIMEDOUT)
        return fail_late (question, err);
    return fd >= 0 ? fd
                   : err_errno (err, ERR_IO, "the metadata server at %s cannot be reached (is this a TPU VM?)",
                                question->server);
}

/* ---- the answer ---- */

/* The value of a header that was sent; false: it was not. */
static bool find_header (struct text head, const char *name, struct text *value)
{
    size_t len = strlen (name);
    while (head.len) {
        struct text line = text_take_until (&head, '\n');
        if (line.len <= len || strncasecmp (line.ptr, name, len) != 0 || line.ptr[len] != ':')
            continue;
        *value = text_trimmed ((struct text){ line.ptr + len + 1, line.len - (uint32_t) len - 1 });
        return true;
    }
    return false;
}

/* Requires the header of Google's server, because any machine may answer at that address. HTTP/1.0: the answer ends with
 * the connection, and is not chunked. */
static int understand_answer (const char *server, struct text bytes, struct metadata_answer *answer, struct err *err)
{
    struct text head = bytes, value;
    uint64_t length;
    uint32_t end;
    if (!text_starts (bytes, "HTTP/1.") || !text_find (bytes, TEXT_LIT ("\r\n\r\n"), &end) ||
        end < sizeof "HTTP/1.1 200" - 1 ||
        !text_to_u64 ((struct text){ bytes.ptr + sizeof "HTTP/1.1 " - 1, 3 }, &answer->status))
        return err_set (err, ERR_PARSE, "the server at %s does not speak HTTP, expected a metadata server", server);
    head.len = end;
    answer->body = (struct text){ bytes.ptr + end + 4, bytes.len - end - 4 };
    if (!find_header (head, "Metadata-Flavor", &value) || !text_is (value, "Google"))
        return err_set (err, ERR_REFUSED, "the server at %s is not a Google metadata server (no Metadata-Flavor)",
                        server);
    if (!find_header (head, "Content-Length", &value) || (text_to_u64 (value, &length) && length == answer->body.len))
        return 0;
    return err_set (err, ERR_IO, "the metadata server at %s ended the connection before the end of its answer", server);
}

/* To the end of the connection, or until there is too much of it. -1: errno; EAGAIN: the time is over. */
static int read_answer (int fd, uint64_t until_ms, struct buf *bytes)
{
    char piece[PIECE_BYTES];
    for (ssize_t got = 1; got != 0 && !bytes->overflow;) {
        errno = EAGAIN;
        if (!wait_server (fd, POLLIN, until_ms))
            return -1;
        got = recv (fd, piece, sizeof piece, 0);
        if (got > 0)
            buf_add (bytes, piece, (size_t) got);
        else if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
    }
    return 0;
}

/* The request fits a new connection's buffer. */
static enum metadata_server ask_server (const struct metadata_question *question, int fd, uint64_t until_ms,
                                        struct buf *bytes, struct metadata_answer *answer, struct err *err)
{
    char request[REQUEST_BYTES];
    int len = snprintf (request, sizeof request,
                        "GET %s HTTP/1.0\r\nHost: " METADATA_NAME "\r\nMetadata-Flavor: Google\r\n"
                        "User-Agent: sliceup\r\n\r\n",
                        question->path);
    bool sent = send (fd, request, (size_t) len, MSG_NOSIGNAL) == len;
    if (sent && read_answer (fd, until_ms, bytes) == 0 && !bytes->overflow)
        return understand_answer (question->server, buf_as_text (bytes), answer, err) == 0 ? METADATA_ANSWERED
                                                                                           : METADATA_STRANGER;
    if (sent && !bytes->overflow && errno == EAGAIN) {
        fail_late (question, err);
        return METADATA_LATE;
    }
    if (bytes->overflow)
        err_set (err, ERR_LIMIT, "the answer of the metadata server at %s is longer than %zu bytes", question->server,
                 bytes->max);
    else
        err_errno (err, ERR_IO, "the metadata server at %s closed the connection", question->server);
    return METADATA_STRANGER;
}

enum metadata_server metadata_ask (const struct metadata_question *question, struct buf *bytes,
                                   struct metadata_answer *answer, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + question->limit_ms;
    struct addrinfo *servers = find_server (question, err);
    if (!servers)
        return METADATA_NOWHERE;
    LOCAL_FD fd = connect_server (question, servers, until_ms, err);
    freeaddrinfo (servers);
    return fd < 0 ? METADATA_ABSENT : ask_server (question, fd, until_ms, bytes, answer, err);
}
