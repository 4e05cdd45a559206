#include "coordinator/web/server.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/io/clock.h"

enum { POOL_BYTES = 2 * HTTP_REQUEST_BYTES, FILE_MS = 5 * 60 * 1000, LAST_RUNS = 4 };
enum { RETURN_MS = 100, MOMENT_MS = 10 };
/* LEAST: shorter answers are not compressed. A window of 32 KiB, with a gzip header. */
enum { GZIP_LEAST_BYTES = 1024, GZIP_WINDOW_BITS = 15 + 16, GZIP_MEMORY = 8 };

/* A connection, as long as it lives, and the request on it. */
struct http_exchange {
    struct http *http;
    struct http_exchange *next, **at;
    struct MHD_Connection *connection;
    int fd;
    bool known;      /* http_note_known */
    bool closing;    /* it was shut down, but the library has not reported its end yet */
    uint64_t due_ms; /* deadline of the request or of reading the answer; 0: held */
    char *target;
    struct http_answer *answer;
    bool asked, held;
};
struct http {
    struct loop *loop;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    struct http_exchange *exchanges; /* the newest first */
    uint64_t return_ms; /* boot time until which clients of the last held answers are likely to ask again */
    http_request_fn *fn;
    void *owner;
};

/* ---- answers ---- */

static const char *const policy[][2] = {
    { "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
      "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'" },
    { "X-Content-Type-Options", "nosniff" },
    { "X-Frame-Options", "DENY" },
    { "Referrer-Policy", "no-referrer" },
    { "Cache-Control", "no-store" },
    { "Cross-Origin-Opener-Policy", "same-origin" },
    { "Cross-Origin-Embedder-Policy", "require-corp" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
};

struct http_answer {
    struct MHD_Response *response, *gzipped; /* gzipped: for clients that accept it; NULL: none */
    unsigned status;
    bool is_file;
    uint32_t holds;
};

static void add_header (struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header (response, name, value) != MHD_YES)
        mem_exit_exhausted (0);
}

static struct http_answer *make_answer (unsigned status, const char *type, struct MHD_Response *response,
                                        struct MHD_Response *gzipped)
{
    if (!response)
        mem_exit_exhausted (0);
    struct http_answer *answer = mem_alloc (sizeof *answer);
    *answer = (struct http_answer){ .response = response, .gzipped = gzipped, .status = status, .holds = 1 };
    for (size_t i = 0; i < sizeof policy / sizeof policy[0]; i++)
        http_answer_add_header (answer, policy[i][0], policy[i][1]);
    http_answer_add_header (answer, "Content-Type", type);
    return answer;
}

static struct MHD_Response *copy_bytes (const void *bytes, size_t len)
{
    return MHD_create_response_from_buffer (len, (void *) (uintptr_t) bytes, MHD_RESPMEM_MUST_COPY);
}

/* Compresses once for all receivers, at a level three times as fast as the usual one, and no worse for letters of
 * hosts. NULL: no memory, so it is sent uncompressed. */
