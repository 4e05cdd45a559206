/* links: coordinator_run */
#include "coordinator/run/calibration_store.h"

#include "common/io/atomic_file.h"
#include "test.h"
#include <sqlite3.h>

struct place {
    char home[64], path[96];
    struct arena arena;
    struct err err;
};

static void place_open (struct place *place)
{
    *place = (struct place){ .home = "/tmp/calibration-test-XXXXXX" };
    assert_true (mkdtemp (place->home));
    snprintf (place->path, sizeof place->path, "%s/calibration.db", place->home);
}

static void place_close (struct place *place)
{
    arena_release (&place->arena);
    place->arena = (struct arena){ 0 };
    assert_int_equal (folder_remove (place->home, NULL), 0);
}

TEST_FIXTURE (struct place, place_open, place_close)

static struct measure sample (uint64_t wall_ms)
{
    return (struct measure){
        .signature = TEXT_LIT ("0123456789abcdef"),
        .shape = TEXT_LIT ("fedcba9876543210"),
        .rung = TEXT_LIT ("dense"),
        .slice = TEXT_LIT ("v6e"),
        .run = TEXT_LIT ("11112222333344445555666677778888"),
        .pins = TEXT_LIT ("jax-tpu 0011"),
        .pass = PASS_COLD,
        .outcome = OUTCOME_FAILED,
        .owner = OWNER_PROGRAM,
        .failure = TEXT_LIT ("hbm-compile"),
        .cause = TEXT_LIT ("Ran out of memory"),
        .known_bad = true,
        .hosts = 4,
        .predicted_bytes = UINT64_C (49) << 30,
        .device_peak_bytes = 7,
        .host_peak_bytes = 8,
        .start_ms = 9,
        .duration_ms = 10,
        .ended_wall_ms = wall_ms,
    };
}

static void add (struct place *place, struct measure measure)
{
    struct measure_list one = { &measure, 1 };
    if (calibration_add (place->home, &one, &place->err) < 0)
        fail_msg ("%s", place->err.text);
}

static struct measure_list all (struct place *place, const char *signature)
{
    struct measure_list found;
    if (calibration_read (place->home, text_of (signature), &place->arena, &found, &place->err) < 0)
        fail_msg ("%s", place->err.text);
    return found;
}

TEST_ON (place, nothing_was_measured_yet)
{
    uint32_t forgotten = 1;
    assert_int_equal (all (place, "").n, 0);
    assert_int_equal (calibration_forget (((struct place *) place)->home, TEXT_LIT ("x"), &forgotten, NULL), 0);
    assert_int_equal (forgotten, 0);
    assert_int_not_equal (access (((struct place *) place)->path, F_OK), 0); /* asking makes no file */
}

TEST_ON (place, what_was_added_is_read_as_it_was)
{
    struct measure wanted = sample (1000);
    add (place, wanted);
    struct measure_list found = all (place, "0123456789abcdef");
    assert_int_equal (found.n, 1);
    const struct measure *m = &found.items[0];
    assert_true (text_equal (m->signature, wanted.signature) && text_equal (m->shape, wanted.shape) &&
                 text_equal (m->rung, wanted.rung));
    assert_true (text_equal (m->slice, wanted.slice) && text_equal (m->run, wanted.run) &&
                 text_equal (m->pins, wanted.pins));
    assert_true (text_equal (m->failure, wanted.failure) && text_equal (m->cause, wanted.cause) && m->known_bad);
    assert_int_equal (m->pass, PASS_COLD);
    assert_int_equal (m->outcome, OUTCOME_FAILED);
    assert_int_equal (m->owner, OWNER_PROGRAM);
    assert_int_equal (m->hosts, 4);
    assert_int_equal (m->predicted_bytes, UINT64_C (49) << 30);
    assert_true (m->device_peak_bytes == 7 && m->host_peak_bytes == 8 && m->start_ms == 9 && m->duration_ms == 10 &&
                 m->ended_wall_ms == 1000);
    assert_int_equal (all (place, "another").n, 0);
    struct stat st;
    assert_int_equal (stat (((struct place *) place)->path, &st), 0);
    assert_int_equal (st.st_mode & 0777, 0600);
}

TEST_ON (place, a_resumed_run_adds_nothing_twice)
{
    add (place, sample (1000));
    add (place, sample (1000));
    assert_int_equal (all (place, "").n, 1);
}

TEST_ON (place, the_newest_stands_first_and_the_oldest_goes)
{
    for (uint32_t i = 1; i <= CALIBRATION_KEPT + 6; i++)
        add (place, sample (i));
    struct measure_list found = all (place, "");
    assert_int_equal (found.n, CALIBRATION_KEPT);
    assert_int_equal (found.items[0].ended_wall_ms, CALIBRATION_KEPT + 6);
    assert_int_equal (found.items[found.n - 1].ended_wall_ms, 7);
}

TEST_ON (place, a_launch_can_be_forgotten)
{
    struct measure other = sample (3);
    uint32_t forgotten;
    other.signature = TEXT_LIT ("aaaaaaaaaaaaaaaa");
    add (place, sample (1));
    add (place, sample (2));
    add (place, other);
    assert_int_equal (calibration_forget (place->home, sample (1).signature, &forgotten, &place->err), 0);
    assert_int_equal (forgotten, 2);
    assert_int_equal (all (place, "").n, 1);
}

static void run_sql (const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

TEST_ON (place, another_versions_file_is_left_alone)
{
    struct measure measure = sample (5);
    struct measure_list one = { &measure, 1 }, found;
    add (place, sample (1));
    run_sql (place->path, "PRAGMA user_version = 4");
    assert_int_equal (calibration_add (place->home, &one, &place->err), -1);
    assert_has (place->err.text, "has format 4, expected 3");
    assert_int_equal (calibration_read (place->home, TEXT_LIT (""), &place->arena, &found, &place->err), -1);
    run_sql (place->path, "PRAGMA user_version = 2");
    assert_int_equal (all (place, "").n, 1);
}

/* As a process leaves it that was killed right after it made the file. */
TEST_ON (place, an_empty_file_is_no_measure_and_is_finished_later)
{
    close (open (place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal (all (place, "").n, 0);
    add (place, sample (1));
    assert_int_equal (all (place, "").n, 1);
}

TEST_ON (place, a_damaged_file_is_said)
{
    struct measure_list found;
    FILE *file = fopen (place->path, "we");
    assert_non_null (file);
    for (int i = 0; i < 1000; i++)
        fputs ("no database at all\n", file);
    assert_int_equal (fclose (file), 0);
    assert_int_equal (chmod (place->path, 0600), 0);
    assert_int_equal (calibration_read (place->home, TEXT_LIT (""), &place->arena, &found, &place->err), -1);
    assert_int_equal (place->err.code, ERR_DAMAGE);
}

TEST_ON (place, a_record_of_a_stranger_is_said)
{
    struct measure_list found;
    add (place, sample (1));
    run_sql (place->path, "UPDATE measure SET record = x'ff00'");
    assert_int_equal (calibration_read (place->home, TEXT_LIT (""), &place->arena, &found, &place->err), -1);
    assert_int_equal (place->err.code, ERR_DAMAGE);
    assert_has (place->err.text, "holds a measure that cannot be read");
}
