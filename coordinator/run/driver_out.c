/* driver_out.c - records and publishes facts, and performs effects in order. */
#include "coordinator/run/driver_private.h"

#include <stdio.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal.h"

_Static_assert((int) FACT_MAX_BYTES <= (int) JOURNAL_FACT_MAX_BYTES, "every fact must fit in the journal");
/* Effects in a pass, as many as messages may cause; after a slow disk many are ready at once. */
enum { EFFECTS_A_PASS = 8192, EFFECTS_MS = 10 };
enum { LEAVE_MS = 10000, FAREWELL_MS = 5000, FAREWELL_LOOK_MS = 100, SOFT_HELD_MAX = 1 << 16 };

/* ---- facts and effects out ---- */

static void fail_stop (struct driver *driver, const struct fact *fact)
{
    err_set (&driver->problem, ERR_LIMIT, "fact %llu (%s) is larger than a journal can record; the run stops",
             (unsigned long long) fact->index, fact_name (fact->kind));
    driver->input_closed = true;
    driver_begin_leaving (driver, 3);
}

static void driver_record (struct driver *driver, struct fact *fact)
{
    fact->wall_ms = clock_wall_ms ();
    buf_clear (&driver->frame);
    wire_put_fact (&driver->frame, fact);
    if (driver->frame.overflow || !record_check (fact_record_of_kind (fact->kind), &fact->of, NULL)) {
        fail_stop (driver, fact); /* an unreadable fact must not be recorded */
        return;
    }
    if (!fact_is_soft (fact->kind)) {
        journal_append (driver->journal, fact->index, fact->kind, fact->at_ms, fact->wall_ms,
                        buf_as_text (&driver->frame));
        driver->recorded_index = fact->index;
    }
    if (fact_is_soft (fact->kind) && driver->held.n > SOFT_HELD_MAX)
        return; /* a stalled disk must not fill memory with heartbeats; later ones inform monitors */
    struct held_effect *held = held_add (&driver->held, driver->recorded_index);
    held->kind = HELD_PUBLISH;
    held->fact = fact->kind;
    held_copy_bytes (held, buf_as_text (&driver->frame));
}

void driver_fill_envelope (struct driver *driver, uint32_t host, uint64_t session, struct msg *msg)
{
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ driver->run_raw, RUN_ID_BYTES };
    msg->epoch = coord_epoch (driver->coord);
    msg->session = session;
    msg->seq = ++driver->own_seq[host];
    msg->ack = coord_seen_seq (driver->coord, host);
    msg_set_recorded_index (msg, driver->recorded_index); /* it waits until that fact is durable */
    if (msg->kind == MSG_WELCOME)
        msg->of.welcome.wall_ms = clock_wall_ms ();
}

static void hold_frame (struct driver *driver, struct held_effect *held, const struct effect *effect)
{
    struct msg msg = *effect->msg;
    driver_fill_envelope (driver, effect->host, effect->session, &msg);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, &msg);
    if (driver->frame.len <= MSG_MAX_BYTES) {
        held_copy_bytes (held, buf_as_text (&driver->frame));
        return;
    }
    log_print (driver->options.log, "%s for host %u is larger than %d bytes and cannot be sent", msg_name (msg.kind),
               effect->host, MSG_MAX_BYTES);
    held->undeliverable = msg.kind == MSG_RUN;
    if (held->undeliverable)
        held->key = msg.of.run.key;
}

/* Copies texts for the catalogue only, because even empty copies take memory. */
static void hold_run (struct held_effect *held, const struct effect *effect)
{
    held->token = effect->token;
    held->flag = effect->flag;
    held->lease_owner = effect->lease_owner;
    held->lease_owner.run = text_copy (&held->arena, effect->lease_owner.run);
    held->storage = text_copy (&held->arena, effect->storage);
    held->covers = text_list_copy (&effect->covers, &held->arena);
    if (effect->kind == FX_CACHE_PUBLISH)
        record_copy (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &held->generation, effect->generation,
                     &held->arena);
    else
        held_copy_bytes (held, effect->text);
}

static void driver_hold (struct driver *driver, const struct effect *effect)
{
    struct held_effect *held = held_add (&driver->held, driver->recorded_index);
    held->kind = HELD_EFFECT;
    held->effect = effect->kind;
    held->host = effect->host;
    held->exit_status = effect->exit_status;
    if (effect->kind == FX_SEND)
        hold_frame (driver, held, effect);
    else
        hold_run (held, effect);
}

void driver_take_outbox (struct driver *driver)
{
    for (uint32_t i = 0; i < driver->outbox.n && !driver->input_closed; i++) {
        struct outbox_item *item = &driver->outbox.items[i];
        if (item->is_fact)
            driver_record (driver, &item->fact);
        else
            driver_hold (driver, &item->effect);
    }
    outbox_clear (&driver->outbox);
}

