/* links: cache */
/* A sealed generation is changed in 1,000 ways drawn from a seed (SLICEUP_SEED; MUTATIONS is their number): a reader
 * refuses each one and names what changed, an audit finds that and nothing else. */
#include "cache_fixture.h"
#include "test.h"

enum { MUTATIONS = 1000, TOKEN = 3 };

struct wanted {
    enum finding_kind kind;
    char path[256];
};

struct siege { /* the generation under change */
    struct fixture *fixture;
    struct rng rng;
    char gen[160];
    char target[1400];       /* absolute path of what is changed */
    struct wanted wanted[3]; /* what has to be found; a refusal names one of them */
    int wanted_n;
    char late[200]; /* what gets `late_mode` when all folders are closed again */
    mode_t late_mode;
    struct buf manifest, witness; /* as sealed */
};

static void want (struct siege *siege, enum finding_kind kind, const char *path)
{
    struct wanted *wanted = &siege->wanted[siege->wanted_n++];
    wanted->kind = kind;
    snprintf (wanted->path, sizeof wanted->path, "%s", path);
}

/* One that has bytes, so that every change of bytes is one. */
static const struct lot *pick_for (struct siege *siege, enum finding_kind kind)
{
    const struct lot *lot;
    do
        lot = &lots[rng_below (&siege->rng, LOTS)];
    while (!lot->content[0]);
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, lot->path);
    want (siege, kind, lot->path);
    return lot;
}

static const struct lot *pick (struct siege *siege)
{
    return pick_for (siege, FINDING_CHANGED);
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
    pick_for (siege, FINDING_MISSING);
    assert_int_equal (unlink (siege->target), 0);
}

static void put_symlink (struct siege *siege)
{
    char aside[200];
    pick (siege);
    /* It leads to the very bytes that were sealed. */
    snprintf (aside, sizeof aside, "%s/aside", siege->fixture->base);
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
    snprintf (aside, sizeof aside, "%s/aside", siege->fixture->base);
    assert_int_equal (link (siege->target, aside), 0);
}

static void change_mode (struct siege *siege)
{
    pick (siege);
    assert_int_equal (chmod (siege->target, 0444 ^ (1u << rng_below (&siege->rng, 12))), 0);
}

static void change_folder_mode (struct siege *siege)
{
    static const mode_t modes[] = { 0755, 0575, 0557, 0777, 01555, 02555 };
    int which = (int) rng_below (&siege->rng, LOT_FOLDERS + 1);
    const char *name = which < LOT_FOLDERS ? lot_folders[which] : ".";
    snprintf (siege->late, sizeof siege->late, "%s/%s", siege->gen, name);
    siege->late_mode = modes[rng_below (&siege->rng, sizeof modes / sizeof *modes)];
    want (siege, FINDING_CHANGED, name);
}

static void swap_two (struct siege *siege)
{
    char one[1400], aside[200];
    const struct lot *first = pick (siege), *second;
    memcpy (one, siege->target, sizeof one);
    do {
        siege->wanted_n = 1;
        second = pick (siege);
    } while (second == first);
    snprintf (aside, sizeof aside, "%s/aside", siege->fixture->base);
    assert_int_equal (rename (one, aside), 0);
    assert_int_equal (rename (siege->target, one), 0);
    assert_int_equal (rename (aside, siege->target), 0);
}

static void give_another_name (struct siege *siege)
{
    char new_name[64], new_path[1400];
    pick_for (siege, FINDING_MISSING);
    snprintf (new_name, sizeof new_name, "renamed-%03u", (unsigned) rng_below (&siege->rng, 1000));
    snprintf (new_path, sizeof new_path, "%s/%s", siege->gen, new_name);
    assert_int_equal (rename (siege->target, new_path), 0);
    want (siege, FINDING_EXTRA, new_name);
}

