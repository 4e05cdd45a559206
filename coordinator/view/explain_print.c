/* explain_print.c - an explanation as a page, text or Markdown, and as JSON. */
#include <jansson.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/view/receipt_text.h"
#include "coordinator/view/record_json.h"

enum { SENTENCE_COLUMNS = 600, EVIDENCE_COLUMNS = 1200, ANSWERS_SHOWN = 8, LINE_BYTES = 1 << 20 };

/* ---- whose fault ---- */

static void explain_add_hosts (struct doc *doc, const struct explanation *of, const struct explain_host_names *hosts)
{
    doc_hosts (doc, hosts->items, hosts->n);
    receipt_name_slices (of->header, hosts->items, hosts->n, &doc->line);
}

static void explain_put_hosts (struct doc *doc, const struct explanation *of, const struct explain_host_names *hosts,
                               const char *words)
{
    if (hosts->n == 0)
        return;
    explain_add_hosts (doc, of, hosts);
    buf_printf (&doc->line, doc->markdown ? " %s" : "  %s", words);
    doc_put (doc, "  ", "");
}

/* Several lines as printed; each gets its own. */
static void explain_put_evidence (struct doc *doc, const struct explain_cause *cause, const struct explain_answer *of)
{
    bool of_some = of->hosts.n < cause->hosts.n;
    struct text rest = of->text;
    if (doc->markdown) {
        if (of_some) {
            doc_hosts (doc, of->hosts.items, of->hosts.n);
            buf_puts (&doc->line, " evidence:");
            doc_put (doc, NULL, "");
        }
        doc_code (doc, of->text);
        return;
    }
    buf_puts (doc->out, "    evidence");
    if (cause->printed_n > 1 || of_some) {
        buf_puts (doc->out, " of ");
        hostset_fold_escaped (of->hosts.items, of->hosts.n, SENTENCE_COLUMNS, doc->out);
    }
    for (const char *lead = ": "; rest.len; lead = "             ") {
        struct text line = text_take_until (&rest, '\n');
        buf_escaped_after (doc->out, lead, line, EVIDENCE_COLUMNS);
        buf_puts (doc->out, line.len ? "\n" : "");
    }
}

static void explain_put_printed (struct doc *doc, const struct explain_cause *cause)
{
    for (uint32_t i = 0; i < cause->printed_n; i++)
        explain_put_evidence (doc, cause, &cause->printed[i]);
    if (cause->printed_more == 0)
        return;
    buf_printf (&doc->line, "%u more hosts have other lines: sliceup logs", cause->printed_more);
    doc_put (doc, "    ", "");
}

/* "h[0-1] failed; whose: the host (certain; disk-full)", "h0 failed, not judged yet; whose: ... so far". */
static void explain_put_cause (struct doc *doc, const struct explanation *of, const struct explain_cause *cause)
{
    explain_add_hosts (doc, of, &cause->hosts);
    buf_printf (&doc->line, doc->markdown ? " %s" : "  %s",
                cause->outcome ? enum_name_of (&outcome_names, cause->outcome) : "failed, not judged yet");
    failure_print_owner (&doc->line, cause->cause.certainty, cause->cause.owner, cause->cause.else_owner,
                         cause->cause.signature);
    buf_puts (&doc->line, cause->outcome ? "" : " so far");
    doc_put_strong (doc, "  ");
    doc_say (doc, "    ", NULL, cause->cause.text);
    explain_put_printed (doc, cause);
    doc_say (doc, NULL, "Cause: ", cause->cause.text);
    doc_say (doc, "    broke the canary protocol: ", "It broke the canary protocol: ", cause->bad_line);
    doc_say (doc, "    next:    ", "Next: ", cause->cause.next);
}

