/* links: simulated picture story report */
/* Whole runs of the real coordinator and workers (tests/lib/world.h), and facts that no coordinator would make: whoever
 * keeps what he saw and asks for what is newer has the scene of the whole, as JSON too; and it agrees with the receipt. */
#include "coordinator/picture/scene_json.h"
#include "coordinator/report/report.h"
#include "coordinator/story/board.h"
#include "coordinator/story/frontier.h"
#include "coordinator/verdict/reduce.h"
#include "fact_copy.h"
#include "receipt_fixture.h"
#include "scene_print.h"
#include "test.h"
#include "view_fixture.h"
#include "world.h"
#include <jansson.h>

enum {
    WATCHERS = 3,
    HOSTS_MOST = 8,
    RUNGS_MOST = 3,
    PRINTED_BYTES = 8 << 20,
    WORLDS = 40,
    SECRET_DIGITS_LEAST = 100000
};

/* Whoever keeps pieces of a scene, and replaces those that changed. */
struct watcher {
    uint32_t laziness; /* asks at one fact in so many */
    uint64_t revision, note, skipped;
    struct buf rungs[RUNGS_MOST], tiles[HOSTS_MOST], hosts[HOSTS_MOST], groups, metrics;
    uint64_t range_revisions[HOSTS_MOST];
    struct buf in_range[HOSTS_MOST]; /* tile and host, of a query with a range of time */
    json_t *state;                   /* as a page keeps it */
};

struct theatre {
    struct feed *feed;
    struct watcher watchers[WATCHERS];
    uint64_t from_ms, until_ms; /* of a query with a range of time */
    uint32_t taken_n, hidden_n; /* by it, all together */
    uint32_t cut_n;             /* spans */
    uint32_t unknown_n;         /* attempts in the range of which nobody knows how long they took */
    struct rng rng;
    struct arena kept; /* of `facts` */
    struct fact *facts;
    uint32_t facts_n, facts_room;
};

static void theatre_open (struct theatre *theatre, uint64_t seed)
{
    static const uint32_t laziness[WATCHERS] = { 1, 5, 60 };
    *theatre = (struct theatre){ .feed = feed_create (BOARD_JUDGED_EVIDENCE), .rng = rng_seed (seed) };
    theatre->from_ms = rng_below (&theatre->rng, 20000);
    theatre->until_ms = seed % 3 ? theatre->from_ms + 1 + rng_below (&theatre->rng, 20000) : UINT64_MAX;
    for (uint32_t i = 0; i < WATCHERS; i++) {
        struct watcher *watcher = &theatre->watchers[i];
        watcher->laziness = laziness[i];
        for (uint32_t k = 0; k < RUNGS_MOST; k++)
            buf_init (&watcher->rungs[k], PRINTED_BYTES);
        for (uint32_t k = 0; k < HOSTS_MOST; k++) {
            buf_init (&watcher->tiles[k], PRINTED_BYTES);
            buf_init (&watcher->hosts[k], PRINTED_BYTES);
            buf_init (&watcher->in_range[k], PRINTED_BYTES);
        }
        buf_init (&watcher->groups, PRINTED_BYTES);
        buf_init (&watcher->metrics, PRINTED_BYTES);
    }
}

static void theatre_close (struct theatre *theatre)
{
    for (uint32_t i = 0; i < WATCHERS; i++) {
        struct watcher *watcher = &theatre->watchers[i];
        for (uint32_t k = 0; k < RUNGS_MOST; k++)
            buf_release (&watcher->rungs[k]);
        for (uint32_t k = 0; k < HOSTS_MOST; k++) {
            buf_release (&watcher->tiles[k]);
            buf_release (&watcher->hosts[k]);
            buf_release (&watcher->in_range[k]);
        }
        buf_release (&watcher->groups);
        buf_release (&watcher->metrics);
        json_decref (watcher->state);
    }
    feed_destroy (theatre->feed);
    arena_release (&theatre->kept);
    mem_free (theatre->facts);
}

