#include "worker/standin/executable.h"

#include "worker/standin/client.h"
#include "worker/standin/launch.h"
#include "worker/standin/real.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- which of its devices are ours ---- */

enum { LISTS_MAX = 256 };

/* jax keeps what it is given as long as the executable lives, and programs on the same devices have equal lists: each is
 * kept once, for good. */
static const void *kept (const void *bytes, size_t size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        void *bytes;
        size_t size;
    } lists[LISTS_MAX];
    size_t i = 0;
    (void) pthread_mutex_lock (&lock);
    while (i < LISTS_MAX && lists[i].bytes && (lists[i].size != size || memcmp (lists[i].bytes, bytes, size) != 0))
        i++;
    if (i < LISTS_MAX && !lists[i].bytes && (lists[i].bytes = malloc (size + 1))) {
        memcpy (lists[i].bytes, bytes, size);
        lists[i].size = size;
    }
    const void *found = i < LISTS_MAX ? lists[i].bytes : NULL;
    (void) pthread_mutex_unlock (&lock);
    return found;
}

static void *too_many (void)
{
    struct refusal refusal;
    refuse (&refusal, PJRT_RESOURCE_EXHAUSTED, "the stand-in knows at most %d sets of devices", LISTS_MAX);
    return refusal_error (&refusal);
}

static void *devices_of (void *executable, struct pjrt_list_args *list)
{
    *list = (struct pjrt_list_args) PJRT_ARGS (struct pjrt_list_args, items_n);
    list->object = executable;
    return real_call (PJRT_LOADED_ADDRESSABLE_DEVICES, list);
}

void *executable_addressable_devices (struct pjrt_list_args *args)
{
    void *own[GRID_DEVICES_MAX];
    size_t n = 0;
    struct pjrt_list_args all;
    void *error = devices_of (args->object, &all);
    for (size_t i = 0; !error && i < all.items_n; i++)
        if (n < GRID_DEVICES_MAX && client_owns (client_device_number (all.items[i])))
            own[n++] = all.items[i];
    if (error)
        return error;
    args->items = kept (own, n * sizeof own[0]);
    args->items_n = n;
    return args->items ? NULL : too_many ();
}

void *executable_logical_ids (struct pjrt_logical_ids_args *args)
{
    struct pjrt_logical_id own[GRID_DEVICES_MAX];
    size_t n = 0;
    struct pjrt_list_args all;
    void *error = real_call (PJRT_LOADED_ADDRESSABLE_LOGICAL_IDS, args);
    if (!error)
        error = devices_of (args->object, &all);
    for (size_t i = 0; !error && i < args->ids_n && i < all.items_n; i++)
        if (n < GRID_DEVICES_MAX && client_owns (client_device_number (all.items[i])))
            own[n++] = args->ids[i];
    if (error)
        return error;
    args->ids = kept (own, n * sizeof own[0]);
    args->ids_n = n;
    return args->ids ? NULL : too_many ();
}

/* ---- executing it ---- */

/* One launch at a time: every process sees them in one order. */
static pthread_mutex_t launching = PTHREAD_MUTEX_INITIALIZER;

void *executable_execute (struct pjrt_execute *args)
{
    struct pjrt_list_args all;
    void *error = args->device ? NULL : devices_of (args->executable, &all);
    if (args->device || error)
        return error ? error : real_call (PJRT_LOADED_EXECUTE, args);
    size_t own = 0;
    for (size_t i = 0; i < all.items_n; i++)
        own += client_owns (client_device_number (all.items[i]));
    if (own == 0)
        return NULL; /* jax asks all processes, also those that have no part in it */
    if (own == all.items_n)
        return real_call (PJRT_LOADED_EXECUTE, args);
    (void) pthread_mutex_lock (&launching);
    error = launch_run (args, all.items, all.items_n);
    (void) pthread_mutex_unlock (&launching);
    return error;
}
