/* confine_sandbox.h - drops rights of this process permanently, as far as this host allows.
 *
 * In this order, because each needs rights that the next one drops: mounts, capabilities, seccomp, Landlock. An
 * impossible step is noted and the next best is done, so it always returns. One thread only. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "worker/process/subprocess.h"
#include "worker/sandbox/confine.h"

/* ---- confine_paths.c ---- */

/* Where a confined program may write and where not, for both mounts and Landlock.
 *
 * A program may write in the usual places (/tmp, /var/tmp, those of /dev), in places of the slice file, and in its own:
 * scratch, and a writer's generation. All else is read-only, and so are closed paths within these: the cache, and what
 * sliceup itself executes, imports, reads as configuration or trusts ("protected"). Lists real paths that exist, under
 * every name of their storage here, and links to closed paths that a program could replace. Everything lives in the
 * arena given; it changes nothing. */

enum { PLACES_OPEN_MAX = 8 + WRITABLE_MAX, PLACES_CLOSED_MAX = 256, PLACES_OWN_MAX = 2, PLACES_LINKS_MAX = 64 };

struct confine_paths {
    const char *open[PLACES_OPEN_MAX], *own[PLACES_OWN_MAX];
    const char *closed[PLACES_CLOSED_MAX], *closed_files[PLACES_CLOSED_MAX]; /* folders; and single files */
    const char *links[PLACES_LINKS_MAX]; /* in open places, on the way to closed paths */
    uint32_t open_n, own_n, closed_n, closed_files_n, links_n;
    /* Sliceup's own of `closed`, under their first names, and `links`. */
    const char *protected[CONFINE_PROTECTED_MAX + 1 + PLACES_LINKS_MAX];
    uint32_t protected_n;
};

/* Is `path` one of the usual writable places, or in one? */
bool confine_paths_is_usual (const char *path);
bool confine_paths_below_usual (const char *path);
bool confine_paths_is_open (const struct confine_paths *paths, const char *path); /* in one of `open` */
/* The place in `open` that holds `path`; NULL: none. */
const char *confine_paths_open_holding (const struct confine_paths *paths, const char *path);

/* ---- confine cache paths ---- */

/* The cache's paths on this host: real paths, and every other name by which it can be reached.
 *
 * Call it before rights are dropped. It changes nothing. Texts live in the arena given. */

struct confine_cache_paths {
    const char *root, *scratch;    /* all of these with links resolved */
    const char *bundle;            /* or its nearest existing parent */
    const char *generation;        /* NULL: the program does not use the cache */
    const char *own;               /* the generation that a writer or a host cache may write; NULL: read only */
    const char *base;              /* NULL: none */
    const char *place, *directory; /* the folder of the constant path, and that of the worker; NULL: none */
    const char *hidden[CONFINE_HIDDEN_MAX + 3]; /* existing ones of the plan's, and of the catalogue */
    uint32_t hidden_n;
    struct confine_paths paths;
    char mount[NAME_MAX_BYTES + 1]; /* common/cache/storage.h */
    bool read_only;                 /* the storage itself is read-only, outside of any sandbox */
};

int confine_cache_paths_resolve (const struct confine_args *args, struct arena *arena, struct confine_cache_paths *out,
                                 struct err *err);

/* ---- confine_sandbox.c ---- */

/* Sends the report of the sandbox to the worker before the program starts, as one small packet (subprocess.h).
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

/* A mount namespace in which only open places can be written (confine_paths.c), and which the program cannot undo.
 *
 * Every mount becomes read-only except the open places. Closed paths in those become read-only too, and no parent of
 * them can be moved away. Scratch and a writer's own generation stay writable. The constant path shows the generation
 * itself, or an overlay over it. Hidden are the catalogue, where a lock would be as harmful as a write, and the plan's
 * hidden paths. /dev is its own: confine_rights.c.
 *
 * With CAP_SYS_ADMIN the namespace is made directly, and dropped capabilities (confine_rights.c) protect it. Without it, it is
 * made inside a user namespace, and the program gets a second one inside that, in which mounts of the first are locked
 * (mount_namespaces(7)). Later mounts of the host, outside of closed paths, appear in it unchanged. */

/* On -1 all mounts are unchanged, though perhaps in a new namespace. One thread only. */
int confine_mounts_enter (const struct confine_cache_paths *cache_paths, bool overlay, struct err *err);

/* ---- landlock ---- */

enum { LANDLOCK_ABI_REFER = 2, LANDLOCK_ABI_TRUNCATE = 3, LANDLOCK_ABI_SCOPE = 6 };

int landlock_abi (void);                  /* 0: there is none */
uint64_t landlock_write_rights (int abi); /* all rights to change something that this ABI has */

/* ---- confine_rights.c ---- */

/* The capabilities that a confined program keeps (capabilities(7)): those that root's programs and device runtimes use
 * and that undo no mount: owners and modes of files, signals, other ids, locked memory, priorities, limits. All others,
 * also those of later kernels, are dropped: mounts (SYS_ADMIN), other processes'
 * roots (SYS_PTRACE, CHECKPOINT_RESTORE), file handles (DAC_READ_SEARCH), devices (MKNOD, SYS_RAWIO), the kernel
 * (SYS_MODULE, SYS_BOOT, BPF, PERFMON, MAC_*), getting them back (SETPCAP, SETFCAP), leaving a root (SYS_CHROOT), and
 * ports that an NFS server trusts as the host's kernel (NET_BIND_SERVICE, NET_RAW, NET_ADMIN; exports(5), secure). */
