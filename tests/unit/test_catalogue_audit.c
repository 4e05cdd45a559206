/* links: catalogue */
#include "catalogue_fixture.h"
#include "common/cache/audit.h"
#include "coordinator/catalogue/catalogue.h"
#include "coordinator/catalogue/catalogue_private.h"
#include "test.h"
#include <inttypes.h>

/* ---- real generations ---- */

static struct text bundle_root (struct scene *scene)
{
    return text_format (&scene->arena, "%s/jax/5f2a", scene->root);
}

static const char *place (struct scene *scene, uint64_t token, const char *name)
{
    return text_format (&scene->arena, "%s/jax/5f2a/gen-%" PRIu64 "%s%s", scene->root, token, name[0] ? "/" : "", name)
        .ptr;
}

static void put (struct scene *scene, uint64_t token, const char *name, const char *content)
{
    if (access (place (scene, token, ""), F_OK) != 0)
        well (scene, folder_make (place (scene, token, ""), 0755, &scene->err));
    well (scene, atomic_file_write (place (scene, token, name), content, strlen (content), 0644, &scene->err));
}

/* Written and sealed by its run, but not published. */
static struct fact_generation sealed (struct scene *scene, uint64_t token)
{
    char dir[1200];
    struct seal seal;
    struct cache_access access = { .role = CACHE_ROLE_WRITER, .token = token, .frontend_root = bundle_root (scene) };
    well (scene, cache_prepare_writer (&access, dir, sizeof dir, &scene->err));
    put (scene, token, "jit_a-cache", "executable");
    put (scene, token, "jit_b-cache", "another");
    well (scene, cache_seal (&access, &seal, &scene->arena, &scene->err));
    struct fact_generation generation = generation_of (token);
    generation.sha256 = seal.sha256;
    generation.entries = seal.entries;
    generation.bytes = seal.bytes;
    return generation;
}

static uint64_t real (struct scene *scene)
{
    uint64_t token = granted (scene, RUN);
    struct fact_generation generation = sealed (scene, token);
    well (scene, catalogue_publish (scene->catalogue, RUN, &generation, &scene->err));
    return token;
}

static uint64_t abandoned (struct scene *scene)
{
    uint64_t token = granted (scene, RUN);
    end (scene, token, RUN, true);
    return token;
}

/* ---- what is found ---- */

static struct cache_root_finding *items;

static uint32_t look (struct scene *scene)
{
    uint32_t n = 0;
    well (scene, catalogue_audit_generations (scene->catalogue, BUNDLE, &scene->arena, &items, &n, &scene->err));
    return n;
}

static void finds_one (struct scene *scene, enum finding_kind kind, uint64_t token, const char *path)
{
    uint32_t n = look (scene);
    if (n == 1 && items[0].finding.kind == kind && items[0].finding.token == token &&
        text_is (items[0].finding.path, path))
        return;
    fail_msg ("%u findings, not one of kind %s; the first is %s", n, enum_name_of (&finding_kind_names, kind),
              n ? enum_name_of (&finding_kind_names, items[0].finding.kind) : "none");
}

TEST_ON (scene, a_root_as_its_writers_left_it_has_no_findings)
{
    assert_int_equal (look (scene), 0); /* nothing at all */
    real (scene);
    real (scene);
    put (scene, granted (scene, OTHER_RUN), "half", "being written");
    assert_int_equal (look (scene), 0);
    assert_int_equal (look (scene), 0);
}

TEST_ON (scene, a_token_that_was_never_handed_out_is_foreign)
{
    uint64_t token = real (scene);
    put (scene, token + 40, "x", "who wrote this?");
    finds_one (scene, FINDING_FOREIGN_TOKEN, token + 40, "gen-41");
    assert_int_equal (items[0].run.len, 0);
}

TEST_ON (scene, a_token_of_another_bundle_is_foreign_here)
{
    struct lease_owner lease_owner;
    uint64_t token = 0;
    well (scene, catalogue_acquire_lease (scene->catalogue, TEXT_LIT ("jax/77"), RUN, 0, NULL, &token, &lease_owner,
                                          &scene->arena, &scene->err));
    put (scene, token, "x", "in the wrong bundle");
    finds_one (scene, FINDING_FOREIGN_TOKEN, token, "gen-1");
}

