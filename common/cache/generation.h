/* generation.h - opens the folder gen-<token> of one generation.
 *
 * Also host-<name>, the folder that one host has for itself. Shared by those who prepare and those who seal. It opens
 * the frontend's root once, by the administrator's path, which may hold links, and all below through tree.c. */
#ifndef SLICEUP_COMMON_CACHE_GENERATION_H
#define SLICEUP_COMMON_CACHE_GENERATION_H

#include "common/base/digest.h"
#include "common/model/msg.h"
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- tree.c ---- */

/* Lists everything below one folder, without following anything out of it.
 *
 * A shared cache holds what other hosts put there. So everything here starts from a descriptor of the folder, opened
 * once, and resolves names below it with openat2 (RESOLVE_BENEATH, no symlinks, no magic links, no other file system);
 * names themselves are checked before they are used (a name is 1 to 255 bytes of UTF-8 without control characters, is
 * neither "." nor "..", holds no '/' and does not begin with '-'). It knows no caches or manifests. Any thread. */

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

/* ---- manifest.c ---- */

/* The list of everything in a sealed cache generation, as the file MANIFEST in it.
 *
 * One line an entry, sorted bytewise by path, each ended by a newline:
 *
 *     <sha256, 64 lower-case hex digits> <size in bytes> <mode, 4 octal digits> <path>       a file
 *     - 0 <mode> <path>/                                                                     a folder
 *
 * It lists everything below the generation's folder except itself and WITNESS, the file on which ways to write may be
 * tried. The coordinator journals the digest of its bytes, which readers trust. A manifest has one spelling, and
 * parsing refuses every other, so equal generations have equal digests. It knows nothing of tokens, orders and leases.
 * Any thread. */

#define MANIFEST_NAME "MANIFEST"
#define MANIFEST_PART_NAME MANIFEST_NAME ".part"
#define WITNESS_NAME "WITNESS"

enum { MANIFEST_BYTES_MAX = 32 * 1024 * 1024, DIFFERENCE_BYTES = 256 };
/* Files of a sealed generation that no manifest lists; ends in NULL. */
extern const char *const manifest_unlisted[];

struct manifest_entry {
    struct tree_entry at;
    struct digest digest; /* zeros for a folder */
};
struct manifest {
    struct manifest_entry *items;
    uint32_t n;
    uint32_t files;
    uint64_t bytes; /* of all files */
};

/* Our own names, in any case: no entry may have one. */
bool manifest_is_reserved (struct text path);

/* `out` overflows when the manifest is longer than its max. */
void manifest_print (const struct manifest *manifest, struct buf *out);
/* ERR_DAMAGE, with the line's number: manifest_print would not have written it. The paths are pieces of `bytes`. */
int manifest_parse (struct text bytes, struct arena *arena, struct manifest *out, struct err *err);
/* The number of the item with that path. */
bool manifest_find (const struct manifest *manifest, struct text path, uint32_t *number);
/* Checks that `tree` has exactly these entries, kinds, sizes and modes; the error names the first difference. */
int manifest_check_tree (const struct manifest *manifest, const struct tree *tree, struct err *err);
/* Checks that the manifest has every entry of `base`, with its kind, size, mode and bytes. There may be more. */
int manifest_check_base (const struct manifest *manifest, const struct manifest *base, struct err *err);
/* Does `now` differ from what was sealed? `how` explains it in words that follow the path. */
bool manifest_entry_differs (const struct tree_entry *was, const struct tree_entry *now, char how[DIFFERENCE_BYTES]);
/* The digest of all bytes in `fd`. It reads up to `bytes` + 1, to see the end. `*got`: how many there were. */
int manifest_hash_file (int fd, uint64_t bytes, struct digest *digest, uint64_t *got, struct err *err);
/* 1: the bytes differ from the listed ones, and `how` explains it. 0: equal. -1: they could not be read. */
int manifest_bytes_differ (const struct manifest_entry *entry, int fd, char how[DIFFERENCE_BYTES], struct err *err);
int manifest_check_bytes (const struct manifest_entry *entry, int fd, struct err *err); /* the same as an error */

/* ---- generation.c ---- */

enum { GENERATION_NAME_BYTES = 256 };

struct generation {
    int root; /* the frontend's folder; -1: not open */
    int fd;   /* gen-<token>; -1: not open */
    char root_path[PATH_MAX_BYTES + 1];
    char name[GENERATION_NAME_BYTES];
};

/* Opens the root, and makes it when `make`; names the generation but does not open it. Closed again on failure. */
int generation_open_root (struct generation *generation, struct text root, uint64_t token, bool make, struct err *err);
int generation_open_host_cache (struct generation *generation, struct text root, struct text host, struct err *err);
/* gen-<token>. ERR_DAMAGE: it is not there, or is something else. */
int generation_open (struct generation *generation, struct err *err);
void generation_close (struct generation *generation);
/* Closed at the end of its block. */
#define LOCAL_GENERATION __attribute__ ((cleanup (generation_close))) struct generation
#define GENERATION_CLOSED ((struct generation){ .root = -1, .fd = -1 })
/* Makes it with exactly this mode, and opens it; `taken`: it may exist already. Errors say what to do. On failure
 * nothing was made. */
int generation_make (struct generation *generation, mode_t mode, bool taken, struct err *err);
/* Adds the needed and the free space to an error, if less is free than needed. */
int generation_explain_space (const struct generation *generation, uint64_t needed_bytes, struct err *err);
int generation_path (const struct generation *generation, char *dir, size_t dir_bytes, struct err *err);
/* Reads MANIFEST and compares its digest with `sha256` (64 hex digits). */
int generation_read_manifest (const struct generation *generation, struct text sha256, struct arena *arena,
                              struct manifest *out, struct err *err);

/* ---- copying ---- */

/* Copies the entries of one sealed generation into the folder of another.
 *
 * Never links: two names of one file would let a late write through the old one change both. The copy is compared with
 * the manifest, since the program will use the copy. */

/* `to` is an empty folder. Copies have the listed modes, and their owner may write them. A failure leaves a part. */
int copy_entries (const struct manifest *manifest, int from, int to, struct err *err);

#endif
