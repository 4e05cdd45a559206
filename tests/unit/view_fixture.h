/* view_fixture.h - facts made by hand, put on a board: for the tests of views. */
#ifndef SLICEUP_TESTS_UNIT_VIEW_FIXTURE_H
#define SLICEUP_TESTS_UNIT_VIEW_FIXTURE_H

#include "common/base/utf8.h"
#include "coordinator/story/board.h"
#include "coordinator/view/line.h"
#include "coordinator/view/plain.h"
#include "rng_unit.h"
#include "sample.h"
#include "test.h"

enum { FACTS, TINY, ALL, SHOW_WALL_MS = 1700000000, SHOW_TOKEN = 9 };

/* Whatever a host might send to harm a terminal: CSI, OSC, C1, bell, newline, return, bidi, zero width, DEL, broken
 * UTF-8. */
static const char hostile[] = "\x1b[2J\x1b]0;t\x07\n\r\t\x9b"
                              "31m\xc2\x9b"
                              "2J\xe2\x80\xae\xe2\x80\x8b\x7f\xff\x01z";
#define HOSTILE ((struct text){ hostile, sizeof (hostile) - 1 })

struct show {
    struct board *board;
    struct arena arena;
    struct plan plan;
    uint64_t index, at_ms;
    struct buf lines;   /* of every fact, plain */
    struct style style; /* of `lines` */
    struct burst *burst;
    bool bursts; /* what hosts share waits for its time; else every fact is told by itself */
    void (*heard) (void *owner, const struct fact *fact); /* NULL: nobody else hears the facts */
    void *owner;
};

static inline void show_fact (struct show *show, struct fact fact)
{
    fact.index = fact_is_soft (fact.kind) ? 0 : ++show->index;
    fact.at_ms = show->at_ms;
    fact.wall_ms = SHOW_WALL_MS + show->at_ms;
    board_apply (show->board, &fact);
    if (show->heard)
        show->heard (show->owner, &fact);
    burst_fact (show->burst, show->board, &fact, show->at_ms, &show->style, &show->lines);
    if (!show->bursts)
        burst_tell (show->burst, show->board, UINT64_MAX, &show->style, &show->lines);
}

/* `plan` may be changed between show_make and show_open. */
static inline void show_make (struct show *show, uint32_t hosts)
{
    *show = (struct show){ .board = board_create (BOARD_JUDGED_STATE),
                           .burst = burst_create (),
                           .style = { .unicode = true } };
    buf_init (&show->lines, 16 << 20);
    sample_plan (&show->plan, hosts, &show->arena);
}

static inline void show_open (struct show *show)
{
    struct fact opened = { .kind = FACT_RUN_OPENED }, epoch = { .kind = FACT_EPOCH_BEGAN };
    opened.of.run_opened = (struct fact_run_opened){ .run = TEXT_LIT ("3fa9c1d2000000000000000000000000"),
                                                     .plan = show->plan,
                                                     .version = TEXT_LIT ("0.1.0") };
    epoch.of.epoch_began = (struct fact_epoch_began){ 1, 77, 0 };
    show_fact (show, opened);
    show_fact (show, epoch);
}

static inline void show_release (struct show *show)
{
    burst_destroy (show->burst);
    board_destroy (show->board);
    buf_release (&show->lines);
    arena_release (&show->arena);
}

static inline void show_joined (struct show *show, uint32_t host)
{
    struct fact fact = { .kind = FACT_HOST_JOINED };
    fact.of.host_joined = (struct fact_host_joined){ .host = host, .session = show->index + 1 };
    show_fact (show, fact);
}

static inline void show_lost (struct show *show, uint32_t host, struct text why)
{
    struct fact fact = { .kind = FACT_HOST_LOST };
    fact.of.host_lost = (struct fact_host_lost){ host, why };
    show_fact (show, fact);
}

