/* alone: catalogue */
#include "common/io/atomic_file.h"
#include "common/model/plan.h"
#include "coordinator/catalogue/catalogue.h"
#include "test.h"
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/prctl.h>

#define RUN TEXT_LIT ("0123456789abcdef0123456789abcdef")
#define OTHER_RUN TEXT_LIT ("fedcba9876543210fedcba9876543210")
#define BUNDLE TEXT_LIT ("jax/5f2a")
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct scene {
    char root[64];
    struct catalogue *catalogue;
    struct arena arena;
};

static void scene_open (struct scene *scene)
{
    struct err err = { 0 };
    *scene = (struct scene){ .root = "/tmp/catalogue-test-XXXXXX" };
    assert_true (mkdtemp (scene->root));
    scene->catalogue = catalogue_open (scene->root, &err);
    assert_true (scene->catalogue);
}

static void scene_close (struct scene *scene)
{
    catalogue_close (scene->catalogue);
    arena_release (&scene->arena);
    assert_int_equal (folder_remove (scene->root, NULL), 0);
}

TEST_FIXTURE (struct scene, scene_open, scene_close)

static void reopen (struct scene *scene)
{
    catalogue_close (scene->catalogue);
    scene->catalogue = catalogue_open (scene->root, NULL);
    assert_non_null (scene->catalogue);
}

static uint64_t token (struct scene *scene, struct text bundle)
{
    struct err err = { 0 };
    struct lease_owner lease_owner;
    uint64_t value = 0;
    if (catalogue_acquire_lease (scene->catalogue, bundle, RUN, 0, NULL, &value, &lease_owner, &scene->arena, &err) !=
        0)
        fail_msg ("%s", err.text);
    assert_true (value > 0);
    return value;
}

static struct text covers[] = { { .ptr = "tiny", .len = 4 }, { .ptr = "dense", .len = 5 } };

static struct fact_generation generation_of (uint64_t number, struct text bundle)
{
    return (struct fact_generation){ .token = number,
                                     .sha256 = TEXT_LIT (SHA256),
                                     .bundle = bundle,
                                     .rung = 3,
                                     .entries = 17,
                                     .bytes = 123456789012ULL,
                                     .writer = 5,
                                     .covers = { .items = covers, .n = 2 } };
}

static void publish (struct scene *scene, uint64_t number, struct text bundle)
{
    struct err err = { 0 };
    struct fact_generation generation = generation_of (number, bundle);
    if (catalogue_publish (scene->catalogue, RUN, &generation, &err) != 0)
        fail_msg ("%s", err.text);
}

static uint64_t found (struct scene *scene, struct text bundle)
{
    struct err err = { 0 };
    struct fact_generation generation = { .token = 99 };
    if (catalogue_find_newest (scene->catalogue, bundle, &generation, &scene->arena, &err) != 0)
        fail_msg ("%s", err.text);
    return generation.token;
}

TEST_ON (scene, tokens_rise_over_bundles_and_openings)
{
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) {
        uint64_t next = token (scene, i % 2 ? BUNDLE : TEXT_LIT ("torch_xla/77"));
        assert_true (next > last);
        last = next;
        if (i % 5 == 4)
            reopen (scene);
    }
}

enum { TAKERS = 4, TAKES = 200 };

static void take_tokens (const char *root, int report)
{
    struct err err = { 0 };
    struct catalogue *catalogue = catalogue_open (root, &err);
    struct arena arena = { 0 };
    struct lease_owner lease_owner;
    uint64_t value;
    for (int i = 0; catalogue && i < TAKES; i++) {
        /* One run: whoever comes later takes the lease from its own run, and both may publish. */
        if (catalogue_acquire_lease (catalogue, BUNDLE, RUN, 0, NULL, &value, &lease_owner, &arena, &err) != 0)
            break;
        struct fact_generation generation = generation_of (value, BUNDLE);
        if (catalogue_publish (catalogue, RUN, &generation, &err) != 0)
            break;
        if (write (report, &value, sizeof value) != sizeof value)
            _exit (2);
    }
    if (err.code)
        fprintf (stderr, "%s\n", err.text);
    catalogue_close (catalogue);
    arena_release (&arena);
    _exit (err.code ? 1 : 0);
}

static int by_value (const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;
    return left < right ? -1 : left > right;
}

