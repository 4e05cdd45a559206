/* plain_metric.c - what was proved of a metric, as a line. */
#include "coordinator/view/plain_private.h"

#include <inttypes.h>
#include <math.h>

#include "common/model/hostset.h"

/* The hosts whose contribution is missing, or else those whose own report is wrong. */
static void add_at_fault (struct printer *printer, const struct fact_metric_judged *judged)
{
    const uint32_t *hosts = judged->missing.n ? judged->missing.items : judged->culprits.items;
    uint32_t n = judged->missing.n ? judged->missing.n : judged->culprits.n;
    struct text *names = mem_array (n, sizeof (*names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = board_host_name (printer->board, hosts[i]);
    if (n) {
        buf_puts (&printer->words, judged->missing.n ? ", missing " : ", on ");
        hostset_fold (names, n, &printer->words);
    }
    mem_free (names);
}

void plain_metric (struct printer *printer, const struct fact *fact)
{
    const struct fact_metric_judged *judged = &fact->of.metric_judged;
    buf_puts (&printer->words, "metric ");
    buf_text (&printer->words, judged->metric);
    if (isfinite (judged->value))
        buf_printf (&printer->words, " = %.6g", judged->value);
    buf_printf (&printer->words, ": %s", names_of (&proof_names, judged->proof));
    for (uint32_t i = 0; i < judged->axes.n; i++) {
        buf_puts (&printer->words, i ? ", " : " over ");
        buf_text (&printer->words, judged->axes.items[i]);
    }
    if (judged->proof != PROOF_PROVED && judged->why.len) {
        buf_puts (&printer->words, ": ");
        buf_text (&printer->words, judged->why);
    }
    add_at_fault (printer, judged);
    uint64_t contradicted = 0;
    for (uint32_t i = 0; i < judged->contradicted.n; i++)
        contradicted += judged->contradicted.items[i].count;
    if (contradicted)
        buf_printf (&printer->words, "; the same proof fails for %" PRIu64 " earlier value%s of the metric",
                    contradicted, contradicted == 1 ? "" : "s");
    plain_say (printer, fact->at_ms);
}
