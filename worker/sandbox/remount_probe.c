#include "worker/sandbox/remount_probe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool remounts (const char *path)
{
    if (mount (NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL) < 0)
        return false;
    (void) mount (NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
    return true;
}

static int undoes (const char *const mounts[2])
{
    int open_doors = 0;
    for (int i = 0; i < 2; i++)
        if (mounts[i])
            open_doors |= remounts (mounts[i]) ? REMOUNT_BY_REMOUNT : 0;
    for (int i = 0; i < 2; i++)
        if (mounts[i])
            open_doors |= umount2 (mounts[i], MNT_DETACH) == 0 ? REMOUNT_BY_UMOUNT : 0;
    return open_doors;
}

/* All rights over a user namespace of one's own, and a copy of the mounts in it: what anybody can try. One child for
 * all: ending a mount namespace takes the kernel longest. */
static int undoes_apart (const char *const mounts[2])
{
    /* Not fork: what the C library does in a child is not needed, and a sanitizer's would be slow. */
    pid_t pid = (pid_t) syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit (unshare (CLONE_NEWUSER | CLONE_NEWNS) == 0 ? undoes (mounts) : 0);
    int status = 0;
    while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* What could not be tried may be open. */
    return pid > 0 && WIFEXITED (status) ? WEXITSTATUS (status) : REMOUNT_BY_REMOUNT | REMOUNT_BY_UMOUNT;
}

int remount_probe (const char *const mounts[2], bool own_mounts)
{
    return (own_mounts ? undoes (mounts) : 0) | undoes_apart (mounts);
}
