/* links: web */
#include "common/io/clock.h"
#include "coordinator/web/server.h"
#include "test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

/* Real sockets, and a clock that is set forward: `late_ms` is added to the time that the server is told. */
enum { LARGE_BYTES = 16 << 20, BOUND_MS = 10 * 1000 };

struct lab {
    struct loop *loop;
    struct http *http;
    uint16_t port;
    uint64_t late_ms;
    struct http_exchange *held;
    uint32_t asked;
};

static struct http_answer *large (void)
{
    static char bytes[LARGE_BYTES];
    return http_answer_fixed (200, "text/plain", (struct text){ bytes, sizeof bytes });
}

static void answer (void *owner, struct http_exchange *exchange, const struct http_request *request)
{
    struct lab *lab = owner;
    lab->asked++;
    if (strcmp (request->target, "/hold") == 0) {
        lab->held = exchange;
        return;
    }
    if (strcmp (request->target, "/known") == 0)
        http_note_known (exchange);
    struct http_answer *made = strcmp (request->target, "/large") == 0
                                   ? large ()
                                   : http_answer_bytes (200, "text/plain", text_of (request->target));
    http_reply (exchange, made);
    http_answer_release (made);
}

static void lab_open (struct lab *lab)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl (INADDR_LOOPBACK) } };
    socklen_t bytes = sizeof at;
    struct err err = { 0 };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true (fd >= 0 && bind (fd, (struct sockaddr *) &at, bytes) == 0 && listen (fd, 256) == 0 &&
                 getsockname (fd, (struct sockaddr *) &at, &bytes) == 0);
    lab->port = ntohs (at.sin_port);
    lab->loop = loop_open (&err);
    lab->http = http_open (lab->loop, fd, answer, lab, &err);
    assert_true (lab->http);
}

static void lab_close (struct lab *lab)
{
    http_close (lab->http);
    loop_close (lab->loop);
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

static void turn (struct lab *lab)
{
    (void) http_tick (lab->http, clock_boot_ms () + lab->late_ms);
}

static int dial (struct lab *lab)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons (lab->port),
                              .sin_addr = { htonl (INADDR_LOOPBACK) } };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true (fd >= 0 && connect (fd, (struct sockaddr *) &at, sizeof at) == 0);
    return fd;
}

static void say (int fd, const char *words)
{
    assert_int_equal (write (fd, words, strlen (words)), strlen (words));
}

/* Reads until `until` was received, or the end; false: the end. */
static bool hears (struct lab *lab, int fd, const char *until, char *out, size_t room)
{
    uint64_t end_ms = clock_boot_ms () + BOUND_MS;
    size_t n = 0;
    out[0] = '\0';
    while (!strstr (out, until) && n + 1 < room) {
        struct pollfd there = { .fd = fd, .events = POLLIN };
        assert_true (clock_boot_ms () < end_ms);
        turn (lab);
        if (poll (&there, 1, 1) <= 0)
            continue;
        ssize_t got = read (fd, out + n, room - 1 - n);
        if (got <= 0)
            return false;
        out[n += (size_t) got] = '\0';
    }
    return true;
}

static bool is_closed (struct lab *lab, int fd)
{
    char out[4096];
    return !hears (lab, fd, "\001never\001", out, sizeof out);
}

static bool was_closed (int fd)
{
    struct pollfd there = { .fd = fd, .events = POLLRDHUP };
    return poll (&there, 1, 0) > 0;
}

static void wait_until_held (struct lab *lab)
{
    for (uint64_t end_ms = clock_boot_ms () + BOUND_MS; !lab->held; turn (lab))
        assert_true (clock_boot_ms () < end_ms);
}

