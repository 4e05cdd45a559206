/* transfer.c - exports generations; checks a carried folder, gets a token, copies and seals it under that, and publishes it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/base/rng.h"
#include "common/cache/audit.h"
#include "common/cache/generation.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/catalogue/catalogue_private.h"

/* ---- waiting for the lease: an import is no run ---- */

/* RIVALS_MAX: imports are short and may follow each other; after this many other owners the import gives up. */
enum { LOOK_MS = 500, RIVALS_MAX = 16 };

static int lives (const struct lease_owner *lease_owner, struct err *err)
{
    return err_set (err, ERR_STATE,
                    "run (or import) %.*s is writing generation %" PRIu64
                    " of this cache family: import again when it has ended",
                    TEXT_ARG (text_clip (lease_owner->run, 40)), lease_owner->token);
}

static uint64_t watch_ms (const struct lease_owner *lease_owner, const struct log *log)
{
    uint64_t wait_ms = lease_grantor_ms (LEASE_TERM_MS) + lease_delay_ms (LEASE_TERM_MS);
    log_print (log,
               "run (or import) %.*s holds the lease to write this cache; waiting %" PRIu64
               " s to see whether it is still alive",
               TEXT_ARG (text_clip (lease_owner->run, 40)), (wait_ms + 999) / 1000);
    return wait_ms;
}

/* Takes the lease of a run whose beat stands still for as long as a run would watch; a new owner is watched anew.
 * ERR_STATE: a live run has it. */
static int transfer_take_lease (struct catalogue *catalogue, struct text bundle, struct text run, const struct log *log,
                                uint64_t *token, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct lease_owner first = { 0 }, now;
    uint64_t until_ms = 0, got = 0;
    uint32_t rivals = 0;
    int rc = 0;
    while (rc == 0 && !got) { /* ends: the beat moves, the lease is given up, or the watch is over and it is taken */
        bool over = first.token && clock_boot_ms () >= until_ms;
        rc = catalogue_acquire_lease (catalogue, bundle, run, 0, over ? &first : NULL, &got, &now, &arena, err);
        if (rc != 0 || got)
            break;
        if (first.token != now.token && rivals++ < RIVALS_MAX) {
            first = now;
            until_ms = clock_boot_ms () + watch_ms (&now, log);
        } else if (first.token != now.token || first.beat != now.beat)
            rc = lives (&now, err);
        else
            (void) poll (NULL, 0, LOOK_MS); /* a signal may end it early */
    }
    if (rc == 0)
        *token = got;
    return rc;
}

/* ---- holding it ---- */

struct transfer_beat {
    struct catalogue *catalogue;
    uint64_t token;
    char run[64];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over_changed;
    bool over;
};

