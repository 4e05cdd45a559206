#include "worker/facts/metadata.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/io/clock.h"
#include "worker/facts/http_answer.h"

/* ---- questions over HTTP ---- */

/* Several HTTP GETs to one server at once, without waiting for any of them alone.
 *
 * For small answers of a server on this machine or its own link: one connection each, no names, no TLS, no redirects,
 * nothing is asked twice. Nothing that goes wrong is an error: it is how the question ended. One thread, which polls
 * when it has time and waits once. */
enum { HTTP_QUESTIONS_MAX = 16 };

enum http_result {
    HTTP_OPEN, /* not yet known */
    HTTP_ANSWERED,
    HTTP_NOBODY,   /* no connection came about */
    HTTP_SLOW,     /* connected, and no whole answer in time */
    HTTP_NONSENSE, /* what came is no answer of HTTP */
};

struct http_query;

enum { REQUEST_BYTES_MAX = 2048, ADDRESS_BYTES_MAX = 255 };

struct question {
    int fd; /* -1: ended */
    struct text request;
    uint32_t sent;
    bool connected;
    struct buf got;
    enum http_result end;
    struct http_answer answer;
};

struct http_query {
    struct arena arena;
    struct sockaddr_storage address;
    socklen_t address_len;
    struct question questions[HTTP_QUESTIONS_MAX];
    uint32_t n;
};

/* ---- where ---- */

/* "host", "host:port", "[host]:port" with a number for a host; a bare IPv6 address has more than one colon. */
static bool split_address (const char *address, char host[ADDRESS_BYTES_MAX + 1], char port[8])
{
    const char *colon = strrchr (address, ':'), *shut = strchr (address, ']');
    bool bracketed = address[0] == '[' && shut;
    bool has_port = colon && (bracketed ? colon == shut + 1 : strchr (address, ':') == colon);
    struct text number = has_port ? text_of (colon + 1) : TEXT_LIT ("80");
    const char *from = bracketed ? address + 1 : address;
    const char *to = bracketed ? shut : has_port ? colon : address + strlen (address);
    uint64_t value;
    return text_to_u64 (number, &value) && value > 0 && value < 65536 && text_to_c (number, port, 8) &&
           text_to_c ((struct text){ from, (uint32_t) (to - from) }, host, ADDRESS_BYTES_MAX + 1);
}

static bool find_address (struct http_query *query, const char *address)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found;
    char host[ADDRESS_BYTES_MAX + 1], port[8];
    if (strlen (address) > ADDRESS_BYTES_MAX || !split_address (address, host, port) ||
        getaddrinfo (host, port, &hints, &found))
        return false;
    memcpy (&query->address, found->ai_addr, found->ai_addrlen);
    query->address_len = found->ai_addrlen;
    freeaddrinfo (found);
    return true;
}

/* ---- one question ---- */

static void end_with (struct question *question, enum http_result end)
{
    close (question->fd);
    question->fd = -1;
    question->end = end;
}

static void begin (struct http_query *query, struct question *question, const char *path, const char *fields)
{
    question->request = text_format (&query->arena, "GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n", path, fields);
    assert (question->request.len < REQUEST_BYTES_MAX);
    buf_init (&question->got, HTTP_BYTES_MAX + 1);
    question->fd = socket (query->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (question->fd < 0)
        question->end = HTTP_NOBODY;
    else if (connect (question->fd, (const struct sockaddr *) &query->address, query->address_len) &&
             errno != EINPROGRESS)
        end_with (question, HTTP_NOBODY);
}

static void send_more (struct question *question)
{
    int reason = 0;
    socklen_t len = sizeof reason;
    if (!question->connected && (getsockopt (question->fd, SOL_SOCKET, SO_ERROR, &reason, &len) || reason)) {
        end_with (question, HTTP_NOBODY);
        return;
    }
    question->connected = true;
    ssize_t put = send (question->fd, question->request.ptr + question->sent, question->request.len - question->sent,
                        MSG_NOSIGNAL);
    if (put > 0)
        question->sent += (uint32_t) put;
    else if (errno != EAGAIN && errno != EINTR)
        end_with (question, HTTP_NONSENSE);
}

static void read_more (struct http_query *query, struct question *question)
{
    char chunk[4096];
    ssize_t got = recv (question->fd, chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buf_add (&question->got, chunk, (size_t) got);
    enum http_reading how = got < 0 || question->got.overflow
                                ? HTTP_BAD
                                : http_answer_read (buf_as_text (&question->got), got == 0, &query->arena,
                                                    &question->answer);
    if (how != HTTP_MORE)
        end_with (question, how == HTTP_WHOLE ? HTTP_ANSWERED : HTTP_NONSENSE);
}

static void advance (struct http_query *query, struct question *question, short happened)
{
    if (question->sent < question->request.len && (happened & (POLLOUT | POLLERR | POLLHUP)))
        send_more (question);
    else if (happened)
        read_more (query, question);
}

/* ---- all of them ---- */

static uint32_t open_questions (const struct http_query *query)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < query->n; i++)
        n += query->questions[i].fd >= 0;
    return n;
}

