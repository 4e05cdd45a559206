#include "coordinator/view/receipt_text.h"

#include <inttypes.h>
#include <math.h>

enum { COLUMNS = 100, CAUSE_COLUMNS = 400 };

static void add_axes (const struct reduction_receipt *metric, struct buf *out)
{
    for (uint32_t i = 0; i < metric->axes.n; i++) {
        buf_puts (out, i ? ", " : " over ");
        buf_escaped (out, metric->axes.items[i], COLUMNS);
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

static void add_hosts (const char *label, const struct text *hosts, uint32_t n, struct buf *out)
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
    buf_escaped (out, metric->rung, COLUMNS);
    buf_puts (out, " ");
    buf_escaped (out, metric->metric, COLUMNS);
    if (isfinite (metric->value))
        buf_printf (out, " = %.9g", metric->value);
    buf_printf (out, "  %s", enum_name_of (&proof_names, metric->proof));
    add_axes (metric, out);
    if (metric->tolerance > 0) {
        buf_printf (out, " (tolerance %.2g%%", 100 * metric->tolerance);
        buf_escaped_after (out, ": ", metric->tolerance_of, COLUMNS);
        buf_puts (out, ")");
    }
    buf_escaped_after (out, ": ", metric->why, CAUSE_COLUMNS);
    add_hosts (", missing ", metric->missing.items, metric->missing.n, out);
    if (!lacks_only (metric))
        add_hosts (", on ", metric->culprits.items, metric->culprits.n, out);
    add_contradicted (metric, out);
}
