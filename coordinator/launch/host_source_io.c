#include "coordinator/launch/host_source_io.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/model/host_source.h"

/* The address is that of every Google VM's metadata server, and needs no name to be resolved. */
#define METADATA_HOST "169.254.169.254"
#define METADATA_PATH "/computeMetadata/v1/instance/attributes/worker-network-endpoints"
enum { METADATA_HOST_BYTES = 256, REQUEST_BYTES = 1024, HEADER_MAX_BYTES = 16 << 10, PIECE_BYTES = 4096 };

/* ---- the answer ---- */

static bool split_head (struct text answer, struct text *head, struct text *body)
{
    uint32_t at;
    if (!text_find (answer, TEXT_LIT ("\r\n\r\n"), &at) || at > HEADER_MAX_BYTES)
        return false;
    *head = (struct text){ answer.ptr, at + 2 };
    *body = (struct text){ answer.ptr + at + 4, answer.len - at - 4 };
    return true;
}

/* The value of a header that was sent; false: it was not. */
static bool find_header (struct text head, const char *name, struct text *value)
{
    size_t name_len = strlen (name);
    uint32_t end;
    while (text_find (head, TEXT_LIT ("\r\n"), &end)) {
        if (end > name_len && strncasecmp (head.ptr, name, name_len) == 0 && head.ptr[name_len] == ':') {
            uint32_t from = (uint32_t) name_len + 1;
            while (from < end && head.ptr[from] == ' ')
                from++;
            *value = (struct text){ head.ptr + from, end - from };
            return true;
        }
        head = (struct text){ head.ptr + end + 2, head.len - end - 2 };
    }
    return false;
}

/* "HTTP/1.1 200 OK" -> 200; 0: it is no status line. */
static uint64_t host_source_io_status_of (struct text head)
{
    uint64_t status = 0;
    if (!text_starts (head, "HTTP/1.") || head.len < sizeof "HTTP/1.1 200" - 1)
        return 0;
    return text_to_u64 ((struct text){ head.ptr + sizeof "HTTP/1.1 " - 1, 3 }, &status) ? status : 0;
}

static int check_length (const char *host, struct text head, struct text body, struct err *err)
{
    struct text value;
    uint64_t length;
    if (!find_header (head, "Content-Length", &value) || (text_to_u64 (value, &length) && length == body.len))
        return 0;
    return err_set (err, ERR_IO, "the metadata server at %s ended the connection before the end of its answer", host);
}

/* Requires the header of Google's server, because others must not be trusted. */
static int check_answer (const char *host, struct text answer, struct text *body, struct err *err)
{
    struct text head, value;
    uint64_t status = 0;
    if (!split_head (answer, &head, body) || (status = host_source_io_status_of (head)) == 0)
        return err_set (err, ERR_PARSE, "the server at %s does not speak HTTP, expected a metadata server", host);
    if (!find_header (head, "Metadata-Flavor", &value) || !text_is (value, "Google"))
        return err_set (err, ERR_REFUSED, "the server at %s is not a Google metadata server (no Metadata-Flavor)",
                        host);
    if (status == 404)
        return err_set (err, ERR_STATE,
                        "the metadata server at %s has no worker-network-endpoints: this machine is not a TPU VM",
                        host);
    if (status != 200)
        return err_set (err, ERR_IO, "the metadata server at %s answered with status %u, expected 200", host,
                        (unsigned) status);
    return check_length (host, head, *body, err);
}

/* ---- asking ---- */

/* Limits connecting, sending and receiving to the time left. False: none is left; errno is EAGAIN. */
static bool set_time_left (int fd, uint64_t until_ms)
{
    uint64_t now_ms = clock_boot_ms (), left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    const struct timeval left = { (time_t) (left_ms / 1000), (suseconds_t) (left_ms % 1000 * 1000) };
    (void) setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof left); /* fails for no socket */
    (void) setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left);
    errno = EAGAIN;
    return left_ms > 0; /* 0 would be for ever */
}

