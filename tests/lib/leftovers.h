/* leftovers.h - ends what a test started and what that left behind, also when the test failed: whoever includes it is
 * the subreaper (PR_SET_CHILD_SUBREAPER), so all of it becomes its child in the end. */
#ifndef SLICEUP_TESTS_LIB_LEFTOVERS_H
#define SLICEUP_TESTS_LIB_LEFTOVERS_H

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

enum { LEFTOVERS_ROUNDS = 2000, LEFTOVERS_ROUND_MS = 5 };

static void leftovers_kill_of_thread (const char *thread)
{
    char path[64];
    int pid;
    snprintf (path, sizeof path, "/proc/self/task/%.16s/children", thread);
    FILE *children = fopen (path, "re");
    while (children && fscanf (children, "%d", &pid) == 1)
        kill (pid, SIGKILL);
    if (children)
        fclose (children);
}

static void leftovers_end (void)
{
    for (int i = 0; i < LEFTOVERS_ROUNDS; i++) {
        DIR *threads = opendir ("/proc/self/task");
        for (struct dirent *thread = threads ? readdir (threads) : NULL; thread; thread = readdir (threads))
            if (thread->d_name[0] != '.')
                leftovers_kill_of_thread (thread->d_name);
        if (threads)
            closedir (threads);
        pid_t got;
        while ((got = waitpid (-1, NULL, WNOHANG)) > 0)
            ;
        if (got < 0)
            return; /* there is no child left */
        poll (NULL, 0, LEFTOVERS_ROUND_MS);
    }
}

#endif