/* The catalogue does not exist yet when the four begin. */
TEST_ON (scene, processes_that_race_get_distinct_rising_tokens_and_all_publish)
{
    static uint64_t all[TAKERS * TAKES];
    char root[96];
    int reports[TAKERS];
    pid_t pids[TAKERS];
    snprintf (root, sizeof root, "%s/new", scene->root);
    for (int i = 0; i < TAKERS; i++) {
        int pipes[2];
        assert_int_equal (pipe2 (pipes, O_CLOEXEC), 0);
        pids[i] = fork ();
        if (pids[i] == 0) {
            prctl (PR_SET_PDEATHSIG, SIGKILL);
            take_tokens (root, pipes[1]);
        }
        close (pipes[1]);
        reports[i] = pipes[0];
    }
    for (int i = 0; i < TAKERS; i++) {
        int status;
        for (int k = 0; k < TAKES; k++) {
            assert_int_equal (read (reports[i], &all[i * TAKES + k], sizeof all[0]), sizeof all[0]);
            assert_true (k == 0 || all[i * TAKES + k] > all[i * TAKES + k - 1]);
        }
        close (reports[i]);
        assert_int_equal (waitpid (pids[i], &status, 0), pids[i]);
        assert_int_equal (status, 0);
    }
    qsort (all, TAKERS * TAKES, sizeof all[0], by_value);
    for (int i = 1; i < TAKERS * TAKES; i++)
        assert_true (all[i] > all[i - 1]);
}

TEST_ON (scene, a_token_is_not_used_again_when_the_catalogue_was_lost)
{
    char path[160];
    for (int i = 1; i <= 3; i++) {
        snprintf (path, sizeof path, "%s/jax/5f2a/gen-%d", scene->root, i);
        assert_int_equal (folder_make (path, 0700, NULL), 0);
    }
    assert_int_equal (token (scene, BUNDLE), 4);
    assert_int_equal (token (scene, BUNDLE), 5);
}

TEST_ON (scene, a_published_generation_is_found_as_it_was)
{
    struct fact_generation generation = { 0 };
    assert_int_equal (found (scene, BUNDLE), 0);
    uint64_t number = token (scene, BUNDLE);
    assert_int_equal (found (scene, BUNDLE), 0); /* handed out is not published */
    publish (scene, number, BUNDLE);
    reopen (scene);
    assert_int_equal (catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, NULL), 0);
    struct fact_generation expected = generation_of (number, BUNDLE);
    expected.from_run = RUN;
    assert_true (record_equal (fact_record_of_kind (FACT_GENERATION_PUBLISHED), &generation, &expected));
    assert_int_equal (found (scene, TEXT_LIT ("jax/5f2")), 0);
    assert_int_equal (found (scene, TEXT_LIT ("jax/5f2a ")), 0);
}

TEST_ON (scene, the_newest_generation_of_its_bundle_is_found)
{
    struct text other = TEXT_LIT ("torch_xla/5f2a");
    uint64_t a = token (scene, BUNDLE), b = token (scene, BUNDLE), c = token (scene, other);
    publish (scene, b, BUNDLE);
    publish (scene, a, BUNDLE); /* later, and older all the same */
    publish (scene, c, other);
    assert_int_equal (found (scene, BUNDLE), b);
    assert_int_equal (found (scene, other), c);
}

TEST_ON (scene, publishing_again_changes_nothing)
{
    uint64_t number = token (scene, BUNDLE);
    publish (scene, number, BUNDLE);
    publish (scene, number, BUNDLE);
    struct fact_generation other = generation_of (number, BUNDLE);
    other.entries = 18;
    assert_int_equal (catalogue_publish (scene->catalogue, RUN, &other, &t->err), -1);
    assert_int_equal (t->err.code, ERR_REFUSED);
    assert_int_equal (catalogue_find_newest (scene->catalogue, BUNDLE, &other, &scene->arena, NULL), 0);
    assert_int_equal (other.entries, 17);
}

TEST_ON (scene, only_the_run_that_got_the_token_publishes_for_its_bundle)
{
    uint64_t number = token (scene, BUNDLE);
    const struct {
        uint64_t number;
        struct text bundle, run;
    } wrongs[] = { { number + 1, BUNDLE, RUN },
                   { number, TEXT_LIT ("jax/other"), RUN },
                   { number, BUNDLE, OTHER_RUN } };
    for (int i = 0; i < 3; i++) {
        struct err err = { 0 };
        struct fact_generation generation = generation_of (wrongs[i].number, wrongs[i].bundle);
        assert_int_equal (catalogue_publish (scene->catalogue, wrongs[i].run, &generation, &err), -1);
        assert_int_equal (err.code, ERR_REFUSED);
        assert_int_equal (found (scene, wrongs[i].bundle), 0);
    }
    publish (scene, number, BUNDLE);
}

