/* links: model */
#include "cases.h"
#include "common/model/hostset.h"

/* The set of a slice file: every host once, no groups. */
static int hostset_expand (struct text expression, struct arena *arena, struct name_list *names, struct err *err)
{
    const struct hostset_rules rules = { .max = HOSTS_MAX, .once = true };
    return hostset_read (expression, &rules, arena, names, err);
}

TEST (names_are_bounded_and_plain)
{
    char longest[HOST_NAME_MAX_BYTES + 2], file[HOST_FILE_BYTES];
    memset (longest, 'a', sizeof longest);
    assert_true (host_name_valid ((struct text){ longest, HOST_LABEL_MAX_BYTES }));
    assert_false (host_name_valid ((struct text){ longest, HOST_LABEL_MAX_BYTES + 1 }));
    for (size_t i = HOST_LABEL_MAX_BYTES; i < sizeof longest; i += HOST_LABEL_MAX_BYTES + 1)
        longest[i] = '.';
    assert_true (host_name_valid ((struct text){ longest, HOST_NAME_MAX_BYTES }));
    assert_false (host_name_valid ((struct text){ longest, HOST_NAME_MAX_BYTES + 1 }));
    assert_true (host_name_valid (text_of ("t1v-n_0.example")));
    assert_text (host_file_name (text_of ("t1v-n_0.example"), file), "t1v-n_0.example");
    struct text first = text_copy (&t->arena, host_file_name ((struct text){ longest, HOST_NAME_MAX_BYTES }, file));
    longest[HOST_NAME_MAX_BYTES - 1] = 'b';
    struct text second = host_file_name ((struct text){ longest, HOST_NAME_MAX_BYTES }, file);
    assert_true (first.len == second.len && first.len < HOST_FILE_BYTES && !text_equal (first, second));
    assert_false (host_name_valid (text_of ("")));
    assert_false (host_name_valid (text_of ("-oProxyCommand=x")));
    assert_false (host_name_valid (text_of ("..")));
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[2] = { 'a', (char) byte };
        bool plain = byte && strchr ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", (int) byte);
        assert_int_equal (host_name_valid ((struct text){ name, 2 }), plain);
    }
}

static char *joined (const struct name_list *names)
{
    struct buf out;
    buf_init (&out, 1 << 20);
    for (uint32_t i = 0; i < names->n; i++)
        buf_printf (&out, "%s%.*s", i ? " " : "", TEXT_ARG (names->items[i]));
    return buf_c (&out);
}

static bool find_group (const void *owner, struct text name, struct text *expression)
{
    static const struct {
        const char *name, *set;
    } groups[] = {
        { "spare", "v[8-9]" }, { "rack1", "a[1-2]" }, { "rack2", "a3,b" },     { "both", "@rack[1-2]!a1" },
        { "loop", "a,@loop" }, { "bad", "a,b[" },     { "*", "@both,@spare" }, { "none", "a!a" },
    };
    (void) owner;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (text_is (name, groups[i].name)) {
            *expression = text_of (groups[i].set);
            return true;
        }
    return false;
}

static void read_case (struct test *t, const struct test_case *of, struct buf *got)
{
    const struct hostset_group_lookup groups = { find_group, NULL };
    struct text again = case_text (of, "again"), before = TEXT_LIT ("z");
    struct name_list names = { .items = &before, .n = again.len == 0 };
    const uint32_t n = names.n;
    struct hostset_rules rules = { .max = HOSTS_MAX, .once = again.len == 0 };
    if (again.len > 0)
        rules.max = (uint32_t) strtoul (text_copy (&t->arena, again).ptr, NULL, 10);
    if (case_text (of, "groups").len > 0)
        rules.groups = &groups;
    if (hostset_read (case_text (of, "set"), &rules, &t->arena, &names, &t->err) == 0)
        for (uint32_t i = n; i < names.n; i++)
            buf_printf (got, "%s%.*s%s%.*s", i > n ? " " : "", TEXT_ARG (names.users[i]), names.users[i].len ? "@" : "",
                        TEXT_ARG (names.items[i]));
    else {
        buf_printf (got, "%s: %s", t->err.code == ERR_LIMIT ? "too many" : "no set", t->err.text);
        assert_true (t->err.code == ERR_LIMIT || t->err.code == ERR_PARSE);
        assert_true (names.n == n && names.items == &before);
    }
}

TEST (sets_are_read_or_refused)
{
    cases_run ("hostset", read_case);
}