static bool turn (struct http_query *query, int wait_ms)
{
    struct pollfd polled[HTTP_QUESTIONS_MAX];
    for (uint32_t i = 0; i < query->n; i++) {
        const struct question *question = &query->questions[i];
        polled[i] = (struct pollfd){ question->fd, question->sent < question->request.len ? POLLOUT : POLLIN, 0 };
    }
    if (poll (polled, query->n, wait_ms) <= 0)
        return false;
    for (uint32_t i = 0; i < query->n; i++)
        if (query->questions[i].fd >= 0 && polled[i].revents)
            advance (query, &query->questions[i], polled[i].revents);
    return true;
}

/* What can be done without waiting. */
static void http_poll (struct http_query *query)
{
    /* A server that never stops must not keep us here: each question may take two turns of sending and receiving. */
    for (uint32_t i = 0; i < 2 * HTTP_QUESTIONS_MAX && open_questions (query) && turn (query, 0); i++)
        ;
}

/* `address` is numeric: "169.254.169.254", "127.0.0.1:8080", "[::1]:80"; NULL: it is not. `fields` are the lines
 * that each request carries, each ended by "\r\n". Texts are borrowed for the call only. */
static struct http_query *http_ask (const char *address, const char *const *paths, uint32_t n, const char *fields)
{
    assert (n <= HTTP_QUESTIONS_MAX);
    struct http_query *query = mem_alloc (sizeof *query);
    if (!find_address (query, address)) {
        mem_free (query);
        return NULL;
    }
    for (; query->n < n; query->n++)
        begin (query, &query->questions[query->n], paths[query->n], fields);
    http_poll (query);
    return query;
}

/* Until all ended; those that did not are cut off. */
static void http_wait (struct http_query *query, uint32_t limit_ms)
{
    uint64_t until_ms = clock_boot_ms () + limit_ms;
    for (uint64_t now_ms; open_questions (query) && (now_ms = clock_boot_ms ()) < until_ms;)
        (void) turn (query, (int) (until_ms - now_ms));
    for (uint32_t i = 0; i < query->n; i++) {
        struct question *question = &query->questions[i];
        if (question->fd >= 0)
            end_with (question, question->connected ? HTTP_SLOW : HTTP_NOBODY);
    }
}

/* `*answer` (ANSWERED) lives as long as the client. */
static enum http_result http_result (const struct http_query *query, uint32_t question, struct http_answer *answer)
{
    assert (question < query->n);
    if (query->questions[question].end == HTTP_ANSWERED)
        *answer = query->questions[question].answer;
    return query->questions[question].end;
}

/* NULL is fine */
static void http_release (struct http_query *query)
{
    if (!query)
        return;
    for (uint32_t i = 0; i < query->n; i++) {
        if (query->questions[i].fd >= 0)
            close (query->questions[i].fd);
        buf_release (&query->questions[i].got);
    }
    arena_release (&query->arena);
    mem_free (query);
}

/* ---- metadata ---- */

#define ADDRESS "169.254.169.254"
#define SERVER_NAME "metadata.google.internal"
#define INSTANCE "/computeMetadata/v1/instance/"
#define ATTRIBUTES INSTANCE "attributes/"

static const char *const paths[METADATA_KEYS] = { [METADATA_ACCELERATOR_TYPE] = ATTRIBUTES "accelerator-type",
                                                  [METADATA_WORKER_NUMBER] = ATTRIBUTES "agent-worker-number",
                                                  [METADATA_ENDPOINTS] = ATTRIBUTES "worker-network-endpoints",
                                                  [METADATA_TPU_ENV] = ATTRIBUTES "tpu-env",
                                                  [METADATA_MAINTENANCE] = INSTANCE "upcoming-maintenance?alt=json",
                                                  [METADATA_IMAGE] = INSTANCE "image",
                                                  [METADATA_MACHINE_TYPE] = INSTANCE "machine-type",
                                                  [METADATA_ZONE] = INSTANCE "zone",
                                                  [METADATA_INSTANCE] = INSTANCE "id",
                                                  [METADATA_PREEMPTIBLE] = INSTANCE "scheduling/preemptible" };
