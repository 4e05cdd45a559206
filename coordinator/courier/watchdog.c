#include "coordinator/courier/watchdog.h"

#include "common/io/clock.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_over (const struct pollfd *input)
{
    int unread = 0;
    if (!(input->revents & (POLLHUP | POLLRDHUP | POLLERR)))
        return false;
    return ioctl (input->fd, FIONREAD, &unread) != 0 || unread == 0;
}

static void *watch (void *owner)
{
    struct watchdog *watchdog = owner;
    struct pollfd entries[] = { { .fd = watchdog->wake_fd, .events = POLLIN },
                                { .fd = watchdog->input_fd, .events = POLLRDHUP } };
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms >= watchdog->until_ms) {
            struct err err;
            reporter_describe_timeout (watchdog->reporter, watchdog->deadline_ms, TEXT_LIT (""), &err);
            reporter_send_refused (watchdog->reporter, err.text);
            _exit (1);
        }
        if (poll (entries, 2, (int) (watchdog->until_ms - now_ms)) < 0)
            continue; /* EINTR */
        if (entries[0].revents)
            return NULL;
        if (is_over (&entries[1]))
            _exit (1); /* nobody is left to be told */
        if (entries[1].revents)
            entries[1].fd = -1; /* said more before it went: the owner will read that */
    }
}

int watchdog_start (struct watchdog *watchdog, struct err *err)
{
    watchdog->wake_fd = eventfd (0, EFD_CLOEXEC);
    if (watchdog->wake_fd < 0)
        return err_errno (err, ERR_IO, "cannot create an eventfd for the watchdog of start.deadline");
    errno = pthread_create (&watchdog->thread, NULL, watch, watchdog);
    if (errno == 0)
        return 0;
    err_errno (err, ERR_IO, "cannot start a thread for the watchdog of start.deadline");
    (void) close (watchdog->wake_fd);
    return -1;
}

void watchdog_stop (struct watchdog *watchdog)
{
    ssize_t n = write (watchdog->wake_fd, &(uint64_t){ 1 }, sizeof (uint64_t));
    assert (n == sizeof (uint64_t)); /* eventfd(2): fails only at its largest value */
    int rc = pthread_join (watchdog->thread, NULL);
    assert (rc == 0);
    (void) close (watchdog->wake_fd);
}