/* What is kept, where it did not change, has to be what is there now. */
static void take_piece (struct buf *kept, struct buf *now, bool changed, const char *what, uint32_t index)
{
    if (!changed && !text_equal (buf_as_text (kept), buf_as_text (now)))
        fail_msg ("%s %u changed and does not say so:\n%s----\n%s", what, index, buf_c (kept), buf_c (now));
    if (changed) {
        buf_clear (kept);
        buf_add_text (kept, buf_as_text (now));
    }
    buf_clear (now);
}

/* ---- as JSON: what an answer lacks is as it was ---- */

/* In what a running rung has spent, time alone makes a difference. */
static json_t *state_of (const struct scene *scene, uint64_t since)
{
    struct buf out;
    size_t at;
    json_t *rung;
    buf_init (&out, PRINTED_BYTES);
    scene_state_json (scene, "b00t", false, since, &out);
    json_t *state = json_loadb ((const char *) out.ptr, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null (state);
    out.len--; /* the newline */
    assert_safe (&out);
    assert_has_not (&out, "\\u00"); /* what is safe for JSON alone is not for a terminal */
    buf_release (&out);
    json_array_foreach (json_object_get (state, "rungs"), at, rung)
        json_object_del (rung, "spent_ms");
    return state;
}

static void take_rungs (json_t *kept, const json_t *changed)
{
    size_t at;
    json_t *rung;
    json_array_foreach (changed, at, rung)
        json_array_set (kept, (size_t) json_integer_value (json_object_get (rung, "index")), rung);
}

/* Columns: each value has its place. */
static void take_groups (json_t *state, const json_t *update)
{
    json_t *kept = json_object_get (state, "groups"),
           *index = json_object_get (json_object_get (update, "groups"), "index");
    json_int_t n = json_integer_value (json_object_get (update, "groups_n"));
    const char *name;
    json_t *column;
    size_t i;
    if (n == 0)
        json_object_clear (kept);
    json_object_foreach (json_object_get (update, "groups"), name, column) {
        if (!json_object_get (kept, name))
            json_object_set_new (kept, name, json_array ());
        json_t *to = json_object_get (kept, name);
        for (i = 0; i < json_array_size (index); i++) {
            size_t at = (size_t) json_integer_value (json_array_get (index, i));
            assert_true (at <= json_array_size (to));
            if (at == json_array_size (to))
                json_array_append (to, json_array_get (column, i));
            else
                json_array_set (to, at, json_array_get (column, i));
        }
    }
    json_object_foreach (kept, name, column)
        while ((json_int_t) json_array_size (column) > n)
            json_array_remove (column, json_array_size (column) - 1);
}

static void take_state (struct watcher *watcher, json_t *update)
{
    const char *name;
    json_t *value;
    if (json_is_true (json_object_get (update, "whole"))) {
        json_decref (watcher->state);
        watcher->state = json_deep_copy (update);
    } else
        json_object_foreach (update, name, value)
            if (strcmp (name, "rungs") == 0)
                take_rungs (json_object_get (watcher->state, name), value);
            else if (strcmp (name, "groups") == 0)
                take_groups (watcher->state, update);
            else
                json_object_set (watcher->state, name, value);
}

static void ask_for_json (struct watcher *watcher, const struct scene *scene)
{
    static const char *const parts[] = { "summary",  "names",   "now",   "phases",          "rungs",    "groups",
                                         "group_of", "metrics", "gates", "groups_left_out", "ungrouped" };
    json_t *update = state_of (scene, watcher->revision), *whole = state_of (scene, 0);
    take_state (watcher, update);
    for (uint32_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!json_equal (json_object_get (watcher->state, parts[i]), json_object_get (whole, parts[i])))
            fail_msg ("%s changed, and the update does not have it:\n%s\n----\n%s", parts[i],
                      json_dumps (json_object_get (watcher->state, parts[i]), JSON_ENCODE_ANY),
                      json_dumps (json_object_get (whole, parts[i]), JSON_ENCODE_ANY));
    json_decref (update);
    json_decref (whole);
}

/* ---- a range of time ---- */

static bool is_within (const struct theatre *theatre, uint64_t began_ms, uint64_t ms)
{
    return began_ms < theatre->until_ms && (began_ms >= theatre->from_ms || began_ms + ms > theatre->from_ms);
}

/* What the scene of the range has of a host is what that of the whole has, cut. What runs ends with the time. */
static void is_cut_to_the_range (struct theatre *theatre, const struct scene_host *whole, const struct scene_host *cut)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < whole->attempts_n; i++) {
        const struct scene_attempt *from = &whole->attempts[i];
        bool there = at < cut->attempts_n && cut->attempts[at].began_ms == from->began_ms &&
                     attempt_key_equal (&cut->attempts[at].key, &from->key);
        if (from->ended_ms) {
            assert_int_equal (there, is_within (theatre, from->began_ms, from->ended_ms - from->began_ms));
            theatre->unknown_n += there && !from->ms_known;
        }
        for (uint32_t k = 0, n = 0; there && k < from->spans_n; k++) {
            const struct scene_span *span = &from->spans[k];
            uint64_t end_ms = span->began_ms + span->ms;
            if (!is_within (theatre, span->began_ms, span->ms))
                continue;
            assert_true (n < cut->attempts[at].spans_n);
            const struct scene_span *part = &cut->attempts[at].spans[n++];
            theatre->cut_n += part->ms != span->ms;
            assert_text (part->name, span->name);
            assert_int_equal (part->began_ms, span->began_ms > theatre->from_ms ? span->began_ms : theatre->from_ms);
            assert_int_equal (part->began_ms + part->ms, theatre->until_ms < end_ms ? theatre->until_ms : end_ms);
        }
        at += there;
    }
    assert_int_equal (at, cut->attempts_n);
}

