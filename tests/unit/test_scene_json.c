/* links: page */
/* A scene as JSON: run lengths, what changed, and its size at 4,096 hosts by 12 rungs; and the files of the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/page/page_file.h"
#include "coordinator/page/scene_json.h"

enum { GATES = 64, RUNGS = 12, FIRST_STATE_BYTES = 64 << 10, UPDATE_BYTES = 32 << 10, PAGE_BYTES = 120 << 10 };

/* The hosts of a slice, each rung passed by all of them. */
struct picture {
    struct scene scene;
    struct scene_tile tiles[HOSTS_MAX];
    char names[HOSTS_MAX][HOST_NAME_MAX_BYTES + 1];
    uint8_t cells[HOSTS_MAX][RUNGS];
    struct scene_rung rungs[RUNGS];
    struct scene_group groups[SCENE_GROUPS_MAX];
    uint32_t ranks[HOSTS_MAX];
    struct scene_metric metrics[256];
    struct scene_gate gates[GATES];
    struct feed_note notes[FEED_NOTES_KEPT];
    const struct feed_note *note_list[FEED_NOTES_KEPT];
    char long_text[FEED_NOTE_BYTES];
};

static struct picture *picture_create (uint32_t hosts)
{
    struct picture *picture = calloc (1, sizeof *picture);
    picture->scene = (struct scene){ .revision = 1000,
                                     .opened = true,
                                     .run = TEXT_LIT ("3fa9"),
                                     .slice = TEXT_LIT ("pod"),
                                     .sentence = TEXT_LIT ("rung 3 runs"),
                                     .hosts_n = hosts,
                                     .columns = 64,
                                     .tiles = picture->tiles,
                                     .tiles_n = hosts,
                                     .rungs = picture->rungs,
                                     .rungs_n = RUNGS,
                                     .groups = picture->groups,
                                     .metrics = picture->metrics,
                                     .gates = picture->gates,
                                     .notes = picture->note_list };
    for (uint32_t i = 0; i < hosts; i++) {
        snprintf (picture->names[i], sizeof picture->names[i], "v6e-%u", i);
        memset (picture->cells[i], MARK_PASSED, RUNGS);
        picture->tiles[i] = (struct scene_tile){ .rank = i,
                                                 .name = text_of (picture->names[i]),
                                                 .now = MARK_RUNS,
                                                 .cells = picture->cells[i],
                                                 .group = SCENE_NOBODY,
                                                 .phase = TEXT_LIT ("compile"),
                                                 .changed = 10 };
    }
    for (uint32_t i = 0; i < RUNGS; i++)
        picture->rungs[i] = (struct scene_rung){ .id = TEXT_LIT ("rung"), .hosts_n = hosts, .changed = 10 + i };
    memset (picture->long_text, '"', sizeof picture->long_text);
    return picture;
}

static json_t *state_of (const struct picture *picture, uint64_t since, size_t *bytes)
{
    struct buf out;
    buf_init (&out, 1 << 22);
    scene_state_json (&picture->scene, "b00t", false, since, &out);
    json_t *json = json_loadb ((const char *) out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (json);
    if (bytes)
        *bytes = out.len;
    buf_release (&out);
    return json;
}

/* Holds the JSON at `path` (members with dots, items as numbers) against its compact text. */
static void expect (const json_t *json, const char *path, const char *wanted)
{
    char name[64];
    while (*path) {
        size_t n = strcspn (path, ".");
        snprintf (name, sizeof name, "%.*s", (int) n, path);
        json = json_is_array (json) ? json_array_get (json, (size_t) atoi (name)) : json_object_get (json, name);
        path += n + (path[n] == '.');
    }
    char *is = json ? json_dumps (json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    assert_string_equal (is ? is : "absent", wanted);
    free (is);
}

static void hosts_are_run_lengths (void **state)
{
    (void) state;
    struct picture *picture = picture_create (8);
    uint32_t ranks[] = { 1, 4, 5, 6 };
    picture->tiles[7].now = MARK_AT_GATE;
    picture->tiles[7].gate = TEXT_LIT ("mesh");
    picture->tiles[0].phase = TEXT_LIT ("");
    picture->cells[3][2] = MARK_FAILED;
    picture->groups[0] = (struct scene_group){ .rung = 2,
                                               .outcome = OUTCOME_FAILED,
                                               .owner = OWNER_DEVICE,
                                               .ranks = ranks,
                                               .n = 4,
                                               .names = TEXT_LIT ("h0"),
                                               .line = TEXT_LIT ("<b>&\"\\"),
                                               .cause_group = SCENE_NOBODY };
    picture->scene.groups_n = 1;
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "now", "\"r7g\"");
    expect (json, "phases.words", "[\"\",\"compile\",\"gate:mesh\"]");
    expect (json, "phases.of", "\"AB6C\"");
    expect (json, "rungs.2.cells", "\"P3FP4\"");
    expect (json, "groups.0.ranks", "\".x.2x3\"");
    expect (json, "groups.0.line", "\"<b>&\\\"\\\\\"");
    expect (json, "groups.0.owner", "\"device\"");
    expect (json, "groups.0.certainty", "\"known\"");
    expect (json, "groups.0.cause_group", "null");
    expect (json, "groups.0.names", "\"h0\"");
    expect (json, "summary.state", "\"running\"");
    expect (json, "summary.outcome", "null");
    json_decref (json);
    free (picture);
}

static void names_are_runs_that_expand_to_the_same (void **state)
{
    (void) state;
    struct picture *picture = picture_create (11);
    static const char *const names[] = { "n08",    "n09",     "n10",      "n11",          "n012", "spare",
                                         "r1n9-a", "r1n10-a", "r1n010-a", "x12345678901", "n13" };
    for (uint32_t i = 0; i < 11; i++)
        picture->tiles[i].name = text_of (names[i]);
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "names",
            "[[\"n\",8,11,2,\"\"],[\"n\",12,12,3,\"\"],[\"spare\",-1,-1,0,\"\"],[\"r1n\",9,10,0,\"-a\"],"
            "[\"r1n\",10,10,3,\"-a\"],[\"x12345678901\",-1,-1,0,\"\"],[\"n\",13,13,0,\"\"]]");
    json_decref (json);
    free (picture);
}

