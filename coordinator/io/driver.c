#include "coordinator/io/driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/io/catalogue.h"
#include "coordinator/io/errand.h"
#include "coordinator/io/held.h"
#include "coordinator/io/journal.h"
#include "coordinator/io/kit_store.h"
#include "coordinator/io/launch.h"
#include "coordinator/io/log_store.h"
#include "coordinator/io/monitors.h"
#include "coordinator/io/ticket.h"

enum { FACT_BYTES_MAX = 16 << 20, LEAVE_MS = 10000, CONTROL_A_PASS = 1024, BULK_A_PASS = 64, SOFT_HELD_MAX = 1 << 16 };

struct driver {
    struct driver_options options;
    struct run_dir dir;
    struct loop *loop;
    struct coord *coord;
    struct outbox outbox;
    struct held_queue held;
    struct journal *journal;
    struct hub *hub;
    struct launch *launch;
    struct ticket_keys tickets;     /* launcher join: who may come */
    struct monitors *monitors;
    struct errands *errands, *log_errands;  /* apart: logs must not delay a token */
    struct catalogue *catalogue;    /* used on the errand thread only, once it is open */
    struct log_store *logs;
    struct kit_store *kits;
    uint64_t *own_seq;              /* per host: of the last frame written to it */
    struct arena arena;             /* of the message being taken */
    struct buf frame;               /* of the message or fact being written */
    char run_raw[RUN_ID_BYTES];
    uint64_t recorded_index;        /* the last fact given to the journal */
    uint64_t now_ms;                /* of this pass */
    uint64_t *refused;              /* per host: frames that could not be read */
    bool *alive;                    /* per host: a worker process of ours runs */
    uint64_t leave_by_ms;           /* once ended: how long its workers may take to go */
    bool releasing;
    bool more;                      /* frames were left for the next pass */
    bool deaf;                      /* level 3, or the journal failed: nothing more is taken or said */
    bool ended;
    uint32_t exit_status;
    struct err problem;
};

/* A ticket names a fixed port. Without one, whoever opened this driver says who may come (driver_key). */
static bool by_ticket (const struct plan *plan)
{
    return plan->launcher == LAUNCHER_JOIN && plan->start.control_port != 0;
}

/* ---- facts and effects out ---- */

static void perform_end (struct driver *driver, uint32_t exit_status);

static void fail_stop (struct driver *driver, const struct fact *fact)
{
    err_set (&driver->problem, ERR_LIMIT, "fact %llu, %s, is out of its own bounds and cannot be recorded; the run stops here",
             (unsigned long long) fact->index, fact_name (fact->kind));
    driver->deaf = true;
    perform_end (driver, 3);
}

static void driver_record (struct driver *driver, struct fact *fact)
{
    fact->wall_ms = clock_wall_ms ();
    if (driver->options.watch)
        driver->options.watch (driver->options.owner, fact);
    buf_clear (&driver->frame);
    wire_put_fact (&driver->frame, fact);
    if (driver->frame.overflow || !record_check (fact_body (fact->kind), &fact->of, NULL)) {
        fail_stop (driver, fact); /* what could not be read back must not be relied on */
        return;
    }
    if (!fact_is_soft (fact->kind)) {
        journal_append (driver->journal, fact->index, fact->kind, fact->at_ms, fact->wall_ms, buf_as_text (&driver->frame));
        driver->recorded_index = fact->index;
    }
    if (fact_is_soft (fact->kind) && driver->held.n > SOFT_HELD_MAX)
        return; /* a disk that stalls must not fill memory with heartbeats; monitors learn from the next ones */
    struct held *held = held_add (&driver->held, driver->recorded_index);
    held->kind = HELD_PUBLISH;
    held_own (held, buf_as_text (&driver->frame));
}

static void driver_address (struct driver *driver, uint32_t host, uint64_t session, struct msg *msg)
{
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text) { driver->run_raw, RUN_ID_BYTES };
    msg->epoch = coord_epoch (driver->coord);
    msg->session = session;
    msg->seq = ++driver->own_seq[host];
    msg->ack = coord_seen_seq (driver->coord, host);
}