static void has_notes_and_gates_of_the_range (const struct theatre *theatre, const struct scene *whole,
                                              const struct scene *cut)
{
    uint32_t notes = 0, gates = 0;
    for (uint32_t i = 0; i < whole->notes_n; i++)
        if (is_within (theatre, whole->notes[i]->at_ms, 0))
            assert_ptr_equal (whole->notes[i], cut->notes[notes++]);
    for (uint32_t i = 0; i < whole->gates_n; i++)
        if (is_within (theatre, whole->gates[i]->opened_ms, 0))
            assert_int_equal (whole->gates[i]->opened_ms, cut->gates[gates++]->opened_ms);
    assert_int_equal (notes, cut->notes_n);
    assert_int_equal (gates, cut->gates_n);
}

/* Of one host, for each takes a scene. Once the range has begun, no host comes into it or leaves it by time alone. */
static void ask_for_range (struct theatre *theatre, struct watcher *watcher, const struct scene *whole,
                           uint64_t wall_ms)
{
    struct arena arena = { 0 };
    struct scene_query query;
    struct scene scene;
    struct scene_host host;
    struct buf now;
    uint32_t rank = (uint32_t) rng_below (&theatre->rng, whole->tiles_n), at = 0;
    buf_init (&now, PRINTED_BYTES);
    scene_query_init (&query);
    query.since = watcher->revision;
    query.from_ms = theatre->from_ms;
    query.until_ms = theatre->until_ms;
    query.opened = rank;
    scene_make (theatre->feed, &query, wall_ms, &arena, &scene);
    assert_int_equal (scene.tiles_n + scene.hidden_n, whole->tiles_n);
    while (at < scene.tiles_n && scene.tiles[at].rank < rank)
        at++;
    bool taken = at < scene.tiles_n && scene.tiles[at].rank == rank;
    if (taken)
        print_tile (&scene, &scene.tiles[at], &now);
    print_host (scene.host, &now);
    assert_true (taken || scene.host->attempts_n == 0);
    scene_open_host (whole, rank, &host);
    is_cut_to_the_range (theatre, &host, scene.host);
    take_piece (&watcher->in_range[rank], &now, whole->tiles[rank].changed > watcher->range_revisions[rank],
                "in the range", rank);
    theatre->taken_n += taken;
    theatre->hidden_n += !taken;
    has_notes_and_gates_of_the_range (theatre, whole, &scene);
    watcher->range_revisions[rank] = scene.board->revision;
    buf_release (&now);
    arena_release (&arena);
}

