/* inside.c - what a copy of a preloaded interpreter does before a line of its program runs: what a program goes through
 * that is executed, by the same functions. It is the library that sliceup_preload.py loads; nothing else of the worker calls it.
 * The copy has one thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/io/program_start.h"
#include "worker/process/spawn.h"
#include "worker/sandbox/confine.h"

#define INSIDE __attribute__ ((visibility ("default")))
enum { EXIT_UNFIT = 126 };

INSIDE int sliceup_enter_namespaces (int namespaces_fd, int namespaces, int root_fd);
INSIDE void sliceup_enter (int output_fd, int channel_fd, int report_fd, const char *directory, const char *program,
                           int argc, char **confine);

/* Entering a user namespace gives all rights in it, and hides a process from itself in /proc. Executing a program undoes
 * both (capabilities(7), proc(5)). */
static int undo_rights (void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    return syscall (SYS_capset, &head, none) < 0 ? -1 : prctl (PR_SET_DUMPABLE, 1);
}

/* 0, or errno. For those that this process makes, not for itself (pid_namespaces(7)). */
INSIDE int sliceup_enter_namespaces (int namespaces_fd, int namespaces, int root_fd)
{
    struct spawn_target target = { namespaces_fd, namespaces, root_fd, -1 };
    if (spawn_enter_namespaces (&target) < 0)
        return errno;
    return namespaces & CLONE_NEWUSER && undo_rights () < 0 ? errno : 0;
}

/* So that ps, and who looks for the holder of a device, sees the program and not the interpreter. */
static void show_program (const char *program)
{
    struct process_words own;
    size_t len = strlen (program);
    if (!process_words_find (&own))
        return;
    memset (own.at, 0, own.bytes);
    memcpy (own.at, program, len < own.bytes ? len : own.bytes - 1);
}

/* Only comes back if the program is to run: then 0 is standard input, 1 and 2 the output, 3 the channel, and the rest is
 * closed. `confine`: argv of confine.h, which ends in NULL; or NULL. A failure is told as confine_main tells it. */
INSIDE void sliceup_enter (int output_fd, int channel_fd, int report_fd, const char *directory, const char *program,
                           int argc, char **confine)
{
    struct spawn_request request = {
        .directory = directory, .output_fd = output_fd, .channel_fd = channel_fd, .report_fd = report_fd
    };
    const char *failed = spawn_enter (&request);
    if (failed) {
        dprintf (fcntl (output_fd, F_GETFD) < 0 ? STDERR_FILENO : output_fd,
                 "sliceup-worker: a copy of the interpreter failed: %s: %s\n", failed, strerror (errno));
        _exit (EXIT_UNFIT);
    }
    show_program (program);
    if (confine)
        confine_enter (argc, confine);
}
