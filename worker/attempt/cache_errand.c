#include "worker/attempt/cache_errand.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cache/cache.h"
#include "common/cache/owners.h"
#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "worker/attempt/verified.h"

/* The root of a cache is two folders above its bundle's: <root>/<frontend>/<bundle>. */
static int root_of (struct text frontend_root, char root[PATH_MAX_BYTES + 1], struct err *err)
{
    char *slash = NULL;
    if (!text_to_c (frontend_root, root, PATH_MAX_BYTES + 1))
        return err_set (err, ERR_REFUSED, "the path of the cache is longer than %d bytes", PATH_MAX_BYTES);
    for (int i = 0; i < 2; i++) {
        slash = strrchr (root, '/');
        if (!slash || slash == root)
            return err_set (err, ERR_REFUSED, "cache root \"%.*s\" is not an absolute path <root>/<frontend>/<bundle>",
                            TEXT_ARG (frontend_root));
        *slash = '\0';
    }
    return 0;
}

/* Each host looks for itself: it may see other owners than the coordinator does. A writer's own generation is not there
 * yet. */
static int check_owners (const struct cache_order *order, struct err *err)
{
    uint64_t given = order->role == CACHE_ROLE_WRITER ? order->base : order->token;
    return owners_check_generation (order->frontend_root, given, &order->trust, err);
}

/* A reader makes nothing: that there is no mark yet is said by an answer without one. */
static int name_storage (const struct cache_order *order, struct arena *arena, struct errand_answer *answer,
                         struct err *err)
{
    char root[PATH_MAX_BYTES + 1], id[STORAGE_ID_BYTES];
    if (root_of (order->frontend_root, root, err) || check_owners (order, err))
        return -1;
    if (storage_id (root, order->role != CACHE_ROLE_READER, id, err) == 0)
        answer->cache.storage = text_copy (arena, text_of (id));
    else if (order->role != CACHE_ROLE_READER || err->code != ERR_STATE)
        return -1;
    return 0;
}

/* A folder, in which a program's own mounts may put the generation itself. */
static int make_place (const char *path, struct err *err)
{
    struct stat st;
    /* Older workers had the link itself here; what it led to must not be written into. */
    if (lstat (path, &st) == 0 && S_ISLNK (st.st_mode) && unlink (path))
        return err_errno (err, ERR_IO, "cannot remove the link %s", path);
    return folder_make (path, 0755, err);
}

/* Which of the large entries are read cannot be foreseen by whoever changes one. */
static uint64_t draw_seed (void)
{
    uint64_t seed;
    return getrandom (&seed, sizeof seed, 0) == sizeof seed ? seed : clock_boot_ns ();
}

/* Every byte once; afterwards what is small, and a part of what is large. */
static int prepare_reader (const struct errand_place *place, const struct cache_order *order, char dir[PATH_MAX],
                           struct arena *arena, struct err *err)
{
    struct text empty = text_format (arena, "%s/empty-cache", place->directory);
    bool known = order->token && verified_before (place->directory, order);
    struct err why = { 0 };
    if (cache_prepare_reader (order, known ? AUDIT_SAMPLE : AUDIT_FULL, draw_seed (), empty.ptr, dir, PATH_MAX, err))
        return -1;
    if (order->token && !known && verified_note (place->directory, order, &why))
        fprintf (stderr, "sliceup-worker: every byte of the cache will be read again next time: %s\n", why.text);
    return 0;
}

static int prepare (const struct errand_place *place, const struct cache_order *order, char dir[PATH_MAX],
                    struct arena *arena, struct err *err)
{
    switch (order->role) {
    case CACHE_ROLE_READER:
        return prepare_reader (place, order, dir, arena, err);
    case CACHE_ROLE_WRITER:
        return cache_prepare_writer (order, dir, PATH_MAX, err);
    case CACHE_ROLE_OWN:
        return cache_prepare_own (order, place->host, dir, PATH_MAX, err);
    case CACHE_ROLE_NONE:
        break;
    }
    return err_set (err, ERR_REFUSED, "the cache order has no role");
}

static void take_findings (const struct finding_list *found, struct arena *arena, struct errand_answer *answer)
{
    answer->findings.items = found->items;
    answer->findings.n = found->n;
    if (!found->more)
        return;
    struct text *last = &found->items[found->n - 1].detail;
    *last = text_format (arena, "%.*s (and %u more differences than are listed)", TEXT_ARG (*last), found->more);
}

/* The first difference was enough to refuse it; the coordinator drops it for all of them. */
static void find_all (const struct cache_order *order, struct arena *arena, struct errand_answer *answer)
{
    struct finding_list found = { 0 };
    struct err err = { 0 };
    bool writer = order->role == CACHE_ROLE_WRITER;
    if (audit_generation (order->frontend_root, writer ? order->base : order->token, writer ? order->base_sha256 : order->sha256, AUDIT_FULL, 0, arena, &found, &err))
        fprintf (stderr, "sliceup-worker: cannot list all that is wrong with the cache: %s\n", err.text);
    else
        take_findings (&found, arena, answer);
}

static int point_at (const struct errand_place *place, const char *dir, struct arena *arena, struct err *err)
{
    struct text folder = text_format (arena, "%s/cache", place->directory);
    struct text link = text_format (arena, "%s/generation", folder.ptr);
    return make_place (folder.ptr, err) ? -1 : cache_link (link.ptr, dir, err);
}

int cache_errand_prepare (const struct errand_place *place, const struct cache_order *order, struct arena *arena,
                          struct errand_answer *answer)
{
    char dir[PATH_MAX];
    struct err err = { 0 };
    bool reader = order->role == CACHE_ROLE_READER;
    bool given = reader ? order->token != 0 : order->role == CACHE_ROLE_WRITER && order->base != 0;
    int rc = name_storage (order, arena, answer, &err);
    if (rc == 0 && (rc = prepare (place, order, dir, arena, &err)) < 0 && given
        && (err.code == ERR_DAMAGE || err.code == ERR_LIMIT))
        find_all (order, arena, answer);
    if (rc == 0)
        rc = point_at (place, dir, arena, &err);
    if (rc < 0)
        errand_fail (answer, arena, LAYER_CACHE, &err);
    if (reader && (rc < 0 || order->token))
        answer->cache_state = rc < 0 ? answer->problem : TEXT_LIT ("verified");
    return rc;
}

void cache_errand_seal (const struct cache_order *order, struct arena *arena, struct errand_answer *answer)
{
    struct err err = { 0 };
    if (cache_seal (order, &answer->seal, arena, &err) == 0)
        answer->done = true;
    else
        errand_fail (answer, arena, LAYER_CACHE, &err);
}

void cache_errand_audit (const struct cache_order *order, struct arena *arena, struct errand_answer *answer)
{
    struct err err = { 0 };
    struct finding_list found = { 0 };
    if (name_storage (order, arena, answer, &err)
        || audit_generation (order->frontend_root, order->token, order->sha256, AUDIT_SAMPLE, draw_seed (), arena,
                             &found, &err)) {
        errand_fail (answer, arena, LAYER_CACHE, &err);
        return;
    }
    take_findings (&found, arena, answer);
    answer->done = true;
}
