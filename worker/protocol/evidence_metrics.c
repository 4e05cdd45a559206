/* evidence_metrics.c - metrics, each said as often as its program likes: the last value is judged, what went before is
 * kept folded. The right sums of secrets are the same each time. So once it is known whether those of the last value
 * are right, how many of the earlier ones had the same tells how many are contradicted by their own. */
#include "worker/protocol/evidence_state.h"

#include <string.h>

/* What a canary says of a metric: the first fields of its table. The rest is counted here. */
static struct record said_record (void)
{
    struct record record = metric_record;
    record.fields_n = METRIC_REPORTED_FIELDS;
    return record;
}

static int no_axis_twice (const struct metric *metric, struct err *err)
{
    for (uint32_t i = 0; i < metric->axes.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (text_equal (metric->axes.items[k], metric->axes.items[i]))
                return err_set (err, ERR_PARSE, "axes: the axis '%.*s' is given twice",
                                TEXT_ARG (metric->axes.items[i]));
    return 0;
}

static int read_metric (struct evidence *evidence, const json_t *line, struct metric *out, struct err *err)
{
    const struct record record = said_record ();
    const json_t *scope = json_object_get (line, "scope");
    const char *word = json_is_string (scope) ? json_string_value (scope) : "";
    bool global = strcmp (word, "global") == 0;
    if (!global && strcmp (word, "local") != 0)
        return err_set (err, ERR_PARSE, "scope: expected global or local");
    const json_t *said = json_object_get (line, "dtype");
    uint32_t dtype = DTYPE_FLOAT32;
    if (said && (!json_is_string (said) || !enum_value_of (&dtype_names, text_of (json_string_value (said)), &dtype)))
        return err_set (err, ERR_PARSE, "dtype: this word is not in the protocol");
    int rc = evidence_read_record (evidence, line, &record, out, err);
    out->global = global;
    out->dtype = (enum dtype) dtype;
    return rc < 0 ? rc : no_axis_twice (out, err);
}

/* ---- what went before ---- */

static struct digest sums_of (const struct metric *metric)
{
    struct digest_state *state = digest_begin ();
    bool first = metric->shards.n && metric->value == metric->shards.items[0].value;
    digest_add (state, &first, sizeof first);
    for (uint32_t i = 0; i < metric->shards.n; i++)
        digest_add (state, &metric->shards.items[i].proof, sizeof metric->shards.items[i].proof);
    return digest_end (state);
}

static struct metric_sums_tally_entry *rarest (struct metric_sums_tally *past)
{
    struct metric_sums_tally_entry *rarest = &past->seen[0];
    for (uint32_t i = 1; i < past->n; i++)
        if (past->seen[i].times < rarest->times)
            rarest = &past->seen[i];
    return rarest;
}

/* How often these sums were said, this time included. */
static uint64_t count_sums (struct metric_sums_tally *past, const struct metric *metric)
{
    struct digest sums = sums_of (metric);
    for (uint32_t i = 0; i < past->n; i++)
        if (digest_equal (&past->seen[i].sums, &sums))
            return ++past->seen[i].times;
    struct metric_sums_tally_entry *place = past->n < METRIC_SUMS_MAX ? &past->seen[past->n++] : rarest (past);
    past->forgotten += place->times;
    *place = (struct metric_sums_tally_entry){ sums, 1 };
    return 1;
}

/* What cannot be told apart any more is not held against anybody. */
static void fold (struct metric_sums_tally *past, const struct metric *before, struct metric *metric)
{
    metric->earlier = before->earlier;
    if (before->earlier.count == 0)
        metric->earlier.first = before->value;
    metric->earlier.last = before->value;
    metric->earlier.count++;
    metric->earlier.alike = count_sums (past, metric) - 1 + past->forgotten;
}

/* ---- places ---- */

static bool is_required (const struct evidence *evidence, struct text name)
{
    const struct msg_run *asked = evidence->asked;
    return asked && text_is_among (name, asked->rung.metrics.items, asked->rung.metrics.n);
}

static int find (const struct evidence *evidence, struct text name)
{
    for (uint32_t i = 0; i < evidence->result.metrics.n; i++)
        if (text_equal (evidence->result.metrics.items[i].name, name))
            return (int) i;
    return -1;
}

/* For those that the rung does not require: the others may come last. */
static uint32_t free_places (const struct evidence *evidence)
{
    uint32_t places = RESULT_METRICS_MAX;
    for (uint32_t i = 0; evidence->asked && i < evidence->asked->rung.metrics.n && places > 0; i++)
        places -= find (evidence, evidence->asked->rung.metrics.items[i]) < 0;
    return places;
}

static int say_first (struct evidence *evidence, const struct metric *metric, struct err *err)
{
    const size_t offset = offsetof (struct result, metrics);
    uint32_t n = evidence->result.metrics.n;
    if (!is_required (evidence, metric->name))
        evidence_put_if_room (evidence, offset, free_places (evidence), metric);
    else if (!evidence_next_slot (evidence, offset, err) ||
             evidence_pay (evidence, json_record_wire_bytes (&metric_record, metric), 0, err) < 0)
        return -1;
    else
        evidence_put (evidence, offset, metric);
    if (evidence->result.metrics.n > n)
        count_sums (&evidence->pasts[n], metric);
    return 0;
}

static int say_again (struct evidence *evidence, uint32_t at, struct metric *metric, struct err *err)
{
    struct metric *before = &evidence->result.metrics.items[at];
    if (!metric_claims_agree (before, metric))
        return err_set (err, ERR_REFUSED, "this metric was sent before with another reduction, scope, dtype or axes");
    size_t freed_bytes = json_record_wire_bytes (&metric_record, before);
    if (evidence_pay (evidence, json_record_wire_bytes (&metric_record, metric), freed_bytes, err) < 0)
        return -1;
    fold (&evidence->pasts[at], before, metric);
    record_copy (&metric_record, before, metric, &evidence->arena);
    return 0;
}

int evidence_take_metric (struct evidence *evidence, const json_t *line, struct statement *statement, struct err *err)
{
    struct metric metric = { 0 };
    (void) statement;
    if (read_metric (evidence, line, &metric, err) < 0)
        return -1;
    if (evidence_lacks_backend (evidence))
        return err_set (err, ERR_REFUSED, "this line was sent before the backend line");
    int at = find (evidence, metric.name);
    return at < 0 ? say_first (evidence, &metric, err) : say_again (evidence, (uint32_t) at, &metric, err);
}
