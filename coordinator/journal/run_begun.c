#include "coordinator/journal/run_begun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_private.h"

/* Making a run takes some hundredths of a second, removing one less. */
enum { HOLD_MS = 2000, HOLD_AGAIN_MS = 10, TURN_MS = 10000 };

/* ---- who makes runs ---- */

#define MAKING ".making"

static int lock (const char *home, const char *name, short type, uint32_t most_ms, const char *refused, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct flock whole = { .l_type = type, .l_whence = SEEK_SET };
    uint64_t until_ms = clock_boot_ms () + most_ms;
    snprintf (path, sizeof path, "%.1024s/runs", home);
    if (folder_make (path, 0700, err) < 0)
        return -1;
    snprintf (path, sizeof path, "%.1024s/runs/%s", home, name);
    int fd = plain_file_open (path, O_RDWR | O_CREAT, err);
    while (fd >= 0 && fcntl (fd, F_OFD_SETLK, &whole) != 0) {
        bool busy = errno == EAGAIN || errno == EACCES;
        if (busy && clock_boot_ms () < until_ms) {
            (void) poll (NULL, 0, HOLD_AGAIN_MS);
            continue;
        }
        if (busy)
            err_set (err, ERR_STATE, "%s in %.1024s for %u s now; see which with: fuser -v '%s'", refused, home,
                     most_ms / 1000, path);
        else
            err_errno (err, ERR_IO, "cannot lock %.1024s", path);
        close (fd);
        return -1;
    }
    return fd;
}

int run_begun_take_turn (const char *home, struct err *err)
{
    return lock (home, ".beginning", F_WRLCK, TURN_MS, "another sliceup process has been beginning a run", err);
}

int run_begun_create_run (struct run_dir *dir, const char *home, struct err *err)
{
    int fd = lock (home, MAKING, F_RDLCK, HOLD_MS,
                   "another sliceup process has been removing a run that was never begun", err);
    if (fd < 0 || run_dir_create (dir, home, err) == 0)
        return fd;
    close (fd);
    return -1;
}