TEST_ON (scene, a_bundle_that_leads_out_of_the_root_is_refused)
{
    static char long_name[257];
    memset (long_name, 'a', 256);
    const struct text bad[] = { TEXT_LIT (""),       TEXT_LIT ("/etc"), TEXT_LIT (".."),    TEXT_LIT ("jax/../../x"),
                                TEXT_LIT ("jax//x"), TEXT_LIT ("jax/"), TEXT_LIT ("jax/."), TEXT_LIT ("jax/\0x"),
                                text_of (long_name) };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = { 0 };
        struct lease_owner lease_owner;
        uint64_t value = 77;
        if (catalogue_acquire_lease (scene->catalogue, bad[i], RUN, 0, NULL, &value, &lease_owner, &scene->arena,
                                     &err) != -1 ||
            err.code != ERR_REFUSED || value != 77)
            fail_msg ("bundle %d: token %d, code %d", (int) i, (int) value, err.code);
    }
    assert_int_equal (token (scene, TEXT_LIT ("jax/..x")), 1);
}

static void change (struct scene *scene, const char *sql)
{
    char path[96];
    sqlite3 *db = NULL;
    snprintf (path, sizeof path, "%s/catalogue.db", scene->root);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (db));
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

TEST_ON (scene, a_damaged_record_is_not_believed)
{
    static const char *const changes[] = {
        "UPDATE generation SET record = x'c1'",
        "UPDATE generation SET record = x''",
        "UPDATE generation SET token = token + 100",
        "UPDATE generation SET bundle = 'jax/5f2a' WHERE bundle = 'jax/77'",
        "UPDATE generation SET run = x'ff'",
        "UPDATE generation SET run = hex (zeroblob (300))",
        "UPDATE generation SET run = '../../../../../../tmp/elsewhere/..'",
        "UPDATE generation SET run = '../../x'",
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct err err = { 0 };
        struct fact_generation generation;
        uint64_t a = token (scene, BUNDLE), b = token (scene, TEXT_LIT ("jax/77"));
        publish (scene, a, BUNDLE);
        publish (scene, b, TEXT_LIT ("jax/77"));
        change (scene, changes[i]);
        if (catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, &err) != -1 ||
            err.code != ERR_DAMAGE)
            fail_msg ("%s: code %d: %s", changes[i], err.code, err.text);
        change (scene, "DELETE FROM generation");
    }
}

/* The run that wrote it, elsewhere, is in its record: it is no more believed than the column. */
TEST_ON (scene, a_run_that_an_imported_generation_names_is_a_run_or_damage)
{
    static const char *const runs[] = { "../../x", "ab", "FEDCBA9876543210FEDCBA9876543210" };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct err err = { 0 };
        struct fact_generation generation = generation_of (token (scene, BUNDLE), BUNDLE);
        generation.from_run = text_of (runs[i]);
        assert_int_equal (catalogue_publish (scene->catalogue, RUN, &generation, &err), 0);
        assert_int_equal (catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, &err), -1);
        assert_int_equal (err.code, ERR_DAMAGE);
        change (scene, "DELETE FROM generation");
    }
    struct fact_generation generation = generation_of (token (scene, BUNDLE), BUNDLE);
    generation.from_run = OTHER_RUN;
    assert_int_equal (catalogue_publish (scene->catalogue, RUN, &generation, NULL), 0);
    assert_int_equal (catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, NULL), 0);
    assert_text (generation.from_run, OTHER_RUN);
}

TEST_ON (scene, what_is_no_catalogue_is_not_used)
{
    char path[96];
    for (int format = 2; format <= 4; format += 2) {
        snprintf (path, sizeof path, "PRAGMA user_version = %d", format);
        change (scene, path);
        assert_null (catalogue_open (scene->root, &t->err));
        assert_null (catalogue_open_read_only (scene->root, &t->err));
        assert_int_equal (t->err.code, ERR_STATE);
        assert_has (t->err.text, strrchr (path, ' ') + 1);
    }
    snprintf (path, sizeof path, "%s/catalogue.db", scene->root);
    catalogue_close (scene->catalogue);
    scene->catalogue = NULL;
    char noise[8192];
    memset (noise, 0x5A, sizeof noise);
    assert_int_equal (atomic_file_write (path, noise, sizeof noise, 0600, NULL), 0);
    assert_null (catalogue_open (scene->root, &t->err));
    assert_int_equal (t->err.code, ERR_DAMAGE);
}

TEST_ON (scene, the_catalogue_is_private)
{
    struct stat st;
    char path[96];
    snprintf (path, sizeof path, "%s/catalogue.db", scene->root);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0600);
    assert_int_equal (chmod (path, 0666), 0);
    assert_null (catalogue_open (scene->root, &t->err));
    assert_int_equal (t->err.code, ERR_STATE);
}
