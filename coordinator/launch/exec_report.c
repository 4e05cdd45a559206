#include "coordinator/launch/exec_hosts.h"

#include "common/base/duration.h"
#include "common/model/hostset.h"
#include "coordinator/launch/launch_process.h"
#include <jansson.h>

enum { SENTENCE_BYTES = 4096, CANCELLED = 130, NOT_ALL_REACHED = 3, NOT_ALL_WELL = 1 };

static bool is_well (const struct exec_host *host)
{
    const struct remote_end *end = &host->end;
    return host->state == EXEC_ENDED && end->how == REMOTE_EXITED && end->number == 0 && end->unkillable == 0;
}

/* ---- sentences ---- */

static void put_processes (uint32_t n, const char *one, const char *many, struct buf *out)
{
    if (n)
        buf_printf (out, "; %u %s", n, n == 1 ? one : many);
}

static void put_how (const struct remote_end *end, uint64_t timeout_ms, struct buf *out)
{
    char limit[DURATION_TEXT_BYTES];
    switch (end->how) {
    case REMOTE_NONE:
    case REMOTE_EXITED: buf_printf (out, "exit status %u", end->number); break;
    case REMOTE_SIGNALLED: launch_process_put_signal ((int) end->number, out); break;
    case REMOTE_TIMED_OUT:
        buf_printf (out, "still running after %s, ended (--timeout)", duration_print (timeout_ms, limit));
        break;
    case REMOTE_STOPPED: buf_puts (out, "stopped"); break;
    case REMOTE_NOT_STARTED: buf_escaped (out, end->why, 0); break;
    }
    if (end->how == REMOTE_EXITED || end->how == REMOTE_SIGNALLED) /* ending a command ends all that it started */
        put_processes (end->strays, "process that it left behind was killed",
                       "processes that it left behind were killed", out);
    put_processes (end->unkillable, "process could not be killed and runs on",
                   "processes could not be killed and run on", out);
}

/* Appends nothing if there is nothing to report. */
static void put_sentence (const struct exec_host *host, uint64_t timeout_ms, struct buf *out)
{
    char bound[DURATION_TEXT_BYTES];
    switch (host->state) {
    case EXEC_QUEUED:
    case EXEC_STARTS:
    case EXEC_RUNS: break;
    case EXEC_ENDED:
        if (!is_well (host) || host->end.strays)
            put_how (&host->end, timeout_ms, out);
        break;
    case EXEC_NOT_REACHED: buf_printf (out, "not reached: %s", host->why); break;
    case EXEC_LOST:
        buf_printf (out,
                    "the end is not confirmed: %s; the worker there ends the command within %s, unless it was killed",
                    host->why, duration_print (EXEC_SILENCE_MS + EXEC_ENDING_MS, bound));
        break;
    case EXEC_NOT_BEGUN: buf_puts (out, "not begun"); break;
    }
}

void exec_report_put_hosts (const struct exec_ends *ends, const bool *chosen, struct buf *out)
{
    LOCAL_MEM struct text *names = mem_array (ends->n, sizeof *names);
    uint32_t n = 0;
    for (uint32_t i = 0; i < ends->n; i++)
        if (chosen[i])
            names[n++] = ends->names[i];
    hostset_fold_escaped (names, n, 0, out);
    if (n > 1)
        buf_printf (out, " (%u hosts)", n);
}

/* Sentences of all hosts, and for each the first host that has the same. */
struct sentences {
    struct arena arena;
    struct text *items;
    bool *chosen;
};

static void open_sentences (const struct exec_ends *ends, struct sentences *sentences)
{
    *sentences = (struct sentences){ 0 };
    sentences->items = mem_array (ends->n, sizeof *sentences->items);
    sentences->chosen = mem_array (ends->n, sizeof *sentences->chosen);
    LOCAL_BUF sentence = { .max = SENTENCE_BYTES };
    for (uint32_t i = 0; i < ends->n; i++) {
        buf_clear (&sentence);
        put_sentence (ends->hosts[i], ends->timeout_ms, &sentence);
        sentences->items[i] = text_copy (&sentences->arena, buf_as_text (&sentence));
    }
}

static void close_sentences (struct sentences *sentences)
{
    mem_free (sentences->chosen);
    mem_free (sentences->items);
    arena_release (&sentences->arena);
}

/* Marks all that have the sentence of host `first`; false: one before it has. */
static bool choose_alike (const struct sentences *sentences, uint32_t n, uint32_t first)
{
    for (uint32_t i = 0; i < n; i++) {
        sentences->chosen[i] = text_equal (sentences->items[i], sentences->items[first]);
        if (sentences->chosen[i] && i < first)
            return false;
    }
    return true;
}

void exec_report_put_ends (const struct exec_ends *ends, struct buf *out)
{
    struct sentences sentences;
    open_sentences (ends, &sentences);
    for (uint32_t i = 0; i < ends->n; i++) {
        if (sentences.items[i].len == 0 || !choose_alike (&sentences, ends->n, i))
            continue;
        exec_report_put_hosts (ends, sentences.chosen, out);
        buf_puts (out, ": ");
        buf_add_text (out, sentences.items[i]);
        buf_byte (out, '\n');
    }
    close_sentences (&sentences);
}

static uint32_t count_well (const struct exec_ends *ends)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ends->n; i++)
        n += is_well (ends->hosts[i]);
    return n;
}

