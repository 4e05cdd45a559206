/* floor.c - what N programs cost without anybody around them: posix_spawn of `true`, output captured, all at once.
 * Prints one line of JSON: {"wall_ms": [...], "cpu_ms": [...]}, one figure a round. */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usage.h"

enum { PROGRAMS_MAX = 480, ROUNDS_MAX = 100 }; /* two descriptors a program, below the usual limit of 1024 */

struct round {
    double wall_ms, cpu_ms;
};

static _Noreturn void give_up (const char *why)
{
    fprintf (stderr, "bench_floor: %s\n", why);
    exit (1);
}

static double cpu_ms (int who)
{
    struct rusage used;
    if (getrusage (who, &used) != 0)
        give_up ("no figures");
    return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

static double cpu_of_all_ms (void)
{
    return cpu_ms (RUSAGE_SELF) + cpu_ms (RUSAGE_CHILDREN);
}

static int start_one (pid_t *pid)
{
    char *argv[] = { (char *) "true", NULL }, *envp[] = { NULL };
    int output[2];
    posix_spawn_file_actions_t actions;
    if (pipe2 (output, O_CLOEXEC) < 0 || posix_spawn_file_actions_init (&actions) != 0 ||
        posix_spawn_file_actions_adddup2 (&actions, output[1], 1) != 0 ||
        posix_spawn_file_actions_adddup2 (&actions, output[1], 2) != 0 ||
        posix_spawn (pid, "/usr/bin/true", &actions, NULL, argv, envp) != 0)
        give_up ("/usr/bin/true cannot be started");
    posix_spawn_file_actions_destroy (&actions);
    close (output[1]);
    return output[0];
}

/* In any order; a descriptor of -1 is passed over by poll. */
static void read_until_end (struct pollfd *entries, nfds_t n)
{
    char bytes[4096];
    for (nfds_t open = n; open > 0;) {
        if (poll (entries, n, -1) < 0)
            give_up ("poll failed");
        for (nfds_t i = 0; i < n; i++) {
            if (entries[i].fd < 0 || !entries[i].revents || read (entries[i].fd, bytes, sizeof bytes) > 0)
                continue;
            close (entries[i].fd);
            entries[i].fd = -1;
            open--;
        }
    }
}

static struct round take_round (int programs)
{
    static pid_t pids[PROGRAMS_MAX];
    static struct pollfd outputs[PROGRAMS_MAX];
    double cpu_before_ms = cpu_of_all_ms ();
    uint64_t began_ns = usage_now_ns ();
    for (int i = 0; i < programs; i++)
        outputs[i] = (struct pollfd){ .fd = start_one (&pids[i]), .events = POLLIN };
    read_until_end (outputs, (nfds_t) programs);
    for (int i = 0; i < programs; i++) {
        int status;
        if (waitpid (pids[i], &status, 0) != pids[i] || status != 0)
            give_up ("a program failed");
    }
    return (struct round){ (double) (usage_now_ns () - began_ns) / 1e6, cpu_of_all_ms () - cpu_before_ms };
}

int main (int argc, char **argv)
{
    struct round rounds[ROUNDS_MAX];
    int programs = argc == 3 ? atoi (argv[1]) : 0, n = argc == 3 ? atoi (argv[2]) : 0;
    if (programs < 1 || programs > PROGRAMS_MAX || n < 1 || n > ROUNDS_MAX)
        give_up ("usage: bench_floor PROGRAMS ROUNDS, at most 480 and 100");
    for (int i = 0; i < n; i++)
        rounds[i] = take_round (programs);
    printf ("{\"wall_ms\": [");
    for (int i = 0; i < n; i++)
        printf ("%s%.3f", i ? ", " : "", rounds[i].wall_ms);
    printf ("], \"cpu_ms\": [");
    for (int i = 0; i < n; i++)
        printf ("%s%.3f", i ? ", " : "", rounds[i].cpu_ms);
    return puts ("]}") < 0;
}
