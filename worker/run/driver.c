#include "worker/run/join.h"

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/loop.h"
#include "common/wire/wire.h"
#include "worker/attempt/attempt.h"
#include "worker/core/member.h"
#include "worker/process/exec.h"
#include "worker/sandbox/confine.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- messages ---- */

/* Sends this worker's messages: adds envelope and number, and encodes them. * A failed message is lost; the member
 * sends it again until answered. Only a HELLO before the connection exists is kept and tried again. It decides nothing
 * and receives nothing. Borrows its arguments. Main thread only. */
struct sender {
    const struct join_config *join;
    const struct log *log;
    struct spoke *spoke; /* set once, with the member, before anything is sent */
    const struct member *member;
    struct buf bytes;
    struct buf hello; /* one that could not be sent yet; empty: none */
    uint64_t hello_at_ms, hello_wait_ms;
    uint64_t session, seq; /* seq counts within a session */
    char way[32];          /* what stood in JOIN_WAY_FILE last */
};

enum { HELLO_FIRST_MS = 10, HELLO_MOST_MS = 500 }; /* waits before a HELLO that could not be sent is tried again */

static void sender_init (struct sender *sender, const struct join_config *join, const struct log *log)
{
    *sender = (struct sender){ .join = join, .log = log };
    buf_init (&sender->bytes, MSG_MAX_BYTES);
    buf_init (&sender->hello, MSG_MAX_BYTES);
}

static void sender_release (struct sender *sender)
{
    buf_release (&sender->hello);
    buf_release (&sender->bytes);
}

/* One count for both sockets, so that numbers always rise. */
static void address (struct sender *sender, struct msg *msg)
{
    uint64_t session = member_session (sender->member);
    if (session != sender->session)
        sender->seq = 0;
    sender->session = session;
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ (const char *) sender->join->run_id, RUN_ID_BYTES };
    msg->epoch = member_epoch (sender->member);
    msg->session = session;
    msg->seq = ++sender->seq;
    msg->ack = member_seen_seq (sender->member);
}

/* False: it is lost. */
static bool sender_send_or_lose (struct sender *sender, enum link_channel channel, struct msg *msg)
{
    address (sender, msg);
    buf_clear (&sender->bytes);
    wire_put_msg (&sender->bytes, msg);
    if (sender->bytes.overflow) {
        log_print (sender->log, "message %s of more than %d bytes was not sent", msg_name (msg->kind), MSG_MAX_BYTES);
        return false;
    }
    return spoke_send (sender->spoke, channel, sender->bytes.ptr, sender->bytes.len);
}

static void keep_hello (struct sender *sender, uint64_t now_ms)
{
    buf_clear (&sender->hello);
    buf_add (&sender->hello, sender->bytes.ptr, sender->bytes.len);
    sender->hello_wait_ms = HELLO_FIRST_MS;
    sender->hello_at_ms = now_ms + sender->hello_wait_ms;
}

/* A courier that carries its link anew wrote the ports on this host into its folder (coordinator/courier/transport_ssh.c). */
static void sender_look_for_way (struct sender *sender)
{
    char bytes[sizeof sender->way];
    unsigned control, bulk;
    struct err err;
    if (!file_read_start (JOIN_WAY_FILE, bytes, sizeof bytes) || strcmp (bytes, sender->way) == 0 ||
        sscanf (bytes, "%5u %5u\n", &control, &bulk) != 2 || !control || control > UINT16_MAX || !bulk ||
        bulk > UINT16_MAX)
        return;
    memcpy (sender->way, bytes, sizeof bytes);
    log_print (sender->log, "its link goes on at ports %u and %u of this host", control, bulk);
    if (spoke_move (sender->spoke, "127.0.0.1", (uint16_t) control, (uint16_t) bulk, &err) < 0)
        log_print (sender->log, "%s", err.text);
}

/* Over the control channel; a HELLO that is not sent is tried again by sender_poll. */
static void sender_send_control (struct sender *sender, struct msg *msg)
{
    sender_look_for_way (sender);
    bool sent = sender_send_or_lose (sender, LINK_CONTROL, msg);
    if (msg->kind == MSG_HELLO)
        buf_clear (&sender->hello);
    if (sent)
        return;
    /* Like a lost message: the member repeats everything until it is answered. */
    log_detail (sender->log, "message %s was not sent", msg_name (msg->kind));
    if (msg->kind == MSG_HELLO)
        keep_hello (sender, clock_boot_ms ());
}

