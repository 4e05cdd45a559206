#include "coordinator/view/plain.h"

#include <string.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/view/record_json.h"

static const char schema[] = "sliceup.event/1";

/* What is told of a fact of each kind; of records in it, the same words say what. Kinds without words are no news. */
#define KEY "key rung pass attempt "
static const char *const told[] = {
    [FACT_RUN_OPENED] = "run version",
    [FACT_EPOCH_BEGAN] = "epoch away_ms",
    [FACT_HOST_JOINED] = "host version",
    [FACT_HOST_LOST] = "host why",
    [FACT_HOST_ASKED] = "host address port ssh ping",
    [FACT_GENERATION_ADOPTED] = "token bundle rung entries bytes writer from_run",
    [FACT_GENERATION_PUBLISHED] = "token bundle rung entries bytes writer",
    [FACT_GENERATION_DROPPED] = "token why",
    [FACT_WRITER_GRANTED] = KEY "token host",
    [FACT_LEASE_LOST] = "token host why",
    [FACT_CACHE_VIOLATED] = "host rung finding kind token path detail from_run",
    [FACT_PASS_BEGAN] = KEY "hosts purpose why",
    [FACT_PASS_SKIPPED] = KEY "why",
    [FACT_PASS_STOPPED] = KEY "culprits owner cause next",
    [FACT_PASS_ENDED] = KEY "outcome duration_ms verdicts",
    [FACT_ATTEMPT_ENDED] = KEY "host result ending code phase problem duration_ms",
    [FACT_METRIC_JUDGED] = KEY "metric axes value proof missing why culprits",
    [FACT_RETRY_PLANNED] = KEY "due_ms left signature why",
    [FACT_SUSPECTS_NAMED] = KEY "suspects why alone",
    [FACT_CONFLICT_SEEN] = KEY "host",
    [FACT_CANCEL_ASKED] = "level",
    [FACT_CLIMB_STOPPED] = "outcome why",
    [FACT_HOSTS_LEFT_BEHIND] = "rung verdicts",
    [FACT_LOSS_TOLD] = "host why believed",
    [FACT_OUTPUT_LOST] = KEY "host why",
    [FACT_RUN_ENDED] = "outcome exit_status sentence",
    [FACT_HOST_SUSPECTED] = "host silent_ms",
    [FACT_HOST_RETURNED] = "host silent_ms silence",
    [FACT_HOST_STEPPED] = "host step",
    [FACT_CACHE_AWAITED] = "what",
};
static const char of_verdict[] = "outcome owner else_owner signature cause next phase evidence";

static bool has_word (const char *words, const char *word)
{
    size_t len = strlen (word);
    for (const char *at = words; (at = strstr (at, word)); at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static json_t *host_json (const struct board *board, uint32_t host)
{
    return host < board->plan.hosts.n ? escaped_json (board->plan.hosts.items[host].name) : json_null ();
}

static json_t *host_names_json (const struct board *board, const struct any_list *hosts)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < hosts->n; i++)
        json_array_append_new (list, host_json (board, ((const uint32_t *) hosts->items)[i]));
    return list;
}

static void add_fields (const struct board *board, const struct record *record, const void *value, const char *words,
                        json_t *out);

/* The first verdict speaks for all that have its cause. */
static json_t *event_json_group_json (const struct board *board, const struct verdict *verdict)
{
    json_t *group = json_object ();
    enum certainty certainty = certainty_of_owner (verdict->owner, verdict->else_owner, verdict->likely);
    add_fields (board, &verdict_record, verdict, of_verdict, group);
    json_object_set_new (group, "certainty", enum_json (&certainty_names, certainty));
    json_object_set_new (group, "hosts", json_array ());
    return group;
}

static json_t *groups_json (const struct board *board, const struct any_list *verdicts)
{
    json_t *groups = json_array ();
    const struct verdict *all = verdicts->items, **first = mem_array (verdicts->n, sizeof (*first));
    uint32_t n = 0;
    for (uint32_t i = 0; i < verdicts->n; i++) {
        uint32_t at = 0;
        while (at < n && !verdict_same_cause (first[at], board_host_name (board, first[at]->host), &all[i],
                                              board_host_name (board, all[i].host)))
            at++;
        if (at == n) {
            first[n++] = &all[i];
            json_array_append_new (groups, event_json_group_json (board, &all[i]));
        }
        json_array_append_new (json_object_get (json_array_get (groups, at), "hosts"), host_json (board, all[i].host));
    }
    mem_free (first);
    return groups;
}

static json_t *value_json (const struct board *board, const struct field *field, const void *at)
{
    if (field->kind == FIELD_LIST && field->item == FIELD_U32)
        return host_names_json (board, at);
    if (strcmp (field->name, "host") == 0 || strcmp (field->name, "writer") == 0)
        return host_json (board, *(const uint32_t *) at);
    if (strcmp (field->name, "rung") == 0)
        return escaped_json (board_rung_id (board, *(const uint32_t *) at));
    if (field->kind == FIELD_TEXT)
        return text_or_null_json (*(const struct text *) at);
    if (strcmp (field->name, "away_ms") == 0 && *(const uint64_t *) at == 0)
        return json_null ();
    return record_field_json (field, at);
}

