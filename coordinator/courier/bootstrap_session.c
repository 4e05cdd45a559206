#include "coordinator/courier/bootstrap_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "coordinator/courier/bootstrap_protocol.h"

/* ---- input ---- */

void input_init (struct courier_input *input, int fd)
{
    *input = (struct courier_input){ .fd = fd, .bytes = mem_alloc (INPUT_LINE_MAX_BYTES) };
}

void input_release (struct courier_input *input)
{
    mem_free (input->bytes);
    input->bytes = NULL;
}

/* Reads once; blocks if nothing is there, so poll first. */
static int input_read (struct courier_input *input, struct err *err)
{
    memmove (input->bytes, input->bytes + input->taken_bytes, input->len - input->taken_bytes);
    input->len -= input->taken_bytes;
    input->taken_bytes = 0;
    if (input->len == INPUT_LINE_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "a line on standard input is longer than %d bytes", INPUT_LINE_MAX_BYTES);
    ssize_t n = read (input->fd, input->bytes + input->len, INPUT_LINE_MAX_BYTES - input->len);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return err_errno (err, ERR_IO, "reading standard input");
    if (n > 0)
        input->len += (size_t) n;
    input->ended = input->ended || n == 0;
    return 0;
}

/* The next whole line without its newline, good until the next input_read; false when there is none yet. */
static bool input_next_line (struct courier_input *input, struct text *line)
{
    char *begin = input->bytes + input->taken_bytes;
    char *newline = memchr (begin, '\n', input->len - input->taken_bytes);
    if (!newline)
        return false;
    *line = (struct text){ begin, (uint32_t) (newline - begin) };
    input->taken_bytes += line->len + 1;
    return true;
}

int input_await_line (struct courier_input *input, uint64_t until_ms, const char *what, struct text *line,
                      struct err *err)
{
    while (!input_next_line (input, line)) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = input->fd, .events = POLLIN };
        if (now_ms >= until_ms)
            return err_set (err, ERR_STATE, "%s did not arrive in time on standard input", what);
        if (poll (&entry, 1, (int) (until_ms - now_ms)) < 0 && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot wait for %s", what);
        if (entry.revents && input_read (input, err) < 0)
            return -1;
        if (input->ended && !memchr (input->bytes + input->taken_bytes, '\n', input->len - input->taken_bytes))
            return err_set (err, ERR_STATE, "standard input ended before %s", what);
    }
    return 0;
}

/* ---- the session ---- */

/* Limits: the host's standard error in the worker's log; its end, for sentences; pieces of the bundle or of output. A
 * host that prints without end must not delay the clock and the coordinator. */
enum { LOG_MAX_BYTES = 64 * 1024, TAIL_BYTES = 1024, PIECE_BYTES = 32 * 1024, PIECES_A_LOOK = 16 };
/* A worker closes its streams right after GO (worker/run/main.c). A failed one's status follows its output at once. */
enum { LEAVE_MS = 10 * 1000, STATUS_MS = 250 };
/* sshd sends the status before the last output; a leftover child may hold the streams open. */
enum { LAST_WORDS_MS = 2 * 1000 };
/* A worker whose input ends stops its rung politely first. */
enum { TIED_LEAVE_MS = 30 * 1000 };
/* What the coordinator sent before its end still passes. */
enum { CARRY_LEAVE_MS = 5 * 1000 };

enum phase { TALKING, WAITS_FOR_GO, WENT_AHEAD };

struct session {
    struct request *request;
    struct reporter *reporter;
    struct courier_input *input;
    struct transport *transport;
    struct bootstrap_protocol protocol;
    struct utsname machine; /* this one, as the host must be one */
    enum phase phase;
    uint64_t until_ms;        /* end of this phase; UINT64_MAX: the other side ends it */
    bool tied, carries, idle; /* idle: nothing is carried now */
    struct buf to_send;
    size_t sent_bytes;
    int bundle_fd;
    uint64_t unread_bytes; /* of the bundle */
    bool output_ended, errors_ended;
    uint64_t ended_ms; /* when the end of the program was first seen; 0: not yet */
    size_t logged_bytes, tail_len;
    char tail[TAIL_BYTES];
    struct bootstrap_session_end end; /* its status -1: goes on */
};

