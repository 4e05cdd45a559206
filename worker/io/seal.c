/* seal.c - makes a generation durable and immutable, and says what it holds.
 *
 * Order matters: write rights go first, so that what is hashed is what stays; MANIFEST comes last under its own name,
 * so that whoever sees it sees a whole generation; the set is listed a second time in between, because a process that
 * outlived the program may have written meanwhile. */
#include "worker/io/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "worker/io/generation.h"

#define PART_NAME MANIFEST_NAME ".part"

/* EINVAL: a file system that keeps nothing back for a folder. */
static int sync_folder (int fd)
{
    return fsync (fd) && errno != EINVAL ? -1 : 0;
}

static int sync_entry (const struct manifest_entry *entry, int fd)
{
    return entry->at.kind == TREE_FOLDER ? sync_folder (fd) : fsync (fd);
}

static int seal_entry (int root, struct manifest_entry *entry, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    struct stat st;
    tree_shown (entry->at.path, shown);
    int rc = -1, fd = tree_open_entry (root, &entry->at, err);
    if (fd < 0)
        return -1;
    if (fchmod (fd, entry->at.mode & 0555) || sync_entry (entry, fd) || fstat (fd, &st)) {
        err_errno (err, ERR_IO, "cannot seal \"%s\"", shown);
        goto out;
    }
    /* As the file system kept it: some mounts have one mode for everything. */
    entry->at.mode = st.st_mode & 0777;
    rc = 0;
    if (entry->at.kind == TREE_FILE && digest_of_fd (fd, &entry->digest, &entry->at.bytes, err))
        rc = err_prefix (err, "cannot read \"%s\"", shown);
out:
    close (fd);
    return rc;
}

static int seal_entries (int root, const struct tree *tree, struct arena *arena, struct manifest *out,
                         struct err *err)
{
    *out = (struct manifest) { .items = arena_array (arena, tree->n, sizeof *out->items), .n = tree->n };
    for (uint32_t i = 0; i < tree->n; i++) {
        out->items[i].at = tree->items[i];
        if (seal_entry (root, &out->items[i], err))
            return -1;
        out->files += tree->items[i].kind == TREE_FILE;
        out->bytes += out->items[i].at.bytes;
    }
    return 0;
}

static int check_still (int root, const struct manifest *manifest, struct arena *arena, struct err *err)
{
    struct tree again;
    if (tree_list (root, NULL, arena, &again, err) || manifest_compare (manifest, &again, err))
        return err_prefix (err, "something wrote while the generation was being sealed");
    return 0;
}

static int write_bytes (int fd, const struct buf *bytes, struct err *err)
{
    size_t done = 0;
    while (done < bytes->len) {
        ssize_t put = write (fd, bytes->ptr + done, bytes->len - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno (err, ERR_IO, "cannot write " MANIFEST_NAME);
        done += (size_t) put;
    }
    if (fchmod (fd, 0444) || fsync (fd))
        return err_errno (err, ERR_IO, "cannot make " MANIFEST_NAME " durable");
    return 0;
}

static int write_part (int root, const struct buf *bytes, struct err *err)
{
    int fd = tree_open (root, PART_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make " PART_NAME);
    int rc = write_bytes (fd, bytes, err);
    if (close (fd) && rc == 0)
        rc = err_errno (err, ERR_IO, "cannot write " MANIFEST_NAME);
    return rc;
}

static int remove_name (int root, const char *name, struct err *err)
{
    if (unlinkat (root, name, 0) && errno != ENOENT)
        err_prefix (err, "(%s stays in the failed generation)", name);
    return -1;
}

/* RENAME_NOREPLACE would be the shorter way to say "not over a MANIFEST", but NFS does not know it; nothing could make
 * one since the set was checked. */
static int publish (const struct generation *generation, const struct buf *bytes, struct err *err)
{
    int root = generation->fd;
    if (write_part (root, bytes, err))
        return remove_name (root, PART_NAME, err);
    if (renameat (root, PART_NAME, root, MANIFEST_NAME)) {
        err_errno (err, ERR_IO, "cannot name " MANIFEST_NAME);
        return remove_name (root, PART_NAME, err);
    }
    if (sync_folder (root) || fchmod (root, 0555) || sync_folder (root) || sync_folder (generation->root)) {
        err_errno (err, ERR_IO, "cannot close the generation's folder");
        /* Without write rights on the folder the name could not be taken back; if this fails, that says so. */
        if (fchmod (root, 0755))
            err_prefix (err, "(and it cannot be reopened)");
        return remove_name (root, MANIFEST_NAME, err);
    }
    return 0;
}

static int seal_generation (const struct generation *generation, struct arena *arena, struct manifest *manifest,
                            struct buf *bytes, struct err *err)
{
    struct tree tree;
    if (tree_list (generation->fd, NULL, arena, &tree, err))
        return -1;
    for (uint32_t i = 0; i < tree.n; i++)
        if (text_is (tree.items[i].path, MANIFEST_NAME) || text_is (tree.items[i].path, PART_NAME))
            return err_set (err, ERR_REFUSED, "\"%.*s\" is there already: it was sealed before, or the program made it",
                            TEXT_ARG (tree.items[i].path));
    if (seal_entries (generation->fd, &tree, arena, manifest, err) ||
        check_still (generation->fd, manifest, arena, err))
        return -1;
    manifest_print (manifest, bytes);
    if (bytes->overflow)
        return err_set (err, ERR_LIMIT, MANIFEST_NAME " would be longer than %d bytes", MANIFEST_BYTES_MAX);
    return publish (generation, bytes, err);
}

static void describe (const struct cache_order *order, const struct manifest *manifest, const struct buf *bytes,
                      struct arena *arena, struct seal *seal)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (bytes->ptr, bytes->len);
    *seal = (struct seal) { .token = order->token, .sha256 = text_copy (arena, text_of (digest_hex (&digest, hex))),
                            .entries = manifest->files, .bytes = manifest->bytes };
}

int cache_seal (const struct cache_order *order, struct seal *seal, struct arena *arena, struct err *err)
{
    struct generation generation;
    struct manifest manifest;
    struct arena scratch = { 0 };
    struct buf bytes;
    int rc = -1;
    if (order->role != CACHE_ROLE_WRITER)
        return err_set (err, ERR_REFUSED, "only a writer's cache order can be sealed");
    if (generation_open_root (&generation, order->frontend_root, order->token, false, err))
        return -1;
    buf_init (&bytes, MANIFEST_BYTES_MAX);
    if (generation_open (&generation, err) || seal_generation (&generation, &scratch, &manifest, &bytes, err)) {
        err_prefix (err, "%s in %.160s cannot be sealed", generation.name, generation.root_path);
        goto out;
    }
    describe (order, &manifest, &bytes, arena, seal);
    rc = 0;
out:
    buf_release (&bytes);
    arena_release (&scratch);
    generation_close (&generation);
    return rc;
}
