/* drift.h - hosts that should be the same and are not. Spec: docs/spec/drift.md.
 *
 * A receipt's facts, versions, observed policy, backend, programs and timings are grouped by value, fact by fact, and
 * judged by rules that are data (plan.drift, configs/drift). The reference is the largest group of hosts that agree in
 * all that is compared, without those that a finding names; whoever differs is named, the worst difference first. There
 * is this one judgement for all outputs, facts and numbers together: they ask with the query of cli/run_receipt.h. A host that says nothing is never
 * counted as equal. drift_compare_hosts compares the hosts of one receipt with one another, drift_compare_receipts
 * those of two, host by host.
 *
 * Does not know how the answer is shown. Pure; everything lives in `arena` or is borrowed from the receipts and the
 * query. Memory is linear in the values given and time is that of sorting them; the findings are bounded, whatever the receipts hold. */
#ifndef SLICEUP_COORDINATOR_STORY_DRIFT_H
#define SLICEUP_COORDINATOR_STORY_DRIFT_H

#include "common/model/receipt.h"
#include "common/model/requirements.h"
#include "coordinator/verdict/topology.h"

/* Findings past the first are counted and left out. FEW: fewer numbers than this have no robust statistics. */
enum { DRIFT_ITEMS_MAX = 1024, DRIFT_FEW = 4 };

enum drift_severity {
    DRIFT_BREAKS = 1,
    DRIFT_SLOWS,
    DRIFT_REST
}; /* the mesh or the program; its pace; neither is known */
extern const struct enum_names drift_severity_names;

enum drift_verdict {
    DRIFT_VERDICT_NONE = 0,
    DRIFT_DIFFERS,     /* not the same on all hosts */
    DRIFT_NOT_PINNED,  /* not as the pin set says */
    DRIFT_OUTLIER,     /* a number far from the others' */
    DRIFT_IMPOSSIBLE,  /* the slice's arithmetic does not allow it */
    DRIFT_CHANGED,     /* two receipts: it was something else */
    DRIFT_TOO_FEW,     /* numbers that differ, of too few hosts to judge; no finding */
    DRIFT_AS_EXPECTED, /* differs by its nature; no finding */
    DRIFT_NOT_ZERO,    /* a number that has to be near 0; the values of its groups are sentences */
};
extern const struct enum_names drift_verdict_names;

/* Hosts with one value. Indices into drift.names, in rank order. */
struct drift_group {
    struct text value;
    double number; /* OUTLIER; a CHANGED number */
    uint32_t *hosts;
    uint32_t hosts_n;
    bool absent;        /* they say nothing of it, though they say other things of its kind */
    bool reference;     /* what the others are held against */
    struct text before; /* CHANGED */
    double before_number;
    bool before_absent;
};

struct drift_item {
    struct text fact;     /* "fact kernel.release", "bundle jax", "policy XLA_FLAGS", "duration dense:cold/compile" */
    enum drift_kind kind; /* of the rule */
    enum drift_verdict verdict;
    enum drift_severity severity;
    uint32_t order;             /* within the severity: lower is worse */
    struct drift_group *groups; /* largest first; among equals the reference, then that with the lowest rank */
    uint32_t groups_n;
    const struct drift_group
        *beside;        /* the others are told against it: the reference, or one of the largest; or NULL */
    double size;        /* OUTLIER, a CHANGED number: how many times what it should be, or a part of it; else 0 */
    uint32_t deviating; /* hosts that are not in the reference group */
    bool settled;       /* at least half of the hosts have one value */
    struct text pinned; /* NOT_PINNED: what the pin set says */
    struct text why, next;
    /* OUTLIER */
    double median, spread;   /* spread: the median of the absolute distances from the median */
    uint32_t measured;       /* hosts that gave a number */
    struct text rung, phase; /* a duration, a memory: of what; phase empty: of all of it */
    enum pass pass;
};

/* Hosts that told nothing of a kind of which others told. */
struct drift_silent_hosts {
    const char *what;
    uint32_t *hosts;
    uint32_t hosts_n, told;
};

