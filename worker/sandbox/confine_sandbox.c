#include "worker/sandbox/confine_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/sandbox/confine_caps.h"

/* ---- truncation filter ---- */

/* Forbids truncating files by name, for this process and what it starts, with seccomp(2).
 *
 * Landlock before ABI 3 (Linux 6.2) does not check truncate(2), nor an open(2) for reading with truncation. So the
 * filter refuses both everywhere, and what it cannot inspect: openat2 and io_uring (ENOSYS, as on a kernel without
 * them), and system calls of another architecture. Files open for writing can still be truncated. It needs
 * no_new_privs. */

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "define MACHINE as linux/audit.h names this architecture"
#endif

#define X32_BIT 0x40000000 /* the other calling convention of x86_64 has the same machine (seccomp(2)) */
#define LOAD(member) BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, member))
#define ANSWER(code) BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))
#define PASS BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define UNLESS(value, skip) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define REFUSE(number, code) UNLESS (number, 1), ANSWER (code)
/* Neither O_WRONLY nor O_RDWR, and yet it truncates. The flags are in the lower half of the argument: little endian. */
#define REFUSE_OPEN(number, argument)                                                                                  \
    UNLESS (number, 6), LOAD (args[argument]), BPF_STMT (BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),              \
        BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC, 1, 0), UNLESS (O_TRUNC | O_ACCMODE, 1), ANSWER (EACCES), PASS

static struct sock_filter filter[] = { LOAD (arch),
                                       BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
                                       ANSWER (ENOSYS),
                                       LOAD (nr),
                                       BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
                                       ANSWER (ENOSYS),
                                       REFUSE (SYS_truncate, EACCES),
                                       REFUSE (SYS_openat2, ENOSYS),
                                       REFUSE (SYS_io_uring_setup, ENOSYS),
#ifdef SYS_open
                                       REFUSE_OPEN (SYS_open, 1),
#endif
                                       REFUSE_OPEN (SYS_openat, 2),
                                       PASS };

static int truncation_refuse (struct err *err)
{
    struct sock_fprog program = { .len = sizeof filter / sizeof filter[0], .filter = filter };
    if (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return err_errno (err, ERR_IO, "cannot install the seccomp filter that forbids truncation");
    return 0;
}

/* ---- confine sandbox ---- */

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

/* ---- Landlock ---- */

/* With an overlay the layer is written, not the generation. */
static void list_own (const struct making *making, const char *out[], uint32_t *n)
{
    const struct confine_paths *paths = &making->cache_paths->paths;
    for (uint32_t i = 0; i < paths->own_n; i++)
        out[(*n)++] = paths->own[i];
    out[(*n)++] = "/proc/self";
    if (making->args->overlay && making->out->own_mounts)
        out[(*n)++] = text_format (making->arena, "%s/generation", making->cache_paths->place).ptr;
}

/* Lists device nodes, since read-only mounts do not block them: all of its own /dev, which has only allowed ones. In
 * the host's /dev the terminals are everybody's. */
static void list_open (const struct making *making, const char *out[], uint32_t *n)
{
    const struct confine_paths *paths = &making->cache_paths->paths;
    if (making->out->own_mounts)
        out[(*n)++] = "/dev";
    for (uint32_t i = 0; i < paths->open_n; i++)
        if (making->out->own_mounts || strcmp (paths->open[i], "/dev/pts") != 0)
            out[(*n)++] = paths->open[i];
}

/* Landlock closes a file only by closing its folder to new files, so prefer mounts. Nothing can be mounted on a link,
 * so Landlock closes those. */
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
    struct err err = { 0 }, note = { 0 };
    const char *open[PLACES_OPEN_MAX + 1], *own[PLACES_OWN_MAX + 2],
        *closed[2 * PLACES_CLOSED_MAX + PLACES_LINKS_MAX + CONFINE_HIDDEN_MAX + 3];
    const char *hidden[CONFINE_HIDDEN_MAX + 4] = { "/dev" };
    const struct confine_cache_paths *cache_paths = making->cache_paths;
    struct landlock_paths paths = { open, closed, own, .hidden = hidden, .shown = cache_paths->directory };
    if (!wants (making->args, ENFORCEMENT_LANDLOCK))
        return false;
    list_open (making, open, &paths.open_n);
    list_own (making, own, &paths.own_n);
    list_closed (making, closed, &paths.closed_n);
    paths.hidden_n = making->out->own_mounts ? 0 : 1 + cache_paths->hidden_n; /* mounts do */
    for (uint32_t i = 1; i < paths.hidden_n; i++)
        closed[paths.closed_n++] = hidden[i] = cache_paths->hidden[i - 1];
    int rc = making->restrictions->landlock_abi > 0 ? 0
                                                    : err_set (&err, ERR_STATE, "Landlock is absent or switched off");
    if (rc == 0 && making->restrictions->landlock_abi < LANDLOCK_ABI_TRUNCATE)
        rc = truncation_refuse (&err);
    if (rc == 0)
        rc = landlock_restrict (&paths, making->restrictions->landlock_rights, making->restrictions->landlock_scopes,
                                &note, &err);
    if (note.text[0])
        confine_sandbox_add_note (making->out, making->arena, "what Landlock hides", note.text);
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
    if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || confine_caps_keep (restrictions->caps_kept, &err) < 0) {
        confine_sandbox_add_note (out, arena, "programs keep capabilities that can undo the mounts", err.text);
        mounts = false;
    }
    bool landlock = take_landlock (&making);
    out->levels |= (mounts ? LEVEL (ENFORCEMENT_NAMESPACE) : 0) | (landlock ? LEVEL (ENFORCEMENT_LANDLOCK) : 0) |
                   (mounts && landlock ? LEVEL (ENFORCEMENT_NAMESPACE_LANDLOCK) : 0);
    if (cache_paths->read_only && !cache_paths->own && args->most >= ENFORCEMENT_STORAGE)
        out->levels |= LEVEL (ENFORCEMENT_STORAGE);
}

/* ---- the report ---- */

static const struct field confine_report_fields[] = {
    F_BOOL (1, struct confine_report, ready),
    F_TEXT (2, struct confine_report, problem, SENTENCE_MAX_BYTES),
    F_ENUM (3, struct confine_report, owner, &owner_names),
    F_ENUM (4, struct confine_report, reached, &enforcement_names),
    F_RECORD (5, struct confine_report, view, &cache_view_record),
    F_TEXTS (6, struct confine_report, notes, CONFINE_NOTES_MAX, SENTENCE_MAX_BYTES),
};
const struct record confine_report_record = RECORD ("report of the sandbox", struct confine_report,
                                                    confine_report_fields);

bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over)
{
    struct confine_report received;
    struct text raw;
    enum packet packet;
    bool said = false;
    while ((packet = packet_receive (fd, &confine_report_record, &received, &raw, arena)) >= PACKET_RECORD)
        if (packet == PACKET_RECORD) {
            *report = received;
            said = true;
        }
    *over = packet == PACKET_OVER;
    return said;
}
