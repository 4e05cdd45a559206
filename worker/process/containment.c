#include "worker/process/exec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "worker/process/cgroup_place.h"

/* ---- control group ---- */

/* A leaf of cgroup v2 for all that this worker starts: the second best containment.
 *
 * Whatever a program does, its processes stay in the leaf, and cgroup.kill ends them at once (Linux 5.14). Nothing ends
 * them when the worker is killed: a file in its directory names the leaf, and the next worker there empties it first.
 *
 * Main thread only.
 *
 * Files and their meaning: cgroups(7) and the kernel's cgroup-v2 text. */
struct control_group;

enum { NAME_DIGITS = 16, EMPTY_MAX_MS = 5000, AGAIN_MS = 5, TRIAL_MAX_MS = 5000 };
#define NAME_START "sliceup-"
enum { NAME_BYTES = sizeof NAME_START + NAME_DIGITS };

struct control_group {
    char path[PATH_MAX];   /* of the leaf */
    char record[PATH_MAX]; /* the file that names it */
    int procs_fd, kill_fd;
};

/* ---- finding the place ---- */

/* The same for every worker of a directory, and for no other. */
static void name_leaf (const char *directory, char name[NAME_BYTES])
{
    struct digest digest = digest_of (directory, strlen (directory));
    snprintf (name, NAME_BYTES, NAME_START "%.*s", NAME_DIGITS, DIGEST_TEXT (&digest));
}

static int place_leaf (struct control_group *group, const char *directory, struct err *err)
{
    struct cgroup_place own;
    char name[NAME_BYTES];
    if (!cgroup_place_read ("/proc/self", "/proc/self", "", &own))
        return err_set (err, ERR_STATE,
                        "no cgroup v2 is mounted here, or the group of this worker is not visible in it");
    name_leaf (directory, name);
    if (snprintf (group->path, sizeof group->path, "%s/%s", own.path, name) >= (int) sizeof group->path)
        return err_set (err, ERR_LIMIT, "the path %s is too long", own.path);
    if (snprintf (group->record, sizeof group->record, "%s/worker.cgroup", directory) >= (int) sizeof group->record)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    return 0;
}

/* ---- emptying it ---- */