static void bootstrap_session_finish (struct session *session, int status)
{
    if (session->end.status < 0)
        session->end.status = status;
}

static void bootstrap_session_refuse (struct session *session, enum step step, const struct err *err)
{
    if (session->end.status < 0) {
        session->end.refused = true;
        session->end.step = step;
        session->end.why = *err;
    }
    bootstrap_session_finish (session, 1);
}

/* ---- to the host ---- */

static int open_bundle (struct session *session, struct err *err)
{
    struct stat at;
    const char *path = session->request->bundle;
    session->bundle_fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (session->bundle_fd < 0 || fstat (session->bundle_fd, &at) != 0)
        return err_errno (err, ERR_IO, "the worker bundle %s cannot be read", path);
    if (!S_ISREG (at.st_mode) || (uint64_t) at.st_size != session->request->bundle_bytes)
        return err_set (err, ERR_STATE, "the worker bundle %s was replaced during the upload: start again", path);
    session->unread_bytes = session->request->bundle_bytes;
    return 0;
}

/* Reads the next piece of the bundle, once all before is sent. */
static int refill (struct session *session, struct err *err)
{
    char piece[PIECE_BYTES];
    if (session->unread_bytes == 0)
        return 0;
    size_t want = session->unread_bytes < sizeof piece ? session->unread_bytes : sizeof piece;
    ssize_t n = read (session->bundle_fd, piece, want);
    if (n <= 0)
        return n < 0 ? err_errno (err, ERR_IO, "the worker bundle %s cannot be read", session->request->bundle)
                     : err_set (err, ERR_STATE, "the worker bundle %s became shorter during the upload",
                                session->request->bundle);
    buf_add (&session->to_send, piece, (size_t) n);
    session->unread_bytes -= (uint64_t) n;
    if (session->unread_bytes == 0)
        bootstrap_protocol_note_sent (&session->protocol);
    return 0;
}

static bool has_more (const struct session *session)
{
    return session->sent_bytes < session->to_send.len || session->unread_bytes > 0;
}

static void send_more (struct session *session)
{
    struct err err;
    while (has_more (session) && session->end.status < 0) {
        if (session->sent_bytes == session->to_send.len) {
            buf_clear (&session->to_send);
            session->sent_bytes = 0;
            if (refill (session, &err) < 0)
                bootstrap_session_refuse (session, STEP_UPLOAD, &err);
            continue;
        }
        ssize_t n = session->transport->ops->say (session->transport, session->to_send.ptr + session->sent_bytes,
                                                  session->to_send.len - session->sent_bytes);
        if (n < 0) /* the end of the output says why */
            session->unread_bytes = session->sent_bytes = session->to_send.len = 0;
        if (n <= 0)
            return;
        session->sent_bytes += (size_t) n;
    }
}

/* ---- from the host ---- */

static void begin_upload (struct session *session)
{
    struct err err;
    if (session->protocol.changed)
        reporter_send_remark (session->reporter,
                              "the worker bundle on the host did not match its sha256, so it is uploaded "
                              "again. Its disk may be damaged, or another user may write there");
    if (session->reporter->step == STEP_START)
        reporter_send_step (session->reporter, STEP_UPLOAD, "the worker bundle to arrive");
    reporter_set_awaited (session->reporter, "the worker bundle to arrive");
    if (open_bundle (session, &err) < 0)
        bootstrap_session_refuse (session, STEP_UPLOAD, &err);
}

static void bootstrap_session_take_answer (struct session *session)
{
    reporter_send_worker_answer (session->reporter, text_of (session->protocol.line));
    if (!session->request->launch) { /* the runner waits for the command now */
        session->end.pipes = true;
        bootstrap_session_finish (session, 0);
        return;
    }
    reporter_send_step (session->reporter, STEP_JOIN, "the coordinator");
    session->phase = WAITS_FOR_GO;
    session->until_ms = UINT64_MAX; /* the worker waits for GO within a bound of its own, and ends */
}

/* ---- a worker that cannot reach its coordinator ---- */

