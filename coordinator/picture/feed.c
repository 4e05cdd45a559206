#include "coordinator/picture/scene.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/picture/scene_private.h"
#include "coordinator/view/plain.h"

/* ---- gates ---- */

enum { GATES_OF_PASS_MAX = 64 };

/* One gate of the pass, while its hosts are visited. */
struct gate_hosts {
    uint32_t word, last, least_ms, n;
    uint32_t next; /* next host: only one wait of each counts */
    uint32_t *ms;  /* of all of them, the last included */
    uint64_t opened_ms;
};

static struct gate_hosts *gate_for (const struct board *board, uint32_t word, struct gate_hosts *gates, uint32_t *n,
                                    struct arena *arena)
{
    for (uint32_t i = 0; i < *n; i++)
        if (gates[i].word == word)
            return &gates[i];
    if (*n == GATES_OF_PASS_MAX || !text_starts (board_word (board, word), GATE_SPAN))
        return NULL;
    gates[*n] = (struct gate_hosts){ .word = word, .least_ms = UINT32_MAX };
    gates[*n].ms = arena_array (arena, board->plan.hosts.n, sizeof (uint32_t));
    return &gates[(*n)++];
}

/* Its phases follow each other, cut to the attempt's length. */
static uint64_t span_end (const struct board_attempt *attempt, uint32_t span)
{
    uint64_t spent_ms = 0;
    for (uint32_t i = 0; i <= span; i++)
        spent_ms += attempt->spans[i].ms;
    return attempt->began_ms + (spent_ms < attempt->duration_ms ? spent_ms : attempt->duration_ms);
}

static void add_wait (struct gate_hosts *gate, uint32_t host, const struct board_attempt *attempt, uint32_t span)
{
    uint32_t ms = attempt->spans[span].ms;
    if (gate->n == 0 || ms < gate->least_ms) {
        gate->last = host;
        gate->least_ms = ms;
        gate->opened_ms = span_end (attempt, span);
    }
    gate->ms[gate->n++] = ms;
    gate->next = host + 1;
}

static uint32_t gate_table_collect (const struct board *board, const struct attempt_key *key, struct gate_hosts *gates,
                                    struct arena *arena)
{
    uint32_t n = 0;
    for (uint32_t host = 0; host < board->plan.hosts.n; host++) {
        const struct board_attempt *attempt = scene_attempt_of (board, host, key);
        for (uint32_t i = 0; attempt && i < attempt->spans_n; i++) {
            struct gate_hosts *gate = gate_for (board, attempt->spans[i].word, gates, &n, arena);
            if (gate && host >= gate->next)
                add_wait (gate, host, attempt, i);
        }
    }
    return n;
}

/* The shortest wait is the last host's. */
static struct gate_wait gate_sum (const struct attempt_key *key, struct gate_hosts *gate)
{
    struct gate_wait wait = {
        .key = *key, .word = gate->word, .last = gate->last, .hosts_n = gate->n, .opened_ms = gate->opened_ms
    };
    qsort (gate->ms, gate->n, sizeof (*gate->ms), u32_order);
    if (gate->n > 1) {
        wait.median_ms = gate->ms[1 + (gate->n - 1) / 2];
        wait.longest_ms = gate->ms[gate->n - 1];
    }
    return wait;
}

static void gate_table_add (struct gate_table *table, const struct gate_wait *wait)
{
    if (table->n == GATE_WAITS_MAX)
        memmove (table->items, table->items + 1, --table->n * sizeof (table->items[0]));
    table->items[table->n++] = *wait;
}

/* Call it once the board has folded the end of that pass. */
static void gate_table_add_pass (struct gate_table *table, const struct board *board, const struct attempt_key *key)
{
    LOCAL_ARENA arena = { 0 };
    struct gate_hosts gates[GATES_OF_PASS_MAX];
    for (uint32_t i = 0; i < table->n; i++)
        if (attempt_key_equal (&table->items[i].key, key))
            return;
    uint32_t n = gate_table_collect (board, key, gates, &arena);
    for (uint32_t i = 0; i < n; i++) {
        struct gate_wait wait = gate_sum (key, &gates[i]);
        gate_table_add (table, &wait);
    }
}

