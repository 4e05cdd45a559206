/* receipt_text_hosts.c - the text report's paragraphs about hosts; those that say the same are one line. */
#include <inttypes.h>
#include <math.h>

#include "coordinator/view/receipt_text.h"

enum { COLUMNS = 100, VALUE_COLUMNS = 400, WORD_COLUMNS = 40, PARAGRAPH_BYTES = 1 << 20 };

struct paragraph {
    const char *label;                                                /* of nine columns */
    void (*print) (const struct host_receipt *host, struct buf *out); /* nothing, where it has nothing to say */
};

static struct text paragraph_words (const struct paragraph *paragraph, const struct host_receipt *host,
                                    struct arena *arena)
{
    struct buf words;
    buf_init (&words, PARAGRAPH_BYTES);
    paragraph->print (host, &words);
    return buf_finish (&words, arena);
}

/* Hosts of which the same is said are one line, where the first of them stands. */
static void add_paragraph (const struct slice_receipt *receipt, const struct paragraph *paragraph, struct buf *out)
{
    uint32_t n = receipt->hosts.n;
    struct arena arena = { 0 };
    struct text *words = arena_array (&arena, n, sizeof (*words)), *names = arena_array (&arena, n, sizeof (*names));
    const char *label = paragraph->label;
    for (uint32_t i = 0; i < n; i++)
        words[i] = paragraph_words (paragraph, &receipt->hosts.items[i], &arena);
    for (uint32_t i = 0; i < n; i++) {
        struct text said = words[i];
        uint32_t alike = 0;
        for (uint32_t k = i; k < n && said.len; k++)
            if (text_equal (words[k], said)) {
                names[alike++] = receipt->hosts.items[k].host;
                words[k].len = 0;
            }
        if (alike == 0)
            continue;
        buf_printf (out, "%s%.*s on ", label, TEXT_ARG (said));
        hostset_fold (names, alike, out);
        buf_byte (out, '\n');
        label = "         ";
    }
    arena_release (&arena);
}

/* ---- the backend ---- */

static void print_backend (const struct host_receipt *host, struct buf *out)
{
    const struct observed_backend *seen = &host->backend.observed;
    if (seen->platform.len == 0)
        return;
    buf_puts (out, "asked for ");
    buf_escaped (out, host->backend.requested, COLUMNS);
    buf_puts (out, ", ran on ");
    buf_escaped (out, seen->platform, WORD_COLUMNS);
    buf_puts (out, receipt_backend_remark (seen));
    buf_puts (out, " (");
    buf_escaped (out, seen->device_kind, WORD_COLUMNS);
    buf_puts (out, ", kernels: ");
    receipt_kernels (host, (struct text){ 0 }, out);
    buf_puts (out, ")");
}

/* ---- versions ---- */

/* Those of which one asks first; the rest stands in the JSON. */
static const char *const packages[] = { "torch", "torch-xla", "jax", "jaxlib", "libtpu", "python" };

static void print_versions (const struct host_receipt *host, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        struct text version = var_value (&host->bundle, packages[i]);
        if (version.len == 0)
            continue;
        buf_printf (out, "%s%s ", first ? "" : ", ", packages[i]);
        buf_escaped (out, version, WORD_COLUMNS);
        first = false;
    }
}

/* ---- the launch policy ---- */

/* The next variable that the profile gives all hosts alike. */
static const struct var *next_shared (const struct policy_receipt *policy, const var_list *vars, uint32_t *i)
{
    while (*i < vars->n && text_is_among (vars->items[*i].name, policy->by_host.items, policy->by_host.n))
        ++*i;
    return *i < vars->n ? &vars->items[(*i)++] : NULL;
}

static void print_vars (const char *before, const struct policy_receipt *policy, const var_list *vars, struct buf *out)
{
    const struct var *var;
    for (uint32_t i = 0; (var = next_shared (policy, vars, &i)) != NULL; before = ", ") {
        buf_puts (out, before);
        buf_escaped (out, var->name, COLUMNS);
        buf_byte (out, '=');
        buf_escaped (out, var->value, VALUE_COLUMNS);
    }
}

static void print_names (const char *before, const text_list *names, struct buf *out)
{
    for (uint32_t i = 0; i < names->n; i++) {
        buf_puts (out, i ? ", " : before);
        buf_escaped (out, names->items[i], COLUMNS);
    }
}

static void print_policy (const struct host_receipt *host, struct buf *out)
{
    const struct policy_receipt *policy = &host->policy;
    if (policy->profile.len == 0)
        return;
    buf_puts (out, "profile ");
    buf_escaped (out, policy->profile, COLUMNS);
    print_vars (": ", policy, &policy->launched, out);
    print_vars ("; programs of one host: ", policy, &policy->host_scope, out);
    print_vars ("; programs of the slice: ", policy, &policy->slice_scope, out);
    print_names ("; of each host its own: ", &policy->by_host, out);
    print_names ("; from the worker, if it has them: ", &policy->inherited, out);
}

