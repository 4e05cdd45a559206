#include "coordinator/report/compare.h"

#include <stdio.h>

#include "common/base/duration.h"
#include "coordinator/view/drift_sentence.h"
#include "coordinator/view/markdown.h"

/* One page: what is longer ends with how much is left out. SLOWER: by so much, and by a tenth. */
enum { CHANGES_SHOWN = 30, DRIFT_SHOWN = 15, PHASES_SHOWN = 12, LINE_BYTES = 4096, SLOWER_LEAST_MS = 100 };

static bool is_slower (uint64_t before_ms, uint64_t now_ms)
{
    return before_ms != UNKNOWN_MS && now_ms != UNKNOWN_MS && now_ms > before_ms &&
           now_ms - before_ms > before_ms / 10 && now_ms - before_ms >= SLOWER_LEAST_MS;
}

static void ms_cell (struct buf *out, uint64_t ms)
{
    char words[DURATION_TEXT_BYTES];
    markdown_cell (out, text_of (ms != UNKNOWN_MS ? duration_print (ms, words) : "-"));
}

static void ratio_cell (struct buf *out, uint64_t before_ms, uint64_t now_ms)
{
    bool slower = is_slower (before_ms, now_ms);
    char words[48];
    double ratio;
    if (compared_ratio (before_ms, now_ms, &ratio))
        snprintf (words, sizeof words, "%.2f%s", ratio, slower ? " slower" : "");
    else
        snprintf (words, sizeof words, "%s", slower ? "slower" : "-");
    markdown_cell (out, text_of (words));
}

static struct text outcome_text (enum outcome outcome)
{
    return text_of (outcome ? enum_name_of (&outcome_names, outcome) : "-");
}

static void place_cells (struct buf *out, const struct compared_pass *pass)
{
    markdown_cell (out, pass->rung);
    markdown_cell (out, text_of (pass->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, pass->pass)));
}

static void add_passes (const struct comparison *comparison, struct buf *out)
{
    markdown_table (out, "rung | pass | before | now | took before | takes now | now / before");
    for (uint32_t i = 0; i < comparison->passes_n; i++) {
        const struct compared_pass *pass = &comparison->passes[i];
        place_cells (out, pass);
        markdown_cell (out, outcome_text (pass->before));
        markdown_cell (out, outcome_text (pass->now));
        ms_cell (out, pass->before_ms);
        ms_cell (out, pass->now_ms);
        ratio_cell (out, pass->before_ms, pass->now_ms);
        markdown_row_end (out);
    }
    buf_byte (out, '\n');
}

/* "and 12 more" */
static void add_more (uint32_t n, struct buf *out)
{
    if (n)
        buf_printf (out, "\nand %u more\n", n);
    buf_byte (out, '\n');
}

static void add_phases (const struct comparison *comparison, struct buf *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < comparison->passes_n; i++)
        for (uint32_t k = 0; k < comparison->passes[i].phases_n; k++) {
            const struct compared_phase *phase = &comparison->passes[i].phases[k];
            if (!is_slower (phase->before_ms, phase->now_ms) || n++ >= PHASES_SHOWN)
                continue;
            if (n == 1)
                markdown_table (out, "rung | pass | slower phase | median before | median now | now / before");
            place_cells (out, &comparison->passes[i]);
            markdown_cell (out, phase->name);
            ms_cell (out, phase->before_ms);
            ms_cell (out, phase->now_ms);
            ratio_cell (out, phase->before_ms, phase->now_ms);
            markdown_row_end (out);
        }
    if (n)
        add_more (n > PHASES_SHOWN ? n - PHASES_SHOWN : 0, out);
    else
        markdown_paragraph (out, "", "", TEXT_LIT ("No phase is slower by a tenth and 100 ms."));
}

static void value_cell (struct buf *out, struct text value)
{
    markdown_cell (out, value.len ? text_clip (value, LINE_BYTES / 16) : TEXT_LIT ("not told"));
}

static void add_changes (const struct comparison *comparison, struct buf *out)
{
    if (comparison->changes_n == 0) {
        markdown_paragraph (out, "", "", TEXT_LIT ("Nothing changed of what was launched and what hosts told."));
        return;
    }
    markdown_table (out, "changed | name | before | now | hosts");
    for (uint32_t i = 0; i < comparison->changes_n && i < CHANGES_SHOWN; i++) {
        const struct compared_change *change = &comparison->changes[i];
        markdown_cell (out, change->what);
        markdown_cell (out, change->name);
        value_cell (out, change->before);
        value_cell (out, change->now);
        markdown_cell (out, change->hosts);
        markdown_row_end (out);
    }
    uint32_t all = comparison->changes_n + comparison->changes_more;
    add_more (all > CHANGES_SHOWN ? all - CHANGES_SHOWN : 0, out);
}

static void add_drift (const struct comparison *comparison, struct buf *out)
{
    static const struct drift_sentence_limits limits = { 200, 200 };
    struct buf line;
    if (comparison->new_drift_n == 0) {
        markdown_paragraph (out, "", "", TEXT_LIT ("The hosts differ in nothing in which they agreed before."));
        return;
    }
    buf_init (&line, LINE_BYTES);
    markdown_paragraph (out, "", "", TEXT_LIT ("The hosts now differ where they agreed before:"));
    for (uint32_t i = 0; i < comparison->new_drift_n && i < DRIFT_SHOWN; i++) {
        uint32_t at = 0;
        const struct drift_group *group = drift_minority_next (comparison->new_drift[i], &at);
        buf_clear (&line);
        if (group)
            drift_sentence (&comparison->drift, comparison->new_drift[i], group, &limits, &line);
        else
            buf_add_text (&line, comparison->new_drift[i]->fact);
        markdown_item (out, "", buf_as_text (&line));
    }
    add_more (comparison->new_drift_n > DRIFT_SHOWN ? comparison->new_drift_n - DRIFT_SHOWN : 0, out);
    buf_release (&line);
}

static void add_side (const char *lead, const struct run_header *header, enum outcome outcome, struct buf *out)
{
    struct buf line;
    buf_init (&line, LINE_BYTES);
    buf_puts (&line, "run ");
    buf_add_text (&line, header->run.len ? text_clip (header->run, RUN_SHOWN_BYTES) : TEXT_LIT ("unknown"));
    buf_puts (&line, " of ");
    buf_add_text (&line, header->slice.len ? header->slice : TEXT_LIT ("unknown"));
    buf_printf (&line, "%s%s%s%s", outcome ? ", " : "", outcome ? enum_name_of (&outcome_names, outcome) : "",
                header->ended_wall_ms ? "" : ", not ended", header->sentence.len ? ": " : "");
    buf_add_text (&line, text_clip (header->sentence, LINE_BYTES / 2));
    markdown_item (out, lead, buf_as_text (&line));
    buf_release (&line);
}

void comparison_markdown (const struct comparison *comparison, struct buf *out)
{
    add_side ("now: ", comparison->now, comparison->now_outcome, out);
    add_side ("before: ", comparison->before, comparison->before_outcome, out);
    buf_byte (out, '\n');
    add_passes (comparison, out);
    add_phases (comparison, out);
    add_changes (comparison, out);
    add_drift (comparison, out);
}
