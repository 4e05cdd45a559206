#include "coordinator/picture/scene_json.h"

#include <assert.h>
#include <string.h>

#include "coordinator/story/drift.h"
#include "coordinator/view/record_json.h"
#include "coordinator/view/status.h"

/* Limits of lists and of texts. */
enum { GROUPS_SHOWN = 64, METRICS_SHOWN = 64, GATES_SHOWN = 64, NOTES_SHOWN = 32, WORDS_MAX = 64, BY_HOST = 1 << 17 };
enum { TEXT_BYTES = 256, SENTENCE_BYTES = 1024, NOTE_BYTES = 512, WORD_BYTES = 56, NAMES_COLUMNS = 256, NUMBERS = 69 };

/* ---- pieces ---- */

static void set_number (json_t *object, const char *name, uint64_t number)
{
    json_object_set_new (object, name, json_integer ((json_int_t) number));
}

static void set_known (json_t *object, const char *name, bool known, uint64_t number)
{
    json_object_set_new (object, name, known ? json_integer ((json_int_t) number) : json_null ());
}

static json_t *cut_json (struct text text)
{
    return text_json (text_clip (text, TEXT_BYTES));
}

/* Of texts as they were said. */
static json_t *word_json (const struct scene *scene, struct text text)
{
    return cut_json (scene_text (scene->arena, text, SCENE_WORD_COLUMNS));
}

static json_t *line_json (const struct scene *scene, struct text text, uint32_t most_bytes)
{
    return text_json (text_clip (scene_text (scene->arena, text, SCENE_LINE_COLUMNS), most_bytes));
}

/* Rows as columns: {"name": [values]}, so that each member's name is written once. */
static json_t *take_columns (json_t *rows)
{
    json_t *columns = json_object (), *row, *value;
    const char *name;
    size_t i;
    json_array_foreach (rows, i, row)
        json_object_foreach (row, name, value) {
            if (i == 0)
                json_object_set_new (columns, name, json_array ());
            json_array_append (json_object_get (columns, name), value);
        }
    json_decref (rows);
    return columns;
}

static json_t *index_or_null (uint32_t index)
{
    return index == SCENE_NOBODY ? json_null () : json_integer (index);
}

static json_t *scene_json_host_name (const struct scene *scene, uint32_t rank)
{
    return rank < scene->hosts_n ? word_json (scene, board_host_name (scene->board, rank)) : json_null ();
}

/* ---- a letter of each host ---- */

typedef char letter_fn (const void *owner, const struct scene_tile *tile);

static json_t *letters_json (const struct scene *scene, letter_fn *letter_of, const void *owner)
{
    LOCAL_MEM char *letters = mem_array (scene->tiles_n, 1);
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        letters[i] = letter_of (owner, &scene->tiles[i]);
    return json_stringn (letters, scene->tiles_n);
}

/* 0 is ':', 1 ';' and so on. */
static char letter_of_number (uint32_t number)
{
    assert (number < NUMBERS);
    return (char) (':' + number);
}

static char letter_now (const void *owner, const struct scene_tile *tile)
{
    (void) owner;
    return scene_mark_letter (tile->now);
}

static char letter_at_rung (const void *owner, const struct scene_tile *tile)
{
    return scene_mark_letter (tile->cells[*(const uint32_t *) owner]);
}

/* 0: none, or one that is not shown. */
static char letter_of_group (const void *owner, const struct scene_tile *tile)
{
    (void) owner;
    return letter_of_number (tile->group < GROUPS_SHOWN ? tile->group + 1 : 0);
}

/* ---- the phase of each host: words, and which of them it is in ---- */

struct words {
    json_t *list;
    struct phase_word {
        struct text text;
        bool gate;
    } known[WORDS_MAX];
    uint32_t n;
};

