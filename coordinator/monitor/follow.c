#include "coordinator/monitor/follow.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "common/io/clock.h"
#include "common/io/work_budget.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal_writer.h"
#include "coordinator/journal/run_facts.h"
#include "coordinator/monitor/events_client.h"
#include "coordinator/monitor/monitors.h"

enum { FRAMES_AT_ONCE = 4096, EVENTS_MS = 50, FACTS_AT_ONCE = 4096 }; /* then drawing and key presses have their turn */
enum { LISTEN_MS = 2000 };                                            /* a place for events expires after 10 s */

/* ---- a run on another machine ---- */

/* Places expire after 10 s. STALE_MS, as in spoke.c: libzmq's longest pause and a handshake. */
enum { ASK_MS = 1000, REPEAT_MS = 3000, ANSWERS_MS = 5000, STALE_MS = 12000 };
/* An answer with at least this many bytes is followed by another question at once: only a full one leaves more. A peer
 * that sends only useless data for this long is no coordinator. */
enum { TOLD_LEAST_BYTES = 4096, USELESS_MS = 10 * 1000 };

struct remote_facts {
    struct monitor_key key;
    struct events_client *listener;
    follow_fact_fn *fn;
    void *owner;
    uint64_t index;                           /* of the last durable fact handed on */
    struct buf part;                          /* of the next one, when it comes in pieces */
    uint64_t asked_ms, received_ms, fresh_ms; /* fresh: of the connection */
    bool asking;                              /* an answer is awaited */
    bool behind;                              /* more facts exist than were received */
    uint32_t told_bytes;                      /* of the last answer */
    uint64_t useful_ms;                       /* when something useful came, or the first frame after a silence */
    bool caught_up, answered;
    struct arena arena; /* of one fact */
};

struct remote_facts *remote_facts_open (const struct monitor_key *key, follow_fact_fn *fn, void *owner, struct err *err)
{
    struct remote_facts *remote = mem_alloc (sizeof *remote);
    *remote = (struct remote_facts){ .key = *key, .fn = fn, .owner = owner, .behind = true };
    remote->received_ms = remote->fresh_ms = remote->useful_ms = clock_boot_ms ();
    buf_init (&remote->part, JOURNAL_FACT_MAX_BYTES);
    remote->listener = events_client_open (key->address, key->port, key->coordinator_key, &key->keys, err);
    if (remote->listener)
        return remote;
    remote_facts_close (remote);
    return NULL;
}

void remote_facts_close (struct remote_facts *remote)
{
    if (!remote)
        return;
    events_client_close (remote->listener);
    buf_release (&remote->part);
    arena_release (&remote->arena);
    explicit_bzero (&remote->key, sizeof remote->key);
    mem_free (remote);
}

/* For news or a signal. */
static void remote_facts_wait (struct remote_facts *remote, uint32_t most_ms)
{
    events_client_wait (remote->listener, most_ms);
}

/* Did it answer lately? */
static bool remote_facts_answers (const struct remote_facts *remote)
{
    return remote->answered && clock_boot_ms () - remote->received_ms < ANSWERS_MS;
}

/* Did it get all facts that were recorded before it connected? */
static bool remote_facts_caught_up (const struct remote_facts *remote)
{
    return remote->caught_up;
}

/* ---- facts ---- */

static bool is_next (const struct remote_facts *remote, const struct fact *fact)
{
    return !fact_is_soft (fact->kind) && fact->index == remote->index + 1;
}

static int remote_facts_hand_on (struct remote_facts *remote, const struct fact *fact, struct err *err)
{
    if (fact->kind == FACT_RUN_OPENED && !text_is (fact->of.run_opened.run, remote->key.run))
        return err_set (err, ERR_REFUSED, "%s, port %u, serves another run than %.8s, the run of this key",
                        remote->key.address, (unsigned) remote->key.port, remote->key.run);
    if (run_facts_check_fact (remote->key.run, fact, err) < 0)
        return -1;
    if (!fact_is_soft (fact->kind))
        remote->index = fact->index;
    remote->fn (remote->owner, fact);
    return 0;
}

static int remote_facts_take_recorded (struct remote_facts *remote, struct text bytes, struct err *err)
{
    struct fact fact;
    arena_reset (&remote->arena);
    if (wire_get_fact (bytes, &fact, &remote->arena, err) < 0)
        return err_prefix (
            err, "cannot read fact %" PRIu64 " of run %.8s from its coordinator (another version of sliceup?)",
            remote->index + 1, remote->key.run);
    return is_next (remote, &fact) ? remote_facts_hand_on (remote, &fact, err) : 0;
}

/* Is the piece the wanted one, in order? Otherwise the rest of the answer is useless, and is asked for again. */
static bool remote_facts_fits (const struct remote_facts *remote, const struct snapshot_piece *piece)
{
    return piece->index == remote->index + 1 && piece->size_bytes > 0 && piece->size_bytes <= JOURNAL_FACT_MAX_BYTES &&
           (piece->offset == 0 || piece->offset == remote->part.len);
}