/* The worker gets a launch line with the ports on its own host. `why`: why it needs them; "": it was asked for. */
static int carry_link (struct session *session, const char *why, struct err *err)
{
    struct transport *transport = session->transport;
    uint16_t at[CARRIER_ENDS];
    if (transport->ops->carry (transport, &session->request->hub, session->until_ms, at, err) < 0 ||
        request_set_way (session->request, "127.0.0.1", at, err) < 0)
        return -1;
    session->carries = true;
    reporter_send_carries (session->reporter, why);
    return 0;
}

static void describe_cut (const struct session *session, struct err *err)
{
    json_auto_t *words = json_loads (session->protocol.line, JSON_REJECT_DUPLICATES, NULL);
    const char *to = json_string_value (json_object_get (words, "unreachable")),
               *why = json_string_value (json_object_get (words, "why"));
    err_set (err, ERR_REFUSED, "cannot reach this machine at %.100s: %.100s", to ? to : "its address", why ? why : "");
}

static void take_cut_off (struct session *session)
{
    struct err cut, said, err;
    bool may = session->transport->ops->carry && session->request->carry != CARRY_NEVER && !session->carries;
    describe_cut (session, &cut);
    reporter_send_step (session->reporter, STEP_LINK, "the worker to reach this machine");
    err_set (&said, ERR_REFUSED, "%s; its ssh connection carries the link instead", cut.text);
    if (may && carry_link (session, said.text, &err) == 0) {
        buf_printf (&session->to_send, "%s\n", session->request->launch);
        return;
    }
    if (may)
        err_set (&said, ERR_REFUSED, "%s; and %s", cut.text, err.text);
    bootstrap_session_refuse (session, STEP_LINK, may ? &said : &cut);
}

static void bootstrap_session_take_event (struct session *session, enum bootstrap_event event, const struct err *err)
{
    switch (event) {
    case BOOTSTRAP_PROTOCOL_NOTHING: break;
    case BOOTSTRAP_PROTOCOL_HOST:
        reporter_send_step (session->reporter, STEP_UPLOAD, "the host to look for the worker bundle");
        break;
    case BOOTSTRAP_PROTOCOL_WANT: begin_upload (session); break;
    case BOOTSTRAP_PROTOCOL_READY: reporter_send_step (session->reporter, STEP_START, "the worker's answer"); break;
    case BOOTSTRAP_PROTOCOL_ANSWER: bootstrap_session_take_answer (session); break;
    case BOOTSTRAP_PROTOCOL_CUT_OFF: take_cut_off (session); break;
    case BOOTSTRAP_PROTOCOL_REFUSED: bootstrap_session_refuse (session, session->protocol.step, err); break;
    }
}

static void bootstrap_session_take_bytes (struct session *session, struct text received)
{
    struct err err = { 0 };
    while (received.len > 0 && session->end.status < 0)
        bootstrap_session_take_event (
            session, bootstrap_protocol_receive (&session->protocol, &received, &session->to_send, &err), &err);
}

/* True: something came, if only the end. */
static bool listen (struct session *session)
{
    char bytes[PIECE_BYTES];
    for (int i = 0; i < PIECES_A_LOOK && session->end.status < 0; i++) {
        ssize_t n = session->transport->ops->receive (session->transport, TRANSPORT_OUTPUT, bytes, sizeof bytes);
        bool ends = n < 0 && !session->output_ended;
        session->output_ended = session->output_ended || n < 0;
        if (n <= 0)
            return i > 0 || ends;
        bootstrap_session_take_bytes (session, (struct text){ bytes, (uint32_t) n });
    }
    return true;
}

static void keep_tail (struct session *session, const char *bytes, size_t len)
{
    size_t kept = len < TAIL_BYTES ? len : TAIL_BYTES, room = TAIL_BYTES - kept;
    if (session->tail_len > room) {
        memmove (session->tail, session->tail + session->tail_len - room, room);
        session->tail_len = room;
    }
    memcpy (session->tail + session->tail_len, bytes + len - kept, kept);
    session->tail_len += kept;
}

static void take_errors (struct session *session, const char *bytes, size_t len)
{
    size_t room = LOG_MAX_BYTES - session->logged_bytes, logged = len < room ? len : room;
    keep_tail (session, bytes, len);
    if (logged > 0 && write (STDERR_FILENO, bytes, logged) < 0)
        logged = room; /* a log that cannot be written is no reason to fail, and is not tried again */
    session->logged_bytes += logged;
}

