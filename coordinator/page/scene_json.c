#include "coordinator/page/scene_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/view/record_json.h"

enum {
    GROUP_TEXT_BYTES = 8192,
    NOTE_TEXT_BYTES = 4096,
    METRICS_BYTES = 8192,
    METRIC_BYTES = 96,
    ONE_TEXT_BYTES = 1024
};
enum {
    GROUPS_SHOWN = 64,
    GATES_SHOWN = 64,
    WORDS_MAX = 52,
    WORD_BYTES = 64,
    NAMES_COLUMNS = 256,
    NUMBER_DIGITS_MAX = 9,
    NO_RUN = -1
};

/* ---- pieces ---- */

static void set (json_t *object, const char *name, json_t *value)
{
    json_object_set_new (object, name, value);
}

static void set_number (json_t *object, const char *name, uint64_t number)
{
    set (object, name, json_integer ((json_int_t) number));
}

static void set_word (json_t *object, const char *name, const struct enum_names *names, uint32_t value)
{
    set (object, name, value ? json_string (enum_name_of (names, value)) : json_null ());
}

/* As much of the text as `room` has left for it. */
static json_t *take_text (struct text text, uint32_t *room)
{
    struct text part = text_clip (text, *room < ONE_TEXT_BYTES ? *room : ONE_TEXT_BYTES);
    *room -= part.len;
    return text_json (part);
}

static json_t *index_or_null (uint32_t index)
{
    return index == SCENE_NOBODY ? json_null () : json_integer (index);
}

static json_t *host_name (const struct scene *scene, uint32_t rank)
{
    return rank < scene->tiles_n ? text_json (scene->tiles[rank].name) : json_null ();
}

/* ---- run lengths: a letter, and behind it how many in a row, where that is more than one ---- */

struct run_lengths {
    struct buf out;
    char letter;
    uint32_t n;
};

static void end_run (struct run_lengths *runs)
{
    if (runs->n)
        buf_byte (&runs->out, (uint8_t) runs->letter);
    if (runs->n > 1)
        buf_printf (&runs->out, "%" PRIu32, runs->n);
    runs->n = 0;
}

static void add_letter (struct run_lengths *runs, char letter)
{
    if (letter != runs->letter)
        end_run (runs);
    runs->letter = letter;
    runs->n++;
}

static void begin_runs (struct run_lengths *runs)
{
    memset (runs, 0, sizeof *runs);
    buf_init (&runs->out, 1 << 20);
}

static json_t *take_runs (struct run_lengths *runs)
{
    end_run (runs);
    return buf_take_json (&runs->out);
}

static json_t *marks_json (const struct scene *scene, uint32_t rung, bool now)
{
    struct run_lengths runs;
    begin_runs (&runs);
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        add_letter (&runs, scene_mark_letter (now ? scene->tiles[i].now : scene->tiles[i].cells[rung]));
    return take_runs (&runs);
}

static json_t *ranks_json (const uint32_t *ranks, uint32_t n)
{
    struct run_lengths runs;
    begin_runs (&runs);
    for (uint32_t i = 0, rank = 0; i < n; i++) {
        for (; rank < ranks[i]; rank++)
            add_letter (&runs, '.');
        if (rank == ranks[i]) /* ranks rise; what does not is left out */
            add_letter (&runs, 'x'), rank++;
    }
    return take_runs (&runs);
}

/* ---- the phase of each host: words, and which of them it is in ---- */

struct words {
    json_t *list;
    struct text known[WORDS_MAX];
    uint32_t n;
};

/* Words that find no place are the first, which is empty. */
static uint32_t word_index (struct words *words, struct text word, const char *mark)
{
    char full[WORD_BYTES];
    for (uint32_t i = 0; i < words->n; i++)
        if (text_equal (words->known[i], word))
            return i;
    if (words->n == WORDS_MAX)
        return 0;
    struct text part = text_clip (word, WORD_BYTES - 8);
    snprintf (full, sizeof full, "%s%.*s", word.len ? mark : "", TEXT_ARG (part));
    json_array_append_new (words->list, text_json (text_of (full)));
    words->known[words->n] = word;
    return words->n++;
}

static json_t *phases_json (const struct scene *scene)
{
    struct words phases = { .list = json_array () };
    struct run_lengths runs;
    begin_runs (&runs);
    word_index (&phases, (struct text){ 0 }, "");
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        const struct scene_tile *tile = &scene->tiles[i];
        bool waits = tile->now == MARK_AT_GATE;
        uint32_t index = word_index (&phases, waits ? tile->gate : tile->phase, waits ? "gate:" : "");
        add_letter (&runs, (char) (index < 26 ? 'A' + index : 'a' + index - 26));
    }
    return json_pack ("{s:o,s:o}", "words", phases.list, "of", take_runs (&runs));
}