void driver_step (struct driver *driver, const struct core_input *in)
{
    if (driver->input_closed)
        return;
    coord_step (driver->coord, in, driver->now_ms, &driver->outbox);
    driver_take_outbox (driver);
    driver_release_held (driver);
}

/* ---- performing effects ---- */

void driver_worker_keyed (void *owner, uint32_t rank, struct text public_key)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct core_input in = { .kind = IN_WORKER_KEYED, .host = rank, .text = public_key };
    driver_step (driver, &in);
}

/* Launcher join: workers come by themselves, each with the key of its ticket. */
static void expect_ticket (struct driver *driver, uint32_t host)
{
    if (host < driver->tickets.n && driver->tickets.hosts[host][0])
        driver_worker_keyed (driver, host, text_of (driver->tickets.hosts[host]));
}

const char *driver_host_directory (const struct driver *driver, uint32_t host, char directory[RUN_PATH_BYTES])
{
    char name[HOST_NAME_MAX_BYTES + 8];
    snprintf (name, sizeof (name), "hosts/%.*s", TEXT_ARG (coord_plan (driver->coord)->hosts.items[host].name));
    return run_dir_path (&driver->dir, name, directory);
}

static void perform_launch (struct driver *driver, uint32_t host)
{
    const struct plan_host *planned = &coord_plan (driver->coord)->hosts.items[host];
    if (coord_is_cancelled (driver->coord))
        return; /* it would only be told to leave */
    if (driver->launch == NULL) {
        expect_ticket (driver, host);
        return;
    }
    char directory[RUN_PATH_BYTES];
    struct err err = { 0 };
    driver_host_directory (driver, host, directory);
    if (folder_make (directory, 0700, &err) == 0 &&
        launch_start (driver->launch, host, planned, directory, &err) == 0) {
        driver->alive[host] = true;
        return;
    }
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = host, .text = text_of (err.text) };
    driver_step (driver, &in);
}

static void perform_admit (struct driver *driver, const struct held_effect *held)
{
    struct err err = { 0 };
    if (hub_admit_worker (driver->hub, held->host, held->bytes, &err) < 0) {
        struct core_input in = { .kind = IN_WORKER_EXITED, .host = held->host, .text = text_of (err.text) };
        if (driver->launch)
            launch_kill (driver->launch, held->host);
        driver_step (driver, &in);
        return;
    }
    if (driver->launch)
        launch_note_admitted (driver->launch, held->host);
}

/* By the slice file, if that is an IP address; else where its worker came from, unless that is this machine. Behind a jump
 * host, or a ProxyCommand, nobody can be asked from here. */
static void perform_ask (struct driver *driver, uint32_t host)
{
    const struct plan *plan = coord_plan (driver->coord);
    const struct plan_host *planned = &plan->hosts.items[host];
    const struct ssh_route *way = &planned->ssh;
    bool routed = plan->launcher == LAUNCHER_SSH, behind = way->jump.len || way->command.len;
    struct text came_from = text_of (hub_worker_address (driver->hub, host));
    if (behind || (routed && reachability_ask (driver->reachability, host,
                                               way->address.len ? way->address : planned->address, way->port)))
        return;
    if (!text_starts (came_from, "127.") && !text_is (came_from, "::1"))
        (void) reachability_ask (driver->reachability, host, came_from, way->port);
}

/* A too large message would be too large again. */
static void perform_send (struct driver *driver, const struct held_effect *held)
{
    if (held->bytes.len) {
        hub_send (driver->hub, LINK_CONTROL, held->host, held->bytes.ptr, held->bytes.len);
    } else if (held->undeliverable) {
        struct core_input in = { .kind = IN_RUN_UNDELIVERABLE, .host = held->host, .key = held->key };
        in.text = text_format (&driver->arena,
                               "the message that starts it is larger than the limit of %d bytes: shorten the rung's "
                               "arguments and the profile's variables, or give the rung fewer files",
                               MSG_MAX_BYTES);
        driver_step (driver, &in);
    }
}

/* Counts workers that can still leave; lost hosts, or ones that never came, are not awaited. */
static bool workers_left (const struct driver *driver)
{
    uint64_t pid, pid_start;
    for (uint32_t i = 0; i < coord_plan (driver->coord)->hosts.n; i++)
        if (driver->alive[i] && coord_worker_process (driver->coord, i, &pid, &pid_start))
            return true;
    return false;
}

/* Remote monitors have no journal to read the end from. */
static bool monitors_wait (const struct driver *driver)
{
    return driver->monitors && !monitors_are_caught_up (driver->monitors);
}

