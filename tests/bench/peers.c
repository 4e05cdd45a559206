/* peers.c - the helper's loop: epoll over the descriptors of its workers' sockets. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#include "common/io/clock.h"
#include "peer.h"
#include "usage.h"

enum { EVENTS_A_PASS = 256, BEATS_EVERY_MS = 50, SOCKETS_MAX = 16384, GIVE_UP_MS = 600000 };

struct peers {
    struct peer_world world;
    struct peer *items;
    uint32_t n;
    int epoll_fd;
};

static void make_keys (struct peers *peers, int fd, uint32_t first)
{
    for (uint32_t i = 0; i < peers->n; i++) {
        peers->items[i].rank = first + i;
        link_keys_make (&peers->items[i].keys);
        crowd_write (fd, peers->items[i].keys.public_key, LINK_KEY_BYTES);
    }
}

static void make_sockets (struct peers *peers)
{
    peers->world.context = zmq_ctx_new ();
    peers->epoll_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (peers->world.context == NULL || peers->epoll_fd < 0 ||
        zmq_ctx_set (peers->world.context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) != 0)
        bench_die ("no messaging in a helper");
    for (uint32_t i = 0; i < peers->n; i++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
        peer_make_socket (&peers->world, &peers->items[i]);
        if (epoll_ctl (peers->epoll_fd, EPOLL_CTL_ADD, peers->items[i].fd, &event) != 0)
            bench_die ("no watch over a worker");
    }
}

static void pass (struct peers *peers)
{
    struct epoll_event events[EVENTS_A_PASS];
    int n = epoll_wait (peers->epoll_fd, events, EVENTS_A_PASS, BEATS_EVERY_MS);
    if (n < 0 && errno != EINTR)
        bench_die ("waiting failed");
    uint64_t now_ms = clock_boot_ms ();
    for (int i = 0; i < n; i++)
        peer_pump (&peers->world, &peers->items[events[i].data.u32], now_ms);
}

static void serve (struct peers *peers)
{
    uint64_t began_ms = clock_boot_ms (), scan_ms = began_ms;
    for (uint32_t i = 0; i < peers->n; i++)
        peer_connect (&peers->world, &peers->items[i]);
    for (uint32_t i = 0; i < peers->n; i++)
        peer_pump (&peers->world, &peers->items[i], began_ms); /* what came before the first wait */
    while (peers->world.stopped_n < peers->n) {
        pass (peers);
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms > began_ms + GIVE_UP_MS)
            bench_die ("the round never ended");
        if (now_ms < scan_ms + BEATS_EVERY_MS)
            continue;
        scan_ms = now_ms;
        for (uint32_t i = 0; i < peers->n; i++)
            peer_beat (&peers->world, &peers->items[i], now_ms);
    }
}

void peers_serve (int fd, uint32_t first, uint32_t n)
{
    struct peers peers = { .n = n, .items = mem_array (n, sizeof (struct peer)) };
    char go;
    buf_init (&peers.world.frame, MSG_MAX_BYTES);
    make_keys (&peers, fd, first);
    crowd_read (fd, &peers.world.request, sizeof peers.world.request);
    make_sockets (&peers);
    crowd_write (fd, "r", 1);
    crowd_read (fd, &go, sizeof go);
    uint64_t cpu_ns = usage_cpu_ns ();
    serve (&peers);
    peers.world.report.cpu_ns = usage_cpu_ns () - cpu_ns;
    crowd_write (fd, &peers.world.report, sizeof peers.world.report);
    for (uint32_t i = 0; i < n; i++)
        peer_close (&peers.items[i]);
    zmq_ctx_term (peers.world.context);
    close (peers.epoll_fd);
    buf_release (&peers.world.frame);
    arena_release (&peers.world.arena);
    mem_free (peers.items);
}