static void hold_frame (struct driver *driver, struct held *held, const struct effect *effect)
{
    struct msg msg = *effect->msg;
    driver_address (driver, effect->host, effect->session, &msg);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, &msg);
    if (driver->frame.len > MSG_MAX_BYTES)
        log_say (driver->options.log, "%s for host %u is larger than %d bytes and cannot be sent", msg_name (msg.kind), effect->host,
                 MSG_MAX_BYTES);
    held_own (held, driver->frame.len > MSG_MAX_BYTES ? (struct text) { 0 } : buf_as_text (&driver->frame));
}

static void driver_hold (struct driver *driver, const struct effect *effect)
{
    struct held *held = held_add (&driver->held, driver->recorded_index);
    held->kind = HELD_EFFECT;
    held->effect = effect->kind;
    held->host = effect->host;
    held->exit_status = effect->exit_status;
    if (effect->kind == FX_SEND)
        hold_frame (driver, held, effect);
    else if (effect->kind == FX_CACHE_PUBLISH)
        record_copy (fact_body (FACT_GENERATION_PUBLISHED), &held->generation, effect->generation, &held->arena);
    else
        held_own (held, effect->text);
}

static void driver_take_outbox (struct driver *driver)
{
    for (uint32_t i = 0; i < driver->outbox.n && !driver->deaf; i++) {
        struct outbox_item *item = &driver->outbox.items[i];
        if (item->is_fact)
            driver_record (driver, &item->fact);
        else
            driver_hold (driver, &item->effect);
    }
    outbox_clear (&driver->outbox);
}

static void driver_release_held (struct driver *driver);

static void driver_step (struct driver *driver, const struct input *in)
{
    if (driver->deaf)
        return;
    coord_step (driver->coord, in, driver->now_ms, &driver->outbox);
    driver_take_outbox (driver);
    driver_release_held (driver);
}

/* ---- errands: the catalogue waits for its disk on another thread ---- */

enum question { ASK_TOKEN, ASK_FIND, TELL_PUBLISH };
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
    case ASK_TOKEN: asked->rc = catalogue_token (*asked->catalogue, asked->bundle, asked->run, &asked->token, &asked->err); break;
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
    struct input in = { .kind = IN_TOKEN, .token = asked->rc == 0 ? asked->token : 0, .text = text_of (asked->err.text) };
    driver_step (driver, &in);
}