void explain_print_causes (struct doc *doc, const struct explanation *explanation)
{
    if (!explanation->rung.len)
        return;
    if (!doc->markdown)
        buf_puts (doc->out, explanation->preliminary ? "\nwhose fault, so far\n" : "\nwhose fault\n");
    doc_say (doc, NULL, explanation->preliminary ? "### Whose fault, so far, in rung " : "### Why rung ",
             explanation->rung);
    doc_say (doc, "  ran ", "Ran: ", explanation->program);
    for (uint32_t i = 0; i < explanation->causes_n; i++)
        explain_put_cause (doc, explanation, &explanation->causes[i]);
    if (!explanation->causes_n)
        doc_say (doc, "  ", "",
                 explanation->preliminary ? TEXT_LIT ("none: no host failed this rung by itself so far")
                                          : TEXT_LIT ("none: no host failed this rung by itself"));
    explain_put_hosts (doc, explanation, &explanation->cascades, "aborted because others failed (cascade)");
    explain_put_hosts (doc, explanation, &explanation->running, "had not ended this rung");
    explain_put_hosts (doc, explanation, &explanation->ended, "ended without an error of their own; not judged yet");
    explain_put_hosts (doc, explanation, &explanation->passed, "passed this rung");
}

/* ---- the questions ---- */

static const char *const shown_marks[] = { "", "clear", "not known", "look here" };

static void explain_put_step (struct doc *doc, uint32_t number, const struct explain_question *step)
{
    static const char *const leads[] = { "     ", "     ", "   ? ", "   ! " };
    buf_printf (doc->out, "\n%u. %-52s %s\n", number, step->question, shown_marks[step->mark]);
    for (uint32_t i = 0; i < step->answers_n && i < ANSWERS_SHOWN; i++) {
        doc_hosts (doc, step->answers[i].hosts.items, step->answers[i].hosts.n);
        buf_puts (&doc->line, ": ");
        doc_text (doc, step->answers[i].text);
        doc_put (doc, leads[step->answers[i].mark], NULL);
    }
    if (step->answers_n > ANSWERS_SHOWN)
        buf_printf (doc->out, "     ... and %u other answers (--json has them all)\n", step->answers_n - ANSWERS_SHOWN);
}

static void explain_put_table (struct doc *doc, const struct explanation *explanation)
{
    doc_table (doc, "question | mark | hosts | answer");
    for (uint32_t i = 0; i < explanation->steps_n; i++)
        for (uint32_t k = 0; k < explanation->steps[i].answers_n; k++) {
            const struct explain_answer *answer = &explanation->steps[i].answers[k];
            doc_cell (doc, text_of (explanation->steps[i].question));
            doc_cell (doc, text_of (shown_marks[answer->mark]));
            doc_hosts (doc, answer->hosts.items, answer->hosts.n);
            doc_cell (doc, (struct text){ 0 });
            doc_cell (doc, answer->text);
            doc_row_end (doc);
        }
    buf_byte (doc->out, '\n');
}

static void explain_put_metrics (struct doc *doc, const struct explanation *explanation)
{
    for (uint32_t i = 0; i < explanation->metrics_n; i++) {
        buf_puts (doc->out, i || doc->markdown ? "" : "\nmetrics\n");
        reduction_text (explanation->metrics[i], &doc->line);
        doc_put_item (doc, "  ", "- metric ");
    }
}

/* ---- the page ---- */

static void explain_put_list (struct doc *doc, const char *heading, const char *lead, const struct text *items,
                              uint32_t n)
{
    if (n && !doc->markdown)
        buf_puts (doc->out, heading);
    for (uint32_t i = 0; i < n; i++) {
        doc_text (doc, items[i]);
        doc_put_item (doc, "  ", lead);
    }
}

static void explain_put_rest (struct doc *doc, const struct explanation *explanation)
{
    struct text run = text_clip (explanation->header->run, 8);
    const struct drift_sentence_list *differences = &explanation->differences;
    explain_put_list (doc, "\nhow the hosts differ\n", "- drift: ", differences->sentences, differences->n);
    if (differences->more && doc->markdown)
        buf_printf (doc->out, "- drift: %u more, listed by: sliceup drift --markdown\n", differences->more);
    else if (differences->more)
        buf_printf (doc->out, "  ... and in %u other ways, listed by: sliceup drift %.*s\n", differences->more,
                    TEXT_ARG (run));
    explain_put_list (doc, "\nwhat went before\n", "- before: ", explanation->history, explanation->history_n);
    if (explanation->history_more && doc->markdown)
        buf_printf (doc->out, "- before: %u more, listed by: sliceup receipt --json\n", explanation->history_more);
    else if (explanation->history_more)
        buf_printf (doc->out, "  ... and %u more: sliceup receipt %.*s --json has them\n", explanation->history_more,
                    TEXT_ARG (run));
}