/* Leaves once the workers are gone, too; each heartbeat tells them again. */
void driver_leave_when_alone (struct driver *driver)
{
    if (!driver->ended)
        return;
    if (!driver->input_closed && workers_left (driver) && driver->now_ms < driver->leave_by_ms)
        return;
    if (!driver->input_closed && driver->now_ms < driver->farewell_by_ms &&
        (monitors_wait (driver) || (driver->logs && log_store_awaits (driver->logs))))
        return;
    for (uint32_t i = 0; !driver->input_closed && i < coord_plan (driver->coord)->hosts.n; i++)
        if (driver->alive[i] && driver->launch)
            launch_kill (driver->launch, i);
    loop_stop (driver->loop);
}

uint64_t driver_next_leave_at_ms (const struct driver *driver)
{
    uint64_t look_ms = driver->now_ms + FAREWELL_LOOK_MS;
    return workers_left (driver) && driver->leave_by_ms > look_ms ? driver->leave_by_ms : look_ms;
}

void driver_begin_leaving (struct driver *driver, uint32_t exit_status)
{
    driver->ended = true;
    driver->exit_status = exit_status;
    driver->leave_by_ms = driver->now_ms + LEAVE_MS;
    driver->farewell_by_ms = driver->now_ms + FAREWELL_MS;
    if (driver->monitors)
        monitors_note_run_ended (driver->monitors);
    if (driver->launch)
        launch_begin_no_more (driver->launch);
    driver_leave_when_alone (driver);
}

/* Sends nothing more, because workers that know later facts must not get earlier ones. */
static void driver_lost_facts (struct driver *driver, struct text why)
{
    run_facts_set_lost_error (driver->dir.id, why, &driver->problem);
    driver->input_closed = true;
    driver_begin_leaving (driver, 5);
}

static void driver_perform (struct driver *driver, const struct held_effect *held)
{
    switch (held->effect) {
    case FX_LAUNCH: perform_launch (driver, held->host); break;
    case FX_SEND: perform_send (driver, held); break;
    case FX_ADMIT: perform_admit (driver, held); break;
    case FX_ASK_HOST: perform_ask (driver, held->host); break;
    case FX_CACHE_FIND:
    case FX_TOKEN:
    case FX_LEASE_BEAT:
    case FX_LEASE_END:
    case FX_CACHE_AUDIT:
    case FX_CACHE_DROP:
    case FX_CACHE_PUBLISH: driver_ask_catalogue (driver, held); break;
    case FX_END:
        driver_end_generation_use (driver);
        driver_begin_leaving (driver, held->exit_status);
        break;
    case FX_FACTS_LOST: driver_lost_facts (driver, held->bytes); break;
    }
}

/* Gives the local view and remote monitors the same fact at the same time. */
static void driver_publish (struct driver *driver, const struct held_effect *held)
{
    if (driver->options.watch)
        driver->options.watch (driver->options.owner, held->fact, held->bytes);
    hub_publish (driver->hub, held->bytes.ptr, held->bytes.len);
}

static bool may_perform (struct driver *driver)
{
    if (!driver->performing)
        driver->effects = work_budget_begin (EFFECTS_A_PASS, EFFECTS_MS);
    driver->performing = true;
    return work_budget_take (&driver->effects);
}

bool driver_is_out_of_budget (const struct driver *driver)
{
    return driver->performing && driver->effects.pieces == 0;
}

void driver_end_loop_iteration (struct driver *driver)
{
    driver->performing = false;
    driver->more |= held_ready (&driver->held, journal_durable_index (driver->journal)) != NULL;
}

/* Removes .unbegun before any effect of the first fact. */
static bool is_begun (struct driver *driver)
{
    if (!driver->begun && run_begun_record (&driver->dir, &driver->problem) < 0) {
        driver->input_closed = true;
        driver_begin_leaving (driver, 3);
        return false;
    }
    driver->begun = true;
    return true;
}

/* An effect may cause a step with further effects, which are queued and performed by this loop. */
void driver_release_held (struct driver *driver)
{
    if (driver->releasing)
        return; /* called from a step within an effect */
    driver->releasing = true;
    struct held_effect *held;
    while (!driver->input_closed &&
           (held = held_ready (&driver->held, journal_durable_index (driver->journal))) != NULL) {
        if (!is_begun (driver) || !may_perform (driver))
            break;
        struct held_effect taken = *held;
        held->bytes = (struct text){ 0 }; /* what it owned is taken */
        held->arena = (struct arena){ 0 };
        held_done (&driver->held);
        if (taken.kind == HELD_PUBLISH)
            driver_publish (driver, &taken);
        else
            driver_perform (driver, &taken);
        mem_free ((void *) taken.bytes.ptr);
        arena_release (&taken.arena);
    }
    driver->releasing = false;
}
