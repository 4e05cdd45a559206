#include "worker/sandbox/confine_sandbox.h"

#include "worker/sandbox/confine_caps.h"
#include "worker/sandbox/confine_mounts.h"
#include "worker/sandbox/landlock.h"
#include "worker/sandbox/truncation_filter.h"
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 }; /* the overflow uid (proc(5)), which owns nothing of a cache */
#define LEVEL(level) (UINT32_C (1) << (level))

struct making {
    const struct confine_args *args;
    const struct confine_cache_paths *cache_paths;
    const struct confine_restrictions *restrictions;
    struct arena *arena;
    struct confine_sandbox *out;
};

void confine_sandbox_add_note (struct confine_sandbox *sandbox, struct arena *arena, const char *what, const char *why)
{
    if (sandbox->notes_n < CONFINE_NOTES_MAX)
        sandbox->notes[sandbox->notes_n++] = text_format (arena, "%s: %s", what, why);
}

struct confine_restrictions confine_restrictions_of_args (const struct confine_args *args)
{
    int abi = landlock_abi ();
    abi = abi < args->landlock_abi ? abi : args->landlock_abi;
    return (struct confine_restrictions){ .caps_kept = geteuid () == 0 ? confine_caps_kept : 0,
                                          .landlock_abi = abi,
                                          .landlock_rights = landlock_write_rights (abi),
                                          .landlock_scopes = landlock_scopes (abi) };
}

/* ---- mounts ---- */

static bool wants (const struct confine_args *args, enum enforcement level)
{
    if (level == ENFORCEMENT_LANDLOCK && args->most == ENFORCEMENT_NAMESPACE)
        return false;
    return args->most >= level;
}

static bool take_mounts (const struct making *making)
{
    struct err err = { 0 };
    if (!wants (making->args, ENFORCEMENT_NAMESPACE))
        return false;
    if (confine_mounts_enter (making->cache_paths, making->args->overlay, &err) == 0)
        return making->out->own_mounts = true;
    confine_sandbox_add_note (making->out, making->arena, "no mount namespace", err.text);
    return false;
}

/* ---- another uid ---- */

static _Noreturn void try_uid (const struct making *making)
{
    const struct confine_cache_paths *cache_paths = making->cache_paths;
    const char *program = making->args->program ? making->args->program[0] : cache_paths->scratch;
    bool reaches = setgroups (0, NULL) == 0 && setresgid (NOBODY, NOBODY, NOBODY) == 0 &&
                   setresuid (NOBODY, NOBODY, NOBODY) == 0 && access (cache_paths->scratch, W_OK | X_OK) == 0 &&
                   (!cache_paths->generation || access (cache_paths->generation, R_OK | X_OK) == 0) &&
                   access (program, X_OK) == 0;
    _exit (reaches ? 0 : 1);
}

