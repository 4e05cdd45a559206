#include "coordinator/monitor/follow.h"

#include <poll.h>

#include "common/io/clock.h"
#include "common/io/work_budget.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_facts.h"
#include "coordinator/monitor/events_client.h"

enum { FRAMES_AT_ONCE = 4096, EVENTS_MS = 50, FACTS_AT_ONCE = 4096 }; /* then drawing and key presses have their turn */
enum { LISTEN_MS = 2000 };                                            /* a place for events expires after 10 s */

struct follow {
    struct remote_facts *remote; /* NULL: the folder below is used */
    struct run_dir dir;
    follow_fact_fn *fn;
    void *owner;
    struct journal_reader *journal; /* opened when the file is there */
    struct events_client *events;
    bool opened;        /* its first fact was handed on */
    uint64_t asked_ms;  /* for events, last */
    uint64_t index;     /* of the last durable fact handed on */
    uint64_t pid;       /* remote: of the last coordinator, as it recorded itself */
    struct arena arena; /* of one fact */
};

struct follow *follow_open (const struct run_dir *dir, follow_fact_fn *fn, void *owner)
{
    struct follow *follow = mem_alloc (sizeof (*follow));
    *follow = (struct follow){ .dir = *dir, .fn = fn, .owner = owner };
    return follow;
}

static void take_remote (void *owner, const struct fact *fact)
{
    struct follow *follow = owner;
    if (fact->kind == FACT_EPOCH_BEGAN)
        follow->pid = fact->of.epoch_began.pid;
    follow->fn (follow->owner, fact);
}

struct follow *follow_open_remote (const struct monitor_key *key, follow_fact_fn *fn, void *owner, struct err *err)
{
    struct follow *follow = mem_alloc (sizeof (*follow));
    *follow = (struct follow){ .fn = fn, .owner = owner };
    if ((follow->remote = remote_facts_open (key, take_remote, follow, err)) != NULL)
        return follow;
    follow_close (follow);
    return NULL;
}

void follow_close (struct follow *follow)
{
    if (follow == NULL)
        return;
    remote_facts_close (follow->remote);
    if (follow->events)
        events_client_close (follow->events);
    journal_reader_close (follow->journal);
    arena_release (&follow->arena);
    mem_free (follow);
}

int follow_check_coordinator (const struct follow *follow, int64_t *pid, struct err *err)
{
    char path[RUN_PATH_BYTES];
    if (follow->remote && pid)
        *pid = (int64_t) follow->pid;
    return follow->remote ? remote_facts_answers (follow->remote)
                          : journal_is_locked (run_dir_path (&follow->dir, "journal.db", path), pid, err);
}

bool follow_has_journal (const struct follow *follow)
{
    return follow->journal != NULL || (follow->remote && remote_facts_caught_up (follow->remote));
}

/* ---- the journal ---- */

static int hand_on (struct follow *follow, const struct fact *fact, struct err *err)
{
    if (run_facts_check_fact (follow->dir.id, fact, err) != 0)
        return -1;
    follow->opened |= fact->kind == FACT_RUN_OPENED;
    follow->fn (follow->owner, fact);
    return 0;
}

static int take_recorded (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct follow *follow = owner;
    struct fact fact;
    if (index <= follow->index)
        return 0; /* an event was faster */
    if (run_facts_decode (follow->dir.id, index, bytes, &follow->arena, &fact, err) != 0)
        return -1;
    follow->index = index;
    return hand_on (follow, &fact, err);
}

/* New facts of the journal, a limited number at a time, so that a view does not freeze; `*more`: there are more. */
static int follow_read_journal_some (struct follow *follow, bool *more, struct err *err)
{
    char path[RUN_PATH_BYTES];
    *more = false;
    if (follow->remote)
        return remote_facts_poll (follow->remote, err);
    run_dir_path (&follow->dir, "journal.db", path);
    if (follow->journal == NULL) {
        if (!journal_exists (path))
            return 0;
        if ((follow->journal = journal_reader_open (path, err)) == NULL)
            return -1;
    }
    return journal_reader_read_some (follow->journal, FACTS_AT_ONCE, take_recorded, follow, more, err);
}

int follow_read_journal (struct follow *follow, struct err *err)
{
    bool more = true;
    int rc = 0;
    while (rc == 0 && more)
        rc = follow_read_journal_some (follow, &more, err);
    if (rc == 0 && !follow->remote)
        run_facts_warn (follow->dir.id);
    return rc;
}

int follow_look (struct follow *follow, int64_t *pid, bool *more, struct err *err)
{
    int held = follow_check_coordinator (follow, pid, err);
    int rc = held < 0 ? -1 : more ? follow_read_journal_some (follow, more, err) : follow_read_journal (follow, err);
    return rc < 0 ? -1 : held;
}

int follow_check_begun (const struct follow *follow, struct err *err)
{
    return follow->opened ? 0 : err_set (err, ERR_STATE, "run %.8s has no facts: it was never begun", follow->dir.id);
}

/* ---- events ---- */

int follow_connect_events (struct follow *follow, struct err *err)
{
    struct run_addresses hub;
    struct link_keys keys;
    char path[RUN_PATH_BYTES];
    if (follow->events || follow->remote)
        return 0;
    if (run_addresses_load (&follow->dir, &hub, err) < 0 ||
        key_file_load (&keys, run_dir_path (&follow->dir, "monitor.key", path), err) < 0)
        return -1;
    follow->events = events_client_open (run_addresses_local (&hub), hub.events_port, hub.public_key, &keys, err);
    return follow->events ? 0 : -1;
}

bool follow_is_connected (const struct follow *follow)
{
    return follow->remote != NULL || follow->events != NULL;
}

void follow_wait (struct follow *follow, uint32_t most_ms)
{
    if (follow->remote)
        remote_facts_wait (follow->remote, most_ms);
    else if (follow->events)
        events_client_wait (follow->events, most_ms);
    else
        (void) poll (NULL, 0, (int) most_ms);
}

static int follow_take_event (struct follow *follow, struct text bytes, struct err *err)
{
    struct fact fact;
    arena_reset (&follow->arena);
    if (wire_get_fact (bytes, &fact, &follow->arena, NULL) < 0)
        return 0; /* of a newer version, or not a fact: the journal has the rest */
    if (fact_is_soft (fact.kind) || fact.index == follow->index + 1) {
        if (!fact_is_soft (fact.kind))
            follow->index = fact.index;
        return hand_on (follow, &fact, err);
    }
    return fact.index > follow->index ? follow_read_journal (follow, err) : 0;
}

/* Without a connection it asks at the next call. */
static void keep_place (struct follow *follow)
{
    uint64_t now_ms = clock_boot_ms ();
    if (follow->events && now_ms - follow->asked_ms >= LISTEN_MS && events_client_ask (follow->events, "listen", 6))
        follow->asked_ms = now_ms;
}

bool follow_caught_up (const struct follow *follow)
{
    return follow->remote == NULL || remote_facts_caught_up (follow->remote);
}

int follow_poll_events (struct follow *follow, struct err *err)
{
    struct text bytes;
    if (follow->remote)
        return remote_facts_poll (follow->remote, err);
    struct work_budget budget = work_budget_begin (FRAMES_AT_ONCE, EVENTS_MS);
    while (follow->events && work_budget_take (&budget) && events_client_receive (follow->events, &bytes))
        if (follow_take_event (follow, bytes, err) < 0)
            return -1;
    keep_place (follow);
    return 0;
}