static void answer_find (struct driver *driver, struct asked *asked)
{
    struct input in = { .kind = IN_CACHE_FOUND };
    if (asked->rc == 0 && asked->generation.token)
        in.generation = &asked->generation;
    if (asked->rc < 0)
        log_say (driver->options.log, "the cache catalogue cannot be read (%s): starting from an empty cache", asked->err.text);
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

static void driver_ask (struct driver *driver, enum question question, const struct held *held)
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

/* ---- performing effects ---- */

static void worker_keyed (void *owner, uint32_t rank, struct text public_key);

/* Launcher join: workers come by themselves, each with the key of its ticket. */
static void expect_ticket (struct driver *driver, uint32_t host)
{
    if (host < driver->tickets.n && driver->tickets.hosts[host][0])
        worker_keyed (driver, host, text_of (driver->tickets.hosts[host]));
}

static void perform_launch (struct driver *driver, uint32_t host)
{
    const struct plan_host *planned = &coord_plan (driver->coord)->hosts.items[host];
    if (driver->launch == NULL) {
        expect_ticket (driver, host);
        return;
    }
    char directory[RUN_PATH_BYTES], name[HOST_NAME_MAX_BYTES + 8];
    struct err err = { 0 };
    snprintf (name, sizeof (name), "hosts/%.*s", TEXT_ARG (planned->name));
    run_dir_path (&driver->dir, name, directory);
    if (folder_make (directory, 0700, &err) == 0 && launch_start (driver->launch, host, planned, directory, &err) == 0) {
        driver->alive[host] = true;
        return;
    }
    struct input in = { .kind = IN_WORKER_EXITED, .host = host, .text = text_of (err.text) };
    driver_step (driver, &in);
}

static void perform_admit (struct driver *driver, const struct held *held)
{
    struct err err = { 0 };
    if (hub_admit (driver->hub, held->host, held->bytes, &err) < 0) {
        log_say (driver->options.log, "%s", err.text);
        return;
    }
    if (driver->launch)
        launch_admitted (driver->launch, held->host);
}

/* Those that can still say goodbye: a host that was lost, or never came, is not waited for. */
static bool workers_left (const struct driver *driver)
{
    uint64_t pid, pid_start;
    for (uint32_t i = 0; i < coord_plan (driver->coord)->hosts.n; i++)
        if (driver->alive[i] && coord_worker (driver->coord, i, &pid, &pid_start))
            return true;
    return false;
}

/* The run is over when its workers are gone as well; they were told, and are told again with each of their heartbeats. */
static void leave_when_alone (struct driver *driver)
{
    if (!driver->ended)
        return;
    if (!driver->deaf && workers_left (driver) && driver->now_ms < driver->leave_by_ms)
        return;
    for (uint32_t i = 0; !driver->deaf && i < coord_plan (driver->coord)->hosts.n; i++)
        if (driver->alive[i] && driver->launch)
            launch_kill (driver->launch, i);
    loop_stop (driver->loop);
}

static void perform_end (struct driver *driver, uint32_t exit_status)
{
    driver->ended = true;
    driver->exit_status = exit_status;
    driver->leave_by_ms = driver->now_ms + LEAVE_MS;
    leave_when_alone (driver);
}

static void driver_perform (struct driver *driver, const struct held *held)
{
    switch (held->effect) {
    case FX_LAUNCH: perform_launch (driver, held->host); break;
    case FX_SEND:
        if (held->bytes.len)
            hub_send (driver->hub, LINK_CONTROL, held->host, held->bytes.ptr, held->bytes.len);
        break;
    case FX_ADMIT: perform_admit (driver, held); break;
    case FX_CACHE_FIND: driver_ask (driver, ASK_FIND, held); break;
    case FX_TOKEN: driver_ask (driver, ASK_TOKEN, held); break;
    case FX_CACHE_PUBLISH: driver_ask (driver, TELL_PUBLISH, held); break;
    case FX_END: perform_end (driver, held->exit_status); break;
    }
}

/* An effect may lead to a step, and that to further effects: they queue behind, and this loop goes on to them. */
static void driver_release_held (struct driver *driver)
{
    if (driver->releasing)
        return; /* a step from inside an effect queues behind it */
    driver->releasing = true;
    struct held *held;
    while (!driver->deaf && (held = held_ready (&driver->held, journal_durable (driver->journal))) != NULL) {
        struct held taken = *held;
        *held = (struct held) { 0 };
        held_done (&driver->held);
        if (taken.kind == HELD_PUBLISH)
            hub_publish (driver->hub, taken.bytes.ptr, taken.bytes.len);
        else
            driver_perform (driver, &taken);
        mem_free ((void *) taken.bytes.ptr);
        arena_release (&taken.arena);
    }
    driver->releasing = false;
}

/* ---- what comes in ---- */

static void refuse_version (struct driver *driver, uint32_t host, const struct msg *msg)
{
    struct text theirs = msg->of.hello.version;
    struct msg answer = { .kind = MSG_REFUSE };
    answer.of.refuse = (struct msg_refuse) {
        .why = text_format (&driver->arena, "worker build %.*s, coordinator build %s: both must be the same", TEXT_ARG (theirs),
                            driver->options.version),
        .major = PROTOCOL_MAJOR, .minor = PROTOCOL_MINOR,
    };
    driver_address (driver, host, 0, &answer);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, &answer);
    hub_send (driver->hub, LINK_CONTROL, host, driver->frame.ptr, driver->frame.len);
    struct input in = { .kind = IN_WORKER_EXITED, .host = host, .text = answer.of.refuse.why };
    driver_step (driver, &in);
}

static bool version_fits (const struct driver *driver, const struct msg *msg)
{
    return msg->kind != MSG_HELLO ||
           (msg->major == PROTOCOL_MAJOR && text_is (msg->of.hello.version, driver->options.version));
}

