/* members.c - the helper's loop: epoll over the descriptors of its workers' sockets. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#include "common/io/clock.h"
#include "member.h"
#include "usage.h"

enum { EVENTS_A_PASS = 256, BEATS_EVERY_MS = 50, SOCKETS_MAX = 16384, GIVE_UP_MS = 600000 };

struct members {
    struct member_world world;
    struct member *items;
    uint32_t n;
    int epoll_fd;
};

static void make_keys (struct members *members, int fd, uint32_t first)
{
    for (uint32_t i = 0; i < members->n; i++) {
        members->items[i].rank = first + i;
        link_keys_make (&members->items[i].keys);
        crowd_write (fd, members->items[i].keys.public_key, LINK_KEY_BYTES);
    }
}

static void make_sockets (struct members *members)
{
    members->world.context = zmq_ctx_new ();
    members->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (members->world.context == NULL || members->epoll_fd < 0 ||
        zmq_ctx_set (members->world.context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) != 0)
        bench_die ("no messaging in a helper");
    for (uint32_t i = 0; i < members->n; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
        member_make_socket (&members->world, &members->items[i]);
        if (epoll_ctl (members->epoll_fd, EPOLL_CTL_ADD, members->items[i].fd, &event) != 0)
            bench_die ("no watch over a worker");
    }
}

static void pass (struct members *members)
{
    struct epoll_event events[EVENTS_A_PASS];
    int n = epoll_wait (members->epoll_fd, events, EVENTS_A_PASS, BEATS_EVERY_MS);
    if (n < 0 && errno != EINTR)
        bench_die ("waiting failed");
    uint64_t now_ms = clock_boot_ms ();
    for (int i = 0; i < n; i++)
        member_pump (&members->world, &members->items[events[i].data.u32], now_ms);
}

static void serve (struct members *members)
{
    uint64_t began_ms = clock_boot_ms (), scan_ms = began_ms;
    for (uint32_t i = 0; i < members->n; i++)
        member_connect (&members->world, &members->items[i]);
    for (uint32_t i = 0; i < members->n; i++)
        member_pump (&members->world, &members->items[i], began_ms); /* what came before the first wait */
    while (members->world.stopped_n < members->n) {
        pass (members);
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms > began_ms + GIVE_UP_MS)
            bench_die ("the round never ended");
        if (now_ms < scan_ms + BEATS_EVERY_MS)
            continue;
        scan_ms = now_ms;
        for (uint32_t i = 0; i < members->n; i++)
            member_beat (&members->world, &members->items[i], now_ms);
    }
}

void members_serve (int fd, uint32_t first, uint32_t n)
{
    struct members members = { .n = n, .items = mem_array (n, sizeof (struct member)) };
    char go;
    buf_init (&members.world.frame, MSG_MAX_BYTES);
    make_keys (&members, fd, first);
    crowd_read (fd, &members.world.request, sizeof members.world.request);
    make_sockets (&members);
    crowd_write (fd, "r", 1);
    crowd_read (fd, &go, sizeof go);
    uint64_t cpu_ns = usage_cpu_ns ();
    serve (&members);
    members.world.report.cpu_ns = usage_cpu_ns () - cpu_ns;
    crowd_write (fd, &members.world.report, sizeof members.world.report);
    for (uint32_t i = 0; i < n; i++)
        member_close (&members.items[i]);
    zmq_ctx_term (members.world.context);
    close (members.epoll_fd);
    buf_release (&members.world.frame);
    arena_release (&members.world.arena);
    mem_free (members.items);
}