/* Words without room become the first, which is empty. */
static uint32_t word_index (struct words *words, struct text word, bool gate)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (text_equal (words->known[i].text, word) && words->known[i].gate == gate)
            return i;
    if (words->n == WORDS_MAX)
        return 0;
    struct text part = text_clip (word, WORD_BYTES);
    json_array_append_new (words->list, json_sprintf ("%s%.*s", gate ? "gate:" : "", TEXT_ARG (part)));
    words->known[words->n] = (struct phase_word){ word, gate };
    return words->n++;
}

static char letter_of_phase (const void *owner, const struct scene_tile *tile)
{
    struct words *const *words = owner;
    bool waits = tile->now == MARK_AT_GATE;
    struct text word = waits ? tile->gate : tile->phase;
    return letter_of_number (word_index (*words, word, waits && word.len));
}

static json_t *phases_json (const struct scene *scene)
{
    struct words phases = { .list = json_array () }, *words = &phases;
    word_index (words, (struct text){ 0 }, false);
    json_t *of = letters_json (scene, letter_of_phase, &words);
    return json_pack ("{s:o,s:o}", "words", phases.list, "of", of);
}

/* ---- the parts of a state ---- */

static json_t *waiting_json (const struct scene *scene)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < scene->waiting_n; i++)
        json_array_append_new (list, cut_json (scene->waiting[i]));
    return list;
}

/* By letter: which hosts hang ('h'), are slow ('s') or quiet ('q'); a set that is too long to be told is left out. */
static json_t *troubles_json (const struct scene *scene)
{
    static const char *const letters[] = { [TROUBLE_QUIET] = "q", [TROUBLE_SLOW] = "s", [TROUBLE_HOLDS] = "h" };
    json_t *out = json_object ();
    uint32_t *ranks = arena_array (scene->arena, scene->hosts_n, sizeof (*ranks));
    for (uint32_t kind = TROUBLE_QUIET; kind <= TROUBLE_HOLDS; kind++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < scene->tiles_n; i++)
            if (scene->tiles[i].trouble == kind)
                ranks[n++] = scene->tiles[i].rank;
        struct text set = plan_fold_hosts (&scene->board->plan, ranks, n, UINT32_MAX, scene->arena);
        if (n && set.len <= SENTENCE_BYTES)
            json_object_set_new (out, letters[kind],
                                 json_stringn (set.ptr, set.len)); /* whole: half a set is another */
    }
    return out;
}

static void set_cache (json_t *out, const struct board_generation *generation)
{
    bool known = generation->token != 0;
    set_known (out, "generation", known, generation->token);
    set_known (out, "entries", known, generation->entries);
    set_known (out, "bytes", known, generation->bytes);
    json_object_set_new (out, "adopted", known ? json_boolean (generation->adopted) : json_null ());
}

static json_t *summary_json (const struct scene *scene, bool interrupted)
{
    json_t *out = json_object ();
    const struct board *board = scene->board;
    const struct usual_time *usual = scene->usual;
    bool opened = board->opened;
    json_object_set_new (out, "slice", word_json (scene, board->plan.slice));
    json_object_set_new (out, "ladder", word_json (scene, board->plan.ladder));
    json_object_set_new (out, "version", word_json (scene, board->version));
    json_object_set_new (out, "mesh", cut_json (scene_mesh (scene)));
    json_object_set_new (out, "state", json_string (board->ended ? "ended" : interrupted ? "interrupted" : "running"));
    json_object_set_new (out, "outcome", enum_json (&outcome_names, board->outcome));
    set_known (out, "exit_status", board->ended, board->exit_status);
    json_object_set_new (out, "sentence", line_json (scene, board->sentence, SENTENCE_BYTES));
    set_known (out, "opened_wall_ms", board->opened_wall_ms != 0, board->opened_wall_ms);
    set_number (out, "away_ms", board->away_ms);
    set_known (out, "hosts", opened, scene->hosts_n);
    set_known (out, "joined", opened, board->joined_n);
    set_known (out, "silent", opened, scene->silent_n);
    set_known (out, "violations", opened, board->violations_n);
    set_known (out, "lost", opened, scene->lost_n);
    set_known (out, "columns", opened, scene->columns);
    set_known (out, "frontier", opened, scene->frontier);
    set_known (out, "left_ms", usual != NULL, scene->left_ms);
    set_known (out, "usual_ms", usual != NULL, usual ? usual->ms : 0);
    set_known (out, "usual_runs", usual != NULL, usual ? usual->runs : 0);
    json_object_set_new (out, "cancelling", json_boolean (board->cancel_level && !board->ended));
    json_object_set_new (out, "waiting", waiting_json (scene));
    json_object_set_new (out, "troubles", troubles_json (scene));
    set_cache (out, &board->generation);
    return out;
}

