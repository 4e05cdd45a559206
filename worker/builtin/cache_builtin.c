#include "worker/builtin/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/self.h"
#include "worker/protocol/protocol_writer.h"
#include "worker/sandbox/confine.h"
#include "worker/sandbox/confine_sandbox.h"

struct cache_builtin {
    struct protocol_writer *writer;
    const char *root, *least, *trust;
    uid_list trusted;
    bool writable, read_only; /* read_only: its mount is */
    bool reads;               /* this host never writes in this run, so it needs no free space */
    const char *protected[CONFINE_PROTECTED_MAX];
    uint32_t protected_n;
    enum owner owner; /* of a failure */
    struct arena arena;
};

/* ---- the sandbox of programs (confine.h), set up once only for its report ---- */

enum { ANSWER_MAX_MS = 45 * 1000 };

struct stage_probe {
    struct cache_builtin *builtin;
    const char *folder;
    char here[PATH_MAX], report[16];
};

static _Noreturn void become_stage (const struct stage_probe *probe, int report_fd)
{
    struct arena arena = { 0 };
    const struct cache_builtin *builtin = probe->builtin;
    const char *argv[20 + 2 * CONFINE_PROTECTED_MAX] = {
        "sliceup-worker", "confine",      "--root",    builtin->root, "--bundle", builtin->root,
        "--generation",   probe->folder,  "--scratch", probe->here,   "--role",   "reader",
        "--least",        builtin->least, "--report",  probe->report
    };
    uint32_t n = 16;
    for (uint32_t i = 0; i < builtin->protected_n; i++) {
        argv[n++] = "--protected";
        argv[n++] = builtin->protected[i];
    }
    struct self_exec start = self_make_exec ((char *const *) (uintptr_t) argv, &arena);
    self_keep_image_open ();
    if (fcntl (report_fd, F_SETFD, 0) == 0 && prctl (PR_SET_PDEATHSIG, SIGKILL) == 0)
        execve (start.program, start.argv, environ);
    _exit (127);
}

static int cache_builtin_receive (int fd, struct arena *arena, struct confine_report *report, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + ANSWER_MAX_MS;
    bool over = false, said = false;
    for (;;) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLIN };
        if (now_ms >= until_ms)
            return err_set (
                err, ERR_STATE,
                "testing the write protection of the cache took longer than %d s: check whether the storage answers",
                ANSWER_MAX_MS / 1000);
        if (poll (&entry, 1, (int) (until_ms - now_ms)) > 0)
            said |= confine_report_receive (fd, arena, report, &over);
        if (over)
            return said ? 0 : err_set (err, ERR_STATE, "the process that sets up the sandbox ended without a report");
    }
}

static int cache_builtin_run (const struct stage_probe *probe, int fds[2], struct confine_report *out, struct err *err)
{
    pid_t pid = fork ();
    if (pid == 0)
        become_stage (probe, fds[1]);
    close (fds[1]);
    if (pid < 0)
        return err_errno (err, ERR_IO, "cannot start the process that sets up the sandbox");
    int rc = cache_builtin_receive (fds[0], &probe->builtin->arena, out, err);
    if (rc < 0)
        (void) kill (pid, SIGKILL);
    while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return rc;
}

/* Tries ways to write in `folder`: the root, or below it. A refusal is a report with ready false, not an error. Uses
 * the current folder, which is the program's own. Bounded; texts live in the arena. */
static int cache_builtin_try_sandbox (struct cache_builtin *builtin, const char *folder, struct confine_report *report,
                                      struct err *err)
{
    struct stage_probe probe = { .builtin = builtin, .folder = folder };
    int pair[2];
    if (!getcwd (probe.here, sizeof probe.here))
        return err_errno (err, ERR_IO, "cannot find the current folder");
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno (err, ERR_IO, "cannot make a socket for the report of the sandbox");
    snprintf (probe.report, sizeof probe.report, "%d", pair[1]);
    int rc = cache_builtin_run (&probe, pair, report, err);
    close (pair[0]);
    return rc;
}

/* ---- cache builtin ---- */

