#include "coordinator/catalogue/catalogue_private.h"

#include "common/io/clock.h"
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* ---- waiting for it ---- */

/* RIVALS_MAX: imports are short and may come one after the other; after so many the import ends: somebody writes. */
enum { LOOK_MS = 500, RIVALS_MAX = 16 };

struct watch {
    struct lease_owner lease_owner;
    uint64_t since_ms;
    uint32_t rivals;
    bool told;
};

static int lives (const struct lease_owner *lease_owner, struct err *err)
{
    return err_set (err, ERR_STATE,
                    "run (or import) %.*s is writing generation %" PRIu64
                    " of this cache family: import again when it has ended",
                    TEXT_ARG (text_clip (lease_owner->run, 40)), lease_owner->token);
}

/* Another look at who has it. A beat that moved is the end of the watch; somebody else is watched anew. */
static int look (struct watch *watch, const struct lease_owner *now, const struct log *log, struct arena *arena,
                 struct err *err)
{
    uint64_t wait_ms = lease_grantor_ms (LEASE_TERM_MS) + lease_delay_ms (LEASE_TERM_MS);
    bool other = watch->lease_owner.token != now->token;
    if (other ? watch->rivals == RIVALS_MAX : watch->lease_owner.beat != now->beat)
        return lives (now, err);
    if (other) {
        *watch = (struct watch){ .lease_owner = *now, .since_ms = clock_boot_ms (), .rivals = watch->rivals + 1 };
        watch->lease_owner.run = text_copy (arena, now->run);
        log_print (log,
                   "run (or import) %.*s holds the lease to write this cache; waiting %" PRIu64
                   " s to see whether it is still alive",
                   TEXT_ARG (text_clip (now->run, 40)), (wait_ms + 999) / 1000);
    }
    watch->told = clock_boot_ms () - watch->since_ms >= wait_ms;
    if (!watch->told)
        (void) poll (NULL, 0, LOOK_MS); /* cut short by a signal: looked at sooner */
    return 0;
}

int transfer_take_lease (struct catalogue *catalogue, struct text bundle, struct text run, const struct log *log,
                         uint64_t *token, struct err *err)
{
    struct arena arena = { 0 };
    struct watch watch = { 0 };
    struct lease_owner now;
    uint64_t got = 0;
    int rc = 0;
    while (rc == 0 && !got) { /* ends: the beat moves, the lease is given up, or the watch is over and it is taken */
        rc = catalogue_acquire_lease (catalogue, bundle, run, 0, watch.told ? &watch.lease_owner : NULL, &got, &now,
                                      &arena, err);
        if (rc == 0 && !got)
            rc = look (&watch, &now, log, &arena, err);
    }
    arena_release (&arena);
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
    while (!beat->over && pthread_cond_timedwait (&beat->over_changed, &beat->lock, &until) == 0)
        continue;
    bool over = beat->over;
    pthread_mutex_unlock (&beat->lock);
    return !over;
}

/* A beat that fails, or a lease that is lost, changes nothing: what is written has a name of its own. */
static void *beats (void *owner)
{
    struct transfer_beat *beat = owner;
    bool taken;
    while (wait_one (beat))
        (void) catalogue_beat (beat->catalogue, beat->token, text_of (beat->run), &taken, NULL);
    return NULL;
}

struct transfer_beat *transfer_beat_begin (const char *root, uint64_t token, struct text run, struct err *err)
{
    struct catalogue *catalogue = catalogue_open (root, err);
    pthread_condattr_t monotonic;
    if (!catalogue)
        return NULL;
    struct transfer_beat *beat = mem_alloc (sizeof *beat);
    *beat = (struct transfer_beat){ .catalogue = catalogue, .token = token };
    snprintf (beat->run, sizeof beat->run, "%.*s", TEXT_ARG (run));
    pthread_condattr_init (&monotonic);
    pthread_condattr_setclock (&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init (&beat->lock, NULL);
    pthread_cond_init (&beat->over_changed, &monotonic);
    pthread_condattr_destroy (&monotonic);
    int why = pthread_create (&beat->thread, NULL, beats, beat);
    if (why == 0)
        return beat;
    err_set (err, ERR_IO, "cannot start the thread that renews the lease: %s", strerror (why));
    catalogue_close (catalogue);
    mem_free (beat);
    return NULL;
}

void transfer_beat_end (struct transfer_beat *beat)
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
