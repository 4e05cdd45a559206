#include "common/cache/generation.h"

#include "common/base/buf.h"
#include "common/io/fd.h"
#include "common/model/plan.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_BYTES_MAX = 255, SHOWN_COLUMNS = 60, WALK_FULL = 1 };
_Static_assert(TREE_DEPTH_MAX == 16 && TREE_ENTRIES_MAX == 131072, "the texts equal the numbers");

bool tree_name_valid (struct text name)
{
    if (name.len == 0 || name.len > NAME_BYTES_MAX || name.ptr[0] == '-')
        return false;
    if (text_is (name, ".") || text_is (name, ".."))
        return false;
    unsigned char all = 0;
    for (uint32_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char) name.ptr[i];
        if (c < 0x20 || c == 0x7f || c == '/')
            return false;
        all |= c;
    }
    return all < 0x80 || text_is_utf8 (name);
}

bool tree_path_valid (struct text path)
{
    uint32_t depth = 0;
    struct text name;
    if (path.len > PATH_MAX_BYTES)
        return false;
    while (text_next_item (&path, '/', &name))
        if (!tree_name_valid (name) || ++depth > TREE_DEPTH_MAX)
            return false;
    return depth > 0;
}

const char *tree_print_path (struct text path, char out[TREE_SHOWN_BYTES])
{
    LOCAL_BUF escaped = { .max = TREE_SHOWN_BYTES - 1 };
    buf_escaped (&escaped, path, SHOWN_COLUMNS);
    memcpy (out, buf_c (&escaped), escaped.len + 1);
    return out;
}

static int open_by (int root, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    struct open_how how = { .flags = (uint64_t) (unsigned) (flags | O_CLOEXEC),
                            .mode = (flags & O_CREAT) ? mode : 0,
                            .resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
    return (int) syscall (SYS_openat2, root, path, &how, sizeof how);
}

int tree_open_below (int root, const char *path, int flags, mode_t mode)
{
    return open_by (root, path, flags, mode, RESOLVE_BENEATH);
}

/* One valid name, as a folder lists it: without "/" and "..", only a link or a mount could lead out of the folder.
 * RESOLVE_BENEATH would make the kernel check that again for each file, at a tenth of the cost of opening. */
static int open_name (int folder, const char *name, int flags)
{
    return open_by (folder, name, flags, 0, 0);
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
        return "belongs to another user than the generation or per-host cache that it lies in";
    return NULL;
}

static int check_stat (const struct stat *st, uid_t owner, struct text path, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    const char *problem = stat_problem (st, owner);
    if (problem)
        return err_set (err, ERR_DAMAGE, "\"%s\" %s", tree_print_path (path, shown), problem);
    return 0;
}

/* Explains an error of openat2 for a name that changed since it was listed. */
static const char *open_problem (int error)
{
    switch (error) {
    case ENOENT: return "is not there";
    case ELOOP: return "is a symbolic link, or is reached through one";
    case ENOTDIR: return "is not a folder, or lies below something that is not one";
    case EXDEV: return "lies on another file system that is mounted there";
    case ENXIO: return "is neither a regular file nor a folder";
    default: return NULL;
    }
}

static int cannot_open (struct text path, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    int error = errno;
    const char *problem = open_problem (error);
    tree_print_path (path, shown);
    if (problem)
        return err_set (err, ERR_DAMAGE, "\"%s\" %s", shown, problem);
    if (error == ENOSYS)
        return err_set (err, ERR_IO, "this kernel has no openat2: a shared cache needs Linux 5.6 or later");
    errno = error;
    return err_errno (err, ERR_IO, "cannot open \"%s\"", shown);
}

int tree_open_entry (int root, const struct tree_entry *entry, struct err *err)
{
    char path[PATH_MAX_BYTES + 1], shown[TREE_SHOWN_BYTES];
    struct stat st, top;
    int folder = entry->kind == TREE_FOLDER ? O_DIRECTORY : 0;
    if (!text_to_c (entry->path, path, sizeof path))
        return err_set (err, ERR_LIMIT, "the path \"%s\" is too long", tree_print_path (entry->path, shown));
    /* O_NONBLOCK: between the listing and now a pipe may have taken the file's place. */
    int fd = tree_open_below (root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | folder, 0);
    if (fd < 0)
        return cannot_open (entry->path, err);
    if (fstat (root, &top) || fstat (fd, &st))
        err_errno (err, ERR_IO, "cannot examine \"%s\"", tree_print_path (entry->path, shown));
    else if (check_stat (&st, top.st_uid, entry->path, err) == 0)
        return fd;
    close (fd);
    return -1;
}

struct walk {
    const char *const *skip;
    bool open_files;
    tree_fn *each;
    void *owner;
    uid_t uid;
    uint32_t n;
    char path[PATH_MAX_BYTES + NAME_BYTES_MAX + 2]; /* of the present entry; begins with its folder's path */
};

static int walk_folder (struct walk *walk, int fd, uint32_t len, uint32_t depth, struct err *err);

static int report_entry (struct walk *walk, struct tree_walk_item *seen, enum err_code code, const char *why,
                         struct err *err)
{
    seen->problem = why;
    seen->code = why ? code : ERR_NONE;
    return walk->each (walk->owner, seen, err);
}

static int walk_into (struct walk *walk, struct tree_walk_item *seen, int folder, const char *name, uint32_t depth,
                      struct err *err)
{
    if (depth >= TREE_DEPTH_MAX)
        return report_entry (walk, seen, ERR_LIMIT, "lies more than 16 folders deep, the limit of a cache", err);
    int fd = open_name (folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == EACCES || open_problem (errno)))
        return report_entry (walk, seen, ERR_DAMAGE,
                             errno == EACCES ? "cannot be opened: its mode forbids it" : open_problem (errno), err);
    if (fd < 0)
        return cannot_open (seen->at.path, err);
    if (report_entry (walk, seen, ERR_NONE, NULL, err)) {
        close (fd);
        return -1;
    }
    return walk_folder (walk, fd, seen->at.path.len, depth, err);
}

