/* fuzz_conf.c - hostile configuration files: no input may crash, hang or leak, and what is accepted fits the model.
 *
 * Each input is tried as each kind of file, in a directory of its own; the others are the shipped ones. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/conf.h"

static char folder[] = "/tmp/sliceup-fuzz-XXXXXX";
static char input_path[64], slice_path[64];

static void remove_files (void)
{
    unlink (input_path);
    unlink (slice_path);
    rmdir (folder);
}

static void write_file (const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen (path, "we");
    assert (file);
    assert (fwrite (bytes, 1, len, file) == len);
    int closed = fclose (file);
    assert (closed == 0);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

static void make_files (void)
{
    char slice[256];
    const char *made = mkdtemp (folder);
    assert (made);
    snprintf (input_path, sizeof input_path, "%s/input.yaml", folder);
    snprintf (slice_path, sizeof slice_path, "%s/slice.yaml", folder);
    int n = snprintf (slice, sizeof slice,
                      "slice: s\nhosts: a[0-1]\nprofile: cpu-jax\nladder: plain\nsignatures: [%s]\n", input_path);
    write_file (slice_path, slice, (size_t) n);
    atexit (remove_files);
}

static void load (struct conf_options options)
{
    struct arena arena = { 0 };
    struct plan plan;
    struct conf_report report;
    struct err err;
    options.share_dir = SLICEUP_SOURCE_DIR;
    options.home = "/home";
    if (conf_load (&options, &arena, &plan, &report, &err) == 0)
        assert (record_check (&plan_record, &plan, NULL) && plan.hosts.n > 0 && plan.rungs.n > 0);
    else
        assert (report.n > 0);
    arena_release (&arena);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    if (!input_path[0])
        make_files ();
    write_file (input_path, bytes, len);
    load ((struct conf_options){ .slice_path = input_path });
    load ((struct conf_options){ .slice_path = "local-plain", .profile = input_path });
    load ((struct conf_options){ .slice_path = "local-plain", .ladder = input_path });
    load ((struct conf_options){ .slice_path = slice_path });
    return 0;
}
