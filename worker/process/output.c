#include "worker/process/output.h"

#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/base/utf8.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/logs/candidate.h"
#include "common/logs/log_line.h"
#include "common/logs/words.h"
#include "common/model/msg.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* One call reads at most READ_BYTES, so that a program that prints without end cannot block the loop. */
enum { READ_BYTES = 256 * 1024, PIECE_BYTES = 16 * 1024, TAIL_BYTES = RESULT_TAIL_MAX_BYTES };
enum { RING_BYTES = 2 << 20, LINE_BYTES = 4 * 1024, WORD_BYTES = 32, MARK_BYTES = 256, NOT_TAKEN_MS = 1000 };
enum { FAILURES_MAX = 64 * 1024, BLOCK_LINES_MAX = 256, LEVEL_BYTES = 9 };

/* A place where the output goes: first `head_max` bytes as they come. Then the newest `tail_max` wait in the ring for
 * the end, and what is older is cut. */
struct place {
    uint64_t head_max, tail_max;
    uint64_t to;                         /* output before it is written, or cut */
    uint64_t len;                        /* of the written bytes, with marks */
    uint64_t lines;                      /* that end before `to` */
    uint64_t cut_bytes;                  /* in all */
    bool cutting, whole;                 /* `cutting`: the cut has no mark yet; `whole`: ends with a full line */
    uint64_t unmarked_bytes, from, line; /* of the cut that has no mark yet, and where it begins */
    uint64_t first_from, first_line, last_to, last_line; /* of all cuts */
    struct buf kept;                                     /* kept lines of the cut: the first, and the newest */
    uint32_t half_len;
    uint64_t failures_n;  /* number of noted failures that it has passed */
    uint32_t block_lines; /* lines so far of the failure before `to`, with indented ones; 0: ended */
};

struct output {
    int read_fd, write_fd, file_fd, file_errno; /* file_fd: -1 until something is printed */
    char *path;
    struct place file, link;
    uint64_t bytes;
    struct output_cut cut;
    char *ring; /* byte i of the output is at i % RING_BYTES; the first LINE_BYTES are repeated after its end */
    struct word_finder words;
    uint64_t *failures; /* begins of lines that look like failures; number i is at i % FAILURES_MAX */
    uint64_t failures_n;
    uint64_t send_at_ms;
    uint64_t tokens_bytes, tokens_at_ms;
    struct buf captured;
    output_fn *fn;
    void *owner;
};

static void place_init (struct place *place, uint64_t head_bytes, uint64_t end_bytes, uint64_t kept_max_bytes)
{
    place->head_max = head_bytes;
    place->tail_max = end_bytes - end_bytes / 8;
    place->whole = true;
    buf_init (&place->kept, least_u64 (end_bytes / 16, kept_max_bytes));
}

struct output *output_open (const char *path, uint64_t limit_bytes, output_fn *fn, void *owner, struct err *err)
{
    int ends[2];
    if (pipe2 (ends, O_CLOEXEC) < 0 || fcntl (ends[0], F_SETFL, O_NONBLOCK) < 0) {
        err_errno (err, ERR_IO, "cannot make a pipe for the program's output");
        return NULL;
    }
    struct output *output = mem_alloc (sizeof *output);
    output->read_fd = ends[0];
    output->write_fd = ends[1];
    output->file_fd = -1;
    output->path = mem_text (path);
    uint64_t end_bytes = least_u64 (limit_bytes / 2, RING_BYTES), live_bytes = log_live_bytes (limit_bytes);
    place_init (&output->file, limit_bytes - end_bytes, end_bytes, RING_BYTES);
    place_init (&output->link, live_bytes, limit_bytes - live_bytes, LOG_CHUNK_MAX_BYTES - MARK_BYTES);
    output->send_at_ms = UINT64_MAX;
    output->tokens_bytes = OUTPUT_RATE_BYTES;
    output->fn = fn;
    output->owner = owner;
    return output;
}

int output_read_fd (const struct output *output)
{
    return output->read_fd;
}

int output_write_fd (const struct output *output)
{
    return output->write_fd;
}

void output_close_write (struct output *output)
{
    fd_close (output->write_fd);
    output->write_fd = -1;
}

void output_close (struct output *output)
{
    if (!output)
        return;
    output_close_write (output);
    close (output->read_fd);
    fd_close (output->file_fd);
    buf_release (&output->captured);
    buf_release (&output->file.kept);
    buf_release (&output->link.kept);
    mem_free (output->ring);
    mem_free (output->failures);
    mem_free (output->path);
    mem_free (output);
}

/* ---- the ring ---- */