static struct MHD_Response *gzip (struct text bytes)
{
    z_stream stream = { .next_in = (Bytef *) (uintptr_t) bytes.ptr, .avail_in = bytes.len };
    struct MHD_Response *response = NULL;
    if (deflateInit2 (&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    uLong room = deflateBound (&stream, bytes.len);
    stream.next_out = mem_array (room, 1);
    stream.avail_out = (uInt) room;
    LOCAL_MEM Bytef *out = stream.next_out;
    if (deflate (&stream, Z_FINISH) == Z_STREAM_END)
        response = copy_bytes (out, stream.total_out);
    (void) deflateEnd (&stream);
    return response;
}

struct http_answer *http_answer_bytes (unsigned status, const char *type, struct text bytes)
{
    struct MHD_Response *gzipped = bytes.len < GZIP_LEAST_BYTES ? NULL : gzip (bytes);
    struct http_answer *answer = make_answer (status, type, copy_bytes (bytes.ptr, bytes.len), gzipped);
    if (gzipped) {
        http_answer_add_header (answer, "Vary", "Accept-Encoding");
        add_header (gzipped, "Content-Encoding", "gzip");
    }
    return answer;
}

struct http_answer *http_answer_fixed (unsigned status, const char *type, struct text bytes)
{
    return make_answer (status, type,
                        MHD_create_response_from_buffer (bytes.len, (void *) bytes.ptr, MHD_RESPMEM_PERSISTENT), NULL);
}

struct http_answer *http_answer_file (unsigned status, const char *type, int fd)
{
    struct stat at = { 0 };
    (void) fstat (fd, &at);
    struct http_answer *answer = make_answer (status, type, MHD_create_response_from_fd64 ((uint64_t) at.st_size, fd),
                                              NULL);
    answer->is_file = true;
    return answer;
}

void http_answer_add_header (struct http_answer *answer, const char *name, const char *value)
{
    add_header (answer->response, name, value);
    if (answer->gzipped)
        add_header (answer->gzipped, name, value);
}

struct http_answer *http_answer_hold (struct http_answer *answer)
{
    if (answer)
        answer->holds++;
    return answer;
}

void http_answer_release (struct http_answer *answer)
{
    if (!answer || --answer->holds > 0)
        return;
    MHD_destroy_response (answer->response); /* the library holds references while sending */
    if (answer->gzipped)
        MHD_destroy_response (answer->gzipped);
    mem_free (answer);
}

/* ---- connections ---- */

static void await_request (struct http_exchange *exchange)
{
    exchange->due_ms = clock_boot_ms () + HTTP_REQUEST_MS;
}

/* The library notices, and closes the connection. */
static void shut_down (struct http_exchange *exchange, uint64_t now_ms)
{
    (void) shutdown (exchange->fd, SHUT_RDWR);
    exchange->closing = true;
    exchange->due_ms = now_ms + 2 * HTTP_REQUEST_MS;
}

/* Closes the oldest of many unknown clients; else the known one with the earliest deadline: idle ones have less time
 * than answered ones. `newest` has just come. Held exchanges are bounded by their holder. */
static void http_make_room (struct http *http, const struct http_exchange *newest)
{
    struct http_exchange *first = NULL;
    uint32_t open = 0, strangers = 0;
    for (const struct http_exchange *one = http->exchanges; one; one = one->next) {
        open += !one->closing;
        strangers += !one->closing && !one->known;
    }
    bool known = strangers <= HTTP_STRANGERS;
    for (struct http_exchange *one = http->exchanges; one && open > HTTP_FULL; one = one->next)
        if (one != newest && !one->closing && !one->held && one->known == known &&
            (!known || !first || one->due_ms <= first->due_ms))
            first = one;
    if (first)
        shut_down (first, clock_boot_ms ());
}

static void caller_came (struct http *http, struct MHD_Connection *connection, void **context)
{
    struct http_exchange *exchange = mem_alloc (sizeof *exchange);
    *exchange = (struct http_exchange){ .http = http, .connection = connection, .next = http->exchanges };
    exchange->fd = MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    await_request (exchange);
    exchange->at = &http->exchanges;
    if (exchange->next)
        exchange->next->at = &exchange->next;
    http->exchanges = exchange;
    http_make_room (http, exchange);
    *context = exchange;
}

static void forget_request (struct http_exchange *exchange)
{
    http_answer_release (exchange->answer);
    exchange->answer = NULL;
    mem_free (exchange->target);
    exchange->target = NULL;
    exchange->asked = exchange->held = false;
}

static void caller_left (struct http_exchange *exchange)
{
    *exchange->at = exchange->next;
    if (exchange->next)
        exchange->next->at = exchange->at;
    forget_request (exchange);
    mem_free (exchange);
}

static void on_connection (void *owner, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        caller_came (owner, connection, context);
    else if (*context)
        caller_left (*context);
}

void http_note_known (struct http_exchange *exchange)
{
    exchange->known = true;
}

uint64_t http_tick (struct http *http, uint64_t now_ms)
{
    uint64_t wanted_ms = UINT64_MAX;
    MHD_UNSIGNED_LONG_LONG most_ms;
    for (struct http_exchange *one = http->exchanges; one; one = one->next)
        if (one->due_ms && now_ms >= one->due_ms)
            shut_down (one, now_ms);
    (void) MHD_run (http->daemon);
    for (const struct http_exchange *one = http->exchanges; one; one = one->next)
        if (one->due_ms && one->due_ms < wanted_ms)
            wanted_ms = one->due_ms;
    if (MHD_get_timeout (http->daemon, &most_ms) == MHD_YES && now_ms + most_ms < wanted_ms)
        wanted_ms = now_ms + most_ms;
    return wanted_ms;
}

/* ---- requests ---- */

/* Hides the query from the library, which would split it into a list, lack room for 300 parameters, and close silently;
 * the handler parses it instead. */
static void *on_target (void *owner, const char *target, struct MHD_Connection *connection)
{
    struct http_exchange *exchange =
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    (void) owner;
    forget_request (exchange);
    exchange->target = mem_text (target);
    char *query = strchr (target, '?'); /* in the library's buffer, which is not constant */
    if (query)
        query[1] = '\0';
    return exchange;
}

static void on_completed (void *owner, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct http_exchange *exchange = *context;
    (void) owner;
    (void) connection;
    (void) code;
    if (!exchange)
        return;
    await_request (exchange);
    forget_request (exchange);
    *context = NULL;
}

static const char *header (struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value (connection, MHD_HEADER_KIND, name);
}

/* Looks for the word in Accept-Encoding; ignores it with a weight, which may be 0. */
static bool takes_gzip (const struct http_exchange *exchange)
{
    const char *accepts = header (exchange->connection, "Accept-Encoding");
    const char *at = accepts ? strstr (accepts, "gzip") : NULL;
    return at && at[4] != ';';
}

/* Returns at once: the library sends the answer. */
static enum MHD_Result send_answer (struct http_exchange *exchange)
{
    const struct http_answer *answer = exchange->answer;
    exchange->held = false;
    exchange->due_ms = clock_boot_ms () + (answer->is_file ? (uint64_t) FILE_MS : HTTP_ANSWER_MS);
    struct MHD_Response *response = answer->gzipped && takes_gzip (exchange) ? answer->gzipped : answer->response;
    return MHD_queue_response (exchange->connection, answer->status, response);
}

/* Requires what HTTP/1.1 does; the library's own refusal would lack the policy headers. */
static bool is_understood (const struct http_exchange *exchange, const char *version)
{
    return !strchr (exchange->target, ' ') &&
           (strcmp (version, MHD_HTTP_VERSION_1_1) != 0 || header (exchange->connection, "Host"));
}

/* -1: a request without a body that fits; else the status to refuse it with. */
static int http_judge (const struct http_exchange *exchange, const char *method, const char *version)
{
    struct MHD_Connection *connection = exchange->connection;
    const union MHD_ConnectionInfo *size = MHD_get_connection_info (connection,
                                                                    MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const char *length = header (connection, "Content-Length");
    if (!is_understood (exchange, version))
        return MHD_HTTP_BAD_REQUEST;
    if (strcmp (method, "GET") != 0 && strcmp (method, "HEAD") != 0)
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    if (header (connection, "Transfer-Encoding") || (length && strcmp (length, "0") != 0))
        return MHD_HTTP_CONTENT_TOO_LARGE;
    return size && size->header_size > HTTP_REQUEST_BYTES ? MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE : -1;
}

static void http_refuse (struct http_exchange *exchange, unsigned status)
{
    const char *why = status == MHD_HTTP_BAD_REQUEST ? "a request names its host, and its target has no blank\n"
                      : status == MHD_HTTP_METHOD_NOT_ALLOWED ? "GET and HEAD are answered\n"
                      : status == MHD_HTTP_CONTENT_TOO_LARGE  ? "a request has no body here\n"
                                                              : "the request is larger than 8 KiB\n";
    exchange->answer = http_answer_fixed (status, "text/plain; charset=utf-8", text_of (why));
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        http_answer_add_header (exchange->answer, "Allow", "GET, HEAD");
    http_answer_add_header (exchange->answer, "Connection", "close");
}

/* An IPv6 site has the lower half for itself. */
static uint64_t address_of (struct MHD_Connection *connection)
{
    const struct sockaddr *from = MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    uint64_t address = 0;
    if (from && from->sa_family == AF_INET)
        memcpy (&address, &((const struct sockaddr_in *) (const void *) from)->sin_addr, 4);
    if (from && from->sa_family == AF_INET6) {
        const uint8_t *bytes = ((const struct sockaddr_in6 *) (const void *) from)->sin6_addr.s6_addr;
        memcpy (&address, bytes + (IN6_IS_ADDR_V4MAPPED (bytes) ? 8 : 0), 8);
    }
    return address;
}

static void ask_owner (struct http_exchange *exchange, const char *method)
{
    const struct http_request request = { .method = method,
                                          .target = exchange->target,
                                          .address = address_of (exchange->connection),
                                          .host = header (exchange->connection, "Host"),
                                          .authorization = header (exchange->connection, "Authorization"),
                                          .site = header (exchange->connection, "Sec-Fetch-Site") };
    exchange->http->fn (exchange->http->owner, exchange, &request);
}

/* Called with the headers, with the rest of an unwanted body, and again once a held one is answered. */
static enum MHD_Result on_request (void *owner, struct MHD_Connection *connection, const char *url, const char *method,
                                   const char *version, const char *upload, size_t *upload_bytes, void **context)
{
    struct http_exchange *exchange = *context;
    (void) owner;
    (void) url;
    (void) upload;
    if (!exchange)
        return MHD_NO;
    int refused = exchange->asked ? -1 : http_judge (exchange, method, version);
    if (refused > 0)
        http_refuse (exchange, (unsigned) refused);
    if (!exchange->asked && refused < 0) {
        exchange->asked = true;
        return MHD_YES; /* whole at the next call */
    }
    *upload_bytes = 0;
    if (!exchange->answer && !exchange->held)
        ask_owner (exchange, method);
    if (exchange->answer)
        return send_answer (exchange);
    exchange->held = true;
    exchange->due_ms = 0;
    MHD_suspend_connection (connection);
    return MHD_YES;
}

void http_reply (struct http_exchange *exchange, struct http_answer *answer)
{
    exchange->answer = http_answer_hold (answer);
    if (!exchange->held)
        return;
    exchange->http->return_ms = clock_boot_ms () + RETURN_MS;
    MHD_resume_connection (exchange->connection);
}

/* ---- the server ---- */

/* The pass that begins ends with http_tick. Clients answered together ask again shortly after each other: a short wait
 * lets one pass read them all. */
static void on_ready (void *owner, int fd, uint32_t events)
{
    const struct http *http = owner;
    (void) fd;
    (void) events;
    if (clock_boot_ms () < http->return_ms)
        (void) poll (NULL, 0, MOMENT_MS);
}

static struct MHD_Daemon *http_start (struct http *http, int listen_fd)
{
    return MHD_start_daemon (MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
                             MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                             (unsigned) HTTP_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) POOL_BYTES,
                             MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) (HTTP_ANSWER_MS / 1000),
                             MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
                             on_completed, http, MHD_OPTION_URI_LOG_CALLBACK, on_target, http,
                             MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

struct http *http_open (struct loop *loop, int listen_fd, http_request_fn *fn, void *owner, struct err *err)
{
    struct http *http = mem_alloc (sizeof *http);
    *http = (struct http){ .loop = loop, .fn = fn, .owner = owner, .epoll_fd = -1 };
    http->daemon = http_start (http, listen_fd);
    if (!http->daemon) {
        err_errno (err, ERR_IO, "the HTTP server did not start");
        close (listen_fd);
    } else {
        int fd = MHD_get_daemon_info (http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
        if (loop_watch (loop, fd, EPOLLIN, on_ready, http, err) == 0) {
            http->epoll_fd = fd;
            return http;
        }
    }
    http_close (http);
    return NULL;
}

void http_close (struct http *http)
{
    if (!http)
        return;
    if (http->epoll_fd >= 0)
        loop_forget (http->loop, http->epoll_fd);
    if (http->daemon) {
        for (int i = 0; i < LAST_RUNS; i++) /* each takes a connection a step on */
            (void) MHD_run (http->daemon);
        MHD_stop_daemon (http->daemon);
    }
    mem_free (http);
}
