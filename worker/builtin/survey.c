#include "worker/builtin/survey.h"

#include "common/cache/owners.h"
#include "common/cache/storage.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "worker/builtin/survey_probe.h"
#include "worker/facts/fact_list.h"
#include "worker/protocol/protocol_writer.h"
#include "worker/sandbox/scratch_generation.h"
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

struct survey {
    struct protocol_writer *writer;
    const char *root, *least, *trust;
    uid_list trusted;
    bool writable;
    bool reads; /* this host never writes in this run, so it needs no free space */
    struct survey_protected protected;
    enum owner owner; /* of a failure */
    struct arena arena;
};

/* ---- the root ---- */

static const char *advice (int code)
{
    switch (code) {
    case EACCES:
    case EPERM:
        return "this user has no permission to reach or make it: make this user its owner, or choose another "
               "cache.root";
    case EROFS:
        return "the storage is read-only on this host and the folder does not exist yet: make it on a host that may "
               "write";
    case ENOTDIR: return "a part of the path is not a folder: choose another cache.root";
    case ENOSPC:
    case EDQUOT: return "the storage is full: free space, for example with `sliceup cache gc`";
    default: return "check whether the storage is mounted on this host";
    }
}

static int make_root (struct survey *survey, struct err *err)
{
    struct stat at;
    struct err why = { 0 };
    if (owners_check_root (survey->root, &survey->trusted, err) < 0)
        return -1;
    errno = 0;
    if (stat (survey->root, &at) < 0 && errno == ENOENT && folder_make (survey->root, 0755, &why) == 0)
        errno = 0;
    if (stat (survey->root, &at) < 0) {
        int code = errno;
        return err_set (err, ERR_IO, "cannot use the cache root %.200s: %s; %s", survey->root,
                        why.text[0] ? why.text : strerror (code), advice (code));
    }
    if (!S_ISDIR (at.st_mode))
        return err_set (err, ERR_STATE,
                        "the cache root %.300s is not a folder; move it away or choose another cache.root",
                        survey->root);
    if (access (survey->root, R_OK | X_OK) < 0)
        return err_errno (err, ERR_IO, "the cache root %.200s cannot be read (%s)", survey->root, advice (errno));
    survey->writable = access (survey->root, W_OK) == 0;
    return 0;
}

/* A host that may not write waits for one that does. */
static int identify (struct survey *survey, struct err *err)
{
    char id[STORAGE_ID_BYTES];
    uint64_t until_ms = clock_boot_ms () + STORAGE_WAIT_MS;
    int rc;
    while ((rc = storage_id (survey->root, survey->writable, id, err)) < 0 && !survey->writable &&
           err->code == ERR_STATE && clock_boot_ms () < until_ms)
        (void) poll (NULL, 0, STORAGE_AGAIN_MS);
    if (rc < 0)
        return survey->writable
                   ? -1
                   : err_prefix (err, "this host may not write the cache root, and no other host has set it up yet");
    protocol_writer_fact (survey->writer, FACT_STORAGE, text_of (id));
    return 0;
}

static int measure_room (struct survey *survey, struct err *err)
{
    struct statvfs at;
    if (statvfs (survey->root, &at) < 0)
        return err_errno (err, ERR_IO, "cannot inspect the cache root %.300s", survey->root);
    uint64_t free_bytes = (uint64_t) at.f_bavail * at.f_frsize;
    protocol_writer_fact (survey->writer, FACT_FREE, text_format (&survey->arena, "%" PRIu64, free_bytes));
    /* No inodes at all: a file system that makes them as it goes. */
    bool few = at.f_files > 0 && at.f_favail < FREE_MIN_INODES;
    if (!survey->writable || survey->reads || (free_bytes >= (uint64_t) FREE_MIN_MIB << 20 && !few))
        return 0;
    survey->owner = OWNER_HOST;
    return err_set (err, ERR_LIMIT,
                    "the storage of the cache root %.200s is full: %" PRIu64 " MiB and %" PRIu64
                    " files are free, at least %d and %d are needed; free space, for example with `sliceup cache gc`",
                    survey->root, free_bytes >> 20, (uint64_t) at.f_favail, FREE_MIN_MIB, FREE_MIN_INODES);
}

