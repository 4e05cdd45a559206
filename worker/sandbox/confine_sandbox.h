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

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_write_rights (int abi); /* all rights to change something that this ABI has */

#endif