/* True: there may be more. */
static bool listen_to_errors (struct session *session)
{
    char bytes[PIECE_BYTES];
    for (int i = 0; i < PIECES_A_LOOK; i++) {
        ssize_t n = session->transport->ops->receive (session->transport, TRANSPORT_ERROR, bytes, sizeof bytes);
        session->errors_ended = session->errors_ended || n < 0;
        if (n <= 0)
            return false;
        take_errors (session, bytes, (size_t) n);
    }
    return true;
}

/* ---- ends ---- */

static void explain_lateness (const struct session *session, struct err *err)
{
    struct text last = transport_last_line ((struct text){ session->tail, (uint32_t) session->tail_len });
    LOCAL_BUF received = { .max = TAIL_BYTES };
    transport_mask_job_ids (last.len ? last : text_of (session->protocol.remark), &received);
    reporter_describe_timeout (session->reporter, session->request->deadline_ms, buf_as_text (&received), err);
}

/* As long as its worker. */
static bool stays (const struct session *session)
{
    return session->tied || session->carries;
}

static void bootstrap_session_take_end (struct session *session, const char *how)
{
    struct err err = { 0 };
    enum step step = session->protocol.step;
    struct text tail = { session->tail, (uint32_t) session->tail_len };
    if (session->phase == WENT_AHEAD) {
        bool gone = strcmp (how, TRANSPORT_LOST) == 0, lost = gone && session->carries && !session->tied;
        if (gone && !stays (session))
            reporter_send_left (session->reporter); /* its worker has a link of its own, and stands or tells why not */
        else if (!lost)                             /* else another courier carries on */
            reporter_send_ended (session->reporter, how);
        bootstrap_session_finish (session, lost);
        return;
    }
    bool (*explain) (struct text received, enum step * step, struct err * err) = session->transport->ops->explain;
    if (!explain && !*session->protocol.remark)
        (void) text_to_c (text_clip (transport_last_line (tail), BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES),
                          session->protocol.remark, sizeof session->protocol.remark);
    if (!explain || session->protocol.state != AWAITS_HOST || !explain (tail, &step, &err))
        bootstrap_protocol_note_end (&session->protocol, how, &err);
    bootstrap_session_refuse (session, step, &err);
}

static void bootstrap_session_look_for_end (struct session *session)
{
    LOCAL_BUF how = { .max = 256 };
    if (session->end.status < 0 && session->transport->ops->ended (session->transport, &how)) {
        uint64_t now_ms = clock_boot_ms ();
        if (session->ended_ms == 0)
            session->ended_ms = now_ms;
        listen (session);
        listen_to_errors (session);
        bool silent = session->output_ended && session->errors_ended && (!session->carries || session->idle);
        if (session->end.status < 0 && (silent || now_ms - session->ended_ms >= LAST_WORDS_MS))
            bootstrap_session_take_end (session, buf_c (&how));
    }
}

/* Its output is closed: the worker is independent now, or it failed, and its status comes. */
static void look_for_leave (struct session *session)
{
    uint64_t soon_ms = clock_boot_ms () + STATUS_MS;
    bool silent = session->output_ended && session->errors_ended;
    if (session->phase == WENT_AHEAD && !stays (session) && !session->ended_ms && silent && soon_ms < session->until_ms)
        session->until_ms = soon_ms;
}

static void look_at_clock (struct session *session)
{
    struct err err;
    if (session->end.status >= 0 || session->until_ms == UINT64_MAX || clock_boot_ms () < session->until_ms)
        return;
    if (session->phase == WENT_AHEAD) {
        if (!stays (session))
            reporter_send_left (session->reporter);
        bootstrap_session_finish (session, 0);
        return;
    }
    explain_lateness (session, &err);
    bootstrap_session_refuse (session, session->reporter->step, &err);
}

/* ---- from the coordinator ---- */

static void go_ahead (struct session *session)
{
    session->phase = WENT_AHEAD;
    session->until_ms = stays (session) ? UINT64_MAX : clock_boot_ms () + LEAVE_MS;
    buf_puts (&session->to_send, "GO\n");
}

