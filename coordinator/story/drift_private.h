/* drift_private.h - one comparison being made: for the files drift*.c, nobody else. */
#ifndef SLICEUP_COORDINATOR_STORY_DRIFT_PRIVATE_H
#define SLICEUP_COORDINATOR_STORY_DRIFT_PRIVATE_H

#include "coordinator/story/drift.h"

/* drift_table.c - what many hosts say, found by a hash of fact and value: equal statements are one value, values of one
 * name are one fact. Statements with equal hashes count as equal: among ten
 * million different ones that happens by chance once in 300,000 comparisons, and a host that could make one up could as
 * well say what the others say. Knows no rules. Pure; lives in the arena. */

/* Values of the sections up to PACKAGE are of the host; a program's are of one rung. */
enum drift_section {
    SECTION_FACT = 0,
    SECTION_BUNDLE,
    SECTION_POLICY,
    SECTION_BACKEND,
    SECTION_SETUP,
    SECTION_LAUNCHED,
    SECTION_PACKAGE,
    SECTION_PROGRAM,
    SECTION_N
};
extern const char *const drift_section_words[SECTION_N];

struct drift_value {
    enum drift_section section;
    struct text name, text;   /* name: without the section's word */
    uint64_t fact_hash, hash; /* of section and name; of all three */
    uint32_t *hosts;          /* that say it, rising */
    uint32_t hosts_n, room;
};

struct drift_fact {
    enum drift_section section;
    struct text name;
    struct drift_value *values; /* by their first hosts */
    uint32_t values_n;
    uint32_t hosts_n;  /* that say it */
    uint32_t absent_n; /* that say something else of the section; of programs 0, since they may have run others only */
};

struct drift_table {
    struct arena *arena;
    uint32_t hosts_n;
    struct drift_value
        *values; /* as they are first said, freed by who reads them last; and their slots, from 1, or 0 */
    uint32_t *slots, values_n, values_capacity, slots_n;
    struct drift_fact *facts; /* by section and name */
    uint32_t facts_n, facts_room;
    bool *tells[SECTION_N]; /* does the host say anything of this section? */
    uint32_t reporting_n[SECTION_N];
};

void drift_table_init (struct drift_table *table, uint32_t hosts, struct arena *arena);
/* `host` is an index, and none comes after a larger one; texts stay where they are until the comparison ends. */
void drift_table_add (struct drift_table *table, enum drift_section section, uint32_t host, const struct var *vars,
                      uint32_t n);
/* The host would have told something of this section, had there been anything. */
void drift_table_note_reported (struct drift_table *table, enum drift_section section, uint32_t host);
/* No more values come: the facts are made. */
void drift_table_finish (struct drift_table *table);
/* "fact kernel.release" */
struct text drift_fact_label (enum drift_section section, struct text name, struct arena *arena);
/* A 64-bit hash of bytes; not for anything that an adversary must not guess. */
uint64_t drift_hash (struct text text, uint64_t seed);
uint64_t drift_hash_number (uint64_t number);

/* The hosts of a receipt in rank order; a host that only a header names has no receipt. */
struct drift_hosts {
    struct text *names;
    const struct host_receipt **receipts;
    uint32_t n;
};
/* The rung and pass of an attempt, whatever the host. */
struct drift_attempt {
    struct text rung;
    enum pass pass;
};
/* How a host's receipt is read as named values, section by section. */
struct drift_host_values {
    struct arena *arena, *lists; /* of texts; of lists of them */
    const struct drift_query *query;
    bool setup;                      /* also what is the same on all hosts of a run */
    struct drift_attempt backend_at; /* of which attempts the backend is; no rung: the last one reported */
};
struct drift_var_list {
    const struct var *items;
    uint32_t n;
};

/* What the rules say of a phase, so that they are asked once and not for every host. */
enum { DRIFT_PHASES_KNOWN = 256 };
struct drift_exempt_phase {
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
    struct drift_exempt_phase phases[DRIFT_PHASES_KNOWN];
};