static inline void show_suspected (struct show *show, uint32_t host, uint64_t silent_ms)
{
    struct fact fact = { .kind = FACT_HOST_SUSPECTED };
    fact.of.host_suspected = (struct fact_host_suspected){ host, silent_ms, SILENCE_NONE };
    show_fact (show, fact);
}

/* Hosts 0 .. n - 1. */
static inline struct attempt_key show_began (struct show *show, uint32_t rung, enum pass pass, uint32_t attempt,
                                             uint32_t n)
{
    struct fact fact = { .kind = FACT_PASS_BEGAN };
    uint32_t *hosts = arena_array (&show->arena, n, sizeof (*hosts));
    for (uint32_t i = 0; i < n; i++)
        hosts[i] = i;
    fact.of.pass_began.key = (struct attempt_key){ rung, pass, attempt };
    fact.of.pass_began.hosts.items = hosts;
    fact.of.pass_began.hosts.n = n;
    show_fact (show, fact);
    return fact.of.pass_began.key;
}

static inline void show_received (struct show *show, uint32_t host, struct holding held)
{
    struct fact fact = { .kind = FACT_HOST_REPORTED };
    if (held.key.pass == PASS_NONE)
        held.key = show->board->key;
    fact.of.host_reported.host = host;
    fact.of.host_reported.holdings.items = &held;
    fact.of.host_reported.holdings.n = 1;
    show_fact (show, fact);
}

static inline void show_phase (struct show *show, uint32_t host, const char *phase, uint64_t phase_ms)
{
    show_received (show, host,
                   (struct holding){ .state = ATTEMPT_RUNNING, .phase = text_of (phase), .phase_ms = phase_ms });
}

static inline void show_at_gate (struct show *show, uint32_t host, const char *gate)
{
    show_received (show, host,
                   (struct holding){ .state = ATTEMPT_AT_GATE, .phase = TEXT_LIT ("init"), .gate = text_of (gate) });
}

/* What a host reports that did everything right in the running pass. */
static inline void show_good_result (struct show *show, struct result *out)
{
    static const uint64_t secrets[HOSTS_MAX];
    const struct rung *rung = &show->plan.rungs.items[show->board->key.rung];
    struct msg_run run = { .key = show->board->key, .rung = *rung, .world = 1, .profile = show->plan.profile };
    run.cache.token = SHOW_TOKEN;
    run.cache.role = run.key.pass == PASS_COLD       ? CACHE_ROLE_WRITER
                     : run.key.pass == PASS_RESTORED ? CACHE_ROLE_READER
                                                     : CACHE_ROLE_NONE;
    if (rung->scope == SCOPE_SLICE)
        run.world = board_running_pass (show->board)->hosts_n;
    sample_result (&run, secrets, out, &show->arena);
}

/* A program that exits with 0 has reported all that its rung asks for. */
static inline void show_ended (struct show *show, uint32_t host, enum ending ending, uint32_t code)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    fact.of.attempt_ended.host = host;
    if (ending == ENDING_EXITED && code == 0)
        show_good_result (show, result);
    result->key = show->board->key;
    result->ending = ending;
    result->code = code;
    result->phase = TEXT_LIT ("run");
    show_fact (show, fact);
}

/* The program ended with exit status 1 and `line` in its output, which no signature knows. */
static inline void show_failed (struct show *show, uint32_t host, struct text line)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    struct result *result = &fact.of.attempt_ended.result;
    fact.of.attempt_ended.host = host;
    *result = (struct result){ .key = show->board->key, .ending = ENDING_EXITED, .code = 1, .phase = TEXT_LIT ("run") };
    result->shown.items = &line;
    result->shown.n = 1;
    show_fact (show, fact);
}

