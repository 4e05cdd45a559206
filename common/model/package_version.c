#include "common/model/package_version.h"

#include <ctype.h>
#include <string.h>

enum { PARTS_MAX = 8, NUMBER_MAX = 1000000000 };

/* Before a release, itself, after it. */
enum stage { STAGE_DEV = 1, STAGE_ALPHA, STAGE_BETA, STAGE_CANDIDATE, STAGE_FINAL, STAGE_POST };

struct version {
    uint64_t parts[PARTS_MAX]; /* those that are not there are 0 */
    uint32_t n;
    enum stage stage;
    uint64_t number; /* of the stage: the 1 of "rc1" */
};

static void package_version_skip (struct text *rest, uint32_t bytes)
{
    rest->ptr += bytes;
    rest->len -= bytes;
}

static bool is_digit (const struct text *rest, uint32_t at)
{
    return rest->len > at && isdigit ((unsigned char) rest->ptr[at]);
}

/* Dates are numbers, too: what is larger than one can be is as large as it can be. */
static uint64_t package_version_take_number (struct text *rest)
{
    uint64_t number = 0;
    while (is_digit (rest, 0)) {
        number = number < NUMBER_MAX ? number * 10 + (uint64_t) (rest->ptr[0] - '0') : NUMBER_MAX;
        package_version_skip (rest, 1);
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
        package_version_skip (rest, 1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!text_starts (*rest, words[i].word))
            continue;
        package_version_skip (rest, (uint32_t) strlen (words[i].word));
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
            package_version_skip (&text, 1);
    }
    take_stage (&text, &version);
    return version;
}

static int order (uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int package_version_compare (struct text a, struct text b)
{
    struct version left = read_version (a), right = read_version (b);
    int result = 0;
    for (uint32_t i = 0; i < PARTS_MAX && result == 0; i++)
        result = order (left.parts[i], right.parts[i]);
    if (result == 0)
        result = order (left.stage, right.stage);
    return result ? result : order (left.number, right.number);
}

/* The two before the one, which they begin with. */
static const char *const relations[] = { "<=", ">=", "<", ">", NULL };

static const char *take_relation (struct text *pattern)
{
    for (uint32_t i = 0; relations[i]; i++)
        if (text_starts (*pattern, relations[i])) {
            package_version_skip (pattern, (uint32_t) strlen (relations[i]));
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
