/* conf_share.h - a share directory of valid configuration files for one test, of which the test replaces one. */
#ifndef SLICEUP_TESTS_LIB_CONF_SHARE_H
#define SLICEUP_TESTS_LIB_CONF_SHARE_H

#include <ftw.h>

#include "common/conf/conf.h"
#include "test.h"

struct file {
    const char *name, *text;
};
static const struct file good_files[] = {
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n" },
    { "configs/profiles/p.yaml",
      "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\nenv:\n  B: two\n  A: 1\n"
      "args: {seed: 7, steps: 3}\n" },
    { "configs/ladders/l.yaml",
      "ladder: l\nrungs:\n"
      "  - {id: facts, builtin: facts}\n"
      "  - {id: tiny, canary: jax/tiny.py, warm: solo, timeout: 1.5m, args: {steps: 5, on: 'no'}}\n"
      "  - {id: all, canary: ./own.py, scope: slice, warm: gang, metrics: [loss]}\n"
      "  - {id: true, command: [\"true\", -x]}\n" },
    { "configs/ladders/own.py", "pass\n" },
    { "configs/pins/q.txt",
      "six==1.17.0 --hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" },
    { "configs/pins/q.sh", "true\n" },
    { "configs/signatures/xla.yaml", "signatures: xla\nlist: []\n" },
    { "configs/signatures/jax.yaml",
      "signatures: jax\nlist:\n  - {id: a, text: alpha beta, layer: device, next: look,\n"
      "     also: [one, two], unless: [three], noise: true, memory: true}\n" },
    { "configs/signatures/torch_xla.yaml", "signatures: torch_xla\nlist: []\n" },
    { "configs/signatures/torch.yaml", "signatures: torch\nlist: []\n" },
    { "configs/signatures/gpu.yaml", "signatures: gpu\nlist: []\n" },
    { "configs/signatures/training.yaml", "signatures: training\nlist: []\n" },
    { "configs/signatures/cluster.yaml", "signatures: cluster\nlist: []\n" },
    { "configs/signatures/system.yaml",
      "signatures: system\nlist:\n  - {id: b, text: gamma, layer: host, peer: true, transient: true, next: look}\n" },
    { "configs/signatures/rules.yaml", "signatures: rules\nlist: []\n" },
    { "configs/drift/default.yaml", "drift: default\nrules: [{fact: '*', compare: agree}]\n" },
    { "configs/machines/tpu.yaml", "machines: tpu\nlist:\n- {id: four, accelerator: v6e, counts: chips, chips: 4, "
                                   "devices_per_chip: 1, bounds: '2,2,1', "
                                   "dimensions: 2, memory_gib: 32}\n" },
    { "worker/canaries/jax/tiny.py", "print ()\n" },
};
enum { GOOD_FILES = sizeof (good_files) / sizeof (good_files[0]) };
static const char *const folders[] = { "configs",         "configs/profiles",   "configs/ladders",
                                       "configs/pins",    "configs/signatures", "configs/drift",
                                       "worker",          "worker/canaries",    "worker/canaries/jax",
                                       "configs/machines" };
enum { FOLDERS = sizeof (folders) / sizeof (folders[0]) };

struct share {
    char root[64];
    char slice[96];
    struct arena arena;
    struct plan plan;
    struct conf_report report;
    struct err err;
    int result;
};

static inline const char *place (const struct share *share, const char *name)
{
    static char path[512];
    snprintf (path, sizeof path, "%s/%s", share->root, name);
    return path;
}

static inline void write_file (const struct share *share, const char *name, const void *bytes, size_t len)
{
    FILE *file = fopen (place (share, name), "we");
    assert_non_null (file);
    assert_int_equal (fwrite (bytes, 1, len, file), len);
    assert_int_equal (fclose (file), 0);
}

static inline void write_text (const struct share *share, const char *name, const char *text)
{
    write_file (share, name, text, strlen (text));
}

static inline int remove_one (const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void) status, (void) kind, (void) at;
    return remove (path);
}

static inline void share_open (struct share *share)
{
    memset (share, 0, sizeof *share);
    strcpy (share->root, "/tmp/sliceup-conf-XXXXXX");
    assert_non_null (mkdtemp (share->root));
    for (int i = 0; i < FOLDERS; i++)
        assert_int_equal (mkdir (place (share, folders[i]), 0700), 0);
    for (int i = 0; i < GOOD_FILES; i++)
        write_text (share, good_files[i].name, good_files[i].text);
    snprintf (share->slice, sizeof share->slice, "%s/slice.yaml", share->root);
}

static inline void share_close (struct share *share)
{
    arena_release (&share->arena);
    assert_int_equal (nftw (share->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline int share_load_with (struct share *share, struct conf_options options)
{
    if (!options.slice_path)
        options.slice_path = share->slice;
    options.share_dir = share->root;
    if (!options.home)
        options.home = "/h";
    if (!options.user_home)
        options.user_home = "/u";
    share->result = conf_load (&options, &share->arena, &share->plan, &share->report, &share->err);
    return share->result;
}

static inline int share_load (struct share *share)
{
    return share_load_with (share, (struct conf_options){ 0 });
}

/* "slice.yaml:3:1: ..." without the folder of this case. */
static inline const char *line_of (const struct share *share, uint32_t i)
{
    static char line[2048];
    struct conf_problem problem = share->report.items[i];
    size_t root = strlen (share->root);
    struct buf buf;
    if (strncmp (problem.file, share->root, root) == 0)
        problem.file += root + 1;
    problem.warning = false;
    buf_init (&buf, sizeof line - 1);
    conf_print_problem (&problem, &buf);
    snprintf (line, sizeof line, "%s", buf_c (&buf));
    buf_release (&buf);
    return line;
}

static inline void dump (const struct share *share)
{
    for (uint32_t i = 0; i < share->report.n; i++)
        print_error ("  %s\n", line_of (share, i));
}

/* `text` with "/share" in place of the folder of this test. */
static inline void share_print_placed (const struct share *share, struct text text, struct buf *out)
{
    for (uint32_t at; text_find (text, text_of (share->root), &at);) {
        buf_printf (out, "%.*s/share", (int) at, text.ptr);
        at += (uint32_t) strlen (share->root);
        text = (struct text){ text.ptr + at, text.len - at };
    }
    buf_add (out, text.ptr, text.len);
}

static inline void share_print_problems (const struct share *share, struct buf *out)
{
    for (uint32_t i = 0; i < share->report.n; i++) {
        buf_puts (out, share->report.items[i].warning ? "warning: " : "");
        share_print_placed (share, text_of (line_of (share, i)), out);
        buf_puts (out, "\n");
    }
}

#endif
