#include "common/model/outcome.h"

static const char *const outcome_words[] = {
    [OUTCOME_NONE] = "none",
    [OUTCOME_PASSED] = "passed",
    [OUTCOME_NOT_REACHED] = "not-reached",
    [OUTCOME_CASCADE] = "cascade",
    [OUTCOME_COULD_NOT_RUN] = "could-not-run",
    [OUTCOME_NO_REPORT] = "no-report",
    [OUTCOME_FAILED] = "failed",
};
_Static_assert(sizeof outcome_words / sizeof outcome_words[0] == OUTCOME_N, "a word for each outcome");
const struct names outcome_names = { outcome_words, OUTCOME_N };

static const char *const owner_words[] = {
    [OWNER_NONE] = "none",       [OWNER_FORMER_FRONTEND] = "", [OWNER_DEVICE] = "device", [OWNER_LAUNCH] = "launch",
    [OWNER_FORMER_BACKEND] = "", [OWNER_BUNDLE] = "bundle",    [OWNER_CACHE] = "cache",   [OWNER_COMPILER] = "compiler",
    [OWNER_PEER] = "peer",       [OWNER_PROGRAM] = "program",  [OWNER_HOST] = "host",     [OWNER_PLATFORM] = "platform",
    [OWNER_SLICEUP] = "sliceup", [OWNER_UNKNOWN] = "unknown",
};
_Static_assert(sizeof owner_words / sizeof owner_words[0] == OWNER_N, "a word for each layer");
const struct names owner_names = { owner_words, OWNER_N };

enum outcome outcome_worst (enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}
