#include "worker/io/tree.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/base/buf.h"
#include "common/model/plan.h"

enum { NAME_BYTES_MAX = 255, SHOWN_COLUMNS = 60 };

bool tree_name_valid (struct text name)
{
    if (name.len == 0 || name.len > NAME_BYTES_MAX || name.ptr[0] == '-')
        return false;
    if (text_is (name, ".") || text_is (name, ".."))
        return false;
    for (uint32_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char) name.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '/')
            return false;
    }
    return text_is_utf8 (name);
}

bool tree_path_valid (struct text path)
{
    uint32_t begin = 0, depth = 0;
    if (path.len > PATH_MAX_BYTES)
        return false;
    for (uint32_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.ptr[i] != '/')
            continue;
        if (!tree_name_valid ((struct text) { path.ptr + begin, i - begin }) || ++depth > TREE_DEPTH_MAX)
            return false;
        begin = i + 1;
    }
    return true;
}

const char *tree_shown (struct text path, char out[TREE_SHOWN_BYTES])
{
    struct buf escaped;
    buf_init (&escaped, TREE_SHOWN_BYTES - 1);
    buf_escaped (&escaped, path, SHOWN_COLUMNS);
    memcpy (out, buf_c (&escaped), escaped.len + 1);
    buf_release (&escaped);
    return out;
}

int tree_open (int root, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t) (unsigned) (flags | O_CLOEXEC),
        .mode = (flags & O_CREAT) ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    return (int) syscall (SYS_openat2, root, path, &how, sizeof how);
}

/* What is wrong with it, in words; NULL when nothing is. */
static const char *stat_problem (const struct stat *st, uid_t owner)
{
    if (!S_ISREG (st->st_mode) && !S_ISDIR (st->st_mode))
        return S_ISLNK (st->st_mode) ? "is a symbolic link" : "is neither a regular file nor a folder";
    if (st->st_mode & (S_ISUID | S_ISGID | S_ISVTX))
        return "has a setuid, setgid or sticky bit";
    if (S_ISREG (st->st_mode) && st->st_nlink != 1)
        return "has more than one name (hard links)";
    if (st->st_uid != owner)
        return "belongs to another user than its generation";
    return NULL;
}

static int check_stat (const struct stat *st, uid_t owner, struct text path, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    const char *problem = stat_problem (st, owner);
    if (problem)
        return err_set (err, ERR_DAMAGE, "\"%s\" %s", tree_shown (path, shown), problem);
    return 0;
}

int tree_open_entry (int root, const struct tree_entry *entry, struct err *err)
{
    char path[PATH_MAX_BYTES + 1], shown[TREE_SHOWN_BYTES];
    struct stat st, top;
    int folder = entry->kind == TREE_FOLDER ? O_DIRECTORY : 0;
    if (!text_to_c (entry->path, path, sizeof path))
        return err_set (err, ERR_LIMIT, "\"%s\" is too long a path", tree_shown (entry->path, shown));
    /* O_NONBLOCK: between the listing and now a pipe may have taken the file's place. */
    int fd = tree_open (root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | folder, 0);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open \"%s\"", tree_shown (entry->path, shown));
    if (fstat (root, &top) || fstat (fd, &st)) {
        err_errno (err, ERR_IO, "cannot look at \"%s\"", tree_shown (entry->path, shown));
        close (fd);
        return -1;
    }
    if (check_stat (&st, top.st_uid, entry->path, err)) {
        close (fd);
        return -1;
    }
    return fd;
}

/* One walk; `items` grows in steps because the number of files is known only at the end. */
struct walk {
    struct arena *arena;
    const char *skip;
    uid_t owner;
    struct tree_entry *items;
    uint32_t n, capacity;
};

static int walk_folder (struct walk *walk, int fd, struct text path, uint32_t depth, struct err *err);

static int walk_add (struct walk *walk, const struct tree_entry *entry, struct err *err)
{
    if (walk->n == TREE_ENTRIES_MAX)
        return err_set (err, ERR_LIMIT, "holds more than %d files and folders", TREE_ENTRIES_MAX);
    if (walk->n == walk->capacity) {
        walk->capacity = walk->capacity ? walk->capacity * 2 : 64;
        walk->items = mem_grow (walk->items, walk->capacity, sizeof *walk->items);
    }
    walk->items[walk->n++] = *entry;
    return 0;
}

static int walk_into (struct walk *walk, int folder, const char *name, struct text path, uint32_t depth,
                      struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    if (depth == TREE_DEPTH_MAX)
        return err_set (err, ERR_LIMIT, "\"%s\" lies deeper than %d folders", tree_shown (path, shown), TREE_DEPTH_MAX);
    int fd = tree_open (folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the folder \"%s\"", tree_shown (path, shown));
    return walk_folder (walk, fd, path, depth, err);
}

