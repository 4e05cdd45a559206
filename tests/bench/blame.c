/* blame.c - what recognising failures costs: makes logs, reads them as a worker does, or only counts their lines.
 *
 *   bench_blame make FOLDER N MIB    logs of N hosts, one failure in the middle of each
 *   bench_blame texts FILE           the texts that are looked for, for grep -F -f
 *   bench_blame scan FOLDER          reads, recognises, decides; prints seconds of CPU, bytes, how many were recognised
 *   bench_blame lines FOLDER         reads, counts line ends */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/conf/conf.h"
#include "common/logs/classify.h"

enum { PIECE_BYTES = 1 << 20, PATH_BYTES = 4096 };

static void die (const char *what)
{
    perror (what);
    exit (1);
}

static void load (struct arena *arena, struct plan *plan)
{
    struct conf_report report;
    struct err err = { 0 };
    struct conf_options options = { .slice_path = SLICEUP_SOURCE_DIR "/configs/slices/local-jax.yaml",
                                    .share_dir = SLICEUP_SOURCE_DIR,
                                    .home = "/h",
                                    .user_home = "/u" };
    if (conf_load (&options, arena, plan, &report, &err) != 0) {
        fprintf (stderr, "bench_blame: %s\n", err.text);
        exit (1);
    }
}

static const char *const ordinary[] = {
    "I1121 15:16:20.000001   26001 pjrt_client.cc:1331] Transferring literal to device 0, 4194304 bytes",
    "Finished tracing sum for jit in 0.002056837 sec",
    "Finished XLA compilation of jit(train_step) in 12.053350449 sec",
    "INFO:2026-01-01 10:00:00,000:trainer:77: checkpoint queued for step 1200, 118 arrays",
    "  warnings.warn(",
    "step 118 loss 2.3051 grad_norm 0.812 tokens/s 48211 mfu 0.41 mem 21.2G of 31.2G",
    "Compiling jit(sum) with global shapes and types (ShapedArray(float32[12@d]),). Argument mapping: "
    "(NamedSharding(mesh=...),).",
    "W0604 12:45:24.926233   62136 gcs_client.cc:88] retrying in 2 s after status code 503",
};
static const char failure[] =
    "Traceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    main()\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program 'jit_train_step': Attempting to "
    "reserve 29.49G "
    "at the bottom of memory. That was not possible. There are 147.64M free, 0B reserved, and 147.64M reservable.\n";

static void make_log (const char *path, uint64_t bytes, uint64_t seed)
{
    struct rng rng = rng_seed (seed);
    FILE *file = fopen (path, "we");
    bool failed = false;
    if (!file)
        die (path);
    for (uint64_t at = 0; at < bytes;) {
        const char *line = ordinary[rng_below (&rng, sizeof ordinary / sizeof *ordinary)];
        int n = fprintf (file, "%s\n", line);
        if (!failed && at > bytes / 2)
            failed = fputs (failure, file) >= 0;
        if (n < 0)
            die (path);
        at += (uint64_t) n;
    }
    if (fclose (file) != 0)
        die (path);
}

static void make (const char *folder, uint64_t n, uint64_t mib)
{
    char path[PATH_BYTES];
    for (uint64_t i = 0; i < n; i++) {
        snprintf (path, sizeof path, "%s/host%llu.log", folder, (unsigned long long) i);
        make_log (path, mib << 20, i + 1);
    }
}

static void write_texts (const char *path)
{
    struct arena arena = { 0 };
    struct plan plan;
    load (&arena, &plan);
    FILE *file = fopen (path, "we");
    if (!file)
        die (path);
    for (uint32_t i = 0; i < plan.signatures.n; i++)
        fprintf (file, "%.*s\n", TEXT_ARG (plan.signatures.items[i].text));
    if (fclose (file) != 0)
        die (path);
    arena_release (&arena);
}

struct reader {
    struct signature_set *set; /* NULL: lines are counted */
    struct plan plan;
    uint64_t bytes, lines, recognised;
    char *piece;
};

static uint64_t count_lines (const char *bytes, size_t len)
{
    uint64_t n = 0;
    for (const char *p = bytes, *end = bytes + len; (p = memchr (p, '\n', (size_t) (end - p))); p++)
        n++;
    return n;
}

static void read_log (struct reader *reader, const char *path)
{
    struct arena arena = { 0 };
    struct signature_scan_result seen;
    struct cause_decision decision;
    struct classify_run *scan = reader->set ? classify_begin (reader->set) : NULL;
    ssize_t got;
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die (path);
    while ((got = read (fd, reader->piece, PIECE_BYTES)) > 0) {
        reader->bytes += (uint64_t) got;
        if (scan)
            classify_bytes (scan, (struct text){ .ptr = reader->piece, .len = (uint32_t) got });
        else
            reader->lines += count_lines (reader->piece, (size_t) got);
    }
    if (got < 0 || close (fd) != 0)
        die (path);
    if (scan) {
        classify_end (scan, &arena, &seen);
        cause_decide (reader->set, &seen, &decision);
        reader->recognised += decision.weight == CAUSE_OWN;
    }
    arena_release (&arena);
}

static void read_all (const char *folder, bool scans)
{
    char path[PATH_BYTES];
    struct arena arena = { 0 };
    struct reader reader = { .piece = malloc (PIECE_BYTES) };
    struct dirent *entry;
    struct timespec used;
    if (scans) {
        load (&arena, &reader.plan);
        reader.set = signature_set_build (reader.plan.signatures.items, reader.plan.signatures.n);
    }
    DIR *open_folder = opendir (folder);
    if (!open_folder || !reader.piece)
        die (folder);
    while ((entry = readdir (open_folder))) {
        snprintf (path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            read_log (&reader, path);
    }
    closedir (open_folder);
    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &used);
    printf ("{\"cpu_s\": %.4f, \"bytes\": %llu, \"lines\": %llu, \"recognised\": %llu}\n",
            (double) used.tv_sec + (double) used.tv_nsec / 1e9, (unsigned long long) reader.bytes,
            (unsigned long long) reader.lines, (unsigned long long) reader.recognised);
    signature_set_free (reader.set);
    arena_release (&arena);
    free (reader.piece);
}

int main (int argc, char **argv)
{
    if (argc == 5 && strcmp (argv[1], "make") == 0)
        make (argv[2], strtoull (argv[3], NULL, 10), strtoull (argv[4], NULL, 10));
    else if (argc == 3 && strcmp (argv[1], "texts") == 0)
        write_texts (argv[2]);
    else if (argc == 3 && (strcmp (argv[1], "scan") == 0 || strcmp (argv[1], "lines") == 0))
        read_all (argv[2], argv[1][0] == 's');
    else
        return fprintf (stderr, "usage: bench_blame make FOLDER N MIB | texts FILE | scan FOLDER | lines FOLDER\n"), 2;
    return 0;
}
