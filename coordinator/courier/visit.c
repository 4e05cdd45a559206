#include "coordinator/courier/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/io/clock.h"
#include "coordinator/courier/bootstrap.h"
#include "coordinator/courier/dialogue.h"

/* What the host's standard error may add to the worker's log; the end of it, for sentences; a piece of the bundle or of
 * what is heard. A host that never stops talking must not keep the clock and the coordinator from being looked at. */
enum { LOG_MAX_BYTES = 64 * 1024, TAIL_BYTES = 1024, PIECE_BYTES = 32 * 1024, PIECES_A_LOOK = 16 };
/* A worker closes its streams right after GO (worker/run/main.c); the status of one that fell follows the end of its
 * output at once. */
enum { LEAVE_MS = 10 * 1000, STATUS_MS = 250 };
/* sshd tells a status before it has passed on the last output; a child that was left behind may hold the streams
 * open. */
enum { LAST_WORDS_MS = 2 * 1000 };
/* A worker that is told to end by the end of its input stops its rung politely first. */
enum { TIED_LEAVE_MS = 30 * 1000 };

enum phase { TALKING, WAITS_FOR_GO, WENT_AHEAD };

struct visit {
    const struct order *order;
    struct voice *voice;
    struct input *input;
    struct way *way;
    struct dialogue dialogue;
    enum phase phase;
    uint64_t until_ms;              /* of this phase; UINT64_MAX: the other side ends it */
    bool tied;
    struct buf to_send;
    size_t sent_bytes;
    int bundle_fd;
    uint64_t unread_bytes;          /* of the bundle */
    bool output_ended, errors_ended;
    uint64_t ended_ms;              /* when the end of the program was first seen; 0: not yet */
    size_t logged_bytes, tail_len;
    char tail[TAIL_BYTES];
    struct visit_end end;           /* its status -1: goes on */
};

static void finish (struct visit *visit, int status)
{
    if (visit->end.status < 0)
        visit->end.status = status;
}

static void refuse (struct visit *visit, enum step step, const struct err *err)
{
    if (visit->end.status < 0) {
        visit->end.refused = true;
        visit->end.step = step;
        visit->end.why = *err;
    }
    finish (visit, 1);
}

/* ---- to the host ---- */

static int open_bundle (struct visit *visit, struct err *err)
{
    struct stat at;
    const char *path = visit->order->bundle;
    visit->bundle_fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (visit->bundle_fd < 0 || fstat (visit->bundle_fd, &at) != 0)
        return err_errno (err, ERR_IO, "the bundle %s cannot be read", path);
    if (!S_ISREG (at.st_mode) || (uint64_t) at.st_size != visit->order->bundle_bytes)
        return err_set (err, ERR_STATE, "the bundle %s was replaced while it was used: start again", path);
    visit->unread_bytes = visit->order->bundle_bytes;
    return 0;
}

/* The next piece of the bundle, when all before it is on its way. */
static int refill (struct visit *visit, struct err *err)
{
    char piece[PIECE_BYTES];
    if (visit->unread_bytes == 0)
        return 0;
    size_t want = visit->unread_bytes < sizeof piece ? visit->unread_bytes : sizeof piece;
    ssize_t n = read (visit->bundle_fd, piece, want);
    if (n <= 0)
        return n < 0 ? err_errno (err, ERR_IO, "the bundle %s cannot be read", visit->order->bundle)
                     : err_set (err, ERR_STATE, "the bundle %s became shorter while it was used", visit->order->bundle);
    buf_add (&visit->to_send, piece, (size_t) n);
    visit->unread_bytes -= (uint64_t) n;
    if (visit->unread_bytes == 0)
        dialogue_sent (&visit->dialogue);
    return 0;
}

static bool has_more (const struct visit *visit)
{
    return visit->sent_bytes < visit->to_send.len || visit->unread_bytes > 0;
}

static void send_more (struct visit *visit)
{
    struct err err;
    while (has_more (visit) && visit->end.status < 0) {
        if (visit->sent_bytes == visit->to_send.len) {
            buf_clear (&visit->to_send);
            visit->sent_bytes = 0;
            if (refill (visit, &err) < 0)
                refuse (visit, STEP_UPLOAD, &err);
            continue;
        }
        ssize_t n = visit->way->ops->say (visit->way, visit->to_send.ptr + visit->sent_bytes,
                                          visit->to_send.len - visit->sent_bytes);
        if (n < 0) /* the end of what was heard says why */
            visit->unread_bytes = visit->sent_bytes = visit->to_send.len = 0;
        if (n <= 0)
            return;
        visit->sent_bytes += (size_t) n;
    }
}

/* ---- from the host ---- */

static void begin_upload (struct visit *visit)
{
    struct err err;
    if (visit->dialogue.changed)
        voice_found (visit->voice, "the worker's file that lay on the host was not what it is named after; it is replaced. "
                     "Who could write there? A damaged disk is the harmless cause");
    voice_waits (visit->voice, "the bundle to arrive");
    if (open_bundle (visit, &err) < 0)
        refuse (visit, STEP_UPLOAD, &err);
}