/* ---- names: prefix, first and last number, digits to pad to, suffix ---- */

struct name_run {
    struct text prefix, suffix;
    int64_t first, last;
    uint32_t digits;
};

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

/* Its last number is what counts up; a name without one, or with a very long one, stands alone. */
static struct name_run split_name (struct text name)
{
    struct name_run run = { .prefix = name, .first = NO_RUN, .last = NO_RUN };
    uint32_t end = name.len;
    uint64_t number = 0;
    while (end && !is_digit (name.ptr[end - 1]))
        end--;
    uint32_t begin = end;
    while (begin && is_digit (name.ptr[begin - 1]))
        begin--;
    if (end == begin || end - begin > NUMBER_DIGITS_MAX)
        return run;
    text_to_u64 ((struct text){ name.ptr + begin, end - begin }, &number);
    run.prefix.len = begin;
    run.suffix = (struct text){ name.ptr + end, name.len - end };
    run.first = run.last = (int64_t) number;
    run.digits = name.ptr[begin] == '0' && end - begin > 1 ? end - begin : 0;
    return run;
}

/* Is `next` the name behind the last of `run`? A number that is longer than the padding has none. */
static bool name_follows (const struct name_run *run, const struct name_run *next)
{
    char wanted[32], is[32];
    if (next->first == NO_RUN || next->first != run->last + 1 || !text_equal (run->prefix, next->prefix) ||
        !text_equal (run->suffix, next->suffix))
        return false;
    snprintf (wanted, sizeof wanted, "%0*" PRId64, (int) run->digits, next->first);
    snprintf (is, sizeof is, "%0*" PRId64, (int) next->digits, next->first);
    return strcmp (wanted, is) == 0;
}

static void add_name_run (json_t *list, const struct name_run *run)
{
    json_t *item = json_array ();
    json_array_append_new (item, text_json (run->prefix));
    json_array_append_new (item, json_integer (run->first));
    json_array_append_new (item, json_integer (run->last));
    json_array_append_new (item, json_integer (run->digits));
    json_array_append_new (item, text_json (run->suffix));
    json_array_append_new (list, item);
}

static json_t *names_json (const struct scene *scene)
{
    json_t *list = json_array ();
    struct name_run run = { 0 };
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        struct name_run next = split_name (scene->tiles[i].name);
        if (i && name_follows (&run, &next)) {
            run.last = next.last;
            continue;
        }
        if (i)
            add_name_run (list, &run);
        run = next;
    }
    if (scene->tiles_n)
        add_name_run (list, &run);
    return list;
}

/* ---- the parts of a state ---- */

static json_t *summary_json (const struct scene *scene, bool interrupted)
{
    json_t *out = json_object ();
    set (out, "slice", text_json (scene->slice));
    set (out, "ladder", text_json (scene->ladder));
    set (out, "version", text_json (scene->version));
    set (out, "mesh", text_json (scene->mesh));
    set (out, "state", json_string (scene->ended ? "ended" : interrupted ? "interrupted" : "running"));
    set_word (out, "outcome", &outcome_names, scene->outcome);
    set_number (out, "exit_status", scene->exit_status);
    set (out, "sentence", text_json (scene->sentence));
    set_number (out, "opened_wall_ms", scene->opened_wall_ms);
    set_number (out, "hosts", scene->hosts_n);
    set_number (out, "joined", scene->joined_n);
    set_number (out, "silent", scene->silent_n);
    set_number (out, "lost", scene->lost_n);
    set_number (out, "columns", scene->columns);
    set_number (out, "frontier", scene->frontier);
    set_number (out, "left_ms", scene->left_ms);
    set_number (out, "usual_ms", scene->usual_ms);
    set_number (out, "usual_runs", scene->usual_runs);
    set (out, "cancelling", json_boolean (scene->cancelling));
    set (out, "waiting", texts_json (scene->waiting, scene->waiting_n));
    set_number (out, "generation", scene->counts.generation);
    set_number (out, "entries", scene->counts.entries);
    set_number (out, "bytes", scene->counts.bytes);
    set (out, "adopted", json_boolean (scene->counts.adopted));
    return out;
}