#define FACT_STORAGE "cache.storage"
#define FACT_MOUNT "cache.mount"
#define FACT_HARDWARE "cache.hardware"
#define FACT_CPU "cache.cpu"
#define FACT_FREE "cache.free_bytes"
#define FACT_LEVEL "cache.enforcement"
#define FACT_WAYS "cache.open_ways"
#define NOTE_SOURCE "cache-survey"

enum { EXIT_USABLE = 0, EXIT_NOT_USABLE = 1, EXIT_WRONG_USAGE = 2 };
enum { STORAGE_WAIT_MS = 10 * 1000, STORAGE_AGAIN_MS = 100, FREE_MIN_MIB = 64, FREE_MIN_INODES = 1000 };

/* ---- the root ---- */

static const char *advice (int code)
{
    switch (code) {
    case EACCES:
    case EPERM:
        return "this user has no permission to reach or make it: make this user its owner, or choose another "
               "cache.root";
    case EROFS:
        return "the storage is read-only on this host and the folder does not exist yet: mount it writable, or make it "
               "on a host that may write and set cache.mode: read-only";
    case ENOTDIR: return "a part of the path is not a folder: choose another cache.root";
    case ENOSPC:
    case EDQUOT: return "the storage is full: free space, for example with `sliceup cache gc`";
    default: return "check whether the storage is mounted on this host";
    }
}

static int make_root (struct cache_builtin *builtin, struct err *err)
{
    struct stat at;
    struct err why = { 0 };
    if (owners_check_root (builtin->root, &builtin->trusted, err) < 0)
        return -1;
    int made = 0;
    if (stat (builtin->root, &at) < 0 && errno == ENOENT && folder_make (builtin->root, 0755, &why) < 0)
        made = errno;
    if (stat (builtin->root, &at) < 0) {
        int code = made ? made : errno;
        return err_set (err, ERR_IO, "cannot use the cache root %.200s: %s; %s", builtin->root,
                        why.text[0] ? why.text : strerror (code), advice (code));
    }
    if (!S_ISDIR (at.st_mode))
        return err_set (err, ERR_STATE,
                        "the cache root %.300s is not a folder; move it away or choose another cache.root",
                        builtin->root);
    if (access (builtin->root, R_OK | X_OK) < 0)
        return err_errno (err, ERR_IO, "the cache root %.200s cannot be read (%s)", builtin->root, advice (errno));
    builtin->writable = access (builtin->root, W_OK) == 0;
    builtin->read_only = !builtin->writable && errno == EROFS;
    return 0;
}

/* A host that may not write waits for one that makes the file. */
static int identify (struct cache_builtin *builtin, struct err *err)
{
    char id[STORAGE_ID_BYTES], mount[NAME_MAX_BYTES + 1];
    uint64_t until_ms = clock_boot_ms () + STORAGE_WAIT_MS;
    int rc;
    while ((rc = storage_id (builtin->root, builtin->writable, id, err)) < 0 && !builtin->writable &&
           err->code == ERR_STATE && (builtin->reads || !builtin->read_only) && clock_boot_ms () < until_ms)
        (void) poll (NULL, 0, STORAGE_AGAIN_MS);
    if (rc < 0 && builtin->read_only && storage_describe_mount (builtin->root, mount, sizeof mount, NULL) == 0)
        return err_set (err, ERR_STATE, "the cache root %.150s " NOTE_READ_ONLY " (%.100s), and no run has used it",
                        builtin->root, mount);
    if (rc < 0)
        return builtin->writable
                   ? -1
                   : err_prefix (err, "this host may not write the cache root, and cannot read the id of its storage");
    protocol_writer_fact (builtin->writer, FACT_STORAGE, text_of (id));
    return 0;
}

