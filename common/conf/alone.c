/* alone.c - TPU slices of several hosts: the runtime of a program that runs alone on its host waits for all the others,
 * for ever, unless it is told that the host is a slice of its own. The grid of processes decides that: with bounds of
 * 1,1,1 a host of a larger slice started at once, with shortened lists of addresses alone it waited (public reports on
 * v4, v5e, v6e and 7x; docs/guide/tpu-vm.md). */
#include "common/conf/draft.h"
#include "common/model/launch_variables.h"

static const char *const bounds[] = { "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS" };
#define ALONE "1,1,1"

/* By what a program of the scope is started with; a name of the pair that says otherwise makes hosts wait. */
static bool is_alone (struct draft *draft, enum scope scope)
{
    struct text value;
    struct launch_place place = launch_place_of (&draft->plan, NULL, 0, 0);
    var_list vars = launch_variables_of (&draft->plan.profile, scope, &place, draft->arena);
    bool alone = false, otherwise = false;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (var_find (&vars, text_of (bounds[i]), &value)) {
            alone |= text_is (value, ALONE);
            otherwise |= !text_is (value, ALONE);
        }
    return alone && !otherwise;
}

/* A compilation for devices that need not be there starts no runtime; a command may be anything. */
static bool starts_runtime (const struct rung *rung, enum scope scope)
{
    return rung->scope == scope && rung->kind == PROGRAM_CANARY && rung->warm != WARM_AOT;
}

static const struct rung *first_that_starts (const struct plan *plan, enum scope scope)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (starts_runtime (&plan->rungs.items[i], scope))
            return &plan->rungs.items[i];
    return NULL;
}

void draft_check_alone (struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    const struct yaml_node *where = draft->slice[SLICE_PROFILE].node;
    const struct rung *alone = first_that_starts (plan, SCOPE_HOST), *together = first_that_starts (plan, SCOPE_SLICE);
    bool machine_good = plan->machine.id.len || !draft->slice[SLICE_MACHINE].given;
    if (!draft->profile_good || !machine_good || !text_is (plan->profile.backend, "tpu") || plan->hosts.n < 2)
        return;
    if (alone && !is_alone (draft, SCOPE_HOST))
        problem_at (draft->problems, where,
                    "rung %.*s runs alone on each of %u hosts, where the TPU runtime waits for all hosts of the slice, "
                    "expected a machine in the slice file, such as ct6e-standard-4t, from which follows how a host is "
                    "alone, or host_env in the profile with TPU_PROCESS_BOUNDS of '" ALONE "' and what goes with it",
                    TEXT_ARG (alone->id), plan->hosts.n);
    if (together && is_alone (draft, SCOPE_SLICE))
        problem_at (draft->problems, where,
                    "the profile says to programs of scope slice, too, that each host is a TPU slice of its own, so "
                    "rung %.*s would see one host only, expected bounds of '" ALONE "' in host_env alone",
                    TEXT_ARG (together->id));
}
