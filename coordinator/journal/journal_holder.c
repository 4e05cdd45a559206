/* journal_holder.c - which process holds a journal: by the lock that the kernel shows, not by the number in its file. */
#include "coordinator/journal/journal.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/journal/journal_mark.h"

enum { FDINFO_MAX_BYTES = 64 << 10, DESCRIPTORS_MAX = 1 << 20 };

static bool is_file (const char *path, const struct stat *st)
{
    struct stat is;
    return stat (path, &is) == 0 && is.st_dev == st->st_dev && is.st_ino == st->st_ino;
}

/* "lock: 1: OFDLCK  ADVISORY  WRITE -1 08:01:131077 0 EOF" (proc(5), /proc/pid/fdinfo). */
static bool has_write_lock (const char *fdinfo)
{
    struct buf text;
    buf_init (&text, FDINFO_MAX_BYTES);
    bool has = file_read (fdinfo, &text, NULL) == 0 && strstr (buf_c (&text), "OFDLCK") &&
               strstr (buf_c (&text), "WRITE");
    buf_release (&text);
    return has;
}

/* Either of the two that a coordinator locks: somebody may have removed <path>.lock. */
static bool descriptor_holds (int64_t pid, const char *name, const char *path)
{
    char link[64], lock[PATH_MAX], mark[PATH_MAX];
    struct stat st;
    snprintf (link, sizeof link, "/proc/%" PRId64 "/fd/%.20s", pid, name);
    int len = snprintf (lock, sizeof lock, "%s.lock", path);
    if (len < 0 || (size_t) len >= sizeof lock || stat (link, &st) != 0 ||
        (!is_file (lock, &st) && !is_file (journal_mark_path (path, mark), &st)))
        return false;
    snprintf (link, sizeof link, "/proc/%" PRId64 "/fdinfo/%.20s", pid, name);
    return has_write_lock (link);
}

static bool process_holds (int64_t pid, const char *path)
{
    char folder[64];
    struct dirent *entry;
    bool holds = false;
    snprintf (folder, sizeof folder, "/proc/%" PRId64 "/fd", pid);
    DIR *descriptors = opendir (folder);
    for (uint32_t n = 0; descriptors && !holds && n < DESCRIPTORS_MAX && (entry = readdir (descriptors)) != NULL; n++)
        holds = entry->d_name[0] != '.' && descriptor_holds (pid, entry->d_name, path);
    if (descriptors)
        closedir (descriptors);
    return holds;
}

/* The pidfd first: if its process still lives when the lock was seen, then it was that one's. */
int journal_open_holder (const char *path, int64_t *pid, struct err *err)
{
    int held = journal_is_locked (path, pid, err);
    if (held <= 0)
        return held < 0 ? -1 : err_set (err, ERR_STATE, "no coordinator holds %s", path);
    int fd = *pid > 0 && *pid <= INT32_MAX ? pidfd_open ((pid_t) *pid, 0) : -1;
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    if (fd >= 0 && process_holds (*pid, path) && poll (&ended, 1, 0) == 0)
        return fd;
    if (fd >= 0)
        (void) close (fd); /* nothing to lose */
    return err_set (err, ERR_STATE,
                    "%s is locked, but not by process %" PRId64
                    " of this machine as far as can be seen: it may run in another container",
                    path, *pid);
}