static void ask (struct theatre *theatre, struct watcher *watcher, uint64_t wall_ms)
{
    struct arena arena = { 0 };
    struct scene_query query;
    struct scene scene;
    struct scene_host host;
    struct buf now;
    buf_init (&now, PRINTED_BYTES);
    scene_query_init (&query);
    query.since = watcher->revision;
    scene_make (theatre->feed, &query, wall_ms, &arena, &scene);
    assert_true (scene.rungs_n <= RUNGS_MOST && scene.tiles_n <= HOSTS_MOST);
    for (uint32_t i = 0; i < scene.rungs_n; i++) {
        print_rung (&scene, i, &now);
        take_piece (&watcher->rungs[i], &now, scene_rung_changed (scene.board, i) > watcher->revision, "rung", i);
    }
    for (uint32_t i = 0; i < scene.tiles_n; i++) {
        bool changed = scene.tiles[i].changed > watcher->revision;
        print_tile (&scene, &scene.tiles[i], &now);
        take_piece (&watcher->tiles[i], &now, changed, "tile", i);
        scene_open_host (&scene, i, &host);
        print_host (&host, &now);
        take_piece (&watcher->hosts[i], &now, changed, "host", i);
    }
    print_groups (&scene, &now);
    take_piece (&watcher->groups, &now, scene.groups_changed > watcher->revision || !scene.board->opened, "groups", 0);
    print_metrics (&scene, &now);
    take_piece (&watcher->metrics, &now, scene.board->metrics_changed > watcher->revision, "metrics", 0);
    if (watcher->laziness > 1) { /* who asks at every fact takes long */
        ask_for_json (watcher, &scene);
        if (scene.board->opened && feed_board (theatre->feed)->clock_ms >= theatre->from_ms)
            ask_for_range (theatre, watcher, &scene, wall_ms);
    }
    for (uint32_t i = 0; i < scene.notes_n; i++)
        assert_int_equal (scene.notes[i]->number, watcher->note + scene.notes_skipped + i + 1);
    watcher->note += scene.notes_skipped + scene.notes_n;
    assert_int_equal (watcher->note, feed_notes_last (theatre->feed));
    watcher->revision = scene.board->revision;
    buf_release (&now);
    arena_release (&arena);
}

/* Simulated workers tell none. */
static void add_phases (struct theatre *theatre, struct result *result)
{
    static const char *const names[] = { "init", "gate:rendezvous", "compile" };
    result->phases.items = arena_array (&theatre->kept, 3, sizeof (*result->phases.items));
    for (result->phases.n = 0; result->phases.n < 3; result->phases.n++)
        result->phases.items[result->phases.n] = (struct named_number){
            text_of (names[result->phases.n]), rng_below (&theatre->rng, 1 + result->duration_ms / 2)
        };
}

