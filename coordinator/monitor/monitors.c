#include "coordinator/monitor/monitors.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/journal/database.h"
#include "coordinator/monitor/key_file.h"

/* An answer of 256 KiB each 8 ms is 32 MiB a second: a tenth of what one thread encrypts, and libzmq has one. Few are
 * made at a time, so that turns are decided late. */
enum { ANSWERS_AT_ONCE = 2, PACE_MS = 8, PACE_LEAST_MS = 1, ENTRIES_MAX = 4096 };
/* Questions taken in a pass of the loop; the rest comes a little later, so that workers are not delayed. */
enum { QUESTIONS_A_PASS = 64, PASS_MS = 5 };
enum { PROBE_MS = 100 };

struct monitors {
    struct loop *loop;
    const struct run_dir *dir;
    struct hub *hub;
    const struct journal *recorded; /* gives the last durable index */
    const struct log *log;
    struct workqueue *workqueue;
    int inotify_fd;
    struct query_queue query_queue;
    uint32_t making;          /* answers */
    bool ended;               /* everything is recorded */
    uint64_t probe_ms;        /* when to check next for monitors without the end */
    bool looking, look_again; /* at the folder */
    bool said_refused;        /* logged once, since it may repeat without end */
    char journal_path[RUN_PATH_BYTES];
    bool said_damaged;
    struct journal_reader *journal; /* on the task thread only */
};

/* ---- answers: on the task thread ---- */

struct answer {
    struct monitors *monitors;
    struct hub_monitor to;
    struct snapshot_position from;
    uint64_t up_to; /* the last durable fact when it began; SQLite may briefly show more */
    bool told_all;  /* up to there */
    struct buf frames[SNAPSHOT_FRAMES];
    uint32_t n;
    bool after_end; /* begun when everything was recorded */
    struct err err;
};

static struct buf *add_frame (struct answer *answer)
{
    struct buf *frame = &answer->frames[answer->n++];
    buf_init (frame, ANSWER_MAX_BYTES);
    snapshot_begin_answer (frame);
    return frame;
}

/* False: the answer is full. */
static bool add_fact (struct answer *answer, struct snapshot_piece piece)
{
    while (piece.bytes.len > 0) {
        uint32_t put = snapshot_put_piece (&answer->frames[answer->n - 1], &piece);
        piece.offset += put;
        text_skip (&piece.bytes, put);
        if (piece.bytes.len > 0 && answer->n == SNAPSHOT_FRAMES)
            return false;
        if (piece.bytes.len > 0)
            add_frame (answer);
    }
    return true;
}

/* -1 without an error: the answer is full, or complete. */
static int take_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct answer *answer = owner;
    struct snapshot_piece piece = { .index = index, .size_bytes = bytes.len };
    (void) err;
    answer->told_all = index > answer->up_to;
    if (answer->told_all)
        return -1;
    if (index == answer->from.index)
        piece.offset = answer->from.offset < bytes.len ? answer->from.offset : 0;
    piece.bytes = (struct text){ bytes.ptr + piece.offset, bytes.len - piece.offset };
    return add_fact (answer, piece) ? 0 : -1;
}

/* Verifies each fact by the chain, so that monitors need not trust the disk. */
static int add_facts (struct answer *answer, struct err *err)
{
    struct monitors *monitors = answer->monitors;
    uint64_t after = answer->from.index ? answer->from.index - 1 : 0;
    if (!monitors->journal && !(monitors->journal = journal_reader_open (monitors->journal_path, err)))
        return -1;
    int rc = journal_reader_seek (monitors->journal, after, err);
    if (rc == 0)
        rc = journal_reader_read_rest (monitors->journal, take_fact, answer, err);
    if (rc < 0 && err->code)
        return -1;
    if (rc >= 0 || answer->told_all)
        snapshot_set_flag (&answer->frames[answer->n - 1], SNAPSHOT_END);
    return 0;
}

static void answer_work (void *job)
{
    struct answer *answer = job;
    add_frame (answer);
    if (add_facts (answer, &answer->err) < 0)
        return;
    snapshot_set_flag (&answer->frames[answer->n - 1], SNAPSHOT_LAST);
    (void) poll (NULL, 0, answer->n > 1 ? PACE_MS : PACE_LEAST_MS);
}

/* ---- whose turn it is ---- */