static void take_answer (struct visit *visit)
{
    voice_worker (visit->voice, text_of (visit->dialogue.line));
    voice_step (visit->voice, STEP_JOIN, "the coordinator");
    visit->phase = WAITS_FOR_GO;
    visit->until_ms = UINT64_MAX; /* the worker waits for GO within a bound of its own, and ends */
}

static void take_event (struct visit *visit, enum dialogue_event event, const struct err *err)
{
    switch (event) {
    case DIALOGUE_NOTHING: break;
    case DIALOGUE_HOST: voice_step (visit->voice, STEP_UPLOAD, "the host to look for the bundle"); break;
    case DIALOGUE_WANT: begin_upload (visit); break;
    case DIALOGUE_HAVE:
    case DIALOGUE_PLACED: voice_step (visit->voice, STEP_LIBRARIES, "the host to try the worker"); break;
    case DIALOGUE_READY: voice_step (visit->voice, STEP_START, "the worker's answer"); break;
    case DIALOGUE_ANSWER: take_answer (visit); break;
    case DIALOGUE_REFUSED: refuse (visit, visit->dialogue.step, err); break;
    }
}

static void take_bytes (struct visit *visit, struct text heard)
{
    struct err err = { 0 };
    while (heard.len > 0 && visit->end.status < 0)
        take_event (visit, dialogue_hear (&visit->dialogue, &heard, &visit->to_send, &err), &err);
}

/* True: something came, if only the end. */
static bool listen (struct visit *visit)
{
    char bytes[PIECE_BYTES];
    for (int i = 0; i < PIECES_A_LOOK && visit->end.status < 0; i++) {
        ssize_t n = visit->way->ops->hear (visit->way, WAY_OUTPUT, bytes, sizeof bytes);
        bool ends = n < 0 && !visit->output_ended;
        visit->output_ended = visit->output_ended || n < 0;
        if (n <= 0)
            return i > 0 || ends;
        take_bytes (visit, (struct text) { bytes, (uint32_t) n });
    }
    return true;
}

static void keep_tail (struct visit *visit, const char *bytes, size_t len)
{
    size_t kept = len < TAIL_BYTES ? len : TAIL_BYTES, room = TAIL_BYTES - kept;
    if (visit->tail_len > room) {
        memmove (visit->tail, visit->tail + visit->tail_len - room, room);
        visit->tail_len = room;
    }
    memcpy (visit->tail + visit->tail_len, bytes + len - kept, kept);
    visit->tail_len += kept;
}

static void take_errors (struct visit *visit, const char *bytes, size_t len)
{
    size_t room = LOG_MAX_BYTES - visit->logged_bytes, logged = len < room ? len : room;
    keep_tail (visit, bytes, len);
    if (logged > 0 && write (STDERR_FILENO, bytes, logged) < 0)
        logged = room; /* a log that cannot be written is no reason to fail, and is not tried again */
    visit->logged_bytes += logged;
}

/* True: there may be more. */
static bool listen_to_errors (struct visit *visit)
{
    char bytes[PIECE_BYTES];
    for (int i = 0; i < PIECES_A_LOOK; i++) {
        ssize_t n = visit->way->ops->hear (visit->way, WAY_ERROR, bytes, sizeof bytes);
        visit->errors_ended = visit->errors_ended || n < 0;
        if (n <= 0)
            return false;
        take_errors (visit, bytes, (size_t) n);
    }
    return true;
}

/* ---- ends ---- */

static void explain_lateness (const struct visit *visit, struct err *err)
{
    struct text last = way_last_line ((struct text) { visit->tail, (uint32_t) visit->tail_len });
    struct buf heard;
    buf_init (&heard, TAIL_BYTES);
    way_without_jobs (last.len ? last : text_of (visit->dialogue.remark), &heard);
    voice_lateness (visit->voice, visit->order->deadline_ms, buf_as_text (&heard), err);
    buf_release (&heard);
}

static void take_end (struct visit *visit, const char *how)
{
    struct err err = { 0 };
    enum step step = visit->dialogue.step;
    struct text tail = { visit->tail, (uint32_t) visit->tail_len };
    if (visit->phase == WENT_AHEAD) {
        voice_ended (visit->voice, how);
        finish (visit, 0);
        return;
    }
    bool silent = visit->dialogue.state == AWAITS_HOST && visit->way->ops->explain;
    if (!silent || !visit->way->ops->explain (tail, &step, &err))
        dialogue_ended (&visit->dialogue, how, &err);
    refuse (visit, step, &err);
}

