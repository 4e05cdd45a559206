#include "crowd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"

void bench_die (const char *what)
{
    fprintf (stderr, "bench: %s%s%s\n", what, errno ? ": " : "", errno ? strerror (errno) : "");
    exit (1);
}

void crowd_read (int fd, void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read (fd, (char *) bytes + done, len - done);
        if (n <= 0)
            bench_die ("a helper or the measuring process is gone");
        done += (size_t) n;
    }
}

void crowd_write (int fd, const void *bytes, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = write (fd, (const char *) bytes + done, len - done);
        if (n <= 0)
            bench_die ("a helper or the measuring process is gone");
        done += (size_t) n;
    }
}

static uint32_t first_of (const struct crowd *crowd, int helper)
{
    return (uint32_t) ((uint64_t) crowd->hosts * (uint64_t) helper / CROWD_HELPERS);
}

static void start_helper (struct crowd *crowd, int helper)
{
    int pair[2];
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        bench_die ("no socket pair");
    pid_t pid = fork ();
    if (pid < 0)
        bench_die ("no helper process");
    if (pid == 0) {
        for (int i = 0; i < helper; i++)
            close (crowd->fds[i]); /* so that the other helper sees this side end */
        close (pair[0]);
        members_serve (pair[1], first_of (crowd, helper), first_of (crowd, helper + 1) - first_of (crowd, helper));
        _exit (0);
    }
    close (pair[1]);
    crowd->pids[helper] = pid;
    crowd->fds[helper] = pair[0];
}

void crowd_start (struct crowd *crowd, uint32_t hosts)
{
    *crowd = (struct crowd){ .hosts = hosts };
    for (int i = 0; i < CROWD_HELPERS; i++)
        start_helper (crowd, i);
    crowd->public_keys = mem_array (hosts, sizeof crowd->public_keys[0]);
    for (int i = 0; i < CROWD_HELPERS; i++)
        for (uint32_t rank = first_of (crowd, i); rank < first_of (crowd, i + 1); rank++)
            crowd_read (crowd->fds[i], crowd->public_keys[rank], LINK_KEY_BYTES);
}

void crowd_aim (struct crowd *crowd, const struct crowd_request *request)
{
    char ready;
    for (int i = 0; i < CROWD_HELPERS; i++)
        crowd_write (crowd->fds[i], request, sizeof *request);
    for (int i = 0; i < CROWD_HELPERS; i++)
        crowd_read (crowd->fds[i], &ready, sizeof ready);
}

void crowd_release (struct crowd *crowd)
{
    for (int i = 0; i < CROWD_HELPERS; i++)
        crowd_write (crowd->fds[i], "g", 1);
}

void crowd_finish (struct crowd *crowd, struct crowd_report *sum)
{
    *sum = (struct crowd_report){ 0 };
    for (int i = 0; i < CROWD_HELPERS; i++) {
        struct crowd_report one;
        crowd_read (crowd->fds[i], &one, sizeof one);
        sum->welcomed_ns = one.welcomed_ns > sum->welcomed_ns ? one.welcomed_ns : sum->welcomed_ns;
        sum->cpu_ns += one.cpu_ns;
        sum->runs += one.runs;
        sum->acks += one.acks;
        sum->frames = one.frames;
        close (crowd->fds[i]);
    }
    for (int i = 0; i < CROWD_HELPERS; i++) {
        int status;
        if (waitpid (crowd->pids[i], &status, 0) < 0 || status != 0)
            bench_die ("a helper failed");
    }
    mem_free (crowd->public_keys);
}