static int open_in (const char *path, const char *name, struct err *err)
{
    LOCAL_FD folder = open (path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return err_errno (err, ERR_IO, "cannot open %s", path);
    struct statfs system;
    int fd = -1;
    if (fstatfs (folder, &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC)
        err_set (err, ERR_REFUSED, "%s is not a control group", path);
    else if ((fd = openat (folder, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)) < 0)
        err_errno (err, ERR_IO, "cannot open %s of %s", name, path);
    return fd;
}

/* Waits, because the leaf cannot be removed until killed processes are gone. */
static int remove_leaf (const char *path, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + EMPTY_MAX_MS;
    while (rmdir (path) < 0) {
        if (errno == ENOENT)
            return 0;
        if (errno != EBUSY || clock_boot_ms () >= until_ms)
            return err_errno (err, ERR_IO, "cannot remove the cgroup %s after its processes were killed", path);
        while (waitpid (-1, NULL, WNOHANG) > 0)
            ; /* zombies of ours keep it busy */
        (void) poll (NULL, 0, AGAIN_MS);
    }
    return 0;
}

static int empty (const char *path, struct err *err)
{
    struct stat st;
    if (lstat (path, &st) < 0 && errno == ENOENT)
        return 0;
    int fd = open_in (path, "cgroup.kill", err);
    if (fd < 0)
        return -1;
    int rc = write (fd, "1", 1) == 1 ? 0 : err_errno (err, ERR_IO, "cannot kill the processes in %s", path);
    close (fd);
    return rc < 0 ? -1 : remove_leaf (path, err);
}

/* Touches only a leaf with our own name, whatever path the file has. */
static int check_record (const char *directory, struct buf *record, struct err *err)
{
    char name[NAME_BYTES];
    name_leaf (directory, name);
    const char *path = buf_c (record), *last = strrchr (path, '/');
    if (path[0] != '/' || strstr (path, "/../") || !last || strcmp (last + 1, name) != 0)
        return err_set (err, ERR_PARSE,
                        "%s/worker.cgroup does not name a control group that a worker made; remove this file",
                        directory);
    return 0;
}

/* Kills what an earlier worker of this directory left in its leaf; 1: there was one, 0: there was none. */
static int control_group_empty_previous (const char *directory, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    if (snprintf (path, sizeof path, "%s/worker.cgroup", directory) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    if (lstat (path, &st) < 0 && errno == ENOENT)
        return 0;
    LOCAL_BUF record = { .max = PATH_MAX - 1 };
    if (file_read (path, &record, err) != 0 || check_record (directory, &record, err) != 0 ||
        empty (buf_c (&record), err) != 0)
        return -1;
    return unlink (path) < 0 ? err_errno (err, ERR_IO, "cannot remove %s", path) : 1;
}

/* ---- making it ---- */

static void control_group_kill (const struct control_group *group)
{
    /* Fails only for a removed group, which is empty. */
    ssize_t written = pwrite (group->kill_fd, "1", 1, 0);
    (void) written;
}

static _Noreturn void stand_in_it (int procs_fd, int told_fd)
{
    int code = write (procs_fd, "0", 1) == 1 ? 0 : errno;
    if (write (told_fd, &code, sizeof code) != sizeof code || code)
        _exit (1);
    (void) poll (NULL, 0, TRIAL_MAX_MS); /* ended by cgroup.kill long before */
    _exit (0);
}

static int try_it (const struct control_group *group, struct err *err)
{
    int told[2], code = EIO, status = 0;
    if (pipe2 (told, O_CLOEXEC) < 0)
        return err_errno (err, ERR_IO, "cannot make a pipe to test the cgroup");
    pid_t pid = fork ();
    if (pid == 0)
        stand_in_it (group->procs_fd, told[1]);
    close (told[1]);
    ssize_t got = pid > 0 ? read (told[0], &code, sizeof code) : -1;
    close (told[0]);
    if (pid < 0)
        return err_errno (err, ERR_IO, "cannot start a process to test the cgroup");
    if (got == sizeof code && code == 0)
        control_group_kill (group);
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    errno = code;
    if (code)
        return err_errno (err, ERR_IO, "cannot enter %s", group->path);
    bool killed = WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL;
    return killed ? 0 : err_set (err, ERR_STATE, "cgroup.kill of %s does not kill processes", group->path);
}

static int make_leaf (struct control_group *group, struct err *err)
{
    if (empty (group->path, err) < 0) /* of a worker that died before it had written its file */
        return -1;
    /* Writes the name first, so that the next worker knows every existing leaf. */
    if (atomic_file_write (group->record, group->path, strlen (group->path), 0600, err) < 0)
        return -1;
    if (mkdir (group->path, 0755) < 0)
        return err_errno (err, ERR_IO, "cannot make %s", group->path);
    group->procs_fd = open_in (group->path, "cgroup.procs", err);
    if (group->procs_fd < 0)
        return -1;
    group->kill_fd = open_in (group->path, "cgroup.kill", err);
    return group->kill_fd < 0 ? -1 : try_it (group, err);
}

/* Kills what is in it, and removes it; NULL is fine. */
static void control_group_close (struct control_group *group)
{
    if (!group)
        return;
    bool made = group->kill_fd >= 0;
    if (made)
        control_group_kill (group);
    if (group->procs_fd >= 0)
        close (group->procs_fd);
    if (made)
        close (group->kill_fd);
    /* If this fails, the file keeps the leaf for the next worker of this directory. */
    if (made && remove_leaf (group->path, NULL) == 0)
        (void) unlink (group->record);
    mem_free (group);
}

/* NULL: there is no cgroup v2 here in which this process may make groups; the error says what was missing. */
static struct control_group *control_group_open (const char *directory, struct err *err)
{
    struct control_group *group = mem_alloc (sizeof *group);
    group->procs_fd = group->kill_fd = -1;
    if (place_leaf (group, directory, err) == 0) {
        if (make_leaf (group, err) == 0)
            return group;
        (void) rmdir (group->path); /* a leftover leaf is empty; the next worker tries again */
        (void) unlink (group->record);
    }
    control_group_close (group);
    return NULL;
}

/* ---- containment ---- */

struct containment {
    enum containment_level level;
    struct pid_namespace *pid_namespace; /* PID_NAMESPACE */
    struct control_group *group;         /* CGROUP */
};

static const char *const names[] = { "none", "subreaper", "cgroup", "pid-namespace" };

const char *containment_name (enum containment_level level)
{
    return names[level];
}

enum containment_level containment_level (const struct containment *containment)
{
    return containment ? containment->level : CONTAINMENT_SUBREAPER;
}

/* ---- choosing ---- */

static bool try_pid_namespace (struct containment *containment, const struct log *log)
{
    struct err err = { 0 };
    containment->pid_namespace = pid_namespace_open (&err);
    if (!containment->pid_namespace) {
        log_print (log, "cannot make a pid namespace for programs: %s", err.text);
        return false;
    }
    return true;
}

static bool try_cgroup (struct containment *containment, const char *directory, const struct log *log)
{
    struct err err = { 0 };
    containment->group = control_group_open (directory, &err);
    if (!containment->group)
        log_print (log, "cannot make a cgroup for programs: %s", err.text);
    return containment->group != NULL;
}

static void empty_last (const char *directory, const struct log *log)
{
    struct err err = { 0 };
    int rc = control_group_empty_previous (directory, &err);
    if (rc < 0)
        log_print (log, "cannot end the processes that an earlier worker left running: %s", err.text);
    else if (rc > 0)
        log_print (log, "this worker ended processes that an earlier worker of this directory left in its cgroup");
}

struct containment *containment_choose (enum containment_level most, const char *directory, const struct log *log)
{
    struct containment *containment = mem_alloc (sizeof *containment);
    empty_last (directory, log);
    containment->level = CONTAINMENT_SUBREAPER;
    if (most >= CONTAINMENT_PID_NAMESPACE && try_pid_namespace (containment, log))
        containment->level = CONTAINMENT_PID_NAMESPACE;
    else if (most >= CONTAINMENT_CGROUP && try_cgroup (containment, directory, log))
        containment->level = CONTAINMENT_CGROUP;
    log_print (log, "processes of a program are contained by: %s%s", names[containment->level],
               containment->level == CONTAINMENT_SUBREAPER
                   ? "; if this worker is killed with SIGKILL, processes that a program started may continue to run"
                   : "");
    return containment;
}

void containment_close (struct containment *containment)
{
    if (!containment)
        return;
    pid_namespace_close (containment->pid_namespace);
    control_group_close (containment->group);
    mem_free (containment);
}

/* ---- using it ---- */

int containment_spawn_target (struct containment *containment, struct spawn_target *target, struct err *err)
{
    *target = spawn_target_here;
    if (!containment || containment->level == CONTAINMENT_SUBREAPER)
        return 0;
    if (containment->level == CONTAINMENT_CGROUP) {
        target->group_fd = containment->group->procs_fd;
        return 0;
    }
    if (!containment->pid_namespace || !pid_namespace_lives (containment->pid_namespace)) {
        pid_namespace_close (containment->pid_namespace);
        containment->pid_namespace = pid_namespace_open (err);
        if (!containment->pid_namespace)
            return err_prefix (err, "the pid namespace for programs ended, and a new one cannot be made");
    }
    *target = pid_namespace_spawn_target (containment->pid_namespace);
    return 0;
}

bool containment_adopts_orphans (const struct containment *containment)
{
    return containment && containment->pid_namespace;
}

void containment_kill (struct containment *containment)
{
    if (containment && containment->pid_namespace)
        pid_namespace_sweep (containment->pid_namespace);
    if (containment && containment->group)
        control_group_kill (containment->group);
}

bool containment_wait_swept (struct containment *containment, int wait_ms, uint32_t *strays)
{
    assert (containment_adopts_orphans (containment));
    return pid_namespace_wait_swept (containment->pid_namespace, wait_ms, strays);
}

uint32_t containment_left (const struct containment *containment)
{
    return pid_namespace_process_count (containment->pid_namespace);
}

void containment_abandon (struct containment *containment)
{
    if (!containment_adopts_orphans (containment))
        return;
    pid_namespace_close (containment->pid_namespace);
    containment->pid_namespace = NULL; /* the next program gets a new one */
}

void containment_note_reaped (struct containment *containment, pid_t pid)
{
    if (containment_adopts_orphans (containment) && pid_namespace_pid (containment->pid_namespace) == pid)
        pid_namespace_note_reaped (containment->pid_namespace);
}
