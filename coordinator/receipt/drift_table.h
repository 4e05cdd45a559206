/* drift_table.h - the values of many hosts, grouped by fact and value in one pass over them.
 *
 * Most hosts say the same things in the same order, so the place of the host before tells the fact, and the value seen
 * last is compared before anything is hashed. Only what differs from a fact's first value is kept host by host: memory
 * follows what differs, not what is there. Knows no rules. Pure; lives in the arena. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_DRIFT_TABLE_H
#define SLICEUP_COORDINATOR_RECEIPT_DRIFT_TABLE_H

#include "common/model/receipt.h"

/* Values of the sections up to LAUNCHED are of the host; a program's are of one rung. */
enum drift_section {
    SECTION_FACT = 0,
    SECTION_BUNDLE,
    SECTION_POLICY,
    SECTION_BACKEND,
    SECTION_SETUP,
    SECTION_LAUNCHED,
    SECTION_PROGRAM,
    SECTION_N
};
extern const char *const drift_section_words[SECTION_N];

enum { DRIFT_NONE_AT = UINT32_MAX };

struct drift_value {
    struct text text;
    uint64_t hash;
    uint32_t fact; /* index */
    uint32_t next; /* value of the same fact, or DRIFT_NONE_AT */
    uint32_t hosts_n;
    uint32_t first_host; /* the first that said it: the one with the lowest rank */
    uint32_t same_as;    /* itself, or the value that it counts as */
    uint32_t group;      /* for whoever makes groups of a fact's values */
};

struct drift_fact {
    enum drift_section section;
    struct text name; /* without the section's word */
    uint64_t hash;
    uint32_t first;  /* value: what hosts said that stand in no sighting */
    uint32_t last;   /* value */
    uint32_t recent; /* value that was said last */
    uint32_t values_n;
    uint32_t hosts_n;                /* that say it */
    uint32_t missing;                /* which bitmap says who does not, or DRIFT_NONE_AT */
    uint32_t sightings, sightings_n; /* after drift_table_finish: its part of them */
};

struct drift_value_of_host {
    uint32_t value, host;
}; /* said, and not the fact's first value */
struct drift_indices {
    uint32_t *items;
    uint32_t n, capacity;
};

struct drift_table {
    struct arena *arena;
    uint32_t hosts_n;
    struct drift_fact *facts;
    uint32_t facts_n, facts_capacity;
    struct drift_value *values;
    uint32_t values_n, values_capacity;
    struct drift_value_of_host *seen;
    uint32_t seen_n, seen_capacity;
    struct drift_indices fact_slots, value_slots; /* hash tables of indices */
    struct drift_indices guess[SECTION_N];        /* fact at each place of the host before */
    bool *tells[SECTION_N];                       /* does the host say anything of this section? */
    uint32_t reporting_n[SECTION_N];
    uint8_t *missing; /* bitmaps, one after the other */
    uint32_t missing_n, missing_left_out;
};

void drift_table_init (struct drift_table *table, uint32_t hosts, struct arena *arena);
/* `host` is an index; hosts come in rising order, all of one section's values of a host in one call. */
void drift_table_add (struct drift_table *table, enum drift_section section, uint32_t host, const struct var *vars,
                      uint32_t n);
/* The host would have told something of this section, had there been anything. */
void drift_table_note_reported (struct drift_table *table, enum drift_section section, uint32_t host);
/* No more values come: each fact's sightings stand together. */
void drift_table_finish (struct drift_table *table);
/* After closing: facts that some tellers of their section do not say get a bitmap, for which `again` adds every value a
 * second time through drift_table_mark_present. */
bool drift_table_begin_marks (struct drift_table *table);
void drift_table_mark_present (struct drift_table *table, enum drift_section section, uint32_t host,
                               const struct var *vars, uint32_t n);
/* "fact kernel.release" */
struct text drift_fact_text (enum drift_section section, struct text name, struct arena *arena);
bool drift_table_host_lacks (const struct drift_table *table, const struct drift_fact *fact, uint32_t host);
/* A 64-bit hash of bytes; not for anything that an adversary must not guess. */
uint64_t drift_hash (struct text text, uint64_t seed);
uint64_t drift_mix (uint64_t number);

#endif
