#include "common/model/requirements.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

enum { NAME_BYTES_MAX = 100, VERSION_BYTES_MAX = 100, SHOWN_COLUMNS = 60 };

/* The place for a message. */
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

/* White space of C parts words. */
static bool requirements_take_word (struct text *rest, struct text *word)
{
    return text_next_word (rest, TEXT_LIT (" \t\n\v\f\r"), word);
}

static bool word_in (struct text word, const char *const words[])
{
    for (; *words; words++)
        if (text_is (word, *words))
            return true;
    return false;
}

/* Options for the source of packages, which are checked by hash in any case. */
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

/* ---- package version ---- */

enum { PARTS_MAX = 8, NUMBER_MAX = 1000000000 };

/* Before a release, itself, after it. */
enum stage { STAGE_DEV = 1, STAGE_ALPHA, STAGE_BETA, STAGE_CANDIDATE, STAGE_FINAL, STAGE_POST };

struct version {
    uint64_t parts[PARTS_MAX]; /* those that are not there are 0 */
    uint32_t n;
    enum stage stage;
    uint64_t number; /* of the stage: the 1 of "rc1" */
};

static bool is_digit (const struct text *rest, uint32_t at)
{
    return rest->len > at && isdigit ((unsigned char) rest->ptr[at]);
}

/* Dates are numbers, too: larger ones are capped at the maximum. */
static uint64_t package_version_take_number (struct text *rest)
{
    uint64_t number = 0;
    while (is_digit (rest, 0)) {
        number = number < NUMBER_MAX ? number * 10 + (uint64_t) (rest->ptr[0] - '0') : NUMBER_MAX;
        text_skip (rest, 1);
    }
    return number;
}

static void take_stage (struct text *rest, struct version *out)
{
    static const struct {
        const char *word;
        enum stage stage;
    } words[] = { { "dev", STAGE_DEV }, { "alpha", STAGE_ALPHA },  { "a", STAGE_ALPHA },     { "beta", STAGE_BETA },
                  { "b", STAGE_BETA },  { "rc", STAGE_CANDIDATE }, { "c", STAGE_CANDIDATE }, { "post", STAGE_POST } };
    out->stage = STAGE_FINAL;
    while (rest->len && strchr (".-_", rest->ptr[0]))
        text_skip (rest, 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!text_starts (*rest, words[i].word))
            continue;
        text_skip (rest, (uint32_t) strlen (words[i].word));
        out->stage = words[i].stage;
        out->number = package_version_take_number (rest);
        return;
    }
}

static struct version read_version (struct text text)
{
    struct version version = { 0 };
    bool more = is_digit (&text, 0);
    while (more && version.n < PARTS_MAX) {
        version.parts[version.n++] = package_version_take_number (&text);
        more = text.len && text.ptr[0] == '.' && is_digit (&text, 1);
        if (more)
            text_skip (&text, 1);
    }
    take_stage (&text, &version);
    return version;
}

static int order (uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int package_release_compare (struct text a, struct text b)
{
    struct version left = read_version (a), right = read_version (b);
    int result = 0;
    for (uint32_t i = 0; i < PARTS_MAX && result == 0; i++)
        result = order (left.parts[i], right.parts[i]);
    return result;
}

int package_version_compare (struct text a, struct text b)
{
    struct version left = read_version (a), right = read_version (b);
    int result = package_release_compare (a, b);
    if (result == 0)
        result = order (left.stage, right.stage);
    return result ? result : order (left.number, right.number);
}

/* Two characters first, since they begin with a shorter one. */
static const char *const relations[] = { "<=", ">=", "<", ">", NULL };

static const char *take_relation (struct text *pattern)
{
    for (uint32_t i = 0; relations[i]; i++)
        if (text_starts (*pattern, relations[i])) {
            text_skip (pattern, (uint32_t) strlen (relations[i]));
            return relations[i];
        }
    return NULL;
}

static bool take_star (struct text *pattern)
{
    if (pattern->len < 3 || memcmp (pattern->ptr + pattern->len - 2, ".*", 2) != 0)
        return false;
    pattern->len -= 2;
    return true;
}

bool package_version_pattern_valid (struct text pattern)
{
    if (text_is (pattern, "*") || text_is (pattern, "absent"))
        return true;
    if (take_relation (&pattern) == NULL)
        take_star (&pattern);
    return requirement_version_valid (pattern) && is_digit (&pattern, 0);
}

static struct text without_local (struct text version)
{
    const char *plus = version.len ? memchr (version.ptr, '+', version.len) : NULL;
    return plus ? (struct text){ version.ptr, (uint32_t) (plus - version.ptr) } : version;
}

static bool begins_with (struct text version, struct text wanted)
{
    struct version is = read_version (version), prefix = read_version (wanted);
    for (uint32_t i = 0; i < prefix.n; i++)
        if (is.parts[i] != prefix.parts[i])
            return false;
    return true;
}

static bool equals (struct text version, struct text wanted)
{
    if (wanted.len && memchr (wanted.ptr, '+', wanted.len))
        return text_equal (version, wanted);
    return package_version_compare (without_local (version), wanted) == 0;
}

bool package_version_fits (struct text version, struct text pattern)
{
    if (text_is (pattern, "absent") || !version.len)
        return text_is (pattern, "absent") && !version.len;
    if (text_is (pattern, "*"))
        return true;
    const char *relation = take_relation (&pattern);
    int compared = package_version_compare (without_local (version), pattern);
    if (relation)
        return (compared < 0 && relation[0] == '<') || (compared > 0 && relation[0] == '>') ||
               (compared == 0 && relation[1] == '=');
    return take_star (&pattern) ? begins_with (version, pattern) : equals (version, pattern);
}
