/* explain_print.c - an explanation as text and as JSON. */
#include <jansson.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/view/explain.h"
#include "coordinator/view/markdown.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

enum { SENTENCE_COLUMNS = 600, EVIDENCE_COLUMNS = 1200, ANSWERS_SHOWN = 8, LINE_BYTES = 1 << 20 };

/* ---- text ---- */

static void explain_print_add_hosts (const struct explain_host_names *hosts, struct buf *out)
{
    hostset_fold_escaped (hosts->items, hosts->n, SENTENCE_COLUMNS, out);
}

static void explain_print_add_line (const char *label, struct text text, uint32_t columns, struct buf *out)
{
    if (!text.len)
        return;
    buf_puts (out, label);
    buf_escaped (out, text, columns);
    buf_byte (out, '\n');
}

/* Several lines as printed; each gets its own. */
static void add_evidence (const char *label, struct text evidence, struct buf *out)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i <= evidence.len; i++) {
        if (i < evidence.len && evidence.ptr[i] != '\n')
            continue;
        explain_print_add_line (from == 0 ? label : "             ", (struct text){ evidence.ptr + from, i - from },
                                EVIDENCE_COLUMNS, out);
        from = i + 1;
    }
}

static void explain_print_add_printed (const struct explain_cause *cause, struct buf *out)
{
    for (uint32_t i = 0; i < cause->printed_n; i++) {
        buf_puts (out, "    evidence");
        if (cause->printed_n > 1 || cause->printed[i].hosts.n < cause->hosts.n) {
            buf_puts (out, " of ");
            explain_print_add_hosts (&cause->printed[i].hosts, out);
        }
        add_evidence (": ", cause->printed[i].text, out);
    }
    if (cause->printed_more)
        buf_printf (out, "    %u more hosts have other lines: sliceup logs\n", cause->printed_more);
}

/* ", owner: host (known, disk-full)", ", owner: program (known)"; of older receipts the owner alone. */
static void add_owner (const struct explain_cause *of, struct buf *out)
{
    const struct cause *cause = &of->cause;
    buf_printf (out, "%s%s", of->outcome ? ", owner: " : "; owner so far: ", enum_name_of (&owner_names, cause->owner));
    if (!of->recognised && !cause->signature.len)
        buf_puts (out, " (no known error matched)\n");
    else if (cause->certainty)
        buf_printf (out, " (%s%s%.*s)\n", enum_name_of (&certainty_names, cause->certainty),
                    cause->signature.len ? ", " : "", TEXT_ARG (cause->signature));
    else
        buf_printf (out, "%s%.*s\n", cause->signature.len ? ", recognised as " : "", TEXT_ARG (cause->signature));
}

static void explain_print_add_cause (const struct explain_cause *cause, struct buf *out)
{
    buf_puts (out, "  ");
    explain_print_add_hosts (&cause->hosts, out);
    buf_printf (out, "  %s", explain_cause_outcome (cause));
    if (cause->cause.owner == OWNER_NONE) /* nobody has to act */
        buf_byte (out, '\n');
    else
        add_owner (cause, out);
    explain_print_add_line ("    ", cause->cause.text, SENTENCE_COLUMNS, out);
    explain_print_add_printed (cause, out);
    explain_print_add_line ("    broke the canary protocol: ", cause->bad_line, SENTENCE_COLUMNS, out);
    explain_print_add_line ("    next:    ", cause->cause.next, SENTENCE_COLUMNS, out);
}

static void add_others (const struct explain_host_names *hosts, const char *words, struct buf *out)
{
    if (hosts->n == 0)
        return;
    buf_puts (out, "  ");
    explain_print_add_hosts (hosts, out);
    buf_printf (out, "  %s\n", words);
}

static void explain_print_add_causes (const struct explanation *explanation, struct buf *out)
{
    struct explain_others others[EXPLAIN_OTHERS];
    if (!explanation->rung.len)
        return;
    buf_puts (out, explanation->preliminary ? "\nwhose fault, so far\n" : "\nwhose fault\n");
    for (uint32_t i = 0; i < explanation->causes_n; i++)
        explain_print_add_cause (&explanation->causes[i], out);
    if (!explanation->causes_n)
        buf_printf (out, "  %s\n", explain_no_cause (explanation));
    explain_list_others (explanation, others);
    for (int i = 0; i < EXPLAIN_OTHERS; i++)
        add_others (&others[i].hosts, others[i].words, out);
}

static void explain_print_add_metrics (const struct explanation *explanation, struct buf *out)
{
    for (uint32_t i = 0; i < explanation->metrics_n; i++) {
        buf_puts (out, i ? "  " : "\nmetrics\n  ");
        reduction_text (explanation->metrics[i], out);
        buf_byte (out, '\n');
    }
}