static void perform (struct theatre *theatre, const struct fact *fact)
{
    uint64_t before = feed_board (theatre->feed)->revision, wall_ms = SHOW_WALL_MS + fact->at_ms;
    struct fact at = *fact;
    at.wall_ms = wall_ms;
    if (at.kind == FACT_ATTEMPT_ENDED)
        add_phases (theatre, &at.of.attempt_ended.result);
    theatre->facts = mem_room (theatre->facts, theatre->facts_n, &theatre->facts_room, 64, sizeof (*theatre->facts));
    fact_copy (&theatre->facts[theatre->facts_n++], &at, &theatre->kept);
    feed_apply (theatre->feed, &at, wall_ms, wall_ms);
    assert_true (feed_board (theatre->feed)->revision > before);
    if (rng_below (&theatre->rng, 4) == 0)
        feed_tick (theatre->feed, wall_ms + rng_below (&theatre->rng, 700));
    for (uint32_t i = 0; i < WATCHERS; i++)
        if (rng_below (&theatre->rng, theatre->watchers[i].laziness) == 0)
            ask (theatre, &theatre->watchers[i], wall_ms + rng_below (&theatre->rng, 100000));
}

static void hear (void *owner, const struct fact *fact)
{
    perform (owner, fact);
}

/* ---- all of it, once more from the beginning ---- */

static void print_all (struct feed *feed, uint64_t from_ms, uint64_t until_ms, struct buf *out)
{
    struct arena arena = { 0 };
    struct scene_query query;
    struct scene scene;
    scene_query_init (&query);
    query.opened = 1;
    query.from_ms = from_ms;
    query.until_ms = until_ms;
    query.since = UINT64_MAX; /* of notes, ticks decide */
    scene_make (feed, &query, 0, &arena, &scene);
    print_scene (&scene, out);
    arena_release (&arena);
}

static void replay_gives_the_same (const struct theatre *theatre)
{
    struct feed *again = feed_create (BOARD_JUDGED_EVIDENCE);
    struct buf live, replayed;
    buf_init (&live, PRINTED_BYTES);
    buf_init (&replayed, PRINTED_BYTES);
    for (uint32_t i = 0; i < theatre->facts_n; i++)
        feed_apply (again, &theatre->facts[i], 0, 0);
    print_all (theatre->feed, 0, 0, &live);
    print_all (again, 0, 0, &replayed);
    print_all (theatre->feed, theatre->from_ms, theatre->until_ms, &live);
    print_all (again, theatre->from_ms, theatre->until_ms, &replayed);
    assert_string_equal (buf_c (&live), buf_c (&replayed));
    buf_release (&live);
    buf_release (&replayed);
    feed_destroy (again);
}

/* ---- the receipt says the same ---- */

static void same_marks (const struct scene *scene, const struct slice_receipt *receipt)
{
    const struct run_header *header = &receipt->headers.items[0];
    assert_int_equal (scene->tiles_n, receipt->hosts.n);
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        const struct scene_tile *tile = &scene->tiles[host->rank];
        for (uint32_t k = 0; k < scene->rungs_n; k++) {
            enum outcome outcome = frontier_rung_outcome (host, header->rungs.items[k]);
            if (tile->cells[k] != scene_mark_of_outcome (outcome))
                fail_msg ("host %u at rung %u: '%c', the receipt says %s", host->rank, k,
                          scene_mark_letter (tile->cells[k]), enum_name_of (&outcome_names, outcome));
        }
        enum outcome outcome = frontier_host_outcome (header, host);
        if (tile->now != scene_mark_of_outcome (outcome))
            fail_msg ("host %u: '%c', the receipt says %s", host->rank, scene_mark_letter (tile->now),
                      enum_name_of (&outcome_names, outcome));
    }
}

/* Hosts of a folded set, as receipt.json has it. */
static uint32_t count_hosts (const json_t *folded, struct arena *arena)
{
    const struct hostset_rules rules = { .max = HOSTS_MOST };
    struct name_list names = { 0 };
    assert_true (json_is_string (folded));
    assert_int_equal (hostset_read (text_of (json_string_value (folded)), &rules, arena, &names, NULL), 0);
    return names.n;
}

