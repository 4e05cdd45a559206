/* catalogue.h - records the cache generations under one cache root, the run that may write one now, and their users.
 *
 * SQLite at <root>/catalogue.db, shared by all runs and coordinators that use the root; every call is one short
 * transaction with a bounded wait. Tokens only grow and are never reused, whoever asks. A generation counts only when
 * it is published here, which happens after the run's own journal recorded it. docs/spec/cache.md.
 *
 * It has no clock: who waits for a lease judges by the beat it sees. Texts live in the arena. One thread at a time. */
#ifndef SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_H
#define SLICEUP_COORDINATOR_CATALOGUE_CATALOGUE_H

#include "common/base/err.h"
#include "common/model/fact.h"
#include "common/model/lease.h"

struct catalogue;
struct catalogue *catalogue_open (const char *cache_root, struct err *err);
/* To look only: makes nothing, changes nothing but what somebody who was killed had half changed, which is rolled back
 * first. ERR_STATE: there is none. */
struct catalogue *catalogue_open_read_only (const char *cache_root, struct err *err);
void catalogue_close (struct catalogue *catalogue);
/* A bundle names a folder below the root: nothing in it may lead out of there. ERR_REFUSED. */
int catalogue_family_name_check (struct text bundle, struct err *err);

/* ---- the lease of a bundle, among runs ---- */

/* Takes the lease and hands out the next token, above `above`: `*token`. When another run has it: `*token` 0 and
 * `*lease_owner` says who; `over` (token not 0) takes it from exactly that owner, if its beat has not moved since. A
 * run that has the lease itself gets a new token; its old one is abandoned. */
int catalogue_acquire_lease (struct catalogue *catalogue, struct text bundle, struct text run, uint64_t above,
                             const struct lease_owner *over, uint64_t *token, struct lease_owner *lease_owner,
                             struct arena *arena, struct err *err);
/* The writer of `token` lives. `*taken`: somebody else has the lease meanwhile. */
int catalogue_beat (struct catalogue *catalogue, uint64_t token, struct text run, bool *taken, struct err *err);
/* Gives the lease up, if this run still has it with this token. `abandoned`: nothing was sealed. Idempotent. */
int catalogue_release_lease (struct catalogue *catalogue, uint64_t token, struct text run, bool abandoned,
                             struct err *err);

/* ---- generations ---- */

/* The newest published generation of a bundle that was not dropped; token 0 when there is none. Its covers come the
 * longest unused first, unless the catalogue was opened to look only: then as they were published. */
int catalogue_find_newest (struct catalogue *catalogue, struct text bundle, struct fact_generation *out,
                           struct arena *arena, struct err *err);
/* Also ends the lease. Idempotent. */
int catalogue_publish (struct catalogue *catalogue, struct text run, const struct fact_generation *generation,
                       struct err *err);
/* Quarantine: catalogue_find_newest passes over it from now on. Idempotent. */
int catalogue_quarantine (struct catalogue *catalogue, uint64_t token, struct text run, struct text why,
                          struct err *err);

/* ---- who uses what: nothing in use is collected ---- */

struct generation_user {
    struct text run, home, machine;
}; /* home: SLICEUP_HOME of the run, on that machine */
/* `covers`: what the user's ladder needs; as far as the generation has it, it was used now. ERR_STATE: the generation
 * was quarantined or collected since it was found; find again. */
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
}; /* being collected: a gc that was killed is finished by the next */
extern const struct enum_names generation_state_names;
struct catalogue_entry {
    uint64_t token;
    struct text bundle, run; /* run: whom the token was handed to */
    enum generation_state state;
    uint64_t wall_ms;                 /* when */
    bool leased;                      /* its run has the bundle's lease with it */
    struct text why;                  /* dropped: the reason */
    struct fact_generation published; /* token 0: it is not */
    LIST_OF (struct generation_user) users;
};
struct catalogue_list {
    struct catalogue_entry *items;
    uint32_t n;
};
/* By bundle, then rising token. `bundle` empty: all. */
int catalogue_list (struct catalogue *catalogue, struct text bundle, struct arena *arena, struct catalogue_list *out,
                    struct err *err);
/* Before a generation is removed: nobody is sent there from here on. ERR_STATE, with the reason, when it must stay: it
 * is leased, granted, the newest published of its bundle, or used by a run that is not one of `over`. */
int catalogue_begin_removal (struct catalogue *catalogue, uint64_t token, const struct text *over, uint32_t n,
                             struct err *err);
/* NONE: it was never handed out, or was collected. */
int catalogue_generation_state (struct catalogue *catalogue, uint64_t token, enum generation_state *state,
                                struct err *err);
/* The row of a token that was collected: state and bytes are forgotten, the number stays used. */
int catalogue_finish_removal (struct catalogue *catalogue, uint64_t token, struct err *err);

/* ---- looking over the root ---- */

/* Every gen-<token> of the bundle against the catalogue: foreign tokens, abandoned generations that changed since they
 * were first seen abandoned (what they looked like then is remembered here), published ones (depth STAT). */
int catalogue_audit_generations (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err);
/* The same without looking into published ones. */
int catalogue_audit_unpublished (struct catalogue *catalogue, struct text bundle, struct arena *arena,
                                 struct cache_root_finding **out, uint32_t *n, struct err *err);

#endif