/* Gone, or slow: it asks again for what it misses. */
static bool send_answer (struct monitors *monitors, const struct answer *answer)
{
    for (uint32_t i = 0; i < answer->n; i++)
        if (!hub_answer (monitors->hub, &answer->to, answer->frames[i].ptr, answer->frames[i].len))
            return false;
    return true;
}

static bool tells_all (const struct answer *answer)
{
    const struct buf *last = &answer->frames[answer->n - 1];
    return answer->after_end && snapshot_has_flag (buf_as_text (last), SNAPSHOT_END);
}

static void monitors_serve (struct monitors *monitors);

static void answer_done (void *job)
{
    LOCAL_MEM struct answer *answer = job;
    struct monitors *monitors = answer->monitors;
    monitors->making--;
    bool damaged = answer->err.code == ERR_DAMAGE;
    if (damaged && !monitors->said_damaged)
        log_print (monitors->log, "cannot answer requests of monitors: %s", answer->err.text);
    else if (answer->err.code)
        log_detail (monitors->log, "cannot answer the request of a monitor: %s", answer->err.text);
    monitors->said_damaged |= damaged;
    bool sent = !answer->err.code && send_answer (monitors, answer);
    query_queue_done (&monitors->query_queue, &answer->to, sent && tells_all (answer));
    for (uint32_t i = 0; i < answer->n; i++)
        buf_release (&answer->frames[i]);
    monitors_serve (monitors);
}

static bool make_answer (struct monitors *monitors, const struct hub_monitor *to, const struct snapshot_position *from)
{
    struct answer *answer = mem_alloc (sizeof *answer);
    *answer = (struct answer){ .monitors = monitors,
                               .to = *to,
                               .from = *from,
                               .after_end = monitors->ended,
                               .up_to = journal_durable_index (monitors->recorded) };
    monitors->making++;
    if (workqueue_submit (monitors->workqueue, answer_work, answer_done, answer))
        return true;
    monitors->making--;
    mem_free (answer);
    return false;
}

static void monitors_serve (struct monitors *monitors)
{
    struct hub_monitor who;
    struct snapshot_position from;
    while (monitors->making < ANSWERS_AT_ONCE && query_queue_next (&monitors->query_queue, &who, &from))
        if (!make_answer (monitors, &who, &from)) {
            query_queue_done (&monitors->query_queue, &who, false); /* only while closing */
            return;
        }
}

uint64_t monitors_poll (struct monitors *monitors)
{
    struct hub_monitor from;
    struct text question;
    struct snapshot_position position;
    uint32_t taken = 0;
    uint64_t now_ms = clock_boot_ms ();
    /* "listen", or a later version's question: needs no answer. */
    for (; taken < QUESTIONS_A_PASS && hub_receive_question (monitors->hub, &from, &question); taken++)
        if (snapshot_parse_question (question, &position))
            query_queue_add (&monitors->query_queue, &from, &position, now_ms);
    monitors_serve (monitors);
    return taken == QUESTIONS_A_PASS || hub_questions_remain (monitors->hub) ? now_ms + PASS_MS : UINT64_MAX;
}

/* ---- the end ---- */

void monitors_note_run_ended (struct monitors *monitors)
{
    monitors->ended = true;
    query_queue_note_run_ended (&monitors->query_queue);
}

/* A monitor that disconnected saw the end or is not interested. Sending an empty answer shows whether it is
 * connected. */
static bool is_gone (struct monitors *monitors, const struct hub_monitor *who)
{
    LOCAL_BUF frame = { .max = SNAPSHOT_HEAD_BYTES };
    snapshot_begin_answer (&frame);
    return !hub_answer (monitors->hub, who, frame.ptr, frame.len) && errno == EHOSTUNREACH;
}

bool monitors_are_caught_up (struct monitors *monitors)
{
    struct hub_monitor who;
    uint64_t now_ms = clock_boot_ms ();
    uint32_t at = 0, left = 0;
    if (now_ms < monitors->probe_ms)
        return false;
    monitors->probe_ms = now_ms + PROBE_MS;
    while (query_queue_next_pending (&monitors->query_queue, now_ms, MONITOR_STAY_MS, &at, &who)) {
        if (is_gone (monitors, &who))
            query_queue_note_gone (&monitors->query_queue, &who);
        else
            left++;
    }
    return left == 0;
}

/* ---- who may listen: the folder, on the task thread ---- */

struct look {
    struct monitors *monitors;
    char keys[MONITORS_MAX][LINK_KEY_BYTES];
    uint32_t n;
    bool more;
    struct err err;
};

