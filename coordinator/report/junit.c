#include "coordinator/report/report.h"

#include <inttypes.h>

#include "coordinator/story/frontier.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/view/receipt_text.h"

enum { MESSAGE_COLUMNS = 1000, NAME_COLUMNS = 200, HOSTS_MAX_BYTES = 1 << 20 };

/* Hosts that stand alike at a rung; `at`: what the first of them says of it, NULL: it never came there. */
struct group {
    enum outcome outcome;
    const struct rung_receipt *at;
    uint32_t first, hosts_n;
    bool varies; /* the sentence is the first host's, and the others' have other numbers */
    struct text folded;
};
struct rung_groups {
    struct text rung;
    struct group *items;
    uint32_t n;
    uint32_t *of_host;
    const struct rung_receipt **at; /* by host, as in a group */
    uint64_t duration_ms;
};
struct counted {
    uint32_t tests, failures, errors, skipped;
    uint64_t duration_ms;
};
struct writing {
    const struct slice_receipt *receipt;
    const struct run_header *header;
    struct arena arena; /* of one rung */
    struct counted counted;
    struct buf out;
};

/* ---- hosts that stand alike ---- */

/* The pass that made the host stand as it does; of several the last. */
static const struct rung_receipt *deciding_attempt (const struct host_receipt *host, struct text rung,
                                                    enum outcome outcome)
{
    for (enum pass pass = PASS_RESTORED; pass >= PASS_ONCE; pass--) {
        const struct rung_receipt *latest = frontier_latest_attempt (host, rung, pass);
        if (latest && latest->outcome == outcome)
            return latest;
    }
    return NULL;
}

static bool is_of_group (const struct writing *writing, const struct group *group, enum outcome outcome,
                         const struct rung_receipt *at, uint32_t host)
{
    if (group->outcome != outcome)
        return false;
    return outcome == OUTCOME_PASSED || at == group->at ||
           (at && group->at &&
            receipt_same_line (at, writing->receipt->hosts.items[host].host, group->at,
                               writing->receipt->hosts.items[group->first].host));
}

static void group_host (const struct writing *writing, struct rung_groups *groups, uint32_t host, enum outcome outcome)
{
    uint32_t i = 0;
    while (i < groups->n && !is_of_group (writing, &groups->items[i], outcome, groups->at[host], host))
        i++;
    if (i == groups->n)
        groups->items[groups->n++] = (struct group){ .outcome = outcome, .at = groups->at[host], .first = host };
    const struct rung_receipt *first = groups->items[i].at, *at = groups->at[host];
    groups->items[i].varies |= first && at && !text_equal (first->cause.text, at->cause.text);
    groups->items[i].hosts_n++;
    groups->of_host[host] = i;
}

static struct text fold_group (struct writing *writing, const struct rung_groups *groups, uint32_t group,
                               struct text *names)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < writing->receipt->hosts.n; i++)
        if (groups->of_host[i] == group)
            names[n++] = writing->receipt->hosts.items[i].host;
    return hostset_folded (names, n, HOSTS_MAX_BYTES, &writing->arena);
}

static struct rung_groups group_hosts (struct writing *writing, struct text rung)
{
    uint32_t hosts = writing->receipt->hosts.n;
    struct rung_groups groups = { .rung = rung,
                                  .items = arena_array (&writing->arena, hosts + 1, sizeof (struct group)),
                                  .of_host = arena_array (&writing->arena, hosts, sizeof (uint32_t)),
                                  .at = arena_array (&writing->arena, hosts, sizeof (*groups.at)) };
    for (uint32_t i = 0; i < hosts; i++) {
        const struct host_receipt *host = &writing->receipt->hosts.items[i];
        enum outcome outcome = frontier_rung_outcome (host, rung);
        groups.at[i] = deciding_attempt (host, rung, outcome);
        group_host (writing, &groups, i, outcome);
    }
    struct text *names = arena_array (&writing->arena, hosts, sizeof (*names));
    for (uint32_t i = 0; i < groups.n; i++)
        groups.items[i].folded = fold_group (writing, &groups, i, names);
    if (groups.n == 0) /* a receipt without hosts still names its rungs */
        groups.items[groups.n++].outcome = OUTCOME_NOT_REACHED;
    for (uint32_t i = 0; i < writing->receipt->times.n; i++)
        if (text_equal (writing->receipt->times.items[i].rung, rung))
            groups.duration_ms += writing->receipt->times.items[i].duration_ms;
    return groups;
}

/* Hosts that came there say more than those that did not. */
static bool matters_more (enum outcome a, enum outcome b)
{
    return a != b && (b == OUTCOME_NOT_REACHED || (a != OUTCOME_NOT_REACHED && outcome_worst (a, b) == a));
}

static uint32_t worst_group (const struct rung_groups *groups)
{
    uint32_t worst = 0;
    for (uint32_t i = 1; i < groups->n; i++)
        if (matters_more (groups->items[i].outcome, groups->items[worst].outcome))
            worst = i;
    return worst;
}