static int measure_room (struct cache_builtin *builtin, struct err *err)
{
    struct statvfs at;
    if (statvfs (builtin->root, &at) < 0)
        return err_errno (err, ERR_IO, "cannot read the free space of the cache root %.300s", builtin->root);
    uint64_t free_bytes = (uint64_t) at.f_bavail * at.f_frsize;
    protocol_writer_fact (builtin->writer, FACT_FREE, text_format (&builtin->arena, "%" PRIu64, free_bytes));
    /* No inodes at all: a file system that makes them as it goes. */
    bool few = at.f_files > 0 && at.f_favail < FREE_MIN_INODES;
    if (!builtin->writable || builtin->reads || (free_bytes >= (uint64_t) FREE_MIN_MIB << 20 && !few))
        return 0;
    builtin->owner = OWNER_HOST;
    return err_set (err, ERR_LIMIT,
                    "the storage of the cache root %.200s is full: %" PRIu64 " MiB and %" PRIu64
                    " files are free, at least %d and %d are needed; free space, for example with `sliceup cache gc`",
                    builtin->root, free_bytes >> 20, (uint64_t) at.f_favail, FREE_MIN_MIB, FREE_MIN_INODES);
}

/* Programs compiled for other hardware may load and then crash, so each kind has its own family. */
static void say_hardware (struct cache_builtin *builtin)
{
    LOCAL_MEM struct host_fact_list *list = mem_alloc (sizeof *list);
    host_fact_list_init (list, &host_fact_roots_real);
    machine_facts (list);
    device_facts (list);
    protocol_writer_fact (
        builtin->writer, FACT_HARDWARE,
        text_format (&builtin->arena, "%.*s; google %.*s; nvidia %.*s", TEXT_ARG (host_fact_find (list, "machine")),
                     TEXT_ARG (host_fact_find (list, "pci.google")), TEXT_ARG (host_fact_find (list, "pci.nvidia"))));
    protocol_writer_fact (builtin->writer, FACT_CPU, host_fact_find (list, "cpu.model"));
    host_fact_list_release (list);
}

/* ---- the level ---- */

static void say_view (struct cache_builtin *builtin, const struct confine_report *report)
{
    LOCAL_BUF probes = { .max = 1024 };
    for (uint32_t i = 0; i < report->view.open_ways.n; i++)
        buf_printf (&probes, "%s%.*s", i ? " " : "", TEXT_ARG (report->view.open_ways.items[i]));
    protocol_writer_fact (builtin->writer, FACT_MOUNT, report->view.mount);
    protocol_writer_fact (builtin->writer, FACT_LEVEL, text_of (enum_name_of (&enforcement_names, report->view.level)));
    protocol_writer_fact (builtin->writer, FACT_WAYS, probes.len ? buf_as_text (&probes) : TEXT_LIT ("none"));
    for (uint32_t i = 0; i < report->notes.n; i++)
        protocol_writer_note (builtin->writer, report->notes.items[i], NOTE_SOURCE, DURABILITY_RECHECK);
}

static int probe_level (struct cache_builtin *builtin, struct err *err)
{
    struct scratch_generation scratch;
    struct confine_report report = { 0 };
    bool apart = builtin->writable && scratch_generation_make (builtin->root, &scratch, err) == 0;
    if (builtin->writable && !apart)
        return err_prefix (err, "cannot make a folder in the cache root to test the write protection in");
    int rc = cache_builtin_try_sandbox (builtin, apart ? scratch.path : builtin->root, &report, err);
    if (apart && scratch_generation_remove (&scratch, rc == 0 ? err : NULL) < 0)
        rc = -1;
    if (rc < 0)
        return -1;
    if (report.view.level != ENFORCEMENT_NONE)
        say_view (builtin, &report);
    return report.ready ? 0 : err_set (err, ERR_REFUSED, "%.*s", TEXT_ARG (report.problem));
}

/* ---- the program ---- */

static int cache_builtin_look (struct cache_builtin *builtin, struct err *err)
{
    protocol_writer_phase (builtin->writer, "root");
    if (make_root (builtin, err) < 0 || measure_room (builtin, err) < 0)
        return -1;
    protocol_writer_phase (builtin->writer, "storage");
    if ((builtin->writable && storage_check_modes (builtin->root, err) < 0) || identify (builtin, err) < 0)
        return -1;
    say_hardware (builtin);
    protocol_writer_phase (builtin->writer, "enforcement");
    return probe_level (builtin, err);
}

static int usage (void)
{
    fputs ("usage: sliceup-worker cache --root DIR [--least LEVEL] [--trust UID,UID...]\n"
           "Checks whether a shared compile cache can be used here, and prints what protects it.\n",
           stderr);
    return EXIT_WRONG_USAGE;
}

