#include "worker/protocol/protocol_writer.h"

#include "common/base/utf8.h"
#include "common/io/clock.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An attempt line carries a rung's arguments and may be longer than what a program may say. */
/* A value has at most a result's length; senders of many bound them together (worker/protocol/evidence.h). */
enum { PROTOCOL = 1, VALUE_BYTES_MAX = TEXT_MAX_BYTES, ATTEMPT_BYTES_MAX = 512 * 1024, ATTEMPT_WAIT_MS = 60000 };

struct protocol_writer {
    int fd;          /* the worker, or -1: by hand */
    json_t *attempt; /* NULL by hand */
    bool broken;
    struct err why;
};

/* ---- the attempt line ---- */

static int take_descriptor (const char *number, int *fd, struct err *err)
{
    uint64_t value;
    int type = 0;
    socklen_t len = sizeof type;
    if (!text_to_u64 (text_of (number), &value) || value > INT32_MAX)
        return err_set (err, ERR_USAGE, "SLICEUP_FD is \"%.40s\"; expected the number of a descriptor", number);
    if (getsockopt ((int) value, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
        fcntl ((int) value, F_SETFD, FD_CLOEXEC))
        return err_set (err, ERR_USAGE, "SLICEUP_FD is %.40s, which is not an open stream socket", number);
    *fd = (int) value;
    return unsetenv ("SLICEUP_FD") ? err_errno (err, ERR_IO, "cannot remove SLICEUP_FD from the environment") : 0;
}

static int wait_readable (int fd, uint64_t deadline_ms, struct err *err)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        if (now_ms >= deadline_ms)
            return err_set (err, ERR_STATE, "the worker sent no first line within %d s", ATTEMPT_WAIT_MS / 1000);
        int ready = poll (&one, 1, deadline_ms == UINT64_MAX ? -1 : (int) (deadline_ms - now_ms));
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot wait for the worker's first line");
    }
}

