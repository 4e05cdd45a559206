/* plain_metric.c - what was proved of a metric, as a line. */
#include "coordinator/view/plain_private.h"

#include <inttypes.h>
#include <math.h>

#include "common/model/hostset.h"

/* Who lacks it; or whose own report it is. */
static void add_at_fault (struct teller *teller, const struct fact_metric_judged *judged)
{
    const uint32_t *hosts = judged->missing.n ? judged->missing.items : judged->culprits.items;
    uint32_t n = judged->missing.n ? judged->missing.n : judged->culprits.n;
    struct text *names = mem_array (n, sizeof (*names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = board_host_name (teller->board, hosts[i]);
    if (n) {
        buf_puts (&teller->words, judged->missing.n ? ", missing " : ", on ");
        hostset_fold (names, n, &teller->words);
    }
    mem_free (names);
}

void plain_metric (struct teller *teller, const struct fact *fact)
{
    const struct fact_metric_judged *judged = &fact->of.metric_judged;
    buf_puts (&teller->words, "metric ");
    buf_text (&teller->words, judged->metric);
    if (isfinite (judged->value))
        buf_printf (&teller->words, " = %.6g", judged->value);
    buf_printf (&teller->words, ": %s", names_of (&proof_names, judged->proof));
    for (uint32_t i = 0; i < judged->axes.n; i++) {
        buf_puts (&teller->words, i ? ", " : " over ");
        buf_text (&teller->words, judged->axes.items[i]);
    }
    if (judged->proof != PROOF_PROVED && judged->why.len) {
        buf_puts (&teller->words, ": ");
        buf_text (&teller->words, judged->why);
    }
    add_at_fault (teller, judged);
    uint64_t contradicted = 0;
    for (uint32_t i = 0; i < judged->contradicted.n; i++)
        contradicted += judged->contradicted.items[i].count;
    if (contradicted)
        buf_printf (&teller->words, "; their own proofs contradict %" PRIu64 " earlier value%s", contradicted,
                    contradicted == 1 ? "" : "s");
    plain_say (teller, fact->at_ms);
}
