#include "coordinator/picture/metrics.h"

#include <string.h>

#include "coordinator/picture/scene_private.h"

/* ---- host sums ---- */

static const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS] = { 100,   1000,   5000,    15000,
                                                                 60000, 300000, 1800000, UINT64_MAX };
static const char *const phase_names[PHASE_NAMES] = { "files", "environment", "cache",   "start", "import",
                                                      "init",  "trace",       "compile", "run",   "other" };

/* Caches the most frequent words. */
enum { WORDS_KNOWN = 256, GATE_PLACE = PHASE_NAMES + 1 };
struct summing {
    const struct board *board;
    struct host_sums *sums;
    uint8_t places[WORDS_KNOWN]; /* of a word: its phase + 1, or GATE_PLACE; 0: not known yet */
    bool *seen;                  /* passes of rungs already seen for the present host */
};

static void observe (struct histogram *histogram, uint64_t ms)
{
    uint32_t bucket = 0;
    while (ms > histogram_bounds_ms[bucket])
        bucket++;
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->sum_ms += ms;
}

static uint8_t metrics_place_of (struct text name)
{
    uint8_t i = 0;
    if (text_starts (name, GATE_SPAN))
        return GATE_PLACE;
    while (i < PHASE_NAMES - 1 && !text_is (name, phase_names[i]))
        i++;
    return i + 1;
}

static void metrics_add_span (struct summing *summing, const struct board_span *span)
{
    uint8_t fresh = 0, *place = span->word < WORDS_KNOWN ? &summing->places[span->word] : &fresh;
    if (*place == 0)
        *place = metrics_place_of (board_word (summing->board, span->word));
    observe (*place == GATE_PLACE ? &summing->sums->gates : &summing->sums->phases[*place - 1], span->ms);
}

static void note_progress (struct host_sums *sums, uint64_t at_ms)
{
    if (at_ms > sums->progress_ms)
        sums->progress_ms = at_ms;
}

static void metrics_add_attempt (struct summing *summing, uint32_t host, const struct board_attempt *attempt)
{
    struct host_sums *sums = summing->sums;
    const struct attempt_key *key = &attempt->key;
    if (key->rung >= sums->rungs_n || key->pass > PASS_RESTORED)
        return;
    for (uint32_t i = 0; i < attempt->spans_n; i++)
        metrics_add_span (summing, &attempt->spans[i]);
    note_progress (sums, attempt->ended ? attempt->ended_ms : attempt->began_ms);
    bool *seen = &summing->seen[key->rung * BOARD_PASSES + key->pass];
    if (*seen || attempt->purpose == PURPOSE_ISOLATION)
        return;
    *seen = true;
    sums->passes[key->rung][key->pass][scene_mark_of_attempt (summing->board, host, attempt)]++;
}

static void metrics_add_host (struct summing *summing, uint32_t at, uint64_t now_ms)
{
    const struct board_host *host = &summing->board->hosts[at];
    memset (summing->seen, 0, summing->sums->rungs_n * BOARD_PASSES * sizeof (*summing->seen));
    for (uint32_t i = host->attempts.n; i > 0; i--)
        metrics_add_attempt (summing, at, &host->attempts.items[i - 1]);
    if (host->phase.len && host->phase_since_ms <= now_ms)
        note_progress (summing->sums, host->phase_since_ms);
}

/* Sums all hosts of the plan, whatever the scene's query; in its arena. */
static void host_sums_make (const struct scene *scene, struct host_sums *out)
{
    struct summing summing = { .board = scene->board, .sums = out };
    *out = (struct host_sums){ .rungs_n = scene->rungs_n };
    out->passes = arena_array (scene->arena, scene->rungs_n, sizeof (*out->passes));
    summing.seen = arena_array (scene->arena, scene->rungs_n, BOARD_PASSES * sizeof (*summing.seen));
    for (uint32_t i = 0; i < scene->hosts_n; i++)
        metrics_add_host (&summing, i, scene->now_ms);
}

/* ---- the series ---- */

