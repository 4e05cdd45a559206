/* links: simulated picture */
#include "coordinator/picture/metrics.h"
#include "openmetrics_check.h"
#include "test.h"
#include "view_fixture.h"

enum { MANY_HOSTS = HOSTS_MAX, MANY_RUNGS = 200, PAGE_MAX_BYTES = METRICS_MAX_BYTES };

static uint32_t check_page (struct buf *out)
{
    assert_false (out->overflow);
    assert_safe (out);
    return openmetrics_check (buf_c (out));
}

/* ---- a run at its largest, and at its worst ---- */

struct huge {
    struct arena arena;
    struct board board;
    struct scene scene;
    struct host_sums sums;
};

TEST_FIXTURE (struct huge, TEST_NOTHING, TEST_ARENA)

static struct text hostile_text (struct huge *huge, const char *what, uint32_t at)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    buf_printf (&out, "%s\"\\n{}=,\xc2\x9b ", what);
    buf_add_text (&out, HOSTILE);
    for (uint32_t i = 0; at % 3 == 0 && i < 500; i++)
        buf_puts (&out, "\xe6\x97\xa5");
    buf_printf (&out, " %u", at);
    return buf_finish (&out, &huge->arena);
}

static void fill_rungs (struct huge *huge)
{
    struct board *board = &huge->board;
    huge->scene.rungs_n = board->plan.rungs.n = MANY_RUNGS;
    board->plan.rungs.items = arena_array (&huge->arena, MANY_RUNGS, sizeof (struct rung));
    board->rungs = arena_array (&huge->arena, MANY_RUNGS, sizeof (struct board_rung));
    huge->sums.rungs_n = MANY_RUNGS;
    huge->sums.passes = arena_array (&huge->arena, MANY_RUNGS, sizeof (*huge->sums.passes));
    for (uint32_t i = 0; i < MANY_RUNGS; i++) {
        board->plan.rungs.items[i].id = hostile_text (huge, "rung", i);
        board->rungs[i].passes[PASS_ONCE].duration_ms = 1000;
        for (uint32_t pass = 0; pass < BOARD_PASSES; pass++)
            for (uint32_t mark = 0; mark < MARK_N; mark++)
                huge->sums.passes[i][pass][mark] = 1 + mark;
    }
    board->running = true;
    board->key = (struct attempt_key){ MANY_RUNGS - 1, PASS_ONCE, 1 };
}

static void fill_hosts (struct huge *huge)
{
    uint8_t *cells = arena_array (&huge->arena, MANY_RUNGS, 1);
    struct plan *plan = &huge->board.plan;
    cells[5] = MARK_FAILED;
    huge->scene.hosts_n = huge->scene.tiles_n = plan->hosts.n = MANY_HOSTS;
    huge->scene.tiles = arena_array (&huge->arena, MANY_HOSTS, sizeof (struct scene_tile));
    plan->hosts.items = arena_array (&huge->arena, MANY_HOSTS, sizeof (struct plan_host));
    for (uint32_t i = 0; i < MANY_HOSTS; i++) {
        struct scene_tile *tile = &huge->scene.tiles[i];
        *tile = (struct scene_tile){ .rank = i, .cells = cells, .now = MARK_CASCADE, .owner = OWNER_HOST };
        tile->now = i >= MANY_HOSTS - 3 ? MARK_FAILED : MARK_CASCADE;
        plan->hosts.items[i].name = hostile_text (huge, "host", i);
        huge->scene.marks[tile->now]++;
    }
}

static void fill_metrics (struct huge *huge)
{
    struct board *board = &huge->board;
    board->metrics.n = BOARD_METRICS_MAX;
    board->metrics.items = arena_array (&huge->arena, BOARD_METRICS_MAX, sizeof (struct board_metric));
    for (uint32_t i = 0; i < BOARD_METRICS_MAX; i++)
        board->metrics.items[i] = (struct board_metric){ .key = { i % MANY_RUNGS, PASS_NONE, 1 },
                                                         .name = hostile_text (huge, "metric", i),
                                                         .proof = 1 + i % PROOF_UNPROVED };
}