/* receipt.json counts at each rung as many hosts of each outcome as the scene does. */
static void same_counts_in_json (const struct scene *scene, const struct slice_receipt *receipt, struct arena *arena)
{
    struct buf json;
    buf_init (&json, PRINTED_BYTES);
    receipt_json (receipt, &(const struct drift_query){ 0 }, &json);
    json_t *tree = parse_as_one_tree (&json), *ladder = json_object_get (tree, "ladder");
    assert_int_equal (json_array_size (json_object_get (tree, "hosts")), scene->hosts_n);
    assert_int_equal (json_array_size (ladder), scene->rungs_n);
    for (uint32_t k = 0; k < scene->rungs_n; k++) {
        uint32_t counts[MARK_N] = { 0 }, marks[MARK_N] = { 0 };
        const char *word;
        json_t *folded;
        json_object_foreach (json_object_get (json_array_get (ladder, k), "hosts_by_outcome"), word, folded) {
            uint32_t outcome = 0;
            assert_true (enum_value_of (&outcome_names, text_of (word), &outcome));
            counts[scene_mark_of_outcome ((enum outcome) outcome)] = count_hosts (folded, arena);
        }
        for (uint32_t i = 0; i < scene->tiles_n; i++)
            marks[scene->tiles[i].cells[k]]++;
        assert_memory_equal (counts, marks, sizeof counts);
    }
    json_decref (tree);
    buf_release (&json);
}

/* No number or word from which a proof can be made is in any text. Returns how many were looked for. */
static uint32_t no_secret_is_told (const struct theatre *theatre)
{
    uint64_t secrets[HOSTS_MOST];
    char nonce[33], digits[24];
    struct buf told;
    uint32_t looked_for = 0;
    buf_init (&told, PRINTED_BYTES);
    print_all (theatre->feed, 0, 0, &told);
    for (uint64_t number = 1; number <= feed_notes_last (theatre->feed); number++)
        if (feed_note_at (theatre->feed, number))
            buf_add_text (&told, feed_note_at (theatre->feed, number)->text);
    for (uint32_t i = 0; i < theatre->facts_n; i++) {
        const struct fact_pass_began *began = &theatre->facts[i].of.pass_began;
        if (theatre->facts[i].kind != FACT_PASS_BEGAN)
            continue;
        struct digest key = deal_pass_key (&sample_deal_key, &began->key);
        assert_true (deal_secrets (&key, began->hosts.n, 2, secrets));
        for (uint32_t k = 0; k < began->hosts.n; k++) {
            deal_host_nonce (&key, began->hosts.items[k], nonce);
            assert_has_not (&told, nonce);
            snprintf (digits, sizeof (digits), "%llu", (unsigned long long) secrets[k]);
            if (secrets[k] >= SECRET_DIGITS_LEAST)
                assert_has_not (&told, digits);
            looked_for += secrets[k] >= SECRET_DIGITS_LEAST;
        }
    }
    buf_release (&told);
    return looked_for;
}

/* The receipt of a run that has ended is made of what its journal has, and judges nothing anew. */
static void agrees_with_the_receipt (const struct theatre *theatre)
{
    struct board *read = board_create (BOARD_RECEIPT);
    struct arena arena = { 0 };
    struct slice_receipt receipt, of_journal;
    struct scene_query query;
    struct scene scene;
    for (uint32_t i = 0; i < theatre->facts_n; i++)
        if (!fact_is_soft (theatre->facts[i].kind))
            board_apply (read, &theatre->facts[i]);
    board_make_receipt (read, &arena, &of_journal);
    board_make_receipt (feed_board (theatre->feed), &arena, &receipt);
    assert_int_equal (record_compare (&slice_receipt_record, &receipt, &of_journal), 0);
    scene_query_init (&query);
    scene_make (theatre->feed, &query, 0, &arena, &scene);
    assert_true (scene.board->ended);
    same_marks (&scene, &receipt);
    same_counts_in_json (&scene, &receipt, &arena);
    board_destroy (read);
    arena_release (&arena);
}

