/* links: coordinator_run */
/* Whether machines answer: ports of this one that listen, refuse or say nothing, and more hosts than are asked at once. */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/io/clock.h"
#include "coordinator/run/driver_private.h"
#include "test.h"

enum { HOSTS = 300, BOUND_MS = 20000, FULL_CONNECTS = 4, PASS_MS = 20 };
#define HERE TEXT_LIT ("127.0.0.1")

struct lab {
    struct loop *loop;
    struct reachability *reachability;
    struct fact_host_asked answers[HOSTS];
    uint32_t answered_n, wanted;
    uint64_t until_ms;
    int full_fd, full[FULL_CONNECTS];
};

static void take (void *owner, const struct fact_host_asked *answer)
{
    struct lab *lab = owner;
    assert_true (answer->host < HOSTS);
    lab->answers[answer->host] = *answer;
    lab->answered_n++;
}

static void on_pass (void *owner)
{
    struct lab *lab = owner;
    uint64_t now_ms = clock_boot_ms ();
    (void) reachability_poll (lab->reachability, now_ms);
    if (lab->answered_n >= lab->wanted || now_ms > lab->until_ms)
        loop_stop (lab->loop);
    loop_set_deadline (lab->loop, now_ms + PASS_MS);
}

static void lab_open (struct lab *lab)
{
    *lab = (struct lab){ .loop = loop_open (NULL), .full_fd = -1 };
    lab->reachability = reachability_create (lab->loop, HOSTS, take, lab);
    loop_set_iteration_fn (lab->loop, on_pass, lab);
}

static void lab_close (struct lab *lab)
{
    reachability_destroy (lab->reachability);
    loop_close (lab->loop);
    for (uint32_t i = 0; lab->full_fd >= 0 && i < FULL_CONNECTS; i++)
        close (lab->full[i]);
    if (lab->full_fd >= 0)
        close (lab->full_fd);
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

static void until (struct lab *lab, uint32_t answers)
{
    lab->wanted = answers;
    lab->until_ms = clock_boot_ms () + BOUND_MS;
    assert_int_equal (loop_run (lab->loop, NULL), 0);
    assert_int_equal (lab->answered_n, answers);
}

static int port_open (bool listens, uint16_t *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal (bind (fd, (struct sockaddr *) &at, sizeof at), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *) &at, &len), 0);
    if (listens)
        assert_int_equal (listen (fd, 0), 0);
    *port = ntohs (at.sin_port);
    return fd;
}

/* Its queue is full, so what more comes is passed over. */
static uint16_t port_that_is_silent (struct lab *lab)
{
    uint16_t port;
    lab->full_fd = port_open (true, &port);
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK),
                              .sin_port = htons (port) };
    for (uint32_t i = 0; i < FULL_CONNECTS; i++) {
        lab->full[i] = socket (AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void) connect (lab->full[i], (struct sockaddr *) &to, sizeof to);
    }
    return port;
}

/* What the system lets this process ask by. */
static enum reach ping_here (void)
{
    int fd = socket (AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    if (fd >= 0)
        close (fd);
    return fd >= 0 ? REACH_ANSWERS : REACH_NOT_ASKED;
}

static uint32_t descriptors (void)
{
    uint32_t n = 0;
    DIR *folder = opendir ("/proc/self/fd");
    while (readdir (folder))
        n++;
    closedir (folder);
    return n;
}

TEST_ON (lab, a_port_that_listens_answers_and_one_that_does_not_refuses)
{
    uint16_t listening, closed;
    int first = port_open (true, &listening), second = port_open (false, &closed);
    assert_true (reachability_ask (lab->reachability, 3, HERE, listening));
    assert_true (reachability_ask (lab->reachability, 4, HERE, closed));
    assert_true (reachability_ask (lab->reachability, 4, HERE, closed)); /* it is being asked */
    until (lab, 2);
    assert_int_equal (lab->answers[3].ssh, REACH_ANSWERS);
    assert_int_equal (lab->answers[3].port, listening);
    assert_text (lab->answers[3].address, "127.0.0.1");
    assert_int_equal (lab->answers[4].ssh, REACH_REFUSES);
    assert_int_equal (reachability_poll (lab->reachability, clock_boot_ms ()), UINT64_MAX);
    char none;
    int accepted = accept (first, NULL, NULL);
    assert_int_equal (read (accepted, &none, 1), 0); /* nothing was sent, and it is closed */
    close (accepted);
    close (first);
    close (second);
}

TEST_ON (lab, a_silent_port_has_three_seconds)
{
    uint64_t began_ms = clock_boot_ms ();
    assert_true (reachability_ask (lab->reachability, 0, HERE, port_that_is_silent (lab)));
    until (lab, 1);
    assert_in_range (clock_boot_ms () - began_ms, 2900, BOUND_MS);
    assert_int_equal (lab->answers[0].ssh, REACH_SILENT);
    assert_int_equal (lab->answers[0].ping, ping_here ());
}

TEST_ON (lab, many_hosts_take_turns)
{
    uint16_t port = port_that_is_silent (lab);
    uint32_t before = descriptors ();
    for (uint32_t i = 0; i < HOSTS; i++)
        assert_true (reachability_ask (lab->reachability, i, HERE, port));
    for (uint64_t now_ms = 1000; lab->answered_n < HOSTS; now_ms += 3000) {
        assert_in_range (reachability_poll (lab->reachability, now_ms), now_ms + 3000, now_ms + 3000);
        assert_in_range (descriptors (), before, before + ASKED_AT_ONCE + 1);
        if (lab->answered_n + ASKED_AT_ONCE >= HOSTS)
            break;
        assert_in_range (lab->answered_n, now_ms / 3000 * ASKED_AT_ONCE, now_ms / 3000 * ASKED_AT_ONCE);
    }
    (void) reachability_poll (lab->reachability, 1000000);
    assert_int_equal (lab->answered_n, HOSTS);
    assert_int_equal (descriptors (), before);
}

TEST_ON (lab, a_name_is_not_looked_up)
{
    assert_false (reachability_ask (lab->reachability, 0, TEXT_LIT ("localhost"), 22));
    assert_false (reachability_ask (lab->reachability, 0, TEXT_LIT (""), 22));
    assert_false (reachability_ask (lab->reachability, 0, TEXT_LIT ("10.0.0.1; reboot"), 22));
    assert_int_equal (reachability_poll (lab->reachability, clock_boot_ms ()), UINT64_MAX);
}