const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word)
{
    for (uint32_t i = 0; i < table->n; i++)
        if (table->items[i].word == word && attempt_key_equal (&table->items[i].key, key))
            return &table->items[i];
    return NULL;
}

struct text gate_wait_name (const struct board *board, const struct gate_wait *wait)
{
    struct text word = board_word (board, wait->word);
    if (text_starts (word, GATE_SPAN))
        text_skip (&word, sizeof GATE_SPAN - 1);
    return word;
}

/* ---- the feed ---- */

enum { LINES_BYTES = 8 << 20, REMARK_BYTES = 64 << 10, TENTH_MS = 100 };

struct feed {
    struct board *board;
    struct burst *burst; /* its clock is the run's */
    struct gate_table gates;
    struct buf lines;                           /* being made */
    struct feed_note notes[FEED_NOTES_KEPT];    /* by number; their texts are owned */
    uint64_t note_revisions[FEED_NUMBERS_KEPT]; /* by number */
    uint64_t notes_last;
    uint64_t heard_ms, lag_ms; /* of the newest fact: boot clock at its arrival, 0: long ago; its age then */
    bool frozen;
    uint64_t frozen_ms; /* run clock */
    struct scene_memo *memo;
    feed_note_fn *hear;
    void *hearer;
};

struct feed *feed_create (enum board_keep keep)
{
    struct feed *feed = mem_alloc (sizeof (*feed));
    feed->board = board_create (keep);
    feed->burst = burst_create ();
    feed->memo = mem_alloc (sizeof (*feed->memo));
    buf_init (&feed->lines, LINES_BYTES);
    return feed;
}

void feed_destroy (struct feed *feed)
{
    if (feed == NULL)
        return;
    for (uint32_t i = 0; i < FEED_NOTES_KEPT; i++)
        mem_free ((void *) feed->notes[i].text.ptr);
    for (uint32_t i = 0; i < SCENE_GROUPS_MAX; i++)
        arena_release (&feed->memo->groups[i].arena);
    arena_release (&feed->memo->arena);
    arena_release (&feed->memo->stands_arena);
    mem_free (feed->memo);
    burst_destroy (feed->burst);
    board_destroy (feed->board);
    buf_release (&feed->lines);
    mem_free (feed);
}

const struct board *feed_board (const struct feed *feed)
{
    return feed->board;
}

const struct gate_table *feed_gates (const struct feed *feed)
{
    return &feed->gates;
}

struct scene_memo *feed_memo (const struct feed *feed)
{
    return feed->memo;
}

void feed_listen (struct feed *feed, feed_note_fn *fn, void *owner)
{
    feed->hear = fn;
    feed->hearer = owner;
}

/* ---- the clock ---- */

/* Only the wall clocks of both processes give a fact's age. From there the boot clock counts, so a wall clock set
 * between two facts does not matter. */
static void take_age (struct feed *feed, const struct fact *fact, uint64_t boot_ms, uint64_t wall_ms)
{
    if (fact->at_ms < feed->board->clock_ms)
        return;
    feed->heard_ms = boot_ms;
    feed->lag_ms = wall_ms > fact->wall_ms ? wall_ms - fact->wall_ms : 0;
}

uint64_t feed_now_ms (const struct feed *feed, uint64_t boot_ms)
{
    uint64_t clock_ms = feed->board->clock_ms;
    if (feed->frozen)
        return feed->frozen_ms > clock_ms ? feed->frozen_ms : clock_ms;
    if (feed->board->ended || feed->heard_ms == 0)
        return clock_ms;
    uint64_t since_ms = boot_ms > feed->heard_ms ? boot_ms - feed->heard_ms : 0;
    uint64_t now_ms = clock_ms + feed->lag_ms + since_ms;
    return now_ms < clock_ms ? UINT64_MAX : now_ms;
}

