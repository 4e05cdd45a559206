/* links: conf frontend model base */
/* Files of configuration: what is said of them, and what is planned. */
#include "cases.h"
#include "conf_share.h"
#include "record_path.h"

/* Parts of a case that are lines behind `first`, the beginning of a good file. */
static const struct {
    const char *part, *file, *first;
} bases[] = {
#define LOCAL(HOSTS) "slice: s\nhosts: " HOSTS "\nprofile: p\npins: q\nladder: l\n"
    { "slice", "slice.yaml", LOCAL ("h[0-1]") },
    { "slice of four", "slice.yaml", LOCAL ("h[0-3]") },
    { "slice of machines", "slice.yaml", LOCAL ("h[0-3]") "machine: four\n" },
    { "slice without pins", "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\nladder: l\n" },
    { "slice of ssh", "slice.yaml",
      "slice: s\nlauncher: ssh\nhosts: h[0-1]\nprofile: p\nladder: l\ncache: {root: /c}\n" },
    { "slice of slurm", "slice.yaml",
      "slice: s\nlauncher: slurm\nhosts: h[0-1]\nprofile: p\nladder: l\ncache: {root: /c}\n" },
    { "slice of join", "slice.yaml",
      "slice: s\nlauncher: join\nhosts: h[0-1]\nprofile: p\nladder: l\ncache: {root: /c}\n" },
    { "far slice", "slice.yaml", "slice: s\nprofile: p\npins: q\nladder: l\ncache: {root: /shared/cache}\n" },
    { "profile", "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n" },
    { "tpu profile", "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: tpu\ndevices_per_host: 2\n" },
    { "bare profile", "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: tpu\n" },
    { "rungs", "configs/ladders/l.yaml", "ladder: l\nrungs:\n" },
    { "solo rung", "configs/ladders/l.yaml", "ladder: l\nrungs:\n- {id: tiny, canary: jax/tiny.py, warm: solo}\n" },
    { "signatures", "configs/signatures/jax.yaml", "signatures: jax\nlist:\n" },
    { "bundle rules", "b.yaml", "bundles: b\nlist:\n" },
};

static void write_part (const struct share *share, const struct case_part *part, struct arena *arena)
{
    const char *file = text_copy (arena, part->name).ptr, *first = "";
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        if (text_is (part->name, bases[i].part)) {
            file = bases[i].file;
            first = bases[i].first;
        }
    const char *end = part->text.len > 0 && part->text.ptr[part->text.len - 1] != '\n' ? "\n" : "";
    write_text (share, file, text_format (arena, "%s%.*s%s", first, TEXT_ARG (part->text), end).ptr);
}

/* True: it is an option of the command line. */
static bool take_option (const struct case_part *part, struct conf_options *options, struct arena *arena)
{
    const struct {
        const char *part, **value;
    } all[] = { { "option hosts", &options->hosts },
                { "option exclude", &options->exclude },
                { "option profile", &options->profile },
                { "option ladder", &options->ladder },
                { "option pins", &options->pins } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (text_is (part->name, all[i].part)) {
            *all[i].value = text_copy (arena, part->text).ptr;
            return true;
        }
    if (text_is (part->name, "option no source"))
        options->host_source = NULL;
    return text_is (part->name, "option no source");
}

static int allocation (const char *word, struct buf *expression, struct err *err)
{
    if (strcmp (word, "tpu") == 0)
        return err_set (err, ERR_STATE, "TPU_WORKER_HOSTNAMES is not set");
    buf_puts (expression, "n[01-03]");
    return 0;
}

static void load_case (struct test *t, const struct test_case *of, struct buf *got)
{
    struct share share;
    struct conf_options options = { .host_source = allocation };
    struct buf *out = test_buf (t);
    share_open (&share);
    for (uint32_t i = 0; i < of->n; i++)
        if (!text_is (of->parts[i].name, "want") && !take_option (&of->parts[i], &options, &t->arena))
            write_part (&share, &of->parts[i], &t->arena);
    if (share_load_with (&share, options) != 0) {
        assert_int_equal (share.err.code, ERR_CONFIG);
        assert_has (share.err.text, share.report.items[0].text);
    }
    share_print_problems (&share, got);
    if (share.result == 0)
        record_path_print_wanted (&plan_record, &share.plan, case_text (of, "want"), out);
    share_print_placed (&share, buf_as_text (out), got);
    share_close (&share);
}

TEST (mistakes_are_told_with_their_place)
{
    cases_run ("conf_files", load_case);
}

TEST (good_files_become_the_plan)
{
    cases_run ("conf_plan", load_case);
}

TEST (mistakes_about_launchers_are_told)
{
    cases_run ("conf_start", load_case);
}

TEST (launchers_hosts_and_cache_are_planned)
{
    cases_run ("conf_start_plan", load_case);
}

TEST (mistakes_about_the_cache_are_told)
{
    cases_run ("conf_cache", load_case);
}

TEST (slices_of_tpu_machines_are_looked_at)
{
    cases_run ("conf_tpu", load_case);
}

TEST (mistakes_about_bundles_are_told)
{
    cases_run ("conf_bundles", load_case);
}
