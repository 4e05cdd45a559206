#include "common/io/process_capacity.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/mem.h"

enum { SHOWN_BYTES = 48 };
#define MIB (1024.0 * 1024.0)

/* ---- open files ---- */

static rlim_t former; /* 0: the limit is unchanged */

/* Up to the hard one. */
static void raise_files_limit (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    former = former ? former : limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    (void) setrlimit (RLIMIT_NOFILE, &limit); /* the try below reports a failure */
}

void files_limit_restore (pid_t pid)
{
    struct rlimit limit;
    if (!former || prlimit (pid, RLIMIT_NOFILE, NULL, &limit) != 0)
        return;
    limit.rlim_cur = former < limit.rlim_max ? former : limit.rlim_max;
    (void) prlimit (pid, RLIMIT_NOFILE, &limit, NULL); /* lowering is always allowed */
}

static int refuse_files (const char *what, uint32_t wanted, struct err *err)
{
    struct rlimit limit = { 0 };
    (void) getrlimit (RLIMIT_NOFILE, &limit); /* worked a moment ago */
    return err_set (err, ERR_LIMIT,
                    "%s needs %u more open files, but the limit of this process is %llu in all: raise its limit "
                    "(ulimit -n, LimitNOFILE=)",
                    what, wanted, (unsigned long long) limit.rlim_cur);
}

/* The system's own table is full, whatever this process's limit. */
static int refuse_table (const char *what, uint32_t wanted, struct err *err)
{
    return err_set (err, ERR_LIMIT,
                    "%s needs %u more open files, but the file table of the system is full: end processes that hold "
                    "many files, or raise fs.file-max (sysctl)",
                    what, wanted);
}

static int check_files (const char *what, uint32_t wanted, struct err *err)
{
    int *fds = mem_array (wanted, sizeof *fds), rc = 0;
    uint32_t n = 0;
    while (rc == 0 && n < wanted) {
        fds[n] = eventfd (0, EFD_CLOEXEC); /* dup would take no place in the system's table */
        if (fds[n] >= 0)
            n++;
        else if (errno == ENFILE)
            rc = refuse_table (what, wanted, err);
        else
            rc = refuse_files (what, wanted, err);
    }
    while (n > 0)
        close (fds[--n]);
    mem_free (fds);
    return rc;
}

/* ---- memory ---- */

static const char *capacity_shown (rlim_t limit, char out[SHOWN_BYTES])
{
    if (limit == RLIM_INFINITY)
        return "no limit";
    snprintf (out, SHOWN_BYTES, "%.0f MiB", (double) limit / MIB);
    return out;
}

static int refuse_memory (const char *what, double mib, struct err *err)
{
    struct rlimit space = { 0 }, data = { 0 };
    char first[SHOWN_BYTES], second[SHOWN_BYTES];
    (void) getrlimit (RLIMIT_AS, &space);
    (void) getrlimit (RLIMIT_DATA, &data);
    return err_set (err, ERR_LIMIT,
                    "%s needs %.0f MiB more memory than this process can get (address space: %s, data: %s): raise its "
                    "limits (ulimit -v, ulimit -d), or free memory on this machine",
                    what, mib, capacity_shown (space.rlim_cur, first), capacity_shown (data.rlim_cur, second));
}

bool process_capacity_has_memory (size_t bytes)
{
    void *at = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at != MAP_FAILED && munmap (at, bytes) == 0;
}

/* ---- threads ---- */

/* How much the control group of this process allows, if it has a limit (cgroups(7)). */
static uint64_t group_leaves (void)
{
    char line[512], path[640];
    unsigned long long max = 0, now = 0;
    bool found = false;
    FILE *groups = fopen ("/proc/self/cgroup", "re");
    while (groups && !found && fgets (line, sizeof line, groups))
        found = strncmp (line, "0::/", 4) == 0;
    if (groups)
        fclose (groups);
    line[found ? strcspn (line, "\n") : 0] = '\0';
    for (int i = 0; found && i < 2; i++) {
        snprintf (path, sizeof path, "/sys/fs/cgroup%s/pids.%s", line + 3, i ? "current" : "max");
        FILE *value = fopen (path, "re");
        found = value && fscanf (value, "%llu", i ? &now : &max) == 1;
        if (value)
            fclose (value);
    }
    return !found ? UINT64_MAX : max > now ? max - now : 0;
}

/* How many threads this user may still start; root has no limit (setrlimit(2)). */
static uint64_t user_may_have (void)
{
    struct rlimit limit;
    return geteuid () == 0 || getrlimit (RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY
               ? UINT64_MAX
               : (uint64_t) limit.rlim_cur;
}

static int check_threads (const char *what, uint32_t wanted, struct err *err)
{
    uint64_t group = group_leaves (), user = user_may_have (), least = group < user ? group : user;
    if (wanted <= least)
        return 0;
    return err_set (err, ERR_LIMIT,
                    "%s needs %u threads, but the system allows %llu: raise the limit (ulimit -u, TasksMax=, pids.max "
                    "of its control group)",
                    what, wanted, (unsigned long long) least);
}

static size_t stack_bytes (void)
{
    pthread_attr_t usual;
    size_t bytes = 0;
    pthread_attr_init (&usual);
    pthread_attr_getstacksize (&usual, &bytes);
    pthread_attr_destroy (&usual);
    return bytes;
}

int process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err)
{
    raise_files_limit ();
    size_t bytes = needs->bytes + stack_bytes () * needs->threads;
    if (check_files (what, needs->descriptors, err) != 0 || check_threads (what, needs->threads, err) != 0)
        return -1;
    return bytes == 0 || process_capacity_has_memory (bytes) ? 0 : refuse_memory (what, (double) bytes / MIB, err);
}
