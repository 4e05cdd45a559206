/* receipt_markdown.c - the receipt to paste into an issue. What stands below the table and the causes is the text. */
#include "coordinator/verdict/failure.h"
#include "coordinator/view/explain.h"
#include "coordinator/view/markdown.h"
#include "coordinator/view/receipt_text.h"

enum { LINE_BYTES = 1 << 20, REST_BYTES = 64 << 20 };

/* "failed [known host, disk-full]", "not judged yet [likely host, disk-full] so far" */
static void outcome_cell (const struct rung_receipt *rung, struct buf *line, struct buf *out)
{
    buf_clear (line);
    if (rung->purpose == PURPOSE_ISOLATION)
        buf_puts (line, rung->outcome == OUTCOME_PASSED ? "in parts: works" : "in parts: fails");
    else
        buf_puts (line, receipt_line_outcome (rung));
    buf_escaped_after (line, "; ", text_of (receipt_line_remark (rung)), LINE_BYTES);
    if (rung->purpose != PURPOSE_ISOLATION && rung->outcome != OUTCOME_PASSED && rung->cause.text.len) {
        failure_print_owner (line, rung->cause.certainty, rung->cause.owner, rung->cause.signature);
        buf_puts (line, rung->outcome ? "" : " so far");
    }
    markdown_cell (out, buf_as_text (line));
}

static void receipt_markdown_add_row (struct text rung, const struct receipt_line *of, struct buf *line,
                                      struct buf *out)
{
    buf_clear (line);
    buf_printf (line, "%s", of->rung->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, of->rung->pass));
    if (of->rung->attempt > 1)
        buf_printf (line, " attempt %u", of->rung->attempt);
    markdown_cell (out, rung);
    markdown_cell (out, buf_as_text (line));
    outcome_cell (of->rung, line, out);
    buf_clear (line);
    hostset_fold (of->hosts, of->hosts_n, line);
    markdown_cell (out, buf_as_text (line));
    buf_clear (line);
    receipt_line_durations (of, line);
    markdown_cell (out, buf_as_text (line));
    markdown_row_end (out);
}

static void add_ladder (const struct slice_receipt *receipt, const struct run_header *header, struct buf *out)
{
    struct arena arena = { 0 };
    struct receipt_line *lines;
    struct buf line;
    buf_init (&line, LINE_BYTES);
    markdown_table (out, "rung | pass | outcome | hosts | took");
    for (uint32_t i = 0; i < header->rungs.n; i++) {
        uint32_t n = receipt_lines_of_rung (receipt, header->run, header->rungs.items[i], &lines, &arena);
        for (uint32_t k = 0; k < n; k++)
            receipt_markdown_add_row (header->rungs.items[i], &lines[k], &line, out);
        if (n == 0) {
            markdown_cell (out, header->rungs.items[i]);
            buf_printf (out, "| | %s | | |\n", receipt_untried_rung (header, header->rungs.items[i]));
        }
        arena_reset (&arena);
    }
    buf_byte (out, '\n');
    buf_release (&line);
    arena_release (&arena);
}

static void receipt_markdown_add_causes (const struct slice_receipt *receipt, uint32_t run, struct buf *out)
{
    struct arena arena = { 0 };
    struct explanation explanation;
    struct slice_receipt one = *receipt;
    one.headers.items = &receipt->headers.items[run];
    one.headers.n = 1;
    explain_make (&one, NULL, NULL, &arena, &explanation);
    explain_markdown_causes (&explanation, out);
    arena_release (&arena);
}

static void receipt_markdown_add_run (const struct slice_receipt *receipt, uint32_t run, struct buf *rest,
                                      struct buf *out)
{
    const struct run_header *header = &receipt->headers.items[run];
    markdown_paragraph (out, "**", "",
                        header->sentence.len ? header->sentence
                                             : TEXT_LIT ("the run has not ended: this is how far it has come"));
    buf_clear (rest);
    receipt_text_head (receipt, header, false, rest);
    markdown_code (out, buf_as_text (rest));
    add_ladder (receipt, header, out);
    receipt_markdown_add_causes (receipt, run, out);
    buf_clear (rest);
    receipt_text_cache (receipt, header, rest);
    markdown_code (out, buf_as_text (rest));
}

void receipt_markdown (const struct slice_receipt *receipt, const struct drift_query *drift, struct buf *out)
{
    struct buf rest;
    buf_init (&rest, REST_BYTES);
    for (uint32_t i = 0; i < receipt->headers.n; i++)
        receipt_markdown_add_run (receipt, i, &rest, out);
    buf_clear (&rest);
    receipt_text_rest (receipt, drift, &rest);
    markdown_code (out, buf_as_text (&rest));
    buf_release (&rest);
}