/* Without the second the server refuses (cloud.google.com/compute/docs/metadata/querying-metadata). */
static const char fields[] = "Host: " SERVER_NAME "\r\nMetadata-Flavor: Google\r\nUser-Agent: sliceup-worker\r\n";

struct metadata {
    struct http_query *query; /* NULL: nobody was asked */
    uint64_t asked_ms;
};

/* GCE_METADATA_HOST as in google-auth: a host, with or without a port. Names are not looked up: that may take long. */
static const char *address_of (bool google)
{
    const char *named = getenv ("GCE_METADATA_HOST");
    if (named && *named)
        return strcmp (named, SERVER_NAME) ? named : ADDRESS;
    return google ? ADDRESS : NULL;
}

struct metadata *metadata_ask (bool google)
{
    const char *skip = getenv ("TPU_SKIP_MDS_QUERY"), *address = address_of (google);
    struct metadata *metadata = mem_alloc (sizeof *metadata);
    metadata->asked_ms = clock_boot_ms ();
    /* Any text counts, "0" too, as it does for torch_xla (torch_xla/_internal/tpu.py). */
    if (address && !(skip && *skip))
        metadata->query = http_ask (address, paths, METADATA_KEYS, fields);
    return metadata;
}

void metadata_poll (struct metadata *metadata)
{
    if (metadata->query)
        http_poll (metadata->query);
}

/* GCE_METADATA_TIMEOUT, whole seconds, as google-auth has it. */
static uint64_t limit_ms (void)
{
    uint64_t seconds;
    if (!text_to_u64 (text_of (getenv ("GCE_METADATA_TIMEOUT")), &seconds) || seconds == 0)
        return METADATA_WAIT_MS;
    return seconds < METADATA_MOST_WAIT_MS / 1000 ? seconds * 1000 : METADATA_MOST_WAIT_MS;
}

void metadata_wait (struct metadata *metadata)
{
    uint64_t spent_ms = clock_boot_ms () - metadata->asked_ms, most_ms = limit_ms ();
    uint64_t left_ms = spent_ms < most_ms ? most_ms - spent_ms : 0;
    /* What took the time was our own reading of files: the server had no say in that. */
    if (metadata->query)
        http_wait (metadata->query, (uint32_t) (left_ms < METADATA_LEAST_WAIT_MS ? METADATA_LEAST_WAIT_MS : left_ms));
}

/* Anybody may answer on that address; only the real server says who it is. */
static bool is_google (const struct http_answer *answer)
{
    struct text flavor;
    return http_field (answer, "metadata-flavor", &flavor) && text_is (flavor, "Google");
}

const char *metadata_state (const struct metadata *metadata)
{
    uint32_t nobody = 0, answered = 0;
    if (!metadata->query)
        return "not asked";
    for (uint32_t i = 0; i < METADATA_KEYS; i++) {
        struct http_answer answer;
        enum http_result end = http_result (metadata->query, i, &answer);
        if (end == HTTP_SLOW || end == HTTP_OPEN)
            return "slow";
        nobody += end == HTTP_NOBODY;
        answered += end == HTTP_ANSWERED && is_google (&answer);
    }
    return nobody == METADATA_KEYS     ? "absent"
           : answered == METADATA_KEYS ? "answered"
           : answered                  ? "answered in part"
                                       : "no metadata server";
}

struct text metadata_value (const struct metadata *metadata, enum metadata_key key)
{
    struct http_answer answer;
    if (!metadata->query || http_result (metadata->query, key, &answer) != HTTP_ANSWERED || answer.status != 200 ||
        !is_google (&answer))
        return (struct text){ 0 };
    while (answer.body.len && strchr (" \t\r\n", answer.body.ptr[answer.body.len - 1]))
        answer.body.len--;
    while (answer.body.len && strchr (" \t\r\n", answer.body.ptr[0]))
        answer.body.ptr++, answer.body.len--;
    return answer.body;
}

bool metadata_is_late (const struct metadata *metadata, enum metadata_key key)
{
    struct http_answer answer;
    return metadata->query && http_result (metadata->query, key, &answer) == HTTP_SLOW;
}

void metadata_release (struct metadata *metadata)
{
    http_release (metadata->query);
    mem_free (metadata);
}
