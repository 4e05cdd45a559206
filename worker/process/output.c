#include "worker/process/output.h"

#include "common/base/utf8.h"
#include "common/io/fd.h"
#include "common/model/msg.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* One call reads this much at most, so that a program that never stops printing cannot keep the loop. */
enum { READ_BYTES = 256 * 1024, TAIL_BYTES = RESULT_TAIL_MAX_BYTES };

struct output {
    int read_fd, write_fd, file_fd;
    uint64_t file_max_bytes, file_bytes;
    uint64_t bytes, dropped_bytes, unsent_bytes;
    char tail[TAIL_BYTES];             /* a ring over all bytes: byte i stands at i % TAIL_BYTES */
    char pending[LOG_CHUNK_MAX_BYTES]; /* gathered, because programs print a line at a time */
    uint32_t pending_len;
    uint64_t send_at_ms;
    uint64_t tokens_bytes, tokens_at_ms;
    struct buf captured;
    output_fn *fn;
    void *owner;
};

static int open_file (const char *path, struct err *err)
{
    if (unlink (path) < 0 && errno != ENOENT)
        return err_errno (err, ERR_IO, "cannot remove the earlier log %s", path);
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd < 0 ? err_errno (err, ERR_IO, "cannot make the log %s", path) : fd;
}

struct output *output_open (const char *path, uint64_t file_bytes, output_fn *fn, void *owner, struct err *err)
{
    int ends[2];
    int file_fd = open_file (path, err);
    if (file_fd < 0)
        return NULL;
    if (pipe2 (ends, O_CLOEXEC) < 0 || fcntl (ends[0], F_SETFL, O_NONBLOCK) < 0) {
        err_errno (err, ERR_IO, "cannot make a pipe for the program's output");
        close (file_fd);
        return NULL;
    }
    struct output *output = mem_alloc (sizeof *output);
    output->read_fd = ends[0];
    output->write_fd = ends[1];
    output->file_fd = file_fd;
    output->file_max_bytes = file_bytes;
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
    close (output->file_fd);
    buf_release (&output->captured);
    mem_free (output);
}

/* ---- to the coordinator ---- */

static void earn_tokens (struct output *output, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - output->tokens_at_ms;
    output->tokens_at_ms = now_ms;
    output->tokens_bytes += passed_ms > 1000 ? OUTPUT_RATE_BYTES : passed_ms * OUTPUT_RATE_BYTES / 1000;
    if (output->tokens_bytes > OUTPUT_RATE_BYTES)
        output->tokens_bytes = OUTPUT_RATE_BYTES;
}

static void send_pending (struct output *output, bool last, uint64_t now_ms)
{
    struct output_chunk chunk = { .offset = output->bytes - output->pending_len,
                                  .unsent_bytes = output->unsent_bytes,
                                  .bytes = { output->pending, output->pending_len },
                                  .last = last };
    earn_tokens (output, now_ms);
    bool affordable = output->tokens_bytes >= output->pending_len;
    if (!affordable) { /* its place in the stream is still told by the last one */
        output->unsent_bytes += output->pending_len;
        chunk.offset = output->bytes;
        chunk.bytes.len = 0;
        chunk.unsent_bytes = output->unsent_bytes;
    }
    bool sent = (affordable || last) && output->fn (output->owner, &chunk);
    if (affordable && !sent)
        output->unsent_bytes += output->pending_len;
    if (sent)
        output->tokens_bytes -= chunk.bytes.len;
    output->pending_len = 0;
    output->send_at_ms = UINT64_MAX;
}

static void gather (struct output *output, const char *bytes, size_t len, uint64_t now_ms)
{
    while (len) {
        size_t room = sizeof output->pending - output->pending_len, part = len < room ? len : room;
        if (!output->pending_len)
            output->send_at_ms = now_ms + OUTPUT_GATHER_MS;
        memcpy (output->pending + output->pending_len, bytes, part);
        output->pending_len += (uint32_t) part;
        output->bytes += part;
        if (output->pending_len == sizeof output->pending)
            send_pending (output, false, now_ms);
        bytes += part;
        len -= part;
    }
}