static void driver_message (struct driver *driver, uint32_t host, const struct msg *msg)
{
    struct input in = { .kind = IN_MSG, .host = host, .msg = msg };
    char hex[DIGEST_HEX_BYTES];
    if (msg->kind == MSG_RESULT) {
        struct digest digest;
        wire_digest (&result_record, &msg->of.result, &digest);
        in.text = text_of (digest_hex (&digest, hex));
    }
    if (coord_plan (driver->coord)->launcher != LAUNCHER_LOCAL)
        driver->alive[host] = msg->kind != MSG_BYE; /* no pid of this machine tells */
    driver_step (driver, &in);
}

/* Keys of tickets outlive runs, so a worker may come that knows of no run yet, or is still in one whose coordinator died:
 * it learns which one this is, and says HELLO for it. */
static void tell_run (struct driver *driver, uint32_t host, const struct msg *msg)
{
    if (!by_ticket (coord_plan (driver->coord)) || driver->ended)
        return;
    if (!version_fits (driver, msg)) {
        refuse_version (driver, host, msg);
        return;
    }
    struct msg answer = { .kind = MSG_REHELLO };
    driver_address (driver, host, 0, &answer);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, &answer);
    hub_send (driver->hub, LINK_CONTROL, host, driver->frame.ptr, driver->frame.len);
}

static bool take_frame (struct driver *driver, uint32_t host, struct text bytes, struct msg *msg)
{
    struct err err = { 0 };
    arena_reset (&driver->arena);
    if (wire_get_msg (bytes, msg, &driver->arena, &err) < 0) {
        struct text name = coord_plan (driver->coord)->hosts.items[host].name;
        if (driver->refused[host]++ == 0) /* the first says it; the others are many */
            log_say (driver->options.log, "%.*s sent what cannot be read, and it was refused: %s", TEXT_ARG (name), err.text);
        return false;
    }
    if (!msg_from_worker (msg->kind) || msg->run_id.len != RUN_ID_BYTES)
        return false;
    if (memcmp (msg->run_id.ptr, driver->run_raw, RUN_ID_BYTES) == 0)
        return true;
    if (msg->kind == MSG_HELLO || msg->kind == MSG_HEARTBEAT)
        tell_run (driver, host, msg);
    return false;
}

static bool speaks_for (const struct driver *driver, uint32_t host, const struct msg *msg)
{
    return msg->kind != MSG_HELLO || text_equal (msg->of.hello.host, coord_plan (driver->coord)->hosts.items[host].name);
}

static void take_control (void *owner, int fd, uint32_t events)
{
    (void) fd;
    (void) events;
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct text bytes;
    uint32_t host;
    struct msg msg;
    driver->more = false;
    for (uint32_t taken = 0; !driver->deaf && hub_receive (driver->hub, LINK_CONTROL, &host, &bytes); taken++) {
        driver->more = taken >= CONTROL_A_PASS;
        if (!take_frame (driver, host, bytes, &msg) || !speaks_for (driver, host, &msg) || msg.kind == MSG_LOG ||
            msg.kind == MSG_FETCH)
            continue;
        if (!version_fits (driver, &msg))
            refuse_version (driver, host, &msg);
        else
            driver_message (driver, host, &msg);
        if (driver->more)
            return; /* timers and logs get their turn; the next pass comes at once */
    }
}

/* What is not sent is asked for again. */
static void send_chunk (void *owner, uint32_t host, const struct msg_chunk *chunk)
{
    struct driver *driver = owner;
    struct msg msg = { .kind = MSG_CHUNK, .of.chunk = *chunk };
    driver_address (driver, host, 0, &msg);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, &msg);
    hub_send (driver->hub, LINK_BULK, host, driver->frame.ptr, driver->frame.len);
}

