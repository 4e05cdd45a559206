/* explain_markdown.c - an explanation to paste into an issue: its causes, its questions as a table, what else differs. */
#include "coordinator/verdict/failure.h"
#include "coordinator/view/explain.h"
#include "coordinator/view/markdown.h"
#include "coordinator/view/receipt_text.h"

enum { LINE_BYTES = 1 << 20 };

static void add_hosts (struct buf *out, const struct explain_host_names *hosts, const char *what)
{
    struct buf line;
    if (hosts->n == 0)
        return;
    buf_init (&line, LINE_BYTES);
    hostset_fold (hosts->items, hosts->n, &line);
    buf_printf (&line, " %s", what);
    markdown_paragraph (out, "", "", buf_as_text (&line));
    buf_release (&line);
}

/* "h[0-1] failed [known host, disk-full]", "h0 failed, not judged yet [likely host, disk-full] so far" */
static void add_head (const struct explain_cause *cause, struct buf *out)
{
    struct buf line;
    buf_init (&line, LINE_BYTES);
    hostset_fold (cause->hosts.items, cause->hosts.n, &line);
    buf_printf (&line, " %s", explain_cause_outcome (cause));
    failure_print_owner (&line, cause->cause.certainty, cause->cause.owner, cause->cause.signature);
    buf_puts (&line, cause->outcome ? "" : " so far");
    markdown_paragraph (out, "**", "", buf_as_text (&line));
    buf_release (&line);
}

static void add_printed (const struct explain_cause *cause, struct buf *out)
{
    for (uint32_t i = 0; i < cause->printed_n; i++) {
        if (cause->printed[i].hosts.n < cause->hosts.n)
            add_hosts (out, &cause->printed[i].hosts, "evidence:");
        markdown_code (out, cause->printed[i].text);
    }
    if (cause->printed_more)
        buf_printf (out, "%u more host%s have other lines.\n\n", cause->printed_more,
                    cause->printed_more == 1 ? "" : "s");
}

static void add_others (const struct explanation *explanation, struct buf *out)
{
    struct explain_others others[EXPLAIN_OTHERS];
    explain_list_others (explanation, others);
    for (int i = 0; i < EXPLAIN_OTHERS; i++)
        add_hosts (out, &others[i].hosts, others[i].words);
}

void explain_markdown_causes (const struct explanation *explanation, struct buf *out)
{
    if (!explanation->rung.len)
        return;
    markdown_paragraph (out, "", explanation->preliminary ? "### Whose fault, so far, in rung " : "### Why rung ",
                        explanation->rung);
    if (!explanation->causes_n)
        markdown_paragraph (out, "", "", text_of (explain_no_cause (explanation)));
    for (uint32_t i = 0; i < explanation->causes_n; i++) {
        const struct explain_cause *cause = &explanation->causes[i];
        add_head (cause, out);
        add_printed (cause, out);
        markdown_paragraph (out, "", "Cause: ", cause->cause.text);
        if (cause->bad_line.len)
            markdown_paragraph (out, "", "It broke the canary protocol: ", cause->bad_line);
        if (cause->cause.next.len)
            markdown_paragraph (out, "", "Next: ", cause->cause.next);
    }
    add_others (explanation, out);
}

static void add_row (const struct explain_question *question, const struct explain_answer *answer, struct buf *out)
{
    static const char *const shown[] = { "", "clear", "not known", "look here" };
    struct buf hosts;
    buf_init (&hosts, LINE_BYTES);
    hostset_fold (answer->hosts.items, answer->hosts.n, &hosts);
    markdown_cell (out, text_of (question->question));
    markdown_cell (out, text_of (shown[answer->mark]));
    markdown_cell (out, buf_as_text (&hosts));
    markdown_cell (out, answer->text);
    markdown_row_end (out);
    buf_release (&hosts);
}

static void add_questions (const struct explanation *explanation, struct buf *out)
{
    markdown_table (out, "question | mark | hosts | answer");
    for (uint32_t i = 0; i < explanation->steps_n; i++)
        for (uint32_t k = 0; k < explanation->steps[i].answers_n; k++)
            add_row (&explanation->steps[i], &explanation->steps[i].answers[k], out);
    buf_byte (out, '\n');
}

static void add_rest (const struct explanation *explanation, struct buf *out)
{
    struct buf line;
    buf_init (&line, LINE_BYTES);
    for (uint32_t i = 0; i < explanation->metrics_n; i++) {
        buf_clear (&line);
        reduction_text (explanation->metrics[i], &line);
        markdown_item (out, "metric ", buf_as_text (&line));
    }
    for (uint32_t i = 0; i < explanation->differences.n; i++)
        markdown_item (out, "drift: ", explanation->differences.sentences[i]);
    if (explanation->differences.more)
        buf_printf (out, "- drift: %u more, listed by: sliceup drift --markdown\n", explanation->differences.more);
    for (uint32_t i = 0; i < explanation->history_n; i++)
        markdown_item (out, "before: ", explanation->history[i]);
    if (explanation->history_more)
        buf_printf (out, "- before: %u more, listed by: sliceup receipt --json\n", explanation->history_more);
    buf_release (&line);
}

void explain_markdown (const struct explanation *explanation, struct buf *out)
{
    const struct run_header *header = explanation->header;
    if (!header) {
        buf_puts (out, "The run was never begun: there is nothing to explain.\n");
        return;
    }
    struct text sentence = header->sentence.len ? header->sentence
                                                : TEXT_LIT ("not ended; this is how far it has come");
    markdown_paragraph (out, "**", "", sentence);
    markdown_paragraph (out, "", "Run ", text_clip (header->run, 8));
    explain_markdown_causes (explanation, out);
    add_questions (explanation, out);
    add_rest (explanation, out);
}
