/* links: picture z */
/* A scene as JSON: letters of hosts, what changed, and its size at 4,096 hosts by 12 rungs; and the files of the page. */
#include <jansson.h>
#include <math.h>
#include <zlib.h>

#include "common/base/rng.h"
#include "coordinator/picture/scene_json.h"
#include "coordinator/view/status.h"
#include "test.h"

enum {
    PROMISED_HOSTS = 4096, /* docs/spec/web.md */
    GATES = 64,
    RUNGS = 12,
    PASS_GROUPS = 12,
    CAUSES = 64,
    WORDS = 64,
    FIRST_STATE_BYTES = 64 << 10,
    UPDATE_BYTES = 32 << 10,
    ORDINARY_BYTES = 16 << 10,
    PAGE_BYTES = 120 << 10
};

/* The hosts of a slice, each rung passed by all of them. */
struct picture {
    struct arena arena;
    struct board board;
    struct scene scene;
    struct plan_host hosts[PROMISED_HOSTS];
    struct scene_tile tiles[PROMISED_HOSTS];
    uint8_t cells[PROMISED_HOSTS][RUNGS];
    struct rung plan_rungs[RUNGS];
    struct board_rung rungs[RUNGS];
    struct scene_group groups[SCENE_GROUPS_MAX];
    uint32_t ranks[PROMISED_HOSTS];
    struct board_metric metrics[BOARD_METRICS_MAX];
    struct gate_wait gates[GATES];
    const struct gate_wait *gate_list[GATES];
    struct feed_note notes[FEED_NOTES_KEPT];
    const struct feed_note *note_list[FEED_NOTES_KEPT];
    char long_text[FEED_NOTE_BYTES];
    struct text waiting[5];
};

static struct picture *picture_create (uint32_t hosts)
{
    struct picture *picture = calloc (1, sizeof *picture);
    struct board *board = &picture->board;
    *board = (struct board){ .revision = 1000,
                             .opened = true,
                             .run = TEXT_LIT ("3fa9"),
                             .sentence = TEXT_LIT ("rung 3 runs"),
                             .words = board_words_create (),
                             .rungs = picture->rungs };
    board->plan.slice = TEXT_LIT ("pod");
    board->plan.hosts.items = picture->hosts;
    board->plan.hosts.n = hosts;
    board->plan.rungs.items = picture->plan_rungs;
    board->plan.rungs.n = RUNGS;
    board->metrics.items = picture->metrics;
    picture->scene = (struct scene){ .board = board,
                                     .arena = &picture->arena,
                                     .hosts_n = hosts,
                                     .columns = 64,
                                     .tiles = picture->tiles,
                                     .tiles_n = hosts,
                                     .rungs_n = RUNGS,
                                     .groups = picture->groups,
                                     .gates = picture->gate_list,
                                     .notes = picture->note_list };
    for (uint32_t i = 0; i < GATES; i++)
        picture->gate_list[i] = &picture->gates[i];
    for (uint32_t i = 0; i < hosts; i++) {
        memset (picture->cells[i], MARK_PASSED, RUNGS);
        picture->hosts[i].name = text_format (&picture->arena, "v6e-%u", i);
        picture->tiles[i] = (struct scene_tile){ .rank = i,
                                                 .now = MARK_RUNS,
                                                 .cells = picture->cells[i],
                                                 .group = SCENE_NOBODY,
                                                 .phase = TEXT_LIT ("compile"),
                                                 .changed = 10 };
    }
    for (uint32_t i = 0; i < RUNGS; i++) {
        picture->plan_rungs[i].id = TEXT_LIT ("rung");
        picture->rungs[i].changed = 10 + i;
        picture->rungs[i].passes[PASS_NONE].hosts_n = hosts;
    }
    memset (picture->long_text, '"', sizeof picture->long_text);
    return picture;
}

static void picture_free (struct picture *picture)
{
    board_words_destroy (picture->board.words);
    arena_release (&picture->arena);
    free (picture);
}

