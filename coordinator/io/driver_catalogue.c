/* driver_catalogue.c - questions to the catalogue of caches, and their answers. */
#include "coordinator/io/driver_private.h"

#include <stdio.h>

#include "common/io/clock.h"

struct asked {
    struct driver *driver;
    struct catalogue **catalogue;
    enum question question;
    char root[PATH_MAX_BYTES + 1];
    struct text bundle, run;
    struct fact_generation generation;
    uint64_t token;
    struct arena arena;
    int rc;
    struct err err;
};

static void catalogue_work (void *parcel)
{
    struct asked *asked = parcel;
    asked->rc = -1;
    if (*asked->catalogue == NULL && (*asked->catalogue = catalogue_open (asked->root, &asked->err)) == NULL)
        return;
    switch (asked->question) {
    case ASK_TOKEN:
        asked->rc = catalogue_token (*asked->catalogue, asked->bundle, asked->run, &asked->token, &asked->err);
        break;
    case ASK_FIND:
        asked->rc = catalogue_find (*asked->catalogue, asked->bundle, &asked->generation, &asked->arena, &asked->err);
        break;
    case TELL_PUBLISH:
        asked->rc = catalogue_publish (*asked->catalogue, asked->run, &asked->generation, &asked->err);
        break;
    }
}

static void answer_token (struct driver *driver, struct asked *asked)
{
    struct input in = {.kind = IN_TOKEN, .token = asked->rc == 0 ? asked->token : 0, .text = text_of (asked->err.text)};
    driver_step (driver, &in);
}

static void answer_find (struct driver *driver, struct asked *asked)
{
    struct input in = { .kind = IN_CACHE_FOUND };
    if (asked->rc == 0 && asked->generation.token)
        in.generation = &asked->generation;
    if (asked->rc < 0)
        log_say (driver->options.log, "the cache catalogue cannot be read (%s): starting from an empty cache",
                 asked->err.text);
    driver_step (driver, &in);
}

static void catalogue_done (void *parcel)
{
    struct asked *asked = parcel;
    struct driver *driver = asked->driver;
    driver->now_ms = clock_boot_ms ();
    if (asked->question == ASK_TOKEN)
        answer_token (driver, asked);
    else if (asked->question == ASK_FIND)
        answer_find (driver, asked);
    else if (asked->rc < 0)
        log_say (driver->options.log, "later runs will not find this cache generation: %s", asked->err.text);
    arena_release (&asked->arena);
    mem_free (asked);
}

void driver_ask (struct driver *driver, enum question question, const struct held *held)
{
    struct asked *asked = mem_alloc (sizeof (*asked));
    asked->driver = driver;
    asked->catalogue = &driver->catalogue;
    asked->question = question;
    snprintf (asked->root, sizeof (asked->root), "%.*s", TEXT_ARG (coord_plan (driver->coord)->cache.root));
    asked->bundle = text_copy (&asked->arena, held->bytes);
    asked->run = text_copy (&asked->arena, text_of (driver->dir.id));
    record_copy (fact_body (FACT_GENERATION_PUBLISHED), &asked->generation, &held->generation, &asked->arena);
    if (errands_submit (driver->errands, catalogue_work, catalogue_done, asked))
        return;
    err_set (&asked->err, ERR_LIMIT, "too much waits for the disk");
    asked->rc = -1;
    catalogue_done (asked);
}
