#include "worker/facts/http_answer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { CHUNK_DIGITS_MAX = 8 };

static bool next_line (struct text *rest, struct text *line)
{
    uint32_t at;
    if (!text_find (*rest, TEXT_LIT ("\r\n"), &at))
        return false;
    *line = (struct text){ rest->ptr, at };
    rest->ptr += at + 2;
    rest->len -= at + 2;
    return true;
}

static struct text bare (struct text value)
{
    while (value.len && strchr (" \t", value.ptr[0]))
        value.ptr++, value.len--;
    while (value.len && strchr (" \t", value.ptr[value.len - 1]))
        value.len--;
    return value;
}

static bool is_field (struct text line, const char *name)
{
    size_t len = strlen (name);
    if (line.len <= len || line.ptr[len] != ':')
        return false;
    for (size_t i = 0; i < len; i++)
        if (tolower ((unsigned char) line.ptr[i]) != name[i])
            return false;
    return true;
}

bool http_field (const struct http_answer *answer, const char *name, struct text *value)
{
    struct text rest = answer->head, line;
    uint32_t len = (uint32_t) strlen (name) + 1;
    while (next_line (&rest, &line)) {
        if (is_field (line, name)) {
            *value = bare ((struct text){ line.ptr + len, line.len - len });
            return true;
        }
    }
    return false;
}

/* "HTTP/1.1 200 OK" */
static bool read_status (struct text line, uint32_t *status)
{
    uint64_t number;
    if (line.len < 12 || (!text_starts (line, "HTTP/1.1 ") && !text_starts (line, "HTTP/1.0 ")) ||
        (line.len > 12 && line.ptr[12] != ' '))
        return false;
    if (!text_to_u64 ((struct text){ line.ptr + 9, 3 }, &number) || number < 200 || number > 599)
        return false;
    *status = (uint32_t) number;
    return true;
}

/* ---- bodies ---- */

/* "1a" or "1a;name=value" */
static bool read_chunk_size (struct text line, uint32_t *size)
{
    uint32_t i = 0, value = 0;
    for (; i < line.len && isxdigit ((unsigned char) line.ptr[i]); i++) {
        int c = tolower ((unsigned char) line.ptr[i]);
        value = value * 16 + (uint32_t) (isdigit (c) ? c - '0' : c - 'a' + 10);
        if (i == CHUNK_DIGITS_MAX)
            return false;
    }
    struct text rest = bare ((struct text){ line.ptr + i, line.len - i });
    *size = value;
    return i > 0 && value <= HTTP_BYTES_MAX && (!rest.len || rest.ptr[0] == ';');
}

/* With `joined` the chunks are put there, one behind the other; without they are only measured. */
static enum http_reading walk_chunks (struct text rest, char *joined, uint32_t *len)
{
    struct text line;
    uint32_t size;
    *len = 0;
    while (next_line (&rest, &line)) {
        if (!read_chunk_size (line, &size))
            return HTTP_BAD;
        if (size == 0)
            return HTTP_WHOLE; /* trailing fields are of no interest */
        if (rest.len < size + 2)
            return HTTP_MORE;
        if (memcmp (rest.ptr + size, "\r\n", 2))
            return HTTP_BAD;
        if (joined)
            memcpy (joined + *len, rest.ptr, size);
        *len += size;
        rest.ptr += size + 2;
        rest.len -= size + 2;
    }
    return rest.len > HTTP_HEAD_BYTES_MAX ? HTTP_BAD : HTTP_MORE;
}

/* Nothing is allocated before it is whole: a server that drips would be read many times. */
static enum http_reading read_chunks (struct text rest, struct arena *arena, struct text *body)
{
    uint32_t len;
    enum http_reading how = walk_chunks (rest, NULL, &len);
    if (how != HTTP_WHOLE)
        return how;
    char *joined = arena_alloc (arena, len + 1);
    (void) walk_chunks (rest, joined, &len);
    *body = (struct text){ joined, len };
    return HTTP_WHOLE;
}

static enum http_reading read_sized (struct text rest, struct text length, struct text *body)
{
    uint64_t size;
    if (!text_to_u64 (length, &size) || size > HTTP_BYTES_MAX)
        return HTTP_BAD;
    if (rest.len < size)
        return HTTP_MORE;
    *body = (struct text){ rest.ptr, (uint32_t) size };
    return HTTP_WHOLE;
}

static enum http_reading read_body (struct text rest, bool ended, struct arena *arena, struct http_answer *out)
{
    struct text value;
    if (out->status == 204 || out->status == 304)
        return HTTP_WHOLE;
    if (http_field (out, "transfer-encoding", &value))
        return value.len == 7 && !strncasecmp (value.ptr, "chunked", 7) ? read_chunks (rest, arena, &out->body)
                                                                        : HTTP_BAD;
    if (http_field (out, "content-length", &value))
        return read_sized (rest, value, &out->body);
    out->body = rest;
    return ended ? HTTP_WHOLE : HTTP_MORE;
}

static enum http_reading read_whole (struct text bytes, bool ended, struct arena *arena, struct http_answer *out)
{
    struct text rest = bytes, line;
    uint32_t end;
    if (!text_find (bytes, TEXT_LIT ("\r\n\r\n"), &end) || end > HTTP_HEAD_BYTES_MAX)
        return bytes.len > HTTP_HEAD_BYTES_MAX ? HTTP_BAD : HTTP_MORE;
    if (!next_line (&rest, &line) || !read_status (line, &out->status))
        return HTTP_BAD;
    uint32_t first = (uint32_t) (rest.ptr - bytes.ptr);
    out->head = (struct text){ rest.ptr, end + 2 > first ? end + 2 - first : 0 };
    return read_body ((struct text){ bytes.ptr + end + 4, bytes.len - end - 4 }, ended, arena, out);
}

enum http_reading http_answer_read (struct text bytes, bool ended, struct arena *arena, struct http_answer *out)
{
    struct http_answer answer = { 0 };
    if (bytes.len > HTTP_BYTES_MAX)
        return HTTP_BAD;
    enum http_reading how = read_whole (bytes, ended, arena, &answer);
    if (how == HTTP_WHOLE)
        *out = answer;
    return how == HTTP_MORE && ended ? HTTP_BAD : how;
}