static int connect_any (const struct addrinfo *found, uint64_t until_ms)
{
    int why = EADDRNOTAVAIL;
    for (const struct addrinfo *one = found; one; one = one->ai_next) {
        int fd = socket (one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
        if (fd >= 0 && set_time_left (fd, until_ms) && connect (fd, one->ai_addr, one->ai_addrlen) == 0)
            return fd;
        why = errno;
        if (fd >= 0)
            close (fd);
    }
    errno = why;
    return -1;
}

static int fail_late (const char *host, struct err *err)
{
    return err_set (err, ERR_IO, "the metadata server at %s did not answer within %d ms (is this a TPU VM?)", host,
                    HOST_SOURCE_DEADLINE_MS);
}

static int host_source_io_connect_to (const char *host, uint64_t until_ms, struct err *err)
{
    char name[METADATA_HOST_BYTES];
    const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *colon = strchr (host, ':');
    snprintf (name, sizeof name, "%.*s", (int) (colon ? colon - host : (ptrdiff_t) strlen (host)), host);
    int rc = getaddrinfo (name, colon ? colon + 1 : "80", &wanted, &found);
    if (rc != 0)
        return err_set (err, ERR_IO, "the metadata server at %s cannot be found: %s", host, gai_strerror (rc));
    int fd = connect_any (found, until_ms);
    freeaddrinfo (found);
    if (fd < 0 && (errno == EINPROGRESS || errno == EAGAIN)) /* the first: connect was given no more time */
        return fail_late (host, err);
    return fd >= 0 ? fd
                   : err_errno (err, ERR_IO, "the metadata server at %s cannot be reached (is this a TPU VM?)", host);
}

/* Reads until the other end closes. -1: errno; EAGAIN: it took too long. */
static int host_source_io_read_all (int fd, uint64_t until_ms, struct buf *out)
{
    char piece[PIECE_BYTES];
    while (set_time_left (fd, until_ms)) {
        ssize_t got = recv (fd, piece, sizeof piece, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int) got;
        buf_add (out, piece, (size_t) got);
        if (out->overflow)
            return 0;
    }
    return -1;
}

/* The request fits a new connection's buffer. */
static int host_source_io_ask (const char *host, struct buf *answer, struct err *err)
{
    char request[REQUEST_BYTES];
    uint64_t until_ms = clock_boot_ms () + HOST_SOURCE_DEADLINE_MS;
    int fd = host_source_io_connect_to (host, until_ms, err), rc = -1;
    if (fd < 0)
        return -1;
    int len = snprintf (request, sizeof request,
                        "GET %s HTTP/1.0\r\nHost: %s\r\nMetadata-Flavor: Google\r\nConnection: close\r\n\r\n",
                        METADATA_PATH, host);
    if (send (fd, request, (size_t) len, MSG_NOSIGNAL) != len || host_source_io_read_all (fd, until_ms, answer) < 0)
        (void) (errno == EAGAIN ? fail_late (host, err)
                                : err_errno (err, ERR_IO, "the metadata server at %s closed the connection", host));
    else if (answer->overflow)
        err_set (err, ERR_LIMIT, "the answer of the metadata server at %s is longer than %d bytes", host,
                 HOST_SOURCE_MAX_BYTES);
    else
        rc = 0;
    close (fd);
    return rc;
}

static bool host_is_good (const char *host)
{
    size_t len = strlen (host);
    return len > 0 && len < METADATA_HOST_BYTES && host[0] != '-' && host[0] != ':' &&
           strspn (host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:") == len;
}

static int read_metadata (struct buf *expression, struct err *err)
{
    const char *set = getenv ("GCE_METADATA_HOST"), *host = set && set[0] ? set : METADATA_HOST;
    struct buf received;
    struct text body;
    if (!host_is_good (host))
        return err_set (err, ERR_USAGE, "GCE_METADATA_HOST is not a host name, expected host or host:port");
    buf_init (&received, HOST_SOURCE_MAX_BYTES);
    int rc = host_source_io_ask (host, &received, err);
    if (rc == 0)
        rc = check_answer (host, buf_as_text (&received), &body, err);
    if (rc == 0)
        rc = host_source_tpu_endpoints (body, expression, err);
    buf_release (&received);
    return rc;
}

/* ---- the environment ---- */

static const char *host_source_io_variable (const char *name)
{
    const char *value = getenv (name);
    return value && value[0] ? value : NULL;
}

static const char *slurm_nodes (void)
{
    const char *value = host_source_io_variable ("SLURM_JOB_NODELIST");
    return value ? value : host_source_io_variable ("SLURM_NODELIST");
}

static int read_slurm (struct buf *expression, struct err *err)
{
    const char *value = slurm_nodes ();
    if (!value)
        return err_set (err, ERR_STATE,
                        "SLURM_JOB_NODELIST is not set: this is not a Slurm allocation (salloc or sbatch makes one)");
    return host_source_slurm (text_of (value), expression, err);
}

static int read_tpu (struct buf *expression, struct err *err)
{
    const char *value = host_source_io_variable ("TPU_WORKER_HOSTNAMES");
    return value ? host_source_tpu_names (text_of (value), expression, err) : read_metadata (expression, err);
}

static int host_source_io_read_env (struct buf *expression, struct err *err)
{
    if (slurm_nodes ())
        return read_slurm (expression, err);
    if (host_source_io_variable ("TPU_WORKER_HOSTNAMES"))
        return read_tpu (expression, err);
    return err_set (err, ERR_STATE,
                    "neither SLURM_JOB_NODELIST nor TPU_WORKER_HOSTNAMES is set: name the hosts in the slice file");
}

int host_source_read (const char *word, struct buf *expression, struct err *err)
{
    if (strcmp (word, "slurm") == 0)
        return read_slurm (expression, err);
    if (strcmp (word, "tpu") == 0)
        return read_tpu (expression, err);
    if (strcmp (word, "env") == 0)
        return host_source_io_read_env (expression, err);
    return err_set (err, ERR_USAGE, "source of hosts '%s': expected slurm, tpu or env", word);
}