static int take_piece (struct remote_facts *remote, const struct snapshot_piece *piece, struct err *err)
{
    if (piece->offset == 0)
        buf_clear (&remote->part);
    if (piece->bytes.len == piece->size_bytes)
        return remote_facts_take_recorded (remote, piece->bytes, err);
    buf_add_text (&remote->part, piece->bytes);
    if (remote->part.len < piece->size_bytes)
        return 0;
    int rc = remote_facts_take_recorded (remote, buf_as_text (&remote->part), err);
    buf_clear (&remote->part);
    return rc;
}

static int remote_facts_take_answer (struct remote_facts *remote, struct text frame, struct err *err)
{
    struct snapshot_piece piece;
    uint32_t at = SNAPSHOT_HEAD_BYTES;
    bool last = snapshot_has_flag (frame, SNAPSHOT_LAST);
    while (snapshot_next_piece (frame, &at, &piece)) {
        if (!remote_facts_fits (remote, &piece) || piece.bytes.len == 0)
            continue;
        remote->told_bytes += piece.bytes.len;
        remote->useful_ms = remote->received_ms;
        if (take_piece (remote, &piece, err) < 0)
            return -1;
    }
    remote->answered = true;
    if (!last)
        return 0;
    if (snapshot_has_flag (frame, SNAPSHOT_END) && remote->index > 0) /* what has begun has a first fact */
        remote->useful_ms = remote->received_ms;
    remote->asking = false;
    remote->behind = !snapshot_has_flag (frame, SNAPSHOT_END) || remote->part.len > 0;
    remote->caught_up |= !remote->behind;
    return 0;
}

static int remote_facts_take_event (struct remote_facts *remote, struct text frame, struct err *err)
{
    struct fact fact;
    arena_reset (&remote->arena);
    if (wire_get_fact (frame, &fact, &remote->arena, NULL) < 0)
        return 0; /* of a newer version, or no fact */
    remote->useful_ms = remote->received_ms;
    if (is_next (remote, &fact)) {
        buf_clear (&remote->part);
        return remote_facts_hand_on (remote, &fact, err);
    }
    remote->behind |= !fact_is_soft (fact.kind) && fact.index > remote->index;
    return fact_is_soft (fact.kind) && remote->caught_up ? remote_facts_hand_on (remote, &fact, err) : 0;
}

/* ---- asking ---- */

static void remote_facts_ask (struct remote_facts *remote, uint64_t now_ms)
{
    char question[QUESTION_MAX_BYTES + 1];
    struct snapshot_position position = { .index = remote->index + 1, .offset = (uint32_t) remote->part.len };
    size_t len = snapshot_write_question (&position, question);
    remote->asking = events_client_ask (remote->listener, question, len);
    remote->told_bytes = 0;
    remote->asked_ms = remote->asking ? now_ms : 0; /* not connected: again at the next turn */
}

static void ask_when_due (struct remote_facts *remote, uint64_t now_ms)
{
    bool at_once = remote->behind && remote->told_bytes >= TOLD_LEAST_BYTES;
    uint64_t wait_ms = remote->asking ? REPEAT_MS : at_once ? 0 : ASK_MS;
    if (remote->asked_ms == 0 || now_ms - remote->asked_ms >= wait_ms)
        remote_facts_ask (remote, now_ms);
    uint64_t since_ms = remote->received_ms > remote->fresh_ms ? remote->received_ms : remote->fresh_ms;
    if (now_ms - since_ms < STALE_MS)
        return;
    events_client_reconnect (remote->listener);
    remote->fresh_ms = now_ms;
}

int remote_facts_poll (struct remote_facts *remote, struct err *err)
{
    struct text frame;
    uint64_t now_ms = clock_boot_ms ();
    struct work_budget budget = work_budget_begin (FRAMES_AT_ONCE, EVENTS_MS);
    while (work_budget_take (&budget) && events_client_receive (remote->listener, &frame)) {
        if (now_ms - remote->received_ms > ANSWERS_MS)
            remote->useful_ms = now_ms;
        remote->received_ms = now_ms;
        int rc = snapshot_is_answer (frame) ? remote_facts_take_answer (remote, frame, err)
                                            : remote_facts_take_event (remote, frame, err);
        if (rc < 0)
            return -1;
        if (now_ms - remote->useful_ms >= USELESS_MS)
            return err_set (err, ERR_REFUSED,
                            "%s, port %u, answers, and nothing of it can be read as run %.8s: no coordinator of this "
                            "version is there. On its machine: sliceup status %.8s",
                            remote->key.address, (unsigned) remote->key.port, remote->key.run, remote->key.run);
    }
    ask_when_due (remote, now_ms);
    return 0;
}

/* ---- a run, wherever it is ---- */

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