/* At the end: before GO nothing has begun; after it a tied worker must end, and sees its own input end. */
static void bootstrap_session_read_input (struct session *session)
{
    struct err err = { 0 };
    struct text line;
    if (input_read (session->input, &err) < 0)
        session->input->ended = true;
    while (input_next_line (session->input, &line))
        if (session->phase == WAITS_FOR_GO && text_is (line, "GO"))
            go_ahead (session);
    if (!session->input->ended || (session->phase == WENT_AHEAD && !stays (session)))
        return;
    if (session->phase == WENT_AHEAD && session->carries) {
        session->until_ms = clock_boot_ms () + CARRY_LEAVE_MS;
        return;
    }
    session->end.leave_ms = session->phase == WENT_AHEAD ? TIED_LEAVE_MS : 0;
    bootstrap_session_finish (session, session->phase == WENT_AHEAD ? 0 : 1);
}

/* ---- the loop ---- */

static void bootstrap_session_wait_for_any (struct session *session, bool at_once)
{
    int input_fd = session->input->ended ? -1 : session->input->fd;
    struct pollfd entries[1 + TRANSPORT_FDS_MAX] = { { .fd = input_fd, .events = POLLIN } };
    size_t n = 1 + session->transport->ops->watch (session->transport, has_more (session), entries + 1);
    uint64_t now_ms = clock_boot_ms (), wait_ms = session->until_ms > now_ms ? session->until_ms - now_ms : 0;
    uint64_t look_ms = at_once             ? 0
                       : session->ended_ms ? 50
                                           : 1000; /* an end that no descriptor tells is seen by then */
    if (wait_ms > look_ms)
        wait_ms = look_ms;
    if (poll (entries, n, (int) wait_ms) > 0 && entries[0].revents)
        bootstrap_session_read_input (session);
}

/* Once the coordinator is gone it ends with the last connection. True: more may come. */
static bool move_carried (struct session *session)
{
    bool moved = session->carries && session->transport->ops->move (session->transport, &session->idle);
    if (session->carries && session->input->ended && session->idle && session->phase == WENT_AHEAD) {
        session->end.leave_ms = session->tied ? TIED_LEAVE_MS : 0;
        bootstrap_session_finish (session, 0);
    }
    return moved;
}

static void run (struct session *session)
{
    while (session->end.status < 0) {
        send_more (session);
        bool more = listen_to_errors (session);
        bootstrap_session_look_for_end (session);
        look_for_leave (session);
        more = move_carried (session) || more;
        look_at_clock (session);
        /* Last, because reading an ssh connection buffers packets of all kinds, which poll does not report again. */
        more = listen (session) || more || (session->unread_bytes > 0 && session->sent_bytes == session->to_send.len);
        if (session->end.status < 0)
            bootstrap_session_wait_for_any (session, more);
    }
}

/* The first thing that it sends, or nothing to a worker that runs. */
static void session_begin (struct session *session)
{
    struct err err;
    struct request *request = session->request;
    bool carry_now = session->transport->ops->carry && (request->carry == CARRY_ALWAYS || request->needs_address);
    if (request->again) {
        session->phase = WENT_AHEAD;
        session->carries = true;
        session->until_ms = UINT64_MAX;
        reporter_send_carries (session->reporter, "");
    } else if (!carry_now || carry_link (session, "", &err) == 0)
        bootstrap_protocol_begin (&session->protocol, request, session->machine.machine, &session->to_send);
    else
        bootstrap_session_refuse (session, STEP_LINK, &err);
}

void bootstrap_session_run (struct request *request, struct reporter *reporter, struct courier_input *input,
                            struct transport *transport, uint64_t until_ms, struct bootstrap_session_end *end)
{
    struct session session = { .request = request,
                               .reporter = reporter,
                               .input = input,
                               .transport = transport,
                               .until_ms = until_ms,
                               .tied = request->tied || request->by == BY_SLURM,
                               .bundle_fd = -1,
                               .end.status = -1 };
    buf_init (&session.to_send, PIECE_BYTES + REQUEST_LAUNCH_MAX_BYTES + REQUEST_PATH_MAX_BYTES + 256);
    (void) uname (&session.machine);
    session_begin (&session);
    run (&session);
    if (session.bundle_fd >= 0)
        (void) close (session.bundle_fd); /* only read */
    buf_release (&session.to_send);
    *end = session.end;
}