static void take_bulk (void *owner, int fd, uint32_t events)
{
    (void) fd;
    (void) events;
    struct driver *driver = owner;
    struct text bytes;
    uint32_t host;
    struct msg msg;
    for (uint32_t taken = 0; !driver->deaf && hub_receive (driver->hub, LINK_BULK, &host, &bytes); taken++) {
        bool good = take_frame (driver, host, bytes, &msg);
        if (good && msg.kind == MSG_LOG)
            log_store_add (driver->logs, host, &msg.of.log);
        if (good && msg.kind == MSG_FETCH)
            kit_store_ask (driver->kits, host, &msg.of.fetch);
        if (taken >= BULK_A_PASS) {
            driver->more = true;
            return; /* a storm of logs delays no heartbeat and no cancel */
        }
    }
}

static void take_durable (void *owner, int fd, uint32_t events)
{
    (void) fd;
    (void) events;
    struct driver *driver = owner;
    journal_woken (driver->journal);
    if (journal_problem (driver->journal, &driver->problem)) {
        driver->deaf = true; /* nothing that depends on an unrecorded fact may be said */
        perform_end (driver, driver->problem.code == ERR_DAMAGE ? 5 : 3);
        return;
    }
    driver->now_ms = clock_boot_ms ();
    driver_release_held (driver);
}

static void worker_keyed (void *owner, uint32_t rank, struct text public_key)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct input in = { .kind = IN_WORKER_KEYED, .host = rank, .text = public_key };
    driver_step (driver, &in);
}

static void worker_exited (void *owner, uint32_t rank, struct text why)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    driver->alive[rank] = false;
    struct input in = { .kind = IN_WORKER_EXITED, .host = rank, .text = why };
    driver_step (driver, &in);
    leave_when_alone (driver);
}

/* The end of every pass of the loop: time is an input too, and sends may have left frames to receive (ZMQ_FD is edged). */
static void each_pass (void *owner)
{
    struct driver *driver = owner;
    take_control (driver, -1, 0);
    take_bulk (driver, -1, 0);
    monitors_turn (driver->monitors);
    driver->now_ms = clock_boot_ms ();
    if (driver->now_ms >= coord_deadline_ms (driver->coord)) {
        struct input in = { .kind = IN_TICK };
        driver_step (driver, &in);
    }
    leave_when_alone (driver);
    uint64_t next_ms = driver->deaf ? UINT64_MAX : coord_deadline_ms (driver->coord);
    if (driver->more && !driver->deaf)
        next_ms = driver->now_ms;
    loop_deadline (driver->loop, driver->ended && !driver->more ? driver->leave_by_ms : next_ms);
}

/* ---- opening ---- */

static void raw_run_id (const char *hex, char raw[RUN_ID_BYTES])
{
    for (size_t i = 0; i < RUN_ID_BYTES; i++) {
        unsigned byte = 0;
        sscanf (hex + 2 * i, "%2x", &byte);
        raw[i] = (char) byte;
    }
}

static struct driver *driver_create (struct loop *loop, const struct driver_options *options)
{
    struct driver *driver = mem_alloc (sizeof (*driver));
    driver->options = *options;
    driver->dir = *options->dir;
    driver->loop = loop;
    driver->coord = coord_create ();
    driver->now_ms = clock_boot_ms ();
    outbox_init (&driver->outbox);
    buf_init (&driver->frame, FACT_BYTES_MAX);
    raw_run_id (driver->dir.id, driver->run_raw);
    return driver;
}

static int open_monitor_key (struct driver *driver, struct err *err)
{
    struct link_keys keys;
    char path[RUN_PATH_BYTES];
    run_dir_path (&driver->dir, "monitor.key", path);
    if (access (path, F_OK) != 0) {
        link_keys_make (&keys);
        if (link_keys_save (&keys, path, err) < 0)
            return -1;
    } else if (link_keys_load (&keys, path, err) < 0) {
        return -1;
    }
    return hub_admit_monitor (driver->hub, text_of (keys.public_key), err);
}

