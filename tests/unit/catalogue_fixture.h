/* catalogue_fixture.h - a catalogue in a temporary folder, two runs and a bundle. */
#ifndef SLICEUP_TESTS_UNIT_CATALOGUE_FIXTURE_H
#define SLICEUP_TESTS_UNIT_CATALOGUE_FIXTURE_H

#include "common/io/atomic_file.h"
#include "coordinator/catalogue/catalogue.h"
#include "test.h"
#include <sqlite3.h>

#define RUN TEXT_LIT ("0123456789abcdef0123456789abcdef")
#define OTHER_RUN TEXT_LIT ("fedcba9876543210fedcba9876543210")
#define BUNDLE TEXT_LIT ("jax/5f2a")
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct scene {
    char root[64];
    struct catalogue *catalogue;
    struct arena arena;
    struct err err;
};

static inline void scene_open (struct scene *scene)
{
    *scene = (struct scene){ .root = "/tmp/catalogue-test-XXXXXX" };
    assert_true (mkdtemp (scene->root));
    scene->catalogue = catalogue_open (scene->root, &scene->err);
    assert_true (scene->catalogue);
}

static inline void scene_close (struct scene *scene)
{
    catalogue_close (scene->catalogue);
    arena_release (&scene->arena);
    assert_int_equal (folder_remove (scene->root, NULL), 0);
}

TEST_FIXTURE (struct scene, scene_open, scene_close)

static inline void well (const struct scene *scene, int rc)
{
    if (rc != 0)
        fail_msg ("%s", scene->err.text);
}

static inline uint64_t acquire (struct scene *scene, struct text run, const struct lease_owner *over,
                                struct lease_owner *lease_owner)
{
    uint64_t token = 0;
    well (scene, catalogue_acquire_lease (scene->catalogue, BUNDLE, run, 0, over, &token, lease_owner, &scene->arena,
                                          &scene->err));
    return token;
}

static inline uint64_t granted (struct scene *scene, struct text run)
{
    struct lease_owner lease_owner;
    uint64_t token = acquire (scene, run, NULL, &lease_owner);
    assert_true (token > 0);
    assert_int_equal (lease_owner.token, 0);
    return token;
}

static inline struct fact_generation generation_of (uint64_t token)
{
    static struct text covers[] = { { .ptr = "tiny:1", .len = 6 }, { .ptr = "dense:2", .len = 7 } };
    return (struct fact_generation){ .token = token,
                                     .sha256 = TEXT_LIT (SHA256),
                                     .bundle = BUNDLE,
                                     .rung = 3,
                                     .entries = 17,
                                     .bytes = 123456789012ULL,
                                     .writer = 5,
                                     .covers = { .items = covers, .n = 2 } };
}

static inline void publish (struct scene *scene, struct text run, uint64_t token)
{
    struct fact_generation generation = generation_of (token);
    well (scene, catalogue_publish (scene->catalogue, run, &generation, &scene->err));
}

static inline uint64_t published (struct scene *scene, struct text run)
{
    uint64_t token = granted (scene, run);
    publish (scene, run, token);
    return token;
}

static inline uint64_t found (struct scene *scene)
{
    struct fact_generation generation = { .token = 99 };
    well (scene, catalogue_find_newest (scene->catalogue, BUNDLE, &generation, &scene->arena, &scene->err));
    return generation.token;
}

/* The entry of a token; NULL: the catalogue does not know it. */
static inline const struct catalogue_entry *entry_of (struct scene *scene, uint64_t token)
{
    struct catalogue_list list;
    well (scene, catalogue_list (scene->catalogue, TEXT_LIT (""), &scene->arena, &list, &scene->err));
    for (uint32_t i = 0; i < list.n; i++)
        if (list.items[i].token == token)
            return &list.items[i];
    return NULL;
}

static inline bool taken (struct scene *scene, uint64_t token, struct text run)
{
    bool gone = false;
    well (scene, catalogue_beat (scene->catalogue, token, run, &gone, &scene->err));
    return gone;
}

static inline void end (struct scene *scene, uint64_t token, struct text run, bool abandoned)
{
    well (scene, catalogue_release_lease (scene->catalogue, token, run, abandoned, &scene->err));
}

/* What the library would not write. */
static inline void change (const char *root, const char *sql)
{
    char path[160];
    sqlite3 *db = NULL;
    snprintf (path, sizeof path, "%s/catalogue.db", root);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_busy_timeout (db, 30000), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (db));
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

#endif