static void huge_make (struct huge *huge)
{
    static const struct usual_time usual = { .ms = 5 };
    *huge = (struct huge){ .board = { .opened = true, .ended = true, .outcome = OUTCOME_FAILED } };
    huge->scene = (struct scene){ .board = &huge->board, .usual = &usual };
    huge->board.plan.slice = hostile_text (huge, "slice", 1);
    huge->board.run = huge->board.plan.ladder = huge->board.version = hostile_text (huge, "run", 0);
    fill_rungs (huge);
    fill_hosts (huge);
    fill_metrics (huge);
    for (uint32_t i = 0; i < PHASE_NAMES; i++)
        huge->sums.phases[i] = (struct histogram){ { 1, 2, 3, 4, 5, 6, 7, 8 }, 36, 1234567 };
}

static uint32_t count (const struct buf *out, const char *what)
{
    uint32_t n = 0;
    for (const char *at = (const char *) out->ptr; (at = strstr (at, what)) != NULL; at++)
        n++;
    return n;
}

TEST_ON (huge, the_largest_run_has_few_series)
{
    huge_make (huge);
    for (enum metrics_form form = METRICS_OPENMETRICS; form <= METRICS_TEXTFILE; form++) {
        struct metrics_beside beside = { .form = form, .drift_known = true, .queues_known = true };
        struct buf out;
        buf_init (&out, PAGE_MAX_BYTES);
        metrics_print (&huge->scene, &huge->sums, &beside, &out);
        uint32_t series = check_page (&out);
        assert_in_range (series, 250, METRICS_SERIES_MAX);
        assert_int_equal (count (&out, "sliceup_failing_host{"), METRICS_HOSTS_NAMED);
        assert_int_equal (count (&out, ",state=\"failed\",owner=\"host\"} 1\n"),
                          3); /* before all that fell with them */
        assert_has (&out, "sliceup_failing_hosts_unnamed{slice=");
        assert_has (&out, "} 16320\n");
        assert_true (count (&out, "{slice=") == series);
        assert_in_range (count (&out, "rung=\"other\",pass="), 3, 3 * MARK_N + 4);
        buf_release (&out);
    }
}

/* Without a place of their own they are not left out. */
TEST_ON (huge, rungs_without_room_are_counted_together)
{
    struct buf out;
    struct metrics_beside beside = { .form = METRICS_TEXTFILE };
    huge_make (huge);
    memset (huge->sums.passes, 0, MANY_RUNGS * sizeof (*huge->sums.passes));
    for (uint32_t i = 0; i < MANY_RUNGS; i++) {
        huge->board.plan.rungs.items[i].id = text_format (&huge->arena, "r%u", i);
        huge->sums.passes[i][PASS_ONCE][MARK_PASSED] = 4;
    }
    buf_init (&out, PAGE_MAX_BYTES);
    metrics_print (&huge->scene, &huge->sums, &beside, &out);
    assert_has (&out, "rung=\"r23\",pass=\"once\",state=\"passed\"} 4\n");
    assert_has (&out, "rung=\"other\",pass=\"once\",state=\"passed\"} 704\n"); /* 176 rungs */
    assert_has (&out, "rung=\"other\"} 176.000\n");
    buf_clear (&out);
    huge->board.plan.rungs.items[2].id = TEXT_LIT ("other");
    metrics_print (&huge->scene, &huge->sums, &beside, &out);
    check_page (&out);
    assert_has (&out, "rung=\"r1\",pass=\"once\",state=\"passed\"} 4\n");
    assert_has (&out, "rung=\"other\",pass=\"once\",state=\"passed\"} 792\n");
    buf_release (&out);
}

TEST_ON (huge, equal_names_are_one_series)
{
    struct buf out;
    struct metrics_beside beside = { .form = METRICS_OPENMETRICS };
    huge_make (huge);
    struct plan *plan = &huge->board.plan;
    plan->hosts.items[MANY_HOSTS - 1].name = plan->hosts.items[MANY_HOSTS - 2].name = TEXT_LIT ("twin");
    plan->rungs.items[0].id = plan->rungs.items[1].id = TEXT_LIT ("twin");
    buf_init (&out, PAGE_MAX_BYTES);
    metrics_print (&huge->scene, &huge->sums, &beside, &out);
    check_page (&out);
    assert_int_equal (count (&out, "host=\"twin\""), 1);
    buf_release (&out);
}