static int protocol_writer_read_line (int fd, uint64_t deadline_ms, struct buf *line, struct err *err)
{
    char chunk[4096];
    while (!line->overflow && !(line->len && memchr (line->ptr, '\n', line->len))) {
        if (wait_readable (fd, deadline_ms, err))
            return -1;
        ssize_t got = recv (fd, chunk, sizeof chunk, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return err_errno (err, ERR_IO, "cannot read what the worker says");
        if (got == 0)
            return err_set (err, ERR_STATE, "the worker ended before it said all");
        buf_add (line, chunk, (size_t) got);
    }
    return line->overflow ? err_set (err, ERR_LIMIT, "the worker's first line exceeds %d bytes", ATTEMPT_BYTES_MAX) : 0;
}

static bool is_attempt (const json_t *line)
{
    const char *type = json_string_value (json_object_get (line, "type"));
    return type && !strcmp (type, "attempt") && json_integer_value (json_object_get (line, "protocol")) == PROTOCOL &&
           json_is_string (json_object_get (line, "nonce"));
}

static int read_attempt (struct protocol_writer *writer, struct err *err)
{
    json_error_t problem;
    int rc = -1;
    LOCAL_BUF line = { .max = ATTEMPT_BYTES_MAX };
    if (protocol_writer_read_line (writer->fd, clock_boot_ms () + ATTEMPT_WAIT_MS, &line, err))
        return rc;
    size_t len = (size_t) ((uint8_t *) memchr (line.ptr, '\n', line.len) - line.ptr);
    writer->attempt = json_loadb ((const char *) line.ptr, len, JSON_REJECT_DUPLICATES, &problem);
    if (!writer->attempt)
        err_set (err, ERR_PARSE, "the worker's first line is not JSON: %.150s", problem.text);
    else if (!is_attempt (writer->attempt))
        err_set (err, ERR_PARSE, "the worker's first line is not an attempt of protocol %d with a nonce", PROTOCOL);
    else
        rc = 0;
    return rc;
}

struct protocol_writer *protocol_writer_open (struct err *err)
{
    const char *number = getenv ("SLICEUP_FD");
    struct protocol_writer *writer = mem_alloc (sizeof *writer);
    writer->fd = -1;
    if (number && (take_descriptor (number, &writer->fd, err) || read_attempt (writer, err))) {
        protocol_writer_close (writer, NULL);
        return NULL;
    }
    return writer;
}

int protocol_writer_close (struct protocol_writer *writer, struct err *err)
{
    int rc = writer->broken ? err_set (err, writer->why.code, "%s", writer->why.text) : 0;
    if (writer->fd >= 0)
        close (writer->fd);
    json_decref (writer->attempt);
    mem_free (writer);
    return rc;
}

bool protocol_writer_by_hand (const struct protocol_writer *writer)
{
    return writer->fd < 0;
}

const char *protocol_writer_arg (const struct protocol_writer *writer, const char *name)
{
    return json_string_value (json_object_get (json_object_get (writer->attempt, "args"), name));
}

bool protocol_writer_arg_is_false (const struct protocol_writer *writer, const char *name)
{
    return json_is_false (json_object_get (json_object_get (writer->attempt, "args"), name));
}

var_list protocol_writer_arg_vars (const struct protocol_writer *writer, const char *name, struct arena *arena)
{
    json_t *object = json_object_get (json_object_get (writer->attempt, "args"), name), *value;
    var_list vars = { arena_array (arena, json_object_size (object), sizeof *vars.items), 0 };
    const char *key;
    json_object_foreach (object, key, value)
        if (json_is_string (value))
            vars.items[vars.n++] = (struct var){ text_copy (arena, text_of (key)),
                                                 text_copy (arena, text_of (json_string_value (value))) };
    return vars;
}

const struct json_t *protocol_writer_args (const struct protocol_writer *writer)
{
    return json_object_get (writer->attempt, "args");
}

/* ---- what we say ---- */

static int send_all (int fd, const char *bytes, size_t len, struct err *err)
{
    while (len) {
        ssize_t put = send (fd, bytes, len, MSG_NOSIGNAL);
        struct pollfd one = { .fd = fd, .events = POLLOUT };
        /* The descriptor was made by another process, so it may be non-blocking. */
        if (put < 0 && errno == EAGAIN && poll (&one, 1, -1) >= 0)
            continue;
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_errno (err, ERR_IO, "cannot write to the worker");
        bytes += put;
        len -= (size_t) put;
    }
    return 0;
}

static int print_line (const char *line, struct err *err)
{
    if (fputs (line, stdout) < 0 || fflush (stdout))
        return err_errno (err, ERR_IO, "cannot write to standard output");
    return 0;
}

/* Takes `line`. */
static void protocol_writer_say (struct protocol_writer *writer, json_t *line)
{
    assert (line);
    LOCAL_MEM char *json = json_dumps (line, JSON_COMPACT | JSON_ENSURE_ASCII);
    assert (json);
    json_decref (line);
    LOCAL_BUF bytes = { .max = strlen (json) + 2 };
    buf_printf (&bytes, "%s\n", json);
    if (!writer->broken)
        writer->broken = writer->fd < 0 ? print_line (buf_c (&bytes), &writer->why)
                                        : send_all (writer->fd, buf_c (&bytes), bytes.len, &writer->why);
}

static json_t *json_clean (struct text text, uint32_t max_bytes)
{
    LOCAL_ARENA arena = { 0 };
    struct text clean = text_repair_utf8 (&arena, text, max_bytes);
    json_t *json = json_stringn (clean.len ? clean.ptr : "", clean.len);
    assert (json);
    return json;
}

void protocol_writer_phase (struct protocol_writer *writer, const char *name)
{
    protocol_writer_say (writer,
                         json_pack ("{ss so}", "type", "phase", "name", json_clean (text_of (name), WORD_MAX_BYTES)));
}

void protocol_writer_fact (struct protocol_writer *writer, const char *name, struct text value)
{
    protocol_writer_say (
        writer, json_pack ("{ss ss so}", "type", "fact", "name", name, "value", json_clean (value, VALUE_BYTES_MAX)));
}

void protocol_writer_note (struct protocol_writer *writer, struct text text, const char *source, enum durability how)
{
    protocol_writer_say (writer,
                         json_pack ("{ss so ss ss}", "type", "note", "text", json_clean (text, SENTENCE_MAX_BYTES),
                                    "source", source, "durability", enum_name_of (&durability_names, how)));
}

void protocol_writer_bundle (struct protocol_writer *writer, const struct var *items, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        json_t *object = json_object ();
        for (uint32_t end = i + PROTOCOL_WRITER_BUNDLE_MAX; i < n && i < end; i++) {
            char name[WORD_MAX_BYTES + 1];
            if (text_to_c (items[i].name, name, sizeof name) &&
                json_object_set_new (object, name, json_clean (items[i].value, NAME_MAX_BYTES)))
                abort (); /* out of memory is the only reason left */
        }
        protocol_writer_say (writer, json_pack ("{ss so}", "type", "bundle", "items", object));
    }
}

