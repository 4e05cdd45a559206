/* classify_logs.c - what sliceup makes of failure logs, one after the other. For tests/campaign/failure_logs.
 *
 *   classify_logs SHARE FILE...
 *
 * SHARE is the folder above configs/. Reads each file as the log of a program that exited with status 1, with all
 * shipped signatures, and prints a line for it: file, certainty, owner, id of what decided, "transient" or "-", line. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/conf/conf.h"
#include "common/logs/classify.h"

enum { FILE_MAX_BYTES = 16 << 20 };

static struct arena arena;

static void fail (const char *what)
{
    fprintf (stderr, "classify_logs: %s\n", what);
    exit (2);
}

static void load_lists (const char *share, struct plan *plan)
{
    char slice[] = "/tmp/sliceup-signatures-XXXXXX";
    struct conf_report report;
    struct err err = { 0 };
    int fd = mkstemp (slice);
    FILE *file = fd >= 0 ? fdopen (fd, "w") : NULL;
    if (!file || fputs ("slice: s\nhosts: h[0-7]\nprofile: plain\nladder: plain\n", file) < 0 || fclose (file) != 0)
        fail ("cannot write a slice file below /tmp");
    struct conf_options options = { .slice_path = slice, .share_dir = share, .home = "/h", .user_home = "/u" };
    int result = conf_load (&options, &arena, plan, &report, &err);
    remove (slice);
    if (result != 0)
        fail (err.text);
}

static struct text read_file (const char *path)
{
    char *bytes = arena_alloc (&arena, FILE_MAX_BYTES);
    FILE *file = fopen (path, "re");
    if (!file)
        fail (path);
    struct text text = { .ptr = bytes, .len = (uint32_t) fread (bytes, 1, FILE_MAX_BYTES, file) };
    fclose (file);
    return text;
}

static void tell (const struct signature_set *set, const char *path)
{
    struct signature_scan_result seen;
    struct cause_decision of;
    classify_text (set, read_file (path), &arena, &seen);
    cause_decide (set, &seen, &of);
    enum owner owner = of.owner ? of.owner : OWNER_UNKNOWN;
    printf ("%s\t%s\t%s\t%.*s\t%s\t%.*s\n", path,
            enum_name_of (&certainty_names, certainty_of_owner (owner, of.else_owner, of.likely)),
            enum_name_of (&owner_names, owner), TEXT_ARG (of.id), of.transient ? "transient" : "-", TEXT_ARG (of.line));
    arena_reset (&arena);
}

int main (int argc, char **argv)
{
    static struct plan plan;
    static struct arena of_plan;
    if (argc < 3)
        fail ("usage: classify_logs SHARE FILE...");
    load_lists (argv[1], &plan);
    struct signature_set *set = signature_set_build (plan.signatures.items, plan.signatures.n);
    if (!set)
        fail ("the signatures are too many");
    of_plan = arena; /* the plan stays */
    arena = (struct arena){ 0 };
    for (int i = 2; i < argc; i++)
        tell (set, argv[i]);
    signature_set_free (set);
    arena_release (&arena);
    arena_release (&of_plan);
    return 0;
}