TEST_ON (scene, a_write_after_the_lease_is_late_and_names_the_run)
{
    uint64_t token = granted (scene, RUN);
    put (scene, token, "jit_a", "one");
    end (scene, token, RUN, true);
    assert_int_equal (look (scene), 0); /* so it was when it was first seen abandoned */
    assert_int_equal (look (scene), 0);
    put (scene, token, "jit_b", "late");
    finds_one (scene, FINDING_LATE_WRITE, token, "gen-1");
    assert_text (items[0].run, RUN);
    finds_one (scene, FINDING_LATE_WRITE, token, "gen-1"); /* until it is quarantined */
    well (scene, catalogue_quarantine (scene->catalogue, token, OTHER_RUN, TEXT_LIT ("late-write"), &scene->err));
    assert_int_equal (look (scene), 0);
}

TEST_ON (scene, a_folder_made_after_the_lease_is_late)
{
    uint64_t token = abandoned (scene);
    assert_int_equal (look (scene), 0);
    put (scene, token, "jit_a", "late");
    finds_one (scene, FINDING_LATE_WRITE, token, "gen-1");
}

TEST_ON (scene, what_was_abandoned_may_be_taken_away_but_not_come_back)
{
    uint64_t token = abandoned (scene);
    put (scene, token, "jit_a", "one");
    assert_int_equal (look (scene), 0);
    well (scene, folder_remove (place (scene, token, ""), &scene->err));
    assert_int_equal (look (scene), 0);
    put (scene, token, "jit_a", "one");
    finds_one (scene, FINDING_LATE_WRITE, token, "gen-1");
}

TEST_ON (scene, what_is_sealed_late_and_published_is_no_late_write)
{
    uint64_t token = abandoned (scene);
    assert_int_equal (look (scene), 0);
    struct fact_generation generation = sealed (scene, token);
    finds_one (scene, FINDING_LATE_WRITE, token, "gen-1");
    well (scene, catalogue_publish (scene->catalogue, RUN, &generation, &scene->err));
    assert_int_equal (look (scene), 0);
}

TEST_ON (scene, a_published_generation_that_changed_or_is_gone_is_found)
{
    uint64_t token = real (scene);
    assert_int_equal (chmod (place (scene, token, "jit_a-cache"), 0644), 0);
    finds_one (scene, FINDING_CHANGED, token, "jit_a-cache");
    assert_text (items[0].run, RUN);
    well (scene, folder_remove (place (scene, token, ""), &scene->err));
    finds_one (scene, FINDING_MISSING, token, "gen-1");
}

TEST_ON (scene, who_only_looks_finds_the_same_and_remembers_nothing)
{
    uint32_t n = 9;
    uint64_t token = abandoned (scene);
    struct catalogue *looking = catalogue_open_read_only (scene->root, &scene->err);
    assert_non_null (looking);
    put (scene, token, "jit_a", "one");
    for (int i = 0; i < 2; i++) {
        well (scene, catalogue_audit_generations (looking, BUNDLE, &scene->arena, &items, &n, &scene->err));
        assert_int_equal (n, 0);
        put (scene, token, "jit_b", "two"); /* nobody knew it otherwise */
    }
    assert_int_equal (look (scene), 0);
    put (scene, token, "jit_c", "three");
    well (scene, catalogue_audit_generations (looking, BUNDLE, &scene->arena, &items, &n, &scene->err));
    assert_int_equal (n, 1);
    catalogue_close (looking);
}

/* ---- the whole root ---- */

static const uid_list nobody;

static struct cache_audit_result verify (struct scene *scene, bool every_byte, const uint64_t *tokens, uint32_t n)
{
    struct cache_audit_result looked;
    struct cache_audit_options audit = { .catalogue = scene->catalogue,
                                         .root = scene->root,
                                         .trust = &nobody,
                                         .every_byte = every_byte,
                                         .tokens = tokens,
                                         .tokens_n = n };
    well (scene, cache_audit (&audit, &scene->arena, &looked, &scene->err));
    assert_int_equal (looked.problems.n, 0);
    return looked;
}

