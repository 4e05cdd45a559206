/* links: catalogue */
/* What runs use of a bundle's generations, and in which order it is told to the one that builds upon them. */
#include "catalogue_fixture.h"
#include "coordinator/verdict/agree.h"
#include "test.h"

static const struct generation_user user = { .run = { .ptr = "0123456789abcdef0123456789abcdef", .len = 32 },
                                             .home = { .ptr = "/home/x", .len = 7 },
                                             .machine = { .ptr = "v6e-0", .len = 5 } };

/* "a b c" */
static text_list list_of (struct scene *scene, const char *words)
{
    text_list list = { .items = arena_array (&scene->arena, strlen (words) + 1, sizeof (struct text)) };
    for (const char *at = words; *at; at += strspn (at, " ")) {
        uint32_t len = (uint32_t) strcspn (at, " ");
        list.items[list.n++] = text_copy (&scene->arena, (struct text){ at, len });
        at += len;
    }
    return list;
}

static uint64_t publish_with (struct scene *scene, text_list covers)
{
    uint64_t token = granted (scene, RUN);
    struct fact_generation generation = generation_of (token);
    generation.covers = covers;
    well (scene, catalogue_publish (scene->catalogue, RUN, &generation, &scene->err));
    return token;
}

static struct fact_generation newest (struct scene *scene)
{
    struct fact_generation generation;
    well (scene, catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, &scene->err));
    return generation;
}

/* As a run does whose ladder has these. */
static void use (struct scene *scene, const char *words)
{
    struct fact_generation generation = newest (scene);
    text_list ladder = list_of (scene, words);
    well (scene, catalogue_use_generation (scene->catalogue, &generation, &ladder, &user, &scene->err));
}

static void expect (struct scene *scene, const char *words)
{
    struct fact_generation generation = newest (scene);
    text_list wanted = list_of (scene, words);
    assert_int_equal (generation.covers.n, wanted.n);
    for (uint32_t i = 0; i < wanted.n; i++)
        if (!text_equal (generation.covers.items[i], wanted.items[i]))
            fail_msg ("%u: %.*s is not %.*s", i, TEXT_ARG (generation.covers.items[i]), TEXT_ARG (wanted.items[i]));
}

static uint32_t rows (struct scene *scene)
{
    char path[160];
    sqlite3 *db = NULL;
    sqlite3_stmt *count = NULL;
    snprintf (path, sizeof path, "%s/catalogue.db", scene->root);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db, "SELECT count (*) FROM cover", -1, &count, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_step (count), SQLITE_ROW);
    uint32_t n = (uint32_t) sqlite3_column_int (count, 0);
    sqlite3_finalize (count);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    return n;
}

TEST_ON (scene, covers_come_the_longest_unused_first)
{
    publish_with (scene, list_of (scene, "a b c d"));
    expect (scene, "a b c d");
    use (scene, "a");
    expect (scene, "b c d a");
    publish_with (scene, list_of (scene, "b c d a e"));
    use (scene, "e"); /* what was made is used, too */
    use (scene, "c");
    expect (scene, "b d a c e");
    use (scene, "a c");
    expect (scene, "b d a c e"); /* all three since the same generation: by name */
}

static text_list many (struct scene *scene, const char *name, uint32_t n)
{
    text_list covers = { .items = arena_array (&scene->arena, n, sizeof (struct text)) };
    for (; covers.n < n; covers.n++)
        covers.items[covers.n] = text_format (&scene->arena, "%s%u", name, covers.n);
    return covers;
}

/* A run that only restores publishes nothing: its use counts all the same, whoever publishes meanwhile. */
TEST_ON (scene, what_is_used_and_never_made_again_stays)
{
    publish_with (scene, many (scene, "cover", COVERS_KEPT));
    for (uint32_t day = 0; day < 4; day++) {
        struct fact_generation base = newest (scene);
        use (scene, "cover0"); /* too late for who publishes next, in time for the one after that */
        text_list ladder = list_of (scene, text_format (&scene->arena, "day%u", day).ptr);
        if (day == 0)
            base = newest (scene);
        publish_with (scene, covers_carry_over (&base.covers, &ladder, ladder.items[0], &scene->arena));
        struct fact_generation next = newest (scene);
        well (scene, catalogue_use_generation (scene->catalogue, &next, &ladder, &user, &scene->err));
    }
    struct fact_generation last = newest (scene);
    assert_int_equal (last.covers.n, COVERS_KEPT);
    text_list kept = list_of (scene, "cover0 cover5 day0 day3"), gone = list_of (scene, "cover1 cover4");
    for (uint32_t i = 0; i < kept.n; i++)
        assert_true (text_is_among (kept.items[i], last.covers.items, last.covers.n));
    for (uint32_t i = 0; i < gone.n; i++)
        assert_false (text_is_among (gone.items[i], last.covers.items, last.covers.n));
}

TEST_ON (scene, only_what_the_newest_generation_has_is_kept_account_of)
{
    publish_with (scene, list_of (scene, "a b"));
    use (scene, "a b never-made");
    assert_int_equal (rows (scene), 2);
    uint64_t second = publish_with (scene, list_of (scene, "b c"));
    assert_int_equal (rows (scene), 1);
    struct fact_generation again = generation_of (second);
    again.covers = list_of (scene, "b c");
    use (scene, "c");
    well (scene, catalogue_publish (scene->catalogue, RUN, &again, &scene->err)); /* said again after a restart */
    assert_int_equal (rows (scene), 2);
    well (scene, catalogue_finish_removal (scene->catalogue, second, &scene->err));
    assert_int_equal (rows (scene), 2);
    well (scene, catalogue_finish_removal (scene->catalogue, second - 1, &scene->err));
    assert_int_equal (rows (scene), 0);
}

TEST_ON (scene, a_generation_that_nobody_can_use_changes_nothing)
{
    publish_with (scene, list_of (scene, "a"));
    struct fact_generation gone = newest (scene);
    well (scene, catalogue_quarantine (scene->catalogue, gone.token, OTHER_RUN, TEXT_LIT ("torn"), &scene->err));
    assert_int_equal (catalogue_use_generation (scene->catalogue, &gone, &gone.covers, &user, &scene->err), -1);
    assert_int_equal (scene->err.code, ERR_STATE);
    assert_int_equal (rows (scene), 0);
}

TEST_ON (scene, a_generation_whose_covers_are_full_is_built_upon)
{
    publish_with (scene, many (scene, "cover", GENERATION_COVERS_MAX));
    assert_int_equal (newest (scene).covers.n, GENERATION_COVERS_MAX);
    use (scene, "cover7");
    struct fact_generation base = newest (scene);
    text_list ladder = list_of (scene, "cover7 new");
    text_list next = covers_carry_over (&base.covers, &ladder, ladder.items[1], &scene->arena);
    publish_with (scene, next);
    struct fact_generation built = newest (scene);
    assert_int_equal (built.covers.n, COVERS_KEPT);
    assert_true (text_is_among (ladder.items[0], built.covers.items, built.covers.n));
    assert_int_equal (rows (scene), 1);
}
