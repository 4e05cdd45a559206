#include "coordinator/report/compare.h"

#include "coordinator/view/drift_json.h"
#include "coordinator/view/record_json.h"

enum { VALUE_COLUMNS = 512 };

/* Safe for a terminal, as every text of a scene. */
static json_t *safe_json (struct text text)
{
    struct buf safe;
    buf_init (&safe, 8 * VALUE_COLUMNS);
    buf_escaped (&safe, text, VALUE_COLUMNS);
    json_t *json = text.len ? text_json (buf_as_text (&safe)) : json_null ();
    buf_release (&safe);
    return json;
}

static json_t *outcome_or_null (enum outcome outcome)
{
    return outcome ? json_string (enum_name_of (&outcome_names, outcome)) : json_null ();
}

static json_t *ms_json (uint64_t ms)
{
    return ms != UNKNOWN_MS ? json_integer ((json_int_t) ms) : json_null ();
}

static json_t *ratio_json (uint64_t before_ms, uint64_t now_ms)
{
    double ratio;
    return compared_ratio (before_ms, now_ms, &ratio) ? json_real (ratio) : json_null ();
}

static json_t *side_json (const struct run_header *header, enum outcome outcome)
{
    return json_pack ("{s:o, s:o, s:o, s:b, s:o}", "run", safe_json (header->run), "slice", safe_json (header->slice),
                      "began_wall_ms", ms_json (header->began_wall_ms ? header->began_wall_ms : UNKNOWN_MS), "ended",
                      header->ended_wall_ms != 0, "outcome", outcome_or_null (outcome));
}

static json_t *pass_json (const struct compared_pass *pass)
{
    json_t *phases = json_array ();
    for (uint32_t i = 0; i < pass->phases_n; i++) {
        const struct compared_phase *phase = &pass->phases[i];
        json_array_append_new (phases, json_pack ("{s:o, s:o, s:o, s:o}", "phase", safe_json (phase->name), "a_ms",
                                                  ms_json (phase->before_ms), "b_ms", ms_json (phase->now_ms), "ratio",
                                                  ratio_json (phase->before_ms, phase->now_ms)));
    }
    return json_pack ("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "rung", safe_json (pass->rung), "pass",
                      enum_name_of (&pass_names, pass->pass), "a_outcome", outcome_or_null (pass->before), "b_outcome",
                      outcome_or_null (pass->now), "a_ms", ms_json (pass->before_ms), "b_ms", ms_json (pass->now_ms),
                      "ratio", ratio_json (pass->before_ms, pass->now_ms), "phases", phases);
}

static json_t *change_json (const struct compared_change *change)
{
    return json_pack ("{s:o, s:o, s:o, s:o, s:o}", "what", safe_json (change->what), "name", safe_json (change->name),
                      "a", safe_json (change->before), "b", safe_json (change->now), "hosts",
                      safe_json (change->hosts));
}

void comparison_json (const struct comparison *comparison, struct buf *out)
{
    json_t *passes = json_array (), *changes = json_array (), *drift = json_array ();
    for (uint32_t i = 0; i < comparison->passes_n; i++)
        json_array_append_new (passes, pass_json (&comparison->passes[i]));
    for (uint32_t i = 0; i < comparison->changes_n; i++)
        json_array_append_new (changes, change_json (&comparison->changes[i]));
    for (uint32_t i = 0; i < comparison->new_drift_n; i++)
        json_array_append_new (drift, drift_json_of_item (&comparison->drift, comparison->new_drift[i]));
    json_print_release (json_pack ("{s:o, s:o, s:o, s:o, s:I, s:o}", "a",
                                   side_json (comparison->before, comparison->before_outcome), "b",
                                   side_json (comparison->now, comparison->now_outcome), "rungs", passes, "changed",
                                   changes, "changed_more", (json_int_t) comparison->changes_more, "drift", drift),
                        JSON_COMPACT, out);
}