static void explain_put_head (struct doc *doc, const struct run_header *header)
{
    const char *waits = doc->markdown ? "" : " (sliceup status shows what it waits for)";
    struct text run = text_clip (header->run, 8);
    if (!doc->markdown)
        buf_printf (&doc->line, "run %.*s: ", TEXT_ARG (run));
    if (header->sentence.len)
        doc_text (doc, header->sentence);
    else
        buf_printf (&doc->line, "not ended; this is how far it has come%s", waits);
    doc_put_strong (doc, "");
    doc_say (doc, NULL, "Run ", run);
}

void explain_print (const struct explanation *explanation, bool markdown, struct buf *out)
{
    struct doc doc = doc_begin (out, markdown);
    doc.columns = SENTENCE_COLUMNS;
    if (!explanation->header) {
        buf_printf (out, "%she run was never begun: there is nothing to explain%s\n", markdown ? "T" : "t",
                    markdown ? "." : "");
    } else {
        explain_put_head (&doc, explanation->header);
        explain_print_causes (&doc, explanation);
        if (!markdown)
            explain_put_metrics (&doc, explanation);
        for (uint32_t i = 0; i < explanation->steps_n && !markdown; i++)
            explain_put_step (&doc, i + 1, &explanation->steps[i]);
        if (markdown) {
            explain_put_table (&doc, explanation);
            explain_put_metrics (&doc, explanation);
        }
        explain_put_rest (&doc, explanation);
    }
    doc_end (&doc);
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
            list, json_pack ("{s:o, s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "hosts",
                             texts_json (cause->hosts.items, cause->hosts.n), "outcome",
                             enum_name_of (&outcome_names, cause->outcome), "owner",
                             enum_name_of (&owner_names, cause->cause.owner), "else_owner",
                             enum_json (&owner_names, cause->cause.else_owner), "certainty",
                             enum_json (&certainty_names, cause->cause.certainty), "signature",
                             text_or_null_json (cause->cause.signature), "recognised", (int) cause->recognised, "text",
                             text_or_null_json (cause->cause.text), "printed", json_printed (cause), "bad_line",
                             text_or_null_json (cause->bad_line), "next", text_or_null_json (cause->cause.next)));
    }
    return list;
}

static const char *const mark_words[] = { "none", "clear", "unknown", "suspect" };

static json_t *json_steps (const struct explanation *explanation)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < explanation->steps_n; i++) {
        const struct explain_question *step = &explanation->steps[i];
        json_t *answers = json_array ();
        for (uint32_t k = 0; k < step->answers_n; k++)
            json_array_append_new (answers,
                                   json_pack ("{s:s, s:o, s:o}", "mark", mark_words[step->answers[k].mark], "text",
                                              text_json (step->answers[k].text), "hosts",
                                              texts_json (step->answers[k].hosts.items, step->answers[k].hosts.n)));
        json_array_append_new (list, json_pack ("{s:s, s:s, s:s, s:o}", "id", step->id, "question", step->question,
                                                "mark", mark_words[step->mark], "answers", answers));
    }
    return list;
}

static json_t *json_metrics (const struct explanation *explanation)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < explanation->metrics_n; i++) {
        struct buf line = { .max = LINE_BYTES };
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
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "schema",
        "sliceup.explain/3", "run", text_or_null_json (header->run), "slice", text_or_null_json (header->slice),
        "sentence", text_or_null_json (header->sentence), "rung", text_or_null_json (explanation->rung), "program",
        text_or_null_json (explanation->program), "preliminary", (int) explanation->preliminary, "running",
        texts_json (explanation->running.items, explanation->running.n), "ended",
        texts_json (explanation->ended.items, explanation->ended.n), "causes", json_causes (explanation), "cascades",
        texts_json (explanation->cascades.items, explanation->cascades.n), "passed",
        texts_json (explanation->passed.items, explanation->passed.n), "metrics", json_metrics (explanation), "steps",
        header == &nobody ? json_array () : json_steps (explanation), "differences",
        texts_json (explanation->differences.sentences, explanation->differences.n), "history",
        texts_json (explanation->history, explanation->history_n), "history_left_out", (int) explanation->history_more);
    json_print_release (all, JSON_INDENT (2), out);
}