static int walk_name (struct walk *walk, int folder, const char *name, struct text above, uint32_t depth,
                      struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    struct stat st;
    struct text path = above.len ? text_format (walk->arena, "%.*s/%s", TEXT_ARG (above), name)
                                 : text_copy (walk->arena, text_of (name));
    if (!tree_name_valid (text_of (name)) || path.len > PATH_MAX_BYTES)
        return err_set (err, ERR_DAMAGE, "\"%s\" is not a name that sliceup accepts in a cache",
                        tree_shown (path, shown));
    if (fstatat (folder, name, &st, AT_SYMLINK_NOFOLLOW))
        return err_errno (err, ERR_IO, "cannot look at \"%s\"", tree_shown (path, shown));
    if (check_stat (&st, walk->owner, path, err))
        return -1;
    bool is_folder = S_ISDIR (st.st_mode);
    struct tree_entry entry = { .path = path, .kind = is_folder ? TREE_FOLDER : TREE_FILE,
                                .bytes = is_folder ? 0 : (uint64_t) st.st_size, .mode = st.st_mode & 07777 };
    if (walk_add (walk, &entry, err))
        return -1;
    return is_folder ? walk_into (walk, folder, name, path, depth + 1, err) : 0;
}

/* Owns and closes `fd`. */
static int walk_folder (struct walk *walk, int fd, struct text path, uint32_t depth, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    int rc = -1;
    DIR *stream = fdopendir (fd);
    if (!stream) {
        err_errno (err, ERR_IO, "cannot read the folder \"%s\"", tree_shown (path, shown));
        close (fd);
        return -1;
    }
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir (stream);
        if (!entry)
            break;
        const char *name = entry->d_name;
        if (!strcmp (name, ".") || !strcmp (name, "..") || (depth == 0 && walk->skip && !strcmp (name, walk->skip)))
            continue;
        if (walk_name (walk, dirfd (stream), name, path, depth, err))
            goto out;
    }
    rc = errno ? err_errno (err, ERR_IO, "cannot read the folder \"%s\"", tree_shown (path, shown)) : 0;
out:
    closedir (stream);
    return rc;
}

static int by_path (const void *a, const void *b)
{
    const struct tree_entry *left = a, *right = b;
    return text_compare (left->path, right->path);
}

static int by_folded_path (const void *a, const void *b)
{
    const struct text *left = a, *right = b;
    uint32_t shorter = left->len < right->len ? left->len : right->len;
    for (uint32_t i = 0; i < shorter; i++) {
        int difference = tolower ((unsigned char) left->ptr[i]) - tolower ((unsigned char) right->ptr[i]);
        if (difference)
            return difference;
    }
    return (left->len > right->len) - (left->len < right->len);
}

/* On a file system that folds case the twins would be one file, and the seal would mean two things. */
static int check_twins (const struct tree *tree, struct err *err)
{
    char one[TREE_SHOWN_BYTES], other[TREE_SHOWN_BYTES];
    struct text *paths = mem_array (tree->n, sizeof *paths);
    int rc = 0;
    for (uint32_t i = 0; i < tree->n; i++)
        paths[i] = tree->items[i].path;
    qsort (paths, tree->n, sizeof *paths, by_folded_path);
    for (uint32_t i = 1; i < tree->n && rc == 0; i++)
        if (by_folded_path (&paths[i - 1], &paths[i]) == 0)
            rc = err_set (err, ERR_DAMAGE, "\"%s\" and \"%s\" differ only in upper and lower case",
                          tree_shown (paths[i - 1], one), tree_shown (paths[i], other));
    mem_free (paths);
    return rc;
}

int tree_list (int root, const char *skip, struct arena *arena, struct tree *out, struct err *err)
{
    struct stat top;
    struct walk walk = { .arena = arena, .skip = skip };
    struct tree tree = { 0 };
    int rc = -1;
    assert (root >= 0 && arena && out);
    /* A descriptor of its own, because reading a folder moves the descriptor's position. */
    int fd = tree_open (root, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the folder");
    if (fstat (fd, &top)) {
        err_errno (err, ERR_IO, "cannot look at the folder");
        close (fd);
        return -1;
    }
    walk.owner = top.st_uid;
    if (walk_folder (&walk, fd, TEXT_LIT (""), 0, err))
        goto out;
    tree.n = walk.n;
    tree.items = arena_copy (arena, walk.items, walk.n * sizeof *walk.items);
    if (tree.n)
        qsort (tree.items, tree.n, sizeof *tree.items, by_path);
    rc = check_twins (&tree, err);
    if (rc == 0)
        *out = tree;
out:
    mem_free (walk.items);
    return rc;
}