static int open_hub (struct driver *driver, const struct link_keys *keys, struct run_hub *at, struct err *err)
{
    struct hub_options options = {
        .address = at->address, .control_port = at->control_port, .bulk_port = at->bulk_port, .events_port = at->events_port,
        .keys = keys, .hosts = coord_plan (driver->coord)->hosts.n, .control_bytes_max = MSG_MAX_BYTES,
        .bulk_bytes_max = MSG_MAX_BYTES,
    };
    if ((driver->hub = hub_open (&options, err)) == NULL)
        return -1;
    at->control_port = hub_port (driver->hub, LINK_CONTROL);
    at->bulk_port = hub_port (driver->hub, LINK_BULK);
    at->events_port = hub_events_port (driver->hub);
    memcpy (at->public_key, keys->public_key, sizeof (at->public_key));
    if (run_hub_save (&driver->dir, at, err) < 0 || open_monitor_key (driver, err) < 0)
        return -1;
    if (loop_watch (driver->loop, hub_fd (driver->hub, LINK_CONTROL), EPOLLIN, take_control, driver, err) < 0)
        return -1;
    return loop_watch (driver->loop, hub_fd (driver->hub, LINK_BULK), EPOLLIN, take_bulk, driver, err);
}

static void worker_stepped (void *owner, uint32_t rank, struct text step)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct input in = { .kind = IN_WORKER_STEP, .host = rank, .text = step };
    driver_step (driver, &in);
}

static void open_launch (struct driver *driver, const struct run_hub *at)
{
    const struct plan *plan = coord_plan (driver->coord);
    if (plan->launcher == LAUNCHER_JOIN)
        return;
    char reach[NAME_MAX_BYTES + 1]; /* empty: each courier finds it */
    if (plan->launcher == LAUNCHER_LOCAL)
        snprintf (reach, sizeof (reach), "%s", at->address);
    else
        snprintf (reach, sizeof (reach), "%.*s", TEXT_ARG (plan->start.address));
    struct launch_options options = {
        .launcher = plan->launcher, .start = &plan->start, .worker_path = driver->options.worker_path,
        .courier_path = driver->options.courier_path, .bundle_path = driver->options.bundle_path, .run_id_hex = driver->dir.id,
        .hub_address = reach, .control_port = at->control_port, .bulk_port = at->bulk_port,
        .hub_public_key = at->public_key, .keyed = worker_keyed, .step = worker_stepped, .exited = worker_exited,
        .owner = driver,
    };
    driver->launch = launch_open (driver->loop, &options);
}

/* Everything that a new and a resumed run share, once the plan is known. */
static int open_rest (struct driver *driver, const struct link_keys *keys, struct run_hub *at, struct err *err)
{
    const struct plan *plan = coord_plan (driver->coord);
    driver->own_seq = mem_array (plan->hosts.n, sizeof (*driver->own_seq));
    driver->alive = mem_array (plan->hosts.n, sizeof (*driver->alive));
    driver->refused = mem_array (plan->hosts.n, sizeof (*driver->refused));
    if ((driver->errands = errands_open (driver->loop, err)) == NULL ||
        (driver->log_errands = errands_open (driver->loop, err)) == NULL)
        return -1;
    driver->logs = log_store_open (&driver->dir, plan, driver->log_errands);
    if ((driver->kits = kit_store_open (driver->loop, plan, send_chunk, driver, err)) == NULL)
        return -1;
    if (loop_watch (driver->loop, journal_fd (driver->journal), EPOLLIN, take_durable, driver, err) < 0)
        return -1;
    if (open_hub (driver, keys, at, err) < 0)
        return -1;
    open_launch (driver, at);
    driver->monitors = monitors_open (driver->loop, &driver->dir, driver->hub, driver->options.log, err);
    if (driver->monitors == NULL)
        return -1;
    loop_each_pass (driver->loop, each_pass, driver);
    return 0;
}

static void begin (struct driver *driver)
{
    driver_take_outbox (driver);
    driver_release_held (driver);
}

static void choose_binding (const struct plan *plan, const struct driver_options *options, struct run_hub *at)
{
    bool everywhere = plan->launcher == LAUNCHER_SSH || plan->launcher == LAUNCHER_SLURM || by_ticket (plan);
    const char *usual = options->address ? options->address : everywhere ? "0.0.0.0" : "127.0.0.1";
    struct text listen = plan->start.listen.len ? plan->start.listen : text_of (usual);
    snprintf (at->address, sizeof (at->address), "%.*s", TEXT_ARG (listen));
    run_hub_reach (at, plan->start.address);
    at->control_port = (uint16_t) plan->start.control_port;
    at->bulk_port = (uint16_t) plan->start.bulk_port;
    at->events_port = (uint16_t) plan->start.events_port;
}

