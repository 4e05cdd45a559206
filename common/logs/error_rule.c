#include "common/logs/error_rule.h"

#include <errno.h>
#include <string.h>

#include "common/logs/set.h"
#include "common/logs/words.h"

/* What is asked, with its text in small letters. */
struct folded_clue {
    struct error_clue clue;
    struct text type, text, first_line;
};

/* ---- errno: one has many spellings: "[Errno 28]", "(os error 28)", "errno: 28", "ENOSPC", the text of strerror ---- */

static const struct {
    int number;
    const char *name, *says;
} spelled[] = {
    { ENOENT, "ENOENT", "No such file or directory" },
    { EACCES, "EACCES", "Permission denied" },
    { EPERM, "EPERM", "Operation not permitted" },
    { EIO, "EIO", "Input/output error" },
    { ENXIO, "ENXIO", "No such device or address" },
    { ENODEV, "ENODEV", "No such device" },
    { EBUSY, "EBUSY", "Device or resource busy" },
    { EEXIST, "EEXIST", "File exists" },
    { ENOTEMPTY, "ENOTEMPTY", "Directory not empty" },
    { ENFILE, "ENFILE", "Too many open files in system" },
    { ENOMEM, "ENOMEM", "Cannot allocate memory" },
    { ENOEXEC, "ENOEXEC", "Exec format error" },
    { ENOSYS, "ENOSYS", "Function not implemented" },
    { ETIMEDOUT, "ETIMEDOUT", "Connection timed out" },
    { ECONNREFUSED, "ECONNREFUSED", "Connection refused" },
    { ENAMETOOLONG, "ENAMETOOLONG", "File name too long" },
    { EFBIG, "EFBIG", "File too large" },
    { ENOSPC, "ENOSPC", "No space left on device" },
    { EDQUOT, "EDQUOT", "Disk quota exceeded" },
    { EADDRINUSE, "EADDRINUSE", "Address already in use" },
    { EADDRNOTAVAIL, "EADDRNOTAVAIL", "Cannot assign requested address" },
    { EMFILE, "EMFILE", "Too many open files" },
    { EROFS, "EROFS", "Read-only file system" },
    { ESTALE, "ESTALE", "Stale file handle" },
};
enum { SPELLED = sizeof spelled / sizeof spelled[0] };

static uint32_t errno_row (struct text name)
{
    uint32_t row = 0;
    while (row < SPELLED && !text_is (name, spelled[row].name))
        row++;
    return row;
}

bool error_rule_knows_errno (struct text name)
{
    return errno_row (name) < SPELLED;
}

/* "[Errno 28]", "os error 28)", "errno: 28", "errno=28", "errno = 28": the first number behind the word. */
static bool has_number (struct text folded, const char *word, uint64_t number)
{
    uint64_t value;
    for (uint32_t at; text_find (folded, text_of (word), &at);) {
        uint32_t from = at + text_of (word).len;
        while (from < folded.len && strchr (" :=", folded.ptr[from]))
            from++;
        struct text digits = words_from (folded, from);
        digits.len = text_digits_end (folded, from) - from;
        if (text_to_u64 (digits, &value) && value == number)
            return true;
        folded = words_from (folded, from);
    }
    return false;
}

static bool names_errno (const struct folded_clue *folded, struct text name)
{
    uint32_t row = errno_row (name);
    return row < SPELLED && (text_find (folded->clue.text, name, NULL) ||
                             text_find (folded->clue.text, text_of (spelled[row].says), NULL) ||
                             has_number (folded->text, "errno", (uint64_t) spelled[row].number) ||
                             has_number (folded->text, "os error", (uint64_t) spelled[row].number));
}

/* ---- asking ---- */

static bool any_in (struct text folded, const struct text *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (words_holds (folded, words[i]))
            return true;
    return false;
}

static bool asks_nothing (const struct signature *rule)
{
    return rule->types.n + rule->any.n + rule->raised.n + rule->error.len == 0;
}

static bool error_rule_holds (const struct signature *rule, const struct folded_clue *folded)
{
    struct text text = rule->first_line ? folded->first_line : folded->text;
    if (rule->types.n && !text_is_among (folded->clue.type, rule->types.items, rule->types.n))
        return false;
    if (rule->raised.n && !text_is_among (text_of (enum_name_of (&frame_package_names, folded->clue.raised)),
                                          rule->raised.items, rule->raised.n))
        return false;
    if (rule->error.len && !names_errno (folded, rule->error))
        return false;
    if (rule->any.n && !any_in (text, rule->any.items, rule->any.n) &&
        !any_in (folded->type, rule->any.items, rule->any.n))
        return false;
    if (rule->also.n && !any_in (text, rule->also.items, rule->also.n))
        return false;
    return !asks_nothing (rule) && !any_in (text, rule->unless.items, rule->unless.n);
}

const struct signature *error_rule_match (const struct signature_set *set, const struct error_clue *clue)
{
    char text[WORDS_FOLDED_BYTES], type[WORDS_FOLDED_BYTES];
    struct folded_clue folded = { *clue, words_fold (clue->type, type), words_fold (clue->text, text), { 0 } };
    struct text rest = folded.text;
    folded.first_line = text_take_until (&rest, '\n');
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].rule && error_rule_holds (&set->items[i], &folded))
            return &set->items[i];
    return NULL;
}