static json_t *scene_json_rung_json (const struct scene *scene, uint32_t index)
{
    const struct board *board = scene->board;
    const struct rung *rung = &board->plan.rungs.items[index];
    const struct board_pass *pass = scene_rung_pass (board, index);
    enum pass last = board->rungs[index].last;
    bool runs = scene_rung_runs (board, index);
    json_t *out = json_object ();
    set_number (out, "index", index);
    json_object_set_new (out, "id", word_json (scene, rung->id));
    json_object_set_new (out, "outcome", enum_json (&outcome_names, board_rung_outcome (board, index)));
    json_object_set_new (out, "pass", enum_json (&pass_names, last));
    set_known (out, "attempt", pass->attempt != 0, pass->attempt);
    json_object_set_new (out, "running", json_boolean (runs));
    json_object_set_new (out, "slice_wide", json_boolean (rung->scope == SCOPE_SLICE));
    set_known (out, "began_ms", runs, pass->began_ms);
    set_known (out, "spent_ms", last != PASS_NONE, board_rung_ms (board, index, scene->now_ms));
    set_known (out, "limit_ms", rung->timeout_ms != 0, rung->timeout_ms);
    set_known (out, "hosts", pass->hosts_n != 0, pass->hosts_n);
    set_known (out, "ended", pass->hosts_n != 0, pass->ended_n);
    json_object_set_new (out, "cells", letters_json (scene, letter_at_rung, &index));
    return out;
}

static json_t *scene_json_group_json (const struct scene *scene, uint32_t index)
{
    const struct scene_group *group = &scene->groups[index];
    const struct board_verdict_group *says = &group->says;
    json_t *out = json_object ();
    set_number (out, "index", index);
    set_number (out, "rung", group->rung);
    json_object_set_new (out, "pass", enum_json (&pass_names, group->pass));
    json_object_set_new (out, "outcome", enum_json (&outcome_names, says->outcome));
    json_object_set_new (out, "owner", enum_json (&owner_names, says->owner));
    json_object_set_new (out, "else_owner", enum_json (&owner_names, says->else_owner));
    json_object_set_new (
        out, "certainty",
        enum_json (&certainty_names, certainty_of_owner (says->owner, says->else_owner, says->likely)));
    json_object_set_new (out, "preliminary", json_boolean (says->preliminary));
    json_object_set_new (out, "line", cut_json (says->line));
    json_object_set_new (out, "cause", cut_json (says->cause));
    json_object_set_new (out, "next", cut_json (says->next));
    json_object_set_new (out, "signature", cut_json (says->signature));
    json_object_set_new (out, "phase", cut_json (says->phase));
    json_object_set_new (out, "names", text_json (scene_text (scene->arena, group->names, NAMES_COLUMNS)));
    set_known (out, "first", says->hosts.n != 0, says->hosts.n ? says->hosts.items[0] : 0);
    set_number (out, "count", says->hosts.n);
    json_object_set_new (out, "cause_host", scene_json_host_name (scene, group->cause_host));
    json_object_set_new (out, "cause_group", index_or_null (group->cause_group));
    return out;
}

