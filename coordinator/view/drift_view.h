/* drift_view.h - how hosts differ: as sentences, as a page, and for scripts; and the baseline file that later runs are
 * held against. Same input, same bytes. Pure. */
#ifndef SLICEUP_COORDINATOR_VIEW_DRIFT_VIEW_H
#define SLICEUP_COORDINATOR_VIEW_DRIFT_VIEW_H

#include "coordinator/story/drift.h"
#include "coordinator/view/line.h"
#include <jansson.h>

/* One difference as one sentence, the same in every output.
 *
 *   h3: bundle jaxlib is 0.10.1, 7 others have 0.10.2
 *   h3: policy XLA_FLAGS lacks --a and has --b, unlike 7 others
 *   h5: phase compile of rung dense 3.4 × the median (41 s, 12 s of 7)
 *
 * What hosts said stands in it as they said it: whoever prints it escapes it. */

/* In bytes; 0: any length. Of two long values that are held against one another the part is shown where they part. */
struct drift_sentence_limits {
    uint32_t value_bytes, hosts_bytes;
};

/* Appends the sentence about one group of a finding that is not its reference; of a CHANGED item, about any group. */
void drift_sentence (const struct drift *drift, const struct drift_item *item, const struct drift_group *group,
                     const struct drift_sentence_limits *limits, struct buf *out);
/* An item that is no finding, with all its values. */
void drift_sentence_all_values (const struct drift *drift, const struct drift_item *item,
                                const struct drift_sentence_limits *limits, struct buf *out);
/* What the answer comes to: the worst finding, or that there is none, and of how many hosts and facts. */
void drift_sentence_summary (const struct drift *drift, const struct drift_sentence_limits *limits, struct buf *out);
/* "h[0-2]", or where that is too long "672 hosts (h0 ...)". */
void drift_sentence_hosts (const struct drift *drift, const uint32_t *hosts, uint32_t n,
                           const struct drift_sentence_limits *limits, struct buf *out);
extern const char drift_sentence_pins_missing[];
uint32_t drift_minorities (const struct drift_item *item); /* for how many groups a sentence is made */
/* They, fewest hosts first: *at counts on from 0; NULL: no more. */
const struct drift_group *drift_minority_next (const struct drift_item *item, uint32_t *at);

/* How the hosts of a receipt differ, for the middle of another page. Everything lives in the arena. */
struct drift_sentence_list {
    struct text *sentences; /* the worst first; behind them, that the pin file is missing */
    uint32_t n, more;       /* more: findings that have none here */
    bool no_versions;       /* no host told one */
    bool no_facts;          /* no host told a fact */
    struct text silent;     /* hosts without any report, folded: nothing is known of them */
    uint32_t expected;      /* facts that differ by their nature */
    uint32_t too_few;       /* that differ on too few hosts to judge which is right */
};
/* At most `most` findings. */
void drift_sentence_list_make (const struct slice_receipt *receipt, const struct drift_query *query, uint32_t most,
                               struct arena *arena, struct drift_sentence_list *out);

/* ---- the page ---- */

enum { DRIFT_TEXT_COLUMNS = 120, DRIFT_TEXT_FINDINGS = 20 };

/* What was compared. `against` NULL: the hosts with one another. */
struct drift_subject {
    struct text name, slice;
    const char *against;
    const char *policy;
    bool pins_missing;
};

/* The worst finding is the first line (what hosts without a report would have said is worse); DRIFT_TEXT_FINDINGS more,
 * or with `all` everything, also what differs as expected. No line is wider than the style's columns, or 120. `style`
 * NULL: in Markdown. What hosts said is escaped. */
void drift_print (const struct drift *drift, const struct drift_subject *subject, bool all, const struct style *style,
                  struct buf *out);

/* ---- for scripts ---- */

/* Schemas "sliceup.drift/1" and "sliceup.drift-baseline/2": docs/spec/drift.md. */
#define DRIFT_NO_VERSIONS "versions of packages are not known; "
enum { DRIFT_FILE_MAX_BYTES = 512 << 20 };

void drift_json (const struct drift *drift, const struct drift_subject *subject, struct buf *out);
/* Of a receipt's member `drift`, [{fact, groups [{value, hosts}], verdict}], the item at `at`, passed then; NULL: none. */
json_t *drift_json_next (const void *drift, uint32_t *at);

/* What later runs can be compared with: the receipt without what no comparison looks at, and a sha256 over it. */
void drift_baseline_print (const struct slice_receipt *receipt, struct buf *out);
/* A baseline or a receipt (receipt.json). ERR_PARSE: neither; ERR_DAMAGE: a baseline that is not what was saved. */
int drift_baseline_read (struct text bytes, struct slice_receipt *out, struct arena *arena, struct err *err);

#endif