/* ---- the setup ---- */

static void print_setup (const struct host_receipt *host, struct buf *out)
{
    const struct environment_receipt *setup = &host->setup;
    if (setup->pins_sha256.len == 0)
        return;
    buf_puts (out, "pins ");
    buf_escaped (out, setup->pins, COLUMNS);
    buf_puts (out, " (sha256 ");
    buf_escaped (out, text_clip (setup->pins_sha256, 12), 0);
    buf_puts (out, "), ");
    buf_escaped (out, setup->restore_method.len ? setup->restore_method : TEXT_LIT ("not restored"), VALUE_COLUMNS);
}

static void print_script (const struct host_receipt *host, struct buf *out)
{
    const struct environment_receipt *setup = &host->setup;
    if (setup->script.len == 0)
        return;
    buf_escaped (out, setup->script, 4 * COLUMNS);
    buf_puts (out, " (sha256 ");
    buf_escaped (out, text_clip (setup->script_sha256, 12), 0);
    buf_puts (out, ") ");
    buf_escaped (out, setup->script_result.len ? setup->script_result : TEXT_LIT ("did not end, or was not run"),
                 VALUE_COLUMNS);
    buf_escaped_after (out, " (its output: sliceup logs --rung ", setup->script_rung, COLUMNS);
    buf_puts (out, setup->script_rung.len ? ")" : "");
}

void receipt_text_hosts (const struct slice_receipt *receipt, struct buf *out)
{
    static const struct paragraph paragraphs[] = {
        { "policy   ", print_policy }, { "versions ", print_versions }, { "backend  ", print_backend },
        { "setup    ", print_setup },  { "script   ", print_script },
    };
    for (size_t i = 0; i < sizeof paragraphs / sizeof *paragraphs; i++)
        add_paragraph (receipt, &paragraphs[i], out);
}

/* ---- reduction text ---- */

enum { REDUCTION_TEXT_COLUMNS = 100, CAUSE_COLUMNS = 400 };

static void add_axes (const struct reduction_receipt *metric, struct buf *out)
{
    for (uint32_t i = 0; i < metric->axes.n; i++) {
        buf_puts (out, i ? ", " : " over ");
        buf_escaped (out, metric->axes.items[i], REDUCTION_TEXT_COLUMNS);
    }
}

/* Are the hosts at fault just those whose contribution is missing? Then they are named once. */
static bool lacks_only (const struct reduction_receipt *metric)
{
    bool same = metric->culprits.n == metric->missing.n;
    for (uint32_t i = 0; same && i < metric->culprits.n; i++)
        same = text_equal (metric->culprits.items[i], metric->missing.items[i]);
    return same;
}

static void hosts_text_add_hosts (const char *label, const struct text *hosts, uint32_t n, struct buf *out)
{
    if (n == 0)
        return;
    buf_puts (out, label);
    hostset_fold (hosts, n, out);
}

/* Hosts with equal counts are printed together. */
static void add_contradicted (const struct reduction_receipt *metric, struct buf *out)
{
    uint32_t n = metric->contradicted.n;
    const struct contradicted_count_receipt *items = metric->contradicted.items;
    struct text *hosts = mem_array (n, sizeof (*hosts));
    for (uint32_t i = 0, told = 0; i < n; i++) {
        uint32_t alike = 0;
        bool known = false;
        for (uint32_t k = 0; k < n; k++) {
            known = known || (k < i && items[k].count == items[i].count);
            if (items[k].count == items[i].count)
                hosts[alike++] = items[k].host;
        }
        if (known)
            continue;
        buf_printf (out, "%s%" PRIu64 " of ",
                    told++ ? ", " : "; earlier values for which the same proof fails: ", items[i].count);
        hostset_fold (hosts, alike, out);
    }
    mem_free (hosts);
}

void reduction_text (const struct reduction_receipt *metric, struct buf *out)
{
    buf_escaped (out, metric->rung, REDUCTION_TEXT_COLUMNS);
    buf_puts (out, " ");
    buf_escaped (out, metric->metric, REDUCTION_TEXT_COLUMNS);
    if (isfinite (metric->value))
        buf_printf (out, " = %.9g", metric->value);
    buf_printf (out, "  %s", enum_name_of (&proof_names, metric->proof));
    add_axes (metric, out);
    if (metric->tolerance > 0) {
        buf_printf (out, " (tolerance %.2g%%", 100 * metric->tolerance);
        buf_escaped_after (out, ": ", metric->tolerance_of, REDUCTION_TEXT_COLUMNS);
        buf_puts (out, ")");
    }
    buf_escaped_after (out, ": ", metric->why, CAUSE_COLUMNS);
    hosts_text_add_hosts (", missing ", metric->missing.items, metric->missing.n, out);
    if (!lacks_only (metric))
        hosts_text_add_hosts (", on ", metric->culprits.items, metric->culprits.n, out);
    add_contradicted (metric, out);
}