/* What travels: browsers take gzip (coordinator/web/http.c). */
static size_t gzipped_bytes (const struct buf *json)
{
    uLongf bytes = compressBound (json->len);
    Bytef *out = malloc (bytes);
    assert_int_equal (compress2 (out, &bytes, json->ptr, json->len, Z_BEST_SPEED), Z_OK);
    free (out);
    return bytes;
}

static json_t *state_of (const struct picture *picture, uint64_t since, size_t *bytes)
{
    struct buf out;
    buf_init (&out, 1 << 22);
    scene_state_json (&picture->scene, "b00t", false, since, &out);
    json_t *json = json_loadb ((const char *) out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (json);
    if (bytes)
        *bytes = gzipped_bytes (&out);
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

TEST (hosts_are_letters)
{
    struct picture *picture = picture_create (8);
    uint32_t ranks[] = { 1, 4, 5, 6 };
    picture->tiles[7].now = MARK_AT_GATE;
    picture->tiles[7].gate = TEXT_LIT ("mesh");
    picture->tiles[0].phase = TEXT_LIT ("");
    picture->cells[3][2] = MARK_FAILED;
    picture->tiles[2].trouble = picture->tiles[3].trouble = TROUBLE_SLOW;
    picture->tiles[5].trouble = TROUBLE_HOLDS;
    picture->groups[0] = (struct scene_group){ .rung = 2,
                                               .says = { .outcome = OUTCOME_FAILED,
                                                         .owner = OWNER_DEVICE,
                                                         .line = TEXT_LIT ("<b>&\"\\"),
                                                         .hosts = { ranks, 4 } },
                                               .names = TEXT_LIT ("h0"),
                                               .cause_host = SCENE_NOBODY,
                                               .cause_group = SCENE_NOBODY };
    for (uint32_t i = 0; i < 4; i++)
        picture->tiles[ranks[i]].group = 0;
    picture->scene.groups_n = 1;
    picture->scene.ungrouped_n = 37;
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "now", "\"rrrrrrrg\"");
    expect (json, "summary.troubles.s", "\"v6e-[2-3]\"");
    expect (json, "summary.troubles.h", "\"v6e-5\"");
    expect (json, "summary.troubles.q", "absent");
    expect (json, "phases.words", "[\"\",\"compile\",\"gate:mesh\"]");
    expect (json, "phases.of", "\":;;;;;;<\"");
    expect (json, "rungs.2.cells", "\"PPPFPPPP\"");
    expect (json, "group_of", "\":;::;;;:\"");
    expect (json, "groups.index", "[0]");
    expect (json, "groups.line.0", "\"<b>&\\\"\\\\\"");
    expect (json, "groups.owner.0", "\"device\"");
    expect (json, "groups.certainty.0", "\"known\"");
    expect (json, "groups.cause_host.0", "null");
    expect (json, "groups.cause_group.0", "null");
    expect (json, "groups.names.0", "\"h0\"");
    expect (json, "groups.first.0", "1");
    expect (json, "groups.count.0", "4");
    expect (json, "ungrouped", "37");
    expect (json, "summary.state", "\"running\"");
    expect (json, "summary.away_ms", "0");
    expect (json, "summary.outcome", "null");
    json_decref (json);
    picture_free (picture);
}

TEST (what_did_not_change_is_absent)
{
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
    expect (json, "now", "\"rrrr\"");
    expect (json, "rungs.0.index", "5");
    expect (json, "rungs.1", "absent");
    expect (json, "groups", "{}");
    expect (json, "metrics", "absent");
    json_decref (json);
    picture_free (picture);
}

TEST (what_is_no_number_is_null)
{
    struct picture *picture = picture_create (1);
    picture->metrics[0] = (struct board_metric){ .name = TEXT_LIT ("loss"), .value = NAN };
    picture->metrics[1] = (struct board_metric){ .name = TEXT_LIT ("loss"), .value = 3.5 };
    picture->board.metrics.n = 2;
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "metrics.value", "[null,3.5]");
    json_decref (json);
    picture_free (picture);
}

