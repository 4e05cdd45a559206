#include "common/io/process_capacity.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
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

static bool raise_files (uint32_t by)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max - limit.rlim_cur < by ? limit.rlim_max : limit.rlim_cur + by;
    return setrlimit (RLIMIT_NOFILE, &limit) == 0;
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

/* The system's own table is full, whatever this process may open. */
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
        fds[n] = eventfd (0, EFD_CLOEXEC); /* a copy of another one takes no place in the system's table */
        if (fds[n] >= 0)
            n++;
        else if (errno == ENFILE)
            rc = refuse_table (what, wanted, err);
        else if (!raise_files (wanted - n))
            rc = refuse_files (what, wanted, err);
    }
    while (n > 0)
        close (fds[--n]);
    mem_free (fds);
    return rc;
}

/* ---- memory ---- */

static const char *shown (rlim_t limit, char out[SHOWN_BYTES])
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
                    what, mib, shown (space.rlim_cur, first), shown (data.rlim_cur, second));
}

bool process_capacity_has_memory (size_t bytes)
{
    void *at = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at != MAP_FAILED && munmap (at, bytes) == 0;
}

/* ---- threads ---- */

struct crowd {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    pthread_t *threads;
    uint32_t n;
};

static void *wait_for_end (void *owner)
{
    struct crowd *crowd = owner;
    pthread_mutex_lock (&crowd->lock);
    while (!crowd->over)
        pthread_cond_wait (&crowd->changed, &crowd->lock);
    pthread_mutex_unlock (&crowd->lock);
    return NULL;
}

/* Signals are for the process's own threads. What pthread_create says. */
static int gather (struct crowd *crowd, uint32_t wanted)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &before);
    while (rc == 0 && crowd->n < wanted) {
        rc = pthread_create (&crowd->threads[crowd->n], NULL, wait_for_end, crowd);
        crowd->n += rc == 0;
    }
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    return rc;
}

static void disperse (struct crowd *crowd)
{
    pthread_mutex_lock (&crowd->lock);
    crowd->over = true;
    pthread_cond_broadcast (&crowd->changed);
    pthread_mutex_unlock (&crowd->lock);
    while (crowd->n > 0)
        pthread_join (crowd->threads[--crowd->n], NULL);
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

/* A thread is refused for want of memory for its stack, or since there are too many. */
static int refuse_threads (const char *what, const struct capacity_needs *needs, uint32_t got, int why, struct err *err)
{
    if (!process_capacity_has_memory (stack_bytes ()))
        return refuse_memory (
            what, (double) stack_bytes () / MIB * (needs->threads - got) + (double) needs->bytes / MIB, err);
    return err_set (err, ERR_LIMIT,
                    "%s needs %u threads, but the system refuses more than %u (%s): raise the limit (ulimit -u, "
                    "TasksMax=, pids.max of its control group)",
                    what, needs->threads, got, strerror (why));
}

/* Memory is tested while the threads exist: it is needed in addition to their stacks. */
static int check_threads_and_memory (const char *what, const struct capacity_needs *needs, struct err *err)
{
    struct crowd crowd = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    crowd.threads = mem_array (needs->threads, sizeof *crowd.threads);
    int why = gather (&crowd, needs->threads), rc = 0;
    if (why != 0)
        rc = refuse_threads (what, needs, crowd.n, why, err);
    else if (needs->bytes && !process_capacity_has_memory (needs->bytes))
        rc = refuse_memory (what, (double) needs->bytes / MIB, err);
    disperse (&crowd);
    mem_free (crowd.threads);
    return rc;
}

int process_capacity_check (const char *what, const struct capacity_needs *needs, struct err *err)
{
    if (check_files (what, needs->descriptors, err) != 0)
        return -1;
    return check_threads_and_memory (what, needs, err);
}