static void what_did_not_change_is_absent (void **state)
{
    (void) state;
    struct picture *picture = picture_create (4);
    json_t *json = state_of (picture, 999, NULL);
    expect (json, "whole", "false");
    expect (json, "names", "absent");
    expect (json, "now", "absent");
    expect (json, "rungs", "absent");
    expect (json, "groups", "absent");
    expect (json, "summary.hosts", "4");
    expect (json, "notes", "[]");
    json_decref (json);
    picture->tiles[2].changed = 1000;
    picture->rungs[5].changed = picture->scene.groups_changed = 1000;
    json = state_of (picture, 999, NULL);
    expect (json, "now", "\"r4\"");
    expect (json, "rungs.0.index", "5");
    expect (json, "rungs.1", "absent");
    expect (json, "groups", "[]");
    json_decref (json);
    free (picture);
}

static void what_is_no_number_is_null (void **state)
{
    (void) state;
    struct picture *picture = picture_create (1);
    picture->metrics[0] = (struct scene_metric){ .name = TEXT_LIT ("loss"), .value = NAN };
    picture->metrics[1] = (struct scene_metric){ .name = TEXT_LIT ("loss"), .value = 3.5 };
    picture->scene.metrics_n = 2;
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "metrics.0.value", "null");
    expect (json, "metrics.1.value", "3.5");
    json_decref (json);
    free (picture);
}

/* Every second host has failed at every rung, every text is as long as it may be, and each of its characters is
 * written as two. */
static void fill_with_the_worst (struct picture *picture)
{
    struct text text = { picture->long_text, sizeof picture->long_text };
    uint32_t half = HOSTS_MAX / 2;
    for (uint32_t i = 0; i < half; i++)
        picture->ranks[i] = 2 * i;
    for (uint32_t i = 0; i < HOSTS_MAX; i += 2) {
        memset (picture->cells[i], MARK_FAILED, RUNGS);
        picture->tiles[i].now = MARK_FAILED;
        picture->tiles[i].phase = TEXT_LIT ("step");
    }
    for (uint32_t i = 0; i < SCENE_GROUPS_MAX; i++)
        picture->groups[i] = (struct scene_group){ .line = text,
                                                   .cause = text,
                                                   .next = text,
                                                   .names = text,
                                                   .ranks = picture->ranks,
                                                   .n = i < 4 ? half : 4,
                                                   .cause_group = SCENE_NOBODY };
    for (uint32_t i = 0; i < 256; i++)
        picture->metrics[i] = (struct scene_metric){ .name = text, .why = text };
    for (uint32_t i = 0; i < FEED_NOTES_KEPT; i++) {
        picture->notes[i] = (struct feed_note){ .number = i + 1, .text = text };
        picture->note_list[i] = &picture->notes[i];
    }
    picture->scene.groups_n = SCENE_GROUPS_MAX;
    picture->scene.metrics_n = 256;
    picture->scene.notes_n = FEED_NOTES_KEPT;
}