TEST (what_is_not_known_is_null)
{
    static const char *const unknown[] = { "exit_status", "opened_wall_ms", "left_ms", "usual_ms", "usual_runs",
                                           "generation",  "entries",        "bytes",   "adopted" };
    static const char *const of_a_rung[] = { "attempt", "began_ms", "spent_ms", "limit_ms", "hosts", "ended" };
    static const char *const of_a_run[] = { "hosts", "joined", "silent", "lost", "columns", "frontier" };
    char path[64];
    struct picture *picture = picture_create (2);
    picture->rungs[0].last = PASS_ONCE;
    picture->rungs[0].passes[PASS_ONCE] = (struct board_pass){ .attempt = 1, .hosts_n = 2 };
    picture->rungs[1].passes[PASS_NONE].hosts_n = 0;
    picture->gates[0] = (struct gate_wait){ .hosts_n = 1, .last = SCENE_NOBODY };
    picture->scene.gates_n = 1;
    json_t *json = state_of (picture, 0, NULL);
    for (uint32_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        snprintf (path, sizeof path, "summary.%s", unknown[i]);
        expect (json, path, "null");
    }
    for (uint32_t i = 0; i < sizeof of_a_rung / sizeof of_a_rung[0]; i++) {
        snprintf (path, sizeof path, "rungs.1.%s", of_a_rung[i]);
        expect (json, path, "null");
    }
    expect (json, "rungs.0.began_ms", "null");
    expect (json, "rungs.0.spent_ms", "0"); /* it ran, and took no time */
    expect (json, "gates.last.0", "null");
    expect (json, "gates.median_wait_ms.0", "null");
    expect (json, "gates.longest_wait_ms.0", "null");
    expect (json, "summary.silent", "0");
    json_decref (json);
    picture->board.opened = false;
    json = state_of (picture, 0, NULL);
    for (uint32_t i = 0; i < sizeof of_a_run / sizeof of_a_run[0]; i++) {
        snprintf (path, sizeof path, "summary.%s", of_a_run[i]);
        expect (json, path, "null");
    }
    json_decref (json);
    picture->board.ended = true;
    picture->scene.usual = &(const struct usual_time){ .ms = 100 };
    picture->board.generation.token = 7;
    json = state_of (picture, 0, NULL);
    expect (json, "summary.exit_status", "0");
    expect (json, "summary.left_ms", "0");
    expect (json, "summary.entries", "0");
    expect (json, "summary.adopted", "false");
    json_decref (json);
    picture_free (picture);
}

/* ---- how large it is ---- */

/* Every text is as long as it may be, and each of its characters is written as two. */
static void fill_with_long_texts (struct picture *picture)
{
    struct text text = { picture->long_text, sizeof picture->long_text };
    for (uint32_t i = 0; i < SCENE_GROUPS_MAX; i++)
        picture->groups[i] = (struct scene_group){ .rung = i * RUNGS / CAUSES % RUNGS,
                                                   .pass = PASS_RESTORED,
                                                   .says = { .outcome = OUTCOME_CANCELLED,
                                                             .owner = OWNER_PROGRAM,
                                                             .line = text,
                                                             .cause = text,
                                                             .next = text,
                                                             .hosts = { picture->ranks, PROMISED_HOSTS / 2 } },
                                                   .names = text,
                                                   .cause_host = i,
                                                   .cause_group = 63,
                                                   .changed = 1 };
    for (uint32_t i = 0; i < BOARD_METRICS_MAX; i++)
        picture->metrics[i] = (struct board_metric){ .name = text, .why = text };
    for (uint32_t i = 0; i < GATES; i++)
        picture->gates[i] = (struct gate_wait){ .key = { 0, PASS_RESTORED, 0 },
                                                .word = board_words_take (picture->board.words, text),
                                                .last = 4095,
                                                .hosts_n = PROMISED_HOSTS,
                                                .longest_ms = 3600000 };
    for (uint32_t i = 0; i < FEED_NOTES_KEPT; i++) {
        picture->notes[i] = (struct feed_note){ .number = i + 1, .text = text_clip (text, 300) };
        picture->note_list[i] = &picture->notes[i];
    }
    for (uint32_t i = 0; i < 5; i++)
        picture->waiting[i] = text;
    picture->board.sentence = text;
    picture->scene.waiting = picture->waiting;
    picture->scene.waiting_n = 5;
    picture->scene.groups_n = SCENE_GROUPS_MAX;
    picture->board.metrics.n = BOARD_METRICS_MAX;
    picture->scene.gates_n = GATES;
    picture->scene.notes_n = FEED_NOTES_KEPT;
}