/* drift_values.c */
void drift_hosts_of_receipt (const struct slice_receipt *receipt, struct arena *arena, struct drift_hosts *out);
/* Did it speak of this section, also that there is nothing? A program that told its backend told its policy. */
bool drift_host_values_has_section (const struct drift_host_values *values, const struct host_receipt *host,
                                    enum drift_section section);
struct drift_var_list drift_host_values_section (const struct drift_host_values *values,
                                                 const struct host_receipt *host, enum drift_section section);
/* The last attempt at which most of these hosts reported a backend: how many devices and processes a program sees is
 * decided by its rung, and a host may have ended early. No rung: no two of them reported one there. */
struct drift_attempt drift_backend_attempt (const struct host_receipt *const *hosts, uint32_t n,
                                            const struct drift_query *query, struct arena *arena);
/* The attempts that count: the last of each rung and pass that was no isolation. NULL ends them. */
const struct rung_receipt *drift_attempt_next (const struct host_receipt *host, const struct drift_query *query,
                                               uint32_t *at, bool each_pass);
/* The value, with the host's own name, and its rank where that stands in a path, replaced. */
struct text drift_without_place (struct text value, struct text host, uint32_t rank, struct arena *arena);

/* By rank, the host; DRIFT_NO_HOST: none has it. */
enum { DRIFT_NO_HOST = UINT32_MAX };
uint32_t *drift_index_of_rank (const struct drift_hosts *hosts, struct arena *arena, uint32_t *ranks_n);
/* drift_links.c: findings from what every two hosts measured with each other. */
#define DRIFT_OF_LINK "number.link."
void drift_links_judge (struct drift_comparison *work);
/* drift_facts.c: findings from what is said, and the hosts that others are held against. */
void drift_facts_judge (struct drift_comparison *work);
/* drift_measures.c: findings from what was measured. */
/* A slow step explains a slow attempt, so it stands before it. */
enum drift_measure_kind {
    MEASURE_STEP_OWN, /* the part of a step in which the host did not wait for others */
    MEASURE_STEP,
    MEASURE_DURATION,
    MEASURE_MEMORY,
    MEASURE_DEVICE_MEMORY
};
struct drift_measure {
    struct text rung, phase; /* phase empty: of all of it */
    enum pass pass;
    enum drift_measure_kind kind;
    uint64_t doing; /* equal for hosts that did the same thing */
    uint32_t host;
    uint64_t repeats; /* of how many measurements the number is the median */
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
int drift_measure_compare (const struct drift_measure *a, const struct drift_measure *b);
struct text drift_measure_label (const struct drift_measure *measure, struct arena *arena);
void drift_measures_judge (struct drift_comparison *work, const struct slice_receipt *receipt);
/* Is the number far enough from what it should be, relatively and absolutely? */
bool drift_number_matters (double number, double from, const struct drift_rule *rule, bool above_only);
/* Numbers per host, NaN: none. Adds a finding, or counts why there is none. `item` is filled in but for the verdict. */
void drift_numbers_judge (struct drift_comparison *work, const double *numbers, uint32_t n,
                          const struct drift_rule *rule, bool above_only, struct drift_item *item);
/* The larger of the two over the smaller one; never less than 1. */
double drift_times (double number, double usual);
double drift_median (double *numbers, uint32_t n); /* sorts them */

/* ---- drift_rules.c: which rule a fact is under, how bad a difference in it is, and the findings in that order. Pure ---- */

/* The first rule of the query that matches, a built-in one when the query has none, else "agree"; never NULL.
 * `repeats`: how often what is compared was measured, on the side where that was less often. */
const struct drift_rule *drift_rule_of (const struct drift_query *query, struct text fact, uint64_t repeats);
/* `order` is a multiple of the step: what is between is free for telling findings about like facts apart. */
enum { DRIFT_ORDER_STEP = 4, DRIFT_ORDER_ABSENT = 1 << 16 };
enum drift_severity drift_severity_of (struct text fact, uint32_t *order);

/* Findings, and what is listed beside them; sorted, the worst stand first. */
struct drift_item *drift_add_item (struct drift_comparison *work);
void drift_items_sort (struct drift *drift);

#endif