static bool uid_reaches_all (const struct making *making)
{
    int status = 0;
    pid_t pid = fork ();
    if (pid == 0)
        try_uid (making);
    while (pid > 0 && waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

static int change_uid (const struct making *making, struct err *err)
{
    if (chown (making->cache_paths->scratch, NOBODY, NOBODY) < 0)
        return err_errno (err, ERR_IO, "cannot change the owner of %.300s to uid %d", making->cache_paths->scratch,
                          NOBODY);
    if (!uid_reaches_all (making))
        return err_set (err, ERR_STATE, "uid %d cannot reach the program, its folder %.200s or the generation", NOBODY,
                        making->cache_paths->scratch);
    pid_t parent = getppid ();
    if (setgroups (0, NULL) < 0 || setresgid (NOBODY, NOBODY, NOBODY) < 0 || setresuid (NOBODY, NOBODY, NOBODY) < 0)
        return err_errno (err, ERR_IO, "cannot become uid %d", NOBODY);
    /* Both are lost with the uid (prctl(2), proc(5)): to die with the worker, and to own one's files in /proc. */
    if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl (PR_SET_DUMPABLE, 1) < 0)
        return err_errno (err, ERR_IO, "cannot set PR_SET_PDEATHSIG or PR_SET_DUMPABLE for this process");
    if (getppid () != parent)
        _exit (3);
    return 0;
}

/* Of readers: a writer's own files would have to be another uid's, and the next writer's as well. */
static bool take_uid (const struct making *making)
{
    struct err err = { 0 };
    if (geteuid () != 0 || !wants (making->args, ENFORCEMENT_OTHER_UID))
        return false;
    if (making->cache_paths->own)
        err_set (&err, ERR_STATE, "the writer of the cache keeps its uid");
    else if (change_uid (making, &err) == 0)
        return true;
    confine_sandbox_add_note (making->out, making->arena, "no other uid", err.text);
    return false;
}

/* ---- Landlock ---- */

/* A generation shown through an overlay is written in the layer above it. */
static void list_own (const struct making *making, const char *out[], uint32_t *n)
{
    const struct confine_paths *paths = &making->cache_paths->paths;
    for (uint32_t i = 0; i < paths->own_n; i++)
        out[(*n)++] = paths->own[i];
    out[(*n)++] = "/proc/self";
    if (making->args->overlay && making->out->own_mounts)
        out[(*n)++] = text_format (making->arena, "%s/generation", making->cache_paths->place).ptr;
}

/* Devices are written through their nodes, which mounts do not keep from it. */
static void list_open (const struct making *making, const char *out[], uint32_t *n)
{
    const struct confine_paths *paths = &making->cache_paths->paths;
    out[(*n)++] = "/dev";
    for (uint32_t i = 0; i < paths->open_n; i++)
        out[(*n)++] = paths->open[i];
}

/* A folder in which one file is closed could get no new ones: where mounts close the file, that price is not paid.
 * Nothing can be mounted on a link, so there it is. */
static void list_closed (const struct making *making, const char *out[], uint32_t *n)
{
    const struct confine_paths *paths = &making->cache_paths->paths;
    for (uint32_t i = 0; i < paths->links_n; i++)
        out[(*n)++] = paths->links[i];
    for (uint32_t i = 0; i < paths->closed_n; i++)
        out[(*n)++] = paths->closed[i];
    for (uint32_t i = 0; !making->out->own_mounts && i < paths->closed_files_n; i++)
        out[(*n)++] = paths->closed_files[i];
}

static bool take_landlock (const struct making *making)
{
    struct err err = { 0 };
    const char *open[PLACES_OPEN_MAX + 1], *own[PLACES_OWN_MAX + 2], *closed[2 * PLACES_CLOSED_MAX + PLACES_LINKS_MAX];
    struct landlock_paths paths = { .open = open, .closed = closed, .own = own };
    if (!wants (making->args, ENFORCEMENT_LANDLOCK))
        return false;
    list_open (making, open, &paths.open_n);
    list_own (making, own, &paths.own_n);
    list_closed (making, closed, &paths.closed_n);
    int rc = making->restrictions->landlock_abi > 0 ? 0
                                                    : err_set (&err, ERR_STATE, "Landlock is absent or switched off");
    if (rc == 0 && making->restrictions->landlock_abi < LANDLOCK_ABI_TRUNCATE)
        rc = truncation_refuse (&err);
    if (rc == 0)
        rc = landlock_restrict (&paths, making->restrictions->landlock_rights, making->restrictions->landlock_scopes,
                                &err);
    if (rc < 0)
        confine_sandbox_add_note (making->out, making->arena, "no Landlock", err.text);
    return rc == 0;
}

/* ---- all of it ---- */

void confine_sandbox_enter (const struct confine_args *args, const struct confine_cache_paths *cache_paths,
                            const struct confine_restrictions *restrictions, struct arena *arena,
                            struct confine_sandbox *out)
{
    struct making making = { args, cache_paths, restrictions, arena, out };
    struct err err = { 0 };
    *out = (struct confine_sandbox){ .levels = LEVEL (ENFORCEMENT_COOPERATIVE) };
    if (args->most <= ENFORCEMENT_COOPERATIVE)
        return;
    bool mounts = take_mounts (&making);
    bool landlock_to_come = wants (args, ENFORCEMENT_LANDLOCK) && restrictions->landlock_abi > 0;
    bool uid = !mounts && !landlock_to_come && take_uid (&making);
    if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || confine_caps_keep (restrictions->caps_kept, &err) < 0) {
        confine_sandbox_add_note (out, arena, "programs keep capabilities that can undo the mounts", err.text);
        mounts = false;
    }
    bool landlock = take_landlock (&making);
    out->levels |= (mounts ? LEVEL (ENFORCEMENT_NAMESPACE) : 0) | (landlock ? LEVEL (ENFORCEMENT_LANDLOCK) : 0) |
                   (mounts && landlock ? LEVEL (ENFORCEMENT_NAMESPACE_LANDLOCK) : 0) |
                   (uid ? LEVEL (ENFORCEMENT_OTHER_UID) : 0);
    if (cache_paths->read_only && !cache_paths->own && args->most >= ENFORCEMENT_STORAGE)
        out->levels |= LEVEL (ENFORCEMENT_STORAGE);
}