enum { OPEN_FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

/* A listed file is opened first, so that the checked and the read file are the same. */
static int tree_look (const struct walk *walk, int folder, const struct dirent *entry, struct stat *st, int *fd)
{
    *fd = walk->open_files && entry->d_type == DT_REG ? open_name (folder, entry->d_name, OPEN_FILE) : -1;
    int rc = *fd >= 0 ? fstat (*fd, st) : fstatat (folder, entry->d_name, st, AT_SYMLINK_NOFOLLOW);
    if (rc || *fd >= 0 || !walk->open_files || !S_ISREG (st->st_mode))
        return rc;
    *fd = open_name (folder, entry->d_name, OPEN_FILE);
    return *fd >= 0 ? fstat (*fd, st) : errno == EACCES || errno == EXDEV ? 0 : -1;
}

static int walk_found (struct walk *walk, struct tree_walk_item *seen, int folder, const char *name, uint32_t depth,
                       struct err *err)
{
    const struct stat *st = seen->st;
    const char *problem = stat_problem (st, walk->uid);
    bool file = S_ISREG (st->st_mode), is_folder = S_ISDIR (st->st_mode);
    seen->at.kind = file ? TREE_FILE : is_folder ? TREE_FOLDER : TREE_NONE;
    seen->at.bytes = file ? (uint64_t) st->st_size : 0;
    seen->at.mode = st->st_mode & 07777;
    if (is_folder && !problem)
        return walk_into (walk, seen, folder, name, depth + 1, err);
    if (file && !problem && walk->open_files && seen->fd < 0)
        problem = "cannot be opened: its mode forbids it, or another file system is mounted there";
    return report_entry (walk, seen, ERR_DAMAGE, problem, err);
}

static int walk_name (struct walk *walk, int folder, const struct dirent *entry, uint32_t above, uint32_t depth,
                      struct err *err)
{
    struct stat st;
    struct text name = text_of (entry->d_name);
    uint32_t at = above ? above + 1 : 0;
    struct tree_walk_item seen = { .at.path = { walk->path, at + name.len }, .fd = -1 };
    walk->path[above] = '/';
    memcpy (walk->path + at, name.ptr, name.len + 1);
    if (++walk->n > TREE_ENTRIES_MAX) {
        int rc = report_entry (walk, &seen, ERR_LIMIT, "exceeds the limit of 131072 files and folders in a cache", err);
        return rc ? rc : WALK_FULL;
    }
    if (!tree_name_valid (name) || seen.at.path.len > PATH_MAX_BYTES)
        return report_entry (
            walk, &seen, ERR_DAMAGE,
            "has a name that a cache does not accept (too long, control characters, not UTF-8, or '-' first)", err);
    int rc = tree_look (walk, folder, entry, &st, &seen.fd);
    seen.st = &st;
    if (rc == 0)
        rc = walk_found (walk, &seen, folder, entry->d_name, depth, err);
    else if (errno == ENOENT)
        rc = 0;
    else if (errno == EACCES)
        rc = report_entry (walk, &seen, ERR_DAMAGE, "cannot be examined: the mode of its folder forbids it", err);
    else
        cannot_open (seen.at.path, err);
    if (seen.fd >= 0)
        close (seen.fd);
    return rc;
}

static bool is_skipped (const struct walk *walk, const char *name, uint32_t depth)
{
    if (!strcmp (name, ".") || !strcmp (name, ".."))
        return true;
    for (const char *const *skip = walk->skip; skip && *skip && depth == 0; skip++)
        if (!strcmp (name, *skip))
            return true;
    return false;
}

/* Owns and closes `fd`. */
static int walk_folder (struct walk *walk, int fd, uint32_t len, uint32_t depth, struct err *err)
{
    int rc = 0;
    LOCAL_DIR stream = fdopendir (fd);
    if (!stream) {
        close (fd);
        return err_set (err, ERR_IO, "cannot read the folders of a generation or per-host cache: too little memory");
    }
    for (errno = 0; rc == 0; errno = 0) {
        struct dirent *entry = readdir (stream);
        if (!entry && errno) {
            walk->path[len] = '\0';
            rc = err_errno (err, ERR_IO, "cannot read the folder \"%.200s\" of a generation or per-host cache",
                            len ? walk->path : ".");
        }
        if (!entry)
            break;
        if (!is_skipped (walk, entry->d_name, depth))
            rc = walk_name (walk, dirfd (stream), entry, len, depth, err);
    }
    return rc;
}

int tree_walk (int root, const char *const *skip, bool open_files, tree_fn *each, void *owner, struct err *err)
{
    struct stat top;
    struct walk walk = { .skip = skip, .open_files = open_files, .each = each, .owner = owner };
    assert (root >= 0 && each);
    /* A descriptor of its own, because reading a folder moves the descriptor's position. */
    int fd = tree_open_below (root, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the folder of a generation or per-host cache");
    if (fstat (fd, &top)) {
        err_errno (err, ERR_IO, "cannot examine the folder of a generation or per-host cache");
        close (fd);
        return -1;
    }
    walk.uid = top.st_uid;
    int rc = walk_folder (&walk, fd, 0, 0, err);
    return rc == WALK_FULL ? 0 : rc;
}

/* `items` grows in steps because the number of files is known only at the end. */
struct listing {
    struct arena *arena;
    struct tree_entry *items;
    uint32_t n, capacity;
};

static int tree_add (void *owner, const struct tree_walk_item *seen, struct err *err)
{
    struct listing *listing = owner;
    char shown[TREE_SHOWN_BYTES];
    if (seen->problem)
        return err_set (err, seen->code, "\"%s\" %s", tree_print_path (seen->at.path, shown), seen->problem);
    listing->items = mem_room (listing->items, listing->n, &listing->capacity, 64, sizeof *listing->items);
    struct tree_entry *entry = &listing->items[listing->n++];
    *entry = seen->at;
    entry->path = text_copy (listing->arena, seen->at.path);
    return 0;
}

static int folded_order (const void *a, const void *b)
{
    const struct text *x = *(const struct text *const *) a, *y = *(const struct text *const *) b;
    int order = strncasecmp (x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    if (order == 0)
        order = x->len == y->len ? (x > y) - (x < y) : x->len < y->len ? -1 : 1;
    return order;
}

bool tree_has_twins (const void *items, size_t item_bytes, uint32_t n, uint32_t *one, uint32_t *other)
{
    LOCAL_MEM const struct text **paths = mem_array (n, sizeof (*paths));
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        paths[i] = (const void *) ((const char *) items + i * item_bytes);
    sort_items (paths, n, sizeof (*paths), folded_order);
    for (uint32_t i = 1; i < n && !found; i++) {
        found = paths[i - 1]->len == paths[i]->len &&
                strncasecmp (paths[i - 1]->ptr, paths[i]->ptr, paths[i]->len) == 0;
        *one = (uint32_t) ((size_t) ((const char *) paths[i - 1] - (const char *) items) / item_bytes);
        *other = (uint32_t) ((size_t) ((const char *) paths[i] - (const char *) items) / item_bytes);
    }
    return found;
}

static int check_twins (const struct tree *tree, struct err *err)
{
    char shown[TREE_SHOWN_BYTES], shown_other[TREE_SHOWN_BYTES];
    uint32_t one, other;
    if (!tree_has_twins (tree->items, sizeof *tree->items, tree->n, &one, &other))
        return 0;
    return err_set (err, ERR_DAMAGE, "the paths \"%s\" and \"%s\" differ only in case, which a cache does not accept",
                    tree_print_path (tree->items[one].path, shown),
                    tree_print_path (tree->items[other].path, shown_other));
}

int tree_list (int root, const char *const *skip, struct arena *arena, struct tree *out, struct err *err)
{
    struct listing listing = { .arena = arena };
    struct tree tree = { 0 };
    int rc = tree_walk (root, skip, false, tree_add, &listing, err);
    if (rc == 0) {
        tree.n = listing.n;
        tree.items = arena_copy (arena, listing.items, listing.n * sizeof *listing.items);
        sort_items (tree.items, tree.n, sizeof *tree.items, text_order);
        rc = check_twins (&tree, err);
    }
    if (rc == 0)
        *out = tree;
    mem_free (listing.items);
    return rc;
}
