#include "common/model/outcome.h"

#include <stdio.h>

static const char *const outcome_words[] = {
    [OUTCOME_NONE] = "none",       [OUTCOME_PASSED] = "passed",       [OUTCOME_NOT_REACHED] = "not-reached",
    [OUTCOME_CASCADE] = "cascade", [OUTCOME_BLOCKED] = "blocked",     [OUTCOME_LOST] = "lost",
    [OUTCOME_FAILED] = "failed",   [OUTCOME_TIMED_OUT] = "timed-out", [OUTCOME_CANCELLED] = "cancelled",
};
_Static_assert(sizeof outcome_words / sizeof outcome_words[0] == OUTCOME_N, "a word for each outcome");
const struct enum_names outcome_names = { outcome_words, OUTCOME_N };

static const char *const owner_words[] = {
    [OWNER_NONE] = "none",   [OWNER_DEVICE] = "device",     [OWNER_LAUNCH] = "launch",   [OWNER_BUNDLE] = "bundle",
    [OWNER_CACHE] = "cache", [OWNER_COMPILER] = "compiler", [OWNER_PEER] = "peer",       [OWNER_PROGRAM] = "program",
    [OWNER_HOST] = "host",   [OWNER_PLATFORM] = "platform", [OWNER_SLICEUP] = "sliceup", [OWNER_UNKNOWN] = "unknown",
};
_Static_assert(sizeof owner_words / sizeof owner_words[0] == OWNER_N, "a word for each owner");
const struct enum_names owner_names = { owner_words, OWNER_N };
static const char *const phrases[] = { "nobody",
                                       "the device",
                                       "how it was launched",
                                       "the installed versions",
                                       "the compile cache",
                                       "the compiler",
                                       "another host",
                                       "your program",
                                       "the host",
                                       "the platform",
                                       "sliceup",
                                       "not known" };
const struct enum_names owner_phrases = { phrases, OWNER_N };

const char *owners_print (enum owner owner, enum owner otherwise, char out[OWNERS_TEXT_BYTES])
{
    snprintf (out, OWNERS_TEXT_BYTES, "%s%s%s", enum_name_of (&owner_phrases, owner), otherwise ? ", else " : "",
              otherwise ? enum_name_of (&owner_phrases, otherwise) : "");
    return out;
}

static const char *const certainty_words[] = { "none", "known", "likely", "unknown" };
_Static_assert(sizeof certainty_words / sizeof certainty_words[0] == CERTAINTY_N, "a word for each certainty");
const struct enum_names certainty_names = { certainty_words, CERTAINTY_N };

enum certainty certainty_of_owner (enum owner owner, enum owner otherwise, bool likely)
{
    if (owner == OWNER_NONE)
        return CERTAINTY_NONE;
    if (owner == OWNER_UNKNOWN)
        return CERTAINTY_UNKNOWN;
    return likely || otherwise ? CERTAINTY_LIKELY : CERTAINTY_KNOWN;
}

const enum outcome outcome_order[OUTCOME_N - 1] = {
    OUTCOME_FAILED,    OUTCOME_LOST,    OUTCOME_TIMED_OUT,   OUTCOME_BLOCKED,
    OUTCOME_CANCELLED, OUTCOME_CASCADE, OUTCOME_NOT_REACHED, OUTCOME_PASSED,
};

enum outcome outcome_worst (enum outcome a, enum outcome b)
{
    for (uint32_t i = 0; i < OUTCOME_N - 1; i++)
        if (outcome_order[i] == a || outcome_order[i] == b)
            return outcome_order[i];
    return OUTCOME_NONE;
}

/* ---- words ---- */

const char *enum_name_of (const struct enum_names *names, uint32_t value)
{
    if (value == 0)
        return "none";
    return value < names->n ? names->of[value] : "?";
}

bool enum_value_of (const struct enum_names *names, struct text name, uint32_t *value)
{
    for (uint32_t i = 1; i < names->n && name.len; i++) {
        if (text_is (name, names->of[i])) {
            *value = i;
            return true;
        }
    }
    return false;
}
