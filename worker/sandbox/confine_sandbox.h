/* confine_sandbox.h - drops rights of this process permanently, as far as this host allows.
 *
 * In this order, because each needs what the next takes: mounts, capabilities, seccomp, Landlock. What is
 * not possible is noted and the next best is done; so it always comes back. One thread only. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/model/result.h"
#include "worker/process/packet.h"
#include "worker/sandbox/confine_paths.h"

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

/* ---- confine mounts ---- */

/* A mount namespace in which only what the places allow can be written (confine_paths.h), and which
 * the program cannot undo.
 *
 * Every mount becomes read-only but for the open places; what is closed in those does as well, and no folder above it
 * can be moved away; scratch and the own generation of a writer stay writable. At the constant path lies the generation
 * itself, or an overlay above it. Out of sight are the catalogue, on which a lock would be as good as a write, and what
 * the plan hides. /dev is its own: confine_devices.h.
 *
 * With CAP_SYS_ADMIN the namespace is made as it is and rests on capabilities that are given up afterwards
 * (confine_caps.h); without it, inside a user namespace, and the program gets a second one inside that, in which mounts
 * of the first are locked (mount_namespaces(7)). What the host mounts later, outside of what is closed, is seen in it
 * as the host has it. */

/* On -1 all mounts are as they were, though perhaps in a namespace of their own. One thread only. */
int confine_mounts_enter (const struct confine_cache_paths *cache_paths, bool overlay, struct err *err);

/* ---- landlock ---- */

/* Allows writing in a few places and nowhere else, for this process and what it starts (landlock(7)).
 *
 * Reading and executing stay free, but for what is hidden. It holds for files whatever the name by which they are reached, and refuses mount(2)
 * as well; it knows nothing of modes, times and extended attributes. It cannot be undone and needs no_new_privs. */

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

/* Real paths. */
struct landlock_paths {
    const char *const *open; /* folders that may be written, but for what is closed in them */
    const char *const *closed;
    const char *const *own; /* may be written wherever they are */
    uint32_t open_n, closed_n, own_n;
    /* Cannot be read either, so not be locked, but for the folder `shown` (NULL: none) in it. The first is /dev, of which
     * the devices of confine_devices.h are opened, and what `open` has. None: all is read, /dev is the program's own. */
    const char *const *hidden, *shown;
    uint32_t hidden_n;
};

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_scopes (int abi);       /* which processes outside are cut off: see landlock_restrict */
uint64_t landlock_write_rights (int abi); /* all rights to change something that it knows */
/* `scopes`: no abstract socket of others is reached, and no process outside is sent a signal. Where a folder holds
 * something closed, only what is in it now and does not is opened, not the folder itself. Missing paths are passed
 * over. `note` has a sentence where not exactly what is hidden cannot be read: a folder above it cannot be listed. */
int landlock_restrict (const struct landlock_paths *paths, uint64_t rights, uint64_t scopes, struct err *note,
                       struct err *err);

#endif