static void set_groups (json_t *out, const struct scene *scene, uint64_t since)
{
    json_t *list = json_array ();
    uint32_t n = scene->groups_n < GROUPS_SHOWN ? scene->groups_n : GROUPS_SHOWN;
    for (uint32_t i = 0; i < n; i++)
        if (since == 0 || scene->groups[i].changed > since)
            json_array_append_new (list, scene_json_group_json (scene, i));
    json_object_set_new (out, "groups", take_columns (list));
    set_number (out, "groups_n", n);
    set_number (out, "groups_left_out", scene->groups_n - n);
    set_number (out, "ungrouped", scene->ungrouped_n);
    json_object_set_new (out, "group_of", letters_json (scene, letter_of_group, NULL));
}

static json_t *metrics_json (const struct scene *scene)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < scene->board->metrics.n && i < METRICS_SHOWN; i++) {
        const struct board_metric *metric = &scene->board->metrics.items[i];
        json_t *out = json_object (), *value = json_real (metric->value);
        set_number (out, "rung", metric->key.rung);
        json_object_set_new (out, "pass", enum_json (&pass_names, metric->key.pass));
        json_object_set_new (out, "name", word_json (scene, metric->name));
        json_object_set_new (out, "axes", word_json (scene, metric->axes));
        json_object_set_new (out, "value", value ? value : json_null ()); /* jansson has no number that is not finite */
        json_object_set_new (out, "proof", enum_json (&proof_names, metric->proof));
        json_object_set_new (out, "why", line_json (scene, metric->why, TEXT_BYTES));
        json_object_set_new (out, "culprits", line_json (scene, metric->culprits, TEXT_BYTES));
        json_array_append_new (list, out);
    }
    return take_columns (list);
}

static json_t *gate_json (const struct scene *scene, const struct gate_wait *gate)
{
    json_t *out = json_object ();
    struct text name = scene_text (scene->arena, gate_wait_name (scene->board, gate), SCENE_WORD_COLUMNS);
    bool others = gate->hosts_n > 1;
    set_number (out, "rung", gate->key.rung);
    json_object_set_new (out, "pass", enum_json (&pass_names, gate->key.pass));
    set_number (out, "attempt", gate->key.attempt);
    json_object_set_new (out, "gate", text_json (text_clip (name, WORD_BYTES)));
    json_object_set_new (out, "last", scene_json_host_name (scene, gate->last));
    set_number (out, "hosts", gate->hosts_n);
    set_known (out, "median_wait_ms", others, gate->median_ms);
    set_known (out, "longest_wait_ms", others, gate->longest_ms);
    set_number (out, "opened_ms", gate->opened_ms);
    return out;
}

/* The last of them. */
static json_t *gates_json (const struct scene *scene)
{
    json_t *list = json_array ();
    uint32_t first = scene->gates_n > GATES_SHOWN ? scene->gates_n - GATES_SHOWN : 0;
    for (uint32_t i = first; i < scene->gates_n; i++)
        json_array_append_new (list, gate_json (scene, scene->gates[i]));
    return take_columns (list);
}

/* The last of them. */
static void set_notes (json_t *out, const struct scene *scene)
{
    json_t *list = json_array ();
    uint32_t first = scene->notes_n > NOTES_SHOWN ? scene->notes_n - NOTES_SHOWN : 0;
    for (uint32_t i = first; i < scene->notes_n; i++) {
        const struct feed_note *note = scene->notes[i];
        json_array_append_new (list, json_pack ("[I,I,o]", (json_int_t) note->number, (json_int_t) note->at_ms,
                                                text_json (text_clip (note->text, NOTE_BYTES))));
    }
    json_object_set_new (out, "notes", list);
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
        if (scene_rung_changed (scene->board, i) > since)
            return true;
    return false;
}

static void set_rungs (json_t *out, const struct scene *scene, uint64_t since)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < scene->rungs_n; i++)
        if (since == 0 || scene_rung_changed (scene->board, i) > since)
            json_array_append_new (list, scene_json_rung_json (scene, i));
    json_object_set_new (out, "rungs", list);
}

static json_t *names_json (const struct scene *scene)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        json_array_append_new (list, scene_json_host_name (scene, scene->tiles[i].rank));
    return list;
}

