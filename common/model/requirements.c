#include "common/model/requirements.h"

#include "common/base/buf.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 100, VERSION_BYTES_MAX = 100, SHOWN_COLUMNS = 60 };

/* The place a message speaks of. */
struct place {
    const char *file;
    uint32_t line;
};

static bool requirements_is_word (char c)
{
    return text_is_letter (c) || text_is_digit (c);
}

bool requirement_name_valid (struct text name)
{
    return name.len > 0 && name.len <= NAME_BYTES_MAX && text_span (name, "-_.") == name.len &&
           requirements_is_word (name.ptr[0]) && requirements_is_word (name.ptr[name.len - 1]);
}

bool requirement_version_valid (struct text version)
{
    return version.len > 0 && version.len <= VERSION_BYTES_MAX && text_span (version, ".-_+!") == version.len &&
           requirements_is_word (version.ptr[0]);
}

struct text requirement_normal_name (struct text name, struct arena *arena)
{
    char *out = arena_alloc (arena, name.len + 1);
    uint32_t len = 0;
    for (uint32_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool dash = c == '-' || c == '_' || c == '.';
        if (dash && len && out[len - 1] == '-')
            continue;
        out[len++] = dash ? '-' : (char) tolower ((unsigned char) c);
    }
    out[len] = '\0';
    return (struct text){ out, len };
}

static int requirements_refuse (struct place at, struct text what, struct err *err, const char *expected)
{
    struct buf shown;
    buf_init (&shown, 255);
    buf_escaped (&shown, what, SHOWN_COLUMNS);
    err_set (err, ERR_CONFIG, "%.200s:%u: \"%s\": %s", at.file, at.line, buf_c (&shown), expected);
    buf_release (&shown);
    return -1;
}

static bool requirements_take_word (struct text *rest, struct text *word)
{
    while (rest->len && isspace ((unsigned char) rest->ptr[0]))
        rest->ptr++, rest->len--;
    word->ptr = rest->ptr;
    word->len = 0;
    while (rest->len && !isspace ((unsigned char) rest->ptr[0]))
        rest->ptr++, rest->len--, word->len++;
    return word->len > 0;
}

static bool word_in (struct text word, const char *const words[])
{
    for (; *words; words++)
        if (text_is (word, *words))
            return true;
    return false;
}

/* Options that say where packages come from; what comes is held against its hash in any case. */
static int parse_option (struct place at, struct text option, struct text rest, struct err *err)
{
    static const char *const bare[] = { "--no-index", "--require-hashes", "--prefer-binary", "--pre", NULL };
    static const char *const with_value[] = { "--index-url",   "-i", "--extra-index-url", "--find-links", "-f",
                                              "--only-binary", NULL };
    struct text value, more, name = option;
    const char *equals = memchr (option.ptr, '=', option.len);
    if (equals)
        name.len = (uint32_t) (equals - option.ptr);
    if (word_in (name, bare) && !equals && !requirements_take_word (&rest, &more))
        return 0;
    if (word_in (name, with_value) && (equals || requirements_take_word (&rest, &value)) &&
        !requirements_take_word (&rest, &more))
        return 0;
    return requirements_refuse (
        at, option, err,
        "is not an option that a pin file may contain; one file holds all pins, each as name==version with "
        "--hash=sha256:...");
}

static int parse_hashes (struct place at, struct text in, struct arena *arena, struct requirement *out, struct err *err)
{
    struct text word;
    struct digest hashes[REQUIREMENT_HASHES_MAX];
    uint32_t n = 0;
    while (requirements_take_word (&in, &word)) {
        if (n == REQUIREMENT_HASHES_MAX)
            return requirements_refuse (at, out->name, err, "has more than 512 hashes");
        if (!text_starts (word, "--hash=sha256:") ||
            !digest_parse ((struct text){ word.ptr + 14, word.len - 14 }, &hashes[n]))
            return requirements_refuse (at, word, err, "expected --hash=sha256: and 64 hexadecimal digits");
        n++;
    }
    out->hashes = arena_copy (arena, hashes, n * sizeof *hashes);
    out->hashes_n = n;
    return n ? 0
             : requirements_refuse (
                   at, out->name, err,
                   "has no hash, expected --hash=sha256:... (pip-compile --generate-hashes writes them)");
}

