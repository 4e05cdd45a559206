#include "coordinator/run/driver_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ASK_MS = 3000 };

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* A waiting one has an address and no time limit. */
struct question {
    struct reachability *reach;
    struct fact_host_asked answer; /* `address` is `words` */
    char words[INET6_ADDRSTRLEN];
    union address to;
    bool waits;
    int fd;         /* -1: none */
    uint64_t by_ms; /* 0: it is not asked now */
};

struct reachability {
    struct loop *loop;
    reachability_fn *answered;
    void *owner;
    struct question *questions; /* by rank */
    uint32_t hosts_n, asked_n, waiting_n;
    int ping_fd; /* -1: not open, or this process may not ping */
};

struct reachability *reachability_create (struct loop *loop, uint32_t hosts_n, reachability_fn *answered, void *owner)
{
    struct reachability *reach = mem_alloc (sizeof *reach);
    *reach =
        (struct reachability){ .loop = loop, .answered = answered, .owner = owner, .hosts_n = hosts_n, .ping_fd = -1 };
    reach->questions = mem_array (hosts_n, sizeof *reach->questions);
    for (uint32_t i = 0; i < hosts_n; i++)
        reach->questions[i] = (struct question){ .reach = reach, .fd = -1 };
    return reach;
}

static void socket_end (struct loop *loop, int *fd)
{
    if (*fd < 0)
        return;
    loop_forget (loop, *fd);
    close (*fd);
    *fd = -1;
}

void reachability_destroy (struct reachability *reach)
{
    for (uint32_t i = 0; reach && i < reach->hosts_n; i++)
        socket_end (reach->loop, &reach->questions[i].fd);
    if (reach) {
        socket_end (reach->loop, &reach->ping_fd);
        mem_free (reach->questions);
    }
    mem_free (reach);
}

static void question_end (struct question *question)
{
    struct reachability *reach = question->reach;
    socket_end (reach->loop, &question->fd);
    question->by_ms = 0;
    if (--reach->asked_n == 0)
        socket_end (reach->loop, &reach->ping_fd);
    if (question->answer.ssh)
        reach->answered (reach->owner, &question->answer);
}

/* Only a connect that was not answered leaves open whether the machine is up; a router's word is no machine's. */
static enum reach reach_of (int error)
{
    return error == 0              ? REACH_ANSWERS
           : error == ECONNREFUSED ? REACH_REFUSES
           : error == ENETUNREACH  ? REACH_NO_ROUTE
                                   : REACH_SILENT;
}

static void question_take_connect (struct question *question, int error)
{
    question->answer.ssh = reach_of (error);
    socket_end (question->reach->loop, &question->fd);
    if (question->answer.ssh != REACH_SILENT || question->answer.ping == REACH_ANSWERS)
        question_end (question);
}