/* Every second host has failed at every rung. */
static void fill_alternating (struct picture *picture)
{
    for (uint32_t i = 0; i < PROMISED_HOSTS / 2; i++)
        picture->ranks[i] = 2 * i;
    for (uint32_t i = 0; i < PROMISED_HOSTS; i += 2) {
        memset (picture->cells[i], MARK_FAILED, RUNGS);
        picture->tiles[i].now = MARK_FAILED;
        picture->tiles[i].phase = TEXT_LIT ("step");
        picture->tiles[i].group = i / 2 % CAUSES;
    }
}

/* Every host stands anyhow: at each rung but the last as one may that has ended there, at the last as one ever may. */
static void fill_at_random (struct picture *picture)
{
    static const enum scene_mark over[] = { MARK_PASSED,  MARK_NOT_REACHED, MARK_CASCADE, MARK_CANCELLED,
                                            MARK_BLOCKED, MARK_TIMED_OUT,   MARK_LOST,    MARK_FAILED };
    struct rng rng = rng_seed (17);
    for (uint32_t i = 0; i < PROMISED_HOSTS; i++) {
        for (uint32_t k = 0; k < RUNGS - 1; k++)
            picture->cells[i][k] = (uint8_t) over[rng_below (&rng, sizeof over / sizeof over[0])];
        picture->cells[i][RUNGS - 1] = (uint8_t) rng_below (&rng, MARK_SILENT);
        picture->tiles[i].now = (enum scene_mark) rng_below (&rng, MARK_N);
        picture->tiles[i].phase = text_format (&picture->arena, "phase %u", (uint32_t) rng_below (&rng, WORDS));
        picture->tiles[i].group = (uint32_t) rng_below (&rng, CAUSES);
    }
}

TEST (an_ordinary_state_is_small)
{
    size_t bytes;
    struct picture *picture = picture_create (PROMISED_HOSTS);
    json_decref (state_of (picture, 0, &bytes));
    print_message ("first state of 4,096 hosts by 12 rungs: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, ORDINARY_BYTES);
    picture_free (picture);
}

/* One rung runs, and with it all that is said changed; what is said of the rungs before it did not. */
static size_t update_bytes (struct picture *picture)
{
    size_t bytes;
    picture->board.metrics_changed = picture->scene.groups_changed = 1000;
    picture->rungs[RUNGS - 1].changed = picture->tiles[0].changed = 1000;
    for (uint32_t i = CAUSES - PASS_GROUPS; i < SCENE_GROUPS_MAX; i++)
        picture->groups[i].changed = 1000;
    json_decref (state_of (picture, 999, &bytes));
    return bytes;
}

static void expect_bounds (struct picture *picture, const char *what)
{
    size_t first;
    json_t *json = state_of (picture, 0, &first);
    expect (json, "groups_n", "64");
    expect (json, "groups.index.64", "absent");
    expect (json, "groups_left_out", "192");
    expect (json, "notes_skipped", "224");
    json_decref (json);
    size_t update = update_bytes (picture);
    print_message ("the worst, %s: first state %zu bytes, update %zu bytes\n", what, first, update);
    assert_in_range (first, 1, FIRST_STATE_BYTES);
    assert_in_range (update, 1, UPDATE_BYTES);
}

TEST (the_worst_state_is_bounded)
{
    struct picture *picture = picture_create (PROMISED_HOSTS);
    fill_with_long_texts (picture);
    fill_alternating (picture);
    expect_bounds (picture, "alternating");
    fill_at_random (picture);
    expect_bounds (picture, "at random");
    picture_free (picture);
}

TEST (a_gate_and_a_phase_of_one_name_are_two_words)
{
    struct picture *picture = picture_create (3);
    for (uint32_t i = 0; i < 3; i++)
        picture->tiles[i].phase = TEXT_LIT ("step");
    picture->tiles[1].now = MARK_AT_GATE;
    picture->tiles[1].gate = TEXT_LIT ("step");
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "phases.words", "[\"\",\"step\",\"gate:step\"]");
    expect (json, "phases.of", "\";<;\"");
    json_decref (json);
    picture_free (picture);
}

