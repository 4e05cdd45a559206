#include "coordinator/monitor/follow.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "common/io/clock.h"
#include "common/io/loop.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"
#include "coordinator/monitor/monitors.h"

enum { FRAMES_AT_ONCE = 4096, EVENTS_MS = 50, FACTS_AT_ONCE = 4096 }; /* then drawing and key presses have their turn */
enum { LISTEN_MS = 2000 };                                            /* a place for events expires after 10 s */

/* With a monitor key. Places expire after 10 s. STALE_MS, as in spoke.c: libzmq's longest pause and a handshake. */
enum { ASK_MS = 1000, REPEAT_MS = 3000, ANSWERS_MS = 5000, STALE_MS = 12000 };
/* An answer with at least this many bytes is followed by another question at once: only a full one leaves more. A peer
 * that sends only useless data for this long is no coordinator. */
enum { TOLD_LEAST_BYTES = 4096, USELESS_MS = 10 * 1000 };

struct follow {
    bool remote;        /* with the key; otherwise the folder is used */
    struct run_dir dir; /* remote: only its id */
    follow_fact_fn *fn;
    void *owner;
    struct journal_reader *journal; /* opened when the file is there */
    struct events_client *events;
    bool opened;        /* its first fact was handed on */
    uint64_t asked_ms;  /* last; 0: ask at the next turn */
    uint64_t index;     /* of the last durable fact handed on */
    struct arena arena; /* of one fact */

    /* The rest: only remote. */
    struct monitor_key key;
    uint64_t pid;                   /* of the last coordinator, as it recorded itself */
    struct buf part;                /* of the next fact, when it comes in pieces */
    uint64_t received_ms, fresh_ms; /* fresh: of the connection */
    bool asking;                    /* an answer is awaited */
    bool behind;                    /* more facts exist than were received */
    uint32_t told_bytes;            /* of the last answer */
    uint64_t useful_ms;             /* when something useful came, or the first frame after a silence */
    bool caught_up, answered;
};

struct follow *follow_open (const struct run_dir *dir, follow_fact_fn *fn, void *owner)
{
    struct follow *follow = mem_alloc (sizeof (*follow));
    *follow = (struct follow){ .dir = *dir, .fn = fn, .owner = owner };
    return follow;
}

struct follow *follow_open_remote (const struct monitor_key *key, follow_fact_fn *fn, void *owner, struct err *err)
{
    struct follow *follow = mem_alloc (sizeof (*follow));
    *follow = (struct follow){ .remote = true, .key = *key, .fn = fn, .owner = owner, .behind = true };
    snprintf (follow->dir.id, sizeof follow->dir.id, "%s", key->run);
    follow->received_ms = follow->fresh_ms = follow->useful_ms = clock_boot_ms ();
    buf_init (&follow->part, JOURNAL_FACT_MAX_BYTES);
    follow->events = events_client_open (key->address, key->port, key->coordinator_key, &key->keys, err);
    if (follow->events)
        return follow;
    follow_close (follow);
    return NULL;
}

void follow_close (struct follow *follow)
{
    if (follow == NULL)
        return;
    if (follow->events)
        events_client_close (follow->events);
    journal_reader_close (follow->journal);
    buf_release (&follow->part);
    arena_release (&follow->arena);
    explicit_bzero (&follow->key, sizeof follow->key);
    mem_free (follow);
}

int follow_check_coordinator (const struct follow *follow, int64_t *pid, struct err *err)
{
    if (!follow->remote)
        return journal_is_locked (RUN_PATH (&follow->dir, "journal.db"), pid, err);
    if (pid)
        *pid = (int64_t) follow->pid;
    return follow->answered && clock_boot_ms () - follow->received_ms < ANSWERS_MS;
}

bool follow_has_journal (const struct follow *follow)
{
    return follow->journal != NULL || follow->caught_up;
}

bool follow_caught_up (const struct follow *follow)
{
    return !follow->remote || follow->caught_up;
}

int follow_check_begun (const struct follow *follow, struct err *err)
{
    return follow->opened ? 0 : err_set (err, ERR_STATE, "run %.8s has no facts: it was never begun", follow->dir.id);
}

