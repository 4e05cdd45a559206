/* driver_in.c - inputs: messages, ended workers, time. */
#include "coordinator/run/driver_private.h"

#include <string.h>
#include <sys/epoll.h>

#include "common/io/clock.h"
#include "common/wire/wire.h"

/* Frames of each channel in a pass; then the other channel, timers, signals and logs have their turn. */
enum { CONTROL_A_PASS = 1024, BULK_A_PASS = 64, PASS_MS = 10 };
/* Limits of a host. A worker sends few messages, and asks for one file at a time; ignored ones come again. */
enum { OUTPUTS_MS = 1000, ALIVE_MS = 1000 };
enum { CONTROL_A_SECOND = 256, BULK_A_SECOND = 4096 };

bool driver_joins_by_ticket (const struct plan *plan)
{
    return plan->launcher == LAUNCHER_JOIN && plan->start.control_port != 0;
}

static void driver_in_send (struct driver *driver, enum link_channel channel, uint32_t host, struct msg *msg)
{
    driver_fill_envelope (driver, host, 0, msg);
    buf_clear (&driver->frame);
    wire_put_msg (&driver->frame, msg);
    hub_send (driver->hub, channel, host, driver->frame.ptr, driver->frame.len);
}

static void refuse_version (struct driver *driver, uint32_t host, const struct msg *msg)
{
    struct text theirs = msg->of.hello.version;
    struct msg answer = { .kind = MSG_REFUSE };
    answer.of.refuse = (struct msg_refuse){
        .why = text_format (&driver->arena, "the worker is build %.*s, the coordinator build %s: both must be the same",
                            TEXT_ARG (theirs), driver->options.version),
        .major = PROTOCOL_MAJOR,
        .minor = PROTOCOL_MINOR,
    };
    driver_in_send (driver, LINK_CONTROL, host, &answer);
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = host, .text = answer.of.refuse.why };
    driver_step (driver, &in);
}

static bool version_fits (const struct driver *driver, const struct msg *msg)
{
    return msg->kind != MSG_HELLO ||
           (msg->major == PROTOCOL_MAJOR && text_is (msg->of.hello.version, driver->options.version));
}

static void driver_message (struct driver *driver, uint32_t host, const struct msg *msg)
{
    struct core_input in = { .kind = IN_MSG, .host = host, .msg = msg };
    if (msg->kind == MSG_RESULT)
        log_store_expect (driver->logs, host, &msg->of.result);
    if (coord_plan (driver->coord)->launcher != LAUNCHER_LOCAL)
        driver->alive[host] = msg->kind != MSG_BYE; /* its pid is not of this machine */
    driver_step (driver, &in);
}

/* Keys of tickets outlive runs, so a worker without a run, or of a run whose coordinator died, may connect: it is told
 * this run, and sends HELLO for it. */
static void tell_run (struct driver *driver, uint32_t host, const struct msg *msg)
{
    if (!driver_joins_by_ticket (coord_plan (driver->coord)) || driver->ended)
        return;
    if (!version_fits (driver, msg)) {
        refuse_version (driver, host, msg);
        return;
    }
    struct msg answer = { .kind = MSG_REHELLO };
    driver_in_send (driver, LINK_CONTROL, host, &answer);
}

static bool driver_in_take_frame (struct driver *driver, uint32_t host, struct text bytes, struct msg *msg)
{
    struct err err = { 0 };
    arena_reset (&driver->arena);
    if (wire_get_msg (bytes, msg, &driver->arena, &err) < 0) {
        if (driver->refused[host]++ == 0) /* logs only the first */
            remark_queue_add (
                driver->remarks, host,
                text_format (&driver->arena, "sent a message that cannot be parsed, which was refused: %s", err.text),
                driver->now_ms);
        return false;
    }
    if (!msg_is_from_worker (msg->kind) || msg->run_id.len != RUN_ID_BYTES)
        return false;
    if (memcmp (msg->run_id.ptr, driver->run_raw, RUN_ID_BYTES) == 0)
        return true;
    if (msg->kind == MSG_HELLO || msg->kind == MSG_HEARTBEAT)
        tell_run (driver, host, msg);
    return false;
}

static bool speaks_for (const struct driver *driver, uint32_t host, const struct msg *msg)
{
    return msg->kind != MSG_HELLO ||
           text_equal (msg->of.hello.host, coord_plan (driver->coord)->hosts.items[host].name);
}

static void take_control (struct driver *driver, uint32_t host, struct text bytes)
{
    struct msg msg;
    if (!driver_in_take_frame (driver, host, bytes, &msg) || !speaks_for (driver, host, &msg) || msg.kind == MSG_LOG ||
        msg.kind == MSG_FETCH)
        return;
    if (!version_fits (driver, &msg))
        refuse_version (driver, host, &msg);
    else
        driver_message (driver, host, &msg);
}