TEST (words_past_the_most_are_the_empty_one)
{
    struct picture *picture = picture_create (70);
    for (uint32_t i = 0; i < 70; i++)
        picture->tiles[i].phase = text_format (&picture->arena, "phase %u", i);
    json_t *json = state_of (picture, 0, NULL);
    json_t *phases = json_object_get (json, "phases");
    assert_int_equal (json_array_size (json_object_get (phases, "words")), 64);
    const char *of = json_string_value (json_object_get (phases, "of"));
    assert_true (of[0] == ';' && of[62] == ':' + 63 && of[63] == ':' && of[69] == ':');
    json_decref (json);
    picture_free (picture);
}

/* Half a set would be a set of others. */
TEST (a_set_of_hosts_to_be_looked_at_is_whole_or_absent)
{
    static const struct {
        uint32_t every, from;
    } sets[] = { { 2, 100 }, { 2, 0 } };
    for (uint32_t k = 0; k < 2; k++) {
        struct picture *picture = picture_create (600);
        for (uint32_t i = sets[k].from; i < (k ? 600 : 300); i += sets[k].every)
            picture->tiles[i].trouble = TROUBLE_SLOW;
        json_t *json = state_of (picture, 0, NULL);
        const char *set = json_string_value (
            json_object_get (json_object_get (json_object_get (json, "summary"), "troubles"), "s"));
        if (k)
            assert_null (set);
        else
            assert_true (strlen (set) > 256 && set[strlen (set) - 1] == ']');
        json_decref (json);
        picture_free (picture);
    }
}

TEST (the_last_notes_are_told_and_long_ones_cut)
{
    struct picture *picture = picture_create (2);
    for (uint32_t i = 0; i < 40; i++) {
        picture->notes[i] = (struct feed_note){ i + 1, 1, 100,
                                                .text = { picture->long_text, sizeof picture->long_text } };
        picture->note_list[i] = &picture->notes[i];
    }
    picture->scene.notes_n = 40;
    json_t *json = state_of (picture, 0, NULL);
    expect (json, "notes_skipped", "8");
    expect (json, "notes.0.0", "9");
    expect (json, "notes.31.0", "40");
    const json_t *note = json_array_get (json_array_get (json_object_get (json, "notes"), 0), 2);
    assert_int_equal (json_string_length (note), 512);
    json_decref (json);
    picture_free (picture);
}