/* A pair of its own for each run; with launcher join the slice's, which the tickets name. */
static int take_keys (struct driver *driver, const struct plan *plan, struct link_keys *keys, struct err *err)
{
    if (!by_ticket (plan)) {
        link_keys_make (keys);
        return 0;
    }
    if (ticket_keys_load (plan, &driver->tickets, err) < 0)
        return -1;
    *keys = driver->tickets.coordinator;
    return 0;
}

struct driver *driver_open (struct loop *loop, const struct driver_options *options, const struct plan *plan, struct err *err)
{
    struct driver *driver = driver_create (loop, options);
    struct link_keys keys;
    struct run_hub at = { 0 };
    uint64_t seed;
    char path[RUN_PATH_BYTES];
    choose_binding (plan, options, &at);
    if (take_keys (driver, plan, &keys, err) < 0)
        goto failed;
    if (getrandom (&seed, sizeof (seed), 0) != sizeof (seed)) {
        err_errno (err, ERR_IO, "no random numbers");
        goto failed;
    }
    if (link_keys_save (&keys, run_dir_path (&driver->dir, "coordinator.key", path), err) < 0)
        goto failed;
    if ((driver->journal = journal_create (run_dir_path (&driver->dir, "journal.db", path), driver->dir.id, err)) == NULL)
        goto failed;
    coord_open (driver->coord, text_of (driver->dir.id), plan, seed, text_of (options->version), (uint64_t) getpid (),
                driver->now_ms, &driver->outbox);
    if (open_rest (driver, &keys, &at, err) < 0)
        goto failed;
    begin (driver);
    return driver;
failed:
    driver_close (driver);
    return NULL;
}

struct replay { struct driver *driver; struct arena arena; };

static int replay_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct replay *replay = owner;
    struct fact fact;
    arena_reset (&replay->arena);
    if (wire_get_fact (bytes, &fact, &replay->arena, err) < 0 || fact.index != index) {
        err->code = ERR_DAMAGE;
        return err_prefix (err, "fact %llu of the journal", (unsigned long long) index);
    }
    coord_apply (replay->driver->coord, &fact);
    if (replay->driver->options.watch)
        replay->driver->options.watch (replay->driver->options.owner, &fact);
    replay->driver->recorded_index = index;
    return 0;
}

static int driver_replay (struct driver *driver, const char *path, struct err *err)
{
    struct replay replay = { .driver = driver };
    int rc = journal_read (path, 0, replay_fact, &replay, err);
    arena_release (&replay.arena);
    if (rc == 0 && driver->recorded_index == 0)
        return err_set (err, ERR_DAMAGE, "%s holds no facts: the run was never opened", path);
    return rc;
}

/* Workers of before are still running, most likely: their ends must be seen. */
static void adopt_workers (struct driver *driver)
{
    uint64_t pid, pid_start;
    for (uint32_t i = 0; driver->launch && i < coord_plan (driver->coord)->hosts.n; i++) {
        struct err err = { 0 };
        if (!coord_worker (driver->coord, i, &pid, &pid_start))
            continue;
        if (launch_adopt (driver->launch, i, (int64_t) pid, pid_start, &err) == 0) {
            driver->alive[i] = true;
            continue;
        }
        struct input in = { .kind = IN_WORKER_EXITED, .host = i, .text = TEXT_LIT ("its worker ended while no coordinator was there") };
        driver_step (driver, &in);
    }
}

/* The run ended, but its coordinator died before all workers had heard of it. They hold nothing any more. */
static void end_left_workers (struct driver *driver)
{
    struct run_hub nowhere = { 0 };
    uint64_t pid, pid_start;
    open_launch (driver, &nowhere);
    for (uint32_t i = 0; driver->launch && i < coord_plan (driver->coord)->hosts.n; i++)
        if (coord_worker (driver->coord, i, &pid, &pid_start) &&
            launch_adopt (driver->launch, i, (int64_t) pid, pid_start, NULL) == 0)
            launch_kill (driver->launch, i);
}