struct drift {
    struct drift_item *items; /* findings, worst first; then those that are none */
    uint32_t n;
    uint32_t findings;                             /* how many of `items` are */
    uint32_t left_out;                             /* further findings, past DRIFT_ITEMS_MAX */
    uint32_t compared, expected, ignored, too_few; /* facts, by what became of them */
    uint32_t *reference, reference_n; /* hosts that agree in all that is settled, and that no such finding names */
    bool tie;                         /* another group is as large: the one with the lowest rank was taken */
    uint32_t *silent, silent_n;       /* hosts without any report */
    struct drift_silent_hosts *silences;
    uint32_t silences_n;
    const struct text *names; /* of the hosts, in rank order */
    uint32_t hosts_n;
    uint32_t *only_now, only_now_n; /* two receipts: hosts that the other does not have */
    struct text *only_before;
    uint32_t only_before_n;
    const struct slice_receipt *of; /* whose hosts they are: what went before them stands there */
    bool no_versions;               /* no host told one: whether they differ is not known */
    bool no_facts;                  /* no host told a fact: whether the machines differ is not known */
    bool by_group;                  /* two receipts without a common host: their reference groups were compared */
};

struct drift_query {
    const struct drift_rule *rules;           /* the first that matches a fact counts; what none matches has to agree */
    uint32_t rules_n;                         /* 0: rules that know what names a host itself */
    const struct requirements *pins;          /* versions that the pin set promises; NULL: not known */
    bool pins_missing;                        /* there is a pin set, and its file is not at hand as it was */
    const struct topology_findings *topology; /* by rank; NULL: nobody looked */
    uint32_t hosts_of_slice;  /* where several slices count their workers each for itself; 0: one slice */
    struct text rung;         /* only what was measured and compiled in this rung; empty: everything */
    bool all;                 /* list what differs as expected and what too few told, too */
    const struct drift *made; /* the answer with `all`, to whoever asks again of the same receipt; NULL: nobody asked */
};

void drift_compare_hosts (const struct slice_receipt *receipt, const struct drift_query *query, struct arena *arena,
                          struct drift *out);
/* What changed from `before` to `now`, on the hosts that both have. */
void drift_compare_receipts (const struct slice_receipt *now, const struct slice_receipt *before,
                             const struct drift_query *query, struct arena *arena, struct drift *out);
/* A number alone, or with a word behind it that all values of a fact will share: "16384 kB". */
bool drift_parse_number (struct text text, double *number);
/* Is there anything for which absence would have to be evidence? */
bool drift_is_incomplete (const struct drift *drift);

/* ---- policy changes ----
 *
 * The launch policy of a host, whole: what was set for its programs, held against what they saw after
 * their imports. Pure; results live in the arena or in the receipt. */

struct policy_edit {
    struct text name, was, is;
};
struct policy_changes {
    uint32_t set_n, told_n; /* variables that were set for any scope, and those of them that programs reported */
    struct policy_edit *edited;
    uint32_t edited_n; /* seen with other words than were set for any scope */
    struct var *added;
    uint32_t added_n; /* seen, and neither set, nor inherited by the profile's will, nor of the frontend's own needs */
};
/* `facts`: of the same host. */
void policy_changes_find (const struct policy_receipt *policy, const var_list *facts, struct arena *arena,
                          struct policy_changes *out);
/* Did a program see the variable with the words that were set for it, in any order? */
bool policy_is_as_launched (const struct policy_receipt *policy, const struct var *seen, struct arena *arena);

/* ---- cache_key_causes.c ----
 *
 * What two hosts, or two runs, have different that can make their cache keys differ: versions,
 * flags, settings, devices, programs. Knows nothing of the keys themselves: see recompile_reason.h,
 * recompiled_compare_keys.
 *
 * Settings that differ on purpose between who writes a cache and who reads it are no cause and are left out. Of a
 * result only bundle, policy, facts, backend and programs are read, so that a caller may fill one from a receipt.
 * Pure; any thread. Texts live in the arena given, or in the results. */

struct cache_key_cause {
    struct text what;        /* "jaxlib", "XLA_FLAGS", "device kind", ... */
    struct text here, there; /* the values; of flags and arguments only the tokens that the other side has not */
    struct text text;        /* for people: "XLA_FLAGS has --xla_x=1 here only" */
};
struct cache_key_cause_list {
    struct cache_key_cause *items;
    uint32_t n;
};

void cache_key_causes_find (const struct result *here, const struct result *there, struct arena *arena,
                            struct cache_key_cause_list *out);

#endif
