#include "coordinator/launch/host_source_io.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
static uint64_t status_of (struct text head)
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

/* A server that is not Google's must not be believed: the header says that this one is. */
static int check_answer (const char *host, struct text answer, struct text *body, struct err *err)
{
    struct text head, value;
    uint64_t status = 0;
    if (!split_head (answer, &head, body) || (status = status_of (head)) == 0)
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

/* ---- asking, in a process of its own ---- */

static int connect_any (const struct addrinfo *found, const char *host, struct err *err)
{
    int fd = -1;
    for (const struct addrinfo *one = found; one && fd < 0; one = one->ai_next) {
        fd = socket (one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
        if (fd >= 0 && connect (fd, one->ai_addr, one->ai_addrlen) < 0) {
            int why = errno;
            close (fd);
            fd = -1;
            errno = why;
        }
    }
    return fd >= 0 ? fd
                   : err_errno (err, ERR_IO, "the metadata server at %s cannot be reached (is this a TPU VM?)", host);
}

static int connect_to (const char *host, struct err *err)
{
    char name[METADATA_HOST_BYTES];
    const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *colon = strchr (host, ':');
    snprintf (name, sizeof name, "%.*s", (int) (colon ? colon - host : (ptrdiff_t) strlen (host)), host);
    int rc = getaddrinfo (name, colon ? colon + 1 : "80", &wanted, &found);
    if (rc != 0)
        return err_set (err, ERR_IO, "the metadata server at %s cannot be found: %s", host, gai_strerror (rc));
    int fd = connect_any (found, host, err);
    freeaddrinfo (found);
    return fd;
}

static int send_all (int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t sent = send (fd, at, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return -1;
        at += sent;
        len -= (size_t) sent;
    }
    return 0;
}

/* Whatever comes until the other end closes. */
static int read_all (int fd, struct buf *out)
{
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t got = read (fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int) got;
        buf_add (out, piece, (size_t) got);
        if (out->overflow)
            return 0;
    }
}

static int ask (const char *host, struct buf *answer, struct err *err)
{
    char request[REQUEST_BYTES];
    int fd = connect_to (host, err), rc = -1;
    if (fd < 0)
        return -1;
    snprintf (request, sizeof request,
              "GET %s HTTP/1.0\r\nHost: %s\r\nMetadata-Flavor: Google\r\nConnection: close\r\n\r\n", METADATA_PATH,
              host);
    if (send_all (fd, request, strlen (request)) < 0 || read_all (fd, answer) < 0)
        err_errno (err, ERR_IO, "the metadata server at %s closed the connection", host);
    else if (answer->overflow)
        err_set (err, ERR_LIMIT, "the answer of the metadata server at %s is longer than %d bytes", host,
                 HOST_SOURCE_MAX_BYTES);
    else
        rc = 0;
    close (fd);
    return rc;
}

/* What the process says: this, then the answer. */
struct reply {
    int rc;
    struct err err;
};

static void ask_and_tell (const char *host, int to, pid_t parent)
{
    struct reply reply = { 0 };
    struct buf answer;
    if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid () != parent)
        _exit (1);
    buf_init (&answer, HOST_SOURCE_MAX_BYTES);
    reply.rc = ask (host, &answer, &reply.err);
    bool told = send_all (to, &reply, sizeof reply) == 0;
    if (told && reply.rc == 0)
        told = send_all (to, answer.ptr, answer.len) == 0;
    _exit (told ? 0 : 1);
}

static bool receive (int from, struct buf *received)
{
    uint64_t until_ms = clock_boot_ms () + HOST_SOURCE_DEADLINE_MS;
    char piece[PIECE_BYTES];
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd poll_for = { .fd = from, .events = POLLIN };
        if (now_ms >= until_ms)
            return false;
        if (poll (&poll_for, 1, (int) (until_ms - now_ms)) <= 0)
            continue; /* a signal, or the time is over */
        ssize_t got = read (from, piece, sizeof piece);
        if (got == 0)
            return true;
        if (got > 0)
            buf_add (received, piece, (size_t) got);
        else if (errno != EINTR && errno != EAGAIN)
            return false;
    }
}

static int end (pid_t pid, struct err *err)
{
    if (kill (pid, SIGKILL) < 0)
        return err_errno (err, ERR_IO, "cannot end the process that asks the metadata server");
    while (waitpid (pid, NULL, 0) < 0)
        if (errno != EINTR)
            return err_errno (err, ERR_IO, "cannot wait for the process that asks the metadata server");
    return 0;
}

static int ask_in_time (const char *host, struct buf *received, struct err *err)
{
    int ends[2];
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno (err, ERR_IO, "cannot create a socket to ask the metadata server");
    pid_t parent = getpid (), pid = fork ();
    if (pid == 0)
        ask_and_tell (host, ends[1], parent);
    close (ends[1]);
    if (pid < 0) {
        close (ends[0]);
        return err_errno (err, ERR_IO, "cannot start a process to ask the metadata server");
    }
    bool whole = receive (ends[0], received);
    close (ends[0]);
    if (end (pid, err) < 0)
        return -1;
    if (whole)
        return 0;
    return err_set (err, ERR_IO, "the metadata server at %s did not answer within %d ms (is this a TPU VM?)", host,
                    HOST_SOURCE_DEADLINE_MS);
}

static int take_reply (const char *host, const struct buf *received, struct buf *expression, struct err *err)
{
    struct reply reply;
    struct text body;
    if (received->len < sizeof reply)
        return err_set (err, ERR_IO, "the process that asks the metadata server at %s failed", host);
    memcpy (&reply, received->ptr, sizeof reply);
    if (reply.rc < 0)
        return err_set (err, reply.err.code, "%s", reply.err.text);
    struct text answer = { (const char *) received->ptr + sizeof reply, (uint32_t) (received->len - sizeof reply) };
    return check_answer (host, answer, &body, err) < 0 ? -1 : host_source_tpu_endpoints (body, expression, err);
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
    if (!host_is_good (host))
        return err_set (err, ERR_USAGE, "GCE_METADATA_HOST is not a host name, expected host or host:port");
    buf_init (&received, sizeof (struct reply) + HOST_SOURCE_MAX_BYTES);
    int rc = ask_in_time (host, &received, err);
    if (rc == 0)
        rc = take_reply (host, &received, expression, err);
    buf_release (&received);
    return rc;
}

/* ---- the environment ---- */

static const char *variable (const char *name)
{
    const char *value = getenv (name);
    return value && value[0] ? value : NULL;
}

static const char *slurm_nodes (void)
{
    const char *value = variable ("SLURM_JOB_NODELIST");
    return value ? value : variable ("SLURM_NODELIST");
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
    const char *value = variable ("TPU_WORKER_HOSTNAMES");
    return value ? host_source_tpu_names (text_of (value), expression, err) : read_metadata (expression, err);
}

static int read_env (struct buf *expression, struct err *err)
{
    if (slurm_nodes ())
        return read_slurm (expression, err);
    if (variable ("TPU_WORKER_HOSTNAMES"))
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
        return read_env (expression, err);
    return err_set (err, ERR_USAGE, "source of hosts '%s': expected slurm, tpu or env", word);
}