TEST_ON (scene, only_every_byte_finds_a_change_that_keeps_size_and_mode)
{
    uint64_t first = real (scene), second = real (scene);
    const char *path = place (scene, first, "jit_a-cache");
    assert_int_equal (chmod (path, 0644), 0);
    FILE *file = fopen (path, "r+");
    assert_non_null (file);
    assert_int_equal (fputc ('E', file), 'E');
    assert_int_equal (fclose (file), 0);
    assert_int_equal (chmod (path, 0444), 0);
    struct cache_audit_result looked = verify (scene, false, NULL, 0);
    assert_int_equal (looked.found.n, 0);
    assert_int_equal (looked.generations, 2);
    looked = verify (scene, true, NULL, 0);
    assert_int_equal (looked.found.n, 1);
    assert_text (looked.found.items[0].finding.path, "jit_a-cache");
    assert_int_equal (verify (scene, true, &second, 1).found.n, 0);
    assert_int_equal (verify (scene, true, &first, 1).found.n, 1);
}

TEST_ON (scene, a_bundle_that_the_catalogue_does_not_know_is_looked_at_too)
{
    real (scene);
    char path[160];
    snprintf (path, sizeof path, "%s/jax/unknown/gen-5", scene->root);
    well (scene, folder_make (path, 0755, &scene->err));
    struct cache_audit_result looked = verify (scene, true, NULL, 0);
    assert_int_equal (looked.found.n, 1);
    assert_text (looked.found.items[0].bundle, "jax/unknown");
    assert_int_equal (looked.found.items[0].finding.kind, FINDING_FOREIGN_TOKEN);
}

/* ---- collecting ---- */

TEST_ON (scene, collected_means_gone_from_the_catalogue_and_from_the_folder)
{
    struct collect_result freed = { 0 };
    uint64_t old = real (scene), newest = real (scene);
    well (scene, collect_generation (scene->catalogue, scene->root, BUNDLE, old, NULL, 0, &freed, &scene->err));
    assert_true (freed.bytes > 0);
    assert_null (entry_of (scene, old));
    assert_int_equal (access (place (scene, old, ""), F_OK), -1);
    assert_int_equal (collect_generation (scene->catalogue, scene->root, BUNDLE, newest, NULL, 0, &freed, &scene->err),
                      -1);
    assert_int_equal (access (place (scene, newest, "MANIFEST"), F_OK), 0);
    assert_int_equal (look (scene), 0);
}

/* At each point where a collection can be killed: no published row is without its folder, and the next one finishes. */
TEST_ON (scene, a_collection_that_was_killed_is_finished_by_the_next)
{
    struct collect_result freed;
    uint32_t left = 9;
    for (int step = 0; step < 3; step++) {
        uint64_t old = real (scene), newest = real (scene);
        const char *hidden = text_format (&scene->arena, "%s/jax/5f2a/.removing-gen-%" PRIu64, scene->root, old).ptr;
        well (scene, catalogue_begin_removal (scene->catalogue, old, NULL, 0, &scene->err));
        if (step > 0)
            assert_int_equal (rename (place (scene, old, ""), hidden), 0);
        if (step > 1)
            well (scene, catalogue_finish_removal (scene->catalogue, old, &scene->err));
        assert_int_equal (look (scene), 0);
        assert_int_equal (found (scene), newest);
        if (step < 2)
            well (scene, collect_generation (scene->catalogue, scene->root, BUNDLE, old, NULL, 0, &freed, &scene->err));
        well (scene, collect_leftovers (scene->root, BUNDLE, &left, &scene->err));
        assert_int_equal (left, step == 2);
        assert_null (entry_of (scene, old));
        assert_int_equal (access (hidden, F_OK), -1);
        assert_int_equal (access (place (scene, old, ""), F_OK), -1);
    }
}

TEST_ON (scene, a_user_is_over_only_when_its_journal_says_so)
{
    char why[STANDS_BYTES], host[256] = "";
    assert_int_equal (gethostname (host, sizeof host - 1), 0);
    struct generation_user user = { .run = RUN,
                                    .home = text_of (scene->root),
                                    .machine = TEXT_LIT ("elsewhere.invalid") };
    assert_false (collect_user_has_ended (&user, why));
    assert_has (why, "another machine");
    user.machine = text_of (host);
    assert_false (collect_user_has_ended (&user, why)); /* no such run here */
    assert_has (why, "cannot be read");
    user.run = TEXT_LIT ("../../../../../etc/passwd");
    assert_false (collect_user_has_ended (&user, why));
    assert_has (why, "no valid run id or home");
}