/* "name==version", with or without spaces around the "==". */
static int parse_pin (struct place at, struct text line, struct arena *arena, struct requirement *out, struct err *err)
{
    uint32_t equals;
    struct text name, version, rest = line;
    if (memchr (line.ptr, ';', line.len))
        return requirements_refuse (at, line, err,
                                    "environment markers are not accepted: make one pin file for each platform");
    if (!text_find (line, TEXT_LIT ("=="), &equals))
        return requirements_refuse (at, line, err, "expected name==version");
    struct text before = { line.ptr, equals };
    rest = (struct text){ line.ptr + equals + 2, line.len - equals - 2 };
    if (!requirements_take_word (&before, &name) || requirements_take_word (&before, &version) ||
        !requirement_name_valid (name))
        return requirements_refuse (at, line, err,
                                    "expected name==version, where name is a package name without extras");
    if (!requirements_take_word (&rest, &version) || !requirement_version_valid (version))
        return requirements_refuse (at, line, err, "expected name==version, with an exact version");
    *out = (struct requirement){ .name = requirement_normal_name (name, arena),
                                 .version = text_copy (arena, version),
                                 .line = at.line };
    return parse_hashes (at, rest, arena, out, err);
}

/* A logical line: physical ones that end in '\' joined, comments gone. */
struct lines {
    struct text rest;
    uint32_t line;
};

static struct text take_physical (struct lines *lines)
{
    lines->line++;
    return text_take_until (&lines->rest, '\n');
}

/* As pip does it: a '#' begins a comment at the start of a line and after white space, so not in a URL's fragment. */
static struct text without_comment (struct text line)
{
    for (uint32_t i = 0; i < line.len; i++)
        if (line.ptr[i] == '#' && (i == 0 || isspace ((unsigned char) line.ptr[i - 1])))
            line.len = i;
    while (line.len && isspace ((unsigned char) line.ptr[line.len - 1]))
        line.len--;
    return line;
}

static void take_logical (struct lines *lines, struct buf *joined, uint32_t *first)
{
    bool more = true;
    buf_clear (joined);
    *first = lines->line + 1;
    while (more && lines->rest.len) {
        struct text line = without_comment (take_physical (lines));
        more = line.len && line.ptr[line.len - 1] == '\\';
        line.len -= more;
        buf_add_text (joined, line);
        buf_byte (joined, ' ');
    }
}

static int parse_logical (struct place at, struct text line, struct arena *arena, struct requirements *out,
                          struct err *err)
{
    struct text word, rest = line;
    if (!requirements_take_word (&rest, &word))
        return 0;
    if (word.ptr[0] == '-')
        return parse_option (at, word, rest, err);
    if (out->n == REQUIREMENTS_MAX)
        return requirements_refuse (at, word, err, "exceeds the limit of 4096 pins");
    if (parse_pin (at, line, arena, &out->items[out->n], err))
        return -1;
    out->n++;
    return 0;
}

static int requirements_by_name (const void *a, const void *b)
{
    const struct requirement *left = a, *right = b;
    int order = text_compare (left->name, right->name);
    return order ? order : (left->line > right->line) - (left->line < right->line);
}

static int check_twice (const struct requirements *all, const char *file, struct err *err)
{
    for (uint32_t i = 1; i < all->n; i++)
        if (text_equal (all->items[i - 1].name, all->items[i].name))
            return requirements_refuse ((struct place){ file, all->items[i].line }, all->items[i].name, err,
                                        "is pinned twice");
    return 0;
}

int requirements_parse (struct text bytes, const char *file, struct arena *arena, struct requirements *out,
                        struct err *err)
{
    struct requirements all = { .items = arena_array (arena, REQUIREMENTS_MAX, sizeof *all.items) };
    struct lines lines = { .rest = bytes };
    struct place at = { .file = file };
    struct buf joined;
    int rc = -1;
    if (bytes.len > REQUIREMENTS_BYTES_MAX || !text_is_utf8 (bytes))
        return err_set (err, ERR_CONFIG, "%.200s: expected at most %d bytes of UTF-8", file, REQUIREMENTS_BYTES_MAX);
    /* Each physical line adds its own bytes and one space. */
    buf_init (&joined, (size_t) bytes.len * 2 + 2);
    while (lines.rest.len) {
        take_logical (&lines, &joined, &at.line);
        if (parse_logical (at, buf_as_text (&joined), arena, &all, err))
            goto out;
    }
    if (all.n == 0) {
        err_set (err, ERR_CONFIG, "%.200s: has no pins, expected at least one name==version", file);
        goto out;
    }
    qsort (all.items, all.n, sizeof *all.items, requirements_by_name);
    rc = check_twice (&all, file, err);
    if (rc == 0)
        *out = all;
out:
    buf_release (&joined);
    return rc;
}
