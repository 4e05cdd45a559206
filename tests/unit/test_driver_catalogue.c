/* alone: simulated coordinator_run */
#include "coordinator/core/steps.h"
#include "test.h"
#include "tests/unit/driver_fixture.h"

#define BUNDLE TEXT_LIT ("jax/5f2a")
#define SHA256 TEXT_LIT ("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

static struct text covers[] = { { .ptr = "dense:2", .len = 7 }, { .ptr = "tiny:1", .len = 6 } };

static void use_root (struct stage *stage, const char *name)
{
    stage->plan.cache.root = text_format (&stage->arena, "%s/%s", stage->home, name);
    stage->plan.home = text_of (stage->home);
}

static struct catalogue *catalogue_of (const struct stage *stage)
{
    struct err err = { 0 };
    struct catalogue *catalogue = catalogue_open (stage->plan.cache.root.ptr, &err);
    if (!catalogue)
        fail_msg ("%s", err.text);
    return catalogue;
}

/* This run may write a generation, as if it had asked before. */
static uint64_t grant (struct stage *stage)
{
    struct catalogue *catalogue = catalogue_of (stage);
    struct lease_owner lease_owner;
    uint64_t token = 0;
    struct text run = text_of (stage->dir.id);
    int rc = catalogue_acquire_lease (catalogue, BUNDLE, run, 0, NULL, &token, &lease_owner, &stage->arena, NULL);
    assert_int_equal (rc, 0);
    catalogue_close (catalogue);
    return token;
}

static struct catalogue_entry entry_of (struct stage *stage)
{
    struct catalogue *catalogue = catalogue_of (stage);
    struct catalogue_list list;
    assert_int_equal (catalogue_list (catalogue, BUNDLE, &stage->arena, &list, NULL), 0);
    assert_int_equal (list.n, 1);
    catalogue_close (catalogue);
    return list.items[0];
}

/* What the core hands out lives until its outbox is cleared; the effect is performed later. */
static void order_publish (struct stage *stage, uint64_t token)
{
    struct outbox *out = &stage->driver->outbox;
    struct effect *effect = outbox_add_effect (out, FX_CACHE_PUBLISH);
    struct fact_generation *generation = arena_alloc (&out->arena, sizeof *generation);
    struct text sha256 = text_copy (&out->arena, SHA256);
    *generation = (struct fact_generation){ .token = token,
                                            .bundle = BUNDLE,
                                            .entries = 17,
                                            .bytes = 1234,
                                            .sha256 = sha256,
                                            .from_run = text_copy (&out->arena, text_of (stage->dir.id)) };
    generation->covers.items = covers;
    generation->covers.n = 2;
    effect->generation = generation;
    effect->token = token;
    effect->covers = (text_list){ .items = covers, .n = 1 };
    driver_take_outbox (stage->driver);
    memset (effect, 0xee, sizeof *effect);
    memset (generation, 0xee, sizeof *generation);
    memset ((char *) sha256.ptr, 'e', sha256.len);
    driver_release_held (stage->driver);
}

static void order_drop (struct stage *stage, uint64_t token, const char *why)
{
    struct effect *effect = outbox_add_effect (&stage->driver->outbox, FX_CACHE_DROP);
    effect->token = token;
    effect->text = text_of (why);
    driver_take_outbox (stage->driver);
    driver_release_held (stage->driver);
}

static void until_said (struct stage *stage, const char *what)
{
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !strstr (stage->log_text, what);
         stage_run (stage, STAGE_STEP_MS))
        if (clock_boot_ms () > end)
            fail_msg ("never said: %s", what);
}

TEST_ON (stage, what_is_published_is_found_with_its_user)
{
    use_root (stage, "cache");
    uint64_t token = grant (stage);
    stage_start (stage);
    order_publish (stage, token);
    struct catalogue_entry entry = entry_of (stage);
    for (uint64_t end = clock_boot_ms () + STAGE_WAIT_MS; !entry.users.n; entry = entry_of (stage)) {
        assert_true (clock_boot_ms () < end);
        stage_run (stage, STAGE_STEP_MS);
    }
    assert_int_equal (entry.state, GENERATION_PUBLISHED);
    assert_int_equal (entry.published.entries, 17);
    assert_text (entry.published.sha256, SHA256);
    assert_int_equal (entry.published.covers.n, 2);
    assert_false (entry.leased);
    assert_text (entry.users.items[0].run, stage->dir.id);
    assert_text (entry.users.items[0].home, stage->home);
    assert_string_equal (stage->log_text, "");
}

/* Orders are carried out in their order, all before the end; then nothing keeps the generation for this run. */
TEST_ON (stage, whoever_ends_uses_nothing_any_more)
{
    use_root (stage, "cache");
    uint64_t token = grant (stage);
    stage_start (stage);
    order_publish (stage, token);
    order_drop (stage, token, "it is not what was sealed");
    driver_cancel (stage->driver, 1);
    stage_leave (stage);
    stage_stop (stage);
    struct catalogue_entry entry = entry_of (stage);
    assert_int_equal (entry.state, GENERATION_DROPPED);
    assert_true (text_starts (entry.why, "it is not what was sealed"));
    assert_int_equal (entry.published.token, token);
    assert_int_equal (entry.users.n, 0);
}

TEST_ON (stage, a_root_that_cannot_be_told_is_said)
{
    use_root (stage, "file/cache");
    char path[128];
    snprintf (path, sizeof path, "%s/file", stage->home);
    assert_int_equal (atomic_file_write (path, "", 0, 0600, NULL), 0);
    stage_start (stage);
    order_publish (stage, 7);
    until_said (stage, "cannot publish this cache generation, so later runs will not find it: ");
    order_drop (stage, 7, "why not");
    until_said (stage, "cannot update the cache catalogue: ");
    assert_has (stage->log_text, path);
    assert_false (driver_has_ended (stage->driver, NULL, NULL)); /* what was measured holds without it */
}