/* ---- one case ---- */

static const char *element_of (enum outcome outcome)
{
    switch (outcome) {
    case OUTCOME_PASSED: return NULL;
    case OUTCOME_FAILED: return "failure";
    case OUTCOME_CASCADE:
    case OUTCOME_NOT_REACHED:
    case OUTCOME_NONE: return "skipped";
    default: return "error"; /* lost, timed out, blocked, cancelled */
    }
}

static void junit_count (struct counted *counted, enum outcome outcome, uint64_t duration_ms)
{
    const char *element = element_of (outcome);
    counted->tests++;
    counted->failures += element && *element == 'f';
    counted->errors += element && *element == 'e';
    counted->skipped += element && *element == 's';
    counted->duration_ms += duration_ms;
}

static void junit_add_time (struct buf *out, uint64_t ms)
{
    buf_printf (out, " time=\"%" PRIu64 ".%03u\"", ms / 1000, (uint32_t) (ms % 1000));
}

static void add_property (struct buf *out, const char *name, struct text value)
{
    buf_printf (out, "<property name=\"%s\"", name);
    xml_attribute (out, "value", value, 0);
    buf_puts (out, "/>");
}

static void add_group_properties (const struct group *group, struct buf *out)
{
    add_property (out, "outcome", text_of (enum_name_of (&outcome_names, group->outcome)));
    add_property (out, "hosts", group->folded);
    buf_printf (out, "<property name=\"hosts_n\" value=\"%u\"/>", group->hosts_n);
    if (group->at && group->at->pass)
        add_property (out, "pass", text_of (enum_name_of (&pass_names, group->at->pass)));
    if (group->at && group->at->cause.owner)
        add_property (out, "owner", text_of (enum_name_of (&owner_names, group->at->cause.owner)));
}

/* Hosts that passed a rung at which others did not have no case of their own. */
static void add_passed_property (const struct rung_groups *groups, struct buf *out)
{
    for (uint32_t i = 0; i < groups->n; i++)
        if (groups->items[i].outcome == OUTCOME_PASSED) {
            add_property (out, "passed", groups->items[i].folded);
            buf_printf (out, "<property name=\"passed_n\" value=\"%u\"/>", groups->items[i].hosts_n);
        }
}

/* "h[0,2] failed: exited with status 3" */
static struct text junit_sentence_of (struct writing *writing, const struct rung_groups *groups,
                                      const struct group *group)
{
    struct text cause = group->at ? group->at->cause.text : (struct text){ 0 };
    if (group->outcome == OUTCOME_NOT_REACHED)
        return text_of (receipt_untried_rung (writing->header, groups->rung));
    struct text whose = group->varies ? text_format (&writing->arena, ": %.*s",
                                                     TEXT_ARG (writing->receipt->hosts.items[group->first].host))
                                      : (struct text){ 0 };
    return text_format (&writing->arena, "%.*s %s%.*s%s%.*s", TEXT_ARG (group->folded),
                        enum_name_of (&outcome_names, group->outcome), TEXT_ARG (whose), cause.len ? ": " : "",
                        TEXT_ARG (cause));
}

/* "exited with status 3; whose: not known"; without a cause the outcome stands for it. */
static void junit_add_body (const struct rung_receipt *at, struct buf *out)
{
    const struct cause *cause = &at->cause;
    if (!cause->text.len && !cause->owner && !cause->evidence.len)
        return;
    LOCAL_BUF line = { .max = 2 * TEXT_MAX_BYTES };
    buf_add_text (&line, cause->text.len ? cause->text : text_of (enum_name_of (&outcome_names, at->outcome)));
    if (cause->owner)
        failure_print_owner (&line, cause->certainty, cause->owner, cause->else_owner, cause->signature);
    xml_lines (out, buf_as_text (&line));
    xml_lines (out, cause->evidence);
    xml_lines (out, cause->next);
}

static void add_result (struct writing *writing, const char *element, const struct rung_groups *groups,
                        const struct group *group)
{
    const struct rung_receipt *at = group->at;
    struct buf *out = &writing->out;
    buf_printf (out, "<%s", element);
    xml_attribute (out, "message", junit_sentence_of (writing, groups, group), MESSAGE_COLUMNS);
    xml_attribute (out, "type",
                   at && at->cause.signature.len ? at->cause.signature
                                                 : text_of (enum_name_of (&outcome_names, group->outcome)),
                   NAME_COLUMNS);
    buf_byte (out, '>');
    if (at)
        junit_add_body (at, out);
    buf_printf (out, "</%s>\n", element);
}

