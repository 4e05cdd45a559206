/* tree.h - what lies below one folder, seen without ever leaving it.
 *
 * A shared cache holds what other hosts put there. So everything here starts from a descriptor of the folder, opened
 * once, and resolves names below it with openat2 (RESOLVE_BENEATH, no symlinks, no magic links, no other file system);
 * names themselves are checked before they are used (a name is 1 to 255 bytes of UTF-8 without control
 * characters, is neither "." nor "..", holds no '/' and does not begin with '-').
 * It knows nothing of caches or manifests. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_WORKER_TREE_H
#define SLICEUP_WORKER_TREE_H

#include <stdint.h>
#include <sys/types.h>
#include "common/base/err.h"
#include "common/base/text.h"

enum { TREE_ENTRIES_MAX = 65536, TREE_DEPTH_MAX = 16, TREE_SHOWN_BYTES = 256 };

enum tree_kind { TREE_NONE = 0, TREE_FILE, TREE_FOLDER };

struct tree_entry {
    struct text path;           /* below the folder, components joined by '/' */
    enum tree_kind kind;
    uint64_t bytes;             /* 0 for a folder */
    uint32_t mode;              /* permission bits, no type */
};
struct tree { struct tree_entry *items; uint32_t n; }; /* sorted by path, bytewise; the folder itself is not listed */

bool tree_name_valid (struct text name);
bool tree_path_valid (struct text path);                /* valid names joined by '/', at most TREE_DEPTH_MAX of them */
/* openat2 below `root`, close-on-exec; -1 with errno. `path` must end in a NUL. */
int tree_open (int root, const char *path, int flags, mode_t mode);
/* The same for something that is listed: the descriptor of a regular file with one name, or of a folder, opened for
 * reading; anything else is an error that names it. */
int tree_open_entry (int root, const struct tree_entry *entry, struct err *err);
/* Everything below `root` but the top-level file `skip` (NULL: nothing skipped). Refuses, by name: symlinks, devices,
 * sockets, pipes, files with several names, setuid, setgid and sticky bits, another owner than that of `root`, names
 * that differ only in case, names that are not valid, too many entries, folders too deep. */
int tree_list (int root, const char *skip, struct arena *arena, struct tree *out, struct err *err);
/* A path made safe for a message, cut to what a reader takes in; returns `out`. */
const char *tree_shown (struct text path, char out[TREE_SHOWN_BYTES]);

#endif
