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

static const char *const layer_words[] = {
    [LAYER_NONE] = "none",
    [LAYER_FRONTEND] = "frontend",
    [LAYER_DEVICE] = "device",
    [LAYER_POLICY] = "launch-policy",
    [LAYER_BACKEND] = "backend",
    [LAYER_BUNDLE] = "bundle",
    [LAYER_CACHE] = "cache",
    [LAYER_COMPILER] = "compiler",
    [LAYER_COLLECTIVE] = "collective",
    [LAYER_PROGRAM] = "program",
    [LAYER_HOST] = "host",
    [LAYER_PLATFORM] = "platform",
    [LAYER_SLICEUP] = "sliceup",
    [LAYER_UNKNOWN] = "unknown",
};
_Static_assert(sizeof layer_words / sizeof layer_words[0] == LAYER_N, "a word for each layer");
const struct names layer_names = { layer_words, LAYER_N };

enum outcome outcome_worst (enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}