/* The host asks again for a lost piece. */
void driver_send_chunk (void *owner, uint32_t host, const struct msg_chunk *chunk)
{
    struct driver *driver = owner;
    struct msg msg = { .kind = MSG_CHUNK, .of.chunk = *chunk };
    driver_in_send (driver, LINK_BULK, host, &msg);
}

static struct text complaint_of (enum fetch_word what)
{
    switch (what) {
    case SAY_DAMAGED:
        return TEXT_LIT ("gave another host a file with another sha256 than the plan names; it is asked no more, and "
                         "the coordinator sends the file: check memory and disk of both");
    case SAY_SLOW:
        return TEXT_LIT (
            "gives another host a file too slowly for the time limit of the rung, so the coordinator sends "
            "it: check the network of both, or set coordinator.spread_files: false");
    default:
        return TEXT_LIT ("did not give another host a file, so the coordinator sends it: check that hosts reach each "
                         "other, or set coordinator.spread_files: false");
    }
}

void driver_note_failed_giver (void *owner, uint32_t giver, uint32_t host, enum fetch_word what)
{
    struct driver *driver = owner;
    remark_queue_add (driver->remarks, giver, complaint_of (what), driver->now_ms);
    if (what == SAY_DAMAGED)
        remark_queue_add (driver->remarks, host,
                          TEXT_LIT ("was given a file with another sha256 than the plan names by another host"),
                          driver->now_ms);
}

static void take_bulk (struct driver *driver, uint32_t host, struct text bytes)
{
    struct msg msg;
    if (!driver_in_take_frame (driver, host, bytes, &msg))
        return;
    if (msg.kind == MSG_LOG) {
        log_store_add (driver->logs, host, &msg.of.log);
        output_watch_add (driver->outputs, host, &msg.of.log, driver->now_ms);
    }
    if (msg.kind == MSG_FETCH) {
        struct attempt_key pass = { 0 };
        (void) coord_awaited_hosts (driver->coord, &pass, NULL);
        kit_store_answer (driver->kits, host, &msg.of.fetch, &pass, hub_worker_address (driver->hub, host),
                          driver->now_ms);
    }
}

/* ---- shares ---- */

/* Ignores a worker that sends too much for a moment, but not the others. */
static bool may_speak (struct driver *driver, enum link_channel channel, uint32_t host)
{
    static const uint32_t a_second[LINK_CHANNELS] = { [LINK_CONTROL] = CONTROL_A_SECOND, [LINK_BULK] = BULK_A_SECOND };
    struct host_rate_limit *writer = &driver->host_rate_limits[host];
    if (rate_limit_take (&writer->may[channel], a_second[channel], driver->now_ms))
        return true;
    if (!writer->too_much) /* logged once, since it may go on */
        remark_queue_add (driver->remarks, host,
                          text_format (&driver->arena, "sends more than %u messages a second; further ones are dropped",
                                       a_second[channel]),
                          driver->now_ms);
    writer->too_much = true;
    return false;
}

static void take_edge (void *owner, int fd, uint32_t events)
{
    (void) owner;
    (void) fd;
    (void) events; /* driver_on_loop_iteration follows at the end of the pass */
}

static int watch_channel (struct driver *driver, enum link_channel channel)
{
    return loop_watch (driver->loop, hub_fd (driver->hub, channel), EPOLLIN, take_edge, driver, &driver->problem);
}

/* Known workers can connect before this run is recorded (driver.c). Until then their messages wait in libzmq, whose
 * descriptors are not watched: they stay ready until read. Time stands still for the core, too: a host we do not listen
 * to cannot time out. */
static void begin_hearing (struct driver *driver)
{
    if (driver->hears || driver->input_closed || held_ready (&driver->held, driver->opening_index))
        return;
    driver->hears = watch_channel (driver, LINK_CONTROL) == 0 && watch_channel (driver, LINK_BULK) == 0;
    if (driver->hears)
        return;
    driver->input_closed = true;
    driver_begin_leaving (driver, 3);
}

static void take_channel (struct driver *driver, enum link_channel channel, struct work_budget *budget)
{
    struct text bytes;
    uint32_t host;
    if (!driver->hears)
        return;
    while (!driver->input_closed && !driver_is_out_of_budget (driver) && work_budget_take (budget)) {
        if (!hub_receive (driver->hub, channel, &host, &bytes)) {
            driver->more |= hub_frames_remain (driver->hub, channel);
            return;
        }
        if (!may_speak (driver, channel, host))
            continue; /* it was one of the share */
        if (channel == LINK_CONTROL)
            take_control (driver, host, bytes);
        else
            take_bulk (driver, host, bytes);
    }
    driver->more = true;
}

void driver_on_durable (void *owner, int fd, uint32_t events)
{
    (void) fd;
    (void) events;
    struct driver *driver = owner;
    journal_clear_wakeup (driver->journal);
    if (journal_problem (driver->journal, &driver->problem)) {
        driver->input_closed = true; /* nothing that depends on an unrecorded fact may be sent */
        driver_begin_leaving (driver, driver->problem.code == ERR_DAMAGE ? 5 : 3);
        return;
    }
    driver->now_ms = clock_boot_ms ();
    driver_release_held (driver);
}