TEST (bytes_that_are_no_text_are_shown)
{
    static const struct {
        const char *set, *word;
    } cases[] = {
        { "a\x1b[2J", "\\x1b" }, { "a\nb", "character 3 " }, { "\xC3\xA9", "character 1 " }, { "a, ", "character 4 " }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct name_list names = { 0 };
        assert_int_equal (hostset_expand (text_of (cases[i].set), &t->arena, &names, &t->err), -1);
        assert_has (t->err.text, cases[i].word);
    }
    struct name_list names = { 0 };
    assert_int_equal (hostset_expand (TEXT_LIT (" a ,\tb\n"), &t->arena, &names, &t->err), 0);
    assert_int_equal (names.n, 2);
}

TEST (a_nul_is_no_end)
{
    struct name_list names = { 0 };
    assert_int_equal (hostset_expand (TEXT_LIT ("a\0b"), &t->arena, &names, NULL), -1);
}

TEST (sets_are_appended_and_stay_without_duplicates)
{
    struct name_list names = { 0 };
    assert_int_equal (hostset_expand (text_of ("a[1-2]"), &t->arena, &names, &t->err), 0);
    assert_int_equal (hostset_expand (text_of ("b"), &t->arena, &names, &t->err), 0);
    assert_int_equal (names.n, 3);
    assert_int_equal (hostset_expand (text_of ("c,a2"), &t->arena, &names, &t->err), -1);
    assert_int_equal (names.n, 3);
    assert_true (name_list_has (&names, text_of ("b")));
    assert_true (name_list_has (&names, text_of ("a2")));
    assert_false (name_list_has (&names, text_of ("c")));
    assert_false (name_list_has (&names, text_of ("a")));
}

static int read_with (const struct hostset_rules *rules, const char *set, char **found, struct err *err)
{
    struct arena arena = { 0 };
    struct name_list names = { 0 };
    int rc = hostset_read (text_of (set), rules, &arena, &names, err);
    *found = rc == 0 ? joined (&names) : NULL;
    arena_release (&arena);
    return rc;
}

static void expect_read (const struct hostset_rules *rules, const char *set, const char *names)
{
    struct err err = { 0 };
    char *found;
    if (read_with (rules, set, &found, &err) < 0)
        fail_msg ("%s: %s", set, err.text);
    assert_string_equal (found, names);
    mem_free (found);
}

static void expect_refusal (const struct hostset_rules *rules, const char *set, enum err_code code, const char *word)
{
    struct err err = { 0 };
    char *found;
    if (read_with (rules, set, &found, &err) == 0)
        fail_msg ("%s was accepted: %s", set, found);
    if (err.code != code || !strstr (err.text, word))
        fail_msg ("%s: %s", set, err.text);
}

static bool find_twice (const void *owner, struct text name, struct text *expression)
{
    static const char *const levels[] = { "@b,@b,@b,@b,@b,@b", "@c,@c,@c,@c,@c,@c",
                                          "@d,@d,@d,@d,@d,@d", "@e,@e,@e,@e,@e,@e",
                                          "@f,@f,@f,@f,@f,@f", "@g,@g,@g,@g,@g,@g",
                                          "@h,@h,@h,@h,@h,@h", "n1" };
    (void) owner;
    *expression = text_of (levels[(name.ptr[0] - 'a') % 8]);
    return name.len == 1;
}

TEST (work_is_bounded_as_well)
{
    const struct hostset_group_lookup groups = { find_twice, NULL };
    const struct hostset_rules rules = { .max = 4096, .groups = &groups };
    struct buf *chain = test_buf (t);
    buf_puts (chain, "a");
    for (int i = 0; i < 100; i++)
        buf_puts (chain, "!b[0-4095]");
    expect_refusal (&rules, buf_c (chain), ERR_LIMIT, "the parts of this set, repeats counted, name far more hosts");
    expect_read (&rules, "@d", "n1");
    expect_refusal (&rules, "@a", ERR_LIMIT, "the parts of this set, repeats counted, name far more hosts");
    struct hostset *set = hostset_create (&rules);
    for (int i = 0; i < 40; i++) /* that of one step, not of all of them */
        assert_int_equal (hostset_apply_expression (set, HOSTSET_TAKE, text_of ("b[0-4095]"), NULL), 0);
    hostset_destroy (set);
}

static void expect_set (const struct hostset *set, const char *names)
{
    struct arena arena = { 0 };
    struct name_list list = hostset_names (set, &arena);
    char *found = joined (&list);
    assert_string_equal (found, names);
    mem_free (found);
    arena_release (&arena);
}