void feed_freeze_clock (struct feed *feed, bool frozen, uint64_t boot_ms)
{
    if (frozen && !feed->frozen)
        feed->frozen_ms = feed_now_ms (feed, boot_ms);
    feed->frozen = feed->board->interrupted = frozen;
}

/* ---- notes ---- */

/* Removes our own printer's "[ 12.3 s] " from the front. */
static uint64_t take_clock (struct text *line)
{
    struct text clock = text_take_until (line, ']');
    uint64_t tenths = 0;
    for (uint32_t i = 0; i < clock.len; i++)
        if (clock.ptr[i] >= '0' && clock.ptr[i] <= '9')
            tenths = 10 * tenths + (uint64_t) (clock.ptr[i] - '0');
    if (line->len && line->ptr[0] == ' ')
        *line = (struct text){ line->ptr + 1, line->len - 1 };
    return tenths * TENTH_MS;
}

static void keep_note (struct feed *feed, uint64_t at_ms, struct text line)
{
    struct text kept = text_clip (line, FEED_NOTE_BYTES);
    struct feed_note *note = &feed->notes[++feed->notes_last % FEED_NOTES_KEPT];
    char *copy = mem_alloc (kept.len);
    memcpy (copy, kept.ptr, kept.len);
    mem_free ((void *) note->text.ptr);
    *note = (struct feed_note){ feed->notes_last, feed->board->revision, at_ms, .text = { copy, kept.len } };
    feed->note_revisions[feed->notes_last % FEED_NUMBERS_KEPT] = feed->board->revision;
    if (feed->hear)
        feed->hear (feed->hearer, at_ms, line);
}

static void keep_lines (struct feed *feed)
{
    struct text rest = buf_as_text (&feed->lines), line;
    while (text_cut (&rest, '\n', &line)) {
        uint64_t at_ms = take_clock (&line);
        keep_note (feed, at_ms, line);
    }
    buf_clear (&feed->lines);
}

static const struct style uncut = { .unicode = true };

void feed_apply (struct feed *feed, const struct fact *fact, uint64_t boot_ms, uint64_t wall_ms)
{
    const struct attempt_key *over = fact->kind == FACT_PASS_ENDED ? &fact->of.pass_ended.key : NULL;
    take_age (feed, fact, boot_ms, wall_ms);
    burst_tell (feed->burst, feed->board, fact->at_ms, &uncut, &feed->lines);
    board_apply (feed->board, fact);
    if (over && feed->board->opened)
        gate_table_add_pass (&feed->gates, feed->board, over);
    burst_fact (feed->burst, feed->board, fact, fact->at_ms, &uncut, &feed->lines);
    keep_lines (feed);
}

void feed_tick (struct feed *feed, uint64_t boot_ms)
{
    uint64_t now_ms = boot_ms == UINT64_MAX ? UINT64_MAX : feed_now_ms (feed, boot_ms);
    burst_tell (feed->burst, feed->board, now_ms, &uncut, &feed->lines);
    feed->board->revision += feed->lines.len > 0;
    keep_lines (feed);
}

void feed_add_remark (struct feed *feed, struct text remark)
{
    LOCAL_BUF safe = { .max = LINES_BYTES };
    buf_escaped (&safe, text_clip (remark, REMARK_BYTES), 0);
    feed->board->revision++;
    keep_note (feed, feed->board->clock_ms, buf_as_text (&safe));
    feed->notes[feed->notes_last % FEED_NOTES_KEPT].remark = true;
}

uint64_t feed_notes_last (const struct feed *feed)
{
    return feed->notes_last;
}

const struct feed_note *feed_note_at (const struct feed *feed, uint64_t number)
{
    const struct feed_note *note = &feed->notes[number % FEED_NOTES_KEPT];
    return number && note->number == number ? note : NULL;
}

uint64_t feed_notes_at_revision (const struct feed *feed, uint64_t revision)
{
    uint64_t number = feed->notes_last;
    uint64_t oldest = number > FEED_NUMBERS_KEPT ? number - FEED_NUMBERS_KEPT : 0;
    while (number > oldest && feed->note_revisions[number % FEED_NUMBERS_KEPT] > revision)
        number--;
    return number;
}
