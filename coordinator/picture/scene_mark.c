/* scene_mark.c - how hosts stand, as marks. */
#include "coordinator/picture/scene_private.h"

#include <stdio.h>
#include <string.h>

#include "common/base/utf8.h"

/* `badness` orders "worst first": failed, not yet judged, waiting, fine. */
static const struct {
    char letter;
    uint8_t badness;
    const char *word;
} marks[MARK_N] = {
    [MARK_TO_COME] = { '.', 3, "to come" },         [MARK_PASSED] = { 'P', 0, "passed" },
    [MARK_NOT_REACHED] = { '-', 1, "not reached" }, [MARK_RUNS] = { 'r', 5, "runs" },
    [MARK_AT_GATE] = { 'g', 4, "at a gate" },       [MARK_ENDED] = { 'e', 2, "ended" },
    [MARK_SO_FAR] = { 'f', 11, "failed so far" },   [MARK_CASCADE] = { 'c', 7, "cascade" },
    [MARK_CANCELLED] = { 'X', 8, "cancelled" },     [MARK_BLOCKED] = { 'B', 9, "blocked" },
    [MARK_TIMED_OUT] = { 'T', 12, "timed out" },    [MARK_LOST] = { 'L', 13, "lost" },
    [MARK_FAILED] = { 'F', 14, "failed" },          [MARK_SILENT] = { '?', 10, "silent" },
    [MARK_JOINING] = { 'j', 6, "not joined" },
};

char scene_mark_letter (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].letter : ' ';
}

const char *scene_mark_word (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].word : "";
}

const char *scene_mark_label (enum scene_mark mark, char out[MARK_LABEL_BYTES])
{
    snprintf (out, MARK_LABEL_BYTES, "%s", scene_mark_word (mark));
    for (char *at = strchr (out, ' '); at; at = strchr (at, ' '))
        *at = '-';
    return out;
}

uint32_t scene_mark_badness (enum scene_mark mark)
{
    return (uint32_t) mark < MARK_N ? marks[mark].badness : 0;
}

bool scene_mark_is_bad (enum scene_mark mark)
{
    return mark >= MARK_SO_FAR && mark < MARK_N && mark != MARK_JOINING;
}

enum scene_mark scene_mark_of_outcome (enum outcome outcome)
{
    static const enum scene_mark of[OUTCOME_N] = {
        [OUTCOME_NONE] = MARK_TO_COME,
        [OUTCOME_PASSED] = MARK_PASSED,
        [OUTCOME_NOT_REACHED] = MARK_NOT_REACHED,
        [OUTCOME_CASCADE] = MARK_CASCADE,
        [OUTCOME_BLOCKED] = MARK_BLOCKED,
        [OUTCOME_LOST] = MARK_LOST,
        [OUTCOME_FAILED] = MARK_FAILED,
        [OUTCOME_TIMED_OUT] = MARK_TIMED_OUT,
        [OUTCOME_CANCELLED] = MARK_CANCELLED,
    };
    return (uint32_t) outcome < OUTCOME_N ? of[outcome] : MARK_TO_COME;
}

const struct board_attempt *scene_attempt_of (const struct board *board, uint32_t host, const struct attempt_key *key)
{
    const struct board_host *of = &board->hosts[host];
    for (uint32_t i = of->attempts.n; i > 0; i--)
        if (attempt_key_equal (&of->attempts.items[i - 1].key, key))
            return &of->attempts.items[i - 1];
    return NULL;
}

bool scene_attempt_runs (const struct board *board, const struct board_attempt *attempt)
{
    return !attempt->ended && board->running && attempt_key_equal (&attempt->key, &board->key);
}

uint64_t scene_attempt_ms (const struct board *board, const struct board_attempt *attempt, uint64_t now_ms)
{
    if (attempt->ended || attempt->judged)
        return attempt->duration_ms;
    return scene_attempt_runs (board, attempt) && now_ms > attempt->began_ms ? now_ms - attempt->began_ms : 0;
}

uint64_t scene_attempt_ended_ms (const struct board_attempt *attempt)
{
    return attempt->ended && attempt->duration_ms ? attempt->began_ms + attempt->duration_ms : attempt->ended_ms;
}

static enum scene_mark mark_of_running (const struct board_host *host)
{
    if (host->life == BOARD_LOST)
        return MARK_LOST;
    return host->state == ATTEMPT_AT_GATE ? MARK_AT_GATE : MARK_RUNS;
}

enum scene_mark scene_mark_of_attempt (const struct board *board, uint32_t host, const struct board_attempt *attempt)
{
    if (attempt->judged)
        return scene_mark_of_outcome (attempt->outcome);
    if (attempt->ended)
        return attempt->outcome == OUTCOME_NONE ? MARK_ENDED : MARK_SO_FAR;
    return scene_attempt_runs (board, attempt) ? mark_of_running (&board->hosts[host]) : MARK_TO_COME;
}

enum scene_mark scene_mark_now (const struct board *board, uint32_t at)
{
    const struct board_host *host = &board->hosts[at];
    if (host->left_behind)
        return scene_mark_of_outcome (host->outcome);
    if (host->life == BOARD_LOST)
        return MARK_LOST;
    if (host->life != BOARD_JOINED)
        return MARK_JOINING;
    if (host->suspected)
        return MARK_SILENT;
    if (board->running && host->in_pass && host->ended)
        return host->so_far == OUTCOME_NONE ? MARK_ENDED : MARK_SO_FAR;
    if (board->running && host->in_pass)
        return mark_of_running (host);
    return scene_mark_of_outcome (host->outcome);
}

enum scene_mark scene_mark_at_end (const uint8_t *cells, uint32_t rungs)
{
    enum scene_mark worst = MARK_NOT_REACHED;
    for (uint32_t i = 0; i < rungs; i++)
        if (cells[i] != MARK_NOT_REACHED &&
            (worst == MARK_NOT_REACHED || scene_mark_badness (cells[i]) > scene_mark_badness (worst)))
            worst = cells[i];
    return worst;
}

/* ---- texts that can do no harm to a terminal ---- */

static bool is_safe (struct text text, uint32_t columns)
{
    uint32_t wide = 0;
    for (uint32_t at = 0, len; at < text.len; at += len) {
        uint32_t character = 0;
        len = utf8_next (text, at, &character);
        if (len == 0 || !utf8_is_printable (character))
            return false;
        wide += utf8_columns (character);
        if (wide > columns)
            return false;
    }
    return true;
}

struct text scene_text (struct arena *arena, struct text from, uint32_t columns)
{
    struct buf safe;
    if (is_safe (from, columns))
        return from;
    buf_init (&safe, 4 * (size_t) columns + 16); /* no character of a column has more than four bytes */
    buf_escaped (&safe, from, columns);
    return buf_finish (&safe, arena);
}
