/* links: worker_io */
/* A sealed generation is changed in 1,000 ways drawn from a seed; a reader refuses each one and names what changed. */
#include "cache_fixture.h"

#include "common/base/rng.h"

enum { MUTATIONS = 1000, TOKEN = 3 };

struct siege {                      /* the generation under change */
    struct yard *yard;
    struct rng rng;
    char gen[160];
    char target[1400];              /* absolute path of what is changed */
    char named[256];                /* what the refusal has to name */
    struct buf manifest;            /* as sealed */
};

/* One that has bytes, so that every change of bytes is one. */
static const struct lot *pick (struct siege *siege)
{
    const struct lot *lot;
    do
        lot = &lots[rng_below (&siege->rng, LOTS)];
    while (!lot->content[0]);
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, lot->path);
    snprintf (siege->named, sizeof siege->named, "\"%s\"", lot->path);
    return lot;
}

static void rewrite (const char *path, const char *bytes, size_t len)
{
    assert_int_equal (chmod (path, 0644), 0);
    write_file ("", path, bytes, len);
    assert_int_equal (chmod (path, 0444), 0);
}

static void flip_a_bit (struct siege *siege)
{
    const struct lot *lot = pick (siege);
    char bytes[64];
    size_t len = strlen (lot->content);
    memcpy (bytes, lot->content, len);
    bytes[rng_below (&siege->rng, len)] ^= (char) (1 << rng_below (&siege->rng, 8));
    rewrite (siege->target, bytes, len);
}

static void cut (struct siege *siege)
{
    const struct lot *lot = pick (siege);
    rewrite (siege->target, lot->content, rng_below (&siege->rng, strlen (lot->content)));
}

static void append (struct siege *siege)
{
    char bytes[128] = { 0 };
    const struct lot *lot = pick (siege);
    memcpy (bytes, lot->content, strlen (lot->content));
    rewrite (siege->target, bytes, strlen (lot->content) + 1 + rng_below (&siege->rng, 50));
}

static void take_away (struct siege *siege)
{
    pick (siege);
    assert_int_equal (unlink (siege->target), 0);
}

static void put_symlink (struct siege *siege)
{
    char aside[200];
    pick (siege);
    /* It leads to the very bytes that were sealed. */
    snprintf (aside, sizeof aside, "%s/aside", siege->yard->base);
    assert_int_equal (rename (siege->target, aside), 0);
    assert_int_equal (symlink (aside, siege->target), 0);
}

static void put_pipe (struct siege *siege)
{
    pick (siege);
    assert_int_equal (unlink (siege->target), 0);
    assert_int_equal (mkfifo (siege->target, 0444), 0);
}

static void put_folder (struct siege *siege)
{
    pick (siege);
    assert_int_equal (unlink (siege->target), 0);
    assert_int_equal (mkdir (siege->target, 0555), 0);
}

static void second_name (struct siege *siege)
{
    char aside[200];
    pick (siege);
    snprintf (aside, sizeof aside, "%s/aside", siege->yard->base);
    assert_int_equal (link (siege->target, aside), 0);
}

static void change_mode (struct siege *siege)
{
    pick (siege);
    assert_int_equal (chmod (siege->target, 0444 ^ (1u << rng_below (&siege->rng, 12))), 0);
}

static void invent (char *name, size_t bytes, struct siege *siege)
{
    static const char *const places[] = { "", "xla/", "xla/autotune/" };
    snprintf (name, bytes, "%snew-%03u", places[rng_below (&siege->rng, 3)], (unsigned) rng_below (&siege->rng, 1000));
}

static void add_file (struct siege *siege)
{
    char name[64];
    invent (name, sizeof name, siege);
    write_file (siege->gen, name, "late", rng_below (&siege->rng, 5));
    snprintf (siege->named, sizeof siege->named, "\"%s\"", name);
}

static void add_folder (struct siege *siege)
{
    char name[64];
    invent (name, sizeof name, siege);
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, name);
    assert_int_equal (mkdir (siege->target, 0555), 0);
    snprintf (siege->named, sizeof siege->named, "\"%s\"", name);
}

static void change_manifest (struct siege *siege)
{
    size_t at = rng_below (&siege->rng, siege->manifest.len);
    struct buf bytes;
    buf_init (&bytes, siege->manifest.len);
    buf_add (&bytes, siege->manifest.ptr, siege->manifest.len);
    bytes.ptr[at] ^= (uint8_t) (1 << rng_below (&siege->rng, 8));
    snprintf (siege->target, sizeof siege->target, "%s/MANIFEST", siege->gen);
    rewrite (siege->target, (const char *) bytes.ptr, bytes.len);
    snprintf (siege->named, sizeof siege->named, "MANIFEST");
    buf_release (&bytes);
}