static void monitors_look_at (struct look *look, const char *folder, const char *name)
{
    struct err err = { 0 };
    char path[RUN_PATH_BYTES];
    if (!public_key_is_file_name (name))
        return;
    if (look->n == MONITORS_MAX) {
        look->more = true;
        return;
    }
    if (snprintf (path, sizeof path, "%s/%s", folder, name) >= (int) sizeof path)
        return;
    if (public_key_load (path, look->keys[look->n], &err) == 0)
        look->n++;
    else if (!look->err.code)
        look->err = err;
}

static void look_work (void *job)
{
    struct look *look = job;
    char folder[RUN_PATH_BYTES];
    struct dirent *entry;
    run_dir_path (look->monitors->dir, MONITORS_FOLDER, folder);
    LOCAL_DIR entries = opendir (folder);
    if (!entries) {
        err_errno (&look->err, ERR_IO, "folder %s cannot be read", folder);
        return;
    }
    for (uint32_t i = 0; i < ENTRIES_MAX && (entry = readdir (entries)) != NULL; i++)
        monitors_look_at (look, folder, entry->d_name);
}

static void submit_look (struct monitors *monitors);

static void look_done (void *job)
{
    LOCAL_MEM struct look *found = job;
    struct monitors *monitors = found->monitors;
    monitors->looking = false;
    for (uint32_t i = 0; i < found->n; i++)
        if (hub_admit_monitor (monitors->hub, text_of (found->keys[i]), found->err.code ? NULL : &found->err) < 0)
            continue; /* the first error is said below */
    if (found->more && !found->err.code)
        err_set (&found->err, ERR_LIMIT, "a run can have at most %d monitor keys, but the run's folder holds more",
                 MONITORS_MAX);
    if (found->err.code && !monitors->said_refused)
        log_print (monitors->log, "some monitors cannot connect: %s", found->err.text);
    monitors->said_refused |= found->err.code != ERR_NONE;
    if (monitors->look_again)
        submit_look (monitors);
}

static void submit_look (struct monitors *monitors)
{
    monitors->look_again = monitors->looking;
    if (monitors->looking)
        return;
    struct look *job = mem_alloc (sizeof *job);
    job->monitors = monitors;
    monitors->looking = workqueue_submit (monitors->workqueue, look_work, look_done, job);
    if (!monitors->looking)
        mem_free (job); /* only while closing */
}

/* Reads the keys of the run's folder before anybody can connect. */
static void look_now (struct monitors *monitors)
{
    struct look *job = mem_alloc (sizeof *job);
    job->monitors = monitors;
    look_work (job);
    look_done (job);
}

static void take_change (void *owner, int fd, uint32_t events)
{
    char changes[4096];
    struct monitors *monitors = owner;
    (void) events;
    if (read (fd, changes, sizeof changes) > 0) /* which ones does not matter: all are read; more make another event */
        submit_look (monitors);
}

/* ---- life ---- */

static void take_edge (void *owner, int fd, uint32_t events)
{
    (void) owner;
    (void) fd;
    (void) events; /* monitors_poll follows at the end of the pass */
}

static int watch_folder (struct monitors *monitors, struct err *err)
{
    char folder[RUN_PATH_BYTES];
    run_dir_path (monitors->dir, MONITORS_FOLDER, folder);
    if (folder_make (folder, 0700, err) < 0)
        return -1;
    monitors->inotify_fd = inotify_init1 (IN_CLOEXEC | IN_NONBLOCK);
    uint32_t changes = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE; /* CREATE: of a link, as key_file.c makes it */
    if (monitors->inotify_fd < 0 || inotify_add_watch (monitors->inotify_fd, folder, changes) < 0)
        return err_errno (err, ERR_IO, "cannot watch folder %s for new monitor keys", folder);
    return loop_watch (monitors->loop, monitors->inotify_fd, EPOLLIN, take_change, monitors, err);
}

struct monitors *monitors_open (struct loop *loop, const struct run_dir *dir, struct hub *hub,
                                const struct journal *recorded, const struct log *log, struct err *err)
{
    struct monitors *monitors = mem_alloc (sizeof *monitors);
    *monitors =
        (struct monitors){ .loop = loop, .dir = dir, .hub = hub, .recorded = recorded, .log = log, .inotify_fd = -1 };
    run_dir_path (dir, "journal.db", monitors->journal_path);
    if ((monitors->workqueue = workqueue_open (loop, err)) == NULL || watch_folder (monitors, err) < 0)
        goto failed;
    if (loop_watch (loop, hub_events_fd (hub), EPOLLIN, take_edge, monitors, err) < 0)
        goto failed;
    look_now (monitors);
    return monitors;
failed:
    monitors_close (monitors);
    return NULL;
}