/* The output from there on that is contiguous: at least LINE_BYTES. */
static struct text ring_text (const struct output *output, uint64_t from, uint64_t most)
{
    uint64_t at = from % RING_BYTES;
    uint64_t len = least_u64 (output->bytes - from, least_u64 (RING_BYTES + LINE_BYTES - at, most));
    return (struct text){ output->ring + at, (uint32_t) len };
}

/* The end of the line at `at`, or of its present or longest part. */
static uint64_t line_end (const struct output *output, uint64_t at)
{
    struct text line = ring_text (output, at, LINE_BYTES);
    const char *end = memchr (line.ptr, '\n', line.len);
    return at + (end ? (uint64_t) (end + 1 - line.ptr) : line.len);
}

static uint64_t line_begin (const struct output *output, uint64_t at)
{
    uint64_t from = at - least_u64 (at, LINE_BYTES);
    while (at > from && output->ring[(at - 1) % RING_BYTES] != '\n')
        at--;
    return at;
}

/* Of the failures noted, the first that it has not passed. */
static uint64_t pass_failures (const struct output *output, struct place *place)
{
    while (place->failures_n < output->failures_n && output->failures[place->failures_n % FAILURES_MAX] < place->to)
        place->failures_n++;
    return place->failures_n;
}

/* When full the newest is not noted, since the cause came first. */
static void note_failure (struct output *output, uint64_t begin)
{
    uint64_t oldest = least_u64 (pass_failures (output, &output->file), pass_failures (output, &output->link));
    bool seen = output->failures_n && output->failures[(output->failures_n - 1) % FAILURES_MAX] >= begin;
    if (!seen && output->failures_n - oldest < FAILURES_MAX)
        output->failures[output->failures_n++ % FAILURES_MAX] = begin;
}

static void note_failures (struct output *output, uint64_t from, struct text text)
{
    for (uint32_t at = 0; (at = word_finder_next (&output->words, text, at)) < text.len;) {
        if (text.ptr[at] == '\n' && !log_line_level (text_clip (words_from (text, ++at), LEVEL_BYTES)))
            continue;
        uint64_t end = line_end (output, from + at);
        note_failure (output, line_begin (output, from + at));
        at = end - from < text.len ? (uint32_t) (end - from) - 1 : text.len;
    }
}

/* A word may span the earlier and the new bytes. */
static void ring_add (struct output *output, struct text bytes)
{
    uint64_t from = output->bytes, before = from - least_u64 (from, WORD_BYTES);
    uint32_t at = (uint32_t) (from % RING_BYTES), first = (uint32_t) least_u64 (bytes.len, RING_BYTES - at);
    if (!output->ring) { /* many programs print nothing: its memory is made at the first byte, and so is the file */
        output->ring = mem_grow (NULL, RING_BYTES + LINE_BYTES, 1); /* nobody reads what was not written */
        output->failures = mem_grow (NULL, FAILURES_MAX, sizeof *output->failures);
        candidate_words (&output->words);
    }
    memcpy (output->ring + at, bytes.ptr, first);
    memcpy (output->ring, bytes.ptr + first, bytes.len - first);
    if (at < LINE_BYTES || first < bytes.len)
        memcpy (output->ring + RING_BYTES, output->ring, LINE_BYTES);
    output->bytes += bytes.len;
    note_failures (output, before, ring_text (output, before, from - before + WORD_BYTES));
    note_failures (output, from, bytes);
}

/* ---- cuts ---- */

static void count_cut (struct place *place, uint64_t bytes)
{
    place->cut_bytes += bytes;
    place->unmarked_bytes += bytes;
}

/* Of a long line the beginning, and its last byte. */
static void keep_line (struct place *place, struct text line)
{
    struct buf *kept = &place->kept;
    struct text clipped = text_clip (line, (uint32_t) kept->max / 4);
    bool cut = clipped.len < line.len;
    count_cut (place, line.len - clipped.len - cut);
    if (!place->half_len && kept->len + clipped.len + cut > kept->max / 2)
        place->half_len = (uint32_t) kept->len;
    if (kept->len + clipped.len + cut > kept->max) {
        count_cut (place, kept->len - place->half_len);
        kept->len = place->half_len;
    }
    buf_add_text (kept, clipped);
    buf_add (kept, line.ptr + line.len - 1, cut);
}

static void begin_cut (struct place *place)
{
    if (place->cutting)
        return;
    place->cutting = true;
    place->from = place->to;
    place->line = place->lines + 1;
    place->first_from = place->cut_bytes ? place->first_from : place->from;
    place->first_line = place->cut_bytes ? place->first_line : place->line;
}

