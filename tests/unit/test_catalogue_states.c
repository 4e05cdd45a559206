/* links: catalogue */
#include "catalogue_fixture.h"
#include "common/wire/wire.h"
#include "test.h"
#include <inttypes.h>

/* ---- quarantine, use, collecting ---- */

static const struct generation_user user = { .run = { .ptr = "0123456789abcdef0123456789abcdef", .len = 32 },
                                             .home = { .ptr = "/home/x/.local/state/sliceup", .len = 28 },
                                             .machine = { .ptr = "v6e-0", .len = 5 } };

static int use_as (struct scene *scene, uint64_t token, const struct generation_user *as)
{
    struct fact_generation generation = generation_of (token);
    return catalogue_use_generation (scene->catalogue, &generation, &(text_list){ 0 }, as, &scene->err);
}

static void use (struct scene *scene, uint64_t token)
{
    well (scene, use_as (scene, token, &user));
}

static int retire (struct scene *scene, uint64_t token, const struct text *over, uint32_t n)
{
    scene->err = (struct err){ 0 };
    return catalogue_begin_removal (scene->catalogue, token, over, n, &scene->err);
}

static void stays (struct scene *scene, uint64_t token, const char *because)
{
    assert_int_equal (retire (scene, token, NULL, 0), -1);
    assert_int_equal (scene->err.code, ERR_STATE);
    assert_has (scene->err.text, because);
}

static void drop (struct scene *scene, uint64_t token, const char *why)
{
    well (scene, catalogue_quarantine (scene->catalogue, token, OTHER_RUN, text_of (why), &scene->err));
}

TEST_ON (scene, a_dropped_generation_is_not_found_any_more)
{
    uint64_t first = published (scene, RUN), second = published (scene, RUN);
    assert_int_equal (found (scene), second);
    drop (scene, second, "changed: jit_x");
    drop (scene, second, "another reason"); /* the first one stays */
    assert_int_equal (found (scene), first);
    const struct catalogue_entry *entry = entry_of (scene, second);
    assert_int_equal (entry->state, GENERATION_DROPPED);
    assert_int_equal (entry->published.token, second);
    assert_has (entry->why.ptr, "changed: jit_x (run fedcba98)");
    publish (scene, RUN, second); /* said again after a restart: it stays where it is */
    assert_int_equal (found (scene), first);
    drop (scene, 4711, "never handed out");
    assert_null (entry_of (scene, 4711));
}

TEST_ON (scene, what_was_dropped_before_it_was_published_is_not_found_either)
{
    uint64_t token = granted (scene, RUN);
    drop (scene, token, "late-write");
    publish (scene, RUN, token);
    assert_int_equal (found (scene), 0);
    assert_int_equal (entry_of (scene, token)->state, GENERATION_DROPPED);
}

TEST_ON (scene, users_are_listed_and_forgotten_by_run)
{
    uint64_t first = published (scene, RUN), second = published (scene, RUN);
    struct generation_user other = user;
    other.run = OTHER_RUN;
    use (scene, first);
    use (scene, first); /* once, however often it is said */
    use (scene, second);
    well (scene, use_as (scene, first, &other));
    assert_int_equal (entry_of (scene, first)->users.n, 2);
    assert_text (entry_of (scene, first)->users.items[0].home, user.home);
    assert_text (entry_of (scene, first)->users.items[0].machine, user.machine);
    well (scene, catalogue_unuse_all (scene->catalogue, RUN, &scene->err));
    assert_int_equal (entry_of (scene, first)->users.n, 1);
    assert_int_equal (entry_of (scene, second)->users.n, 0);
}

TEST_ON (scene, nothing_that_is_needed_is_retired)
{
    const struct text over = RUN;
    uint64_t old = published (scene, RUN), newest = published (scene, RUN), writing = granted (scene, OTHER_RUN);
    stays (scene, newest, "newest");
    stays (scene, writing, "has the lease");
    end (scene, writing, OTHER_RUN, false);
    stays (scene, writing, "not ended");
    stays (scene, 4711, "has no generation 4711");
    use (scene, old);
    stays (scene, old, "of v6e-0 uses it");
    assert_int_equal (retire (scene, old, &over, 1), 0);
    assert_int_equal (entry_of (scene, old)->state, GENERATION_REMOVING);
    stays (scene, newest, "newest");
    drop (scene, newest, "torn");
    assert_int_equal (retire (scene, newest, NULL, 0), 0); /* it is not what anybody is sent to */
}

TEST_ON (scene, a_refused_retirement_changes_nothing)
{
    const struct text over = RUN;
    uint64_t newest = published (scene, RUN);
    use (scene, newest);
    assert_int_equal (retire (scene, newest, &over, 1), -1);
    assert_int_equal (entry_of (scene, newest)->users.n, 1);
    assert_int_equal (entry_of (scene, newest)->state, GENERATION_PUBLISHED);
}

