#include "coordinator/cli/planning.h"

#include <time.h>

#include "coordinator/home/run_facts.h"
#include "coordinator/receipt/measure_fold.h"
#include "coordinator/run/calibration_store.h"

enum { DAY_BYTES = 16, RUN_SHOWN = 8 };

static const char *day_of (uint64_t wall_ms, char out[DAY_BYTES])
{
    time_t seconds = (time_t) (wall_ms / 1000);
    struct tm day;
    return !gmtime_r (&seconds, &day) || strftime (out, DAY_BYTES, "%Y-%m-%d", &day) == 0 ? "an unknown day" : out;
}

/* The last measure of a launch counts: one that failed and then passed is not known bad. */
static struct text objection (const struct measure *last, struct arena *arena)
{
    char day[DAY_BYTES];
    if (!last->bad)
        return (struct text){ 0 };
    struct text run = text_clip (last->run, RUN_SHOWN), cause = text_clip (last->cause, SENTENCE_MAX_BYTES / 2);
    return text_format (arena, "the same launch failed in run %.*s (%s, %.*s): %.*s", TEXT_ARG (run),
                        day_of (last->wall_ms, day), TEXT_ARG (last->failure), TEXT_ARG (cause));
}

void launch_measures_annotate_plan (const struct cli *cli, bool again, struct arena *arena, struct plan *plan)
{
    struct err err = { 0 };
    bool unreadable = false;
    for (uint32_t i = 0; i < plan->rungs.n; i++) {
        struct rung *rung = &plan->rungs.items[i];
        struct measure_list known;
        rung->launch = launch_fingerprint (plan, rung, arena);
        if (!rung->launch.len || unreadable)
            continue;
        if (calibration_read (cli->home, rung->launch, arena, &known, &err) < 0) {
            log_print (&cli->log, "warning: measures of earlier launches cannot be read: %s", err.text);
            unreadable = true; /* said once */
            continue;
        }
        rung->usual = measure_usual_times (&known, arena);
        if (known.n > 0 && !again)
            rung->known_bad = objection (&known.items[0], arena);
    }
}

static void on_fact (void *owner, const struct fact *fact)
{
    measure_fold_apply (owner, fact);
}

void launch_measures_keep (const struct cli *cli, const struct run_dir *dir)
{
    struct measure_fold *fold = measure_fold_create ();
    struct err err = { 0 };
    int rc = run_facts_each (dir, on_fact, fold, &err);
    struct measure_list list = measure_fold_list (fold);
    if (rc < 0 || calibration_add (cli->home, &list, &err) < 0)
        log_print (&cli->log, "warning: the measures of this run were not recorded: %s", err.text);
    measure_fold_destroy (fold);
}
