#include "worker/builtin/builtin.h"

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/model/hostset.h"
#include "common/model/plan.h"
#include "worker/protocol/protocol_writer.h"
#include <errno.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* DRAWN: without ports of the job, some of the range from which the kernel takes them (ip(7)), since one may be taken on
 * a host: one that answers is enough. DIALERS: threads, so that a firewall that drops costs ANSWER_MS once, up to that
 * many hosts. WAYS_TOLD_MAX: of a result's facts. */
enum { DRAWN = 3, DRAWN_FIRST = 32768, DRAWN_RANGE = 28000, ANSWER_MS = 2000, DIALERS = 128 };
enum { HELLO_BYTES = 384, PLACE_BYTES = 640, BACKLOG = 4096, ACCEPT_PAUSE_MS = 20 };

struct ways {
    struct protocol_writer *writer;
    const char *addresses[HOSTS_MAX]; /* by rank */
    char *told[HOSTS_MAX];            /* why not reached; NULL: reached */
    uint32_t hosts, rank, ports_n, next;
    uint16_t ports[WAYS_PORTS_MAX];
    bool drawn, apart; /* apart: some peer is on another machine */
    bool meets;        /* the port is that at which the others meet rank 0; nobody else listens there */
};
/* "RUN RANK NAME\n", and the sockets of the threads that say so. */
static char ways_hello[HELLO_BYTES];
static int ways_listeners[WAYS_PORTS_MAX];

/* ---- the order ---- */

/* Is there a network between this host and the peer? */
static bool ways_is_apart (const struct ways *ways, uint32_t peer)
{
    const char *own = ways->addresses[ways->rank], *other = ways->addresses[peer];
    return *other && strcmp (own, other) != 0 &&
           !(address_is_loopback (text_of (own)) && address_is_loopback (text_of (other)));
}

static void ways_take_ports (struct ways *ways, const json_t *args, const char *run)
{
    const json_t *asked = json_object_get (args, "ports"), *one = json_object_get (args, "port");
    for (size_t i = 0; i < json_array_size (asked) && i < WAYS_PORTS_MAX; i++)
        ways->ports[ways->ports_n++] = (uint16_t) json_integer_value (json_array_get (asked, i));
    ways->meets = !ways->ports_n && json_integer_value (one) > 0;
    if (ways->meets)
        ways->ports[ways->ports_n++] = (uint16_t) json_integer_value (one);
    for (ways->drawn = !ways->ports_n; ways->drawn && ways->ports_n < DRAWN; ways->ports_n++) {
        char digits[5] = { run[4 * ways->ports_n], run[4 * ways->ports_n + 1], run[4 * ways->ports_n + 2] };
        ways->ports[ways->ports_n] = (uint16_t) (DRAWN_FIRST + 6 * strtoul (digits, NULL, 16) % DRAWN_RANGE);
    }
}

static int ways_take_order (struct ways *ways, struct err *err)
{
    const json_t *args = protocol_writer_args (ways->writer), *all = json_object_get (args, "addresses");
    const char *run = protocol_writer_arg (ways->writer, "run"), *host = protocol_writer_arg (ways->writer, "host");
    ways->rank = (uint32_t) json_integer_value (json_object_get (args, "rank"));
    for (ways->hosts = 0; ways->hosts < json_array_size (all) && ways->hosts < HOSTS_MAX; ways->hosts++)
        ways->addresses[ways->hosts] = json_string_value (json_array_get (all, ways->hosts));
    if (!run || strlen (run) < 4 * DRAWN || !host || (ways->hosts && ways->rank >= ways->hosts))
        return err_set (err, ERR_PARSE, "expected the addresses of all hosts");
    if (!ways->hosts)
        puts ("not tried: the addresses of so many hosts do not fit into one message");
    snprintf (ways_hello, sizeof ways_hello, "%.40s %u %.255s\n", run, ways->rank, host);
    ways_take_ports (ways, args, run);
    for (uint32_t peer = 0; peer < ways->hosts; peer++)
        ways->apart |= ways_is_apart (ways, peer);
    return 0;
}

