#include "coordinator/catalogue/catalogue.h"

#include "common/base/path.h"
#include "common/cache/audit.h"
#include "common/io/atomic_file.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_facts.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVING ".removing-gen-"

/* ---- removing ---- */

static int collect_path_of (const char *root, struct text bundle, const char *name, uint64_t token, char out[PATH_MAX],
                            struct err *err)
{
    int len = snprintf (out, PATH_MAX, "%s/%.*s/%s%" PRIu64, root, TEXT_ARG (bundle), name, token);
    if (len > 0 && len < PATH_MAX)
        return 0;
    return err_set (err, ERR_LIMIT, "the path of generation %" PRIu64 " is longer than %d bytes", token, PATH_MAX);
}

static int hide (const char *from, const char *to, struct err *err)
{
    char parent[PATH_MAX];
    if (folder_remove (to, err) != 0) /* left by an import that was undone twice */
        return -1;
    if (rename (from, to) != 0 && errno != ENOENT) /* ENOENT: it was never made, or was hidden before */
        return err_errno (err, ERR_IO, "cannot rename %s in order to remove it", from);
    struct stat st;
    return lstat (path_folder_c (to, parent), &st) != 0 && errno == ENOENT ? 0 : folder_sync (parent, err);
}

int collect_count_bytes (const char *root, struct text bundle, uint64_t token, struct collect_result *out,
                         struct err *err)
{
    struct arena arena = { 0 };
    struct generation_stat *stored = NULL;
    uint32_t n = 0;
    *out = (struct collect_result){ 0 };
    int rc = audit_list_generations (text_format (&arena, "%s/%.*s", root, TEXT_ARG (bundle)), &arena, &stored, &n,
                                     err);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (stored[i].token == token)
            *out = (struct collect_result){ .bytes = stored[i].bytes, .entries = stored[i].entries };
    arena_release (&arena);
    return rc;
}

int collect_generation (struct catalogue *catalogue, const char *root, struct text bundle, uint64_t token,
                        const struct text *over, uint32_t over_n, struct collect_result *freed, struct err *err)
{
    char there[PATH_MAX], hidden[PATH_MAX];
    if (collect_path_of (root, bundle, "gen-", token, there, err) != 0 ||
        collect_path_of (root, bundle, REMOVING, token, hidden, err) != 0 ||
        catalogue_begin_removal (catalogue, token, over, over_n, err) != 0)
        return -1;
    (void) collect_count_bytes (root, bundle, token, freed, NULL); /* removed even if it cannot be measured */
    if (hide (there, hidden, err) != 0 || catalogue_finish_removal (catalogue, token, err) != 0)
        return -1;
    return folder_remove (hidden, err);
}

/* ---- what was left ---- */

static int remove_left (const char *folder, const char *name, uint32_t *removed, struct err *err)
{
    char path[PATH_MAX];
    uint64_t token;
    size_t prefix = sizeof REMOVING - 1;
    if (strncmp (name, REMOVING, prefix) != 0 || !text_to_u64 (text_of (name + prefix), &token))
        return 0;
    if (snprintf (path, sizeof path, "%s/%s", folder, name) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path of %s is longer than %d bytes", name, PATH_MAX);
    if (folder_remove (path, err) != 0)
        return -1;
    ++*removed;
    return 0;
}

int collect_leftovers (const char *root, struct text bundle, uint32_t *removed, struct err *err)
{
    char folder[PATH_MAX];
    int rc = 0;
    *removed = 0;
    if (snprintf (folder, sizeof folder, "%s/%.*s", root, TEXT_ARG (bundle)) >= (int) sizeof folder)
        return err_set (err, ERR_LIMIT, "the path of cache family %.*s is longer than %d bytes", TEXT_ARG (bundle),
                        PATH_MAX);
    DIR *listed = opendir (folder);
    if (!listed)
        return errno == ENOENT ? 0 : err_errno (err, ERR_IO, "cannot list %s", folder);
    for (struct dirent *entry = readdir (listed); rc == 0 && entry; entry = readdir (listed))
        rc = remove_left (folder, entry->d_name, removed, err);
    closedir (listed);
    return rc;
}

/* ---- who still reads ---- */

static bool here (struct text machine)
{
    char own[256] = "";
    return gethostname (own, sizeof own - 1) == 0 && own[0] && text_is (machine, own);
}

bool collect_user_has_ended (const struct generation_user *user, char why[STANDS_BYTES])
{
    struct run_dir dir;
    struct err err = { 0 };
    char path[RUN_PATH_BYTES];
    bool ended = false;
    int held;
    why[0] = '\0';
    if (!here (user->machine))
        snprintf (why, STANDS_BYTES, "belongs to another machine, %.*s", TEXT_ARG (text_clip (user->machine, 64)));
    else if (!run_dir_name (&dir, user->home, user->run))
        snprintf (why, STANDS_BYTES, "has no valid run id or home in the catalogue");
    else if ((held = journal_is_locked (run_dir_path (&dir, "journal.db", path), NULL, &err)) > 0)
        snprintf (why, STANDS_BYTES, "still runs");
    else if (held < 0 || run_facts_read_end (&dir, &ended, &err) != 0)
        snprintf (why, STANDS_BYTES, "cannot be read: %.180s", err.text);
    else if (!ended)
        snprintf (why, STANDS_BYTES, "was interrupted and may be resumed");
    return why[0] == '\0';
}