static void look_for_end (struct visit *visit)
{
    struct buf how;
    buf_init (&how, 256);
    if (visit->end.status < 0 && visit->way->ops->ended (visit->way, &how)) {
        uint64_t now_ms = clock_boot_ms ();
        if (visit->ended_ms == 0)
            visit->ended_ms = now_ms;
        listen (visit);
        listen_to_errors (visit);
        bool silent = visit->output_ended && visit->errors_ended;
        if (visit->end.status < 0 && (silent || now_ms - visit->ended_ms >= LAST_WORDS_MS))
            take_end (visit, buf_c (&how));
    }
    buf_release (&how);
}

/* It has let go of its output, which it does on standing on its own; or it fell, and its status comes now. */
static void look_for_leave (struct visit *visit)
{
    uint64_t soon_ms = clock_boot_ms () + STATUS_MS;
    bool silent = visit->output_ended && visit->errors_ended;
    if (visit->phase == WENT_AHEAD && !visit->tied && !visit->ended_ms && silent && soon_ms < visit->until_ms)
        visit->until_ms = soon_ms;
}

static void look_at_clock (struct visit *visit)
{
    struct err err;
    if (visit->end.status >= 0 || visit->until_ms == UINT64_MAX || clock_boot_ms () < visit->until_ms)
        return;
    if (visit->phase == WENT_AHEAD) {
        voice_left (visit->voice);
        finish (visit, 0);
        return;
    }
    explain_lateness (visit, &err);
    refuse (visit, visit->voice->step, &err);
}

/* ---- from the coordinator ---- */

static void go_ahead (struct visit *visit)
{
    visit->phase = WENT_AHEAD;
    visit->until_ms = visit->tied ? UINT64_MAX : clock_boot_ms () + LEAVE_MS;
    buf_puts (&visit->to_send, "GO\n");
}

/* Its end: before GO nothing was begun; after it a tied worker is to end, and sees the end of its own input. */
static void read_input (struct visit *visit)
{
    struct err err = { 0 };
    struct text line;
    if (input_read (visit->input, &err) < 0)
        visit->input->ended = true;
    while (input_line (visit->input, &line))
        if (visit->phase == WAITS_FOR_GO && text_is (line, "GO"))
            go_ahead (visit);
    if (!visit->input->ended || (visit->phase == WENT_AHEAD && !visit->tied))
        return;
    visit->end.leave_ms = visit->phase == WENT_AHEAD ? TIED_LEAVE_MS : 0;
    finish (visit, visit->phase == WENT_AHEAD ? 0 : 1);
}

/* ---- the loop ---- */

static void wait_for_any (struct visit *visit, bool at_once)
{
    int input_fd = visit->input->ended ? -1 : visit->input->fd;
    struct pollfd entries[1 + WAY_FDS_MAX] = { { .fd = input_fd, .events = POLLIN } };
    size_t n = 1 + visit->way->ops->watch (visit->way, has_more (visit), entries + 1);
    uint64_t now_ms = clock_boot_ms (), wait_ms = visit->until_ms > now_ms ? visit->until_ms - now_ms : 0;
    uint64_t look_ms = at_once ? 0 : visit->ended_ms ? 50 : 1000; /* an end that no descriptor tells is seen by then */
    if (wait_ms > look_ms)
        wait_ms = look_ms;
    if (poll (entries, n, (int) wait_ms) > 0 && entries[0].revents)
        read_input (visit);
}

static void run (struct visit *visit)
{
    while (visit->end.status < 0) {
        send_more (visit);
        bool more = listen_to_errors (visit);
        look_for_end (visit);
        look_for_leave (visit);
        look_at_clock (visit);
        /* Last: a look at an ssh connection takes in packets of every kind, and of those no descriptor tells again. */
        more = listen (visit) || more || (visit->unread_bytes > 0 && visit->sent_bytes == visit->to_send.len);
        if (visit->end.status < 0)
            wait_for_any (visit, more);
    }
}

void visit_run (const struct order *order, struct voice *voice, struct input *input, struct way *way, uint64_t until_ms,
                struct visit_end *end)
{
    const struct dialogue_terms terms = { .nonce = order->nonce, .bundle_sha256 = order->bundle_sha256,
                                          .directory = order->directory, .machine = bootstrap_machine,
                                          .launch_line = order->launch, .bundle_bytes = order->bundle_bytes,
                                          .bundle_head_bytes = order->bundle_head_bytes };
    struct visit visit = { .order = order, .voice = voice, .input = input, .way = way, .until_ms = until_ms,
                           .tied = order->tied || order->by == BY_SLURM, .bundle_fd = -1, .end.status = -1 };
    buf_init (&visit.to_send, PIECE_BYTES + ORDER_LAUNCH_MAX_BYTES + ORDER_PATH_MAX_BYTES + 256);
    dialogue_begin (&visit.dialogue, &terms, &visit.to_send);
    run (&visit);
    if (visit.bundle_fd >= 0)
        (void) close (visit.bundle_fd); /* only read */
    buf_release (&visit.to_send);
    *end = visit.end;
}
