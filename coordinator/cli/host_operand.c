#include "coordinator/cli/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/model/host_source.h"
#include "coordinator/launch/host_source_io.h"

enum { PIECE_BYTES = 65536 };

/* ---- input ---- */

static bool is_stdin (const char *path)
{
    return strcmp (path, "-") == 0;
}

static int read_stream (int fd, const char *name, struct buf *out, struct err *err)
{
    char *piece = mem_alloc (PIECE_BYTES);
    ssize_t got;
    do {
        got = read (fd, piece, PIECE_BYTES);
        if (got > 0)
            buf_add (out, piece, (size_t) got);
    } while ((got > 0 && !out->overflow) || (got < 0 && errno == EINTR));
    int why = errno;
    mem_free (piece);
    errno = why;
    if (got < 0)
        return err_errno (err, ERR_IO, "cannot read %s", name);
    return out->overflow ? err_set (err, ERR_LIMIT, "%s has more than %zu bytes, the limit", name, out->max) : 0;
}

int host_operand_read_file (const char *path, struct buf *out, struct err *err)
{
    if (is_stdin (path))
        return read_stream (STDIN_FILENO, "standard input", out, err);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_USAGE, "'%s' cannot be opened", path);
    int rc = read_stream (fd, path, out, err);
    close (fd);
    return rc;
}

/* ---- operands ---- */

/* Each line is an expression of its own, as in nodeset; empty ones among others are passed over. */
static int add_lines (struct hostset *set, struct text lines, struct err *err)
{
    uint32_t from = 0;
    bool some = false;
    for (uint32_t i = 0; i <= lines.len; i++) {
        if (i < lines.len && lines.ptr[i] != '\n')
            continue;
        struct text line = { lines.ptr + from, i - from };
        from = i + 1;
        if (line.len == 0 && (some || i < lines.len))
            continue;
        some = true;
        if (hostset_apply_expression (set, HOSTSET_ADD, line, err) < 0)
            return -1;
    }
    return 0;
}

static int add_file (struct hostset *set, const char *path, struct err *err)
{
    struct buf content;
    struct text word;
    buf_init (&content, HOST_INPUT_MAX_BYTES);
    int rc = host_operand_read_file (path, &content, err);
    for (uint32_t at = 0; rc == 0 && host_source_next_word (buf_as_text (&content), &at, &word);)
        if (hostset_apply_expression (set, HOSTSET_ADD, word, err) < 0)
            rc = err_prefix (err, "%s", is_stdin (path) ? "standard input" : path);
    buf_release (&content);
    return rc;
}

static int add_source (struct hostset *set, const char *word, struct err *err)
{
    struct buf expression;
    buf_init (&expression, HOST_INPUT_MAX_BYTES);
    int rc = host_source_read (word, &expression, err);
    if (rc == 0)
        rc = hostset_apply_expression (set, HOSTSET_ADD, buf_as_text (&expression), err);
    buf_release (&expression);
    return rc;
}

static int add (const struct host_operand *operand, struct hostset *set, struct err *err)
{
    if (operand->from == HOST_FROM_WORDS)
        return add_lines (set, text_of (operand->value), err);
    return operand->from == HOST_FROM_FILE ? add_file (set, operand->value, err)
                                           : add_source (set, operand->value, err);
}

int host_operand_apply_to_set (const struct host_operand *operand, const struct hostset_rules *rules,
                               struct hostset *set, struct err *err)
{
    if (operand->step == HOSTSET_ADD)
        return add (operand, set, err);
    struct hostset *other = hostset_create (rules);
    int rc = add (operand, other, err);
    if (rc == 0)
        rc = hostset_apply_set (set, operand->step, other, err);
    hostset_destroy (other);
    return rc;
}
