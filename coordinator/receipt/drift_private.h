/* drift_private.h - one comparison being made: for the files drift*.c, nobody else. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_DRIFT_PRIVATE_H
#define SLICEUP_COORDINATOR_RECEIPT_DRIFT_PRIVATE_H

#include "coordinator/receipt/drift.h"
#include "coordinator/receipt/drift_table.h"

/* The hosts of a receipt in rank order; a host that only a header names has no receipt. */
struct drift_hosts {
    struct text *names;
    const struct host_receipt **receipts;
    uint32_t n;
};
/* One host's receipt as named values, section by section. What hosts share is made once. */
struct drift_values {
    struct arena *arena;
    const struct drift_query *query;
    bool setup;             /* also what is the same on all hosts of a run */
    struct backend backend; /* `backends` is of this one */
    struct var backends[8];
    uint32_t backends_n;
    struct var setups[4];
    struct var *programs;
    uint32_t programs_capacity;
    struct drift_program {
        struct text rung, program, name;
    } * named; /* at each place */
};
struct drift_vars {
    const struct var *items;
    uint32_t n;
};

/* What the rules say of a phase, so that they are asked once and not for every host. */
enum { DRIFT_PHASES_KNOWN = 256 };
struct drift_phase_memo {
    uint64_t key;
    bool differs;
};

struct drift_comparison {
    const struct drift_query *query;
    struct arena *arena;
    struct drift_hosts hosts;
    struct drift_table table;
    struct drift *out;
    uint32_t items_capacity;
    struct drift_phase_memo phases[DRIFT_PHASES_KNOWN];
};

/* drift_values.c */
void drift_hosts_of (const struct slice_receipt *receipt, struct arena *arena, struct drift_hosts *out);
/* Did it speak of this section, if only to say that there is nothing? A program that told its backend told its policy.
 */
bool drift_values_has_section (const struct drift_values *values, const struct host_receipt *host,
                               enum drift_section section);
struct drift_vars drift_values_section (struct drift_values *values, const struct host_receipt *host,
                                        enum drift_section section);
/* The attempts that count: the last of each rung and pass that was no isolation. NULL ends them. */
const struct rung_receipt *drift_attempt_next (const struct host_receipt *host, const struct drift_query *query,
                                               uint32_t *at, bool each_pass);

/* drift_facts.c: findings from what is said. */
void drift_facts_judge (struct drift_comparison *work);
/* drift_reference.c */
struct drift_compared_fact {
    uint32_t fact;
    const struct drift_rule *rule;
    struct text pinned;
    bool settled;
    uint32_t deviating;
    enum drift_severity severity;
    uint32_t order;
    struct text shown;
};
void drift_reference_choose (struct drift_comparison *work, const struct drift_compared_fact *candidates, uint32_t n);
/* drift_measures.c: findings from what was measured. */
enum drift_measure_kind { MEASURE_DURATION, MEASURE_MEMORY, MEASURE_DEVICE_MEMORY };
struct drift_measure {
    struct text rung, phase; /* phase empty: of all of it */
    enum pass pass;
    enum drift_measure_kind kind;
    uint64_t doing; /* equal for hosts that did the same thing */
    uint32_t host;
    double number;
};
struct drift_measures {
    struct drift_measure *items;
    uint32_t n, capacity;
};
/* Sorted: what is alike, whatever the host, stands together. */
void drift_measures_collect (struct drift_comparison *work, const struct slice_receipt *receipt,
                             struct drift_measures *list);
uint32_t drift_measures_count_alike (const struct drift_measures *list, uint32_t from);
int drift_measure_order (const struct drift_measure *a, const struct drift_measure *b);
struct text drift_measure_text (const struct drift_measure *measure, struct arena *arena);
void drift_measures_judge (struct drift_comparison *work, const struct slice_receipt *receipt);
/* drift_numbers.c
 * Is the number far enough from what it should be, relatively and absolutely? */
bool drift_number_matters (double number, double from, const struct drift_rule *rule, bool above_only);
/* Numbers per host, NaN: none. Adds a finding, or counts why there is none. `item` is filled in but for the verdict. */
void drift_numbers_judge (struct drift_comparison *work, const double *numbers, uint32_t n,
                          const struct drift_rule *rule, bool above_only, struct drift_item *item);
double drift_median (double *numbers, uint32_t n); /* sorts them */
/* A number alone, or with a word behind it that all values of a fact will share: "16384 kB". */
bool drift_parse_number (struct text text, double *number);

/* drift_items.c */
struct drift_item *drift_add_item (struct drift_comparison *work);
void drift_items_sort (struct drift *drift);
void drift_items_keep_worst (struct drift *drift); /* of sorted findings, DRIFT_ITEMS_MAX */

/* ---- drift_rules.c: which rule a fact is under, and how bad a difference in it is. Pure ---- */

/* The first rule of the query that matches, a built-in one when the query has none, else "agree"; never NULL. */
const struct drift_rule *drift_rule_of (const struct drift_query *query, struct text fact);
/* '*' stands for any bytes, also none; everything else for itself. */
bool drift_pattern_matches (struct text pattern, struct text text);
/* `order` is a multiple of the step: what is between is free for telling findings about like facts apart. */
enum { DRIFT_ORDER_STEP = 4, DRIFT_ORDER_ABSENT = 1 << 16 };
enum drift_severity drift_severity_of (struct text fact, uint32_t *order);

#endif