/* ---- to the file ---- */

static void keep (struct output *output, const char *bytes, size_t len)
{
    uint64_t room = output->file_max_bytes - output->file_bytes;
    size_t want = len < room ? len : (size_t) room;
    ssize_t written = 0;
    if (want)
        written = write (output->file_fd, bytes, want);
    if (written < 0)
        written = 0; /* a full disk costs the log, not the program; what is missing is counted */
    output->file_bytes += (uint64_t) written;
    output->dropped_bytes += len - (size_t) written;
}

static void remember (struct output *output, const char *bytes, size_t len)
{
    for (size_t i = len > TAIL_BYTES ? len - TAIL_BYTES : 0; i < len; i++)
        output->tail[(output->bytes + i) % TAIL_BYTES] = bytes[i];
}

static void take (struct output *output, const char *bytes, size_t len, uint64_t now_ms)
{
    size_t room = output->captured.max - output->captured.len;
    buf_add (&output->captured, bytes, len < room ? len : room);
    keep (output, bytes, len);
    remember (output, bytes, len);
    gather (output, bytes, len, now_ms);
}

bool output_read (struct output *output, uint64_t now_ms)
{
    char bytes[16 * 1024];
    for (size_t taken = 0; taken < READ_BYTES;) {
        ssize_t got = fd_read (output->read_fd, bytes, sizeof bytes);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        taken += (size_t) got;
        take (output, bytes, (size_t) got, now_ms);
    }
    return true;
}

void output_add_line (struct output *output, struct text line, uint64_t now_ms)
{
    struct buf ours;
    bool inside = output->bytes && output->tail[(output->bytes - 1) % TAIL_BYTES] != '\n';
    buf_init (&ours, TAIL_BYTES);
    buf_printf (&ours, "%s[sliceup] ", inside ? "\n" : "");
    buf_add_text (&ours, text_clip (line, TAIL_BYTES / 2));
    buf_puts (&ours, "\n");
    take (output, buf_c (&ours), ours.len, now_ms);
    buf_release (&ours);
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
        send_pending (output, false, now_ms);
}

uint64_t output_deadline_ms (const struct output *output)
{
    return output->send_at_ms;
}

void output_send_last (struct output *output, uint64_t now_ms)
{
    if (output->bytes)
        send_pending (output, true, now_ms);
}

/* ---- what is known ---- */

uint64_t output_bytes (const struct output *output)
{
    return output->bytes;
}

uint64_t output_dropped_bytes (const struct output *output)
{
    return output->dropped_bytes;
}

uint64_t output_unsent_bytes (const struct output *output)
{
    return output->unsent_bytes;
}

struct text output_raw_tail (const struct output *output, struct arena *arena)
{
    char bytes[TAIL_BYTES];
    uint32_t len = output->bytes < TAIL_BYTES ? (uint32_t) output->bytes : TAIL_BYTES;
    for (uint32_t i = 0; i < len; i++)
        bytes[i] = output->tail[(output->bytes - len + i) % TAIL_BYTES];
    return text_copy (arena, (struct text){ bytes, len });
}

/* Not into the middle of a character. */
static struct text last_bytes (struct text text, uint32_t bytes)
{
    bool cut = text.len > bytes;
    text.ptr += cut ? text.len - bytes : 0;
    text.len = cut ? bytes : text.len;
    while (cut && text.len && (text.ptr[0] & 0xC0) == 0x80) {
        text.ptr++;
        text.len--;
    }
    return text;
}

struct text output_tail (const struct output *output, struct arena *arena)
{
    struct text raw = output_raw_tail (output, arena);
    while (raw.len && output->bytes > TAIL_BYTES && (raw.ptr[0] & 0xC0) == 0x80) { /* the cut may split a character */
        raw.ptr++;
        raw.len--;
    }
    return last_bytes (text_repair_utf8 (arena, raw, 3 * TAIL_BYTES), TAIL_BYTES); /* what is cleaned gets longer */
}