void scene_state_json (const struct scene *scene, const char *boot, bool interrupted, uint64_t since, struct buf *out)
{
    json_t *state = json_object ();
    json_object_set_new (state, "boot", json_string (boot));
    set_number (state, "revision", scene->board->revision);
    set_number (state, "now_ms", scene->now_ms);
    json_object_set_new (state, "run", word_json (scene, scene->board->run));
    json_object_set_new (state, "whole", json_boolean (since == 0));
    json_object_set_new (state, "summary", summary_json (scene, interrupted));
    if (since == 0)
        json_object_set_new (state, "names", names_json (scene));
    if (since == 0 || is_tile_changed (scene, since)) {
        json_object_set_new (state, "now", letters_json (scene, letter_now, NULL));
        json_object_set_new (state, "phases", phases_json (scene));
    }
    if (since == 0 || is_rung_changed (scene, since))
        set_rungs (state, scene, since);
    if (since == 0 || scene->groups_changed > since) {
        set_groups (state, scene, since);
        json_object_set_new (state, "gates", gates_json (scene));
    }
    if (since == 0 || scene->board->metrics_changed > since)
        json_object_set_new (state, "metrics", metrics_json (scene));
    set_notes (state, scene);
    json_print_release (state, JSON_COMPACT, out);
}

/* ---- which hosts a query takes ---- */

void scene_within_json (const struct scene *scene, const char *boot, struct buf *out)
{
    LOCAL_MEM char *letters = mem_alloc (scene->hosts_n + 1);
    memset (letters, '.', scene->hosts_n);
    for (uint32_t i = 0; i < scene->tiles_n; i++)
        letters[scene->tiles[i].rank] = 'x';
    json_print_release (json_pack ("{s:s, s:I, s:o}", "boot", boot, "revision", (json_int_t) scene->board->revision,
                                   "hosts", json_stringn (letters, scene->hosts_n)),
                        JSON_COMPACT, out);
}

/* ---- numbers by host ---- */

/* What finds no room is left out. */
static void set_by_host (json_t *columns, const struct scene *scene, const char *name, uint32_t host, json_t *value)
{
    if (!json_object_get (columns, name) && json_object_size (columns) * scene->hosts_n < BY_HOST)
        json_object_set_new (columns, name, json_array ());
    json_t *values = json_object_get (columns, name);
    while (values && json_array_size (values) <= host)
        json_array_append_new (values, json_null ());
    json_array_set_new (values, host, value);
}

/* "RUNG/PASS", or "RUNG/PASS/PHASE"; a wait for other hosts says little of this one. */
static void add_pass (json_t *to, const struct scene *scene, uint32_t host, const struct board_attempt *of, bool phases)
{
    char name[4 * 2 * SCENE_WORD_COLUMNS];
    struct text rung = scene_text (scene->arena, board_rung_id (scene->board, of->key.rung), SCENE_WORD_COLUMNS);
    int n = snprintf (name, sizeof name, "%.*s/%s", TEXT_ARG (rung), enum_name_of (&pass_names, of->key.pass));
    if (!phases)
        set_by_host (to, scene, name, host, json_integer ((json_int_t) of->duration_ms));
    for (uint32_t i = 0; phases && i < of->spans_n; i++) {
        struct text phase = scene_text (scene->arena, board_word (scene->board, of->spans[i].word), SCENE_WORD_COLUMNS);
        snprintf (name + n, sizeof name - (size_t) n, "/%.*s", TEXT_ARG (phase));
        if (!text_starts (phase, GATE_SPAN))
            set_by_host (to, scene, name, host, json_integer (of->spans[i].ms));
    }
}

/* "number.NAME", but not of single links: these are as many as pairs of hosts. */
static void add_told_by (json_t *columns, const struct scene *scene, uint32_t host, const struct board_host_fact *fact)
{
    char name[BOARD_WORD_MAX_BYTES + 1];
    double number = 0;
    if (text_to_c (board_word (scene->board, fact->name), name, sizeof name) && strncmp (name, "number.", 7) == 0 &&
        strncmp (name + 7, "link.", 5) != 0 && drift_parse_number (board_word (scene->board, fact->value), &number))
        set_by_host (columns, scene, name, host, json_real (number));
}