struct driver *driver_resume (struct loop *loop, const struct driver_options *options, struct err *err)
{
    struct driver *driver = driver_create (loop, options);
    struct link_keys keys;
    struct run_hub at = { 0 };
    char path[RUN_PATH_BYTES];
    if ((driver->journal = journal_open (run_dir_path (&driver->dir, "journal.db", path), err)) == NULL)
        goto failed;
    if (driver_replay (driver, path, err) < 0)
        goto failed;
    if (coord_ended (driver->coord, &driver->exit_status)) {
        driver->ended = true;
        end_left_workers (driver);
        return driver;
    }
    if (run_hub_load (&driver->dir, &at, err) < 0 ||
        link_keys_load (&keys, run_dir_path (&driver->dir, "coordinator.key", path), err) < 0)
        goto failed;
    struct err without = { 0 }; /* hosts that were keyed before stand in the journal */
    if (by_ticket (coord_plan (driver->coord)) &&
        ticket_keys_load (coord_plan (driver->coord), &driver->tickets, &without) < 0)
        log_say (driver->options.log, "hosts that never came cannot come any more: %s", without.text);
    coord_attach (driver->coord, (uint64_t) getpid (), driver->now_ms, &driver->outbox);
    if (open_rest (driver, &keys, &at, err) < 0)
        goto failed;
    begin (driver);
    adopt_workers (driver);
    return driver;
failed:
    driver_close (driver);
    return NULL;
}

static void forget_keys (struct driver *driver)
{
    char path[RUN_PATH_BYTES];
    static const char *const secrets[] = { "coordinator.key", "monitor.key", "hub.json" };
    for (size_t i = 0; i < sizeof (secrets) / sizeof (secrets[0]); i++)
        unlink (run_dir_path (&driver->dir, secrets[i], path));
}

static void forget_watches (struct driver *driver)
{
    if (driver->hub) {
        loop_forget (driver->loop, hub_fd (driver->hub, LINK_CONTROL));
        loop_forget (driver->loop, hub_fd (driver->hub, LINK_BULK));
    }
    if (driver->journal && driver->own_seq)
        loop_forget (driver->loop, journal_fd (driver->journal));
    loop_each_pass (driver->loop, NULL, NULL);
}

void driver_close (struct driver *driver)
{
    if (driver == NULL)
        return;
    forget_watches (driver);
    log_store_close (driver->logs);
    driver->deaf = true;
    kit_store_close (driver->kits);
    errands_close (driver->log_errands);
    errands_close (driver->errands);
    catalogue_close (driver->catalogue);
    launch_close (driver->launch);
    monitors_close (driver->monitors);
    ticket_keys_release (&driver->tickets);
    hub_close (driver->hub);
    if (driver->ended && driver->coord && coord_ended (driver->coord, NULL))
        forget_keys (driver);
    journal_close (driver->journal);
    held_release (&driver->held);
    outbox_release (&driver->outbox);
    coord_destroy (driver->coord);
    buf_release (&driver->frame);
    arena_release (&driver->arena);
    mem_free (driver->alive);
    mem_free (driver->refused);
    mem_free (driver->own_seq);
    mem_free (driver);
}

void driver_cancel (struct driver *driver, uint32_t level)
{
    driver->now_ms = clock_boot_ms ();
    struct input in = { .kind = IN_CANCEL, .level = level };
    driver_step (driver, &in);
    if (level < 3)
        return;
    driver->deaf = true;
    perform_end (driver, 130);
}

bool driver_ended (const struct driver *driver, uint32_t *exit_status, struct err *problem)
{
    if (driver->ended && exit_status)
        *exit_status = driver->exit_status;
    if (problem)
        *problem = driver->problem;
    return driver->ended;
}

const struct coord *driver_coord (const struct driver *driver)
{
    return driver->coord;
}

const struct hub *driver_hub (const struct driver *driver)
{
    return driver->hub;
}

void driver_key (struct driver *driver, uint32_t rank, struct text public_key)
{
    worker_keyed (driver, rank, public_key);
}
