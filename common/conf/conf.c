#include <assert.h>
#include <string.h>

#include "common/conf/draft.h"

/* Checks the plan against the bounds of messages and facts, which are stricter than those of single keys. */
static void check_bounds (struct draft *draft)
{
    LOCAL_BUF why = { .max = ERR_TEXT_BYTES };
    if (draft->problems->errors == 0 && !record_check (&plan_record, &draft->plan, &why))
        problem_at (draft->problems, draft->root, "the files describe a run that exceeds a limit of sliceup: %s",
                    buf_c (&why));
}

/* Every step runs, so that all mistakes are reported together. */
static void conf_fill (struct draft *draft)
{
    if (draft_slice (draft) != 0)
        return;
    draft_rehearse_slice (draft);
    draft_start (draft);
    draft_check_groups (draft);
    draft_hosts (draft);
    draft_rehearse_hosts (draft);
    draft_check_return_address (draft);
    draft_machine (draft);
    draft_profile (draft);
    draft_rehearse_profile (draft);
    draft_check_megascale (draft);
    draft_mesh (draft);
    draft_cache (draft);
    draft_pins (draft);
    draft_ladder (draft);
    draft_check_setup (draft);
    draft_climb (draft);
    draft_expect (draft);
    draft_signatures (draft);
    draft_bundles (draft);
    draft_drift (draft);
    draft_check_alone (draft);
    draft_limits (draft);
    draft_on_end (draft);
    draft_protected_paths (draft);
    check_bounds (draft);
    /* A part that is missing was reported as a problem. */
    const struct plan *plan = &draft->plan;
    assert (draft->problems->errors > 0 || (plan->hosts.n > 0 && plan->mesh.n > 0 && plan->rungs.n > 0));
}

int conf_load (const struct conf_options *options, struct arena *arena, struct plan *plan, struct conf_report *report,
               struct err *err)
{
    assert (options->slice_path && options->share_dir && options->home && options->home[0] == '/');
    assert (!options->user_home || options->user_home[0] == '/');
    struct problem_list problems = { .arena = arena };
    struct draft draft = { .options = options, .arena = arena, .problems = &problems };
    struct conf_report made = { 0 };
    if (strlen (options->home) > PATH_MAX_BYTES / 2)
        problem_add (&problems, "SLICEUP_HOME", 0, 0, "the path is %zu bytes long, expected at most %d",
                     strlen (options->home), PATH_MAX_BYTES / 2);
    conf_fill (&draft);
    int result = problems_to_report (&problems, &made, err);
    *report = made;
    if (result == 0)
        *plan = draft.plan;
    return result;
}
