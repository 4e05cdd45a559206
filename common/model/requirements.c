#include "common/model/requirements.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

enum { NAME_BYTES_MAX = 100, VERSION_BYTES_MAX = 100, SHOWN_COLUMNS = 60 };

/* Where the reader stands, and who is told what is wrong there. */
struct place {
    uint32_t line;
    requirements_told_fn *told;
    void *owner;
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

static int requirements_refuse (struct place at, struct text what, const char *expected)
{
    LOCAL_BUF shown = { .max = ERR_TEXT_BYTES };
    buf_byte (&shown, '"');
    buf_escaped (&shown, text_trimmed (what), SHOWN_COLUMNS);
    buf_printf (&shown, "\": %s", expected);
    at.told (at.owner, at.line, buf_c (&shown));
    return -1;
}

/* White space of C parts words. */
static bool requirements_take_word (struct text *rest, struct text *word)
{
    return text_next_word (rest, TEXT_LIT (" \t\n\v\f\r"), word);
}

/* Options for the source of packages, which are checked by hash in any case. */
static int parse_option (struct place at, struct text line, struct text option, struct text rest)
{
    static const struct text bare[] = { TEXT_LIT ("--no-index"), TEXT_LIT ("--require-hashes"),
                                        TEXT_LIT ("--prefer-binary"), TEXT_LIT ("--pre") };
    static const struct text with_value[] = {
        TEXT_LIT ("--index-url"),  TEXT_LIT ("-i"), TEXT_LIT ("--extra-index-url"),
        TEXT_LIT ("--find-links"), TEXT_LIT ("-f"), TEXT_LIT ("--only-binary")
    };
    struct text value, more, name = option;
    const char *equals = memchr (option.ptr, '=', option.len);
    if (equals)
        name.len = (uint32_t) (equals - option.ptr);
    if (text_is_among (name, bare, 4) && !equals && !requirements_take_word (&rest, &more))
        return 0;
    if (text_is_among (name, with_value, 6) && (equals || requirements_take_word (&rest, &value)) &&
        !requirements_take_word (&rest, &more))
        return 0;
    return requirements_refuse (
        at, line,
        "is not an option that a pin file may contain; one file holds all pins, each as name==version with "
        "--hash=sha256:...");
}

static int parse_hashes (struct place at, struct text in, struct arena *arena, struct requirement *out)
{
    struct text word;
    struct digest hashes[REQUIREMENT_HASHES_MAX];
    uint32_t n = 0;
    while (requirements_take_word (&in, &word)) {
        if (n == REQUIREMENT_HASHES_MAX)
            return requirements_refuse (at, out->name, "has more than 512 hashes");
        if (!text_starts (word, "--hash=sha256:") ||
            !digest_parse ((struct text){ word.ptr + 14, word.len - 14 }, &hashes[n]))
            return requirements_refuse (at, word, "expected --hash=sha256: and 64 hexadecimal digits");
        n++;
    }
    out->hashes = arena_copy (arena, hashes, n * sizeof *hashes);
    out->hashes_n = n;
    return n ? 0
             : requirements_refuse (
                   at, out->name,
                   "has no hash, expected --hash=sha256:... (pip-compile --generate-hashes writes them)");
}

/* ---- markers: of PEP 508 what the exports of locks hold, comparisons with `and` within `or` ---- */

/* Is "python_version >= '3.11'" so on a host, which runs Linux and CPython? -1: this cannot be decided. */
static int marker_compare (struct text term, const char *python, const char *machine)
{
    const struct {
        const char *name;
        struct text value;
    } known[] = { { "python_version", { python, (uint32_t) (strrchr (python, '.') - python) } },
                  { "python_full_version", text_of (python) },
                  { "platform_machine", text_of (machine) },
                  { "sys_platform", TEXT_LIT ("linux") },
                  { "platform_system", TEXT_LIT ("Linux") },
                  { "os_name", TEXT_LIT ("posix") },
                  { "implementation_name", TEXT_LIT ("cpython") },
                  { "platform_python_implementation", TEXT_LIT ("CPython") } };
    struct text name = { term.ptr, text_span (term, "_") }, is = { 0 };
    struct text wanted = text_trimmed ((struct text){ term.ptr + name.len, term.len - name.len });
    bool version = text_starts (name, "python_");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        is = text_is (name, known[i].name) ? known[i].value : is;
    char relation[3] = { 0 }, pattern[VERSION_BYTES_MAX];
    for (uint32_t n = 0; n < 2 && wanted.len && strchr ("=!<>", wanted.ptr[0]); text_skip (&wanted, 1))
        relation[n++] = wanted.ptr[0];
    wanted = text_trimmed (wanted);
    bool equal = strcmp (relation, "==") == 0, other = strcmp (relation, "!=") == 0;
    bool quoted = wanted.len > 1 && strchr ("'\"", wanted.ptr[0]) && wanted.ptr[wanted.len - 1] == wanted.ptr[0];
    if (!is.len || !quoted || !relation[0] || (!version && !equal && !other))
        return -1;
    wanted = (struct text){ wanted.ptr + 1, wanted.len - 2 };
    if (!version)
        return text_equal (is, wanted) == equal;
    snprintf (pattern, sizeof pattern, "%s%.*s", equal || other ? "" : relation, TEXT_ARG (wanted));
    return package_version_pattern_valid (text_of (pattern)) ? package_version_fits (is, text_of (pattern)) != other
                                                             : -1;
}

/* What stands before the word, or all. */
static struct text marker_part (struct text *rest, const char *word)
{
    uint32_t at = rest->len;
    bool more = text_find (*rest, text_of (word), &at);
    struct text part = text_trimmed ((struct text){ rest->ptr, at });
    text_skip (rest, more ? at + (uint32_t) strlen (word) : rest->len);
    return part;
}

/* -1: cannot be decided, as nested parentheses. */
static int marker_holds (struct text marker, const char *python, const char *machine)
{
    int any = marker.len == 0;
    while (marker.len) {
        struct text side = marker_part (&marker, " or ");
        int all = 1;
        if (side.len > 1 && side.ptr[0] == '(' && side.ptr[side.len - 1] == ')')
            side = (struct text){ side.ptr + 1, side.len - 2 };
        do {
            int one = marker_compare (marker_part (&side, " and "), python, machine);
            if (one < 0)
                return -1;
            all &= one;
        } while (side.len);
        any |= all;
    }
    return any;
}

/* ---- pins ---- */

static const char *why_unpinned (struct text line)
{
    if (text_find (line, TEXT_LIT ("://"), NULL) || text_find (line, TEXT_LIT (" @ "), NULL) || line.ptr[0] == '.')
        return "is a URL, a folder or a repository, expected name==version with the hash of a wheel (build one, and "
               "give its folder as pins: {wheels: FOLDER})";
    return "expected name==version, with an exact version";
}

/* "name==version ; marker --hash=...", with or without spaces around the "==". A marker holds no " --". */
static int parse_pin (struct place at, struct text line, struct arena *arena, struct requirement *out)
{
    uint32_t equals, hash = line.len;
    struct text name, version, marker = { 0 }, rest;
    (void) text_find (line, TEXT_LIT (" --"), &hash);
    struct text pin = { line.ptr, hash };
    if (text_cut (&pin, ';', &rest)) {
        marker = text_trimmed (pin);
        pin = rest;
    }
    if (!text_find (pin, TEXT_LIT ("=="), &equals))
        return requirements_refuse (at, line, why_unpinned (pin));
    struct text before = { pin.ptr, equals };
    rest = (struct text){ pin.ptr + equals + 2, pin.len - equals - 2 };
    struct text extras = before;
    if (text_trimmed (before).len && text_ends (text_trimmed (before), "]")) /* their pins stand in the file as well */
        before = text_take_until (&extras, '[');
    if (!requirements_take_word (&before, &name) || requirements_take_word (&before, &version) ||
        !requirement_name_valid (name))
        return requirements_refuse (at, line, "expected name==version, where name is a package name");
    if (!requirements_take_word (&rest, &version) || !requirement_version_valid (version))
        return requirements_refuse (at, line, "expected name==version, with an exact version");
    if (requirements_take_word (&rest, &before))
        return requirements_refuse (at, before, "expected --hash=sha256: and 64 hexadecimal digits");
    if (marker_holds (marker, "3.11.0", "x86_64") < 0)
        return requirements_refuse (at, marker,
                                    "is a marker that is not read here, expected comparisons such as "
                                    "python_version >= '3.11', with `and` between them, then `or`");
    *out = (struct requirement){ .name = requirement_normal_name (name, arena),
                                 .version = text_copy (arena, version),
                                 .marker = text_copy (arena, marker),
                                 .line = at.line };
    return parse_hashes (at, (struct text){ line.ptr + hash, line.len - hash }, arena, out);
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

/* A logical line: physical ones that end in '\\' joined, comments gone. `taken` counts the physical ones. */
static void take_logical (struct text *rest, uint32_t *taken, struct buf *joined)
{
    buf_clear (joined);
    for (bool more = true; more && rest->len; ++*taken) {
        struct text line = without_comment (text_take_until (rest, '\n'));
        more = line.len && line.ptr[line.len - 1] == '\\';
        line.len -= more;
        buf_add_text (joined, line);
        buf_byte (joined, ' ');
    }
}

static int parse_logical (struct place at, struct text line, struct arena *arena, struct requirements *out)
{
    struct text word, rest = line;
    if (!requirements_take_word (&rest, &word))
        return 0;
    if (word.ptr[0] == '-')
        return parse_option (at, line, word, rest);
    if (out->n == REQUIREMENTS_MAX)
        return requirements_refuse (at, word, "exceeds the limit of 4096 pins");
    if (parse_pin (at, line, arena, &out->items[out->n]))
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

/* With a marker the host decides which of them it takes. */
static int check_twice (const struct requirements *all, struct place at)
{
    int rc = 0;
    for (uint32_t i = 1; i < all->n; i++) {
        at.line = all->items[i].line;
        if (text_equal (all->items[i - 1].name, all->items[i].name) && !all->items[i].marker.len &&
            !all->items[i - 1].marker.len)
            rc = requirements_refuse (at, all->items[i].name, "is pinned twice");
    }
    return rc;
}

/* Files of other tools, by the beginning of a line that only they have. */
static const char *other_tool (struct text bytes, struct arena *arena)
{
    static const char *const known[][2] = {
        { "# This file is automatically @generated by Poetry", "poetry's lock: `poetry export -f requirements.txt" },
        { "# This file is @generated by PDM", "pdm's lock: `pdm export -f requirements" },
        { "[[packages]]", "a pylock.toml: `uv export --format requirements-txt --no-emit-project" },
        { "[[package]]", "a uv.lock: `uv export --format requirements-txt --no-emit-project" },
        { "[", "a pyproject.toml or Pipfile: `uv pip compile pyproject.toml --generate-hashes" },
        { "{", "of pipenv: `pipenv requirements --hash > all.txt && sliceup env lock all.txt" },
        { "dependencies:", "of conda: `pip freeze > all.txt && sliceup env lock all.txt" },
    };
    while (bytes.len) {
        struct text line = text_trimmed (text_take_until (&bytes, '\n'));
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (text_starts (line, known[i][0]))
                return text_format (arena, "is %s -o locked.txt` makes a pin file of it", known[i][1]).ptr;
    }
    return NULL;
}

int requirements_check (struct text bytes, struct arena *arena, requirements_told_fn *told, void *owner,
                        struct requirements *out)
{
    struct requirements all = { .items = arena_array (arena, REQUIREMENTS_MAX, sizeof *all.items) };
    struct place at = { 1, told, owner };
    const char *whole = bytes.len > REQUIREMENTS_BYTES_MAX || !text_is_utf8 (bytes)
                            ? "expected at most 4 MiB of UTF-8 (`iconv -f utf-16 -t utf-8` converts PowerShell's files)"
                            : other_tool (bytes, arena);
    int rc = 0;
    text_skip (&bytes, text_starts (bytes, "\xef\xbb\xbf") ? 3 : 0); /* pip skips this mark as well */
    /* Each physical line adds its own bytes and one space. */
    LOCAL_BUF joined = { .max = (size_t) bytes.len * 2 + 2 };
    for (uint32_t taken = 0; !whole && bytes.len;) {
        at.line = taken + 1;
        take_logical (&bytes, &taken, &joined);
        rc |= parse_logical (at, buf_as_text (&joined), arena, &all);
    }
    if (whole || (rc == 0 && all.n == 0)) {
        told (owner, 1, whole ? whole : "has no pins, expected at least one name==version");
        return -1;
    }
    qsort (all.items, all.n, sizeof *all.items, requirements_by_name);
    rc |= check_twice (&all, at);
    if (rc == 0)
        *out = all;
    return rc ? REQUIREMENTS_BAD_LINES : 0;
}

struct first_mistake {
    const char *file;
    struct err *err;
    uint32_t line; /* 0: none yet */
};

static void keep_first (void *owner, uint32_t line, const char *what)
{
    struct first_mistake *first = owner;
    if (first->line == 0 || line < first->line) /* pinned twice comes last */
        err_set (first->err, ERR_CONFIG, "%.200s:%u: %s", first->file, first->line = line, what);
}

int requirements_parse (struct text bytes, const char *file, struct arena *arena, struct requirements *out,
                        struct err *err)
{
    struct first_mistake first = { file, err, 0 };
    return requirements_check (bytes, arena, keep_first, &first, out) ? -1 : 0;
}

int requirements_keep_for (struct requirements *pins, const char *python, const char *machine, struct err *err)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pins->n; i++) {
        const struct requirement *pin = &pins->items[i];
        if (marker_holds (pin->marker, python, machine) <= 0)
            continue;
        if (n && text_equal (pins->items[n - 1].name, pin->name))
            return err_set (err, ERR_CONFIG, "line %u of the pin file: %.*s is pinned twice for Python %s on %s",
                            pin->line, TEXT_ARG (pin->name), python, machine);
        pins->items[n++] = *pin;
    }
    pins->n = n;
    return 0;
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