/* ---- listening ---- */

/* A thread for each listener, until the process ends. */
static void *ways_answer (void *listener)
{
    for (;;) {
        int fd = accept4 (*(int *) listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            (void) poll (NULL, 0, ACCEPT_PAUSE_MS); /* no descriptor is free */
        else if (send (fd, ways_hello, strlen (ways_hello), MSG_NOSIGNAL | MSG_DONTWAIT) >= -1)
            (void) close (fd);
    }
    return NULL;
}

static int ways_listen (struct ways *ways, struct err *err)
{
    pthread_t thread;
    for (uint32_t i = 0; i < ways->ports_n; i++) {
        struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons (ways->ports[i]) };
        int on = 1, off = 0, *fd = &ways_listeners[i];
        *fd = socket (AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (*fd < 0) /* a kernel without IPv6; both addresses begin with family and port */
            *fd = socket (any.sin6_family = AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        else
            (void) setsockopt (*fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off); /* net.ipv6.bindv6only may be 1 */
        bool listens = setsockopt (*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                       bind (*fd, (struct sockaddr *) &any, sizeof any) == 0 && listen (*fd, BACKLOG) == 0;
        if (!listens && !ways->drawn)
            return err_errno (err, ERR_IO,
                              "cannot listen at port %u, which the job needs (on this host, ss -ltnp 'sport = :%u' "
                              "names the process that has it)",
                              ways->ports[i], ways->ports[i]);
        if (listens && (errno = pthread_create (&thread, NULL, ways_answer, fd)) != 0)
            return err_errno (err, ERR_IO, "cannot start a thread that listens");
    }
    return 0;
}

/* ---- connecting ---- */

/* The listener has to say the same run as we do, and the peer's rank. NULL: it does. */
static const char *ways_compare (uint32_t peer, char heard[HELLO_BYTES])
{
    size_t head = strcspn (ways_hello, " ") + 1;
    char *name = heard, other[HELLO_BYTES];
    if (strncmp (heard, ways_hello, head) != 0 || !strchr (heard, '\n'))
        return *heard ? "another program answers there" : "it accepts and says nothing";
    if (strtoul (heard + head, &name, 10) == peer)
        return NULL;
    snprintf (other, sizeof other, "%.*s", (int) strcspn (name + 1, "\n"), name + 1);
    snprintf (heard, HELLO_BYTES, "%.300s answers there", other);
    return heard;
}

static void ways_hear (int fd, uint64_t until_ms, char heard[HELLO_BYTES])
{
    struct pollfd entry = { .fd = fd, .events = POLLIN };
    uint64_t now_ms;
    size_t len = 0;
    ssize_t n = 1;
    while (n != 0 && len < HELLO_BYTES - 1 && (now_ms = clock_boot_ms ()) < until_ms)
        if (poll (&entry, 1, (int) (until_ms - now_ms)) > 0 &&
            (n = recv (fd, heard + len, HELLO_BYTES - 1 - len, 0)) != 0)
            len += n > 0 ? (size_t) n : 0;
}

/* NULL: reached. */
static const char *ways_connect (uint32_t peer, const struct addrinfo *to, char heard[HELLO_BYTES])
{
    uint64_t until_ms = clock_boot_ms () + ANSWER_MS;
    LOCAL_FD fd = tcp_connect (to, until_ms);
    const char *why = fd >= 0                 ? NULL
                      : errno == ETIMEDOUT    ? "no answer"
                      : errno == ECONNREFUSED ? "refused"
                                              : strerrordesc_np (errno);
    memset (heard, 0, HELLO_BYTES);
    if (!why) {
        ways_hear (fd, until_ms, heard);
        why = ways_compare (peer, heard);
    }
    return why;
}

/* Of one port; a name may have several addresses. */
static void ways_try_port (const struct ways *ways, uint32_t peer, uint16_t port, char place[PLACE_BYTES])
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found = NULL;
    const char *address = ways->addresses[peer], *why;
    char service[8], heard[HELLO_BYTES];
    snprintf (service, sizeof service, "%u", port);
    int rc = getaddrinfo (address, service, &hints, &found);
    why = !rc                   ? "no answer"
          : ways->drawn && peer ? NULL
                                : gai_strerror (rc); /* without a port of the job all go to rank 0 */
    for (const struct addrinfo *to = found; to && why; to = to->ai_next)
        why = ways_connect (peer, to, heard);
    size_t len = strlen (place);
    if (why)
        snprintf (place + len, PLACE_BYTES - len, strchr (address, ':') ? "%s[%s]:%u (%s)" : "%s%s:%u (%s)",
                  len ? ", " : "", address, port, why);
    else if (ways->drawn)
        *place = '\0';
    if (found)
        freeaddrinfo (found);
}

/* A thread: takes peers until none is left. Of drawn ports it tries the next where something else has one on the peer. */
static void *ways_dial (void *owner)
{
    struct ways *ways = owner;
    for (uint32_t peer; (peer = __atomic_fetch_add (&ways->next, 1, __ATOMIC_SEQ_CST)) < ways->hosts;) {
        char place[PLACE_BYTES] = "";
        bool dials = ways_is_apart (ways, peer) && !(ways->meets && peer);
        for (uint32_t i = 0; i < ways->ports_n && dials; i++)
            if (!ways->drawn || i == 0 || (*place && !strstr (place, "(no answer)")))
                ways_try_port (ways, peer, ways->ports[i], place);
        ways->told[peer] = *place ? mem_text (place) : NULL;
    }
    return NULL;
}

/* ---- the program ---- */

static void ways_dial_all (struct ways *ways)
{
    pthread_t threads[DIALERS];
    char name[24];
    uint32_t n = 0;
    while (n < DIALERS && n < ways->hosts && pthread_create (&threads[n], NULL, ways_dial, ways) == 0)
        n++;
    (void) ways_dial (ways); /* also where no thread could be started */
    while (n)
        (void) pthread_join (threads[--n], NULL);
    for (uint32_t i = 1; i < ways->hosts && n < WAYS_TOLD_MAX; i++) { /* the next by rank: others tell of others */
        uint32_t peer = (ways->rank + i) % ways->hosts;
        snprintf (name, sizeof name, "way.%u", peer);
        if (ways->told[peer] && ++n)
            protocol_writer_fact (ways->writer, name, text_of (ways->told[peer]));
    }
}

/* Nobody stops listening before all have tried. */
static int ways_try (struct ways *ways, struct err *err)
{
    if (ways->apart && !(ways->meets && ways->rank) && ways_listen (ways, err) < 0)
        return -1;
    if (ways->hosts > 1 && protocol_writer_pass_gate (ways->writer, "listening", err) < 0)
        return -1;
    ways_dial_all (ways);
    return ways->hosts > 1 ? protocol_writer_pass_gate (ways->writer, "tried", err) : 0;
}

int ways_main (int argc, char **argv)
{
    static struct ways ways;
    struct err err = { 0 };
    (void) argc, (void) argv;
    ways.writer = getenv ("SLICEUP_FD") ? protocol_writer_open (&err) : NULL;
    int rc = ways.writer && ways_take_order (&ways, &err) == 0 ? ways_try (&ways, &err) : -1;
    if (rc == 0)
        protocol_writer_done (ways.writer);
    else if (ways.writer && err.code != ERR_STATE) /* a stopped one says no more */
        protocol_writer_failure (ways.writer, OWNER_LAUNCH, text_of (err.text));
    if (ways.writer)
        (void) protocol_writer_close (ways.writer, &err);
    if (rc < 0)
        fprintf (stderr, "sliceup-worker ways: %s\n", *err.text ? err.text : "only a rung starts this program");
    return rc < 0;
}