extern const uint64_t confine_caps_kept;

bool confine_caps_have (int capability); /* effective */
/* Drops all but `kept` from the bounding, permitted, effective, inheritable and ambient sets. */
int confine_caps_keep (uint64_t kept, struct err *err);

/* Which device nodes a program may use: those that programs need, identified by the kernel's own
 * names, whatever their path. All others are refused: a program that can open a disk, by any node, has every file
 * system on it, and one that can open a terminal reads what is typed there. */

/* `kind`: S_IFCHR, S_IFBLK. `number`: "1:3". `what`: the names of subsystem and device in /sys, "mem/null"; for a
 * driver without these its name in /proc/devices, "nvidia/". */
bool confine_device_is_allowed (mode_t kind, const char *number, const char *what);
/* The same for a node; anything but a device is allowed. */
bool confine_device_node_is_allowed (const struct stat *at);
/* Is a folder in /dev on a file system that can hold nodes (devtmpfs, tmpfs, that of the root), not devpts or proc? */
bool confine_devices_may_be_in (const char *folder);

/* ---- confine_overlay.c ---- */

/* Mounts a scratch layer over a sealed generation (overlayfs), for programs that must write. It
 * shows what the program tried to write, and is removed with the attempt's scratch folder. */

enum { CONFINE_LAYER_NAMES = 5, CONFINE_LAYER_FILES_MAX = 100000 };

struct confine_overlay_writes {
    uint32_t files;                         /* and links, marks of removed files, ...: all except folders */
    struct text names[CONFINE_LAYER_NAMES]; /* of the first ones, below the generation, in no order */
};

/* Mounts `generation` at `at`, with a layer in `scratch` over it. Needs the rights of a mount namespace. */
int confine_overlay_mount (const char *generation, const char *scratch, const char *at, struct err *err);
/* Call it after the program is gone: lists what was written, and removes the layer. No layer: nothing was written. */
int confine_overlay_collect (const char *scratch, struct arena *arena, struct confine_overlay_writes *out,
                             struct err *err);

/* ---- write_probe.c ---- */

/* Makes a folder like a sealed generation, to test write protection on.
 *
 * Its name is not a generation's, so audits ignore it. */

struct scratch_generation {
    char path[PATH_MAX_BYTES + 1];
};

/* <folder>/probe-<host>-<random> with a WITNESS. -1: it cannot be made, and nothing is left. Removes what killed
 * processes left in the folder. */
int scratch_generation_make (const char *folder, struct scratch_generation *fixture, struct err *err);
int scratch_generation_remove (const struct scratch_generation *fixture, struct err *err);

/* ---- write_probe.c ---- */

/* Tries every way to write a cache, from inside the sandbox that a program gets.
 *
 * It tries them in one folder of the cache. docs/spec/cache.md explains their names. Nothing stays changed: it undoes
 * what worked, and writes only the content of WITNESS, which is there for that. A way counts as refused for any reason.
 * It knows nothing of how a sandbox is made. It starts short-lived children; call it while this process has only one
 * thread. */

#define WITNESS_NAME "WITNESS"

enum probe {
    PROBE_CREATE,
    PROBE_TMPFILE,
    PROBE_APPEND,
    PROBE_OVERWRITE,
    PROBE_TRUNCATE,
    PROBE_RENAME,
    PROBE_UNLINK,
    PROBE_CHMOD,
    PROBE_UTIMES,
    PROBE_SETXATTR,
    PROBE_SYMLINK,
    PROBE_LINK,
    PROBE_MKDIR,
    PROBE_MKFIFO,
    PROBE_PROC_ROOT,
    PROBE_WORKER_ROOT,
    PROBE_REMOUNT,
    PROBE_UMOUNT,
    PROBE_SETFLAGS,
    PROBE_IO_URING,
    PROBE_CATALOGUE_LOCK,
    PROBE_OWN_CREATE,
    PROBE_OWN_WRITE,
    PROBE_OWN_RENAME,
    PROBE_PATH_SOCKET,
    PROBE_ABSTRACT_SOCKET,
    PROBES_N
};
#define PROBE_BIT(probe) (UINT32_C (1) << (probe))

struct write_probe_target {
    const char *folder;    /* absolute: it makes files here, and writes its WITNESS */
    bool witness;          /* WITNESS exists */
    const char *mounts[2]; /* read-only mounts that must stay; NULL: none */
    bool own_mounts;       /* this process has its own mounts, which may be attacked without harm */
};

const char *write_probe_name (enum probe probe);
bool write_probe_find (struct text name, enum probe *probe);
/* Open ways as bits, without those of other files (sliceup_files_probe.h, socket_probe.h, PROBE_CATALOGUE_LOCK). */
uint32_t write_probe_try_all (const struct write_probe_target *target);
/* Can a file of this name be made? Nothing may lie there; it is removed again. O_RDONLY: making a name and writing are
 * different rights (landlock(7)), and each is a way of its own. */
bool write_probe_creates (const char *path);
/* Can <root>/catalogue.db or its companion files be locked, so that nobody can write it? */
bool write_probe_catalogue_lock (const char *root);

/* Should the level close this way? Landlock does not close modes, times and attributes. */
bool write_probe_level_closes (enum enforcement level, enum probe probe);
/* The best level in `set` (bits 1 << level) with all its ways closed; COOPERATIVE closes none. */
enum enforcement write_probe_best_level (uint32_t set, uint32_t open_ways);

#endif