void monitors_close (struct monitors *monitors)
{
    if (!monitors)
        return;
    loop_forget (monitors->loop, hub_events_fd (monitors->hub));
    if (monitors->inotify_fd >= 0) {
        loop_forget (monitors->loop, monitors->inotify_fd);
        close (monitors->inotify_fd);
    }
    monitors->look_again = false;
    workqueue_close (monitors->workqueue);
    journal_reader_close (monitors->journal);
    mem_free (monitors);
}

/* ---- snapshot ---- */

static const char question[] = "facts ";

/* ---- questions ---- */

size_t snapshot_write_question (const struct snapshot_position *position, char out[QUESTION_MAX_BYTES + 1])
{
    int len = snprintf (out, QUESTION_MAX_BYTES + 1, "%s%" PRIu64 " %" PRIu32, question, position->index,
                        position->offset);
    assert (len > 0 && len <= QUESTION_MAX_BYTES);
    return (size_t) len;
}

bool snapshot_parse_question (struct text asked, struct snapshot_position *position)
{
    struct text first;
    uint64_t index, offset;
    if (!text_starts (asked, question))
        return false;
    text_skip (&asked, sizeof question - 1);
    if (!text_cut (&asked, ' ', &first) || !text_to_u64 (first, &index) || !text_to_u64 (asked, &offset) ||
        index == 0 || index > INT64_MAX || offset > UINT32_MAX)
        return false;
    *position = (struct snapshot_position){ .index = index, .offset = (uint32_t) offset };
    return true;
}

/* ---- answers ---- */

static void put_number (struct buf *frame, uint64_t number, uint32_t bytes)
{
    while (bytes-- > 0)
        buf_byte (frame, (uint8_t) (number >> (8 * bytes)));
}

static uint64_t get_number (const char *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++)
        number = number << 8 | (uint8_t) at[i];
    return number;
}

void snapshot_begin_answer (struct buf *frame)
{
    buf_clear (frame);
    buf_byte (frame, SNAPSHOT_MARK);
    buf_byte (frame, 0);
}

uint32_t snapshot_put_piece (struct buf *frame, const struct snapshot_piece *piece)
{
    size_t room = frame->max - frame->len;
    if (room <= SNAPSHOT_PIECE_BYTES)
        return 0;
    room -= SNAPSHOT_PIECE_BYTES;
    uint32_t len = piece->bytes.len < room ? piece->bytes.len : (uint32_t) room;
    put_number (frame, piece->index, 8);
    put_number (frame, piece->size_bytes, 4);
    put_number (frame, piece->offset, 4);
    put_number (frame, len, 4);
    buf_add (frame, piece->bytes.ptr, len);
    return len;
}

void snapshot_set_flag (struct buf *frame, enum snapshot_flag flag)
{
    frame->ptr[1] |= (uint8_t) flag;
}

bool snapshot_is_answer (struct text frame)
{
    return frame.len >= SNAPSHOT_HEAD_BYTES && frame.ptr[0] == SNAPSHOT_MARK;
}

bool snapshot_has_flag (struct text frame, enum snapshot_flag flag)
{
    return snapshot_is_answer (frame) && (frame.ptr[1] & flag) != 0;
}

bool snapshot_next_piece (struct text frame, uint32_t *at, struct snapshot_piece *piece)
{
    if (*at > frame.len || frame.len - *at < SNAPSHOT_PIECE_BYTES)
        return false;
    const char *head = frame.ptr + *at;
    uint32_t size_bytes = (uint32_t) get_number (head + 8, 4), offset = (uint32_t) get_number (head + 12, 4);
    uint32_t len = (uint32_t) get_number (head + 16, 4);
    if (len > frame.len - *at - SNAPSHOT_PIECE_BYTES || offset > size_bytes || len > size_bytes - offset)
        return false;
    *piece = (struct snapshot_piece){ .index = get_number (head, 8),
                                      .size_bytes = size_bytes,
                                      .offset = offset,
                                      .bytes = { head + SNAPSHOT_PIECE_BYTES, len } };
    *at += SNAPSHOT_PIECE_BYTES + len;
    return true;
}