/* What it said before comes first, such as why it leaves. */
void driver_worker_exited (void *owner, uint32_t rank, struct text why)
{
    struct driver *driver = owner;
    struct work_budget control = work_budget_begin (CONTROL_A_PASS, PASS_MS);
    driver->now_ms = clock_boot_ms ();
    take_channel (driver, LINK_CONTROL, &control);
    driver->alive[rank] = false;
    struct core_input in = { .kind = IN_WORKER_EXITED, .host = rank, .text = why };
    driver_step (driver, &in);
    driver_leave_when_alone (driver);
}

void driver_note_courier_step (void *owner, uint32_t rank, struct text step)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct core_input in = { .kind = IN_WORKER_STEP, .host = rank, .text = step };
    driver_step (driver, &in);
}

void driver_host_asked (void *owner, const struct fact_host_asked *answer)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    struct core_input in = { .kind = IN_HOST_ASKED, .host = answer->host, .asked = answer };
    driver_step (driver, &in);
}

void driver_log_remark (void *owner, uint32_t rank, struct text sentence)
{
    struct driver *driver = owner;
    remark_queue_add (driver->remarks, rank, sentence, driver->now_ms);
}

static void take_time (struct driver *driver)
{
    driver->now_ms = clock_boot_ms ();
    if (!driver->hears || driver->now_ms < coord_deadline_ms (driver->coord))
        return;
    struct core_input in = { .kind = IN_TICK };
    driver_step (driver, &in);
}

/* Once a second during a pass: reports the quietest of the awaited hosts. */
static void tell_outputs (struct driver *driver)
{
    if (driver->now_ms < driver->outputs_told_ms + OUTPUTS_MS || !driver->hears || driver->input_closed ||
        driver->ended)
        return;
    driver->outputs_told_ms = driver->now_ms;
    LOCAL_ARENA arena = { 0 };
    struct fact_output_awaited told = { 0 };
    uint32_t *hosts = arena_array (&arena, coord_plan (driver->coord)->hosts.n, sizeof (*hosts));
    uint32_t n = coord_awaited_hosts (driver->coord, &told.key, hosts);
    if (n) { /* also without output, so that nobody waits for it */
        struct core_input in = { .kind = IN_OUTPUT, .output = &told };
        output_watch_tell (driver->outputs, hosts, n, driver->now_ms, &arena, &told);
        driver_step (driver, &in);
    }
}

/* Notes the time, because workers outlive this process by limits.exit, counted from its end. */
static void tell_alive (struct driver *driver)
{
    if (driver->now_ms < driver->alive_told_ms + ALIVE_MS)
        return;
    driver->alive_told_ms = driver->now_ms;
    journal_note_alive (driver->journal);
}

static uint64_t next_pass_ms (const struct driver *driver)
{
    struct attempt_key key;
    uint64_t remarks_ms = remark_queue_due_ms (driver->remarks);
    if (driver->more && !driver->input_closed)
        return driver->now_ms;
    if (driver->ended)
        return least_u64 (driver_next_leave_at_ms (driver), remarks_ms);
    if (driver->input_closed || !driver->hears)
        return remarks_ms;
    uint64_t core_ms = least_u64 (coord_deadline_ms (driver->coord),
                                  least_u64 (remarks_ms, driver->reachability_due_ms));
    bool awaited = coord_awaited_hosts (driver->coord, &key, NULL) > 0;
    return awaited ? least_u64 (core_ms, driver->outputs_told_ms + OUTPUTS_MS) : core_ms;
}

/* The end of every pass of the loop: time is an input too, and sends may have left frames (ZMQ_FD is edged). */
void driver_on_loop_iteration (void *owner)
{
    struct driver *driver = owner;
    driver->now_ms = clock_boot_ms ();
    driver->more = false;
    driver_release_held (driver); /* rest of the last pass, for which no event comes */
    begin_hearing (driver);
    struct work_budget control = work_budget_begin (CONTROL_A_PASS, PASS_MS);
    take_channel (driver, LINK_CONTROL, &control);
    struct work_budget bulk = work_budget_begin (BULK_A_PASS, PASS_MS);
    take_channel (driver, LINK_BULK, &bulk);
    uint64_t monitors_ms = monitors_poll (driver->monitors);
    take_time (driver);
    tell_alive (driver);
    tell_outputs (driver);
    remark_queue_tell (driver->remarks, driver->now_ms);
    take_channel (driver, LINK_CONTROL, &control);
    driver->reachability_due_ms = reachability_poll (driver->reachability, driver->now_ms);
    driver_leave_when_alone (driver);
    driver_end_loop_iteration (driver);
    uint64_t next_ms = next_pass_ms (driver);
    loop_set_deadline (driver->loop, monitors_ms < next_ms ? monitors_ms : next_ms);
}