/* Groups say of each cascade what the flows of the trace say. Returns how many there were. */
static uint32_t causes_are_those_of_the_trace (const struct theatre *theatre)
{
    struct report_book *book = report_book_create (BOARD_JUDGED_EVIDENCE);
    struct arena arena = { 0 };
    uint32_t seen = 0;
    for (uint32_t i = 0; i < theatre->facts_n; i++)
        report_book_apply (book, &theatre->facts[i]);
    const struct report *report = report_book_make (book, false);
    struct report_attempts attempts = report_attempts_of (report, &arena);
    for (uint32_t i = 0; i < attempts.n; i++) {
        const struct scene_attempt *of = attempts.items[i].of;
        if (of->mark != MARK_CASCADE || of->group == SCENE_NOBODY)
            continue;
        const struct scene_group *group = &report->scene->groups[of->group];
        assert_int_equal (group->cause_host, attempts.items[attempts.items[i].cause].host);
        seen += group->cause_host != SCENE_NOBODY;
    }
    report_book_destroy (book);
    arena_release (&arena);
    return seen;
}

static struct scenario scenario_of (uint64_t seed, struct theatre *theatre)
{
    struct rng rng = rng_seed (seed);
    static const uint32_t sizes[] = { 2, 3, 5, 8 };
    struct scenario scenario = scenario_calm (seed, sizes[seed % 4]);
    bool read = scenario_read (
        &scenario,
        "delay=500 bound=9000000 writers=2 splits retries=?3 min-hosts=?3 | loss all ms 0 150000 ?10 | "
        "?3* crash h? ms ?30000 | 33% fall last rung 2 | 25% stall h? rung 2 ?4 | "
        "25% fall h? rung 1 | 16% tamper c ms 0 | 25% stranger last any 0 | 50% trip h? "
        "any 0 ?3",
        &rng);
    scenario.climb.keep_going = rng_below (&rng, 2);
    scenario.climb.fail_fast = rng_below (&rng, 4) == 0;
    scenario.hear = hear;
    scenario.owner = theatre;
    assert_true (read);
    return scenario;
}

TEST (what_changed_since_makes_the_whole)
{
    uint32_t looked_for = 0, cascades = 0, taken = 0, hidden = 0, cut = 0, unknown = 0;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct theatre theatre;
        struct world_report report;
        theatre_open (&theatre, seed);
        struct scenario scenario = scenario_of (seed, &theatre);
        world_run (&scenario, &report);
        replay_gives_the_same (&theatre);
        agrees_with_the_receipt (&theatre);
        cascades += causes_are_those_of_the_trace (&theatre);
        looked_for += no_secret_is_told (&theatre);
        taken += theatre.taken_n;
        hidden += theatre.hidden_n;
        cut += theatre.cut_n;
        unknown += theatre.unknown_n;
        theatre_close (&theatre);
    }
    assert_true (looked_for > WORLDS && cascades > 0);
    assert_true (taken > WORLDS && hidden > WORLDS && cut > WORLDS / 4 && unknown > 0);
}

TEST (so_it_does_of_facts_that_no_coordinator_would_make)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct theatre theatre;
        struct arena arena = { 0 };
        struct plan plan;
        struct rng rng = rng_seed (1000 + seed);
        struct fact fact = { .kind = FACT_RUN_OPENED };
        theatre_open (&theatre, seed);
        sample_plan (&plan, 5, &arena);
        fact.of.run_opened = (struct fact_run_opened){ .run = HOSTILE, .plan = plan };
        perform (&theatre, &fact);
        for (uint32_t i = 0; i < 400; i++) {
            struct fact chaos = chaos_fact (&rng, &arena);
            chaos.at_ms = i * rng_below (&rng, 50);
            perform (&theatre, &chaos);
        }
        replay_gives_the_same (&theatre);
        theatre_close (&theatre);
        arena_release (&arena);
    }
}
