/* driver_catalogue.c - questions to the catalogue of caches, and their answers. */
#include "coordinator/run/driver_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cache/storage.h"
#include "common/io/clock.h"
#include "coordinator/catalogue/catalogue.h"

enum { FINDS_MAX = 4 };

struct asked {
    struct driver *driver;
    struct catalogue **catalogue;
    enum effect_kind what;
    char root[PATH_MAX_BYTES + 1];
    struct text bundle, run, why, storage; /* in `arena` */
    uid_list trust;                        /* of the plan */
    struct generation_user user;
    struct lease_owner over, lease_owner;
    struct fact_generation generation;
    text_list covers; /* in `arena` */
    uint64_t token;
    bool abandoned, taken, over_all;
    struct err refused; /* what was found, for its owner */
    int looked;         /* TOKEN: what look_over came to */
    struct cache_root_finding *findings;
    uint32_t findings_n;
    struct arena arena;
    int rc;
    struct err err;
};

/* ---- on the task thread ---- */

static int check_owners (struct asked *asked, uint64_t token)
{
    struct text bundle_root = text_format (&asked->arena, "%s/%.*s", asked->root, TEXT_ARG (asked->bundle));
    return owners_check_entries (bundle_root, token, &asked->trust, &asked->err);
}

/* Records the use, so that nobody collects it. If it was just collected, takes an older one, or none. */
static int driver_catalogue_find (struct asked *asked)
{
    struct catalogue *catalogue = *asked->catalogue;
    int rc = 0;
    for (int i = 0; i < FINDS_MAX; i++) {
        rc = catalogue_find_newest (catalogue, asked->bundle, &asked->generation, &asked->arena, &asked->err);
        if (rc < 0 || !asked->generation.token)
            return rc;
        if (check_owners (asked, asked->generation.token) < 0) {
            asked->generation = (struct fact_generation){ 0 };
            return -1;
        }
        rc = catalogue_use_generation (catalogue, &asked->generation, &asked->covers, &asked->user, &asked->err);
        if (rc == 0 || asked->err.code != ERR_STATE)
            return rc;
    }
    asked->generation = (struct fact_generation){ 0 };
    return rc;
}

static int driver_catalogue_publish (struct asked *asked)
{
    struct catalogue *catalogue = *asked->catalogue;
    int rc = catalogue_publish (catalogue, asked->run, &asked->generation, &asked->err);
    return rc == 0 ? catalogue_use_generation (catalogue, &asked->generation, &asked->covers, &asked->user, &asked->err)
                   : rc;
}

/* If this machine sees another storage than the hosts, it audits nothing. */
static int driver_catalogue_look_over (struct asked *asked)
{
    char id[STORAGE_ID_BYTES] = "";
    struct err unmarked = { 0 };
    if (asked->refused.code) { /* owned by others: not used, and nothing is quarantined */
        asked->err = asked->refused;
        return -1;
    }
    if (storage_id (asked->root, false, id, &unmarked) < 0 && (asked->storage.len || unmarked.code != ERR_STATE)) {
        asked->err = unmarked;
        return -1;
    }
    if (asked->storage.len && !text_is (asked->storage, id))
        return err_set (&asked->err, ERR_STATE, "this machine and the hosts see different storages under %s",
                        asked->root);
    return catalogue_audit_generations (*asked->catalogue, asked->bundle, &asked->arena, &asked->findings,
                                        &asked->findings_n, &asked->err);
}

/* Call it before a generation is written beside it, or copied from it. */
static int check_newest (struct asked *asked)
{
    struct fact_generation newest = { 0 };
    if (catalogue_find_newest (*asked->catalogue, asked->bundle, &newest, &asked->arena, &asked->err) < 0)
        return -1;
    return check_owners (asked, newest.token);
}

static int transfer_out (struct asked *asked)
{
    struct catalogue *catalogue = *asked->catalogue;
    if (asked->over_all)
        return catalogue_unuse_all (catalogue, asked->run, &asked->err);
    switch (asked->what) {
    case FX_TOKEN: {
        uint64_t above = asked->token;
        if (check_newest (asked) < 0)
            return -1;
        int rc = catalogue_acquire_lease (catalogue, asked->bundle, asked->run, above,
                                          asked->over.token ? &asked->over : NULL, &asked->token, &asked->lease_owner,
                                          &asked->arena, &asked->err);
        /* Audits an abandoned generation at once, so that every later change is a late write. */
        asked->looked = rc == 0 && asked->token ? driver_catalogue_look_over (asked) : 0;
        return rc;
    }
    case FX_LEASE_BEAT: return catalogue_beat (catalogue, asked->token, asked->run, &asked->taken, &asked->err);
    case FX_LEASE_END:
        return catalogue_release_lease (catalogue, asked->token, asked->run, asked->abandoned, &asked->err);
    case FX_CACHE_AUDIT: return driver_catalogue_look_over (asked);
    case FX_CACHE_DROP: return catalogue_quarantine (catalogue, asked->token, asked->run, asked->why, &asked->err);
    case FX_CACHE_PUBLISH: return driver_catalogue_publish (asked);
    default: return driver_catalogue_find (asked);
    }
}

static void catalogue_work (void *job)
{
    struct asked *asked = job;
    asked->rc = -1;
    if (asked->over_all && *asked->catalogue == NULL)
        return;
    if (*asked->catalogue == NULL && (owners_check_root (asked->root, &asked->trust, &asked->err) < 0 ||
                                      (*asked->catalogue = catalogue_open (asked->root, &asked->err)) == NULL))
        return;
    asked->rc = transfer_out (asked);
}

