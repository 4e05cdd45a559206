/* confine_sandbox.h - drops rights of this process permanently, as far as this host allows.
 *
 * In this order, because each needs what the next takes: mounts, capabilities, seccomp, Landlock. What is
 * not possible is noted and the next best is done; so it always comes back. One thread only. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H

#include "common/base/err.h"
#include "common/model/result.h"
#include "worker/process/packet.h"
#include "worker/sandbox/confine_cache_paths.h"

/* Carries the report of the sandbox to the worker before the program starts: one small packet (packet.h).
 *
 * The last packet counts, since execve can fail after the first. The stage's end is closed by execve, so the end of the
 * stream means that the program runs or that nothing does. Texts that come from here live in the arena given. */
enum { CONFINE_NOTES_MAX = 8 };

struct confine_report {
    bool ready;          /* the program is what is executed next */
    struct text problem; /* not ready: one sentence, and whose it is */
    enum owner owner;
    enum enforcement reached;    /* what was set up, before ways that are open were counted */
    struct cache_view view;      /* without the storage's id */
    LIST_OF (struct text) notes; /* why better levels are not possible, and what could not be tried */
};
extern const struct record confine_report_record;

/* All that is there now. False: nothing was ever said. `*over`: the other end is closed. */
bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over);

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
