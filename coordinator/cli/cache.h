/* cache.h - what the verbs of `sliceup cache` share: the command line, which cache root is meant, and how answers are
 * printed. Each verb is one file. */
#ifndef SLICEUP_COORDINATOR_CLI_CACHE_H
#define SLICEUP_COORDINATOR_CLI_CACHE_H

#include "coordinator/catalogue/catalogue.h"
#include "coordinator/cli/cli.h"
#include "coordinator/journal/run_dir.h"

enum { CACHE_OPERANDS_MAX = 1024, CACHE_FORGET_MAX = 64 };

struct cache_request {
    const char *root, *run, *slice; /* where; none: the last run's */
    const char *trust;              /* uids in words (storage.h), besides those of the plan */
    bool json, quick, dropped, abandoned, dry_run;
    uint32_t keep;
    const char *forget[CACHE_FORGET_MAX];
    uint32_t forget_n;
    const char *operands[CACHE_OPERANDS_MAX];
    uint32_t operands_n;
};

/* A cache root, found. */
struct cache_location {
    char root[PATH_MAX_BYTES + 1];
    struct run_dir dir; /* of --run or the last run; its id is empty when the root was named otherwise */
    struct arena arena; /* of what was read on the way; released by whoever had it found */
    struct plan plan;   /* of that run or slice; empty with --root */
    uid_list trust;     /* of the plan, and as asked for */
};
/* EXIT_HOLDS, or what to leave with, said: also when others could change it. `make`: the --root may not be there. */
int cache_location_find (struct cli *cli, const struct cache_request *request, bool make,
                         struct cache_location *target);
/* The same of a bundle's folders there, and of its generation `token`; 0: none. */
int cache_location_check_owners (const struct cache_location *target, struct text bundle, uint64_t token,
                                 struct err *err);
/* `run` NULL: the last, or when that used no cache the newest that did, which is told. */
int cache_find_run (struct cli *cli, const char *run, struct run_dir *dir, struct arena *arena, struct plan *plan,
                    struct err *err);
/* For people: a host's name where the journal of the run that wrote is at hand, else its rank. */
struct text cache_writer_name (const char *home, const struct catalogue_entry *entry, struct arena *arena);
/* The rungs that a generation covers, each once, in its order: "tiny, dense". */
struct text cache_covered_rungs (const struct fact_generation *generation, struct arena *arena);

/* The verbs: each answers on standard output, and returns the exit status. `target` was found, but for explain, whose
 * operands name runs; its arena holds what they make. */
int cache_ls (struct cli *cli, const struct cache_request *request, struct cache_location *target);
int cache_verify (struct cli *cli, const struct cache_request *request, struct cache_location *target);
int cache_explain (struct cli *cli, const struct cache_request *request, struct cache_location *target);
int cache_gc (struct cli *cli, const struct cache_request *request, struct cache_location *target);
int cache_export (struct cli *cli, const struct cache_request *request, struct cache_location *target);
int cache_import (struct cli *cli, const struct cache_request *request, struct cache_location *target);

#endif
