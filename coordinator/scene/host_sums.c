#include "coordinator/scene/host_sums.h"

#include <string.h>

#include "coordinator/scene/scene_private.h"

const uint64_t histogram_bounds_ms[HISTOGRAM_BUCKETS] = { 100, 1000, 5000, 15000, 60000, 300000, 1800000, UINT64_MAX };
const char *const phase_names[PHASE_NAMES] = { "files", "environment", "cache",   "start", "import",
                                               "init",  "trace",       "compile", "run",   "other" };

/* Of the same words most are asked for again and again. */
enum { WORDS_KNOWN = 256, GATE = PHASE_NAMES + 1 };
struct summing {
    const struct board *board;
    struct host_sums *sums;
    uint8_t places[WORDS_KNOWN]; /* of a word: its phase + 1, or GATE; 0: not looked for yet */
    bool *seen;                  /* a pass of a rung, of the host that is counted now */
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

static uint8_t place_of (struct text name)
{
    uint8_t i = 0;
    if (text_starts (name, GATE_SPAN))
        return GATE;
    while (i < PHASE_NAMES - 1 && !text_is (name, phase_names[i]))
        i++;
    return i + 1;
}

static void add_span (struct summing *summing, const struct board_span *span)
{
    uint8_t fresh = 0, *place = span->word < WORDS_KNOWN ? &summing->places[span->word] : &fresh;
    if (*place == 0)
        *place = place_of (board_word (summing->board, span->word));
    observe (*place == GATE ? &summing->sums->gates : &summing->sums->phases[*place - 1], span->ms);
}

static void note_progress (struct host_sums *sums, uint64_t at_ms)
{
    if (at_ms > sums->progress_ms)
        sums->progress_ms = at_ms;
}

static void add_attempt (struct summing *summing, uint32_t host, const struct board_attempt *attempt)
{
    struct host_sums *sums = summing->sums;
    const struct attempt_key *key = &attempt->key;
    if (key->rung >= sums->rungs_n || key->pass > PASS_RESTORED)
        return;
    for (uint32_t i = 0; i < attempt->spans_n; i++)
        add_span (summing, &attempt->spans[i]);
    note_progress (sums, attempt->ended ? attempt->ended_ms : attempt->began_ms);
    bool *seen = &summing->seen[key->rung * BOARD_PASSES + key->pass];
    if (*seen || attempt->purpose == PURPOSE_ISOLATION)
        return;
    *seen = true;
    sums->passes[key->rung][key->pass][scene_mark_of_attempt (summing->board, host, attempt)]++;
}

static void add_host (struct summing *summing, uint32_t at, uint64_t now_ms)
{
    const struct board_host *host = &summing->board->hosts[at];
    memset (summing->seen, 0, summing->sums->rungs_n * BOARD_PASSES * sizeof (*summing->seen));
    for (uint32_t i = host->attempts.n; i > 0; i--)
        add_attempt (summing, at, &host->attempts.items[i - 1]);
    if (host->phase.len && host->phase_since_ms <= now_ms)
        note_progress (summing->sums, host->phase_since_ms);
}

void host_sums_make (const struct feed *feed, const struct scene *scene, struct arena *arena, struct host_sums *out)
{
    struct summing summing = { .board = feed_board (feed), .sums = out };
    *out = (struct host_sums){ .rungs_n = scene->rungs_n };
    out->passes = arena_array (arena, scene->rungs_n, sizeof (*out->passes));
    summing.seen = arena_array (arena, scene->rungs_n, BOARD_PASSES * sizeof (*summing.seen));
    for (uint32_t i = 0; i < scene->hosts_n; i++)
        add_host (&summing, i, scene->now_ms);
}