static void put_symlink_for_folder (struct siege *siege)
{
    char aside[200];
    const char *name = lot_folders[rng_below (&siege->rng, LOT_FOLDERS)];
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, name);
    snprintf (aside, sizeof aside, "%s/aside", siege->fixture->base);
    assert_int_equal (rename (siege->target, aside), 0);
    assert_int_equal (symlink (aside, siege->target), 0);
    want (siege, FINDING_CHANGED, name);
}

static void two_at_once (struct siege *siege)
{
    take_away (siege);
    snprintf (siege->target, sizeof siege->target, "%s/two", siege->gen);
    write_file (siege->gen, "two", "late", 4);
    want (siege, FINDING_EXTRA, "two");
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
    want (siege, FINDING_EXTRA, name);
}

static void add_folder (struct siege *siege)
{
    char name[64];
    invent (name, sizeof name, siege);
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, name);
    assert_int_equal (mkdir (siege->target, 0555), 0);
    want (siege, FINDING_EXTRA, name);
}

/* Bytes of MANIFEST: one bit, one piece less, one line twice, or one more. */
static void change_manifest (struct siege *siege)
{
    struct buf bytes;
    size_t at = rng_below (&siege->rng, siege->manifest.len), len = 1 + rng_below (&siege->rng, 80);
    buf_init (&bytes, 2 * siege->manifest.len);
    buf_add (&bytes, siege->manifest.ptr, siege->manifest.len);
    switch (rng_below (&siege->rng, 4)) {
    case 0: bytes.ptr[at] ^= (uint8_t) (1 << rng_below (&siege->rng, 8)); break;
    case 1: bytes.len = at; break;
    case 2:
        buf_add (&bytes, siege->manifest.ptr,
                 (size_t) (strchr ((char *) siege->manifest.ptr, '\n') + 1 - (char *) siege->manifest.ptr));
        break;
    default: buf_add (&bytes, siege->manifest.ptr, len < siege->manifest.len ? len : siege->manifest.len);
    }
    snprintf (siege->target, sizeof siege->target, "%s/MANIFEST", siege->gen);
    rewrite (siege->target, (const char *) bytes.ptr, bytes.len);
    want (siege, FINDING_CHANGED, "MANIFEST");
    buf_release (&bytes);
}

static void take_manifest (struct siege *siege)
{
    snprintf (siege->target, sizeof siege->target, "%s/MANIFEST", siege->gen);
    assert_int_equal (unlink (siege->target), 0);
    want (siege, FINDING_MISSING, "MANIFEST");
}

static void link_own_file (struct siege *siege, const char *name)
{
    char aside[200];
    snprintf (siege->target, sizeof siege->target, "%s/%s", siege->gen, name);
    snprintf (aside, sizeof aside, "%s/aside", siege->fixture->base);
    assert_int_equal (rename (siege->target, aside), 0);
    assert_int_equal (rng_below (&siege->rng, 2) ? symlink (aside, siege->target) : link (aside, siege->target), 0);
    want (siege, FINDING_CHANGED, name);
}

static void link_manifest (struct siege *siege)
{
    link_own_file (siege, "MANIFEST");
}

static void link_witness (struct siege *siege)
{
    link_own_file (siege, "WITNESS");
}

typedef void mutate_fn (struct siege *siege);
static mutate_fn *const mutations[] = {
    flip_a_bit,
    flip_a_bit,
    cut,
    append,
    take_away,
    put_symlink,
    put_pipe,
    put_folder,
    second_name,
    change_mode,
    change_folder_mode,
    swap_two,
    give_another_name,
    put_symlink_for_folder,
    two_at_once,
    add_file,
    add_folder,
    change_manifest,
    take_manifest,
    link_manifest,
    link_witness,
};