/* The first HELLO comes before the connection is made; the member's next one would cost each join a second. */
static void sender_poll (struct sender *sender, uint64_t now_ms)
{
    if (sender->hello.len == 0 || now_ms < sender->hello_at_ms)
        return;
    sender_look_for_way (sender);
    if (spoke_send (sender->spoke, LINK_CONTROL, sender->hello.ptr, sender->hello.len)) {
        buf_clear (&sender->hello);
        return;
    }
    if (sender->hello_wait_ms < HELLO_MOST_MS)
        sender->hello_wait_ms *= 2;
    sender->hello_at_ms = now_ms + sender->hello_wait_ms;
}

/* ---- the loop ---- */

enum { BULK_MAX_BYTES = FILE_CHUNK_MAX_BYTES + 4096 }; /* a piece of a file and its envelope, or a problem */
enum { MESSAGES_A_ROUND = 64, ROUNDS_A_PASS = 8 };     /* then the program gets its turn */
enum { LINGER_MS = 2000 };                             /* for BYE and the last result */

struct driver {
    const struct join_config *join;
    const struct log *log;
    struct loop *loop;
    struct spoke *spoke;
    struct member *member;
    struct member_outbox outbox;
    struct attempt *attempt;
    struct attempt_context context;
    struct result_store kept;
    struct containment *containment;
    struct host_files *host_files;
    struct sender sender;
    struct arena decoded;
    const char *told_to_end; /* why; NULL: not told */
    enum ending told_ending;
    bool left;
};

static const int signals[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0 };

/* ---- messages out ---- */

static bool send_output (void *owner, const struct output_chunk *chunk)
{
    struct driver *driver = owner;
    struct msg msg = { .kind = MSG_LOG };
    if (!member_session (driver->member) || !driver->attempt)
        return false;
    msg.of.log =
        (struct msg_log){ .key = attempt_which (driver->attempt), .offset = chunk->offset, .bytes = chunk->bytes };
    return sender_send_or_lose (&driver->sender, LINK_BULK, &msg);
}

static bool send_fetch (void *owner, const struct msg_fetch *ask, const struct giver *giver)
{
    struct driver *driver = owner;
    struct msg msg = { .kind = MSG_FETCH, .of.fetch = *ask };
    if (giver)
        return host_files_ask (driver->host_files, ask, giver);
    if (ask->word != SAY_GOING) /* then no host gives one */
        host_files_leave (driver->host_files);
    return member_session (driver->member) && sender_send_or_lose (&driver->sender, LINK_BULK, &msg);
}

/* Lost, nobody asks here: the coordinator gives the file to others itself. */
static void offer_file (void *owner, const struct msg_fetch *have, const char *path)
{
    struct driver *driver = owner;
    struct msg_fetch said = *have;
    host_files_offer (driver->host_files, attempt_address (driver->attempt), path, &said);
    (void) send_fetch (driver, &said, NULL);
}

/* ---- effects ---- */

static void start_attempt (struct driver *driver, const struct msg_run *run)
{
    const struct limits *limits = member_limits (driver->member);
    assert (!driver->attempt);
    host_files_close (driver->host_files);
    driver->context.stop_ms = limits->stop_ms;
    driver->context.log_bytes = limits->log_bytes;
    driver->context.device_wait_ms = limits->device_wait_ms;
    driver->context.clock_offset = member_clock_offset (driver->member, clock_boot_ms (), clock_wall_ms ());
    driver->attempt = attempt_start (driver->loop, &driver->context, run, clock_boot_ms ());
}

static void keep_result (struct driver *driver, const struct result *result)
{
    struct err err = { 0 };
    /* The result is still in memory and will be sent; only a worker that dies before the acknowledgement loses it. */
    if (result_store_save (&driver->kept, result, &err) < 0)
        log_print (driver->log, "cannot keep a result on disk; it is sent from memory: %s", err.text);
}

