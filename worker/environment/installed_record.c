#include "worker/environment/installed_record.h"

#include "common/io/atomic_file.h"
#include "common/model/plan.h"
#include <string.h>

/* From site-packages up to the environment: lib/python3.11/site-packages. */
enum { UP_MAX = 3, ROWS_FIRST = 1024 };

void installed_record_print_base64 (const struct digest *digest, char out[RECORD_SHA256_BYTES + 1])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (int i = 0; i < RECORD_SHA256_BYTES; i++) {
        int bit = i * 6, byte = bit / 8;
        unsigned two = (unsigned) digest->bytes[byte] << 8 | (byte + 1 < 32 ? digest->bytes[byte + 1] : 0);
        out[i] = letters[two >> (10 - bit % 8) & 63];
    }
    out[RECORD_SHA256_BYTES] = '\0';
}

/* Down from the environment or site-packages, never out of both. RECORD is UTF-8 (PEP 376): facts hold its paths. */
static bool stays_inside (struct text path)
{
    uint32_t up = 0;
    bool down = false;
    if (!path.len || path.len > PATH_MAX_BYTES || path.ptr[0] == '/' || memchr (path.ptr, '\0', path.len) ||
        !text_is_utf8 (path))
        return false;
    for (uint32_t from = 0; from <= path.len;) {
        const char *slash = memchr (path.ptr + from, '/', path.len - from);
        uint32_t end = slash ? (uint32_t) (slash - path.ptr) : path.len;
        bool dots = end - from == 2 && memcmp (path.ptr + from, "..", 2) == 0;
        if ((dots && down) || end == from)
            return false;
        up += dots;
        down |= !dots;
        from = end + 1;
    }
    return down && up <= UP_MAX;
}

/* ---- CSV ---- */

static struct text take_plain (struct text *rest)
{
    struct text field = { rest->ptr, 0 };
    while (field.len < rest->len && rest->ptr[field.len] != ',')
        field.len++;
    rest->ptr += field.len;
    rest->len -= field.len;
    return field;
}

/* "a,""b""": a quote is written twice. */
static bool take_quoted (struct text *rest, struct arena *arena, struct text *field)
{
    char *out = arena_alloc (arena, rest->len + 1);
    uint32_t len = 0, at = 1;
    for (; at < rest->len; at++) {
        if (rest->ptr[at] == '"' && (at + 1 == rest->len || rest->ptr[at + 1] != '"'))
            break;
        at += rest->ptr[at] == '"';
        out[len++] = rest->ptr[at];
    }
    if (at >= rest->len)
        return false;
    rest->ptr += at + 1;
    rest->len -= at + 1;
    *field = (struct text){ out, len };
    return true;
}

static bool take_field (struct text *rest, struct arena *arena, struct text *field)
{
    if (rest->len && rest->ptr[0] == '"') {
        if (!take_quoted (rest, arena, field))
            return false;
    } else {
        *field = take_plain (rest);
    }
    if (rest->len && rest->ptr[0] != ',')
        return false;
    rest->ptr += rest->len ? 1 : 0;
    rest->len -= rest->len ? 1 : 0;
    return true;
}

static bool read_row (struct text line, struct arena *arena, struct installed_record_row *out)
{
    struct text path, hash, size, rest = line;
    if (!take_field (&rest, arena, &path) || !take_field (&rest, arena, &hash) || !take_field (&rest, arena, &size) ||
        rest.len || !stays_inside (path))
        return false;
    *out = (struct installed_record_row){ .path = text_copy (arena, path) };
    if (text_starts (hash, "sha256=") && hash.len == 7 + RECORD_SHA256_BYTES)
        out->sha256 = text_copy (arena, (struct text){ hash.ptr + 7, RECORD_SHA256_BYTES });
    else if (text_starts (hash, "sha256="))
        return false;
    out->has_size = size.len > 0;
    return !size.len || text_to_u64 (size, &out->bytes);
}

/* ---- a whole RECORD ---- */

static struct text take_line (struct text *rest)
{
    struct text line = text_take_until (rest, '\n');
    line.len -= line.len && line.ptr[line.len - 1] == '\r';
    return line;
}

static struct installed_record_row *grow (struct installed_record_rows *rows)
{
    rows->items = mem_room (rows->items, rows->n, &rows->capacity, ROWS_FIRST, sizeof *rows->items);
    return &rows->items[rows->n];
}

static int add_all (struct installed_record_rows *rows, struct text bytes, uint32_t package, struct arena *arena,
                    struct err *err)
{
    for (uint32_t line_n = 1; bytes.len; line_n++) {
        struct text line = take_line (&bytes);
        if (!line.len)
            continue;
        if (rows->n == RECORD_ROWS_MAX)
            return err_set (err, ERR_LIMIT, "the RECORD files name more than %d files", RECORD_ROWS_MAX);
        struct installed_record_row *row = grow (rows);
        if (!read_row (line, arena, row))
            return err_set (err, ERR_DAMAGE, "line %u of its RECORD file is not valid", line_n);
        row->package = package;
        rows->n++;
    }
    return 0;
}

int installed_record_read (struct installed_record_rows *rows, const char *site, const struct installed *installed,
                           uint32_t package, struct arena *arena, struct err *err)
{
    struct text folder = installed->items[package].folder;
    struct text path = text_format (arena, "%s/%.*s/RECORD", site, TEXT_ARG (folder));
    struct buf bytes;
    uint32_t before = rows->n;
    buf_init (&bytes, RECORD_BYTES_MAX);
    int rc = file_read (path.ptr, &bytes, NULL) ? err_set (err, ERR_DAMAGE, "its RECORD file cannot be read")
                                                : add_all (rows, buf_as_text (&bytes), package, arena, err);
    if (rc < 0)
        rows->n = before;
    buf_release (&bytes);
    return rc;
}

void installed_record_release (struct installed_record_rows *rows)
{
    mem_free (rows->items);
    *rows = (struct installed_record_rows){ 0 };
}
