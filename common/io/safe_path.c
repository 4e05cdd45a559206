#include "common/io/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"

/* A sentence holds two paths, cut to this, so that the advice at its end has room. */
enum { SHOWN_BYTES = 90, SUBJECT_BYTES = 280, WHO_BYTES = 48, NAME_BYTES = 28 };
enum { TABLE_BYTES_MAX = 4 << 20, OTHERS_WRITE = S_IWGRP | S_IWOTH };
enum { USER_UID = 2, USER_GID = 3, GROUP_GID = 2, GROUP_MEMBERS = 3, COLUMNS = 4 }; /* passwd(5), group(5) */

/* ---- users and groups ---- */

/* Reads files of this machine, no directory service: that would need a network, and libraries that a bundled worker
 * must not load. */
struct table {
    struct buf bytes;
    char *rest;
};

static void table_open (struct table *table, const char *path)
{
    buf_init (&table->bytes, TABLE_BYTES_MAX);
    table->rest = file_read (path, &table->bytes, NULL) == 0 ? (char *) buf_c (&table->bytes) : NULL;
}

/* The next line in its columns; missing ones are empty. */
static bool table_next (struct table *table, const char *columns[COLUMNS])
{
    char *line = strsep (&table->rest, "\n");
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = line ? strsep (&line, ":") : "";
    return columns[0][0] != '\0' || table->rest != NULL;
}

static bool safe_path_is_number (const char *column, uint32_t number)
{
    char text[16];
    snprintf (text, sizeof text, "%u", (unsigned) number);
    return strcmp (column, text) == 0;
}

static bool find_name (uid_t uid, char name[NAME_BYTES])
{
    struct table users;
    const char *columns[COLUMNS];
    bool found = false;
    table_open (&users, "/etc/passwd");
    while (!found && table_next (&users, columns))
        if ((found = columns[0][0] && safe_path_is_number (columns[USER_UID], uid)))
            snprintf (name, NAME_BYTES, "%.24s", columns[0]);
    buf_release (&users.bytes);
    return found;
}

static bool lists_nobody_else (gid_t gid, const char *name)
{
    struct table groups;
    const char *columns[COLUMNS];
    bool found = false, alone = true;
    table_open (&groups, "/etc/group");
    while (table_next (&groups, columns)) {
        if (!safe_path_is_number (columns[GROUP_GID], gid))
            continue;
        found = true;
        alone = alone && (!columns[GROUP_MEMBERS][0] || strcmp (columns[GROUP_MEMBERS], name) == 0);
    }
    buf_release (&groups.bytes);
    return found && alone;
}

static bool is_nobody_elses (gid_t gid, uid_t uid)
{
    struct table users;
    const char *columns[COLUMNS];
    bool alone = true;
    table_open (&users, "/etc/passwd");
    while (alone && table_next (&users, columns))
        alone = !safe_path_is_number (columns[USER_GID], gid) || safe_path_is_number (columns[USER_UID], uid);
    buf_release (&users.bytes);
    return alone;
}

/* A user's own group, as umask 002 assumes: nobody else is in it. */
static bool is_private_group (gid_t gid, uid_t uid)
{
    char name[NAME_BYTES];
    return find_name (uid, name) && lists_nobody_else (gid, name) && is_nobody_elses (gid, uid);
}

/* ---- words ---- */

static const char *who (uid_t uid, char out[WHO_BYTES])
{
    char name[NAME_BYTES];
    if (find_name (uid, name))
        snprintf (out, WHO_BYTES, "%s (uid %u)", name, (unsigned) uid);
    else
        snprintf (out, WHO_BYTES, "uid %u", (unsigned) uid);
    return out;
}

static unsigned bits (const struct stat *at)
{
    return at->st_mode & 07777;
}

/* `subject`: "cache root /a/b", or "cache root /a/b lies below /a, which". */
static int refuse_owner (const char *subject, const struct stat *at, const struct safe_path_rule *rule, struct err *err)
{
    char owner[WHO_BYTES], self[WHO_BYTES], share[120] = "";
    if (rule->trust)
        snprintf (share, sizeof share, ", or, to share it with that user, list %u in %.40s", (unsigned) at->st_uid,
                  rule->trust);
    return err_set (
        err, ERR_REFUSED, "%s belongs to %s, mode %04o, and that user may change it: chown it to %s, %s%s%s", subject,
        who (at->st_uid, owner), bits (at), who (geteuid (), self), rule->trust ? "" : "or ", rule->instead, share);
}

