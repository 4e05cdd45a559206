/* confine_sandbox.h - drops rights of this process permanently, as far as this host allows.
 *
 * In this order, because each needs rights that the next one drops: mounts, capabilities, seccomp, Landlock. An
 * impossible step is noted and the next best is done, so it always returns. One thread only. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/model/result.h"
#include "worker/process/packet.h"
#include "worker/sandbox/confine_paths.h"

/* Sends the report of the sandbox to the worker before the program starts, as one small packet (packet.h).
 *
 * The last packet counts, since execve can fail after the first. execve closes the sender's end, so the end of the
 * stream means that the program runs or that nothing does. Texts live in the arena. */
enum { CONFINE_NOTES_MAX = 8 };

struct confine_report {
    bool ready;          /* the program is executed next */
    struct text problem; /* not ready: one sentence, and its owner */
    enum owner owner;
    enum enforcement reached;    /* the level set up, before open ways were tried */
    struct cache_view view;      /* without the storage's id */
    LIST_OF (struct text) notes; /* why better levels are impossible, and what could not be tried */
};
extern const struct record confine_report_record;

/* Reads all packets that are there. False: none ever came. `*over`: the other end is closed. */
bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over);

/* The restrictions to apply; tests omit one at a time, and see a way open. */
struct confine_restrictions {
    uint64_t caps_kept, landlock_rights, landlock_scopes;
    int landlock_abi;
};

struct confine_sandbox {
    uint32_t levels; /* bits 1 << enum enforcement: all that hold on their own */
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

/* A mount namespace in which only open places can be written (confine_paths.h), and which the program cannot undo.
 *
 * Every mount becomes read-only except the open places. Closed paths in those become read-only too, and no parent of
 * them can be moved away. Scratch and a writer's own generation stay writable. The constant path shows the generation
 * itself, or an overlay over it. Hidden are the catalogue, where a lock would be as harmful as a write, and the plan's
 * hidden paths. /dev is its own: confine_devices.h.
 *
 * With CAP_SYS_ADMIN the namespace is made directly, and dropped capabilities (confine_caps.h) protect it. Without it, it is
 * made inside a user namespace, and the program gets a second one inside that, in which mounts of the first are locked
 * (mount_namespaces(7)). Later mounts of the host, outside of closed paths, appear in it unchanged. */

/* On -1 all mounts are unchanged, though perhaps in a new namespace. One thread only. */
int confine_mounts_enter (const struct confine_cache_paths *cache_paths, bool overlay, struct err *err);

/* ---- landlock ---- */

/* Allows this process and what it starts to write only in a few places (landlock(7)).
 *
 * Reading and executing stay allowed, except hidden paths. It applies to files under any name, and refuses mount(2) as
 * well; it does not protect modes, times and extended attributes. It cannot be undone and needs no_new_privs. */

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

/* Real paths. */
struct landlock_paths {
    const char *const *open; /* folders that may be written, except closed paths in them */
    const char *const *closed;
    const char *const *own; /* may be written even in closed paths */
    uint32_t open_n, closed_n, own_n;
    /* Cannot be read either, so not locked, except the folder `shown` (NULL: none) in them. The first is /dev, of which
     * only the allowed devices (confine_devices.h) and `open` are accessible. None: all is readable, /dev is the program's own. */
    const char *const *hidden, *shown;
    uint32_t hidden_n;
};

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_scopes (int abi);       /* what separates it from outside processes: see landlock_restrict */
uint64_t landlock_write_rights (int abi); /* all rights to change something that this ABI has */
/* `scopes`: no connection to others' abstract sockets, and no signals to processes outside. A folder that holds a
 * closed path is not opened itself, only its present entries without one. Missing paths are skipped. `note` has a
 * sentence if hiding is not exact, because a parent folder cannot be listed. */
int landlock_restrict (const struct landlock_paths *paths, uint64_t rights, uint64_t scopes, struct err *note,
                       struct err *err);

#endif
