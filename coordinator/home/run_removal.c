#include "coordinator/home/run_removal.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/home/run_facts.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_lock.h"

#define REMOVING ".removing-"

static void note_end (void *owner, const struct fact *fact)
{
    *(bool *) owner |= fact->kind == FACT_RUN_ENDED;
}

static int check_ended (const struct run_dir *dir, struct err *err)
{
    bool ended = false;
    if (run_facts_each (dir, note_end, &ended, err) < 0)
        return err_prefix (err, "cannot be read");
    return ended ? 0 : err_set (err, ERR_STATE, "has not ended; sliceup resume %.8s takes it over", dir->id);
}

int run_check_removable (const struct run_dir *dir, struct err *err)
{
    char path[RUN_PATH_BYTES];
    int64_t pid;
    int held = run_dir_check (dir, err) < 0 ? -1
                                            : journal_is_locked (run_dir_path (dir, "journal.db", path), &pid, err);
    if (held > 0)
        err_set (err, ERR_STATE, "is running (coordinator: pid %" PRId64 ")", pid);
    return held ? -1 : check_ended (dir, err);
}

static const char *removing_path (const char *home, const char *id, char out[RUN_PATH_BYTES])
{
    snprintf (out, RUN_PATH_BYTES, "%.1024s/runs/" REMOVING "%.64s", home, id);
    return out;
}

static int remove_locked (const struct run_dir *dir, struct err *err)
{
    char there[RUN_PATH_BYTES], hidden[RUN_PATH_BYTES];
    if (check_ended (dir, err) < 0)
        return -1;
    if (rename (run_dir_path (dir, "", there), removing_path (dir->home, dir->id, hidden)) != 0)
        return err_errno (err, ERR_IO, "cannot be renamed to %s", hidden);
    return folder_remove (hidden, err);
}

int run_remove_ended (const struct run_dir *dir, struct err *err)
{
    char path[RUN_PATH_BYTES];
    int lock_fd = journal_lock_take (run_dir_path (dir, "journal.db", path), err);
    if (lock_fd < 0)
        return -1;
    int rc = remove_locked (dir, err);
    (void) close (lock_fd); /* of a file that is gone */
    return rc;
}

int run_remove_leftovers (const char *home, uint32_t *removed, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct dirent *entry;
    int rc = 0;
    *removed = 0;
    snprintf (path, sizeof path, "%.1024s/runs", home);
    DIR *folder = home_folder_check (home, "runs", false, err) < 0 ? NULL : opendir (path);
    while (folder && rc == 0 && (entry = readdir (folder)) != NULL) {
        if (strncmp (entry->d_name, REMOVING, sizeof REMOVING - 1) != 0)
            continue;
        rc = folder_remove (removing_path (home, entry->d_name + sizeof REMOVING - 1, path), err);
        *removed += rc == 0;
    }
    if (folder)
        closedir (folder);
    return err && err->code ? -1 : rc;
}