static int refuse_mode (const char *subject, const struct stat *at, const struct safe_path_rule *rule, struct err *err)
{
    char owner[WHO_BYTES], squash[160] = "";
    if (rule->trust)
        snprintf (squash, sizeof squash,
                  " (on NFS that maps all users to one user: first chown it to that user on the server, and list the "
                  "uid in %.40s)",
                  rule->trust);
    return err_set (err, ERR_REFUSED,
                    "%s has mode %04o, owner %s, so other users may write there: chmod go-w it%s, or %s", subject,
                    bits (at), who (at->st_uid, owner), squash, rule->instead);
}

/* ---- the rules ---- */

static bool is_trusted (uid_t uid, const struct safe_path_rule *rule)
{
    bool trusted = uid == 0 || uid == geteuid ();
    for (uint32_t i = 0; i < rule->uids_n && !trusted; i++)
        trusted = rule->uids[i] == uid;
    return trusted;
}

int safe_path_check_end (const char *path, const struct stat *at, const struct safe_path_rule *rule, struct err *err)
{
    char subject[SUBJECT_BYTES];
    snprintf (subject, sizeof subject, "%.40s %.*s", rule->what, SHOWN_BYTES, path);
    if (rule->own ? at->st_uid != geteuid () : !is_trusted (at->st_uid, rule))
        return refuse_owner (subject, at, rule, err);
    return at->st_mode & OTHERS_WRITE ? refuse_mode (subject, at, rule, err) : 0;
}

struct walk {
    const char *path; /* as it was given */
    const struct safe_path_rule *rule;
    path_link_fn *each; /* is given the links, and nothing is checked; NULL: the rule is */
    void *owner;
    char at[PATH_MAX];   /* resolved so far, without '/' at its end: "" is the root */
    struct stat found;   /* what lies there */
    char rest[PATH_MAX]; /* what follows */
    uid_t top;           /* who owns / */
    uint32_t links;
};

static const char *on_the_way (const struct walk *walk, const char *how, const char *at, char out[SUBJECT_BYTES])
{
    snprintf (out, SUBJECT_BYTES, "%.40s %.*s %s %.*s, which", walk->rule->what, SHOWN_BYTES, walk->path, how,
              SHOWN_BYTES, at);
    return out;
}

static bool is_trusted_way (const struct walk *walk, uid_t uid)
{
    return uid == walk->top || is_trusted (uid, walk->rule);
}

static int check_way (const struct walk *walk, struct err *err)
{
    char subject[SUBJECT_BYTES];
    on_the_way (walk, "lies below", walk->at[0] ? walk->at : "/", subject);
    if (!is_trusted_way (walk, walk->found.st_uid))
        return refuse_owner (subject, &walk->found, walk->rule, err);
    bool open = walk->found.st_mode & OTHERS_WRITE && !(walk->found.st_mode & S_ISVTX);
    bool harmless = !(walk->found.st_mode & S_IWOTH) && open &&
                    is_private_group (walk->found.st_gid, walk->found.st_uid);
    return open && !harmless ? refuse_mode (subject, &walk->found, walk->rule, err) : 0;
}

/* ---- the way ---- */

static int safe_path_too_long (const struct walk *walk, struct err *err)
{
    return err_set (err, ERR_LIMIT, "%s %.150s: the path is longer than %d bytes", walk->rule->what, walk->path,
                    PATH_MAX - 1);
}

/* "a/b/c": "a" goes to `name`, "b/c" stays. False: nothing is left. */
static bool next_name (struct walk *walk, char name[PATH_MAX])
{
    char *begin = walk->rest + strspn (walk->rest, "/");
    size_t len = strcspn (begin, "/");
    memcpy (name, begin, len);
    name[len] = '\0';
    memmove (walk->rest, begin + len, strlen (begin + len) + 1);
    return len > 0;
}

static int stand_at (struct walk *walk, const char *at, struct err *err)
{
    if (at != walk->at)
        snprintf (walk->at, sizeof walk->at, "%s", at);
    if (lstat (walk->at[0] ? walk->at : "/", &walk->found) == 0)
        return 0;
    return err_errno (err, ERR_IO, "%s %.200s: cannot examine %.200s", walk->rule->what, walk->path, walk->at);
}

static int safe_path_follow (struct walk *walk, const char *link, struct err *err)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t len = readlink (link, target, sizeof target - 1);
    if (len < 0)
        return err_errno (err, ERR_IO, "%s %.150s: cannot read the symbolic link %.150s", walk->rule->what, walk->path,
                          link);
    target[len] = '\0';
    if (++walk->links > PATH_LINKS_MAX)
        return err_set (err, walk->each ? ERR_LIMIT : ERR_REFUSED,
                        "%s %.200s passes through more than %d symbolic links", walk->rule->what, walk->path,
                        PATH_LINKS_MAX);
    int n = snprintf (rest, sizeof rest, "%s/%s", target, walk->rest);
    if (n < 0 || (size_t) n >= sizeof rest)
        return safe_path_too_long (walk, err);
    memcpy (walk->rest, rest, (size_t) n + 1);
    return target[0] == '/' ? stand_at (walk, "", err) : 0;
}