/* Every second host has failed, at one rung, and each of its groups has as much to say as there is room for. */
TEST (a_bad_rung_is_a_small_state_and_a_smaller_update)
{
    size_t bytes;
    struct picture *picture = picture_create (PROMISED_HOSTS);
    fill_with_long_texts (picture);
    fill_alternating (picture);
    for (uint32_t i = 0; i < PROMISED_HOSTS; i++)
        memset (picture->cells[i], MARK_PASSED, RUNGS - 1);
    picture->scene.groups_n = PASS_GROUPS;
    memset (picture->long_text, 'x', sizeof picture->long_text);
    json_decref (state_of (picture, 0, &bytes));
    print_message ("first state, one bad rung: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, FIRST_STATE_BYTES / 2);
    for (uint32_t i = 0; i < PASS_GROUPS; i++)
        picture->groups[i].changed = 1000;
    bytes = update_bytes (picture);
    print_message ("update, one bad rung: %zu bytes\n", bytes);
    assert_in_range (bytes, 1, UPDATE_BYTES);
    picture_free (picture);
}

/* What did not change is not sent again, and what is sent is cut as it was. */
TEST (an_update_has_the_groups_that_changed)
{
    struct picture *picture = picture_create (PROMISED_HOSTS);
    fill_with_long_texts (picture);
    fill_at_random (picture);
    json_t *whole = state_of (picture, 0, NULL);
    update_bytes (picture);
    json_t *update = state_of (picture, 999, NULL), *column, *value;
    json_t *was = json_object_get (whole, "groups"), *is = json_object_get (update, "groups");
    const char *name;
    size_t i;
    expect (update, "groups_n", "64");
    expect (update, "groups.index.0", "52");
    expect (update, "groups.index.12", "absent");
    json_object_foreach (is, name, column)
        json_array_foreach (column, i, value)
            assert_true (json_equal (value, json_array_get (json_object_get (was, name), 52 + i)));
    json_decref (whole);
    json_decref (update);
    picture_free (picture);
}

TEST (same_scene_same_bytes)
{
    struct buf out[2];
    struct picture *picture = picture_create (100);
    fill_with_long_texts (picture);
    for (int i = 0; i < 2; i++) {
        buf_init (&out[i], 1 << 22);
        scene_state_json (&picture->scene, "b00t", true, 0, &out[i]);
    }
    assert_int_equal (out[0].len, out[1].len);
    assert_memory_equal (out[0].ptr, out[1].ptr, out[0].len);
    for (int i = 0; i < 2; i++)
        buf_release (&out[i]);
    picture_free (picture);
}

TEST (a_host_has_its_attempts_spans_and_facts)
{
    struct picture *picture = picture_create (4);
    struct scene_span spans[] = {
        { .name = TEXT_LIT ("gate:mesh"), .gate = true, .began_ms = 5, .ms = 7, .awaited = 3 }
    };
    struct scene_attempt attempts[] = {
        { .key = { 3, PASS_COLD, 1 },
          .mark = MARK_FAILED,
          .ended_ms = 12,
          .ms = 7,
          .ms_known = true,
          .group = SCENE_NOBODY,
          .spans = spans,
          .spans_n = 1 },
        { .key = { 4, PASS_NONE, 0 }, .mark = MARK_LOST, .ended_ms = 20, .group = SCENE_NOBODY },
        { .key = { 5, PASS_NONE, 1 }, .mark = MARK_RUNS, .ms_known = true, .group = SCENE_NOBODY }
    };
    struct scene_fact facts[] = { { TEXT_LIT ("kernel"), TEXT_LIT ("6.1") } };
    struct scene_host host = { .rank = 2,
                               .name = TEXT_LIT ("v6e-2"),
                               .life = TEXT_LIT ("joined"),
                               .attempts = attempts,
                               .attempts_n = 3,
                               .attempts_left_out = 37,
                               .facts = facts,
                               .facts_n = 1 };
    struct buf *out = test_buf (t);
    scene_host_json (&picture->scene, &host, "b00t", out);
    json_t *json = json_loadb ((const char *) out->ptr, out->len, 0, NULL);
    expect (json, "attempts.0.mark", "\"F\"");
    expect (json, "attempts.0.pass", "\"cold\"");
    expect (json, "attempts.0.spans.0.awaited", "\"v6e-3\"");
    expect (json, "attempts.0.ms", "7");
    expect (json, "attempts.1.attempt", "null");
    expect (json, "attempts.1.ms", "null"); /* nobody heard how long it took */
    expect (json, "attempts.1.ended_ms", "20");
    expect (json, "attempts.2.ms", "0");
    expect (json, "attempts.2.ended_ms", "null"); /* it runs */
    expect (json, "attempts_left_out", "37");
    expect (json, "facts", "{\"kernel\":\"6.1\"}");
    json_decref (json);
    picture_free (picture);
}

static json_t *numbers_of (const struct picture *picture)
{
    struct buf out;
    buf_init (&out, 1 << 22);
    scene_numbers_json (&picture->scene, &out);
    json_t *json = json_loadb ((const char *) out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (json);
    buf_release (&out);
    return json;
}

/* What runs has no length yet, parts by themselves are other work, and waits and links are not of one host. */
TEST (numbers_by_host_are_columns)
{
    struct picture *picture = picture_create (3);
    struct board_words *words = picture->board.words;
    struct board_span spans[] = { { board_words_take (words, TEXT_LIT ("com\x1bpile")), 700 },
                                  { board_words_take (words, TEXT_LIT ("gate:meet")), 200 } };
    struct board_host_fact facts[] = {
        { board_words_take (words, TEXT_LIT ("number.speed.compute")), board_words_take (words, TEXT_LIT ("400.5")) },
        { board_words_take (words, TEXT_LIT ("number.speed.none")), board_words_take (words, TEXT_LIT ("inf")) },
        { board_words_take (words, TEXT_LIT ("number.link.v6e-1_gbs")), board_words_take (words, TEXT_LIT ("3")) },
        { board_words_take (words, TEXT_LIT ("kernel")), board_words_take (words, TEXT_LIT ("6")) }
    };
    struct board_attempt attempts[] = {
        { .key = { 0, PASS_ONCE, 1 }, .duration_ms = 100 },
        { .key = { 0, PASS_ONCE, 2 }, .duration_ms = 900, .spans = spans, .spans_n = 2 },
        { .key = { 1, PASS_ONCE, 1 }, .purpose = PURPOSE_ISOLATION, .duration_ms = 50 },
        { .key = { 1, PASS_COLD, 1 } }
    };
    struct board_host hosts[3] = { 0 };
    hosts[1].attempts.items = attempts;
    hosts[1].attempts.n = 4;
    hosts[1].facts.items = facts;
    hosts[1].facts.n = 4;
    picture->board.hosts = hosts;
    json_t *json = numbers_of (picture);
    expect (json, "",
            "{\"hosts\":[\"v6e-0\",\"v6e-1\",\"v6e-2\"],\"numbers\":{\"rung/once\":[null,900],"
            "\"number.speed.compute\":[null,400.5],"
            "\"rung/once/com\\\\x1bpile\":[null,700]}}");
    json_decref (json);
    picture_free (picture);
}

/* Phases, which are many, take the room that passes leave. */
TEST (numbers_by_host_are_bounded)
{
    enum { HOSTS = 4096, PHASES = 100, ROOM = (1 << 17) / HOSTS };
    struct picture *picture = picture_create (HOSTS);
    struct board_host *hosts = calloc (HOSTS, sizeof *hosts);
    struct board_span spans[PHASES];
    struct board_attempt attempts[] = {
        { .key = { 0, PASS_COLD, 1 }, .duration_ms = 100, .spans = spans, .spans_n = PHASES },
        { .key = { 0, PASS_RESTORED, 1 }, .duration_ms = 100 }
    };
    char name[32];
    for (uint32_t i = 0; i < PHASES; i++) {
        snprintf (name, sizeof name, "phase %u", i);
        spans[i] = (struct board_span){ board_words_take (picture->board.words, text_of (name)), 1 };
    }
    for (uint32_t i = 0; i < HOSTS; i++) {
        hosts[i].attempts.items = attempts;
        hosts[i].attempts.n = i + 1 < HOSTS ? 1 : 2;
    }
    picture->board.hosts = hosts;
    json_t *json = numbers_of (picture), *numbers = json_object_get (json, "numbers");
    assert_int_equal (json_object_size (numbers), ROOM);
    assert_int_equal (json_array_size (json_object_get (numbers, "rung/cold")), HOSTS);
    assert_int_equal (json_array_size (json_object_get (numbers, "rung/restored")), HOSTS);
    assert_int_equal (json_array_size (json_object_get (numbers, "rung/cold/phase 0")), HOSTS);
    json_decref (json);
    free (hosts);
    picture_free (picture);
}

TEST (the_files_of_the_page_are_in_the_program)
{
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
