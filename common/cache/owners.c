#include "common/cache/owners.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cache/generation.h"
#include "common/io/safe_path.h"

static struct safe_path_rule rule_of (const char *what, const uid_list *trust)
{
    return (struct safe_path_rule){ .what = what,
                                    .instead = "set another cache.root",
                                    .trust = "cache: {trust: [...]}",
                                    .uids = trust->items,
                                    .uids_n = trust->n };
}

/* Something that is not a file, or cannot be reached, is refused when it is opened. */
static int check_file (const char *root, const char *name, const uid_list *trust, struct err *err)
{
    const struct safe_path_rule rule = rule_of ("cache file", trust);
    char path[PATH_MAX];
    struct stat at;
    int len = snprintf (path, sizeof path, "%s/%s", root, name);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of the cache root is longer than %d bytes", PATH_MAX);
    if (lstat (path, &at) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : err_errno (err, ERR_IO, "cannot examine %.300s", path);
    return S_ISREG (at.st_mode) ? safe_path_check_end (path, &at, &rule, err) : 0;
}

int owners_check_root (const char *root, const uid_list *trust, struct err *err)
{
    static const char *const files[] = { "storage", "catalogue.db", "catalogue.db-journal", "catalogue.db-wal",
                                         "catalogue.db-shm" };
    const struct safe_path_rule rule = rule_of ("cache root", trust);
    int rc = safe_path_check (root, &rule, err);
    for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == 0; i++)
        rc = check_file (root, files[i], trust, err);
    return rc;
}

/* Checks root, frontend and bundle folder each by itself: a sticky folder is accepted above the root only. */
static int check_folders (char *path, uint64_t token, const uid_list *trust, struct err *err)
{
    const struct safe_path_rule folder = rule_of ("cache folder", trust),
                                generation = rule_of ("cache generation", trust);
    char *bundle = strrchr (path, '/');
    char *frontend = bundle && bundle != path ? memrchr (path, '/', (size_t) (bundle - path)) : NULL;
    if (!frontend || frontend == path)
        return err_set (err, ERR_REFUSED, "\"%.300s\" is not an absolute path <root>/<frontend>/<bundle>", path);
    *frontend = *bundle = '\0';
    int rc = owners_check_root (path, trust, err);
    *frontend = '/';
    if (rc == 0)
        rc = safe_path_check (path, &folder, err);
    *bundle = '/';
    if (rc == 0)
        rc = safe_path_check (path, &folder, err);
    if (rc < 0 || token == 0)
        return rc;
    snprintf (path + strlen (path), PATH_MAX - strlen (path), "/gen-%" PRIu64, token);
    return safe_path_check (path, &generation, err);
}

int owners_check_generation (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err)
{
    char path[PATH_MAX];
    if (!text_to_c (bundle_root, path, PATH_MAX - 32) || path[0] != '/')
        return err_set (err, ERR_REFUSED, "the folder of the cache family has no absolute path of at most %d bytes",
                        PATH_MAX - 33);
    return check_folders (path, token, trust, err);
}

struct owned {
    const char *generation;
    uid_t uid;
};

/* Checks the owner only; an audit finds everything else. */
static int check_entry (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    const struct owned *owned = owner;
    char shown[TREE_SHOWN_BYTES];
    if (!seen->st || seen->st->st_uid == owned->uid)
        return 0;
    return err_set (err, ERR_REFUSED,
                    "cache entry \"%s\" of %s belongs to uid %u, but its generation to uid %u: if you trust what that "
                    "user wrote, chown the entry to the owner of the generation; else move the generation away",
                    tree_print_path (seen->at.path, shown), owned->generation, (unsigned) seen->st->st_uid,
                    (unsigned) owned->uid);
}

/* A generation that is missing is no error here: an audit finds it. */
static int check_entries (struct generation *generation, struct err *err)
{
    struct err why = { 0 };
    struct stat top;
    if (generation_open (generation, &why) < 0)
        return why.code == ERR_DAMAGE ? 0 : err_set (err, why.code, "%s", why.text);
    if (fstat (generation->fd, &top) < 0)
        return err_errno (err, ERR_IO, "cannot examine %s", generation->name);
    struct owned owned = { .generation = generation->name, .uid = top.st_uid };
    return tree_walk (generation->fd, NULL, false, check_entry, &owned, err);
}

int owners_check_entries (struct text bundle_root, uint64_t token, const uid_list *trust, struct err *err)
{
    struct generation generation;
    if (owners_check_generation (bundle_root, token, trust, err) < 0)
        return -1;
    if (token == 0)
        return 0;
    if (generation_open_root (&generation, bundle_root, token, false, err) < 0)
        return -1;
    int rc = check_entries (&generation, err);
    generation_close (&generation);
    return rc;
}

struct text owners_print_trust (const uid_list *trust, struct arena *arena)
{
    struct text words = TEXT_LIT ("");
    for (uint32_t i = 0; i < trust->n; i++)
        words = text_format (arena, "%.*s%s%u", TEXT_ARG (words), i ? "," : "", (unsigned) trust->items[i]);
    return words;
}

int owners_parse_trust (struct text words, struct arena *arena, uid_list *out, struct err *err)
{
    uint64_t uid;
    struct text rest = words, word;
    *out = (uid_list){ arena_array (arena, TRUST_MAX, sizeof *out->items), 0 };
    while (words.len && text_next_item (&rest, ',', &word)) {
        if ((word.len > 1 && word.ptr[0] == '0') || !text_to_u64 (word, &uid) || uid > TRUST_UID_MAX ||
            out->n == TRUST_MAX)
            return err_set (err, ERR_USAGE,
                            "trusted users '%.*s': expected at most %d numbers of users (uid), like 1000,1001",
                            TEXT_ARG (text_clip (words, 100)), TRUST_MAX);
        out->items[out->n++] = (uint32_t) uid;
    }
    return 0;
}