static int hand_on (struct follow *follow, const struct fact *fact, struct err *err)
{
    if (follow->remote && fact->kind == FACT_RUN_OPENED && !text_is (fact->of.run_opened.run, follow->dir.id))
        return err_set (err, ERR_REFUSED, "%s, port %u, serves another run than %.8s, the run of this key",
                        follow->key.address, (unsigned) follow->key.port, follow->dir.id);
    if (!fact_is_soft (fact->kind))
        follow->index = fact->index;
    if (run_facts_check_fact (follow->dir.id, fact, err) < 0)
        return -1;
    if (fact->kind == FACT_EPOCH_BEGAN)
        follow->pid = fact->of.epoch_began.pid;
    follow->opened |= fact->kind == FACT_RUN_OPENED;
    follow->fn (follow->owner, fact);
    return 0;
}

/* ---- the journal ---- */

static int take_recorded (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct follow *follow = owner;
    struct fact fact;
    if (index <= follow->index)
        return 0; /* an event was faster */
    if (run_facts_decode (follow->dir.id, index, bytes, &follow->arena, &fact, err) != 0)
        return -1;
    return hand_on (follow, &fact, err);
}

/* New facts of the journal, a limited number at a time, so that a view does not freeze; `*more`: there are more. */
static int follow_read_journal_some (struct follow *follow, bool *more, struct err *err)
{
    char path[RUN_PATH_BYTES];
    *more = false;
    if (follow->remote)
        return follow_poll_events (follow, err);
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

/* ---- answers ---- */

static bool is_next (const struct follow *follow, const struct fact *fact)
{
    return !fact_is_soft (fact->kind) && fact->index == follow->index + 1;
}

static int take_fact_told (struct follow *follow, struct text bytes, struct err *err)
{
    struct fact fact;
    arena_reset (&follow->arena);
    if (wire_get_fact (bytes, &fact, &follow->arena, err) < 0)
        return err_prefix (
            err, "cannot read fact %" PRIu64 " of run %.8s from its coordinator (another version of sliceup?)",
            follow->index + 1, follow->dir.id);
    return is_next (follow, &fact) ? hand_on (follow, &fact, err) : 0;
}

/* Is the piece the wanted one, in order? Of a late answer it begins with what is here already, and is passed over. */
static bool is_wanted (const struct follow *follow, const struct snapshot_piece *piece)
{
    return piece->index == follow->index + 1 && piece->size_bytes > 0 && piece->size_bytes <= JOURNAL_FACT_MAX_BYTES &&
           piece->offset == follow->part.len;
}

static int take_piece (struct follow *follow, const struct snapshot_piece *piece, struct err *err)
{
    if (piece->bytes.len == piece->size_bytes)
        return take_fact_told (follow, piece->bytes, err);
    buf_add_text (&follow->part, piece->bytes);
    if (follow->part.len < piece->size_bytes)
        return 0;
    int rc = take_fact_told (follow, buf_as_text (&follow->part), err);
    buf_clear (&follow->part);
    return rc;
}

static int take_answer (struct follow *follow, struct text frame, struct err *err)
{
    struct snapshot_piece piece;
    uint32_t at = SNAPSHOT_HEAD_BYTES;
    bool last = snapshot_has_flag (frame, SNAPSHOT_LAST);
    while (snapshot_next_piece (frame, &at, &piece)) {
        if (!is_wanted (follow, &piece) || piece.bytes.len == 0)
            continue;
        follow->told_bytes += piece.bytes.len;
        follow->useful_ms = follow->received_ms;
        if (take_piece (follow, &piece, err) < 0)
            return -1;
    }
    follow->answered = true;
    if (!last)
        return 0;
    if (snapshot_has_flag (frame, SNAPSHOT_END) && follow->index > 0) /* what has begun has a first fact */
        follow->useful_ms = follow->received_ms;
    follow->asking = false;
    follow->behind = !snapshot_has_flag (frame, SNAPSHOT_END) || follow->part.len > 0;
    follow->caught_up |= !follow->behind;
    return 0;
}

/* ---- events ---- */

int follow_connect_events (struct follow *follow, struct err *err)
{
    struct run_addresses hub;
    struct link_keys keys;
    if (follow->events)
        return 0;
    if (run_addresses_load (&follow->dir, &hub, err) < 0 ||
        key_file_load (&keys, RUN_PATH (&follow->dir, "monitor.key"), err) < 0)
        return -1;
    follow->events = events_client_open (run_addresses_local (&hub), hub.events_port, hub.public_key, &keys, err);
    return follow->events ? 0 : -1;
}

bool follow_is_connected (const struct follow *follow)
{
    return follow->events != NULL;
}

void follow_wait (struct follow *follow, uint32_t most_ms)
{
    if (follow->events)
        events_client_wait (follow->events, most_ms);
    else
        (void) poll (NULL, 0, (int) most_ms);
}

static int take_event (struct follow *follow, struct text bytes, struct err *err)
{
    struct fact fact;
    arena_reset (&follow->arena);
    if (wire_get_fact (bytes, &fact, &follow->arena, NULL) < 0)
        return 0; /* of a newer version, or not a fact: the journal has the rest */
    follow->useful_ms = follow->received_ms;
    if (fact_is_soft (fact.kind))
        return follow_caught_up (follow) ? hand_on (follow, &fact, err) : 0;
    if (is_next (follow, &fact)) {
        buf_clear (&follow->part);
        return hand_on (follow, &fact, err);
    }
    if (fact.index <= follow->index)
        return 0;
    follow->behind = true;
    return follow->remote ? 0 : follow_read_journal (follow, err);
}

/* Without a connection it asks at the next call. */
static void keep_place (struct follow *follow, uint64_t now_ms)
{
    if (follow->events && now_ms - follow->asked_ms >= LISTEN_MS && events_client_ask (follow->events, "listen", 6))
        follow->asked_ms = now_ms;
}

static void ask (struct follow *follow, uint64_t now_ms)
{
    char question[QUESTION_MAX_BYTES + 1];
    struct snapshot_position position = { .index = follow->index + 1, .offset = (uint32_t) follow->part.len };
    size_t len = snapshot_write_question (&position, question);
    follow->asking = events_client_ask (follow->events, question, len);
    follow->told_bytes = 0;
    follow->asked_ms = follow->asking ? now_ms : 0; /* not connected: again at the next turn */
}

static void ask_when_due (struct follow *follow, uint64_t now_ms)
{
    bool at_once = follow->behind && follow->told_bytes >= TOLD_LEAST_BYTES;
    uint64_t wait_ms = follow->asking ? REPEAT_MS : at_once ? 0 : ASK_MS;
    if (follow->asked_ms == 0 || now_ms - follow->asked_ms >= wait_ms)
        ask (follow, now_ms);
    uint64_t since_ms = follow->received_ms > follow->fresh_ms ? follow->received_ms : follow->fresh_ms;
    if (now_ms - since_ms < STALE_MS)
        return;
    events_client_reconnect (follow->events);
    follow->fresh_ms = now_ms;
}

int follow_poll_events (struct follow *follow, struct err *err)
{
    struct text frame;
    uint64_t now_ms = clock_boot_ms ();
    struct work_budget budget = work_budget_begin (FRAMES_AT_ONCE, EVENTS_MS);
    while (follow->events && work_budget_take (&budget) && events_client_receive (follow->events, &frame)) {
        if (now_ms - follow->received_ms > ANSWERS_MS)
            follow->useful_ms = now_ms;
        follow->received_ms = now_ms;
        int rc = follow->remote && snapshot_is_answer (frame) ? take_answer (follow, frame, err)
                                                              : take_event (follow, frame, err);
        if (rc < 0)
            return -1;
        if (follow->remote && now_ms - follow->useful_ms >= USELESS_MS)
            return err_set (err, ERR_REFUSED,
                            "%s, port %u, answers, and nothing of it can be read as run %.8s: no coordinator of this "
                            "version is there. On its machine: sliceup status %.8s",
                            follow->key.address, (unsigned) follow->key.port, follow->dir.id, follow->dir.id);
    }
    if (follow->remote)
        ask_when_due (follow, now_ms);
    else
        keep_place (follow, now_ms);
    return 0;
}