static bool is_earlier (const struct receipt_line *line, const struct receipt_line *lines, uint32_t n)
{
    const struct rung_receipt *at = line->rung;
    bool later = false;
    for (uint32_t i = 0; i < n; i++)
        later |= lines[i].rung->purpose != PURPOSE_ISOLATION && lines[i].rung->pass == at->pass &&
                 lines[i].rung->attempt > at->attempt;
    return later && at->purpose != PURPOSE_ISOLATION && at->outcome > OUTCOME_CASCADE;
}

/* What failed in attempts before the one that counts: a line for each pass, attempt and cause. */
static void add_earlier (struct writing *writing, const struct rung_groups *groups, bool passed)
{
    struct receipt_line *lines;
    uint32_t n = receipt_lines_of_rung (writing->receipt, writing->header->run, groups->rung, &lines, &writing->arena);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_earlier (&lines[i], lines, n))
            continue;
        struct text hosts = hostset_folded (lines[i].hosts, lines[i].hosts_n, HOSTS_MAX_BYTES, &writing->arena);
        struct group before = {
            .outcome = lines[i].rung->outcome, .at = lines[i].rung, .hosts_n = lines[i].hosts_n, .folded = hosts
        };
        add_result (writing, passed ? "flakyFailure" : "rerunFailure", groups, &before);
    }
}

/* `first`: the rung's own case; else that of a further group. */
static void add_case (struct writing *writing, const struct rung_groups *groups, const struct group *group, bool first)
{
    struct buf *out = &writing->out;
    uint64_t duration_ms = first ? groups->duration_ms : 0;
    const char *element = element_of (group->outcome);
    struct text name = groups->rung;
    if (!first)
        name = text_format (&writing->arena, "%.*s: %.*s %s", TEXT_ARG (groups->rung), TEXT_ARG (group->folded),
                            enum_name_of (&outcome_names, group->outcome));
    buf_puts (out, "<testcase");
    xml_attribute (out, "classname",
                   text_format (&writing->arena, "%.*s/%.*s", TEXT_ARG (writing->header->slice),
                                TEXT_ARG (writing->header->ladder)),
                   NAME_COLUMNS);
    xml_attribute (out, "name", name, NAME_COLUMNS);
    junit_add_time (out, duration_ms);
    buf_puts (out, ">\n");
    buf_puts (out, "<properties>");
    add_group_properties (group, out);
    if (first && element)
        add_passed_property (groups, out);
    buf_puts (out, "</properties>\n");
    if (element)
        add_result (writing, element, groups, group);
    if (first)
        add_earlier (writing, groups, !element);
    buf_puts (out, "</testcase>\n");
    junit_count (&writing->counted, group->outcome, duration_ms);
}

static void junit_add_rung (struct writing *writing, struct text rung)
{
    struct rung_groups groups = group_hosts (writing, rung);
    uint32_t worst = worst_group (&groups);
    add_case (writing, &groups, &groups.items[worst], true);
    for (uint32_t i = 0; i < groups.n; i++)
        if (i != worst && groups.items[i].outcome != OUTCOME_PASSED)
            add_case (writing, &groups, &groups.items[i], false);
    arena_reset (&writing->arena);
}

/* ---- the suite ---- */

static void add_counts (const struct counted *counted, struct buf *out)
{
    buf_printf (out, " tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\"", counted->tests, counted->failures,
                counted->errors, counted->skipped);
    junit_add_time (out, counted->duration_ms);
}

static void add_run_properties (const struct run_header *header, struct buf *out)
{
    buf_puts (out, "<properties>");
    add_property (out, "run", header->run);
    add_property (out, "version", header->version);
    add_property (out, "state", header->ended_wall_ms ? TEXT_LIT ("ended") : TEXT_LIT ("not ended"));
    if (header->ended_wall_ms)
        buf_printf (out, "<property name=\"exit_status\" value=\"%u\"/>", header->exit_status);
    add_property (out, "sentence", header->sentence);
    buf_puts (out, "</properties>\n");
}

void junit_xml (const struct slice_receipt *receipt, struct buf *out)
{
    struct writing writing = { .receipt = receipt, .header = receipt->headers.n ? receipt->headers.items : NULL };
    buf_init (&writing.out, out->max);
    buf_puts (out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    for (uint32_t i = 0; writing.header && i < writing.header->rungs.n; i++)
        junit_add_rung (&writing, writing.header->rungs.items[i]);
    buf_puts (out, "<testsuites");
    add_counts (&writing.counted, out);
    buf_puts (out, ">\n<testsuite");
    xml_attribute (out, "name", writing.header ? writing.header->slice : TEXT_LIT ("sliceup"), NAME_COLUMNS);
    add_counts (&writing.counted, out);
    buf_puts (out, ">\n");
    if (writing.header)
        add_run_properties (writing.header, out);
    buf_add_text (out, buf_as_text (&writing.out));
    out->overflow |= writing.out.overflow;
    buf_puts (out, "</testsuite>\n</testsuites>\n");
    buf_release (&writing.out);
    arena_release (&writing.arena);
}
