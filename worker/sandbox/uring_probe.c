#include "worker/sandbox/uring_probe.h"

#include "common/io/fd.h"
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One request, one answer: both rings in one mapping (IORING_FEAT_SINGLE_MMAP, Linux 5.4), the request in another. */
struct ring {
    int fd;
    struct io_uring_params params;
    uint8_t *rings;
    size_t rings_bytes;
    struct io_uring_sqe *request;
};

static void *map (const struct ring *ring, size_t bytes, off_t what)
{
    return mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, what);
}

static bool open_ring (struct ring *ring)
{
    *ring = (struct ring){ .fd = (int) syscall (SYS_io_uring_setup, 1, &ring->params), .params = ring->params };
    if (ring->fd < 0 || !(ring->params.features & IORING_FEAT_SINGLE_MMAP))
        return false;
    size_t asked = ring->params.sq_off.array + ring->params.sq_entries * sizeof (uint32_t);
    size_t answered = ring->params.cq_off.cqes + ring->params.cq_entries * sizeof (struct io_uring_cqe);
    ring->rings_bytes = asked > answered ? asked : answered;
    ring->rings = map (ring, ring->rings_bytes, IORING_OFF_SQ_RING);
    ring->request = map (ring, sizeof *ring->request, (off_t) IORING_OFF_SQES);
    return ring->rings != MAP_FAILED && ring->request != MAP_FAILED;
}

static void close_ring (struct ring *ring)
{
    if (ring->rings && ring->rings != MAP_FAILED)
        munmap (ring->rings, ring->rings_bytes);
    if (ring->request && ring->request != MAP_FAILED)
        munmap (ring->request, sizeof *ring->request);
    fd_close (ring->fd);
}

/* The result of the request: a descriptor, or an errno below 0. */
static int ask (struct ring *ring)
{
    _Atomic uint32_t *tail = (void *) (ring->rings + ring->params.sq_off.tail);
    uint32_t *queue = (void *) (ring->rings + ring->params.sq_off.array);
    const struct io_uring_cqe *answer = (void *) (ring->rings + ring->params.cq_off.cqes);
    queue[0] = 0;
    atomic_store (tail, 1);
    return syscall (SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 ? answer->res : -1;
}

bool uring_opens (const char *path, int flags)
{
    struct ring ring = { .fd = -1 };
    int fd = -1;
    if (open_ring (&ring)) {
        *ring.request = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
                                               .fd = AT_FDCWD,
                                               .open_flags = (uint32_t) flags,
                                               .addr = (uint64_t) (uintptr_t) path };
        fd = ask (&ring);
    }
    close_ring (&ring);
    fd_close (fd);
    return fd >= 0;
}