/* Is the rest without further names: "", "/", "/./"? */
static bool is_end (const char *rest)
{
    while (rest[0] == '/' || (rest[0] == '.' && (rest[1] == '/' || rest[1] == '\0')))
        rest++;
    return rest[0] == '\0';
}

static int refuse_link (const struct walk *walk, const char *link, const struct stat *at, struct err *err)
{
    char owner[WHO_BYTES];
    return err_set (err, ERR_REFUSED,
                    "%s %.200s is a symbolic link (owner %s, mode %04o), and whoever may change the link chooses the "
                    "file: give the path of the file itself, or %s",
                    walk->rule->what, link, who (at->st_uid, owner), bits (at), walk->rule->instead);
}

/* In a sticky folder only the owner of a link can replace it, so the owner is checked. */
static int step_link (struct walk *walk, const char *link, const struct stat *at, struct err *err)
{
    char subject[SUBJECT_BYTES];
    if (walk->each)
        return walk->each (walk->owner, link, err) != 0 ? -1 : safe_path_follow (walk, link, err);
    if (walk->rule->own && is_end (walk->rest))
        return refuse_link (walk, link, at, err);
    if (!is_trusted_way (walk, at->st_uid))
        return refuse_owner (on_the_way (walk, "leads through the symbolic link", link, subject), at, walk->rule, err);
    return safe_path_follow (walk, link, err);
}

static int step_up (struct walk *walk, struct err *err)
{
    char *last = strrchr (walk->at, '/');
    *(last ? last : walk->at) = '\0';
    return stand_at (walk, walk->at, err);
}

/* 1: nothing is there, or it cannot be reached, which opening it will report. */
static int step_down (struct walk *walk, const char *name, struct err *err)
{
    char down[PATH_MAX];
    struct stat at;
    int n = snprintf (down, sizeof down, "%s/%s", walk->at, name);
    if (n < 0 || (size_t) n >= sizeof down)
        return safe_path_too_long (walk, err);
    if (lstat (down, &at) != 0 && (walk->each || errno == ENOENT || errno == ENOTDIR || errno == EACCES))
        return 1;
    if (lstat (down, &at) != 0)
        return err_errno (err, ERR_IO, "%s %.200s: cannot examine %.200s", walk->rule->what, walk->path, down);
    return S_ISLNK (at.st_mode) ? step_link (walk, down, &at, err) : stand_at (walk, down, err);
}

/* Checks the folder that is reached, because more follows. */
static int step (struct walk *walk, const char *name, struct err *err)
{
    if (strcmp (name, ".") == 0)
        return 0;
    if (!walk->each && check_way (walk, err) < 0)
        return -1;
    return strcmp (name, "..") == 0 ? step_up (walk, err) : step_down (walk, name, err);
}

static int begin (struct walk *walk, struct err *err)
{
    LOCAL_MEM char *here = walk->path[0] == '/' ? NULL : getcwd (NULL, 0);
    if (walk->path[0] != '/' && here == NULL)
        return err_errno (err, ERR_IO, "%s %.200s: cannot find the current directory of this process", walk->rule->what,
                          walk->path);
    int n = snprintf (walk->rest, sizeof walk->rest, "%s/%s", here ? here : "", walk->path);
    if (n < 0 || (size_t) n >= sizeof walk->rest)
        return safe_path_too_long (walk, err);
    int rc = stand_at (walk, "", err);
    walk->top = walk->found.st_uid;
    return rc;
}

/* 1: it could not be walked to its end. */
static int walk_all (struct walk *walk, struct err *err)
{
    char name[PATH_MAX];
    int rc = begin (walk, err);
    while (rc == 0 && next_name (walk, name))
        rc = step (walk, name, err);
    return rc;
}

int path_links_each (const char *path, path_link_fn *fn, void *owner, struct err *err)
{
    static const struct safe_path_rule none = { .what = "the path" };
    struct walk walk = { .path = path, .rule = &none, .each = fn, .owner = owner };
    return walk_all (&walk, err) < 0 ? -1 : 0;
}

int safe_path_check (const char *path, const struct safe_path_rule *rule, struct err *err)
{
    struct walk walk = { .path = path, .rule = rule };
    int rc = walk_all (&walk, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (rule->own && !S_ISDIR (walk.found.st_mode) && !S_ISREG (walk.found.st_mode))
        return err_set (err, ERR_REFUSED, "%s %.200s is neither a folder nor a file: %s", rule->what, path,
                        rule->instead);
    return safe_path_check_end (path, &walk.found, rule, err);
}