static uint64_t line_ends (struct text text)
{
    uint64_t n = 0;
    for (const char *at = text.ptr, *end = at + text.len; (at = memchr (at, '\n', (size_t) (end - at))) != NULL; at++)
        n++;
    return n;
}

static void pass_by (struct output *output, struct place *place, uint64_t to)
{
    while (place->to < to) {
        struct text part = ring_text (output, place->to, to - place->to);
        place->lines += line_ends (part);
        place->to += part.len;
    }
}

/* Where the next line begins that looks like a failure; at most `end`. */
static uint64_t next_failure (const struct output *output, struct place *place, uint64_t end)
{
    uint64_t n = pass_failures (output, place);
    return n == output->failures_n ? end : least_u64 (output->failures[n % FAILURES_MAX], end);
}

/* Keeps with a failure its indented lines and the next one, which names a traceback's exception. */
static bool stays (const struct output *output, struct place *place, bool failure)
{
    char first = output->ring[place->to % RING_BYTES];
    bool indented = first == ' ' || first == '\t', goes_on = place->block_lines && indented;
    bool last = place->block_lines > 1 && !indented;
    place->block_lines = goes_on ? place->block_lines + 1 : failure;
    return failure || last || (goes_on && place->block_lines <= BLOCK_LINES_MAX);
}

static void cut_line (struct output *output, struct place *place, bool failure)
{
    struct text line = ring_text (output, place->to, line_end (output, place->to) - place->to);
    if (stays (output, place, failure))
        keep_line (place, line);
    else
        count_cut (place, line.len);
    pass_by (output, place, place->to + line.len);
}

/* Cuts whole lines, until at most `most` bytes wait. */
static void cut_to (struct output *output, struct place *place, uint64_t most)
{
    if (output->bytes - place->to <= most)
        return;
    uint64_t end = line_end (output, output->bytes - most - 1);
    begin_cut (place);
    while (place->to < end) {
        uint64_t failure = next_failure (output, place, end);
        if (failure == place->to || place->block_lines) {
            cut_line (output, place, failure == place->to);
            continue;
        }
        count_cut (place, failure - place->to);
        pass_by (output, place, failure);
    }
    place->last_to = place->to;
    place->last_line = place->lines + 1;
}

/* Cuts all that waits, since the place is full. */
static void cut_all (struct output *output, struct place *place)
{
    cut_to (output, place, 0);
    count_cut (place, place->kept.len);
    buf_clear (&place->kept);
}

/* ---- to both places ---- */

