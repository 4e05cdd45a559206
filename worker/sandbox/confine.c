#include "worker/sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "worker/sandbox/confine_sandbox.h"

/* ---- socket probe ---- */

/* Tries whether a sandboxed program reaches a socket of an outside process, which could write for it.
 *
 * Two sockets made before rights go, one with a path, one with an abstract name (unix(7)), stand for all such
 * sockets. */
struct socket_probe {
    int folder_fd, path_fd, abstract_fd;
    struct sockaddr_un path, abstract;
    unsigned abstract_bytes;
};

#define SOCKET_NAME ".socket"

static int listening (const struct sockaddr_un *name, unsigned bytes)
{
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind (fd, (const struct sockaddr *) name, bytes) == 0 && listen (fd, 1) == 0)
        return fd;
    fd_close (fd);
    return -1;
}

static bool reaches (int listener, const struct sockaddr_un *name, unsigned bytes)
{
    LOCAL_FD fd = listener < 0 ? -1 : socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect (fd, (const struct sockaddr *) name, bytes) == 0;
}

/* Not by pid, since pids in several workers' namespaces are equal. */
static void name_abstract (struct socket_probe *probe)
{
    uint64_t random = 0;
    (void) getrandom (&random, sizeof random, 0); /* a taken name is not bound, so it is not reached */
    probe->abstract = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int len = snprintf (probe->abstract.sun_path + 1, sizeof probe->abstract.sun_path - 1, "sliceup-confine-%016llx",
                        (unsigned long long) random);
    probe->abstract_bytes = (unsigned) offsetof (struct sockaddr_un, sun_path) + 1 + (unsigned) len;
}

/* The path lies in `scratch`: through the folder's descriptor, because a socket's path has at most 108 bytes (unix(7)),
 * and an attempt's may be longer. A socket that cannot be made is not reached. */