/* The generation as it was sealed; what cannot change the digests (times, inodes) may differ. Folders are open. */
static void put_back (struct siege *siege)
{
    static const char *const own[] = { "MANIFEST", "WITNESS" };
    char path[1400];
    fixture_reopen (siege->gen);
    assert_int_equal (folder_remove (siege->gen, &siege->fixture->err), 0);
    snprintf (path, sizeof path, "%s/aside", siege->fixture->base);
    assert_int_equal (folder_remove (path, &siege->fixture->err), 0);
    assert_int_equal (mkdir (siege->gen, 0755), 0);
    fill (siege->gen);
    write_file (siege->gen, "MANIFEST", (const char *) siege->manifest.ptr, siege->manifest.len);
    write_file (siege->gen, "WITNESS", (const char *) siege->witness.ptr, siege->witness.len);
    for (int i = 0; i < LOTS + 2; i++) {
        snprintf (path, sizeof path, "%s/%s", siege->gen, i < LOTS ? lots[i].path : own[i - LOTS]);
        assert_int_equal (chmod (path, 0444), 0);
    }
    siege->wanted_n = 0;
    siege->late[0] = '\0';
}

static void close_folders (struct siege *siege)
{
    char path[1400];
    struct stat st;
    for (int i = LOT_FOLDERS - 1; i >= 0; i--) {
        snprintf (path, sizeof path, "%s/%s", siege->gen, lot_folders[i]);
        if (lstat (path, &st) == 0 && S_ISDIR (st.st_mode))
            assert_int_equal (chmod (path, 0555), 0);
    }
    assert_int_equal (chmod (siege->gen, 0555), 0);
    if (siege->late[0])
        assert_int_equal (chmod (siege->late, siege->late_mode), 0);
}

static void expect_refusal (struct siege *siege, int i)
{
    char shown[300];
    bool named = false;
    if (prepare_reader (siege->fixture, TOKEN) != -1)
        fail_msg ("mutation %d of %s was accepted", i, siege->wanted[0].path);
    for (int w = 0; w < siege->wanted_n; w++) {
        snprintf (shown, sizeof shown, "\"%s\" ", siege->wanted[w].path);
        named = named || strstr (siege->fixture->err.text, shown);
    }
    if (!named)
        fail_msg ("mutation %d: \"%s\" does not name \"%s\"", i, siege->fixture->err.text, siege->wanted[0].path);
    assert_int_equal (siege->fixture->err.code, ERR_DAMAGE);
}

static bool is_listed (const struct finding_list *list, const struct wanted *wanted)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].kind == wanted->kind && text_is (list->items[i].path, wanted->path))
            return true;
    return false;
}

/* All that was wanted, and nothing that was not: whoever reads the list looks at each. */
static void expect_findings (struct siege *siege, int i)
{
    struct arena arena = { 0 };
    struct finding_list list = { 0 };
    struct fixture *fixture = siege->fixture;
    if (audit_generation (text_of (fixture->root), TOKEN, fixture->seal.sha256, AUDIT_FULL, 0, &arena, &list,
                          &fixture->err))
        fail_msg ("mutation %d of %s: %s", i, siege->wanted[0].path, fixture->err.text);
    for (int w = 0; w < siege->wanted_n; w++)
        if (!is_listed (&list, &siege->wanted[w]))
            fail_msg ("mutation %d: %s is not among %u findings, the first is %s: %s", i, siege->wanted[w].path, list.n,
                      list.n ? list.items[0].path.ptr : "none", list.n ? list.items[0].detail.ptr : "");
    if (list.n != (uint32_t) siege->wanted_n || list.more)
        fail_msg ("mutation %d of %s: %u findings, the last is %s: %s", i, siege->wanted[0].path, list.n,
                  list.items[list.n - 1].path.ptr, list.items[list.n - 1].detail.ptr);
    for (uint32_t f = 0; f < list.n; f++)
        assert_true (list.items[f].token == TOKEN && list.items[f].detail.len);
    arena_release (&arena);
}