/* ---- the answers ---- */

static void answer_audit (struct driver *driver, struct asked *asked)
{
    struct core_input in = { .kind = IN_CACHE_AUDITED,
                             .findings = asked->findings,
                             .findings_n = asked->findings_n,
                             .text = text_of (asked->err.text) };
    if (asked->rc < 0)
        log_print (driver->options.log, "the cache root was not audited: %s", asked->err.text);
    driver_step (driver, &in);
}

static void answer_token (struct driver *driver, struct asked *asked)
{
    struct core_input in = { .kind = IN_TOKEN, .text = text_of (asked->err.text) };
    if (asked->rc == 0) {
        in.token = asked->token;
        in.lease_owner = asked->lease_owner;
    }
    if (asked->rc == 0 && !asked->token && asked->lease_owner.token != driver->lease_owner_token)
        log_print (driver->options.log, "waiting for run %.*s, which is writing this cache (generation %" PRIu64 ")",
                   TEXT_ARG (asked->lease_owner.run), asked->lease_owner.token);
    driver->lease_owner_token = asked->token ? 0 : asked->lease_owner.token;
    driver_step (driver, &in);
    if (asked->rc == 0 && asked->looked < 0)
        log_print (driver->options.log, "the cache root was not audited: %s", asked->err.text);
    if (asked->findings_n)
        answer_audit (driver, asked);
}

static void answer_find (struct driver *driver, struct asked *asked)
{
    struct core_input in = { .kind = IN_CACHE_FOUND };
    if (asked->generation.token)
        in.generation = &asked->generation;
    if (asked->rc < 0 && asked->err.code == ERR_REFUSED)
        driver->not_ours = asked->err;
    if (asked->rc < 0) {
        log_print (driver->options.log, "cannot read or update the cache catalogue: %s", asked->err.text);
        in.text = text_of (asked->err.text);
    }
    driver_step (driver, &in);
}

static void answer_beat (struct driver *driver, struct asked *asked)
{
    if (asked->rc < 0)
        log_print (driver->options.log, "cannot raise the beat of this run's lease in the cache catalogue: %s",
                   asked->err.text);
    struct core_input in = { .kind = IN_LEASE_TAKEN, .token = asked->token };
    if (asked->rc == 0 && asked->taken)
        driver_step (driver, &in);
}

static void driver_catalogue_answer (struct driver *driver, struct asked *asked)
{
    switch (asked->what) {
    case FX_TOKEN: answer_token (driver, asked); break;
    case FX_CACHE_FIND: answer_find (driver, asked); break;
    case FX_CACHE_AUDIT: answer_audit (driver, asked); break;
    case FX_LEASE_BEAT: answer_beat (driver, asked); break;
    case FX_CACHE_PUBLISH:
        if (asked->rc < 0)
            log_print (driver->options.log, "cannot publish this cache generation, so later runs will not find it: %s",
                       asked->err.text);
        break;
    default:
        if (asked->rc < 0)
            log_print (driver->options.log, "cannot update the cache catalogue: %s", asked->err.text);
        break;
    }
}

static void catalogue_done (void *job)
{
    LOCAL_MEM struct asked *asked = job;
    struct driver *driver = asked->driver;
    driver->now_ms = clock_boot_ms ();
    if (!asked->over_all)
        driver_catalogue_answer (driver, asked);
    arena_release (&asked->arena);
}

/* ---- asking ---- */

static struct asked *driver_catalogue_begin (struct driver *driver, enum effect_kind what)
{
    struct asked *asked = mem_alloc (sizeof (*asked));
    char machine[NAME_MAX_BYTES + 1] = "";
    asked->driver = driver;
    asked->catalogue = &driver->catalogue;
    asked->what = what;
    asked->refused = driver->not_ours;
    snprintf (asked->root, sizeof (asked->root), "%.*s", TEXT_ARG (coord_plan (driver->coord)->cache.root));
    asked->run = text_copy (&asked->arena, text_of (driver->dir.id));
    asked->trust = coord_plan (driver->coord)->cache.trust; /* the plan outlives every task */
    if (gethostname (machine, NAME_MAX_BYTES) < 0)
        snprintf (machine, sizeof (machine), "unknown");
    asked->user = (struct generation_user){ .run = asked->run,
                                            .home = text_copy (&asked->arena, coord_plan (driver->coord)->home),
                                            .machine = text_copy (&asked->arena, text_of (machine)) };
    return asked;
}

static void submit (struct driver *driver, struct asked *asked)
{
    if (workqueue_submit (driver->workqueue, catalogue_work, catalogue_done, asked))
        return;
    err_set (&asked->err, ERR_LIMIT, "too many operations wait for this machine's disk");
    asked->rc = -1;
    catalogue_done (asked);
}

void driver_ask_catalogue (struct driver *driver, const struct held_effect *held)
{
    struct asked *asked = driver_catalogue_begin (driver, held->effect);
    asked->bundle = asked->why = text_copy (&asked->arena, held->bytes);
    asked->storage = text_copy (&asked->arena, held->storage);
    asked->token = held->token;
    asked->abandoned = held->flag;
    asked->over = held->lease_owner;
    asked->over.run = text_copy (&asked->arena, held->lease_owner.run);
    record_copy (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &asked->generation, &held->generation, &asked->arena);
    asked->covers = text_list_copy (&held->covers, &asked->arena);
    submit (driver, asked);
}

void driver_end_generation_use (struct driver *driver)
{
    struct asked *asked = driver_catalogue_begin (driver, FX_END);
    asked->over_all = true;
    submit (driver, asked);
}