static void socket_probe_open (struct socket_probe *probe, const char *scratch)
{
    *probe = (struct socket_probe){ .path_fd = -1, .abstract_fd = -1, .path.sun_family = AF_UNIX };
    name_abstract (probe);
    probe->abstract_fd = listening (&probe->abstract, probe->abstract_bytes);
    probe->folder_fd = open (scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf (probe->path.sun_path, sizeof probe->path.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, probe->folder_fd);
    if (probe->folder_fd >= 0)
        probe->path_fd = listening (&probe->path, sizeof probe->path);
}

/* Bits of PROBE_PATH_SOCKET and PROBE_ABSTRACT_SOCKET (confine_sandbox.h) that are open. */
static uint32_t socket_probe_try_connect (const struct socket_probe *probe)
{
    return (reaches (probe->path_fd, &probe->path, sizeof probe->path) ? PROBE_BIT (PROBE_PATH_SOCKET) : 0) |
           (reaches (probe->abstract_fd, &probe->abstract, probe->abstract_bytes) ? PROBE_BIT (PROBE_ABSTRACT_SOCKET)
                                                                                  : 0);
}

static void socket_probe_close (struct socket_probe *probe)
{
    const int fds[] = { probe->path_fd, probe->abstract_fd, probe->folder_fd };
    if (probe->path_fd >= 0)
        (void) unlinkat (probe->folder_fd, SOCKET_NAME, 0);
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        fd_close (fds[i]);
}

/* ---- sliceup files probe ---- */

/* Tries from inside a program's sandbox to change what sliceup itself executes, imports, reads
 * as configuration or trusts: such a change would run the program's code outside of the sandbox.
 *
 * Nothing stays changed: it undoes what worked, and restores removed names at once. */

enum { ENTRIES_TRIED = 48, DEPTH_TRIED = 3 };

static bool confine_create (const char *folder)
{
    char path[PATH_MAX];
    return snprintf (path, sizeof path, "%s/.tried-%d", folder, (int) getpid ()) < (int) sizeof path &&
           write_probe_creates (path);
}

/* A hidden file is a device that accepts every write. */
static bool writes (const char *path)
{
    struct stat at;
    LOCAL_FD fd = open (path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && fstat (fd, &at) == 0 && S_ISREG (at.st_mode);
}

struct look {
    const struct confine_paths *paths;
    const char *shown;
    int budget;
};

static bool writes_in (struct look *look, const char *folder, int depth);

/* Skips the program's own folders and the cache, which are tried elsewhere. */
static bool is_passed_over (const struct look *look, const char *path)
{
    return path_is_below_any (path, look->paths->own, look->paths->own_n) ||
           (look->shown && path_is_below (path, look->shown));
}

static bool writes_entry (struct look *look, const char *folder, const struct dirent *entry, int depth)
{
    char path[PATH_MAX];
    if (entry->d_name[0] == '.' || snprintf (path, sizeof path, "%s/%s", folder, entry->d_name) >= (int) sizeof path ||
        is_passed_over (look, path))
        return false;
    if (entry->d_type == DT_DIR)
        return depth < DEPTH_TRIED && writes_in (look, path, depth + 1);
    return entry->d_type == DT_REG && writes (path);
}

/* Tries a part, since the same rules apply to all. An executing file proves nothing (open(2), ETXTBSY). */
static bool writes_in (struct look *look, const char *folder, int depth)
{
    LOCAL_DIR entries = opendir (folder);
    struct dirent *entry;
    bool open_probe = false;
    while (entries && !open_probe && look->budget-- > 0 && (entry = readdir (entries)))
        open_probe = writes_entry (look, folder, entry, depth);
    return open_probe;
}

static bool can_move (const char *path)
{
    char away[PATH_MAX];
    if (snprintf (away, sizeof away, "%s.tried-%d", path, (int) getpid ()) >= (int) sizeof away ||
        rename (path, away) < 0)
        return false;
    (void) rename (away, path);
    return true;
}

/* Tries the path and its parents, up to the open place. Parents of that belong to the host, and are not touched. */
static bool can_move_with_all_above (const struct confine_paths *paths, const char *path)
{
    const char *open_place = confine_paths_open_holding (paths, path);
    char name[PATH_MAX];
    bool open_probe = false;
    if (!open_place || strlen (path) >= sizeof name)
        return false;
    snprintf (name, sizeof name, "%s", path);
    while (!open_probe && strcmp (name, open_place) != 0) {
        open_probe = can_move (name);
        *strrchr (name, '/') = '\0';
    }
    return open_probe;
}

/* Bits of PROBE_OWN_* (confine_sandbox.h) that are open; `*where`: one path of them, or NULL. `shown`: the folder of the
 * constant path; NULL: none. `moves`: also tries to remove names, which others briefly miss if it works. */
static uint32_t sliceup_files_probe (const struct confine_paths *paths, const char *shown, bool moves,
                                     const char **where)
{
    uint32_t open_ways = 0;
    *where = NULL;
    for (uint32_t i = 0; i < paths->protected_n; i++) {
        const char *path = paths->protected[i];
        struct look look = { paths, shown, ENTRIES_TRIED };
        struct stat at;
        uint32_t here = 0;
        bool folder = lstat (path, &at) == 0 && S_ISDIR (at.st_mode);
        here |= folder && confine_create (path) ? PROBE_BIT (PROBE_OWN_CREATE) : 0;
        here |= (folder ? writes_in (&look, path, 0) : writes (path)) ? PROBE_BIT (PROBE_OWN_WRITE) : 0;
        here |= moves && can_move_with_all_above (paths, path) ? PROBE_BIT (PROBE_OWN_RENAME) : 0;
        *where = here ? path : *where;
        open_ways |= here;
    }
    return open_ways;
}

/* ---- confine ---- */

enum { EXIT_TOLD = 0, EXIT_LESS = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 3, EXIT_ENTERED = -1 };

struct stage {
    struct confine_args args;
    struct confine_cache_paths cache_paths;
    struct confine_sandbox sandbox;
    struct arena arena;
    struct socket_probe socket_probe;
    struct confine_report report;
    uint32_t open_ways;
    struct text probes[PROBES_N];
};

/* ---- trying ---- */

static bool has_witness (const char *folder, struct arena *arena)
{
    struct stat at;
    const char *path = text_format (arena, "%s/" WITNESS_NAME, folder).ptr;
    return lstat (path, &at) == 0 && S_ISREG (at.st_mode);
}

static uint32_t try_in (struct stage *stage, const char *folder)
{
    const struct confine_cache_paths *cache_paths = &stage->cache_paths;
    struct write_probe_target target = { .folder = folder,
                                         .witness = has_witness (folder, &stage->arena),
                                         .own_mounts = stage->sandbox.own_mounts };
    target.mounts[0] = cache_paths->root;
    if (stage->sandbox.own_mounts && cache_paths->place && !stage->args.overlay && !cache_paths->own)
        target.mounts[1] = text_format (&stage->arena, "%s/generation", cache_paths->place).ptr;
    if (!target.witness && path_is_below (folder, cache_paths->bundle) && strcmp (folder, cache_paths->bundle) != 0)
        confine_sandbox_add_note (&stage->sandbox, &stage->arena, "the write protection of files was not tested",
                                  text_format (&stage->arena, "there is no " WITNESS_NAME " in %.300s", folder).ptr);
    return write_probe_try_all (&target);
}

/* Without enforcement, test on a scratch copy: other hosts must not see test files. */
static uint32_t try_in_fixture (struct stage *stage)
{
    struct scratch_generation fixture;
    if (scratch_generation_make (stage->cache_paths.bundle, &fixture, NULL) < 0)
        return try_in (stage, stage->cache_paths.own ? stage->cache_paths.bundle : stage->cache_paths.generation);
    uint32_t open_ways = try_in (stage, fixture.path);
    struct err err = { 0 };
    if (scratch_generation_remove (&fixture, &err) < 0)
        confine_sandbox_add_note (&stage->sandbox, &stage->arena, "a test folder cannot be removed from the cache",
                                  err.text);
    return open_ways;
}

/* A writer must not be able to make another generation, nor to change the one that it began with. */
static uint32_t try_in_cache (struct stage *stage)
{
    const struct confine_cache_paths *cache_paths = &stage->cache_paths;
    bool below = cache_paths->generation && path_is_below (cache_paths->generation, cache_paths->root);
    if (cache_paths->own)
        return try_in (stage, cache_paths->bundle) | (cache_paths->base ? try_in (stage, cache_paths->base) : 0);
    return try_in (stage, below ? cache_paths->generation : cache_paths->bundle);
}

static uint32_t try_own (struct stage *stage, bool moves)
{
    const char *where;
    uint32_t open_ways = sliceup_files_probe (&stage->cache_paths.paths, stage->cache_paths.place, moves, &where);
    if (where)
        confine_sandbox_add_note (&stage->sandbox, &stage->arena, "programs can change files that sliceup itself uses",
                                  where);
    return open_ways;
}

static void try_probes (struct stage *stage)
{
    bool manners = stage->sandbox.levels == UINT32_C (1) << ENFORCEMENT_COOPERATIVE;
    stage->open_ways = manners ? try_in_fixture (stage) : try_in_cache (stage);
    stage->open_ways |= try_own (stage, !manners);
    stage->open_ways |= socket_probe_try_connect (&stage->socket_probe);
    stage->open_ways |= write_probe_catalogue_lock (stage->cache_paths.root) ? PROBE_BIT (PROBE_CATALOGUE_LOCK) : 0;
    socket_probe_close (&stage->socket_probe);
}

static bool own_is_writable (const struct stage *stage)
{
    char path[PATH_MAX_BYTES + 32];
    snprintf (path, sizeof path, "%s/.tried-%d", stage->cache_paths.own, (int) getpid ());
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    fd_close (fd);
    return fd >= 0 && unlink (path) == 0;
}

/* ---- the report ---- */

static void list_probes (struct stage *stage)
{
    uint32_t n = 0;
    for (int probe = 0; probe < PROBES_N; probe++)
        if (stage->open_ways & PROBE_BIT (probe))
            stage->probes[n++] = text_of (write_probe_name ((enum probe) probe));
    stage->report.view.open_ways.items = stage->probes;
    stage->report.view.open_ways.n = n;
}

static void add_list (struct buf *out, const char *lead, const struct text *items, uint32_t n, const char *between)
{
    for (uint32_t i = 0; i < n; i++)
        buf_printf (out, "%s%.*s", i ? between : lead, TEXT_ARG (items[i]));
}

static void confine_refuse (struct stage *stage, enum owner owner, const char *sentence)
{
    stage->report.ready = false;
    stage->report.owner = owner;
    stage->report.problem = text_clip (text_copy (&stage->arena, text_of (sentence)), SENTENCE_MAX_BYTES);
}

static void refuse_level (struct stage *stage)
{
    const struct confine_report *report = &stage->report;
    LOCAL_BUF why = { .max = 4 * SENTENCE_MAX_BYTES };
    buf_printf (&why, "this host can protect the cache only at level %s, and cache.enforcement requires %s",
                enum_name_of (&enforcement_names, report->view.level),
                enum_name_of (&enforcement_names, stage->args.least));
    if (report->reached != report->view.level)
        buf_printf (&why, "; level %s was set up, but does not hold",
                    enum_name_of (&enforcement_names, report->reached));
    add_list (&why, "; programs can still write in these ways: ", report->view.open_ways.items,
              report->view.open_ways.n, ", ");
    add_list (&why, "; ", stage->sandbox.notes, stage->sandbox.notes_n, "; ");
    confine_refuse (stage, OWNER_CACHE, buf_c (&why));
}

static void confine_judge (struct stage *stage)
{
    struct confine_report *report = &stage->report;
    report->reached = write_probe_best_level (stage->sandbox.levels, 0);
    report->view.level = write_probe_best_level (stage->sandbox.levels, stage->open_ways);
    report->view.mount = text_of (stage->cache_paths.mount);
    list_probes (stage);
    report->notes.items = stage->sandbox.notes;
    report->notes.n = stage->sandbox.notes_n;
    report->ready = true;
    if (report->view.level < stage->args.least)
        refuse_level (stage);
    else if (stage->cache_paths.own && !own_is_writable (stage))
        confine_refuse (stage, OWNER_CACHE,
                        text_format (&stage->arena,
                                     "the generation that this host is to write, %s, cannot be written: %s",
                                     stage->cache_paths.own, strerror (errno))
                            .ptr);
    else if (stage->args.overlay && !stage->sandbox.own_mounts)
        confine_refuse (stage, OWNER_CACHE,
                        text_format (&stage->arena,
                                     "cache.overlay needs a mount namespace, which is not "
                                     "possible here: %.*s",
                                     TEXT_ARG (stage->sandbox.notes[0]))
                            .ptr);
}

static void confine_print (const struct confine_report *report)
{
    printf ("level %s\nreached %s\nmount %.*s\n", enum_name_of (&enforcement_names, report->view.level),
            enum_name_of (&enforcement_names, report->reached), TEXT_ARG (report->view.mount));
    for (uint32_t i = 0; i < report->view.open_ways.n; i++)
        printf ("open %.*s\n", TEXT_ARG (report->view.open_ways.items[i]));
    for (uint32_t i = 0; i < report->notes.n; i++)
        printf ("note %.*s\n", TEXT_ARG (report->notes.items[i]));
    if (!report->ready)
        printf ("problem %.*s\n", TEXT_ARG (report->problem));
}

static int confine_tell (const struct stage *stage, struct err *err)
{
    if (stage->args.report_fd >= 0)
        return packet_send (stage->args.report_fd, &confine_report_record, &stage->report, err);
    confine_print (&stage->report);
    return fflush (stdout) ? err_errno (err, ERR_IO, "cannot write to standard output") : 0;
}

/* ---- the stage ---- */

static int confine_prepare (struct stage *stage, int argc, char **argv, struct err *err)
{
    if (confine_args_read (argc, argv, &stage->args, err) < 0)
        return EXIT_USAGE;
    /* The program must never have it. */
    if (stage->args.report_fd >= 0 && fcntl (stage->args.report_fd, F_SETFD, FD_CLOEXEC) < 0) {
        err_errno (err, ERR_USAGE, "--report %d", stage->args.report_fd);
        stage->args.report_fd = -1;
        return EXIT_USAGE;
    }
    /* A program without the cache may run before the root exists, and must not make it. */
    if (stage->args.role == CACHE_ROLE_NONE && folder_make (stage->args.root, 0755, err) < 0)
        return EXIT_COULD_NOT;
    return confine_cache_paths_resolve (&stage->args, &stage->arena, &stage->cache_paths, err) < 0 ? EXIT_COULD_NOT
                                                                                                   : EXIT_TOLD;
}

static void enter (struct stage *stage)
{
    struct confine_restrictions restrictions = confine_restrictions_of_args (&stage->args);
    socket_probe_open (&stage->socket_probe, stage->cache_paths.scratch);
    confine_sandbox_enter (&stage->args, &stage->cache_paths, &restrictions, &stage->arena, &stage->sandbox);
    try_probes (stage);
    confine_judge (stage);
}

/* Only comes back when it failed. */
static void become (struct stage *stage)
{
    confine_args_restore_environ (environ);
    execve (stage->args.program[0], stage->args.program + 1, environ);
    confine_refuse (
        stage, OWNER_PROGRAM,
        text_format (&stage->arena, "executing %.300s failed: %s", stage->args.program[0], strerror (errno)).ptr);
}

/* ENTERED: the program may run in this process. */
static int confine_run (struct stage *stage, int argc, char **argv, bool is_program, struct err *err)
{
    int status = confine_prepare (stage, argc, argv, err);
    if (status == EXIT_TOLD)
        enter (stage);
    else
        confine_refuse (stage, OWNER_CACHE, err->text);
    if (status == EXIT_USAGE && stage->args.report_fd < 0)
        return status;
    if (confine_tell (stage, err) < 0)
        return EXIT_COULD_NOT;
    if (!stage->report.ready)
        return status ? status : EXIT_LESS;
    if (!stage->args.program)
        return EXIT_TOLD;
    if (is_program)
        return close (stage->args.report_fd) < 0 ? EXIT_COULD_NOT : EXIT_ENTERED;
    become (stage);
    return confine_tell (stage, err) < 0 ? EXIT_COULD_NOT : EXIT_LESS;
}

static int confine_begin (int argc, char **argv, bool is_program)
{
    static struct stage stage; /* large, and there is one */
    struct err err = { 0 };
    int status = confine_run (&stage, argc, argv, is_program, &err);
    if (status == EXIT_ENTERED) {
        arena_release (&stage.arena);
        return status;
    }
    if (status == EXIT_USAGE || status == EXIT_COULD_NOT)
        fprintf (stderr, "sliceup-worker: confine: %s\n", err.text);
    /* Not exit, because exit handlers of a sanitized process need dropped rights. */
    fflush (stdout);
    _exit (status);
}

int confine_main (int argc, char **argv)
{
    return confine_begin (argc, argv, false);
}

void confine_enter (int argc, char **argv)
{
    (void) confine_begin (argc, argv, true);
}