static json_t *rung_json (const struct scene *scene, uint32_t index)
{
    const struct scene_rung *rung = &scene->rungs[index];
    json_t *out = json_object ();
    set_number (out, "index", index);
    set (out, "id", text_json (rung->id));
    set_word (out, "outcome", &outcome_names, rung->outcome);
    set_word (out, "pass", &pass_names, rung->pass);
    set_number (out, "attempt", rung->attempt);
    set (out, "running", json_boolean (rung->running));
    set (out, "slice_wide", json_boolean (rung->slice_wide));
    set_number (out, "began_ms", rung->began_ms);
    set_number (out, "spent_ms", rung->spent_ms);
    set_number (out, "limit_ms", rung->limit_ms);
    set_number (out, "hosts", rung->hosts_n);
    set_number (out, "ended", rung->ended_n);
    set (out, "cells", marks_json (scene, index, false));
    return out;
}

static json_t *short_names (struct text folded, uint32_t *room)
{
    struct buf names;
    buf_init (&names, ONE_TEXT_BYTES);
    buf_escaped (&names, folded, NAMES_COLUMNS); /* cut with an ellipsis */
    json_t *json = take_text (buf_as_text (&names), room);
    buf_release (&names);
    return json;
}

static json_t *group_json (const struct scene_group *group, uint32_t *room)
{
    json_t *out = json_object ();
    set_number (out, "rung", group->rung);
    set_word (out, "pass", &pass_names, group->pass);
    set_word (out, "outcome", &outcome_names, group->outcome);
    set_word (out, "owner", &owner_names, group->owner);
    set_word (out, "certainty", &certainty_names, certainty_of_owner (group->owner, group->likely));
    set (out, "preliminary", json_boolean (group->preliminary));
    set (out, "signature", take_text (group->signature, room));
    set (out, "line", take_text (group->line, room));
    set (out, "cause", take_text (group->cause, room));
    set (out, "next", take_text (group->next, room));
    set (out, "phase", take_text (group->phase, room));
    set (out, "names", short_names (group->names, room));
    set (out, "ranks", ranks_json (group->ranks, group->n));
    set_number (out, "count", group->n);
    set (out, "cause_group", index_or_null (group->cause_group));
    return out;
}

static json_t *groups_json (const struct scene *scene)
{
    json_t *list = json_array ();
    uint32_t room = GROUP_TEXT_BYTES;
    for (uint32_t i = 0; i < scene->groups_n && i < GROUPS_SHOWN; i++)
        json_array_append_new (list, group_json (&scene->groups[i], &room));
    return list;
}

static json_t *metrics_json (const struct scene *scene)
{
    json_t *list = json_array ();
    uint32_t room = METRICS_BYTES;
    for (uint32_t i = 0; i < scene->metrics_n && room > METRIC_BYTES; i++) {
        room -= METRIC_BYTES;
        const struct scene_metric *metric = &scene->metrics[i];
        json_t *out = json_object (), *value = json_real (metric->value);
        set_number (out, "rung", metric->rung);
        set_word (out, "pass", &pass_names, metric->pass);
        set (out, "name", take_text (metric->name, &room));
        set (out, "axes", take_text (metric->axes, &room));
        set (out, "value", value ? value : json_null ()); /* jansson has no number that is not finite */
        set_word (out, "proof", &proof_names, metric->proof);
        set (out, "why", take_text (metric->why, &room));
        set (out, "culprits", take_text (metric->culprits, &room));
        json_array_append_new (list, out);
    }
    return list;
}

static json_t *gates_json (const struct scene *scene)
{
    json_t *list = json_array ();
    for (uint32_t i = scene->gates_n > GATES_SHOWN ? scene->gates_n - GATES_SHOWN : 0; i < scene->gates_n; i++) {
        const struct scene_gate *gate = &scene->gates[i];
        json_t *out = json_object ();
        set_number (out, "rung", gate->rung);
        set_word (out, "pass", &pass_names, gate->pass);
        set_number (out, "attempt", gate->attempt);
        set (out, "gate", text_json (text_clip (gate->gate, WORD_BYTES)));
        set (out, "last", host_name (scene, gate->last));
        set_number (out, "hosts", gate->hosts_n);
        set_number (out, "median_wait_ms", gate->median_wait_ms);
        set_number (out, "longest_wait_ms", gate->longest_wait_ms);
        set_number (out, "opened_ms", gate->opened_ms);
        json_array_append_new (list, out);
    }
    return list;
}

static void set_notes (json_t *out, const struct scene *scene)
{
    json_t *list = json_array ();
    uint32_t room = NOTE_TEXT_BYTES, first = scene->notes_n;
    while (first && scene->notes[first - 1]->text.len <= room)
        room -= scene->notes[--first]->text.len;
    for (uint32_t i = first; i < scene->notes_n; i++) {
        const struct feed_note *note = scene->notes[i];
        json_array_append_new (
            list, json_pack ("[I,I,o]", (json_int_t) note->number, (json_int_t) note->at_ms, text_json (note->text)));
    }
    set (out, "notes", list);
    set_number (out, "notes_skipped", scene->notes_skipped + first);
}

