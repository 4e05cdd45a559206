#include "worker/attempt/task.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include "worker/facts/host_fact_list.h"
#include <poll.h>

/* ---- who asks for a device ---- */

static bool is_device_backend (struct text backend)
{
    return backend.len && !text_is (backend, "cpu") && !text_is (backend, "none");
}

bool device_is_wanted (const struct msg_run *run)
{
    const struct rung *rung = &run->rung;
    bool runs = rung->kind == PROGRAM_CANARY || rung->kind == PROGRAM_COMMAND ||
                (rung_is_builtin (rung, "probe") && rung_makes_client (rung));
    return runs && !(run->rung.warm == WARM_AOT && run->key.pass == PASS_COLD) &&
           is_device_backend (rung->backend.len ? rung->backend : run->profile.backend);
}

/* ---- waiting ---- */

static struct text still_held (const struct device_users *device_users, uint64_t waited_ms, struct arena *arena)
{
    struct text who = device_users_sentence (device_users, arena);
    char waited[DURATION_TEXT_BYTES];
    return text_format (arena, "%.*s; waited %s for it (limits.device_wait, at most half of the rung's timeout)",
                        TEXT_ARG (who), duration_print (waited_ms, waited));
}

static struct text got_free (const struct device_users *held, uint64_t waited_ms, struct arena *arena)
{
    const struct device_user *first = &held->items[0];
    char waited[DURATION_TEXT_BYTES];
    return text_format (arena, "%.*s was held by %u %.*s for %s before this program could start",
                        TEXT_ARG (first->device), first->pid, TEXT_ARG (first->command),
                        duration_print (waited_ms, waited));
}

int device_wait (const struct host_fact_roots *roots, uint64_t limit_ms, struct arena *arena, struct text *waited,
                 struct text *why)
{
    uint64_t began_ms = clock_boot_ms ();
    struct device_users seen, held = { 0 };
    *waited = *why = (struct text){ 0 };
    for (;;) {
        LOCAL_ARENA look = { 0 };
        device_users_find (roots, DEVICE_USERS_OF_EXCLUSIVE, DEVICE_SEARCH_MS, held.n ? &look : arena, &seen);
        uint64_t passed_ms = clock_boot_ms () - began_ms;
        if (!held.n)
            held = seen; /* the first seen holder is the one it waited for */
        if (!seen.n && held.n)
            *waited = got_free (&held, passed_ms, arena);
        else if (seen.n && passed_ms >= limit_ms)
            *why = still_held (&seen, passed_ms, arena);
        if (!seen.n || why->len)
            return why->len ? -1 : 0;
        uint64_t left_ms = limit_ms - passed_ms;
        (void) poll (NULL, 0, left_ms < DEVICE_LOOK_MS ? (int) left_ms : DEVICE_LOOK_MS);
    }
}