static void add_fields (const struct board *board, const struct record *record, const void *value, const char *words,
                        json_t *out)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        const void *at = (const char *) value + field->offset;
        if (!has_word (words, field->name))
            continue;
        if (field->of == &verdict_record)
            json_object_set_new (out, "groups", groups_json (board, at));
        else if (field->kind == FIELD_RECORD)
            add_fields (board, field->of, at, words, out);
        else
            json_object_set_new (out, field->name, value_json (board, field, at));
    }
}

/* What the host's own result says, before the verdicts of the pass: a host that passed has nothing but null. */
static void add_so_far (const struct board *board, const struct fact_attempt_ended *ended, json_t *out)
{
    static const struct board_host nobody;
    static const struct board_verdict_group nothing;
    bool now = board->running && attempt_key_equal (&ended->result.key, &board->key) &&
               ended->host < board->plan.hosts.n;
    const struct board_host *host = now ? &board->hosts[ended->host] : &nobody;
    const struct board_verdict_group *group = host->so_far ? board_group_so_far (board, ended->host) : NULL;
    json_object_set_new (out, "preliminary", host->so_far ? json_true () : json_null ());
    json_object_set_new (out, "outcome", enum_json (&outcome_names, host->so_far));
    json_object_set_new (out, "owner", enum_json (&owner_names, host->so_far ? host->so_far_owner : OWNER_NONE));
    group = group ? group : &nothing;
    json_object_set_new (out, "else_owner", enum_json (&owner_names, group->else_owner));
    json_object_set_new (
        out, "certainty",
        enum_json (&certainty_names, certainty_of_owner (group->owner, group->else_owner, group->likely)));
    json_object_set_new (out, "signature", text_or_null_json (group->signature));
    json_object_set_new (out, "line", text_or_null_json (group->line));
}

static void add_plan (const struct board *board, json_t *out)
{
    json_t *hosts = json_array (), *rungs = json_array ();
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        json_array_append_new (hosts, host_json (board, i));
    for (uint32_t i = 0; i < board->plan.rungs.n; i++)
        json_array_append_new (rungs, escaped_json (board_rung_id (board, i)));
    json_object_set_new (out, "slice", escaped_json (board->plan.slice));
    json_object_set_new (out, "hosts", hosts);
    json_object_set_new (out, "rungs", rungs);
}

/* Causes that have no room, of thousands of hosts that each say something else, are left to the receipt. */
static void print_line (json_t *object, struct buf *out)
{
    enum { LAYOUT = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION (17) };
    size_t before = out->len;
    json_print_release (json_incref (object), LAYOUT, out);
    if (out->overflow) {
        out->len = before;
        out->overflow = false;
        json_object_set_new (object, "groups", json_null ());
        json_print_release (json_incref (object), LAYOUT, out);
    }
    json_decref (object);
}

static json_t *event_json_begin (const char *type)
{
    return json_pack ("{s:s, s:s}", "schema", schema, "type", type);
}

void event_json (const struct board *board, const struct fact *fact, struct buf *out)
{
    if (!board->opened || (uint32_t) fact->kind >= sizeof (told) / sizeof (told[0]) || told[fact->kind] == NULL)
        return;
    json_t *object = event_json_begin (fact_name (fact->kind));
    json_object_set_new (object, "index", fact->index ? json_integer ((json_int_t) fact->index) : json_null ());
    json_object_set_new (object, "at_ms", json_integer ((json_int_t) fact->at_ms));
    json_object_set_new (object, "wall_ms", fact->wall_ms ? json_integer ((json_int_t) fact->wall_ms) : json_null ());
    json_object_set_new (object, "time", time_json (fact->wall_ms));
    add_fields (board, fact_record_of_kind (fact->kind), &fact->of, told[fact->kind], object);
    if (fact->kind == FACT_RUN_OPENED)
        add_plan (board, object);
    if (fact->kind == FACT_ATTEMPT_ENDED)
        add_so_far (board, &fact->of.attempt_ended, object);
    print_line (object, out);
}

void event_json_remark (struct text words, struct buf *out)
{
    json_t *object = event_json_begin ("remark");
    json_object_set_new (object, "what", escaped_json (words));
    print_line (object, out);
}

void event_json_exit (enum outcome outcome, struct text sentence, int exit_status, struct buf *out)
{
    json_t *object = event_json_begin ("exit");
    json_object_set_new (object, "outcome", enum_json (&outcome_names, outcome));
    json_object_set_new (object, "sentence", text_or_null_json (sentence));
    json_object_set_new (object, "exit_status", json_integer (exit_status));
    print_line (object, out);
}