static void forget_result (struct driver *driver, const struct attempt_key *key)
{
    struct err err = { 0 };
    /* The next worker process sends a leftover one again, and gets another acknowledgement. */
    if (result_store_forget (&driver->kept, key, &err) < 0)
        log_print (driver->log, "%s", err.text);
}

static void driver_leave (struct driver *driver, struct text why)
{
    log_print (driver->log, "leaving: %.*s", TEXT_ARG (why));
    driver->left = true;
    loop_stop (driver->loop);
}

static void perform (struct driver *driver, const struct member_effect *effect)
{
    switch (effect->kind) {
    case MEMBER_SEND: sender_send_control (&driver->sender, effect->msg); break;
    case MEMBER_START: start_attempt (driver, &effect->msg->of.run); break;
    case MEMBER_LOOK: attempt_look (driver->attempt, clock_boot_ms ()); break;
    case MEMBER_GO: attempt_go (driver->attempt, effect->text, effect->value); break;
    case MEMBER_STOP:
        attempt_stop (driver->attempt, effect->hard, effect->ending, effect->text, clock_boot_ms ());
        break;
    case MEMBER_KEEP: keep_result (driver, effect->result); break;
    case MEMBER_FORGET: forget_result (driver, &effect->result->key); break;
    case MEMBER_EXIT: driver_leave (driver, effect->text); break;
    }
}

static void step (struct driver *driver, const struct member_input *in)
{
    member_outbox_clear (&driver->outbox);
    member_step (driver->member, in, clock_boot_ms (), &driver->outbox);
    for (uint32_t i = 0; i < driver->outbox.n; i++)
        perform (driver, &driver->outbox.items[i]);
}

/* ---- inputs ---- */

static bool read_frame (struct driver *driver, struct text bytes, struct msg *msg)
{
    struct err err = { 0 };
    arena_reset (&driver->decoded);
    if (wire_get_msg (bytes, msg, &driver->decoded, &err) == 0)
        return true;
    log_print (driver->log, "refused a message of the coordinator: %s", err.text);
    return false;
}

/* Keys of tickets outlive runs (launcher join): the coordinator has another run now, and this one is over. */
static bool is_of_another_run (const struct driver *driver, const struct msg *msg)
{
    struct text ours = { (const char *) driver->join->run_id, RUN_ID_BYTES };
    return msg->kind == MSG_REHELLO && !text_equal (msg->run_id, ours);
}

static void begin_leaving (struct driver *driver, const char *why, enum ending ending)
{
    step (driver, &(struct member_input){ .kind = MEMBER_LEAVE, .text = text_of (why), .ending = ending });
}

static void driver_take_frame (struct driver *driver, struct text bytes)
{
    struct msg msg = { 0 };
    if (!read_frame (driver, bytes, &msg))
        return;
    if (is_of_another_run (driver, &msg))
        begin_leaving (driver, "the coordinator now has another run", ENDING_CANCELLED);
    else
        step (driver, &(struct member_input){ .kind = MEMBER_MSG, .msg = &msg });
    if (msg.kind == MSG_WELCOME) /* joining is over, and waiting begins */
        code_pages_let_go ();
}

/* Only files come here; the member counts only messages of the other socket. */
static void take_bulk_frame (struct driver *driver, struct text bytes)
{
    struct msg msg = { 0 };
    struct text run_id = { (const char *) driver->join->run_id, RUN_ID_BYTES };
    if (!read_frame (driver, bytes, &msg) || msg.kind != MSG_CHUNK || !text_equal (msg.run_id, run_id) ||
        msg.epoch < member_epoch (driver->member) || !driver->attempt)
        return;
    attempt_receive_chunk (driver->attempt, &msg.of.chunk, false, clock_boot_ms ());
}

static void take_piece_of_host (void *owner, const struct msg_chunk *chunk)
{
    struct driver *driver = owner;
    if (driver->attempt)
        attempt_receive_chunk (driver->attempt, chunk, true, clock_boot_ms ());
}