/* ---- a small run, whole ---- */

struct stage {
    struct show show;
    struct feed *feed;
};

static void hear (void *owner, const struct fact *fact)
{
    struct stage *stage = owner;
    feed_apply (stage->feed, fact, fact->wall_ms, fact->wall_ms);
}

static void stage_make (struct stage *stage, uint32_t hosts)
{
    *stage = (struct stage){ .feed = feed_create (BOARD_JUDGED_STATE) };
    show_make (&stage->show, hosts);
    stage->show.heard = hear;
    stage->show.owner = stage;
}

static void stage_release (struct stage *stage)
{
    feed_destroy (stage->feed);
    show_release (&stage->show);
}

static void ended_in (struct stage *stage, uint32_t host, uint32_t code, uint64_t compile_ms, uint64_t wait_ms)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    struct named_number phases[] = { { TEXT_LIT ("compile"), compile_ms },
                                     { TEXT_LIT ("gate:start"), wait_ms },
                                     { TEXT_LIT ("my own \"phase\""), 20 } };
    struct named_number counters[] = { { TEXT_LIT ("compile_requests"), 3 },
                                       { TEXT_LIT ("cache_hits"), 1 },
                                       { TEXT_LIT ("compile_ms"), compile_ms } };
    fact.of.attempt_ended.host = host;
    *result = (struct result){ .key = stage->show.board->key, .ending = ENDING_EXITED, .code = code };
    result->duration_ms = compile_ms + wait_ms + 20;
    result->phases.items = phases;
    result->counters.items = counters;
    result->phases.n = result->counters.n = 3;
    show_fact (&stage->show, fact);
}

static void play (struct stage *stage)
{
    struct show *show = &stage->show;
    struct verdict verdict = { .host = 1, .outcome = OUTCOME_FAILED, .owner = OWNER_COMPILER, .cause = TEXT_LIT ("x") };
    struct fact metric = { .kind = FACT_METRIC_JUDGED };
    show_open (show);
    for (uint32_t i = 0; i < 2; i++)
        show_joined (show, i);
    show->at_ms = 1000;
    show_began (show, FACTS, PASS_ONCE, 1, 2);
    show->at_ms = 2000;
    ended_in (stage, 0, 0, 0, 0);
    ended_in (stage, 1, 0, 100, 0);
    show_pass_ended (show, OUTCOME_PASSED, 1000, NULL, 0);
    show_began (show, TINY, PASS_COLD, 1, 2);
    show->at_ms = 7000;
    ended_in (stage, 0, 0, 1500, 2500);
    ended_in (stage, 1, 1, 4001, 0);
    metric.of.metric_judged = (struct fact_metric_judged){
        .key = show->board->key, .metric = TEXT_LIT ("loss"), .value = 1, .proof = PROOF_DISAGREE
    };
    show_fact (show, metric);
    show_pass_ended (show, OUTCOME_FAILED, 5000, &verdict, 1);
}

static void print_stage (const struct stage *stage, enum metrics_form form, struct buf *out)
{
    struct metrics_beside beside = { .form = form, .boot_ms = SHOW_WALL_MS + 9500, .wall_ms = SHOW_WALL_MS + 9500 };
    buf_init (out, PAGE_MAX_BYTES);
    metrics_print_run (stage->feed, &beside, out);
}

static void assert_same_as_file (const char *name, struct buf *out)
{
    char path[512];
    static char kept[1 << 16];
    snprintf (path, sizeof (path), "%s/tests/unit/metrics/%s", SLICEUP_SOURCE_DIR, name);
    FILE *file = fopen (path, "r");
    size_t len = file ? fread (kept, 1, sizeof (kept) - 1, file) : 0;
    kept[len] = '\0';
    if (file)
        fclose (file);
    if (strcmp (kept, buf_c (out)) == 0)
        return;
    fputs (buf_c (out), stdout);
    fail_msg ("%s differs; the text is now the above", path);
}

