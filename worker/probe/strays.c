#include "worker/probe/strays.h"

#include "common/io/clock.h"
#include "common/io/fd.h"
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* One that outlives SIGKILL so long is held by a driver; one that goes on forking is for who contains us. */
enum { END_WAIT_MS = 5000, LOOK_AGAIN_MS = 5 };

static uint32_t list_children (pid_t *out)
{
    char thread[16];
    snprintf (thread, sizeof thread, "%d", (int) getpid ());
    return proc_children ("self", thread, out, STRAYS_MAX);
}

int strays_adopt (struct children_before *strays, struct err *err)
{
    strays->before_n = list_children (strays->before);
    if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_errno (err, ERR_IO, "the probe cannot become the parent of processes that a plugin leaves running");
    return 0;
}

static bool was_before (const struct children_before *strays, int pid)
{
    for (uint32_t i = 0; i < strays->before_n; i++)
        if (strays->before[i] == pid)
            return true;
    return false;
}

/* A child that is not collected keeps its number, so the signal reaches nobody else. */
static bool end_one (int pid)
{
    int status = 0;
    (void) kill (pid, SIGKILL); /* it may be dead already */
    return waitpid (pid, &status, WNOHANG) == pid && WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
}

/* False: there is none. The children of one that is killed become ours, so it takes more than one look. */
static bool end_children (const struct children_before *strays, uint32_t *killed)
{
    int children[STRAYS_MAX];
    uint32_t n = list_children (children), ours = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (was_before (strays, children[i]))
            continue;
        *killed += end_one (children[i]);
        ours++;
    }
    return ours > 0;
}

uint32_t strays_end (const struct children_before *strays)
{
    uint64_t deadline_ms = clock_boot_ms () + END_WAIT_MS;
    uint32_t killed = 0;
    while (end_children (strays, &killed) && clock_boot_ms () < deadline_ms)
        (void) poll (NULL, 0, LOOK_AGAIN_MS); /* an interrupted wait is a shorter one */
    return killed;
}
