#include "coordinator/courier/guard.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "common/io/clock.h"

static bool is_over (const struct pollfd *input)
{
    int unread = 0;
    if (!(input->revents & (POLLHUP | POLLRDHUP | POLLERR)))
        return false;
    return ioctl (input->fd, FIONREAD, &unread) != 0 || unread == 0;
}

static void *watch (void *owner)
{
    struct guard *guard = owner;
    struct pollfd entries[] = { { .fd = guard->wake_fd, .events = POLLIN },
                                { .fd = guard->input_fd, .events = POLLRDHUP } };
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms >= guard->until_ms) {
            struct err err;
            voice_lateness (guard->voice, guard->deadline_ms, TEXT_LIT (""), &err);
            voice_refused (guard->voice, err.text);
            _exit (1);
        }
        if (poll (entries, 2, (int) (guard->until_ms - now_ms)) < 0)
            continue; /* EINTR */
        if (entries[0].revents)
            return NULL;
        if (is_over (&entries[1]))
            _exit (1); /* nobody is left to be told */
        if (entries[1].revents)
            entries[1].fd = -1; /* said more before it went: the owner will read that */
    }
}

int guard_start (struct guard *guard, struct err *err)
{
    guard->wake_fd = eventfd (0, EFD_CLOEXEC);
    if (guard->wake_fd < 0)
        return err_errno (err, ERR_IO, "no descriptor for the guard of the deadline");
    errno = pthread_create (&guard->thread, NULL, watch, guard);
    if (errno == 0)
        return 0;
    err_errno (err, ERR_IO, "no thread for the guard of the deadline");
    (void) close (guard->wake_fd);
    return -1;
}

void guard_stop (struct guard *guard)
{
    ssize_t n = write (guard->wake_fd, &(uint64_t) { 1 }, sizeof (uint64_t));
    assert (n == sizeof (uint64_t)); /* eventfd(2): fails only at its largest value */
    int rc = pthread_join (guard->thread, NULL);
    assert (rc == 0);
    (void) close (guard->wake_fd);
}