static void take_manifest (struct siege *siege)
{
    snprintf (siege->target, sizeof siege->target, "%s/MANIFEST", siege->gen);
    assert_int_equal (unlink (siege->target), 0);
    snprintf (siege->named, sizeof siege->named, "MANIFEST");
}

typedef void mutate_fn (struct siege *siege);
static mutate_fn *const mutations[] = { flip_a_bit, flip_a_bit, cut, append, take_away, put_symlink, put_pipe,
                                        put_folder, second_name, change_mode, add_file, add_folder, change_manifest,
                                        take_manifest };

/* The generation as it was sealed; what cannot change the digests (times, inodes) may differ. */
static void put_back (struct siege *siege)
{
    char path[1400];
    yard_reopen (siege->gen);
    assert_int_equal (folder_remove (siege->gen, &siege->yard->err), 0);
    assert_int_equal (mkdir (siege->gen, 0755), 0);
    fill (siege->gen);
    write_file (siege->gen, "MANIFEST", (const char *) siege->manifest.ptr, siege->manifest.len);
    for (int i = 0; i < LOTS; i++) {
        snprintf (path, sizeof path, "%s/%s", siege->gen, lots[i].path);
        assert_int_equal (chmod (path, 0444), 0);
    }
    snprintf (path, sizeof path, "%s/aside", siege->yard->base);
    if (unlink (path))
        assert_int_equal (errno, ENOENT);
}

static void close_folders (struct siege *siege)
{
    char path[1400];
    for (int i = LOT_FOLDERS - 1; i >= 0; i--) {
        snprintf (path, sizeof path, "%s/%s", siege->gen, lot_folders[i]);
        assert_int_equal (chmod (path, 0555), 0);
    }
}

static void expect_refusal (struct siege *siege, int i)
{
    char shown[300];
    struct buf escaped;
    buf_init (&escaped, sizeof shown);
    buf_escaped (&escaped, text_of (siege->named), 0);
    if (prepare_reader (siege->yard, TOKEN) != -1)
        fail_msg ("mutation %d of %s was accepted", i, siege->named);
    if (!strstr (siege->yard->err.text, buf_c (&escaped)))
        fail_msg ("mutation %d: \"%s\" does not name %s", i, siege->yard->err.text, siege->named);
    buf_release (&escaped);
}

static void every_one_of_1000_mutations_is_refused_by_name (void **state)
{
    struct yard *yard = *state;
    struct siege siege = { .yard = yard, .rng = rng_seed (20260117) };
    char path[1200];
    seal_lots (yard, TOKEN);
    yard_generation (yard, TOKEN, siege.gen);
    snprintf (path, sizeof path, "%s/MANIFEST", siege.gen);
    buf_init (&siege.manifest, 65536);
    assert_int_equal (file_read (path, &siege.manifest, &yard->err), 0);
    for (int i = 0; i < MUTATIONS; i++) {
        put_back (&siege);
        mutations[rng_below (&siege.rng, sizeof mutations / sizeof *mutations)] (&siege);
        close_folders (&siege);
        expect_refusal (&siege, i);
    }
    put_back (&siege);
    close_folders (&siege);
    if (prepare_reader (yard, TOKEN))
        fail_msg ("put back, and still: %s", yard->err.text);
    buf_release (&siege.manifest);
}

static void a_folder_opened_to_writing_is_refused_by_name (void **state)
{
    struct yard *yard = *state;
    char path[1400];
    seal_lots (yard, TOKEN);
    snprintf (path, sizeof path, "%s/xla", yard->dir);
    assert_int_equal (chmod (path, 0755), 0);
    assert_int_equal (prepare_reader (yard, TOKEN), -1);
    says (yard, "\"xla\" has mode 0755, 0555 was sealed");
}

static void a_writer_that_comes_too_late_spoils_only_its_own_generation (void **state)
{
    struct yard *yard = *state;
    struct cache_order late = writer_order (yard, 2);
    char old[1200];
    assert_int_equal (prepare_writer (yard, &late), 0);
    snprintf (old, sizeof old, "%s", yard->dir);
    seal_lots (yard, TOKEN);
    write_file (old, "late", "bytes", 5);
    assert_int_equal (prepare_reader (yard, TOKEN), 0);
    /* The same bytes written into what is published are seen. */
    yard_reopen (yard->dir);
    write_file (yard->dir, "late", "bytes", 5);
    assert_int_equal (prepare_reader (yard, TOKEN), -1);
    says (yard, "\"late\" is there and was never sealed");
}

#define YARD_TEST(name) cmocka_unit_test_setup_teardown (name, yard_setup, yard_teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        YARD_TEST (every_one_of_1000_mutations_is_refused_by_name),
        YARD_TEST (a_folder_opened_to_writing_is_refused_by_name),
        YARD_TEST (a_writer_that_comes_too_late_spoils_only_its_own_generation),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