/* `verdicts`: of those that did not pass. */
static inline void show_pass_ended (struct show *show, enum outcome outcome, uint64_t duration_ms,
                                    struct verdict *verdicts, uint32_t n)
{
    struct fact fact = { .kind = FACT_PASS_ENDED };
    fact.of.pass_ended =
        (struct fact_pass_ended){ .key = show->board->key, .outcome = outcome, .duration_ms = duration_ms };
    fact.of.pass_ended.verdicts.items = verdicts;
    fact.of.pass_ended.verdicts.n = n;
    show_fact (show, fact);
}

static inline void show_run_ended (struct show *show, enum outcome outcome, uint32_t exit_status, struct text sentence)
{
    struct fact fact = { .kind = FACT_RUN_ENDED };
    fact.of.run_ended = (struct fact_run_ended){ outcome, exit_status, sentence };
    show_fact (show, fact);
}

/* Every host joined, at 200 ms. */
static inline void show_gathered (struct show *show, uint32_t hosts)
{
    show_make (show, hosts);
    show_open (show);
    show->at_ms = 200;
    for (uint32_t i = 0; i < hosts; i++)
        show_joined (show, i);
}

/* ---- what must hold of every output ---- */

static inline void assert_safe (const struct buf *out)
{
    struct text text = buf_as_text (out);
    for (uint32_t at = 0, len; at < text.len; at += len) {
        uint32_t character = 0;
        len = utf8_next (text, at, &character);
        if (len == 0 || (character != '\n' && !utf8_is_printable (character)))
            fail_msg ("byte %u (0x%02x) of the output is raw", at, (uint8_t) text.ptr[at]);
        len = len ? len : 1;
    }
}

static inline void assert_ascii (const struct buf *out)
{
    for (size_t i = 0; i < out->len; i++)
        if (out->ptr[i] >= 0x7f || (out->ptr[i] < 0x20 && out->ptr[i] != '\n'))
            fail_msg ("byte %zu (0x%02x) is no printable ASCII", i, out->ptr[i]);
}

/* No line wider than `columns` (0: any width), no more than `lines` of them. */
static inline uint32_t assert_fits (const struct buf *out, uint32_t columns, uint32_t lines)
{
    uint32_t n = 0;
    for (size_t from = 0, at = 0; at < out->len; at++) {
        if (out->ptr[at] != '\n')
            continue;
        uint32_t wide = text_columns ((struct text){ (const char *) out->ptr + from, (uint32_t) (at - from) });
        if (columns && wide > columns)
            fail_msg ("line %u is %u columns wide, %u are there: %.*s", n, wide, columns, (int) (at - from),
                      out->ptr + from);
        from = at + 1;
        n++;
    }
    if (n > lines)
        fail_msg ("%u lines, %u fit", n, lines);
    return n;
}

/* ---- facts that no coordinator would make ---- */

static inline struct text chaos_text (struct rng *rng)
{
    static char long_word[6000];
    memset (long_word, 'w', sizeof (long_word));
    switch (rng_below (rng, 5)) {
    case 0: return HOSTILE;
    case 1: return TEXT_LIT ("compile");
    case 2: return (struct text){ long_word, (uint32_t) rng_below (rng, sizeof (long_word)) };
    case 3: return TEXT_LIT ("\xe6\x97\xa5\xe6\x9c\xac"); /* two columns each */
    default: return (struct text){ 0 };
    }
}

static inline uint32_t chaos_number (struct rng *rng)
{
    return rng_below (rng, 8) ? (uint32_t) rng_below (rng, 6) : (uint32_t) rng_next (rng);
}

static inline struct attempt_key chaos_key (struct rng *rng)
{
    return (struct attempt_key){ chaos_number (rng), (enum pass) rng_below (rng, 5), chaos_number (rng) };
}

static inline uint32_t *chaos_hosts (struct rng *rng, struct arena *arena, uint32_t *n)
{
    *n = (uint32_t) rng_below (rng, 7);
    uint32_t *hosts = arena_array (arena, *n, sizeof (*hosts));
    for (uint32_t i = 0; i < *n; i++)
        hosts[i] = chaos_number (rng);
    return hosts;
}