static void on_connect (void *owner, int fd, uint32_t events)
{
    (void) events;
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt (fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    question_take_connect (owner, error);
}

/* ---- ping: IPv4, by a socket for which no right is needed where the system allows it (ping_group_range, icmp(7)) ---- */

static void take_echo (struct reachability *reach, uint32_t host, const struct sockaddr_in *from)
{
    struct question *question = host < reach->hosts_n ? &reach->questions[host] : NULL;
    if (!question || !question->by_ms || question->to.any.sa_family != AF_INET ||
        question->to.v4.sin_addr.s_addr != from->sin_addr.s_addr)
        return;
    question->answer.ping = REACH_ANSWERS;
    if (question->answer.ssh)
        question_end (question);
}

static void on_echo (void *owner, int fd, uint32_t events)
{
    struct reachability *reach = owner;
    struct icmphdr echo;
    struct sockaddr_in from = { 0 };
    socklen_t len = sizeof from;
    (void) events;
    while (reach->ping_fd == fd && recvfrom (fd, &echo, sizeof echo, 0, (struct sockaddr *) &from, &len) == sizeof echo)
        if (echo.type == ICMP_ECHOREPLY)
            take_echo (reach, ntohs (echo.un.echo.sequence), &from);
}

static void ping_open (struct reachability *reach)
{
    if (reach->ping_fd >= 0)
        return;
    reach->ping_fd = socket (AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (reach->ping_fd >= 0 && loop_watch (reach->loop, reach->ping_fd, EPOLLIN, on_echo, reach, NULL) < 0) {
        close (reach->ping_fd);
        reach->ping_fd = -1;
    }
}

static void question_ping (struct question *question)
{
    const struct icmphdr echo = { .type = ICMP_ECHO, .un.echo.sequence = htons ((uint16_t) question->answer.host) };
    if (question->to.any.sa_family != AF_INET)
        return;
    ping_open (question->reach);
    if (question->reach->ping_fd >= 0 &&
        sendto (question->reach->ping_fd, &echo, sizeof echo, 0, &question->to.any, sizeof question->to.v4) > 0)
        question->answer.ping = REACH_SILENT;
}

/* ---- questions ---- */

static void question_begin (struct question *question, uint64_t now_ms)
{
    struct reachability *reach = question->reach;
    socklen_t len = question->to.any.sa_family == AF_INET ? sizeof question->to.v4 : sizeof question->to.v6;
    question->waits = false;
    question->by_ms = now_ms + ASK_MS;
    reach->waiting_n--;
    reach->asked_n++;
    question->fd = socket (question->to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (question->fd < 0) {
        question_end (question);
        return;
    }
    question_ping (question);
    int error = connect (question->fd, &question->to.any, len) == 0 ? 0 : errno;
    if (error != EINPROGRESS)
        question_take_connect (question, error);
    else if (loop_watch (reach->loop, question->fd, EPOLLOUT, on_connect, question, NULL) < 0)
        question_end (question);
}

static bool address_read (struct question *question, struct text address, uint32_t port)
{
    union address *to = &question->to;
    *to = (union address){ 0 };
    if (!text_to_c (address, question->words, sizeof question->words))
        return false;
    bool v4 = inet_pton (AF_INET, question->words, &to->v4.sin_addr) == 1;
    if (!v4 && inet_pton (AF_INET6, question->words, &to->v6.sin6_addr) != 1)
        return false;
    to->any.sa_family = v4 ? AF_INET : AF_INET6;
    *(v4 ? &to->v4.sin_port : &to->v6.sin6_port) = htons ((uint16_t) port);
    return true;
}

bool reachability_ask (struct reachability *reach, uint32_t host, struct text address, uint32_t port)
{
    struct question *question = &reach->questions[host];
    port = port ? port : SSH_PORT_DEFAULT;
    if (question->waits || question->by_ms)
        return true;
    if (!address_read (question, address, port))
        return false;
    question->answer = (struct fact_host_asked){ .host = host, .address = text_of (question->words), .port = port };
    question->waits = true;
    reach->waiting_n++;
    return true;
}

uint64_t reachability_poll (struct reachability *reach, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    for (uint32_t i = 0; i < reach->hosts_n && reach->asked_n + reach->waiting_n > 0; i++) {
        struct question *question = &reach->questions[i];
        if (question->by_ms && now_ms >= question->by_ms) {
            question->answer.ssh = question->answer.ssh ? question->answer.ssh : REACH_SILENT;
            question_end (question);
        }
    }
    for (uint32_t i = 0; i < reach->hosts_n && reach->waiting_n && reach->asked_n < ASKED_AT_ONCE; i++)
        if (reach->questions[i].waits)
            question_begin (&reach->questions[i], now_ms);
    for (uint32_t i = 0; i < reach->hosts_n && reach->asked_n; i++)
        if (reach->questions[i].by_ms)
            next_ms = least_u64 (next_ms, reach->questions[i].by_ms);
    return next_ms;
}