/* Limits: rungs with a name, and series of marks of rungs. */
enum { RUNGS_NAMED = 24, RUNG_SERIES_MAX = 100, UNPROVED_NAMED = 8, SUMMED_RUNGS = 1 };
/* Worst: all that has one series, and all lists at their longest. */
enum { SINGLE_SERIES_MAX = 40, RUN_STATES = 5, HISTOGRAM_SERIES = HISTOGRAM_BUCKETS + 2, PROOFS = PROOF_UNPROVED };
_Static_assert(SINGLE_SERIES_MAX + RUN_STATES + MARK_N + METRICS_HOSTS_NAMED + RUNG_SERIES_MAX + RUNGS_NAMED +
                       SUMMED_RUNGS + HISTOGRAM_SERIES * (PHASE_NAMES + 1) + PROOFS + UNPROVED_NAMED + QUEUES_N <=
                   METRICS_SERIES_MAX,
               "at most 400 series");

struct page {
    struct exposition to;
    const struct scene *scene;
    const struct host_sums *sums;
    const struct metrics_beside *beside;
    uint32_t named_n; /* rungs that have their own series */
};

/* A family of one series. */
static void metrics_add_one (struct page *page, const char *family, uint64_t value)
{
    exposition_begin_family (&page->to, family);
    exposition_add (&page->to, NULL, value);
}

static void add_one_ms (struct page *page, const char *family, uint64_t ms)
{
    exposition_begin_family (&page->to, family);
    exposition_add_ms (&page->to, NULL, ms);
}

static void add_by (struct page *page, const char *label, const char *value, uint64_t count)
{
    const struct label labels[] = { { label, text_of (value) }, { 0 } };
    exposition_add (&page->to, labels, count);
}

/* ---- the run ---- */

static void metrics_add_run (struct page *page)
{
    const struct board *board = page->scene->board;
    const struct label labels[] = {
        { "run", board->run }, { "ladder", board->plan.ladder }, { "version", board->version }, { 0 }
    };
    exposition_begin_family (&page->to, "sliceup_run");
    exposition_add (&page->to, labels, 1);
}

static void add_state (struct page *page)
{
    static const char *const words[RUN_STATES] = { "joining", "running", "cancelling", "interrupted", "ended" };
    const struct board *board = page->scene->board;
    bool begun = page->sums->progress_ms > 0 || page->scene->frontier > 0;
    uint32_t is = board->ended ? 4 : page->beside->interrupted ? 3 : board->cancel_level ? 2 : begun ? 1 : 0;
    exposition_begin_family (&page->to, "sliceup_run_state");
    for (uint32_t i = 0; i < RUN_STATES; i++)
        add_by (page, "state", words[i], i == is);
    if (!board->ended)
        return;
    exposition_begin_family (&page->to, "sliceup_run_outcome");
    add_by (page, "outcome", enum_name_of (&outcome_names, board->outcome), 1);
    metrics_add_one (page, "sliceup_run_exit_status", board->exit_status);
}

/* Uses the wall clock, since the run's clock stands still without a coordinator. */
static void metrics_add_times (struct page *page)
{
    const struct scene *scene = page->scene;
    const struct board *board = scene->board;
    uint64_t ago_ms = scene->now_ms > page->sums->progress_ms ? scene->now_ms - page->sums->progress_ms : 0;
    uint64_t until_ms = board->ended ? board->opened_wall_ms + scene->now_ms + board->away_ms : page->beside->wall_ms;
    add_one_ms (page, "sliceup_run_opened_timestamp_seconds", board->opened_wall_ms);
    add_one_ms (page, "sliceup_run_duration_seconds", scene->now_ms);
    add_one_ms (page, "sliceup_run_progress_timestamp_seconds", until_ms > ago_ms ? until_ms - ago_ms : 0);
}

/* ---- hosts ---- */

