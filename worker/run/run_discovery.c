#include "worker/run/join.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/duration.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/loop.h"
#include "common/wire/wire.h"

/* HELLO_MS is the pace of the member's own HELLO, and often enough for the spoke to notice a dead connection. */
enum { HELLO_MS = 1000, FIRST_MS = 50, TELL_MS = 60 * 1000 };
enum { FRAMES_AT_ONCE = 64, RECEIVE_MS = 10 }; /* then signals and time have their turn */

struct wait {
    struct join_config *join;
    const char *version;
    const struct log *log;
    struct spoke *spoke;
    int signal_fd;
    uint64_t began_ms, tell_ms, hello_ms, hello_wait_ms, seq;
    struct buf frame;
    struct arena arena;
    bool came;
};

static void say_hello (struct wait *wait, uint64_t now_ms)
{
    static const char no_run[RUN_ID_BYTES];
    const struct join_config *join = wait->join;
    struct msg msg = { .major = PROTOCOL_MAJOR,
                       .minor = PROTOCOL_MINOR,
                       .kind = MSG_HELLO,
                       .seq = ++wait->seq,
                       .run_id = { no_run, RUN_ID_BYTES } };
    msg.of.hello = (struct msg_hello){ .host = text_of (join->host),
                                       .version = text_of (wait->version),
                                       .pid = join->pid,
                                       .pid_start = join->pid_start,
                                       .boot_id = text_of (join->boot_id) };
    buf_clear (&wait->frame);
    wire_put_msg (&wait->frame, &msg);
    bool sent = spoke_send (wait->spoke, LINK_CONTROL, wait->frame.ptr, wait->frame.len);
    wait->hello_wait_ms = sent || wait->hello_wait_ms > HELLO_MS / 2 ? HELLO_MS : 2 * wait->hello_wait_ms;
    wait->hello_ms = now_ms + wait->hello_wait_ms;
}

static void run_discovery_take_run (struct wait *wait, struct text run_id)
{
    struct join_config *join = wait->join;
    memcpy (join->run_id, run_id.ptr, RUN_ID_BYTES);
    for (uint32_t i = 0; i < RUN_ID_BYTES; i++)
        snprintf (join->run_hex + 2 * i, 3, "%02x", join->run_id[i]);
    wait->came = true;
}

static bool names_a_run (const struct msg *msg)
{
    static const char no_run[RUN_ID_BYTES];
    return msg->run_id.len == RUN_ID_BYTES && memcmp (msg->run_id.ptr, no_run, RUN_ID_BYTES) != 0;
}

static int run_discovery_receive (struct wait *wait, struct err *err)
{
    struct text bytes;
    struct work_budget budget = work_budget_begin (FRAMES_AT_ONCE, RECEIVE_MS);
    while (!wait->came && work_budget_take (&budget) && spoke_receive (wait->spoke, LINK_CONTROL, &bytes)) {
        struct msg msg = { 0 };
        struct err unread = { 0 };
        arena_reset (&wait->arena);
        if (wire_get_msg (bytes, &msg, &wait->arena, &unread) < 0)
            log_print (wait->log, "refused a message of the coordinator: %s", unread.text);
        else if (msg.kind == MSG_REFUSE)
            return err_set (err, ERR_REFUSED, "the coordinator refuses this worker: %.*s",
                            TEXT_ARG (msg.of.refuse.why));
        else if (msg.kind == MSG_REHELLO && names_a_run (&msg))
            run_discovery_take_run (wait, msg.run_id);
    }
    return 0;
}

static void run_discovery_tell (struct wait *wait, uint64_t now_ms)
{
    if (now_ms < wait->tell_ms)
        return;
    log_print (wait->log, "host %s waits for a run: no run at %s, port %u, for %s", wait->join->host,
               wait->join->address, (unsigned) wait->join->control_port, DURATION_TEXT (now_ms - wait->began_ms));
    wait->tell_ms = now_ms + TELL_MS;
}

static int run_discovery_give_up (const struct wait *wait, struct err *err)
{
    return err_set (err, ERR_STATE,
                    "there was no run for host %s: no coordinator of its slice answers at %s, port %u, or that "
                    "coordinator does not know this ticket (a renewed ticket replaces the earlier one)",
                    wait->join->host, wait->join->address, (unsigned) wait->join->control_port);
}

static void pause_until (const struct wait *wait, uint64_t at_ms, uint64_t now_ms)
{
    struct pollfd entries[] = { { .fd = spoke_fd (wait->spoke, LINK_CONTROL), .events = POLLIN },
                                { .fd = wait->signal_fd, .events = POLLIN } };
    (void) poll (entries, 2, at_ms > now_ms ? (int) (at_ms - now_ms) : 0); /* a missed edge costs one HELLO */
}

static bool told_to_end (const struct wait *wait)
{
    struct signalfd_siginfo info;
    return read (wait->signal_fd, &info, sizeof info) == (ssize_t) sizeof info;
}