static void explain_print_add_step (uint32_t number, const struct explain_question *step, struct buf *out)
{
    static const char *const shown[] = { "", "clear", "not known", "look here" };
    buf_printf (out, "\n%u. %-52s %s\n", number, step->question, shown[step->mark]);
    for (uint32_t i = 0; i < step->answers_n && i < ANSWERS_SHOWN; i++) {
        const struct explain_answer *answer = &step->answers[i];
        buf_printf (out, "   %s ", answer->mark == EXPLAIN_SUSPECT ? "!" : answer->mark == EXPLAIN_UNKNOWN ? "?" : " ");
        explain_print_add_hosts (&answer->hosts, out);
        buf_puts (out, ": ");
        buf_escaped (out, answer->text, SENTENCE_COLUMNS);
        buf_byte (out, '\n');
    }
    if (step->answers_n > ANSWERS_SHOWN)
        buf_printf (out, "     ... and %u other answers (--json has them all)\n", step->answers_n - ANSWERS_SHOWN);
}

void explain_text (const struct explanation *explanation, struct buf *out)
{
    const struct run_header *header = explanation->header;
    if (!header) {
        buf_puts (out, "the run was never begun: there is nothing to explain\n");
        return;
    }
    struct text run = text_clip (header->run, 8);
    buf_printf (out, "run %.*s: ", TEXT_ARG (run));
    buf_escaped (out,
                 header->sentence.len
                     ? header->sentence
                     : TEXT_LIT ("not ended; this is how far it has come (sliceup status shows what it waits for)"),
                 SENTENCE_COLUMNS);
    buf_byte (out, '\n');
    explain_print_add_causes (explanation, out);
    explain_print_add_metrics (explanation, out);
    for (uint32_t i = 0; i < explanation->steps_n; i++)
        explain_print_add_step (i + 1, &explanation->steps[i], out);
    for (uint32_t i = 0; i < explanation->differences.n; i++) {
        if (i == 0)
            buf_puts (out, "\nhow the hosts differ\n");
        explain_print_add_line ("  ", explanation->differences.sentences[i], SENTENCE_COLUMNS, out);
    }
    if (explanation->differences.more)
        buf_printf (out, "  ... and in %u other ways, listed by: sliceup drift %.*s\n", explanation->differences.more,
                    TEXT_ARG (run));
    for (uint32_t i = 0; i < explanation->history_n; i++) {
        if (i == 0)
            buf_puts (out, "\nwhat went before\n");
        explain_print_add_line ("  ", explanation->history[i], SENTENCE_COLUMNS, out);
    }
    if (explanation->history_more)
        buf_printf (out, "  ... and %u more: sliceup receipt %.*s --json has them\n", explanation->history_more,
                    TEXT_ARG (run));
}

/* ---- JSON ---- */

static json_t *json_printed (const struct explain_cause *cause)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < cause->printed_n; i++)
        json_array_append_new (list, json_pack ("{s:o, s:o}", "text", text_json (cause->printed[i].text), "hosts",
                                                texts_json (cause->printed[i].hosts.items, cause->printed[i].hosts.n)));
    return list;
}

static json_t *json_causes (const struct explanation *explanation)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < explanation->causes_n; i++) {
        const struct explain_cause *cause = &explanation->causes[i];
        json_array_append_new (
            list, json_pack ("{s:o, s:s, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "hosts",
                             texts_json (cause->hosts.items, cause->hosts.n), "outcome",
                             enum_name_of (&outcome_names, cause->outcome), "owner",
                             enum_name_of (&owner_names, cause->cause.owner), "certainty",
                             enum_json (&certainty_names, cause->cause.certainty), "signature",
                             text_or_null_json (cause->cause.signature), "recognised", (int) cause->recognised, "text",
                             text_or_null_json (cause->cause.text), "printed", json_printed (cause), "bad_line",
                             text_or_null_json (cause->bad_line), "next", text_or_null_json (cause->cause.next)));
    }
    return list;
}

static json_t *json_steps (const struct explanation *explanation)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < explanation->steps_n; i++) {
        const struct explain_question *step = &explanation->steps[i];
        json_t *answers = json_array ();
        for (uint32_t k = 0; k < step->answers_n; k++)
            json_array_append_new (answers,
                                   json_pack ("{s:s, s:o, s:o}", "mark",
                                              enum_name_of (&explain_mark_names, step->answers[k].mark), "text",
                                              text_json (step->answers[k].text), "hosts",
                                              texts_json (step->answers[k].hosts.items, step->answers[k].hosts.n)));
        json_array_append_new (list,
                               json_pack ("{s:s, s:s, s:s, s:o}", "id", step->id, "question", step->question, "mark",
                                          enum_name_of (&explain_mark_names, step->mark), "answers", answers));
    }
    return list;
}

