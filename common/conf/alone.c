/* alone.c - TPU slices of several hosts: the runtime of a program that runs alone on its host waits for all the others,
 * for ever, unless it is told that the host is a slice of its own. The grid of processes decides that: with bounds of
 * 1,1,1 a host of a larger slice started at once, with shortened lists of addresses alone it waited (public reports on
 * v4, v5e, v6e and 7x; docs/guide/tpu-vm.md). */
#include "common/conf/draft.h"

static const char *const bounds[] = { "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS" };
#define ALONE "1,1,1"

static bool is_alone (const var_list *vars)
{
    struct text value;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        if (var_find (vars, text_of (bounds[i]), &value) && text_is (value, ALONE))
            return true;
    return false;
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
    if (alone && !is_alone (&plan->profile.env) && !is_alone (&plan->profile.host_env.set))
        problem_at (draft->problems, where,
                    "rung %.*s runs alone on each of %u hosts, where the TPU runtime waits for all hosts of the slice, "
                    "expected a machine in the slice file, such as ct6e-standard-4t, from which follows how a host is "
                    "alone, or host_env in the profile with TPU_PROCESS_BOUNDS of '" ALONE "' and what goes with it",
                    TEXT_ARG (alone->id), plan->hosts.n);
    if (together && is_alone (&plan->profile.env) && !is_alone (&plan->profile.slice_env.set))
        problem_at (
            draft->problems, where,
            "env of the profile says that each host is a TPU slice of its own, so rung %.*s of scope slice would "
            "see one host only, expected these bounds in host_env",
            TEXT_ARG (together->id));
}