/* What was compiled for other hardware may load and then crash: each kind has a root of its own. */
static void say_hardware (struct survey *survey)
{
    struct fact_list *list = mem_alloc (sizeof *list);
    fact_list_init (list, &host_fact_roots_real);
    machine_facts (list);
    device_facts (list);
    protocol_writer_fact (
        survey->writer, FACT_HARDWARE,
        text_format (&survey->arena, "%.*s; google %.*s; nvidia %.*s", TEXT_ARG (fact_value (list, "machine")),
                     TEXT_ARG (fact_value (list, "pci.google")), TEXT_ARG (fact_value (list, "pci.nvidia"))));
    protocol_writer_fact (survey->writer, FACT_CPU, fact_value (list, "cpu.model"));
    fact_list_release (list);
    mem_free (list);
}

/* ---- the level ---- */

static void say_view (struct survey *survey, const struct confine_report *report)
{
    struct buf probes;
    buf_init (&probes, 1024);
    for (uint32_t i = 0; i < report->view.open_ways.n; i++)
        buf_printf (&probes, "%s%.*s", i ? " " : "", TEXT_ARG (report->view.open_ways.items[i]));
    protocol_writer_fact (survey->writer, FACT_MOUNT, report->view.mount);
    protocol_writer_fact (survey->writer, FACT_LEVEL, text_of (names_of (&enforcement_names, report->view.level)));
    protocol_writer_fact (survey->writer, FACT_WAYS, probes.len ? buf_as_text (&probes) : TEXT_LIT ("none"));
    for (uint32_t i = 0; i < report->notes.n; i++)
        protocol_writer_note (survey->writer, report->notes.items[i], NOTE_SOURCE, DURABILITY_RECHECK);
    buf_release (&probes);
}

static int probe_level (struct survey *survey, struct err *err)
{
    struct scratch_generation scratch;
    struct confine_report report = { 0 };
    bool apart = survey->writable && scratch_generation_make (survey->root, &scratch, err) == 0;
    if (survey->writable && !apart)
        return err_prefix (err, "cannot make a folder in the cache root to test the write protection in");
    int rc = survey_probe (survey->root, apart ? scratch.path : survey->root, survey->least, &survey->protected,
                           &survey->arena, &report, err);
    if (apart && scratch_generation_remove (&scratch, rc == 0 ? err : NULL) < 0)
        rc = -1;
    if (rc < 0)
        return -1;
    if (report.view.level != ENFORCEMENT_NONE)
        say_view (survey, &report);
    return report.ready ? 0 : err_set (err, ERR_REFUSED, "%.*s", TEXT_ARG (report.problem));
}

/* ---- the program ---- */

static int look (struct survey *survey, struct err *err)
{
    protocol_writer_phase (survey->writer, "root");
    if (make_root (survey, err) < 0 || measure_room (survey, err) < 0)
        return -1;
    protocol_writer_phase (survey->writer, "storage");
    if (identify (survey, err) < 0)
        return -1;
    say_hardware (survey);
    protocol_writer_phase (survey->writer, "enforcement");
    return probe_level (survey, err);
}

static int usage (void)
{
    fputs ("usage: sliceup-worker cache --root DIR [--least LEVEL] [--trust UID,UID...]\n"
           "Checks whether a shared compile cache can be used here, and prints what protects it.\n",
           stderr);
    return EXIT_WRONG_USAGE;
}

static int read_line (struct survey *survey, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return -1;
        if (strcmp (argv[i], "--root") == 0)
            survey->root = argv[i + 1];
        else if (strcmp (argv[i], "--least") == 0)
            survey->least = argv[i + 1];
        else if (strcmp (argv[i], "--trust") == 0)
            survey->trust = argv[i + 1];
        else
            return -1;
    }
    return 0;
}