static json_t *json_metrics (const struct explanation *explanation)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < explanation->metrics_n; i++) {
        struct buf line;
        buf_init (&line, LINE_BYTES);
        reduction_text (explanation->metrics[i], &line);
        json_array_append_new (list, buf_take_json (&line));
    }
    return list;
}

void explain_json (const struct explanation *explanation, struct buf *out)
{
    static const struct run_header nobody;
    const struct run_header *header = explanation->header ? explanation->header : &nobody;
    json_t *all = json_pack (
        "{s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "schema",
        "sliceup.explain/3", "run", text_or_null_json (header->run), "slice", text_or_null_json (header->slice),
        "sentence", text_or_null_json (header->sentence), "rung", text_or_null_json (explanation->rung), "preliminary",
        (int) explanation->preliminary, "running", texts_json (explanation->running.items, explanation->running.n),
        "ended", texts_json (explanation->ended.items, explanation->ended.n), "causes", json_causes (explanation),
        "cascades", texts_json (explanation->cascades.items, explanation->cascades.n), "passed",
        texts_json (explanation->passed.items, explanation->passed.n), "metrics", json_metrics (explanation), "steps",
        header == &nobody ? json_array () : json_steps (explanation), "differences",
        texts_json (explanation->differences.sentences, explanation->differences.n), "history",
        texts_json (explanation->history, explanation->history_n), "history_left_out", (int) explanation->history_more);
    json_print_release (all, JSON_INDENT (2), out);
}

/* ---- explain markdown ---- */

/* An explanation to paste into an issue: its causes, its questions as a table, what else differs. */

enum { EXPLAIN_MARKDOWN_LINE_BYTES = 1 << 20 };

static void explain_markdown_add_hosts (struct buf *out, const struct explain_host_names *hosts, const char *what)
{
    struct buf line;
    if (hosts->n == 0)
        return;
    buf_init (&line, EXPLAIN_MARKDOWN_LINE_BYTES);
    hostset_fold (hosts->items, hosts->n, &line);
    buf_printf (&line, " %s", what);
    markdown_paragraph (out, "", "", buf_as_text (&line));
    buf_release (&line);
}

/* "h[0-1] failed [known host, disk-full]", "h0 failed, not judged yet [likely host, disk-full] so far" */
static void explain_print_add_head (const struct explain_cause *cause, struct buf *out)
{
    struct buf line;
    buf_init (&line, EXPLAIN_MARKDOWN_LINE_BYTES);
    hostset_fold (cause->hosts.items, cause->hosts.n, &line);
    buf_printf (&line, " %s", explain_cause_outcome (cause));
    failure_print_owner (&line, cause->cause.certainty, cause->cause.owner, cause->cause.signature);
    buf_puts (&line, cause->outcome ? "" : " so far");
    markdown_paragraph (out, "**", "", buf_as_text (&line));
    buf_release (&line);
}

static void explain_markdown_add_printed (const struct explain_cause *cause, struct buf *out)
{
    for (uint32_t i = 0; i < cause->printed_n; i++) {
        if (cause->printed[i].hosts.n < cause->hosts.n)
            explain_markdown_add_hosts (out, &cause->printed[i].hosts, "evidence:");
        markdown_code (out, cause->printed[i].text);
    }
    if (cause->printed_more)
        buf_printf (out, "%u more host%s have other lines.\n\n", cause->printed_more,
                    cause->printed_more == 1 ? "" : "s");
}

static void explain_markdown_add_others (const struct explanation *explanation, struct buf *out)
{
    struct explain_others others[EXPLAIN_OTHERS];
    explain_list_others (explanation, others);
    for (int i = 0; i < EXPLAIN_OTHERS; i++)
        explain_markdown_add_hosts (out, &others[i].hosts, others[i].words);
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
        explain_print_add_head (cause, out);
        explain_markdown_add_printed (cause, out);
        markdown_paragraph (out, "", "Cause: ", cause->cause.text);
        if (cause->bad_line.len)
            markdown_paragraph (out, "", "It broke the canary protocol: ", cause->bad_line);
        if (cause->cause.next.len)
            markdown_paragraph (out, "", "Next: ", cause->cause.next);
    }
    explain_markdown_add_others (explanation, out);
}

static void explain_print_add_row (const struct explain_question *question, const struct explain_answer *answer,
                                   struct buf *out)
{
    static const char *const shown[] = { "", "clear", "not known", "look here" };
    struct buf hosts;
    buf_init (&hosts, EXPLAIN_MARKDOWN_LINE_BYTES);
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
            explain_print_add_row (&explanation->steps[i], &explanation->steps[i].answers[k], out);
    buf_byte (out, '\n');
}

static void add_rest (const struct explanation *explanation, struct buf *out)
{
    struct buf line;
    buf_init (&line, EXPLAIN_MARKDOWN_LINE_BYTES);
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