static inline void chaos_verdicts (struct rng *rng, struct arena *arena, struct fact_pass_ended *ended)
{
    uint32_t n = (uint32_t) rng_below (rng, 40);
    struct verdict *verdicts = arena_array (arena, n, sizeof (*verdicts));
    for (uint32_t i = 0; i < n; i++)
        verdicts[i] = (struct verdict){ .host = chaos_number (rng),
                                        .outcome = (enum outcome) rng_below (rng, 9),
                                        .owner = (enum owner) rng_below (rng, 20),
                                        .cause = chaos_text (rng),
                                        .next = chaos_text (rng),
                                        .phase = chaos_text (rng) };
    *ended = (struct fact_pass_ended){ .key = chaos_key (rng),
                                       .outcome = (enum outcome) rng_below (rng, 9),
                                       .duration_ms = rng_next (rng) };
    ended->verdicts.items = verdicts;
    ended->verdicts.n = n;
}

static inline void chaos_received (struct rng *rng, struct arena *arena, struct fact_host_reported *received)
{
    struct holding *held = arena_alloc (arena, sizeof (*held));
    *held = (struct holding){ .key = chaos_key (rng),
                              .state = (enum attempt_state) rng_below (rng, 7),
                              .phase = chaos_text (rng),
                              .phase_ms = rng_next (rng),
                              .gate = chaos_text (rng) };
    received->host = chaos_number (rng);
    received->holdings.items = held;
    received->holdings.n = 1;
}

static inline void chaos_metric (struct rng *rng, struct arena *arena, struct fact_metric_judged *judged)
{
    struct text *axes = arena_array (arena, 2, sizeof (*axes));
    axes[0] = chaos_text (rng);
    axes[1] = chaos_text (rng);
    *judged = (struct fact_metric_judged){ .key = chaos_key (rng),
                                           .metric = chaos_text (rng),
                                           .value = rng_unit (rng) / 0.0,
                                           .proof = (enum proof) rng_below (rng, 12),
                                           .why = chaos_text (rng) };
    judged->axes.items = axes;
    judged->axes.n = 2;
}