/* Returns how many. The descriptors are edge-triggered, so it reads them to the end at every pass. */
static uint32_t take_frames (struct driver *driver)
{
    struct text bytes;
    uint32_t n = 0;
    while (n < MESSAGES_A_ROUND && !driver->left && spoke_receive (driver->spoke, LINK_CONTROL, &bytes)) {
        driver_take_frame (driver, bytes);
        n++;
    }
    for (uint32_t bulk_n = 0; bulk_n < MESSAGES_A_ROUND && spoke_receive (driver->spoke, LINK_BULK, &bytes); bulk_n++) {
        take_bulk_frame (driver, bytes);
        n++;
    }
    n += host_files_take (driver->host_files, take_piece_of_host, driver);
    return n + spoke_frames_remain (driver->spoke, LINK_CONTROL) + spoke_frames_remain (driver->spoke, LINK_BULK);
}

/* Releases the attempt first, because the member may start the next one at once. */
static void driver_take_end (struct driver *driver, const struct result *result)
{
    struct attempt *over = driver->attempt;
    driver->attempt = NULL;
    step (driver, &(struct member_input){ .kind = MEMBER_ENDED, .result = result });
    attempt_destroy (over);
}

static void driver_take_event (struct driver *driver, const struct attempt_event *event)
{
    struct member_input in = { .text = event->name, .gate_mode = event->mode, .gate_value = event->value };
    if (event->kind == ATTEMPT_EVENT_ENDED) {
        driver_take_end (driver, event->result);
        return;
    }
    in.kind = event->kind == ATTEMPT_EVENT_GATE    ? MEMBER_GATE
              : event->kind == ATTEMPT_EVENT_STAND ? MEMBER_STAND
                                                   : MEMBER_PHASE;
    step (driver, &in);
}

static uint32_t take_events (struct driver *driver)
{
    struct attempt_event event;
    uint32_t n = 0;
    for (; driver->attempt && !driver->left && attempt_next (driver->attempt, &event); n++)
        driver_take_event (driver, &event);
    return n;
}

static void take_told (struct driver *driver)
{
    const char *why = driver->told_to_end;
    driver->told_to_end = NULL;
    if (why)
        begin_leaving (driver, why, driver->told_ending);
}

static uint64_t next_deadline_ms (const struct driver *driver)
{
    uint64_t member_ms = member_deadline_ms (driver->member);
    uint64_t attempt_ms = driver->attempt ? attempt_deadline_ms (driver->attempt) : UINT64_MAX;
    uint64_t next_ms = member_ms < attempt_ms ? member_ms : attempt_ms;
    uint64_t hello_ms = driver->sender.hello.len ? driver->sender.hello_at_ms : UINT64_MAX;
    return hello_ms < next_ms ? hello_ms : next_ms;
}

static void driver_pass (void *owner)
{
    struct driver *driver = owner;
    /* Before the attempt and the sockets, so that a worker that slept past its lease kills before it seals or reads. */
    if (!driver->left && clock_boot_ms () >= member_deadline_ms (driver->member))
        step (driver, &(struct member_input){ .kind = MEMBER_TICK });
    take_told (driver);
    if (driver->attempt)
        attempt_poll (driver->attempt, clock_boot_ms ());
    sender_poll (&driver->sender, clock_boot_ms ());
    /* Repeats until both have nothing more, since each may cause the other, and sending uses up a socket's edge. */
    bool more = true;
    for (uint32_t i = 0; more && i < ROUNDS_A_PASS; i++)
        more = take_frames (driver) + take_events (driver) > 0;
    loop_set_deadline (driver->loop, more ? 0 : next_deadline_ms (driver));
}

static void driver_on_signal (void *owner, int signal_number, int64_t pid, int value)
{
    struct driver *driver = owner;
    (void) pid;
    (void) value;
    if (signal_number == SIGCHLD)
        return;
    driver->told_ending = ENDING_TERMINATED;
    if (signal_number == SIGTERM)
        driver->told_to_end = "told to end by SIGTERM";
    else if (signal_number == SIGINT)
        driver->told_to_end = "told to end by SIGINT";
    else if (signal_number == SIGHUP)
        driver->told_to_end = "told to end by SIGHUP";
}

/* After GO only the end of this input matters. */
static void on_starter (void *owner, int fd, uint32_t events)
{
    struct driver *driver = owner;
    char ignored[256];
    (void) events;
    ssize_t got = read (fd, ignored, sizeof ignored);
    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)))
        return;
    loop_forget (driver->loop, fd);
    driver->told_to_end = "whoever started this worker closed its standard input";
    driver->told_ending = ENDING_ORPHANED;
}