void protocol_writer_backend (struct protocol_writer *writer, const struct observed_backend *backend)
{
    json_t *line = json_pack ("{ss so so so so}", "type", "backend", "platform",
                              json_clean (backend->platform, ID_MAX_BYTES), "platform_version",
                              json_clean (backend->platform_version, VALUE_BYTES_MAX), "device_kind",
                              json_clean (backend->device_kind, WORD_MAX_BYTES), "kernel_path",
                              json_clean (backend->kernel_path, NAME_MAX_BYTES));
    json_auto_t *counts = json_pack (
        "{sI sI sI sI}", "devices", (json_int_t) backend->devices, "local_devices", (json_int_t) backend->local_devices,
        "process_count", (json_int_t) backend->process_count, "process_index", (json_int_t) backend->process_index);
    json_object_update (line, counts);
    protocol_writer_say (writer, line);
}

void protocol_writer_check (struct protocol_writer *writer, const struct value_check *check)
{
    protocol_writer_say (writer, json_pack ("{ss so sf sf sf}", "type", "check", "name",
                                            json_clean (check->name, WORD_MAX_BYTES), "expected", check->expected,
                                            "observed", check->observed, "tolerance", check->tolerance));
}

void protocol_writer_counters (struct protocol_writer *writer, const struct named_number *items, uint32_t n)
{
    json_t *values = json_object ();
    for (uint32_t i = 0; i < n; i++) {
        char name[WORD_MAX_BYTES + 1];
        if (text_to_c (items[i].name, name, sizeof name) &&
            json_object_set_new (values, name, json_integer ((json_int_t) items[i].value)))
            abort (); /* out of memory is the only reason left */
    }
    protocol_writer_say (writer, json_pack ("{ss so}", "type", "counters", "values", values));
}

void protocol_writer_memory (struct protocol_writer *writer, uint64_t peak_bytes, uint64_t predicted_bytes,
                             uint64_t device_peak_bytes)
{
    protocol_writer_say (writer, json_pack ("{ss sI sI sI}", "type", "memory", "peak_bytes", (json_int_t) peak_bytes,
                                            "predicted_bytes", (json_int_t) predicted_bytes, "device_peak_bytes",
                                            (json_int_t) device_peak_bytes));
}

void protocol_writer_failure (struct protocol_writer *writer, enum owner owner, struct text text)
{
    protocol_writer_say (writer,
                         json_pack ("{ss ss so}", "type", "failure", "layer", enum_name_of (&owner_names, owner),
                                    "text", json_clean (text, SENTENCE_MAX_BYTES)));
}

void protocol_writer_done (struct protocol_writer *writer)
{
    const char *nonce = json_string_value (json_object_get (writer->attempt, "nonce"));
    protocol_writer_say (writer, json_pack ("{ss ss}", "type", "done", "nonce", nonce ? nonce : "by-hand"));
}

int protocol_writer_pass_gate (struct protocol_writer *writer, const char *name, struct err *err)
{
    protocol_writer_say (writer,
                         json_pack ("{ss ss ss ss}", "type", "gate", "name", name, "mode", "agree", "value", ""));
    LOCAL_BUF line = { .max = ATTEMPT_BYTES_MAX };
    int rc = protocol_writer_read_line (writer->fd, UINT64_MAX, &line, err);
    if (rc == 0 && !text_starts (buf_as_text (&line), "{\"type\":\"go\""))
        rc = err_set (err, ERR_STATE, "stopped at the gate %s", name);
    return rc;
}