TEST (steps_are_expressions_of_their_own)
{
    const struct hostset_rules rules = { .max = 5 };
    struct hostset *set = hostset_create (&rules), *other = hostset_create (&rules);
    assert_int_equal (hostset_apply_expression (set, HOSTSET_ADD, text_of ("a[1-4]"), &t->err), 0);
    assert_int_equal (hostset_apply_expression (set, HOSTSET_TAKE, text_of ("a1,a2!a2"), &t->err), 0); /* a2 stays */
    expect_set (set, "a2 a3 a4");
    assert_int_equal (hostset_apply_expression (set, HOSTSET_ADD, text_of ("b[1-3]"), &t->err), -1);
    assert_int_equal (t->err.code, ERR_LIMIT);
    assert_int_equal (hostset_apply_expression (set, HOSTSET_ADD, text_of ("b,"), &t->err), -1);
    expect_set (set, "a2 a3 a4");
    assert_int_equal (hostset_apply_expression (other, HOSTSET_ADD, text_of ("a[3-6]"), &t->err), 0);
    assert_int_equal (hostset_apply_set (set, HOSTSET_EITHER, other, &t->err), 0);
    expect_set (set, "a2 a5 a6");
    assert_int_equal (hostset_apply_expression (set, HOSTSET_ADD, text_of ("b[1-2]"), &t->err), 0);
    assert_int_equal (hostset_apply_expression (set, HOSTSET_EITHER, text_of ("a2,c"), &t->err),
                      0); /* one leaves, one comes: full */
    expect_set (set, "a5 a6 b1 b2 c");
    assert_int_equal (hostset_apply_set (set, HOSTSET_KEEP, other, &t->err), 0);
    hostset_destroy (other);
    expect_set (set, "a5 a6");
    hostset_destroy (set);
}

TEST (the_largest_set_is_allowed)
{
    struct name_list names = { 0 };
    assert_int_equal (hostset_expand (text_of ("a[0-16383]"), &t->arena, &names, &t->err), 0);
    assert_int_equal (names.n, HOSTS_MAX);
    assert_int_equal (hostset_expand (text_of ("b"), &t->arena, &names, &t->err), -1);
}

static void shuffle (struct rng *rng, struct text *names, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t other = (uint32_t) rng_below (rng, i);
        struct text kept = names[other];
        names[other] = names[i - 1];
        names[i - 1] = kept;
    }
}

static void expect_fold (struct rng *rng, const char *list, const char *expected)
{
    struct text names[64];
    uint32_t n = 0;
    char *words = mem_text (list), *rest = NULL;
    for (char *name = strtok_r (words, " ", &rest); name; name = strtok_r (NULL, " ", &rest))
        names[n++] = text_of (name);
    for (int round = 0; round < 20; round++) {
        struct buf out;
        buf_init (&out, 4096);
        shuffle (rng, names, n);
        hostset_fold (names, n, &out);
        assert_string_equal (buf_c (&out), expected);
        buf_release (&out);
    }
    mem_free (words);
}