void exec_report_put_sum (const struct exec_ends *ends, struct buf *out)
{
    buf_printf (out, "exit status 0 on %u of %u host%s\n", count_well (ends), ends->n, plural (ends->n));
}

int exec_report_exit_status (const struct exec_ends *ends)
{
    if (ends->cancelled)
        return CANCELLED;
    for (uint32_t i = 0; i < ends->n; i++)
        if (ends->hosts[i]->state == EXEC_NOT_REACHED || ends->hosts[i]->state == EXEC_LOST)
            return NOT_ALL_REACHED;
    return count_well (ends) == ends->n ? 0 : NOT_ALL_WELL;
}

/* ---- the document ---- */

static const char *state_word (const struct exec_host *host)
{
    static const char *const words[] = { "", "", "", "", "not-reached", "not-confirmed", "not-begun" };
    return host->state == EXEC_ENDED ? enum_name_of (&remote_how_names, host->end.how) : words[host->state];
}

static json_t *hosts_json (const struct exec_ends *ends, const bool *chosen)
{
    LOCAL_MEM struct text *names = mem_array (ends->n, sizeof *names);
    LOCAL_ARENA arena = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < ends->n; i++)
        if (chosen[i])
            names[n++] = ends->names[i];
    struct text folded = hostset_folded (names, n, UINT32_MAX, &arena);
    return json_pack ("{s:s%, s:I}", "hosts", folded.ptr, (size_t) folded.len, "hosts_n", (json_int_t) n);
}

static json_t *end_json (const struct exec_ends *ends, const struct exec_host *host, const struct sentences *sentences,
                         struct text sentence)
{
    const struct remote_end *end = &host->end;
    json_t *object = hosts_json (ends, sentences->chosen);
    bool ended = host->state == EXEC_ENDED;
    json_object_set_new (object, "end", json_string (state_word (host)));
    json_object_set_new (object, "exit_status",
                         ended && end->how == REMOTE_EXITED ? json_integer (end->number) : json_null ());
    json_object_set_new (object, "signal",
                         ended && end->how == REMOTE_SIGNALLED ? json_integer (end->number) : json_null ());
    json_object_set_new (object, "strays", json_integer (end->strays));
    json_object_set_new (object, "unkillable", json_integer (end->unkillable));
    json_object_set_new (object, "sentence", json_stringn (sentence.len ? sentence.ptr : "", sentence.len));
    return object;
}

static json_t *ends_json (const struct exec_ends *ends)
{
    struct sentences sentences;
    json_t *list = json_array ();
    open_sentences (ends, &sentences);
    for (uint32_t i = 0; i < ends->n; i++)
        if (choose_alike (&sentences, ends->n, i))
            json_array_append_new (list, end_json (ends, ends->hosts[i], &sentences, sentences.items[i]));
    close_sentences (&sentences);
    return list;
}

/* Bytes that are no UTF-8 are shown as in the terminal: \xff. */
static json_t *text_json (struct text bytes, bool utf8)
{
    if (utf8)
        return json_stringn (bytes.len ? bytes.ptr : "", bytes.len);
    LOCAL_BUF escaped = { .max = 8 * (size_t) OUTPUT_KEPT_BYTES };
    buf_escaped (&escaped, bytes, 0);
    return json_stringn (buf_c (&escaped), escaped.len);
}

static json_t *output_json (const struct exec_ends *ends, const struct output_group *group, const bool *chosen)
{
    json_t *object = hosts_json (ends, chosen);
    bool utf8 = text_is_utf8 (group->head) && text_is_utf8 (group->tail);
    json_object_set_new (object, "output", text_json (group->head, utf8));
    json_object_set_new (object, "dropped_bytes", json_integer ((json_int_t) group->dropped_bytes));
    json_object_set_new (object, "output_end", text_json (group->tail, utf8));
    json_object_set_new (object, "escaped", json_boolean (!utf8));
    return object;
}

static json_t *outputs_json (const struct exec_ends *ends, const struct output_fold *fold)
{
    json_t *list = json_array ();
    LOCAL_MEM bool *chosen = mem_array (ends->n, sizeof *chosen);
    LOCAL_MEM bool *told = mem_array (output_fold_groups (fold), sizeof *told);
    for (uint32_t i = 0; i < ends->n; i++) {
        uint32_t group = output_fold_group_of (fold, i);
        if (group == OUTPUT_NO_GROUP || told[group])
            continue;
        told[group] = true;
        for (uint32_t k = 0; k < ends->n; k++)
            chosen[k] = output_fold_group_of (fold, k) == group;
        json_array_append_new (list, output_json (ends, output_fold_group (fold, group), chosen));
    }
    return list;
}

void exec_report_put_json (const struct exec_ends *ends, const struct output_fold *fold, struct buf *out)
{
    json_auto_t *document = json_pack ("{s:s, s:I, s:I, s:I, s:o, s:o}", "schema", "sliceup.exec/1", "hosts_n",
                                       (json_int_t) ends->n, "well_n", (json_int_t) count_well (ends), "exit_status",
                                       (json_int_t) exec_report_exit_status (ends), "outputs",
                                       outputs_json (ends, fold), "ends", ends_json (ends));
    LOCAL_MEM char *words = document ? json_dumps (document, JSON_INDENT (2) | JSON_ENSURE_ASCII) : NULL;
    if (words) {
        for (const char *at = words; *at; at++) /* DEL is the one that jansson leaves */
            buf_puts (out, *at == 0x7f ? "\\u007f" : (char[]){ *at, '\0' });
        buf_byte (out, '\n');
    }
}