/* Whatever a program put in the place of an earlier log is not written to. */
static int file_open (const char *path)
{
    char folder[PATH_MAX];
    if (folder_make (path_folder_c (path, folder), 0700, NULL) < 0 || (unlink (path) < 0 && errno != ENOENT))
        return -1;
    return open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A full disk costs the log, not the program; what is missing is counted. */
static bool file_write (struct output *output, struct text bytes)
{
    if (output->file_fd < 0)
        output->file_fd = file_open (output->path);
    ssize_t put = output->file_fd < 0 ? -1 : pwrite (output->file_fd, bytes.ptr, bytes.len, (off_t) output->file.len);
    if (put == (ssize_t) bytes.len)
        return true;
    output->file_errno = put < 0 ? errno : ENOSPC;
    (void) !ftruncate (output->file_fd, (off_t) output->file.len); /* no file: there is nothing to cut */
    output->file.head_max = output->file.len;
    return false;
}

static bool link_send (struct output *output, struct text bytes)
{
    struct output_chunk chunk = { .offset = output->link.len, .bytes = bytes };
    output->tokens_bytes -= least_u64 (output->tokens_bytes, bytes.len);
    return output->fn (output->owner, &chunk);
}

static bool put (struct output *output, struct place *place, struct text bytes)
{
    if (!(place == &output->file ? file_write (output, bytes) : link_send (output, bytes)))
        return false;
    place->len += bytes.len;
    place->whole = bytes.len ? bytes.ptr[bytes.len - 1] == '\n' : place->whole;
    return true;
}

/* Towards the coordinator it fits into one chunk. */
static bool put_mark (struct output *output, struct place *place)
{
    LOCAL_BUF mark = { .max = place->kept.len + MARK_BYTES };
    buf_printf (&mark,
                "%s[sliceup] %" PRIu64 " bytes are cut here: from byte %" PRIu64 ", line %" PRIu64 ", to byte %" PRIu64
                ", line %" PRIu64 "%s\n",
                place->whole ? "" : "\n", place->unmarked_bytes, place->from, place->line, place->to, place->lines + 1,
                place->kept.len ? "; these lines of it stay:" : "");
    buf_add_text (&mark, buf_as_text (&place->kept));
    if (place->kept.len)
        buf_printf (&mark, "%s[sliceup] whole again from byte %" PRIu64 " on\n",
                    mark.ptr[mark.len - 1] == '\n' ? "" : "\n", place->to);
    if (!put (output, place, buf_as_text (&mark)))
        return false;
    place->cutting = false;
    place->unmarked_bytes = place->half_len = place->block_lines = 0;
    buf_clear (&place->kept);
    return true;
}

/* Writes as much of the waiting bytes as is contiguous. */
static bool put_some (struct output *output, struct place *place, uint64_t most)
{
    if (place->cutting && !put_mark (output, place))
        return false;
    struct text part = ring_text (output, place->to, most);
    if (!put (output, place, part))
        return false;
    pass_by (output, place, place->to + part.len);
    return true;
}

static void file_begin (struct output *output)
{
    struct place *file = &output->file;
    while (file->to < output->bytes && file->len < file->head_max)
        (void) put_some (output, file, file->head_max - file->len); /* failing closes the head */
    if (file->len >= file->head_max)
        cut_to (output, file, file->tail_max);
}

void output_write_end (struct output *output)
{
    struct place *file = &output->file;
    uint64_t cut_at = file->len;
    bool cuts = file->cutting, done = !cuts || put_mark (output, file);
    if (cuts && done && file->to < output->bytes)
        output->cut = (struct output_cut){ cut_at, file->len, file->to };
    while (done && file->to < output->bytes)
        done = put_some (output, file, RING_BYTES);
    if (!done)
        cut_all (output, file);
}

static void earn_tokens (struct output *output, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - output->tokens_at_ms;
    output->tokens_at_ms = now_ms;
    output->tokens_bytes += passed_ms > 1000 ? OUTPUT_RATE_BYTES : passed_ms * OUTPUT_RATE_BYTES / 1000;
    output->tokens_bytes = least_u64 (output->tokens_bytes, OUTPUT_RATE_BYTES);
}

/* Sends full chunks of the waiting bytes, or `all` of them, as far as allowed now. */
static void send_pending (struct output *output, bool all, bool last, uint64_t now_ms)
{
    struct place *link = &output->link;
    bool taken = true;
    earn_tokens (output, now_ms);
    while (taken && link->to < output->bytes && (all || output->bytes - link->to >= LOG_CHUNK_MAX_BYTES) &&
           (last || (link->len < link->head_max && output->tokens_bytes >= LOG_CHUNK_MAX_BYTES + link->kept.len)))
        taken = put_some (output, link,
                          last ? LOG_CHUNK_MAX_BYTES : least_u64 (LOG_CHUNK_MAX_BYTES, link->head_max - link->len));
    bool waits = link->to < output->bytes && link->len < link->head_max;
    output->send_at_ms = waits ? now_ms + (taken ? OUTPUT_GATHER_MS : NOT_TAKEN_MS) : UINT64_MAX;
}

static void output_take (struct output *output, struct text bytes, uint64_t now_ms)
{
    size_t room = output->captured.max - output->captured.len;
    buf_add (&output->captured, bytes.ptr, least_u64 (bytes.len, room));
    ring_add (output, bytes);
    file_begin (output);
    if (output->bytes - output->link.to >= LOG_CHUNK_MAX_BYTES)
        send_pending (output, false, false, now_ms);
    else if (output->send_at_ms == UINT64_MAX && output->link.len < output->link.head_max)
        output->send_at_ms = now_ms + OUTPUT_GATHER_MS;
    cut_to (output, &output->link, output->link.tail_max);
}

bool output_read (struct output *output, uint64_t now_ms)
{
    char bytes[PIECE_BYTES];
    for (size_t taken = 0; taken < READ_BYTES;) {
        ssize_t got = fd_read (output->read_fd, bytes, sizeof bytes);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        taken += (size_t) got;
        output_take (output, (struct text){ bytes, (uint32_t) got }, now_ms);
    }
    return true;
}

void output_add_line (struct output *output, struct text line, uint64_t now_ms)
{
    bool inside = output->bytes && output->ring[(output->bytes - 1) % RING_BYTES] != '\n';
    LOCAL_BUF ours = { .max = TAIL_BYTES };
    buf_printf (&ours, "%s[sliceup] ", inside ? "\n" : "");
    buf_add_text (&ours, text_clip (line, TAIL_BYTES / 2));
    buf_puts (&ours, "\n");
    output_take (output, buf_as_text (&ours), now_ms);
}

void output_capture (struct output *output, uint32_t bytes)
{
    buf_release (&output->captured);
    buf_init (&output->captured, bytes);
}

struct text output_captured (const struct output *output)
{
    return buf_as_text (&output->captured);
}

void output_send_due (struct output *output, uint64_t now_ms)
{
    if (now_ms >= output->send_at_ms)
        send_pending (output, true, false, now_ms);
}

uint64_t output_deadline_ms (const struct output *output)
{
    return output->send_at_ms;
}

bool output_send_last (struct output *output, bool gives_up, uint64_t now_ms)
{
    struct place *link = &output->link;
    send_pending (output, true, true, now_ms);
    bool over = gives_up || (link->to == output->bytes && (!link->cutting || put_mark (output, link)));
    if (over)
        cut_all (output, link);
    output->send_at_ms = over ? UINT64_MAX : now_ms + OUTPUT_GATHER_MS;
    return over;
}

/* ---- what is known ---- */

uint64_t output_bytes (const struct output *output)
{
    return output->bytes;
}

uint64_t output_dropped_bytes (const struct output *output)
{
    return output->file.cut_bytes;
}

uint64_t output_unsent_bytes (const struct output *output)
{
    return output->link.cut_bytes;
}

uint64_t output_sent_bytes (const struct output *output)
{
    return output->link.len;
}

struct output_cut output_cut (const struct output *output)
{
    return output->cut;
}

static void put_cut (const struct place *place, const char *where, struct buf *out)
{
    buf_printf (out,
                "; %s lacks %" PRIu64 " of them, between byte %" PRIu64 " (line %" PRIu64 ") and byte %" PRIu64
                " (line %" PRIu64 ")",
                where, place->cut_bytes, place->first_from, place->first_line, place->last_to, place->last_line);
}

struct text output_cut_text (const struct output *output, struct arena *arena)
{
    struct buf out = { .max = SENTENCE_MAX_BYTES };
    if (output->file.cut_bytes || output->link.cut_bytes)
        buf_printf (&out, "%" PRIu64 " bytes were printed", output->bytes);
    if (output->file.cut_bytes)
        put_cut (&output->file, "the log on the host", &out);
    if (output->file.cut_bytes && output->file_errno)
        buf_printf (&out, ": cannot write %s: %s", output->path, strerror (output->file_errno));
    if (output->link.cut_bytes)
        put_cut (&output->link, "the coordinator's log", &out);
    return buf_finish (&out, arena);
}

struct text output_raw_tail (const struct output *output, struct arena *arena)
{
    uint64_t len = least_u64 (output->bytes, TAIL_BYTES);
    return text_copy (arena, ring_text (output, output->bytes - len, len));
}

/* Its last bytes, but not from the middle of a character. */
static struct text last_bytes (struct text text, uint32_t bytes)
{
    uint32_t from = text.len > bytes ? text.len - bytes : 0;
    while (from && from < text.len && (text.ptr[from] & 0xC0) == 0x80)
        from++;
    return words_from (text, from);
}

/* Takes one byte more, to see a cut character; cleaning makes text longer. */
struct text output_tail (const struct output *output, struct arena *arena)
{
    uint64_t len = least_u64 (output->bytes, TAIL_BYTES + 1);
    struct text end = last_bytes (ring_text (output, output->bytes - len, len), TAIL_BYTES);
    return last_bytes (text_repair_utf8 (arena, end, 3 * TAIL_BYTES), TAIL_BYTES);
}

struct text output_value (const struct output *output, struct arena *arena)
{
    struct digest_state *state = digest_begin ();
    char hex[DIGEST_HEX_BYTES];
    uint64_t at = output->bytes - least_u64 (output->bytes, RING_BYTES);
    for (struct text part; at < output->bytes; at += part.len) {
        part = ring_text (output, at, RING_BYTES);
        digest_add (state, part.ptr, part.len);
    }
    struct digest digest = digest_end (state);
    digest_hex (&digest, hex);
    struct text shown = last_bytes (output_tail (output, arena), OUTPUT_VALUE_BYTES), value = shown;
    if (output->bytes > OUTPUT_VALUE_BYTES) {
        (void) text_take_until (&shown, '\n'); /* whole lines: no half of a secret, which nobody would know for one */
        value = text_format (arena, "%" PRIu64 " bytes, sha256 %.12s, at its end: %.*s", output->bytes, hex,
                             TEXT_ARG (shown));
    }
    value = text_copy (arena, text_trimmed (value));
    for (char *line = (char *) value.ptr; (line = memchr (line, '\n', value.len - (size_t) (line - value.ptr)));)
        *line = '|';
    return value;
}