static void metrics_add_hosts (struct page *page)
{
    const struct scene *scene = page->scene;
    char word[MARK_LABEL_BYTES];
    metrics_add_one (page, "sliceup_slice_hosts", scene->hosts_n);
    exposition_begin_family (&page->to, "sliceup_hosts");
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        add_by (page, "state", scene_mark_label (mark, word), scene->marks[mark]);
    metrics_add_one (page, "sliceup_joined_hosts", scene->board->joined_n);
    metrics_add_one (page, "sliceup_silent_hosts", scene->silent_n);
    metrics_add_one (page, "sliceup_lost_hosts", scene->lost_n);
    metrics_add_one (page, "sliceup_joins", scene->joins);
}

static struct text rung_label (const struct page *page, uint32_t rung)
{
    bool named = rung < page->named_n && rung < page->scene->rungs_n;
    return named ? board_rung_id (page->scene->board, rung) : TEXT_LIT ("other");
}

/* The first rung that the host failed; none: it is lost or silent between rungs. */
static struct text rung_of_failure (const struct page *page, const struct scene_tile *tile)
{
    for (uint32_t i = 0; i < page->scene->rungs_n; i++)
        if (scene_mark_is_bad (tile->cells[i]))
            return rung_label (page, i);
    return (struct text){ 0 };
}

static bool name_host (struct page *page, const struct scene_tile *tile)
{
    char word[MARK_LABEL_BYTES];
    const struct label labels[] = { { "host", board_host_name (page->scene->board, tile->rank) },
                                    { "rung", rung_of_failure (page, tile) },
                                    { "state", text_of (scene_mark_label (tile->now, word)) },
                                    { "owner", text_of (enum_name_of (&owner_names, tile->owner)) },
                                    { 0 } };
    return exposition_add (&page->to, labels, 1);
}

static void add_failing (struct page *page)
{
    static const enum scene_mark order[] = { MARK_FAILED, MARK_LOST,   MARK_TIMED_OUT, MARK_BLOCKED,
                                             MARK_SO_FAR, MARK_SILENT, MARK_CASCADE };
    uint32_t named = 0, failing = 0;
    exposition_begin_family (&page->to, "sliceup_failing_host");
    for (uint32_t k = 0; k < sizeof (order) / sizeof (order[0]); k++) {
        failing += page->scene->marks[order[k]];
        for (uint32_t i = 0; i < page->scene->tiles_n && named < METRICS_HOSTS_NAMED; i++)
            named += page->scene->tiles[i].now == order[k] && name_host (page, &page->scene->tiles[i]);
    }
    metrics_add_one (page, "sliceup_failing_hosts_unnamed", failing > named ? failing - named : 0);
}

/* ---- rungs ---- */

/* Adds marks of a named rung, or of all unnamed ones together. */
static void marks_of (const struct page *page, uint32_t rung, enum pass pass, uint64_t out[MARK_N])
{
    uint32_t end = rung < page->named_n ? rung + 1 : page->sums->rungs_n;
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        out[mark] = 0;
    for (uint32_t i = rung; i < end; i++)
        for (uint32_t mark = 0; mark < MARK_N; mark++)
            out[mark] += page->sums->passes[i][pass][mark];
}

/* Rows: named rungs, then all others as one. */
static uint32_t rows_of (const struct page *page)
{
    return page->named_n < page->sums->rungs_n ? page->named_n + 1 : page->named_n;
}

static uint32_t count_rung_series (const struct page *page)
{
    uint32_t n = 0;
    for (uint32_t row = 0; row < rows_of (page); row++)
        for (uint32_t pass = PASS_ONCE; pass < BOARD_PASSES; pass++) {
            uint64_t marks[MARK_N];
            marks_of (page, row, pass, marks);
            for (uint32_t mark = 0; mark < MARK_N; mark++)
                n += marks[mark] > 0;
        }
    return n;
}

/* A rung named "other" is counted with the others, and so are all after it. */
static void choose_named (struct page *page)
{
    while (page->named_n < page->sums->rungs_n && page->named_n < RUNGS_NAMED &&
           !text_is (board_rung_id (page->scene->board, page->named_n), "other"))
        page->named_n++;
    while (page->named_n > 0 && count_rung_series (page) > RUNG_SERIES_MAX)
        page->named_n--;
}