TEST (a_small_run_in_both_forms)
{
    static const char *const files[] = { "small.openmetrics", "small.prom" };
    struct stage stage;
    stage_make (&stage, 2);
    play (&stage);
    for (enum metrics_form form = METRICS_OPENMETRICS; form <= METRICS_TEXTFILE; form++) {
        struct buf out;
        print_stage (&stage, form, &out);
        check_page (&out);
        assert_same_as_file (files[form], &out);
        buf_release (&out);
    }
    stage_release (&stage);
}

TEST (states_of_a_run)
{
    struct stage stage;
    struct buf out;
    stage_make (&stage, 2);
    print_stage (&stage, METRICS_OPENMETRICS, &out);
    assert_string_equal (strstr (buf_c (&out), "# TYPE"), "# TYPE sliceup_metrics_timestamp_seconds gauge\n"
                                                          "# UNIT sliceup_metrics_timestamp_seconds seconds\n"
                                                          "sliceup_metrics_timestamp_seconds{slice=\"\"} 1700009.500\n"
                                                          "# EOF\n");
    buf_release (&out);
    show_open (&stage.show);
    print_stage (&stage, METRICS_TEXTFILE, &out);
    assert_has (&out, "state=\"joining\"} 1\n");
    buf_release (&out);
    show_joined (&stage.show, 0);
    show_joined (&stage.show, 1);
    stage.show.at_ms = 1000;
    show_began (&stage.show, FACTS, PASS_ONCE, 1, 2);
    print_stage (&stage, METRICS_TEXTFILE, &out);
    assert_has (&out, "state=\"running\"} 1\n");
    assert_has (&out, "sliceup_pass_limit_seconds{slice=");
    buf_release (&out);
    show_run_ended (&stage.show, OUTCOME_CANCELLED, 130, TEXT_LIT ("cancelled"));
    print_stage (&stage, METRICS_TEXTFILE, &out);
    assert_has (&out, "state=\"ended\"} 1\n");
    assert_has (&out, "outcome=\"cancelled\"} 1\n");
    assert_has (&out, "sliceup_run_exit_status{slice=\"sample\"} 130\n");
    buf_release (&out);
    stage_release (&stage);
}

TEST (any_facts_make_a_page_that_is_read)
{
    struct rng rng = rng_seed (17);
    for (uint32_t round = 0; round < 20; round++) {
        struct stage stage;
        struct buf out;
        stage_make (&stage, 3);
        show_open (&stage.show);
        for (uint32_t i = 0; i < 200; i++) {
            struct arena arena = { 0 };
            show_fact (&stage.show, chaos_fact (&rng, &arena));
            arena_release (&arena);
        }
        print_stage (&stage, round % 2 ? METRICS_TEXTFILE : METRICS_OPENMETRICS, &out);
        assert_in_range (check_page (&out), 1, METRICS_SERIES_MAX);
        buf_release (&out);
        stage_release (&stage);
    }
}

/* ---- the document ---- */

static void row_of (const struct family *family, struct buf *out)
{
    static const char *const types[] = { "gauge", "counter", "info", "histogram" };
    static const char *const suffixes[] = { "", "_total", "_info", "" };
    struct text labels = text_of (family->labels);
    buf_printf (out, "| `%s%s` | %s | %s | ", family->name, suffixes[family->type], types[family->type], family->unit);
    while (labels.len) {
        struct text label = text_take_until (&labels, ' ');
        buf_printf (out, "`%.*s`%s", TEXT_ARG (label), labels.len ? ", " : "");
    }
    buf_printf (out, " | %s | ", family->help);
}

TEST (the_document_has_every_family)
{
    struct buf *document = test_buf (t);
    FILE *file = fopen (SLICEUP_SOURCE_DIR "/docs/spec/metrics.md", "r");
    assert_non_null (file);
    for (int c; (c = fgetc (file)) != EOF;)
        buf_byte (document, (uint8_t) c);
    fclose (file);
    uint32_t n = 0;
    for (const struct family *family; (family = metrics_family (n)) != NULL; n++) {
        struct buf row;
        buf_init (&row, 4096);
        row_of (family, &row);
        assert_has (document, buf_c (&row));
        buf_release (&row);
    }
    assert_int_equal (count (document, "\n| `sliceup_"), n);
}