static void expect_peace (struct siege *siege)
{
    struct fixture *fixture = siege->fixture;
    if (prepare_reader (fixture, TOKEN))
        fail_msg ("as it was sealed, and still: %s", fixture->err.text);
    siege->wanted_n = 0;
    expect_findings (siege, -1);
}

static void read_own (struct siege *siege, const char *name, struct buf *out)
{
    char path[1200];
    snprintf (path, sizeof path, "%s/%s", siege->gen, name);
    buf_init (out, 65536);
    assert_int_equal (file_read (path, out, &siege->fixture->err), 0);
    buf_c (out);
}

static void begin_siege (struct siege *siege, struct fixture *fixture)
{
    const char *asked = getenv ("SLICEUP_SEED");
    uint64_t seed = asked ? strtoull (asked, NULL, 10) : 20260117;
    *siege = (struct siege){ .fixture = fixture, .rng = rng_seed (seed) };
    print_message ("SLICEUP_SEED=%llu\n", (unsigned long long) seed);
    seal_lots (fixture, TOKEN);
    fixture_generation (fixture, TOKEN, siege->gen);
    read_own (siege, "MANIFEST", &siege->manifest);
    read_own (siege, "WITNESS", &siege->witness);
}

static void end_siege (struct siege *siege)
{
    put_back (siege);
    close_folders (siege);
    expect_peace (siege);
    buf_release (&siege->manifest);
    buf_release (&siege->witness);
}

TEST_ON (fixture, every_one_of_1000_mutations_is_refused_and_found_by_name)
{
    struct siege siege;
    begin_siege (&siege, fixture);
    for (int i = 0; i < MUTATIONS; i++) {
        put_back (&siege);
        mutations[rng_below (&siege.rng, sizeof mutations / sizeof *mutations)](&siege);
        close_folders (&siege);
        expect_refusal (&siege, i);
        expect_findings (&siege, i);
    }
    end_siege (&siege);
}

TEST_ON (fixture, another_time_of_a_file_is_no_change)
{
    struct siege siege;
    begin_siege (&siege, fixture);
    for (int i = 0; i < 20; i++) {
        time_t at = (time_t) rng_below (&siege.rng, 1u << 30);
        const struct timespec times[2] = { { .tv_sec = 1000000 + i }, { .tv_sec = at } };
        pick (&siege);
        assert_int_equal (utimensat (AT_FDCWD, siege.target, times, 0), 0);
        expect_peace (&siege);
    }
    end_siege (&siege);
}

TEST_ON (fixture, a_folder_opened_to_writing_is_refused_by_name)
{
    char path[1400];
    seal_lots (fixture, TOKEN);
    snprintf (path, sizeof path, "%s/xla", fixture->dir);
    assert_int_equal (chmod (path, 0755), 0);
    assert_int_equal (prepare_reader (fixture, TOKEN), -1);
    says (fixture, "\"xla\" has mode 0755, but was sealed with 0555");
}

TEST_ON (fixture, a_writer_that_comes_too_late_spoils_only_its_own_generation)
{
    struct cache_access late = writer_order (fixture, 2);
    char old[1300];
    assert_int_equal (prepare_writer (fixture, &late), 0);
    snprintf (old, sizeof old, "%.1200s", fixture->dir);
    seal_lots (fixture, TOKEN);
    write_file (old, "late", "bytes", 5);
    assert_int_equal (prepare_reader (fixture, TOKEN), 0);
    /* The same bytes written into what is published are seen. */
    fixture_reopen (fixture->dir);
    write_file (fixture->dir, "late", "bytes", 5);
    for (int i = LOT_FOLDERS - 1; i >= 0; i--) {
        snprintf (old, sizeof old, "%.1100s/%s", fixture->dir, lot_folders[i]);
        assert_int_equal (chmod (old, 0555), 0);
    }
    assert_int_equal (chmod (fixture->dir, 0555), 0);
    assert_int_equal (prepare_reader (fixture, TOKEN), -1);
    says (fixture, "\"late\" exists, but was never sealed");
}