static void add_rung_hosts (struct page *page, uint32_t row, enum pass pass)
{
    uint64_t marks[MARK_N];
    char word[MARK_LABEL_BYTES];
    marks_of (page, row, pass, marks);
    for (uint32_t mark = 0; mark < MARK_N; mark++) {
        const struct label labels[] = { { "rung", rung_label (page, row) },
                                        { "pass", text_of (enum_name_of (&pass_names, pass)) },
                                        { "state", text_of (scene_mark_label (mark, word)) },
                                        { 0 } };
        if (marks[mark])
            exposition_add (&page->to, labels, marks[mark]);
    }
}

static void add_rung_durations (struct page *page)
{
    exposition_begin_family (&page->to, "sliceup_rung_duration_seconds");
    for (uint32_t row = 0; row < rows_of (page); row++) {
        const struct label labels[] = { { "rung", rung_label (page, row) }, { 0 } };
        uint32_t end = row < page->named_n ? row + 1 : page->scene->rungs_n;
        uint64_t ms = 0;
        for (uint32_t i = row; i < end; i++)
            ms += board_rung_ms (page->scene->board, i, page->scene->now_ms);
        exposition_add_ms (&page->to, labels, ms);
    }
}

static void add_rungs (struct page *page)
{
    metrics_add_one (page, "sliceup_rungs", page->scene->rungs_n);
    metrics_add_one (page, "sliceup_rungs_passed", page->scene->frontier);
    exposition_begin_family (&page->to, "sliceup_rung_hosts");
    for (uint32_t row = 0; row < rows_of (page); row++)
        for (uint32_t pass = PASS_ONCE; pass < BOARD_PASSES; pass++)
            add_rung_hosts (page, row, pass);
    add_rung_durations (page);
}

static void add_pass_ms (struct page *page, const char *family, uint64_t ms)
{
    const struct attempt_key *key = &page->scene->board->key;
    const struct label labels[] = {
        { "rung", rung_label (page, key->rung) },
        { "pass", text_of (enum_name_of (&pass_names, page->scene->board->rungs[key->rung].last)) },
        { 0 },
    };
    exposition_begin_family (&page->to, family);
    exposition_add_ms (&page->to, labels, ms);
}

static void add_running_pass (struct page *page)
{
    const struct scene *scene = page->scene;
    const struct board_pass *pass = board_running_pass (scene->board);
    if (pass == NULL)
        return;
    add_pass_ms (page, "sliceup_pass_duration_seconds",
                 scene->now_ms > pass->began_ms ? scene->now_ms - pass->began_ms : 0);
    add_pass_ms (page, "sliceup_pass_limit_seconds", scene->board->plan.rungs.items[scene->board->key.rung].timeout_ms);
    if (scene->usual == NULL)
        return;
    add_pass_ms (page, "sliceup_pass_usual_seconds", scene->usual->ms);
    add_pass_ms (page, "sliceup_pass_left_seconds", scene->left_ms);
}

/* ---- what hosts did ---- */

static void add_histogram (struct page *page, const struct label *labels, const struct histogram *of)
{
    uint64_t so_far = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        so_far += of->buckets[i];
        exposition_add_bucket (&page->to, labels, histogram_bounds_ms[i], so_far);
    }
    exposition_add_sum (&page->to, labels, of->sum_ms, of->count);
}

static void add_phases (struct page *page)
{
    exposition_begin_family (&page->to, "sliceup_phase_duration_seconds");
    for (uint32_t i = 0; i < PHASE_NAMES; i++) {
        const struct label labels[] = { { "phase", text_of (phase_names[i]) }, { 0 } };
        if (page->sums->phases[i].count)
            add_histogram (page, labels, &page->sums->phases[i]);
    }
    exposition_begin_family (&page->to, "sliceup_gate_wait_seconds");
    add_histogram (page, NULL, &page->sums->gates);
    metrics_add_one (page, "sliceup_retries", page->scene->board->retries_n);
    metrics_add_one (page, "sliceup_result_conflicts", page->scene->board->conflicts_n);
}