TEST_ON (lab, asks_are_answered_on_one_connection)
{
    char out[4096];
    int fd = dial (lab);
    say (fd, "GET /one HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, fd, "/one", out, sizeof out));
    assert_has (out, "HTTP/1.1 200");
    assert_has (out, "Content-Security-Policy: default-src 'none'");
    assert_has (out, "nosniff");
    say (fd, "GET /two?x=%41 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, fd, "/two?x=%41", out, sizeof out)); /* as it was sent */
    say (fd, "HEAD /three HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, fd, "\r\n\r\n", out, sizeof out));
    assert_has_not (out, "/three");
    close (fd);
}

TEST_ON (lab, what_is_no_get_is_refused_before_anybody_is_asked)
{
    static const char *const requests[][2] = {
        { "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405" },
        { "DELETE /x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405" },
        { "GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 413" },
        { "GET /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 413" },
        { "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 400" },
        { "GET /x y HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400" },
    };
    char out[4096];
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int fd = dial (lab);
        say (fd, requests[i][0]);
        assert_true (hears (lab, fd, "\r\n\r\n", out, sizeof out));
        assert_has (out, requests[i][1]);
        assert_has (out, "Content-Security-Policy: default-src 'none'");
        close (fd);
    }
    assert_int_equal (lab->asked, 0);
}

/* The library answers these by itself, and offers no way to add headers: its texts are fixed, and it closes then. */
TEST_ON (lab, what_is_no_http_is_answered_with_nothing_of_it)
{
    static const char *const requests[] = {
        "<script>evil</script>\r\n\r\n",
        "GET /evil HTTP/1.1\r\nHost: x\r\n<script>evil</script>\r\n\r\n",
        "GET /evil HTTP/9.9\r\nHost: x\r\n\r\n",
        "GET /evil HTTP/0.1\r\n\r\n",
        "GET /evil HTTP/1.1\r\nHost: x\r\nContent-Length: <script>evil</script>\r\n\r\n",
        "GET /evil HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    };
    char out[4096];
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int fd = dial (lab);
        say (fd, requests[i]);
        assert_false (hears (lab, fd, "\001never\001", out, sizeof out)); /* it closes */
        assert_has_not (out, "evil");
        assert_has_not (out, "HTTP/1.1 200");
        close (fd);
    }
    assert_int_equal (lab->asked, 0);
}

TEST_ON (lab, a_large_request_is_refused)
{
    char out[4096];
    for (size_t bytes = 6000; bytes <= 24000; bytes += 6000) {
        char *value = malloc (bytes + 1);
        memset (value, 'a', bytes);
        value[bytes] = '\0';
        int fd = dial (lab);
        dprintf (fd, "GET /x HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", value);
        (void) hears (lab, fd, "\r\n", out, sizeof out);
        assert_has (out, bytes < HTTP_REQUEST_BYTES ? "HTTP/1.1 200" : "HTTP/1.1 4");
        close (fd);
        free (value);
    }
    assert_int_equal (lab->asked, 1);
}

TEST_ON (lab, a_request_that_is_not_whole_in_time_is_closed)
{
    char out[4096];
    int silent = dial (lab), slow = dial (lab), idle = dial (lab);
    say (slow, "GET /x HT");
    say (idle, "GET /idle HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, idle, "/idle", out, sizeof out));
    lab->late_ms = HTTP_REQUEST_MS - 1000;
    turn (lab);
    say (slow, "TP/1.1\r\nHost"); /* it is not counted anew from the last byte */
    turn (lab);
    say (idle, "GET /idle HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, idle, "/idle", out, sizeof out));
    lab->late_ms = HTTP_REQUEST_MS + 1000;
    assert_true (is_closed (lab, silent));
    assert_true (is_closed (lab, slow));
    assert_int_equal (lab->asked, 2);
    close (silent);
    close (slow);
    close (idle);
}

TEST_ON (lab, an_answer_that_is_not_taken_is_closed)
{
    static char out[LARGE_BYTES];
    int stopped = dial (lab), reads = dial (lab);
    say (stopped, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    say (reads, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, reads, "\r\n\r\n", out, 4096));
    lab->late_ms = HTTP_ANSWER_MS - 2000;
    for (int i = 0; i < 50; i++)
        turn (lab);
    assert_false (was_closed (stopped));
    lab->late_ms = HTTP_ANSWER_MS + 2000;
    turn (lab);
    size_t n = 0;
    ssize_t got;
    while ((got = read (stopped, out, sizeof out)) > 0) {
        n += (size_t) got;
        turn (lab);
    }
    assert_true (n < LARGE_BYTES); /* what the kernel had taken; then the end */
    close (stopped);
    close (reads);
}

TEST_ON (lab, a_held_request_is_answered_later_and_never_closed)
{
    char out[4096];
    int fd = dial (lab), other = dial (lab);
    say (fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    say (other, "GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, other, "/now", out, sizeof out));
    wait_until_held (lab);
    lab->late_ms = 10 * HTTP_ANSWER_MS;
    turn (lab);
    lab->late_ms = 0;
    struct http_answer *made = http_answer_bytes (200, "text/plain", text_of ("at last"));
    http_reply (lab->held, made);
    http_answer_release (made);
    assert_true (hears (lab, fd, "at last", out, sizeof out));
    /* One whose client went away meanwhile costs nothing. */
    lab->held = NULL;
    say (fd, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_until_held (lab);
    close (fd);
    made = http_answer_bytes (200, "text/plain", text_of ("to nobody"));
    http_reply (lab->held, made);
    http_answer_release (made);
    for (int i = 0; i < 10; i++)
        turn (lab);
    close (other);
}

/* What is open after it; `n` more that say `words`. */
static void crowd_in (struct lab *lab, int *fds, uint32_t n, const char *words)
{
    for (uint32_t i = 0; i < n; i++) {
        fds[i] = dial (lab);
        say (fds[i], words);
        turn (lab);
        turn (lab);
    }
}

static uint32_t closed_of (const int *fds, uint32_t n)
{
    uint32_t closed = 0;
    for (uint32_t i = 0; i < n; i++)
        closed += was_closed (fds[i]);
    return closed;
}

static void close_all (const int *fds, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        close (fds[i]);
}

static void ask_known (struct lab *lab, int fd)
{
    char out[4096];
    say (fd, "GET /known HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_true (hears (lab, fd, "/known", out, sizeof out));
}

/* No time passes: whoever asks does not wait for those who say nothing, or not enough. */
TEST_ON (lab, a_crowd_that_says_nothing_gives_way)
{
    static const char *const words[] = { "", "GET /slow HTTP/1.1\r\nHost: x\r\nX-Slow:" };
    enum { CROWD = HTTP_CONNECTIONS + 44 };
    char out[4096];
    for (uint32_t k = 0; k < 2; k++) {
        int silent[CROWD];
        crowd_in (lab, silent, CROWD, words[k]);
        int fd = dial (lab);
        say (fd, "GET /now HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_true (hears (lab, fd, "/now", out, sizeof out));
        assert_true (closed_of (silent, CROWD) >= CROWD - HTTP_FULL);
        assert_true (was_closed (silent[0]) && !was_closed (silent[CROWD - 1])); /* the first that came */
        close_all (silent, CROWD);
        close (fd);
    }
}

TEST_ON (lab, whoever_is_known_is_closed_for_no_stranger)
{
    enum { KNOWN = 100, STRANGERS = 200 };
    int known[KNOWN], strangers[STRANGERS], held = dial (lab);
    char out[4096];
    say (held, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_until_held (lab);
    for (uint32_t i = 0; i < KNOWN; i++)
        ask_known (lab, known[i] = dial (lab));
    crowd_in (lab, strangers, STRANGERS, "GET /stranger HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal (closed_of (known, KNOWN), 0);
    close_all (strangers, STRANGERS);
    for (uint32_t i = 0; i < HTTP_FULL;
         i++) /* and of those who are known the one that has asked for nothing for longest */
        ask_known (lab, strangers[i % STRANGERS] = dial (lab));
    assert_true (was_closed (known[0]));
    struct http_answer *made = http_answer_bytes (200, "text/plain", TEXT_LIT ("at last"));
    http_reply (lab->held, made);
    http_answer_release (made);
    assert_true (hears (lab, held, "at last", out, sizeof out));
    close (held);
    close_all (known, KNOWN);
}

/* The library's own list of them had no room, and no way to say so. */
TEST_ON (lab, an_address_of_many_parameters_is_asked_for_as_it_was_sent)
{
    enum { LONG_BYTES = 8000 };
    static char request[LONG_BYTES + 64], out[2 * LONG_BYTES];
    for (size_t n = 200; n <= LONG_BYTES; n *= 2) {
        for (size_t i = 0; i < n; i++)
            request[i] = i % 3 ? '&' : '?';
        snprintf (request + n, 64, "x HTTP/1.1\r\nHost: x\r\n\r\n");
        memcpy (request, "GET /", 5);
        int fd = dial (lab);
        say (fd, request);
        assert_true (hears (lab, fd, request[n - 1] == '&' ? "&x" : "?x", out, sizeof out));
        assert_has (out, "HTTP/1.1 200");
        close (fd);
    }
}