static void read_protected (struct cache_builtin *builtin)
{
    const json_t *list = json_object_get (protocol_writer_args (builtin->writer), "protected");
    for (size_t i = 0; i < json_array_size (list) && i < CONFINE_PROTECTED_MAX; i++)
        if (json_is_string (json_array_get (list, i)))
            builtin->protected[builtin->protected_n++] = json_string_value (json_array_get (list, i));
}

static int check_orders (struct cache_builtin *builtin, struct err *err)
{
    uint32_t level;
    if (!protocol_writer_by_hand (builtin->writer)) {
        builtin->root = protocol_writer_arg (builtin->writer, "cache_root");
        builtin->least = protocol_writer_arg (builtin->writer, "least");
        builtin->trust = protocol_writer_arg (builtin->writer, "trust");
        const char *room = protocol_writer_arg (builtin->writer, "room");
        builtin->reads = room && strcmp (room, "any") == 0;
        read_protected (builtin);
    }
    if (!builtin->least)
        builtin->least = enum_name_of (&enforcement_names, ENFORCEMENT_COOPERATIVE);
    if (!builtin->root || builtin->root[0] != '/' || strlen (builtin->root) > PATH_MAX_BYTES)
        return err_set (err, ERR_PARSE, "--root DIR is required: expected the absolute path of a cache root");
    if (!enum_value_of (&enforcement_names, text_of (builtin->least), &level))
        return err_set (err, ERR_PARSE, "\"%.40s\" is not a level of enforcement", builtin->least);
    return owners_parse_trust (text_of (builtin->trust ? builtin->trust : ""), &builtin->arena, &builtin->trusted, err);
}

int cache_builtin_main (int argc, char **argv)
{
    struct cache_builtin builtin = { .owner = OWNER_CACHE };
    struct err err = { 0 };
    const struct word_option known[] = { { "--root", .value = &builtin.root },
                                         { "--least", .value = &builtin.least },
                                         { "--trust", .value = &builtin.trust } };
    if (word_options_read (argc, argv, known, sizeof known / sizeof *known, &err) < 0)
        return usage ();
    builtin.writer = protocol_writer_open (&err);
    int rc = builtin.writer ? check_orders (&builtin, &err) : -1;
    if (rc == 0)
        rc = cache_builtin_look (&builtin, &err);
    if (rc < 0 && builtin.writer)
        protocol_writer_failure (builtin.writer, builtin.owner, text_of (err.text));
    else if (rc == 0)
        protocol_writer_done (builtin.writer);
    struct err write_err = { 0 };
    if (builtin.writer && protocol_writer_close (builtin.writer, &write_err) < 0)
        rc = -1;
    if (rc < 0)
        fprintf (stderr, "sliceup-worker cache: %s\n", write_err.text[0] ? write_err.text : err.text);
    arena_release (&builtin.arena);
    return rc < 0 ? EXIT_NOT_USABLE : EXIT_USABLE;
}

/* ---- its facts, read again ---- */

static void split_ways (struct text words, struct arena *arena, struct cache_view *out)
{
    out->open_ways.items = arena_array (arena, OPEN_WAYS_MAX, sizeof *out->open_ways.items);
    out->open_ways.n = 0;
    while (words.len && !text_is (words, "none") && out->open_ways.n < OPEN_WAYS_MAX) {
        struct text word = text_take_until (&words, ' ');
        if (word.len)
            out->open_ways.items[out->open_ways.n++] = text_clip (word, ID_MAX_BYTES);
    }
}

void cache_builtin_view_of_facts (const struct var *facts, uint32_t n, struct arena *arena, struct cache_view *out)
{
    const var_list told = { (struct var *) facts, n };
    uint32_t level;
    out->storage = text_clip (var_value (&told, FACT_STORAGE), ID_MAX_BYTES);
    out->mount = text_clip (var_value (&told, FACT_MOUNT), NAME_MAX_BYTES);
    if (enum_value_of (&enforcement_names, var_value (&told, FACT_LEVEL), &level))
        out->level = (enum enforcement) level;
    split_ways (var_value (&told, FACT_WAYS), arena, out);
}