TEST (names_fold_the_same_in_any_order)
{
    static const struct {
        const char *names, *folded;
    } cases[] = {
        { "a", "a" },
        { "v6e0 v6e1 v6e2 v6e3 v6e7", "v6e[0-3,7]" },
        { "b a", "a,b" },
        { "a1 b1", "a1,b1" },
        { "a9 a10 a11", "a[9-11]" },
        { "n1 n2", "n[1-2]" },
        { "n1 n3", "n[1,3]" },
        { "n5", "n5" },
        { "rack01n rack02n rack16n", "rack[01-02,16]n" },
        { "a08 a09 a10", "a[08-10]" },
        { "a098 a099 a100", "a[098-100]" },
        { "a01 a02 a99 a100", "a[01-02,99-100]" },
        { "a1 a01 a2 a02", "a[1-2,01-02]" },
        { "1 2 3", "[1-3]" },
        { "r1n2 r1n3", "r1n[2-3]" },
        { "r1n2 r2n2", "r[1-2]n2" },
        { "r1n1 r1n2 r2n1 r2n2", "r[1-2]n[1-2]" },
        { "r1n1 r1n2 r2n1 r3n1", "r[2-3]n1,r1n[1-2]" },
        { "r1n1 r2n2", "r1n1,r2n2" },
        { "r9n1 r9n2 r10n1 r10n2", "r[9-10]n[1-2]" },
        { "r1n01 r1n02 r2n01 r2n02 r3n7", "r[1-2]n[01-02],r3n7" },
        { "a1b1c1 a1b1c2 a1b2c1 a1b2c2 a2b1c1 a2b1c2 a2b2c1 a2b2c2", "a[1-2]b[1-2]c[1-2]" },
        { "w0x0y0 w0x1y0 w0x1y1 w0x1y2 w0x2y0 w1x0y0 w1x0y1 w1x1y1 w1x2y1 w2x0y0 w2x1y0 w2x1y2",
          "w[0,2]x[0-1]y0,w0x1y[1-2],w1x[1-2]y1,w1x0y[0-1],w0x2y0,w2x1y2" },
        { "a01 a98 a99 a100", "a[01,98-99,100]" },
        { "a98 a99 a100", "a[98-100]" },
        { "10.0.0.1 10.0.0.2", "10.0.0.[1-2]" },
        { "a%1 a%2 a1%", "a%[1-2],a1%" },
        { "n1.dc2 n2.dc2 n3.dc2", "n[1-3].dc2" },
        { "a1b2c3 a7b2c3 a8b2c3", "a[1,7-8]b2c3" },
        { "login n10 n9 admin", "admin,login,n[9-10]" },
        { "x10 x9y x2z", "x10,x9y,x2z" },
        { "a a1", "a,a1" },
        { "a1 a1 a2", "a[1-2]" },
        { "n99999999999999999998 n99999999999999999999", "n[99999999999999999998,99999999999999999999]" },
        { "n999999999999999998 n999999999999999999", "n[999999999999999998-999999999999999999]" },
        { "n1234567890123456788 n1234567890123456789", "n[1234567890123456788,1234567890123456789]" },
        { "n18446744073709551615 n0", "n[0,18446744073709551615]" },
        { "n00 n01 n1", "n[1,00-01]" },
    };
    struct rng rng = rng_seed (1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_fold (&rng, cases[i].names, cases[i].folded);
}

/* r[2-3]n1 is the first box, since it is wider in its first number; shorter numbers come first. */
TEST (names_are_listed_box_by_box)
{
    struct text names[] = { TEXT_LIT ("r1n2"), TEXT_LIT ("x"),  TEXT_LIT ("r3n1"), TEXT_LIT ("r1n1"),
                            TEXT_LIT ("n10"),  TEXT_LIT ("n9"), TEXT_LIT ("r2n1"), TEXT_LIT ("x"),
                            TEXT_LIT ("n01"),  TEXT_LIT ("a") };
    struct name_list sorted = { names, hostset_sort (names, sizeof names / sizeof names[0]), NULL };
    char *found = joined (&sorted);
    assert_string_equal (found, "a n9 n01 n10 r2n1 r3n1 r1n1 r1n2 x");
    mem_free (found);
    assert_int_equal (hostset_sort (NULL, 0), 0);
}

TEST (nothing_folds_to_nothing)
{
    struct buf out;
    buf_init (&out, 10);
    hostset_fold (NULL, 0, &out);
    assert_string_equal (buf_c (&out), "");
    buf_release (&out);
}

static int by_text (const void *a, const void *b)
{
    return text_compare (*(const struct text *) a, *(const struct text *) b);
}

static uint32_t sort_unique (struct text *names, uint32_t n)
{
    uint32_t kept = 0;
    qsort (names, n, sizeof *names, by_text);
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || !text_equal (names[kept - 1], names[i]))
            names[kept++] = names[i];
    return kept;
}

/* Few letters and digits, so that prefixes, paddings and neighbours collide often. */
static struct text random_name (struct rng *rng, struct arena *arena)
{
    static const char letters[] = "ab-._0012359";
    char name[12];
    uint32_t len = 1 + (uint32_t) rng_below (rng, 8);
    for (uint32_t i = 0; i < len; i++)
        name[i] = letters[rng_below (rng, sizeof letters - 1)];
    if (name[0] == '-' || name[0] == '.')
        name[0] = 'r';
    return text_copy (arena, (struct text){ name, len });
}

TEST (expanding_what_was_folded_gives_the_same_set)
{
    struct rng rng = rng_seed (7);
    for (int round = 0; round < 3000; round++) {
        struct arena arena = { 0 };
        struct text names[200];
        struct name_list again = { 0 };
        struct err err = { 0 };
        struct buf out, other;
        buf_init (&out, 1 << 16);
        buf_init (&other, 1 << 16);
        uint32_t n = 1 + (uint32_t) rng_below (&rng, 200);
        for (uint32_t i = 0; i < n; i++)
            names[i] = random_name (&rng, &arena);
        hostset_fold (names, n, &out);
        shuffle (&rng, names, n);
        hostset_fold (names, n, &other);
        assert_text (&out, &other);
        if (hostset_expand (buf_as_text (&out), &arena, &again, &err) < 0)
            fail_msg ("%s: %s", buf_c (&out), err.text);
        n = sort_unique (names, n);
        assert_int_equal (sort_unique (again.items, again.n), n);
        for (uint32_t i = 0; i < n; i++)
            assert_text (names[i], again.items[i]);
        buf_release (&other);
        buf_release (&out);
        arena_release (&arena);
    }
}

