/* catalogue.h - records the cache generations under one cache root, the run that may write one now, and their users.
 *
 * SQLite at <root>/catalogue.db, shared by all runs and coordinators that use the root; every call is one short
 * transaction with a bounded wait. Tokens only grow and are never reused. A generation counts only once it is published
 * here, after the run's own journal recorded it. docs/spec/cache.md.
 *
 * It has no clock: a run that waits for a lease watches its beat. Texts live in the arena. One thread at a time. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_H
#define SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_H

#include "common/io/log.h"
#include "common/model/fact.h"
#include "common/model/lease.h"

struct catalogue;
struct catalogue *catalogue_open (const char *cache_root, struct err *err);
/* Read only: makes nothing, and changes nothing except that it rolls back the transaction of a killed process.
 * ERR_STATE: there is no catalogue. */
struct catalogue *catalogue_open_read_only (const char *cache_root, struct err *err);
void catalogue_close (struct catalogue *catalogue);
/* A bundle names a folder below the root: ERR_REFUSED if it could lead out of the root. */
int catalogue_family_name_check (struct text bundle, struct err *err);

/* ---- the lease of a bundle, among runs ---- */

/* Takes the lease and hands out the next token, above `above`: `*token`. If another run has it, `*token` is 0 and
 * `*lease_owner` says who; `over` (token not 0) takes it from exactly that owner, if its beat has not moved. A run that
 * already has the lease gets a new token; its old one is abandoned. */
int catalogue_acquire_lease (struct catalogue *catalogue, struct text bundle, struct text run, uint64_t above,
                             const struct lease_owner *over, uint64_t *token, struct lease_owner *lease_owner,
                             struct arena *arena, struct err *err);
/* Raises the beat: the writer of `token` lives. `*taken`: another run took the lease meanwhile. */
int catalogue_beat (struct catalogue *catalogue, uint64_t token, struct text run, bool *taken, struct err *err);
/* Gives the lease up, if this run still has it with this token. `abandoned`: nothing was sealed. Idempotent. */
int catalogue_release_lease (struct catalogue *catalogue, uint64_t token, struct text run, bool abandoned,
                             struct err *err);

/* ---- generations ---- */

/* The newest published generation of a bundle that was not dropped; token 0 when there is none. Its covers come the
 * longest unused first; in a read-only catalogue, in the order of publication. */
int catalogue_find_newest (struct catalogue *catalogue, struct text bundle, struct fact_generation *out,
                           struct arena *arena, struct err *err);
/* Also ends the lease. Idempotent. */
int catalogue_publish (struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                       struct err *err);
/* Quarantine: catalogue_find_newest skips it from now on. Idempotent. */
int catalogue_quarantine (struct catalogue *catalogue, uint64_t token, struct text run, struct text why,
                          struct err *err);

/* ---- who uses what: nothing in use is collected ---- */

struct generation_user {
    struct text run, home, machine;
}; /* home: SLICEUP_HOME of the run, on that machine */
/* `covers`: what the user's ladder needs; those that the generation has are marked used now. ERR_STATE: it was
 * quarantined or collected since it was found; find again. */
int catalogue_use_generation (struct catalogue *catalogue, const struct fact_generation *generation,
                              const text_list *covers, const struct generation_user *user, struct err *err);
int catalogue_unuse_all (struct catalogue *catalogue, struct text run, struct err *err); /* all of a run's */

/* ---- everything, for people ---- */

enum generation_state {
    GENERATION_NONE = 0,
    GENERATION_GRANTED,
    GENERATION_PUBLISHED,
    GENERATION_ABANDONED,
    GENERATION_DROPPED,
    GENERATION_REMOVING
}; /* being collected: the next gc finishes the one that was killed */
extern const struct enum_names generation_state_names;
struct catalogue_entry {
    uint64_t token;
    struct text bundle, run; /* run: the one that got the token */
    enum generation_state state;
    uint64_t wall_ms;                 /* when */
    bool leased;                      /* its run holds the bundle's lease */
    struct text why;                  /* dropped: the reason */
    struct fact_generation published; /* token 0: not published */
    LIST_OF (struct generation_user) users;
};
struct catalogue_list {
    struct catalogue_entry *items;
    uint32_t n;
};
/* By bundle, then rising token. `bundle` empty: all. */
int catalogue_list (struct catalogue *catalogue, struct text bundle, struct arena *arena, struct catalogue_list *out,
                    struct err *err);
/* Call it before removing a generation: no run gets it any more. ERR_STATE, with the reason, if it must stay: it is
 * leased, granted, the newest published of its bundle, or used by a run that is not in `over`. */
int catalogue_begin_removal (struct catalogue *catalogue, uint64_t token, const struct text *over, uint32_t n,
                             struct err *err);
/* NONE: never granted, or collected. */
int catalogue_generation_state (struct catalogue *catalogue, uint64_t token, enum generation_state *state,
                                struct err *err);
/* Clears the row of a collected token; its number stays used. */
int catalogue_finish_removal (struct catalogue *catalogue, uint64_t token, struct err *err);

/* ---- removing ---- */