void scene_numbers_json (const struct scene *scene, struct buf *out)
{
    json_t *columns = json_object ();
    for (uint32_t i = 0; i < 2 * scene->hosts_n; i++) { /* phases at last */
        uint32_t rank = i % scene->hosts_n;
        const struct board_host *host = &scene->board->hosts[rank];
        for (uint32_t k = 0; k < host->attempts.n; k++)
            if (host->attempts.items[k].duration_ms && host->attempts.items[k].purpose != PURPOSE_ISOLATION)
                add_pass (columns, scene, rank, &host->attempts.items[k], i >= scene->hosts_n);
        for (uint32_t k = 0; k < host->facts.n; k++)
            add_told_by (columns, scene, rank, &host->facts.items[k]);
    }
    json_print_release (json_pack ("{s:o, s:o}", "hosts", names_json (scene), "numbers", columns), JSON_COMPACT, out);
}

/* ---- one host ---- */

static json_t *span_json (const struct scene *scene, const struct scene_span *span)
{
    json_t *out = json_object ();
    json_object_set_new (out, "name", text_json (span->name));
    json_object_set_new (out, "gate", json_boolean (span->gate));
    set_number (out, "began_ms", span->began_ms);
    set_number (out, "ms", span->ms);
    json_object_set_new (out, "awaited", scene_json_host_name (scene, span->awaited));
    return out;
}

static json_t *attempt_json (const struct scene *scene, const struct scene_attempt *attempt)
{
    json_t *out = json_object (), *spans = json_array ();
    char letter = scene_mark_letter (attempt->mark);
    set_number (out, "rung", attempt->key.rung);
    json_object_set_new (out, "pass", enum_json (&pass_names, attempt->key.pass));
    set_known (out, "attempt", attempt->key.attempt != 0, attempt->key.attempt);
    json_object_set_new (out, "purpose", enum_json (&purpose_names, attempt->purpose));
    json_object_set_new (out, "mark", json_stringn (&letter, 1));
    set_number (out, "began_ms", attempt->began_ms);
    set_known (out, "ms", attempt->ms_known, attempt->ms);
    set_known (out, "ended_ms", attempt->ended_ms != 0, attempt->ended_ms);
    json_object_set_new (out, "group", index_or_null (attempt->group));
    for (uint32_t i = 0; i < attempt->spans_n; i++)
        json_array_append_new (spans, span_json (scene, &attempt->spans[i]));
    json_object_set_new (out, "spans", spans);
    return out;
}

void scene_host_json (const struct scene *scene, const struct scene_host *host, const char *boot, struct buf *out)
{
    json_t *json = json_object (), *attempts = json_array (), *facts = json_object ();
    json_object_set_new (json, "boot", json_string (boot));
    set_number (json, "revision", scene->board->revision);
    json_object_set_new (json, "run", word_json (scene, scene->board->run));
    json_object_set_new (json, "host", text_json (host->name));
    set_number (json, "rank", host->rank);
    set_number (json, "attempts_left_out", host->attempts_left_out);
    json_object_set_new (json, "life", text_json (host->life));
    json_object_set_new (json, "why", text_json (host->why));
    for (uint32_t i = 0; i < host->attempts_n; i++)
        json_array_append_new (attempts, attempt_json (scene, &host->attempts[i]));
    json_object_set_new (json, "attempts", attempts);
    for (uint32_t i = 0; i < host->facts_n; i++)
        if (host->facts[i].name.len)
            json_object_setn_new (facts, host->facts[i].name.ptr, host->facts[i].name.len,
                                  text_json (host->facts[i].value));
    json_object_set_new (json, "facts", facts);
    json_print_release (json, JSON_COMPACT, out);
}

/* ---- the page ---- */

struct text page_file (const char *name)
{
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (strcmp (file->name, name) == 0)
            return (struct text){ (const char *) file->bytes, file->n };
    return (struct text){ 0 };
}
