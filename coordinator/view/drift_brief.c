#include "coordinator/view/drift_brief.h"

#include "coordinator/view/drift_sentence.h"

enum { SENTENCE_BYTES = 64 << 10 };

static struct text sentence_of (const struct drift *drift, const struct drift_item *item, struct arena *arena)
{
    static const struct drift_wording wording = { .value_bytes = 60, .hosts_bytes = 60 };
    struct buf sentence;
    uint32_t at = 0;
    buf_init (&sentence, SENTENCE_BYTES);
    drift_sentence (drift, item, drift_minority_next (item, &at), &wording, &sentence);
    return buf_take (&sentence, arena);
}

void drift_brief_make (const struct slice_receipt *receipt, const struct drift_rule *rules, uint32_t rules_n,
                       uint32_t most, struct arena *arena, struct drift_brief *out)
{
    const struct drift_query query = { .rules = rules, .rules_n = rules_n, .said_only = true };
    struct drift drift;
    drift_find (receipt, &query, arena, &drift);
    *out = (struct drift_brief){ .sentences = arena_array (arena, most, sizeof (*out->sentences)),
                                 .expected = drift.expected };
    for (; out->n < drift.findings && out->n < most; out->n++)
        out->sentences[out->n] = sentence_of (&drift, &drift.items[out->n], arena);
    out->more = drift.findings - out->n + drift.left_out;
}