/* Removes generations that are no longer needed, in an order that is safe against a crash.
 *
 * The catalogue first stops giving the generation to runs, then the folder is renamed to .removing-gen-<token>, then
 * the catalogue deletes its record, then the files are removed. The next collection finishes an interrupted one. */

struct collect_result {
    uint64_t bytes;
    uint32_t entries;
};

/* `over`: runs whose use does not count any more. ERR_STATE: it must stay, with the reason. */
int collect_generation (struct catalogue *catalogue, const char *root, struct text bundle, uint64_t token,
                        const struct text *over, uint32_t over_n, struct collect_result *freed, struct err *err);
/* Measures a generation's folder, sealed or not. */
int collect_count_bytes (const char *root, struct text bundle, uint64_t token, struct collect_result *out,
                         struct err *err);
/* Removes folders that an interrupted collection left in this bundle. */
int collect_leftovers (const char *root, struct text bundle, uint32_t *removed, struct err *err);
/* Is this user's run over, so that it reads nothing any more? False if that cannot be seen from here: `why` then gives
 * the reason, in words that follow "run <id>". */
enum { STANDS_BYTES = 256 };
bool collect_user_has_ended (const struct generation_user *user, char why[STANDS_BYTES]);

/* ---- transfer.c ---- */

/* Exports sealed generations from a cache root, and imports them into one. docs/guide/cache.md.
 *
 *     <folder>/generation.json     what it is (a fact_generation and more); its text is the caller's
 *     <folder>/sealed/             MANIFEST and the entries it lists
 *
 * Every byte is compared with the manifest as it is copied. Content of a carried folder never decides a path: its two
 * names are constant, entries are opened only below it, and an import gets a new token here. Slow: reads and writes
 * whole generations. A failed call leaves only what it names. */

#define TRANSFER_SEALED "sealed"
#define TRANSFER_JSON "generation.json"
enum { TRANSFER_JSON_MAX_BYTES = 8 << 20 };

/* Exports to folder `to`, which must not exist and appears whole. ERR_DAMAGE: the generation is not what was sealed. */
int transfer_export (const char *root, const struct fact_generation *generation, const char *to, struct text json,
                     struct err *err);

struct import_request {
    const char *root;                    /* the cache root it goes to */
    const char *from;                    /* the carried folder */
    const struct fact_generation *claim; /* from its generation.json; checked against MANIFEST as far as possible */
    const struct log *log;               /* gets a line if it waits for another run */
};
/* `*token`: its token here; `*before`: a generation with this digest was already published here, nothing was done.
 * ERR_DAMAGE: the folder is not what it claims. ERR_STATE: another live run writes this bundle's cache. */
int transfer_import (struct catalogue *catalogue, const struct import_request *request, uint64_t *token, bool *before,
                     struct err *err);

/* ---- cache_audit.c ----
 *
 * Compares a cache root with its catalogue: foreign tokens, abandoned generations that changed since they
 * were first seen abandoned, published ones that are not what was sealed.
 *
 * It changes only what it remembers of abandoned generations in the catalogue. One thread. */

struct cache_audit_progress {
    struct text bundle;
    uint64_t token;
    uint32_t done, all;
};
struct cache_audit_options {
    struct catalogue *catalogue;
    const char *root;
    const uid_list *trust;  /* who may own a generation (storage.h); others' are not read; NULL: anybody */
    bool every_byte;        /* else: names, kinds, sizes, modes */
    const uint64_t *tokens; /* only these; none: all */
    uint32_t tokens_n;
    void (*progress) (void *owner,
                      const struct cache_audit_progress *progress); /* before each generation; NULL is fine */
    void *owner;
};
struct cache_audit_problem {
    struct text bundle;
    uint64_t token;
    struct text why;
}; /* token 0: of the whole bundle */
struct cache_audit_result {
    uint32_t generations; /* published ones that were compared with their manifest */
    uint64_t bytes;       /* their size */
    LIST_OF (struct cache_root_finding) found;
    LIST_OF (struct cache_audit_problem) problems;
};

/* Every gen-<token> of one bundle; of published ones names, kinds, sizes and modes. */
int catalogue_audit_generations (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err);
/* Every bundle of the root. What cannot be read is a problem, and the audit continues. Slow: may read every byte.
 * ERR_USAGE: one of `tokens` is not in the catalogue. */
int cache_audit (const struct cache_audit_options *audit, struct arena *arena, struct cache_audit_result *out,
                 struct err *err);
/* <frontend>/<bundle> of every folder that may hold generations, sorted, also those unknown to the catalogue. */
int cache_list_families (const char *root, struct arena *arena, struct text **out, uint32_t *n, struct err *err);

/* host-<host> of a bundle, the cache that one host has for itself (mode per-host). */
struct host_cache {
    struct text host;
    uint64_t bytes;
    uint32_t entries;
    bool closed;
}; /* closed: it could not be read */
/* Sorted by name. They are in no catalogue. None if there is no folder, or it cannot be opened. */
int cache_list_per_host (const char *root, struct text bundle, struct arena *arena, struct host_cache **out,
                         uint32_t *n, struct err *err);

#endif
