/* confine_sandbox.h - drops rights of this process permanently, as far as this host allows.
 *
 * In this order, because each needs what the next takes: mounts, capabilities, seccomp, Landlock. What is
 * not possible is noted and the next best is done; so it always comes back. One thread only. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H

#include "worker/sandbox/confine_cache_paths.h"
#include "worker/sandbox/confine_report.h"

/* What is taken; tests leave out one at a time and see a way open. */
struct confine_restrictions {
    uint64_t caps_kept, landlock_rights, landlock_scopes;
    int landlock_abi;
};

struct confine_sandbox {
    uint32_t levels; /* bits 1 << enum enforcement: all that hold by themselves */
    bool own_mounts;
    struct text notes[CONFINE_NOTES_MAX];
    uint32_t notes_n;
};

struct confine_restrictions confine_restrictions_of_args (const struct confine_args *args);
void confine_sandbox_enter (const struct confine_args *args, const struct confine_cache_paths *cache_paths,
                            const struct confine_restrictions *restrictions, struct arena *arena,
                            struct confine_sandbox *out);
void confine_sandbox_add_note (struct confine_sandbox *sandbox, struct arena *arena, const char *what, const char *why);

#endif