static bool somebody_makes (const struct run_dir *dir)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char path[RUN_PATH_BYTES];
    snprintf (path, sizeof path, "%s/runs/" MAKING, dir->home);
    LOCAL_FD fd = plain_file_open (path, O_RDONLY, NULL);
    return fd >= 0 && fcntl (fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* ---- what it left ---- */

/* An unreadable folder does not count as empty. */
static bool is_empty (const struct run_dir *dir, const char *name)
{
    struct dirent *entry;
    uint32_t n = 0;
    LOCAL_DIR folder = opendir (RUN_PATH (dir, name));
    if (folder == NULL)
        return errno == ENOENT;
    while (n <= 2 && (entry = readdir (folder)) != NULL)
        n++;
    return n <= 2; /* "." and ".." */
}

/* Workers are started, logs taken and receipts written only for facts that are durable. */
static bool asked_hosts (const struct run_dir *dir)
{
    return !is_empty (dir, "hosts") || !is_empty (dir, "logs") || !is_empty (dir, "receipts") ||
           access (RUN_PATH (dir, "receipt.json"), F_OK) == 0;
}

/* An unreadable journal counts as non-empty, unless it is being made. */
static bool has_facts (const struct run_dir *dir, bool being_made)
{
    struct err err = { 0 };
    bool any;
    if (journal_has_facts (RUN_PATH (dir, "journal.db"), &any, &err) < 0)
        return err.code == ERR_DAMAGE || !being_made;
    return any;
}

static bool run_begun_is_there (const struct run_dir *dir, const char *name)
{
    struct stat at;
    return lstat (RUN_PATH (dir, name), &at) == 0;
}

/* Does .unbegun exist? One that is unreadable or not as it was made does not count. */
static bool is_unbegun (const struct run_dir *dir)
{
    char path[RUN_PATH_BYTES];
    struct stat at;
    return lstat (run_dir_unbegun_path (dir, path), &at) == 0 && S_ISREG (at.st_mode) && at.st_size == 0;
}

int run_begun_record (const struct run_dir *dir, struct err *err)
{
    char path[RUN_PATH_BYTES];
    if (unlink (run_dir_unbegun_path (dir, path)) != 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove %s", path);
    snprintf (path, sizeof path, "%.1024s/runs", dir->home);
    return folder_sync (path, err);
}

/* Of a run whose facts are gone. */
static const char *what_is_gone (const struct run_dir *dir)
{
    bool mark = run_begun_is_there (dir, "journal.db.mark");
    if (!run_begun_is_there (dir, "journal.db"))
        return mark ? "is missing, and its mark, journal.db.mark, names no fact"
                    : "and its mark, journal.db.mark, are missing";
    return "holds no fact"; /* unknown whether its log existed: reading made an empty one */
}

/* .unbegun and such files cannot be of one run: somebody put one there. */
static int no_facts (const struct run_dir *dir, bool unbegun, struct err *err)
{
    char path[RUN_PATH_BYTES];
    if (!run_begun_is_there (dir, ""))
        return err_set (err, ERR_USAGE, "run %.8s no longer exists: another process has just removed it", dir->id);
    if (unbegun && !asked_hosts (dir))
        return err_set (err, ERR_USAGE,
                        "run %.8s was never begun: its coordinator ended before it recorded the first fact, and it "
                        "started nothing on any host",
                        dir->id);
    return err_set (err, ERR_DAMAGE, "run %.8s had begun, but its journal is lost: %s %s; " JOURNAL_REMEDY, dir->id,
                    run_dir_path (dir, "journal.db", path), what_is_gone (dir));
}

/* Checks .unbegun, then the locks, then the journal: a run is recorded before .unbegun and the locks go. */
int run_begun_check (const struct run_dir *dir, struct err *err)
{
    bool unbegun = is_unbegun (dir), making = somebody_makes (dir);
    int held = journal_is_locked (RUN_PATH (dir, "journal.db"), NULL, err);
    if (held < 0 || has_facts (dir, making))
        return held < 0 ? -1 : 0;
    if (unbegun && (making || held))
        return err_set (err, ERR_STATE, "run %.8s is just starting and has recorded no facts yet: try again", dir->id);
    struct err why = { 0 };
    no_facts (dir, unbegun, &why);
    if (why.code != ERR_USAGE || !run_begun_is_there (dir, ""))
        return err_set (err, why.code, "%s", why.text);
    return err_set (err, ERR_USAGE, "%s; sliceup resume %.8s removes its folder", why.text, dir->id);
}

int run_begun_find_checked (struct run_dir *dir, const char *home, const char *wanted, struct err *err)
{
    return run_dir_find (dir, home, wanted, err) < 0 ? -1 : run_begun_check (dir, err);
}

/* ---- removing ---- */

/* Both locks keep others from beginning it. .unbegun goes last, so that a part of the folder is still unbegun. */
static int remove_locked (const struct run_dir *dir, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct err why = { 0 };
    if (has_facts (dir, false))
        return 0;
    no_facts (dir, is_unbegun (dir), &why);
    if (why.code != ERR_USAGE)
        return err_set (err, why.code, "%s", why.text);
    if (folder_remove (run_dir_path (dir, "", path), err) < 0)
        return err_prefix (err, "run %.8s was never begun, but its folder cannot be removed", dir->id);
    (void) unlink (run_dir_unbegun_path (dir, path)); /* alone it belongs to no run */
    return err_set (err, ERR_USAGE, "%s; its folder was removed", why.text);
}

int run_begun_check_or_remove (const struct run_dir *dir, struct err *err)
{
    int rc = -1;
    bool unbegun = is_unbegun (dir);
    if (has_facts (dir, somebody_makes (dir)))
        return 0;
    if (!unbegun)
        return no_facts (dir, unbegun, err); /* damaged, and left as it is */
    LOCAL_FD making_fd = lock (dir->home, MAKING, F_WRLCK, HOLD_MS, "another sliceup process has been starting runs",
                               err);
    if (making_fd < 0)
        return -1;
    int lock_fd = journal_lock_take (RUN_PATH (dir, "journal.db"), err);
    if (lock_fd >= 0) {
        rc = remove_locked (dir, err);
        close (lock_fd);
    }
    return rc;
}

/* ---- runs that have ended, removed ---- */

#define REMOVING ".removing-"

static int check_ended (const struct run_dir *dir, struct err *err)
{
    bool ended;
    if (run_facts_read_end (dir, &ended, err) < 0)
        return err_prefix (err, "cannot be read");
    return ended ? 0 : err_set (err, ERR_STATE, "has not ended; sliceup resume %.8s takes it over", dir->id);
}

int run_check_removable (const struct run_dir *dir, struct err *err)
{
    int64_t pid;
    int held = run_dir_check (dir, err) < 0 ? -1 : journal_is_locked (RUN_PATH (dir, "journal.db"), &pid, err);
    if (held > 0)
        err_set (err, ERR_STATE, "is running (coordinator: pid %" PRId64 ")", pid);
    return held ? -1 : check_ended (dir, err);
}

static const char *removing_path (const char *home, const char *id, char out[RUN_PATH_BYTES])
{
    snprintf (out, RUN_PATH_BYTES, "%.1024s/runs/" REMOVING "%.64s", home, id);
    return out;
}

static int remove_ended_locked (const struct run_dir *dir, struct err *err)
{
    char hidden[RUN_PATH_BYTES];
    if (check_ended (dir, err) < 0)
        return -1;
    if (rename (RUN_PATH (dir, ""), removing_path (dir->home, dir->id, hidden)) != 0)
        return err_errno (err, ERR_IO, "cannot be renamed to %s", hidden);
    return folder_remove (hidden, err);
}

int run_remove_ended (const struct run_dir *dir, struct err *err)
{
    LOCAL_FD lock_fd = journal_lock_take (RUN_PATH (dir, "journal.db"), err);
    if (lock_fd < 0)
        return -1;
    return remove_ended_locked (dir, err);
}

int run_remove_leftovers (const char *home, uint32_t *removed, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct dirent *entry;
    int rc = 0;
    *removed = 0;
    snprintf (path, sizeof path, "%.1024s/runs", home);
    LOCAL_DIR folder = home_folder_check (home, "runs", false, err) < 0 ? NULL : opendir (path);
    while (folder && rc == 0 && (entry = readdir (folder)) != NULL) {
        if (strncmp (entry->d_name, REMOVING, sizeof REMOVING - 1) != 0)
            continue;
        rc = folder_remove (removing_path (home, entry->d_name + sizeof REMOVING - 1, path), err);
        *removed += rc == 0;
    }
    return err && err->code ? -1 : rc;
}