/* Fewer letters and more numbers than random_name: boxes in up to three dimensions, with holes. */
static struct text random_point (struct rng *rng, struct arena *arena)
{
    uint64_t r = rng_below (rng, 12), n = rng_below (rng, 12), i = rng_below (rng, 3);
    switch (rng_below (rng, 3)) {
    case 0: return text_format (arena, "r%un%02u", (unsigned) r, (unsigned) n);
    case 1: return text_format (arena, "r%un%u", (unsigned) r, (unsigned) n);
    default: return text_format (arena, "a%ub%u-%u", (unsigned) (r / 3), (unsigned) (n / 3), (unsigned) i);
    }
}

TEST (boxes_hold_each_name_once)
{
    struct rng rng = rng_seed (11);
    const struct hostset_rules once = { .max = 400, .once = true };
    for (int round = 0; round < 300; round++) {
        struct arena arena = { 0 };
        struct text names[400];
        struct name_list again = { 0 };
        struct err err = { 0 };
        struct buf out;
        buf_init (&out, 1 << 16);
        uint32_t n = 1 + (uint32_t) rng_below (&rng, 400);
        for (uint32_t i = 0; i < n; i++)
            names[i] = random_point (&rng, &arena);
        hostset_fold (names, n, &out);
        if (hostset_read (buf_as_text (&out), &once, &arena, &again, &err) < 0)
            fail_msg ("%s: %s", buf_c (&out), err.text);
        n = hostset_sort (names, n); /* and lists them as the folded form does */
        assert_int_equal (again.n, n);
        for (uint32_t i = 0; i < n; i++)
            assert_text (names[i], again.items[i]);
        buf_release (&out);
        arena_release (&arena);
    }
}

/* Looking at all pairs of 100,000 scattered names would take minutes, and again for each that was found. */
TEST (a_hundred_thousand_names_fold)
{
    enum { N = 100000, SCATTERED = 45000, CPU_S_MAX = 10 };
    struct rng rng = rng_seed (3);
    struct text *names = arena_array (&t->arena, N, sizeof *names);
    struct buf *out = test_buf (t);
    const struct hostset_rules rules = { .max = N };
    struct name_list again = { 0 };
    for (uint32_t i = 0; i < N; i++)
        names[i] = text_format (&t->arena, "rack%u-host%04u", i % 7 ? i / 100 : i, i % 2 ? i : i * 7);
    shuffle (&rng, names, N);
    hostset_fold (names, N, out);
    assert_false (out->overflow);
    assert_int_equal (hostset_read (buf_as_text (out), &rules, &t->arena, &again, NULL), 0);
    assert_int_equal (again.n, sort_unique (names, N));
    for (uint32_t i = 0; i < SCATTERED; i++)
        names[i] = text_format (&t->arena, "a%u-b%u-c%u", (unsigned) rng_below (&rng, N),
                                (unsigned) rng_below (&rng, N), (unsigned) rng_below (&rng, N));
    buf_clear (out);
    again = (struct name_list){ 0 };
    clock_t began = clock ();
    hostset_fold (names, SCATTERED, out);
    assert_true (clock () - began < CPU_S_MAX * CLOCKS_PER_SEC);
    if (hostset_read (buf_as_text (out), &rules, &t->arena, &again, &t->err) < 0)
        fail_msg ("%s", t->err.text);
    assert_int_equal (again.n, sort_unique (names, SCATTERED));
}

TEST (a_folded_set_is_a_text_that_may_be_cut)
{
    static const struct text names[] = { TEXT_LIT ("v6e2"), TEXT_LIT ("v6e0"), TEXT_LIT ("v6e1"), TEXT_LIT ("a\x1b") };
    struct buf shown;
    buf_init (&shown, 64);
    assert_text (hostset_folded (names, 3, UINT32_MAX, &t->arena), "v6e[0-2]");
    assert_text (hostset_folded (names, 3, 4, &t->arena), "v6e[");
    assert_int_equal (hostset_folded (NULL, 0, UINT32_MAX, &t->arena).len, 0);
    hostset_fold_escaped (names + 2, 2, 0, &shown);
    assert_string_equal (buf_c (&shown), "a\\x1b,v6e1");
    buf_clear (&shown);
    hostset_fold_escaped (names, 3, 3, &shown);
    assert_true (shown.len > 0 && shown.len < 8);
    buf_release (&shown);
}
