/* tree.h - lists everything below one folder, without following anything out of it.
 *
 * A shared cache holds what other hosts put there. So everything here starts from a descriptor of the folder, opened
 * once, and resolves names below it with openat2 (RESOLVE_BENEATH, no symlinks, no magic links, no other file system);
 * names themselves are checked before they are used (a name is 1 to 255 bytes of UTF-8 without control characters, is
 * neither "." nor "..", holds no '/' and does not begin with '-'). It knows no caches or manifests. Any thread. */
#ifndef SLICEUP_COMMON_CACHE_TREE_H
#define SLICEUP_COMMON_CACHE_TREE_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { TREE_ENTRIES_MAX = 131072, TREE_DEPTH_MAX = 16, TREE_SHOWN_BYTES = 256 };

enum tree_kind { TREE_NONE = 0, TREE_FILE, TREE_FOLDER };

struct tree_entry {
    struct text path; /* below the folder, components joined by '/' */
    uint64_t bytes;   /* 0 for a folder */
    enum tree_kind kind;
    uint32_t mode; /* permission bits, no type */
};
struct tree {
    struct tree_entry *items;
    uint32_t n;
}; /* sorted by path, bytewise; the folder itself is not listed */

bool tree_name_valid (struct text name);
bool tree_path_valid (struct text path); /* valid names joined by '/', at most TREE_DEPTH_MAX of them */
/* openat2 below `root`, close-on-exec; -1 with errno. `path` must end in a NUL. */
int tree_open_below (int root, const char *path, int flags, mode_t mode);
/* The same for a listed entry: opens a regular file with one name, or a folder, for reading. ERR_DAMAGE: it is missing
 * or something else. */
int tree_open_entry (int root, const struct tree_entry *entry, struct err *err);

/* One entry of a walk. Its texts live until the next entry. */
struct tree_walk_item {
    struct tree_entry at;  /* TREE_NONE: neither a file nor a folder */
    const char *problem;   /* what is wrong with it, in words that follow its name; NULL: nothing */
    enum err_code code;    /* of the problem: ERR_DAMAGE or ERR_LIMIT */
    const struct stat *st; /* NULL: its name was enough to refuse it */
    int fd;                /* of a file that has no problem, when files are opened; -1 otherwise. The walk's own */
};
/* Not 0: the walk ends with -1, and `err` says why. */
typedef int tree_fn (void *owner, const struct tree_walk_item *seen, struct err *err);

/* Problems are: symlinks, devices, sockets, pipes, files with several names, setuid, setgid and sticky bits, another
 * owner than that of `root`, invalid names, more than TREE_ENTRIES_MAX entries, folders too deep or that cannot be
 * opened. In no order; nothing below an entry with a problem is visited; the first entry too many is the last. Entries
 * that vanish meanwhile are ignored. `skip`: names at the top to leave out; NULL or ending in NULL. */
int tree_walk (int root, const char *const *skip, bool open_files, tree_fn *each, void *owner, struct err *err);
/* Everything below `root`; the error names a problem, also names that differ only in case. Texts live in the arena. */
int tree_list (int root, const char *const *skip, struct arena *arena, struct tree *out, struct err *err);
/* Are there two paths that differ only in upper and lower case (ASCII)? On a file system that folds case they would be
 * one file, and the seal would be ambiguous. Each item begins with its path, a struct text. */
bool tree_has_twins (const void *items, size_t item_bytes, uint32_t n, uint32_t *one, uint32_t *other);
/* A path made safe for a message, cut to what a reader takes in; returns `out`. */
const char *tree_print_path (struct text path, char out[TREE_SHOWN_BYTES]);

#endif