static void read_protected (struct survey *survey)
{
    const json_t *list = json_object_get (protocol_writer_args (survey->writer), "protected");
    for (size_t i = 0; i < json_array_size (list) && i < SURVEY_PROTECTED_MAX; i++)
        if (json_is_string (json_array_get (list, i)))
            survey->protected.items[survey->protected.n++] = json_string_value (json_array_get (list, i));
}

static int check_orders (struct survey *survey, struct err *err)
{
    uint32_t level;
    if (!protocol_writer_by_hand (survey->writer)) {
        survey->root = protocol_writer_arg (survey->writer, "cache_root");
        survey->least = protocol_writer_arg (survey->writer, "least");
        survey->trust = protocol_writer_arg (survey->writer, "trust");
        const char *room = protocol_writer_arg (survey->writer, "room");
        survey->reads = room && strcmp (room, "any") == 0;
        read_protected (survey);
    }
    if (!survey->least)
        survey->least = names_of (&enforcement_names, ENFORCEMENT_COOPERATIVE);
    if (!survey->root || survey->root[0] != '/' || strlen (survey->root) > PATH_MAX_BYTES)
        return err_set (err, ERR_PARSE, "--root DIR is required: expected the absolute path of a cache root");
    if (!names_find (&enforcement_names, text_of (survey->least), &level))
        return err_set (err, ERR_PARSE, "\"%.40s\" is not a level of enforcement", survey->least);
    return owners_parse_trust (text_of (survey->trust ? survey->trust : ""), &survey->arena, &survey->trusted, err);
}

int survey_main (int argc, char **argv)
{
    struct survey survey = { .owner = OWNER_CACHE };
    struct err err = { 0 };
    if (read_line (&survey, argc, argv) < 0)
        return usage ();
    survey.writer = protocol_writer_open (&err);
    int rc = survey.writer ? check_orders (&survey, &err) : -1;
    if (rc == 0)
        rc = look (&survey, &err);
    if (rc < 0 && survey.writer)
        protocol_writer_failure (survey.writer, survey.owner, text_of (err.text));
    else if (rc == 0)
        protocol_writer_done (survey.writer);
    struct err unsaid = { 0 };
    if (survey.writer && protocol_writer_close (survey.writer, &unsaid) < 0)
        rc = -1;
    if (rc < 0)
        fprintf (stderr, "sliceup-worker cache: %s\n", unsaid.text[0] ? unsaid.text : err.text);
    arena_release (&survey.arena);
    return rc < 0 ? EXIT_NOT_USABLE : EXIT_USABLE;
}

/* ---- its facts, read again ---- */

static struct text value_of (const struct var *facts, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_is (facts[i].name, name))
            return facts[i].value;
    return (struct text){ 0 };
}

static void split_ways (struct text words, struct arena *arena, struct cache_view *out)
{
    out->open_ways.items = arena_array (arena, OPEN_WAYS_MAX, sizeof *out->open_ways.items);
    out->open_ways.n = 0;
    while (words.len && !text_is (words, "none") && out->open_ways.n < OPEN_WAYS_MAX) {
        uint32_t len = 0;
        while (len < words.len && words.ptr[len] != ' ')
            len++;
        struct text word = { words.ptr, len };
        if (len)
            out->open_ways.items[out->open_ways.n++] = text_clip (word, ID_MAX_BYTES);
        len += len < words.len;
        words = (struct text){ words.ptr + len, words.len - len };
    }
}

void survey_view (const struct var *facts, uint32_t n, struct arena *arena, struct cache_view *out)
{
    uint32_t level;
    out->storage = text_clip (value_of (facts, n, FACT_STORAGE), ID_MAX_BYTES);
    out->mount = text_clip (value_of (facts, n, FACT_MOUNT), NAME_MAX_BYTES);
    if (names_find (&enforcement_names, value_of (facts, n, FACT_LEVEL), &level))
        out->level = (enum enforcement) level;
    split_ways (value_of (facts, n, FACT_WAYS), arena, out);
}