/* ---- what changed ---- */

static bool is_tile_changed (const struct scene *scene, uint64_t since)
{
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        if (scene->tiles[i].changed > since)
            return true;
    return false;
}

static bool is_rung_changed (const struct scene *scene, uint64_t since)
{
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        if (scene->rungs[i].changed > since)
            return true;
    return false;
}

static void set_rungs (json_t *out, const struct scene *scene, uint64_t since)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        if (since == 0 || scene->rungs[i].changed > since)
            json_array_append_new (list, rung_json (scene, i));
    set (out, "rungs", list);
}

void scene_state_json (const struct scene *scene, const char *boot, bool interrupted, uint64_t since, struct buf *out)
{
    json_t *state = json_object ();
    set (state, "boot", json_string (boot));
    set_number (state, "revision", scene->revision);
    set_number (state, "now_ms", scene->now_ms);
    set (state, "run", text_json (scene->run));
    set (state, "whole", json_boolean (since == 0));
    set (state, "summary", summary_json (scene, interrupted));
    if (since == 0)
        set (state, "names", names_json (scene));
    if (since == 0 || is_tile_changed (scene, since)) {
        set (state, "now", marks_json (scene, 0, true));
        set (state, "phases", phases_json (scene));
    }
    if (since == 0 || is_rung_changed (scene, since))
        set_rungs (state, scene, since);
    if (since == 0 || scene->groups_changed > since) {
        set (state, "groups", groups_json (scene));
        set_number (state, "groups_left_out", scene->groups_n > GROUPS_SHOWN ? scene->groups_n - GROUPS_SHOWN : 0);
        set (state, "metrics", metrics_json (scene));
        set (state, "gates", gates_json (scene));
    }
    set_notes (state, scene);
    json_print_release (state, JSON_COMPACT, out);
}

/* ---- which hosts a query takes ---- */

void scene_within_json (const struct scene *scene, const char *boot, struct buf *out)
{
    uint32_t *ranks = mem_array (scene->tiles_n, sizeof (*ranks));
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        ranks[i] = scene->tiles[i].rank;
    json_print_release (json_pack ("{s:s, s:I, s:o}", "boot", boot, "revision", (json_int_t) scene->revision, "ranks",
                                   ranks_json (ranks, scene->tiles_n)),
                        JSON_COMPACT, out);
    mem_free (ranks);
}

/* ---- one host ---- */

static json_t *span_json (const struct scene *scene, const struct scene_span *span)
{
    json_t *out = json_object ();
    set (out, "name", text_json (span->name));
    set (out, "gate", json_boolean (span->gate));
    set_number (out, "began_ms", span->began_ms);
    set_number (out, "ms", span->ms);
    set (out, "awaited", host_name (scene, span->awaited));
    return out;
}

static json_t *attempt_json (const struct scene *scene, const struct scene_attempt *attempt)
{
    json_t *out = json_object (), *spans = json_array ();
    char letter = scene_mark_letter (attempt->mark);
    set_number (out, "rung", attempt->rung);
    set_word (out, "pass", &pass_names, attempt->pass);
    set_number (out, "attempt", attempt->attempt);
    set_word (out, "purpose", &purpose_names, attempt->purpose);
    set (out, "mark", json_stringn (&letter, 1));
    set_number (out, "began_ms", attempt->began_ms);
    set_number (out, "ms", attempt->ms);
    set (out, "group", index_or_null (attempt->group));
    for (uint32_t i = 0; i < attempt->spans_n; i++)
        json_array_append_new (spans, span_json (scene, &attempt->spans[i]));
    set (out, "spans", spans);
    return out;
}

void scene_host_json (const struct scene *scene, const struct scene_host *host, const char *boot, struct buf *out)
{
    json_t *json = json_object (), *attempts = json_array (), *facts = json_object ();
    set (json, "boot", json_string (boot));
    set_number (json, "revision", scene->revision);
    set (json, "run", text_json (scene->run));
    set (json, "host", text_json (host->name));
    set_number (json, "rank", host->rank);
    set (json, "life", text_json (host->life));
    set (json, "why", text_json (host->why));
    for (uint32_t i = 0; i < host->attempts_n; i++)
        json_array_append_new (attempts, attempt_json (scene, &host->attempts[i]));
    set (json, "attempts", attempts);
    for (uint32_t i = 0; i < host->facts_n; i++)
        if (host->facts[i].name.len)
            json_object_setn_new (facts, host->facts[i].name.ptr, host->facts[i].name.len,
                                  text_json (host->facts[i].value));
    set (json, "facts", facts);
    json_print_release (json, JSON_COMPACT, out);
}