static inline struct fact chaos_fact (struct rng *rng, struct arena *arena)
{
    static const enum fact_kind often[] = { FACT_PASS_BEGAN, FACT_PASS_ENDED, FACT_HOST_REPORTED, FACT_HOST_JOINED,
                                            FACT_ATTEMPT_ENDED };
    struct fact fact = { .kind = rng_below (rng, 2) ? often[rng_below (rng, 5)]
                                                    : (enum fact_kind) rng_below (rng, FACT_OUTPUT_AWAITED + 1) };
    switch (fact.kind) {
    case FACT_HOST_JOINED: fact.of.host_joined.host = chaos_number (rng); break;
    case FACT_HOST_KEYED: fact.of.host_keyed.host = chaos_number (rng); break;
    case FACT_HOST_LOST: fact.of.host_lost = (struct fact_host_lost){ chaos_number (rng), chaos_text (rng) }; break;
    case FACT_EPOCH_BEGAN: fact.of.epoch_began.epoch = rng_next (rng); break;
    case FACT_GENERATION_ADOPTED:
    case FACT_GENERATION_PUBLISHED:
        fact.of.generation = (struct fact_generation){
            .token = rng_next (rng), .bundle = chaos_text (rng), .bytes = rng_next (rng), .writer = chaos_number (rng)
        };
        break;
    case FACT_WRITER_GRANTED: fact.of.writer_granted.host = chaos_number (rng); break;
    case FACT_PASS_BEGAN:
        fact.of.pass_began.key = chaos_key (rng);
        fact.of.pass_began.hosts.items = chaos_hosts (rng, arena, &fact.of.pass_began.hosts.n);
        fact.of.pass_began.purpose = (enum purpose) rng_below (rng, 5);
        break;
    case FACT_PASS_SKIPPED:
        fact.of.pass_skipped = (struct fact_pass_skipped){ chaos_key (rng), chaos_text (rng) };
        break;
    case FACT_GATE_OPENED:
        fact.of.gate_opened = (struct fact_gate_opened){ chaos_key (rng), chaos_text (rng), chaos_text (rng) };
        break;
    case FACT_ATTEMPT_ENDED:
        fact.of.attempt_ended.host = chaos_number (rng);
        fact.of.attempt_ended.result = (struct result){ .key = chaos_key (rng),
                                                        .ending = (enum ending) rng_below (rng, 10),
                                                        .phase = chaos_text (rng),
                                                        .problem = chaos_text (rng) };
        break;
    case FACT_METRIC_JUDGED: chaos_metric (rng, arena, &fact.of.metric_judged); break;
    case FACT_PASS_ENDED: chaos_verdicts (rng, arena, &fact.of.pass_ended); break;
    case FACT_CANCEL_ASKED: fact.of.cancel_asked.level = chaos_number (rng); break;
    case FACT_CONFLICT_SEEN:
        fact.of.conflict_seen = (struct fact_conflict_seen){ .host = chaos_number (rng), .key = chaos_key (rng) };
        break;
    case FACT_RUN_ENDED:
        if (rng_below (rng, 20) == 0)
            fact.of.run_ended.sentence = chaos_text (rng);
        else
            fact.kind = FACT_NONE; /* seldom: much stops there */
        break;
    case FACT_PASS_STOPPED:
        fact.of.pass_stopped = (struct fact_pass_stopped){ .key = chaos_key (rng), .cause = chaos_text (rng) };
        fact.of.pass_stopped.culprits.items = chaos_hosts (rng, arena, &fact.of.pass_stopped.culprits.n);
        break;
    case FACT_LEASE_LOST:
        fact.of.lease_lost = (struct fact_lease_lost){ rng_below (rng, 4), chaos_number (rng), chaos_text (rng) };
        break;
    case FACT_CACHE_VIOLATED:
        fact.of.cache_violated.host = chaos_number (rng);
        fact.of.cache_violated.finding = (struct finding){ (enum finding_kind) rng_below (rng, 12), rng_next (rng),
                                                           chaos_text (rng), chaos_text (rng) };
        break;
    case FACT_GENERATION_DROPPED:
        fact.of.generation_dropped = (struct fact_generation_dropped){ rng_below (rng, 4), chaos_text (rng) };
        break;
    case FACT_RETRY_PLANNED:
        fact.of.retry_planned = (struct fact_retry_planned){ chaos_key (rng), rng_next (rng), chaos_number (rng),
                                                             chaos_text (rng), chaos_text (rng) };
        break;
    case FACT_SUSPECTS_NAMED:
        fact.of.suspects_named = (struct fact_suspects_named){ .key = chaos_key (rng),
                                                               .passes = chaos_number (rng),
                                                               .why = chaos_text (rng) };
        fact.of.suspects_named.suspects.items = chaos_hosts (rng, arena, &fact.of.suspects_named.suspects.n);
        break;
    case FACT_HOST_REPORTED: chaos_received (rng, arena, &fact.of.host_reported); break;
    case FACT_HOST_SUSPECTED:
        fact.of.host_suspected = (struct fact_host_suspected){ chaos_number (rng), rng_next (rng), rng_next (rng) % 5 };
        break;
    case FACT_OUTPUT_AWAITED: {
        struct last_output *group = arena_alloc (arena, sizeof (*group));
        *group = (struct last_output){ .line = chaos_text (rng), .quiet_ms = rng_next (rng) };
        group->hosts.items = chaos_hosts (rng, arena, &group->hosts.n);
        fact.of.output_awaited = (struct fact_output_awaited){ .key = chaos_key (rng) };
        fact.of.output_awaited.groups.items = group;
        fact.of.output_awaited.groups.n = 1;
        break;
    }
    default: break;
    }
    return fact;
}

#endif