TEST_ON (scene, what_is_retired_is_neither_found_nor_used_nor_published)
{
    uint64_t old = published (scene, RUN), newest = published (scene, RUN);
    struct fact_generation again = generation_of (old);
    assert_int_equal (retire (scene, old, NULL, 0), 0);
    assert_int_equal (retire (scene, old, NULL, 0), 0); /* by the collection after one that was killed */
    drop (scene, newest, "torn");
    assert_int_equal (found (scene), 0);
    assert_int_equal (use_as (scene, old, &user), -1);
    assert_int_equal (scene->err.code, ERR_STATE);
    assert_int_equal (use_as (scene, newest, &user), -1);
    assert_has (scene->err.text, "quarantined");
    assert_int_equal (catalogue_publish (scene->catalogue, RUN, &again, &scene->err), -1);
    drop (scene, old, "too late");
    assert_int_equal (entry_of (scene, old)->state, GENERATION_REMOVING);
}

TEST_ON (scene, the_number_of_what_was_forgotten_stays_used)
{
    uint64_t token = published (scene, RUN);
    use (scene, token);
    for (int i = 0; i < 2; i++)
        well (scene, catalogue_finish_removal (scene->catalogue, token, &scene->err));
    assert_null (entry_of (scene, token));
    enum generation_state now = GENERATION_GRANTED;
    well (scene, catalogue_generation_state (scene->catalogue, token, &now, &scene->err));
    assert_int_equal (now, GENERATION_NONE);
    assert_true (granted (scene, RUN) > token);
}

TEST_ON (scene, everything_is_listed_by_bundle_and_token)
{
    struct lease_owner lease_owner;
    struct catalogue_list list;
    uint64_t a = published (scene, RUN), other = 0, b = granted (scene, RUN);
    well (scene, catalogue_acquire_lease (scene->catalogue, TEXT_LIT ("a/b"), RUN, 0, NULL, &other, &lease_owner,
                                          &scene->arena, &scene->err));
    well (scene, catalogue_list (scene->catalogue, TEXT_LIT (""), &scene->arena, &list, &scene->err));
    assert_int_equal (list.n, 3);
    assert_int_equal (list.items[0].token, other);
    assert_int_equal (list.items[1].token, a);
    assert_int_equal (list.items[2].token, b);
    assert_int_equal (list.items[1].state, GENERATION_PUBLISHED);
    assert_int_equal (list.items[1].published.entries, 17);
    assert_true (list.items[1].wall_ms > 0);
    assert_false (list.items[1].leased);
    assert_true (list.items[2].leased);
    well (scene, catalogue_list (scene->catalogue, TEXT_LIT ("a/b"), &scene->arena, &list, &scene->err));
    assert_int_equal (list.n, 1);
}

TEST_ON (scene, damaged_rows_are_not_believed)
{
    static const char *const changes[] = {
        "UPDATE token SET state = 77",
        "UPDATE token SET state = 2",
        "UPDATE token SET state = 0",
        "UPDATE token SET bundle = '../x'",
        "UPDATE token SET why = x'ff'",
        "UPDATE token SET run = hex (zeroblob (17))",
        "UPDATE token SET run = x'610062'",
        "UPDATE user SET home = x'ff'",
        "UPDATE user SET machine = hex (zeroblob (300))",
        "UPDATE generation SET record = x'c1'",
    };
    struct catalogue_list list;
    use (scene, published (scene, RUN));
    change (scene->root,
            "CREATE TABLE saved_token AS SELECT * FROM token; CREATE TABLE saved_user AS SELECT * FROM user;"
            "CREATE TABLE saved_generation AS SELECT * FROM generation");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        change (scene->root, changes[i]);
        scene->err = (struct err){ 0 };
        if (catalogue_list (scene->catalogue, TEXT_LIT (""), &scene->arena, &list, &scene->err) != -1 ||
            scene->err.code != ERR_DAMAGE)
            fail_msg ("%s: code %d: %s", changes[i], scene->err.code, scene->err.text);
        change (scene->root, "REPLACE INTO token SELECT * FROM saved_token; REPLACE INTO user SELECT * FROM saved_user;"
                             "REPLACE INTO generation SELECT * FROM saved_generation");
        well (scene, catalogue_list (scene->catalogue, TEXT_LIT (""), &scene->arena, &list, &scene->err));
    }
}

/* ---- opening ---- */

TEST_ON (scene, opening_makes_the_mark_of_the_storage)
{
    char path[96];
    struct stat st;
    snprintf (path, sizeof path, "%s/storage", scene->root);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_size, 17);
}

TEST_ON (scene, looking_makes_and_changes_nothing)
{
    char path[96];
    struct lease_owner lease_owner;
    uint64_t token = published (scene, RUN);
    struct catalogue *looking = catalogue_open_read_only (scene->root, &scene->err);
    assert_non_null (looking);
    struct fact_generation there = { 0 };
    assert_int_equal (catalogue_find_newest (looking, BUNDLE, &there, &scene->arena, &scene->err), 0);
    assert_int_equal (there.token, token);
    assert_int_equal (
        catalogue_acquire_lease (looking, BUNDLE, OTHER_RUN, 0, NULL, &token, &lease_owner, &scene->arena, &scene->err),
        -1);
    catalogue_close (looking);
    snprintf (path, sizeof path, "%s/nothing", scene->root);
    assert_null (catalogue_open_read_only (path, &scene->err));
    assert_int_equal (scene->err.code, ERR_STATE);
    assert_int_equal (access (path, F_OK), -1);
}