static void an_ordinary_state_is_small (void **state)
{
    (void) state;
    size_t bytes;
    struct picture *picture = picture_create (HOSTS_MAX);
    json_decref (state_of (picture, 0, &bytes));
    print_message ("first state of 4,096 hosts by 12 rungs: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, 8 << 10);
    free (picture);
}

static void the_worst_state_is_bounded (void **state)
{
    (void) state;
    size_t bytes;
    struct picture *picture = picture_create (HOSTS_MAX);
    fill_with_the_worst (picture);
    json_t *json = state_of (picture, 0, &bytes);
    print_message ("the worst first state: %zu bytes\n", bytes);
    expect (json, "notes_skipped", "254");
    expect (json, "groups.64", "absent");
    expect (json, "groups_left_out", "192");
    expect (json, "notes.0.0", "255");
    assert_in_range (bytes, FIRST_STATE_BYTES, 2 * FIRST_STATE_BYTES);
    json_decref (json);
    free (picture);
}

/* Every second host has failed, at one rung: as many texts, and the longest. */
static void a_bad_rung_is_a_small_state_and_a_smaller_update (void **state)
{
    (void) state;
    size_t bytes;
    struct picture *picture = picture_create (HOSTS_MAX);
    fill_with_the_worst (picture);
    for (uint32_t i = 0; i < HOSTS_MAX; i++)
        memset (picture->cells[i], MARK_PASSED, RUNGS - 1);
    picture->scene.groups_n = 12;
    picture->groups[1].n = picture->groups[2].n = picture->groups[3].n = 4;
    memset (picture->long_text, 'x', sizeof picture->long_text);
    json_decref (state_of (picture, 0, &bytes));
    print_message ("first state, one bad rung: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, FIRST_STATE_BYTES);
    picture->rungs[RUNGS - 1].changed = picture->tiles[0].changed = picture->scene.groups_changed = 1000;
    picture->scene.metrics_n = 0;
    json_decref (state_of (picture, 999, &bytes));
    print_message ("update, one bad rung: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, UPDATE_BYTES);
    free (picture);
}

static void same_scene_same_bytes (void **state)
{
    (void) state;
    struct buf out[2];
    struct picture *picture = picture_create (100);
    fill_with_the_worst (picture);
    for (int i = 0; i < 2; i++) {
        buf_init (&out[i], 1 << 22);
        scene_state_json (&picture->scene, "b00t", true, 0, &out[i]);
    }
    assert_int_equal (out[0].len, out[1].len);
    assert_memory_equal (out[0].ptr, out[1].ptr, out[0].len);
    for (int i = 0; i < 2; i++)
        buf_release (&out[i]);
    free (picture);
}

static void a_host_has_its_attempts_spans_and_facts (void **state)
{
    (void) state;
    struct picture *picture = picture_create (4);
    struct scene_span spans[] = {
        { .name = TEXT_LIT ("gate:mesh"), .gate = true, .began_ms = 5, .ms = 7, .awaited = 3 }
    };
    struct scene_attempt attempts[] = { { .rung = 3,
                                          .pass = PASS_COLD,
                                          .attempt = 1,
                                          .mark = MARK_FAILED,
                                          .group = SCENE_NOBODY,
                                          .spans = spans,
                                          .spans_n = 1 } };
    struct scene_fact facts[] = { { TEXT_LIT ("kernel"), TEXT_LIT ("6.1") } };
    struct scene_host host = { .rank = 2,
                               .name = TEXT_LIT ("v6e-2"),
                               .life = TEXT_LIT ("joined"),
                               .attempts = attempts,
                               .attempts_n = 1,
                               .facts = facts,
                               .facts_n = 1 };
    struct buf out;
    buf_init (&out, 1 << 20);
    scene_host_json (&picture->scene, &host, "b00t", &out);
    json_t *json = json_loadb ((const char *) out.ptr, out.len, 0, NULL);
    expect (json, "attempts.0.mark", "\"F\"");
    expect (json, "attempts.0.pass", "\"cold\"");
    expect (json, "attempts.0.spans.0.awaited", "\"v6e-3\"");
    expect (json, "facts", "{\"kernel\":\"6.1\"}");
    json_decref (json);
    buf_release (&out);
    free (picture);
}

static void the_files_of_the_page_are_in_the_program (void **state)
{
    (void) state;
    const char *names[] = { "page.html", "page.css", "page.js" };
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct text file = page_file (names[i]);
        assert_true (file.len > 0 && text_is_utf8 (file));
        bytes += file.len;
    }
    print_message ("the page: %u bytes\n", bytes);
    assert_in_range (bytes, 1, PAGE_BYTES);
    assert_int_equal (page_file ("page.htm").len, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (hosts_are_run_lengths),
        cmocka_unit_test (names_are_runs_that_expand_to_the_same),
        cmocka_unit_test (what_did_not_change_is_absent),
        cmocka_unit_test (what_is_no_number_is_null),
        cmocka_unit_test (an_ordinary_state_is_small),
        cmocka_unit_test (the_worst_state_is_bounded),
        cmocka_unit_test (a_bad_rung_is_a_small_state_and_a_smaller_update),
        cmocka_unit_test (same_scene_same_bytes),
        cmocka_unit_test (the_files_of_the_page_are_in_the_program),
        cmocka_unit_test (a_host_has_its_attempts_spans_and_facts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