/* The event only ends the wait; the work is done at the end of the pass. */
static void on_frame (void *owner, int fd, uint32_t events)
{
    (void) owner;
    (void) fd;
    (void) events;
}

/* ---- life ---- */

static void driver_recall (void *owner, const struct result *result)
{
    struct driver *driver = owner;
    member_recall (driver->member, result);
}

static int open_spoke (struct driver *driver, struct err *err)
{
    driver->spoke = join_open_spoke (driver->join, BULK_MAX_BYTES, err);
    if (!driver->spoke)
        return -1;
    driver->sender.spoke = driver->spoke;
    for (enum link_channel channel = LINK_CONTROL; channel < LINK_CHANNELS; channel++) {
        if (loop_watch (driver->loop, spoke_fd (driver->spoke, channel), EPOLLIN, on_frame, driver, err) < 0)
            return -1;
    }
    return 0;
}

/* Before the sockets, because these have threads, and a forked process should inherit little. */
static int contain_programs (struct driver *driver, struct err *err)
{
    if (exec_adopt_orphans (err) < 0)
        return -1;
    driver->containment = containment_choose (CONTAINMENT_PID_NAMESPACE, driver->join->directory, driver->log);
    exec_set_containment (driver->containment);
    return 0;
}

static int driver_open_all (struct driver *driver, const char *version, struct err *err)
{
    const struct join_config *join = driver->join;
    struct text run_id = { (const char *) join->run_id, RUN_ID_BYTES };
    struct err damage = { 0 };
    driver->loop = loop_open (err);
    if (!driver->loop || loop_watch_signals (driver->loop, signals, driver_on_signal, driver, err) < 0)
        return -1;
    if (contain_programs (driver, err) < 0)
        return -1;
    if (join->tied && loop_watch (driver->loop, STDIN_FILENO, EPOLLIN, on_starter, driver, err) < 0)
        return err_prefix (err, "a worker that is to end with its standard input needs a pipe or a socket there");
    if (open_spoke (driver, err) < 0)
        return -1;
    driver->member = member_create (text_of (join->host), run_id, text_of (version), join->pid, join->pid_start,
                                    text_of (join->boot_id));
    driver->sender.member = driver->member;
    if (result_store_recall (&driver->kept, driver_recall, driver, &damage) < 0)
        log_print (driver->log, "a result on disk cannot be read and was moved away: %s", damage.text);
    driver->context = (struct attempt_context){ .host = text_of (join->host),
                                                .run_hex = text_of (join->run_hex),
                                                .directory = join->directory,
                                                .preload = preload_make (driver->loop, join->directory),
                                                .output = send_output,
                                                .owner = driver,
                                                .fetches = { send_fetch, offer_file, driver } };
    driver->host_files = host_files_make (driver->loop, join, driver->log);
    memcpy (driver->context.trusted, join->trusted, sizeof join->trusted);
    loop_set_iteration_fn (driver->loop, driver_pass, driver);
    return 0;
}

static void driver_close_all (struct driver *driver)
{
    attempt_destroy (driver->attempt);
    preload_destroy (driver->context.preload);
    host_files_destroy (driver->host_files);
    exec_set_containment (NULL);
    containment_close (driver->containment);
    member_destroy (driver->member);
    if (driver->spoke) {
        for (enum link_channel channel = LINK_CONTROL; channel < LINK_CHANNELS; channel++)
            loop_forget (driver->loop, spoke_fd (driver->spoke, channel));
        spoke_close (driver->spoke, LINGER_MS);
    }
    loop_close (driver->loop);
    result_store_close (&driver->kept);
    arena_release (&driver->decoded);
    sender_release (&driver->sender);
    member_outbox_release (&driver->outbox);
}

int driver_run (const struct join_config *join, const char *version, const struct log *log, struct err *err)
{
    struct driver driver = { .join = join, .log = log, .kept.directory = join->directory };
    sender_init (&driver.sender, join, log);
    member_outbox_init (&driver.outbox);
    signal (SIGPIPE, SIG_IGN);
    int rc = driver_open_all (&driver, version, err);
    if (rc == 0)
        rc = loop_run (driver.loop, err);
    driver_close_all (&driver);
    return rc;
}