static bool wait_one (struct transfer_beat *beat)
{
    struct timespec until;
    clock_gettime (CLOCK_MONOTONIC, &until);
    until.tv_sec += lease_ask_ms (LEASE_TERM_MS) / 1000;
    pthread_mutex_lock (&beat->lock);
    while (!beat->over && pthread_cond_clockwait (&beat->over_changed, &beat->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
    bool over = beat->over;
    pthread_mutex_unlock (&beat->lock);
    return !over;
}

/* A failed beat or a lost lease changes nothing, since the token's folder is ours alone. */
static void *beats (void *owner)
{
    struct transfer_beat *beat = owner;
    bool taken;
    while (wait_one (beat))
        (void) catalogue_beat (beat->catalogue, beat->token, text_of (beat->run), &taken, NULL);
    return NULL;
}

static struct transfer_beat *transfer_beat_begin (const char *root, uint64_t token, struct text run, struct err *err)
{
    struct catalogue *catalogue = catalogue_open (root, err);
    if (!catalogue)
        return NULL;
    struct transfer_beat *beat = mem_alloc (sizeof *beat);
    *beat = (struct transfer_beat){ .catalogue = catalogue, .token = token };
    snprintf (beat->run, sizeof beat->run, "%.*s", TEXT_ARG (run));
    pthread_mutex_init (&beat->lock, NULL);
    pthread_cond_init (&beat->over_changed, NULL);
    int why = pthread_create (&beat->thread, NULL, beats, beat);
    if (why == 0)
        return beat;
    err_set (err, ERR_IO, "cannot start the thread that renews the lease: %s", strerror (why));
    catalogue_close (catalogue);
    mem_free (beat);
    return NULL;
}

static void transfer_beat_end (struct transfer_beat *beat)
{
    if (!beat)
        return;
    pthread_mutex_lock (&beat->lock);
    beat->over = true;
    pthread_cond_signal (&beat->over_changed);
    pthread_mutex_unlock (&beat->lock);
    pthread_join (beat->thread, NULL);
    pthread_cond_destroy (&beat->over_changed);
    pthread_mutex_destroy (&beat->lock);
    catalogue_close (beat->catalogue);
    mem_free (beat);
}

/* ---- the import ---- */

/* An opened and verified carried folder. */
struct carried {
    int folder, sealed;
    struct manifest manifest;
    struct arena arena;
};

/* ---- what lies there ---- */

/* Archives and object stores lose modes, so the copy gets those of the manifest. */
static void take_modes (const struct manifest *manifest, struct tree *tree)
{
    for (uint32_t i = 0, k = 0; i < manifest->n && k < tree->n;) {
        int order = text_compare (manifest->items[i].at.path, tree->items[k].path);
        if (order == 0)
            tree->items[k].mode = manifest->items[i].at.mode;
        i += order <= 0;
        k += order >= 0;
    }
}

static int check_set (struct carried *carried, struct err *err)
{
    struct tree tree;
    if (tree_list (carried->sealed, manifest_unlisted, &carried->arena, &tree, err) != 0)
        return -1;
    take_modes (&carried->manifest, &tree);
    return manifest_check_tree (&carried->manifest, &tree, err);
}

static int check_claim (const struct manifest *manifest, const struct fact_generation *claim, struct err *err)
{
    if (claim->entries != manifest->files)
        return err_set (err, ERR_DAMAGE, TRANSFER_JSON " says %u entries, " MANIFEST_NAME " lists %u", claim->entries,
                        manifest->files);
    if (claim->bytes != manifest->bytes)
        return err_set (err, ERR_DAMAGE, TRANSFER_JSON " says %" PRIu64 " bytes, " MANIFEST_NAME " lists %" PRIu64,
                        claim->bytes, manifest->bytes);
    /* Sealing removes write bits, so a manifest with one was not written by it. */
    for (uint32_t i = 0; i < manifest->n; i++)
        if (manifest->items[i].at.mode & 0222)
            return err_set (err, ERR_DAMAGE,
                            MANIFEST_NAME " lists \"%.*s\" as writable, but sealed files are read-only",
                            TEXT_ARG (text_clip (manifest->items[i].at.path, 120)));
    return 0;
}

static int read_manifest (struct carried *carried, const struct fact_generation *claim, struct err *err)
{
    struct generation there = { .root = -1, .fd = carried->sealed, .name = TRANSFER_SEALED };
    return generation_read_manifest (&there, claim->sha256, &carried->arena, &carried->manifest, err);
}

static int open_carried (const char *from, const struct fact_generation *claim, struct carried *out, struct err *err)
{
    *out = (struct carried){ .folder = -1, .sealed = -1 };
    out->folder = open (from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->folder < 0)
        return err_errno (err, ERR_IO, "cannot open %s", from);
    out->sealed = tree_open_below (out->folder, TRANSFER_SEALED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (out->sealed < 0)
        return err_errno (err, errno == ENOENT ? ERR_STATE : ERR_IO,
                          "%s holds no folder " TRANSFER_SEALED ": name a folder that sliceup cache export made", from);
    if (read_manifest (out, claim, err) == 0 && check_claim (&out->manifest, claim, err) == 0 &&
        check_set (out, err) == 0)
        return 0;
    return err_prefix (err, "%s is refused", from);
}

static void close_carried (struct carried *carried)
{
    fd_close (carried->sealed);
    fd_close (carried->folder);
    arena_release (&carried->arena);
}

/* ---- is there room, is it here already ---- */

static int check_room (const char *root, uint64_t bytes, struct err *err)
{
    struct statvfs at;
    if (statvfs (root, &at) != 0)
        return err_errno (err, ERR_IO, "cannot find out how much space %s has", root);
    uint64_t room = at.f_frsize ? (uint64_t) at.f_bavail * at.f_frsize : UINT64_MAX;
    if (bytes <= room)
        return 0;
    return err_set (err, ERR_IO,
                    "%s has %" PRIu64 " bytes free, but the generation needs %" PRIu64
                    ": free space (sliceup cache gc) or use a larger storage",
                    root, room, bytes);
}

static int find_before (struct catalogue *catalogue, const struct fact_generation *claim, uint64_t *token, bool *before,
                        struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct catalogue_list all;
    int rc = catalogue_list (catalogue, claim->bundle, &arena, &all, err);
    *before = false;
    for (uint32_t i = 0; rc == 0 && i < all.n; i++) {
        if (all.items[i].state != GENERATION_PUBLISHED || !text_equal (all.items[i].published.sha256, claim->sha256))
            continue;
        *token = all.items[i].token;
        *before = true;
    }
    return rc;
}

/* ---- bringing it in ---- */

static int copy_in (const struct carried *carried, const char *dir, struct err *err)
{
    LOCAL_FD to = open (dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return err_errno (err, ERR_IO, "cannot open %s", dir);
    int rc = copy_entries (&carried->manifest, carried->sealed, to, err);
    return rc == 0 ? 0 : err_prefix (err, "cannot fill %.300s", dir);
}

/* Seals the copy like a writer's, and checks that its manifest is the same. */
static int make_generation (const struct import_request *request, const struct carried *carried, uint64_t token,
                            struct err *err)
{
    char dir[PATH_MAX_BYTES + 64];
    LOCAL_ARENA arena = { 0 };
    struct seal seal;
    int rc = -1;
    struct cache_access write = { .role = CACHE_ROLE_WRITER,
                                  .token = token,
                                  .frontend_root = text_format (&arena, "%s/%.*s", request->root,
                                                                TEXT_ARG (request->claim->bundle)) };
    if (cache_prepare_writer (&write, dir, sizeof dir, err) == 0 && copy_in (carried, dir, err) == 0 &&
        cache_seal (&write, &seal, &arena, err) == 0) {
        rc = 0;
        if (!text_equal (seal.sha256, request->claim->sha256))
            rc = err_set (
                err, ERR_IO,
                "the generation as copied to %s differs from the exported one (sha256 %.12s, expected %.12s): "
                "does that storage keep file modes?",
                request->root, seal.sha256.ptr, request->claim->sha256.ptr);
    }
    return rc;
}

static int undo (struct catalogue *catalogue, const struct import_request *request, struct text run, uint64_t token,
                 struct err *err)
{
    struct err why = { 0 };
    struct collect_result freed;
    if (catalogue_release_lease (catalogue, token, run, true, &why) != 0 ||
        collect_generation (catalogue, request->root, request->claim->bundle, token, NULL, 0, &freed, &why) != 0)
        err_prefix (err, "(generation %" PRIu64 " was abandoned, but cannot be removed: %.120s)", token, why.text);
    return -1;
}

static int bring_in (struct catalogue *catalogue, const struct import_request *request, const struct carried *carried,
                     struct text run, uint64_t token, struct err *err)
{
    struct fact_generation generation = *request->claim;
    struct transfer_beat *beat = transfer_beat_begin (request->root, token, run, err);
    int rc = beat ? make_generation (request, carried, token, err) : -1;
    transfer_beat_end (beat);
    generation.token = token;
    if (rc == 0)
        rc = catalogue_publish (catalogue, run, &generation, err);
    return rc == 0 ? 0 : undo (catalogue, request, run, token, err);
}

static int import (struct catalogue *catalogue, const struct import_request *request, const struct carried *carried,
                   uint64_t *token, bool *before, struct err *err)
{
    char run[33];
    if (find_before (catalogue, request->claim, token, before, err) != 0 || *before)
        return *before ? 0 : -1;
    if (check_room (request->root, carried->manifest.bytes, err) != 0 ||
        random_hex (run, sizeof run - 1, "the id of this import", err) != 0 ||
        transfer_take_lease (catalogue, request->claim->bundle, text_of (run), request->log, token, err) != 0)
        return -1;
    uint64_t own = *token;
    /* The lease's last owner may have imported the same. */
    if (find_before (catalogue, request->claim, token, before, err) != 0)
        return undo (catalogue, request, text_of (run), own, err);
    if (*before)
        return undo (catalogue, request, text_of (run), own, err), 0;
    return bring_in (catalogue, request, carried, text_of (run), own, err);
}

int transfer_import (struct catalogue *catalogue, const struct import_request *request, uint64_t *token, bool *before,
                     struct err *err)
{
    struct carried carried;
    int rc = -1;
    if (catalogue_family_name_check (request->claim->bundle, err) != 0)
        return -1;
    if (open_carried (request->from, request->claim, &carried, err) == 0)
        rc = import (catalogue, request, &carried, token, before, err);
    close_carried (&carried);
    return rc;
}

/* ---- exporting ---- */

enum { NAME_BYTES = 32 }; /* of the names in a carried folder */

/* ---- what is exported is what was sealed ---- */

static int check_source (struct text bundle_root, const struct fact_generation *generation, struct arena *arena,
                         struct err *err)
{
    struct finding_list found = { 0 };
    if (audit_generation (bundle_root, generation->token, generation->sha256, AUDIT_STAT, 0, arena, &found, err) != 0)
        return -1;
    if (found.n == 0)
        return 0;
    const struct finding *first = &found.items[0];
    return err_set (err, ERR_DAMAGE,
                    "generation %" PRIu64 " was modified after it was sealed (%s: %.*s%s%.*s): nothing was exported; "
                    "sliceup cache verify lists all differences",
                    generation->token, enum_name_of (&finding_kind_names, first->kind), TEXT_ARG (first->path),
                    first->detail.len ? ": " : "", TEXT_ARG (text_clip (first->detail, 200)));
}

/* ---- files ---- */

/* EINVAL: a file system that does not buffer folders. */
static int settle_entry (int to, const struct manifest_entry *entry, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    LOCAL_FD fd = tree_open_entry (to, &entry->at, err);
    if (fd < 0)
        return -1;
    /* Folders stay writable for their owner: an exported folder must be easy to remove. */
    bool file = entry->at.kind == TREE_FILE;
    if ((file && fchmod (fd, entry->at.mode)) || (fsync (fd) && (file || errno != EINVAL)))
        return err_errno (err, ERR_IO, "cannot write the copy of \"%s\" to disk",
                          tree_print_path (entry->at.path, shown));
    return 0;
}

static int copy_all (const struct generation *from, const struct manifest *manifest, int to, struct err *err)
{
    if (copy_entries (manifest, from->fd, to, err) != 0)
        return -1;
    for (uint32_t i = 0; i < manifest->n; i++)
        if (settle_entry (to, &manifest->items[i], err) != 0)
            return -1;
    return 0;
}

static int write_files (const struct manifest *manifest, const char *part, struct text json, struct err *err)
{
    char path[PATH_MAX + NAME_BYTES];
    LOCAL_BUF bytes = { .max = MANIFEST_BYTES_MAX };
    manifest_print (manifest, &bytes); /* gives the bytes it was parsed from, since it has one spelling */
    snprintf (path, sizeof path, "%s/" TRANSFER_SEALED "/" MANIFEST_NAME, part);
    int rc = bytes.overflow ? err_set (err, ERR_LIMIT, MANIFEST_NAME " is longer than %d bytes", MANIFEST_BYTES_MAX)
                            : atomic_file_write (path, bytes.ptr, bytes.len, 0444, err);
    snprintf (path, sizeof path, "%s/" TRANSFER_JSON, part);
    return rc == 0 ? atomic_file_write (path, json.ptr, json.len, 0644, err) : rc;
}

static int transfer_export_fill (const struct generation *from, const struct manifest *manifest, const char *part,
                                 struct text json, struct err *err)
{
    char path[PATH_MAX + NAME_BYTES];
    snprintf (path, sizeof path, "%s/" TRANSFER_SEALED, part);
    if (mkdir (path, 0755) != 0)
        return err_errno (err, ERR_IO, "cannot make %s", path);
    LOCAL_FD to = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return err_errno (err, ERR_IO, "cannot open %s", path);
    int rc = copy_all (from, manifest, to, err);
    if (rc != 0 || write_files (manifest, part, json, err) != 0)
        return -1;
    return folder_sync (path, err) == 0 && folder_sync (part, err) == 0 ? 0 : -1;
}

/* ---- naming it ---- */

static int exists_already (const char *to, struct err *err)
{
    return err_set (err, ERR_STATE, "%s already exists: expected the name of a new folder", to);
}

/* Renames without replacing. EINVAL: the file system cannot do that, so the earlier check must suffice. */
static int name_it (const char *part, const char *to, struct err *err)
{
    char parent[PATH_MAX];
    int rc = renameat2 (AT_FDCWD, part, AT_FDCWD, to, RENAME_NOREPLACE);
    if (rc != 0 && errno == EINVAL)
        rc = rename (part, to);
    if (rc != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR))
        return exists_already (to, err);
    if (rc != 0)
        return err_errno (err, ERR_IO, "cannot name %s", to);
    return folder_sync (path_folder_c (to, parent), err);
}

static int begin_part (const char *to, char part[PATH_MAX], struct err *err)
{
    struct stat st;
    char digits[9];
    size_t len = strlen (to);
    if (len == 0 || len > PATH_MAX - 320 ||
        to[len - 1] == '/') /* what is added stays below that, names of entries too */
        return err_set (err, ERR_USAGE, "'%.200s' is not a name for a new folder: give a path without a '/' at its end",
                        to);
    if (lstat (to, &st) == 0)
        return exists_already (to, err);
    if (random_hex (digits, sizeof digits - 1, "the name of a folder", err) != 0)
        return -1;
    snprintf (part, PATH_MAX, "%s.part-%s", to, digits);
    return mkdir (part, 0755) == 0 ? 0 : err_errno (err, ERR_IO, "cannot make %s", part);
}

static int export(const struct generation *from, const struct manifest *manifest, const char *to, struct text json,
                  struct err *err)
{
    char part[PATH_MAX];
    struct err why = { 0 };
    if (begin_part (to, part, err) != 0)
        return -1;
    if (transfer_export_fill (from, manifest, part, json, err) == 0 && name_it (part, to, err) == 0)
        return 0;
    if (folder_remove (part, &why) != 0)
        err_prefix (err, "(%.200s stays)", part);
    return err_prefix (err, "cannot export to %.200s", to);
}

int transfer_export (const char *root, const struct fact_generation *generation, const char *to, struct text json,
                     struct err *err)
{
    LOCAL_GENERATION from = GENERATION_CLOSED;
    struct manifest manifest;
    LOCAL_ARENA arena = { 0 };
    if (catalogue_family_name_check (generation->bundle, err) != 0)
        return -1;
    struct text bundle_root = text_format (&arena, "%s/%.*s", root, TEXT_ARG (generation->bundle));
    if (check_source (bundle_root, generation, &arena, err) != 0 ||
        generation_open_root (&from, bundle_root, generation->token, false, err) != 0 ||
        generation_open (&from, err) != 0 ||
        generation_read_manifest (&from, generation->sha256, &arena, &manifest, err) != 0)
        return -1;
    return export(&from, &manifest, to, json, err);
}