static int wait_for_run (struct wait *wait, uint64_t wait_ms, struct err *err)
{
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        if (run_discovery_receive (wait, err) < 0)
            return -1;
        if (wait->came)
            return RUN_DISCOVERY_CAME;
        if (told_to_end (wait))
            return RUN_DISCOVERY_GIVEN_UP;
        if (wait_ms && now_ms - wait->began_ms >= wait_ms)
            return run_discovery_give_up (wait, err);
        run_discovery_tell (wait, now_ms);
        if (now_ms >= wait->hello_ms) {
            say_hello (wait, now_ms);
            continue; /* sending may have used up a frame's edge */
        }
        uint64_t end_ms = wait_ms ? wait->began_ms + wait_ms : UINT64_MAX;
        pause_until (wait, end_ms < wait->hello_ms ? end_ms : wait->hello_ms, now_ms);
    }
}

static int block_signals (struct wait *wait, struct err *err)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGHUP);
    sigaddset (&set, SIGUSR1);
    wait->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (wait->signal_fd < 0)
        return err_errno (err, ERR_IO, "cannot make a descriptor for signals");
    errno = pthread_sigmask (SIG_BLOCK, &set, NULL);
    return errno ? err_errno (err, ERR_IO, "cannot block signals") : 0;
}

int run_discovery_wait (struct join_config *join, const char *version, uint64_t wait_ms, const struct log *log,
                        struct err *err)
{
    struct wait wait = { .join = join, .version = version, .log = log, .signal_fd = -1, .hello_wait_ms = FIRST_MS };
    wait.began_ms = wait.tell_ms = clock_boot_ms ();
    buf_init (&wait.frame, MSG_MAX_BYTES);
    int rc = -1;
    if (block_signals (&wait, err) == 0 && (wait.spoke = join_open_spoke (join, MSG_MAX_BYTES, err)))
        rc = wait_for_run (&wait, wait_ms, err);
    spoke_close (wait.spoke, 0);
    if (wait.signal_fd >= 0)
        close (wait.signal_fd);
    arena_release (&wait.arena);
    buf_release (&wait.frame);
    return rc;
}

/* ---- ticket ---- */

static bool run_discovery_take_text (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    const json_t *value = json_object_get (object, name);
    struct text text = { json_string_value (value), (uint32_t) json_string_length (value) };
    return json_is_string (value) && text.len > 0 && text_to_c (text, out, out_bytes);
}

static bool run_discovery_take_name (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    return run_discovery_take_text (object, name, out, out_bytes) && host_name_valid (text_of (out));
}

static bool run_discovery_take_port (const json_t *object, const char *name, uint16_t *port)
{
    json_int_t number = json_integer_value (json_object_get (object, name));
    *port = (uint16_t) number;
    return number > 0 && number <= UINT16_MAX;
}

static bool run_discovery_take_key (const json_t *object, const char *name, char out[LINK_KEY_BYTES])
{
    return run_discovery_take_text (object, name, out, LINK_KEY_BYTES) && strlen (out) == LINK_KEY_BYTES - 1;
}

/* The name of a wrong member; NULL: none. */
static const char *take_all (const json_t *object, struct ticket *ticket)
{
    if (json_integer_value (json_object_get (object, "sliceup-ticket")) != 1)
        return "sliceup-ticket";
    if (!run_discovery_take_name (object, "slice", ticket->slice, sizeof ticket->slice))
        return "slice";
    if (!run_discovery_take_name (object, "host", ticket->host, sizeof ticket->host))
        return "host";
    if (!run_discovery_take_text (object, "address", ticket->address, sizeof ticket->address))
        return "address";
    if (!run_discovery_take_port (object, "control_port", &ticket->control_port))
        return "control_port";
    if (!run_discovery_take_port (object, "bulk_port", &ticket->bulk_port))
        return "bulk_port";
    if (!run_discovery_take_key (object, "coordinator_key", ticket->coordinator_key))
        return "coordinator_key";
    if (!run_discovery_take_key (object, "public_key", ticket->keys.public_key))
        return "public_key";
    return run_discovery_take_key (object, "secret_key", ticket->keys.secret_key) ? NULL : "secret_key";
}

static int run_discovery_parse (const struct buf *file, const char *path, struct ticket *ticket, struct err *err)
{
    json_auto_t *object = json_loadb ((const char *) file->ptr, file->len, JSON_REJECT_DUPLICATES, NULL);
    const char *wrong = json_is_object (object) ? take_all (object, ticket) : NULL;
    int rc = 0;
    if (!json_is_object (object))
        rc = err_set (err, ERR_PARSE, "%s is not a ticket: expected a JSON object, as sliceup ticket writes it", path);
    else if (wrong)
        rc = err_set (err, ERR_PARSE,
                      "this version cannot read the ticket %s: %s is missing or not valid; write a new ticket with "
                      "sliceup ticket",
                      path, wrong);
    return rc;
}

int ticket_load (struct ticket *ticket, const char *path, struct err *err)
{
    struct ticket found = { 0 };
    LOCAL_BUF file = { .max = TICKET_FILE_MAX_BYTES };
    int rc = private_file_read (path, &file, err);
    if (rc == 0)
        rc = run_discovery_parse (&file, path, &found, err);
    if (rc == 0)
        *ticket = found;
    if (file.ptr)
        explicit_bzero (file.ptr, file.len);
    explicit_bzero (&found, sizeof found);
    return rc;
}