static void metrics_add_metrics (struct page *page)
{
    const struct board *board = page->scene->board;
    uint64_t counts[PROOF_UNPROVED + 1] = { 0 };
    for (uint32_t i = 0; i < board->metrics.n; i++)
        counts[board->metrics.items[i].proof <= PROOF_UNPROVED ? board->metrics.items[i].proof : PROOF_NONE]++;
    exposition_begin_family (&page->to, "sliceup_judged_metrics");
    for (uint32_t proof = PROOF_PROVED; proof <= PROOF_UNPROVED; proof++)
        add_by (page, "proof", enum_name_of (&proof_names, proof), counts[proof]);
    exposition_begin_family (&page->to, "sliceup_unproved_metric");
    for (uint32_t i = 0, named = 0; i < board->metrics.n && named < UNPROVED_NAMED; i++) {
        const struct board_metric *metric = &board->metrics.items[i];
        const struct label labels[] = { { "rung", rung_label (page, metric->key.rung) },
                                        { "metric", metric->name },
                                        { "proof", text_of (enum_name_of (&proof_names, metric->proof)) },
                                        { 0 } };
        if (metric->proof == PROOF_PROVED)
            continue;
        named += exposition_add (&page->to, labels, 1);
    }
}

static void metrics_add_cache (struct page *page)
{
    const struct board *board = page->scene->board;
    const struct board_generation *generation = &board->generation;
    bool used = !generation->dropped;
    add_one_ms (page, "sliceup_compile_seconds", board->compiling.compile_ms);
    metrics_add_one (page, "sliceup_cache_hits", board->compiling.hits);
    metrics_add_one (page, "sliceup_cache_misses", board->compiling.misses);
    metrics_add_one (page, "sliceup_cache_generation", used ? generation->token : 0);
    metrics_add_one (page, "sliceup_cache_entries", used ? generation->entries : 0);
    metrics_add_one (page, "sliceup_cache_bytes", used ? generation->bytes : 0);
    metrics_add_one (page, "sliceup_cache_adopted", used && generation->adopted);
    metrics_add_one (page, "sliceup_cache_lease", board->lease_token);
    metrics_add_one (page, "sliceup_cache_leases_lost", board->leases_lost_n);
    metrics_add_one (page, "sliceup_cache_violations", board->violations_n);
}

static void add_beside (struct page *page)
{
    static const char *const queues[QUEUES_N] = { "journal", "effects", "disk", "logs" };
    if (page->beside->drift_known)
        metrics_add_one (page, "sliceup_drift_findings", page->beside->drift);
    if (!page->beside->queues_known)
        return;
    exposition_begin_family (&page->to, "sliceup_queue_length");
    for (uint32_t i = 0; i < QUEUES_N; i++)
        add_by (page, "queue", queues[i], page->beside->queues[i]);
}

void metrics_print (const struct scene *scene, const struct host_sums *sums, const struct metrics_beside *beside,
                    struct buf *out)
{
    struct page page = { { out, beside->form, scene->board->plan.slice, NULL, 0 }, scene, sums, beside, 0 };
    choose_named (&page);
    if (scene->board->opened) {
        metrics_add_run (&page);
        add_state (&page);
        metrics_add_times (&page);
        metrics_add_hosts (&page);
        add_failing (&page);
        add_rungs (&page);
        add_running_pass (&page);
        add_phases (&page);
        metrics_add_metrics (&page);
        metrics_add_cache (&page);
        add_beside (&page);
    }
    add_one_ms (&page, "sliceup_metrics_timestamp_seconds", beside->wall_ms);
    exposition_end (&page.to);
}

void metrics_print_run (const struct feed *feed, const struct metrics_beside *beside, struct buf *out)
{
    LOCAL_ARENA arena = { 0 };
    struct scene_query everything;
    struct scene scene;
    struct host_sums sums;
    scene_query_init (&everything);
    scene_make (feed, &everything, beside->boot_ms, &arena, &scene);
    host_sums_make (&scene, &sums);
    metrics_print (&scene, &sums, beside, out);
}
