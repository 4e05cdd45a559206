/* alone.c - TPU slices of several hosts: the runtime of a program that runs alone on its host waits for all the others,
 * for ever, unless it is told that the host is a slice of its own. The grid of processes decides that: with bounds of
 * 1,1,1 a host of a larger slice started at once, with shortened lists of addresses alone it waited (public reports on
 * v4, v5e, v6e and 7x; docs/guide/tpu-vm.md). */
#include "common/conf/draft.h"
#include "common/model/launch_variables.h"

static const char *const bounds[] = { "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS" };
#define ALONE "1,1,1"

/* Does the profile say to programs of the scope that `hosts` hosts are a slice of their own? A name of the pair that says
 * otherwise makes hosts wait. */
static bool says_grid_of (struct draft *draft, enum scope scope, uint32_t hosts)
{
    struct text value;
    struct launch_place place = launch_place_of (&draft->plan, NULL, 0, 0);
    var_list vars = launch_variables_of (&draft->plan.profile, scope, &place, draft->arena);
    uint32_t said = 0, processes;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (!var_find (&vars, text_of (bounds[i]), &value))
            continue;
        if (!mesh_topology_chips (value, &processes) || processes != hosts || text_find (value, TEXT_LIT ("x"), NULL))
            return false;
        said++;
    }
    return said > 0;
}

/* A probe makes a client unless it is told not to (docs/spec/probe.md). A command may be anything; one of all hosts
 * together most likely does. */
static bool starts_runtime (const struct plan *plan, const struct rung *rung)
{
    struct text client = { 0 };
    bool compiles_only = rung->warm == WARM_AOT && plan->cache.mode == CACHE_WARM_ONLY;
    if (rung->kind == PROGRAM_BUILTIN)
        return text_is (rung->builtin, "probe") &&
               !(var_find (&rung->args, TEXT_LIT ("client"), &client) && text_is (client, "false"));
    return rung->kind == PROGRAM_CANARY ? !compiles_only : rung->scope == SCOPE_SLICE;
}

static const struct rung *first_that_starts (const struct plan *plan, enum scope scope)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].scope == scope && starts_runtime (plan, &plan->rungs.items[i]))
            return &plan->rungs.items[i];
    return NULL;
}

static struct text rungs_of_hosts (const struct plan *plan, struct arena *arena)
{
    struct buf names;
    buf_init (&names, ERR_TEXT_BYTES);
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].scope == SCOPE_HOST)
            buf_printf (&names, "%s%.*s", names.len ? ", " : "", TEXT_ARG (plan->rungs.items[i].id));
    return buf_finish (&names, arena);
}

/* The runtime of each host of a slice waits for all the others, those that were left out too. */
static void check_part (struct draft *draft, const struct rung *together)
{
    const text_list *out = &draft->excluded;
    if (out->n == 0 || says_grid_of (draft, SCOPE_SLICE, draft->plan.hosts.n))
        return;
    struct text missing = hostset_folded (out->items, out->n, UINT32_MAX, draft->arena);
    struct text rest = rungs_of_hosts (&draft->plan, draft->arena);
    problem_at (
        draft->problems, draft->slice[SLICE_HOSTS].node,
        "rung %.*s of scope slice would run on a part of a TPU slice, where the TPU runtime waits for the hosts "
        "that are left out: %.*s; expected all hosts, or --leave-out for each rung of scope slice (of scope host: "
        "%.*s)",
        TEXT_ARG (together->id), TEXT_ARG (missing), TEXT_ARG (rest));
}

/* On a TPU VM the metadata server tells them, which "join" may be as well: a warning. */
static void check_pod (struct draft *draft, const struct rung *together)
{
    static const char *const wanted[] = { "TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", "TPU_HOST_BOUNDS" };
    const struct profile *profile = &draft->plan.profile;
    struct launch_place place = launch_place_of (&draft->plan, NULL, 0, 0);
    var_list set = launch_variables_of (profile, SCOPE_SLICE, &place, draft->arena);
    text_list inherited = launch_inherited_by (profile, SCOPE_SLICE, draft->arena);
    bool pods = draft->plan.launcher == LAUNCHER_JOIN || draft->in_pods;
    for (size_t i = 0; pods && i < sizeof wanted / sizeof wanted[0]; i++)
        if (!text_is_among (text_of (wanted[i]), inherited.items, inherited.n) &&
            !var_find (&set, text_of (wanted[i]), &(struct text){ 0 }))
            warning_at (
                draft->problems, draft->slice[SLICE_PROFILE].node,
                "rung %.*s gets no %s: in a pod nothing else tells the TPU runtime its place in the slice; expected it "
                "in `inherit` of the profile, as in tpu-v6e",
                TEXT_ARG (together->id), wanted[i]);
}

void draft_check_alone (struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    const struct yaml_node *where = draft->slice[SLICE_PROFILE].node;
    const struct rung *alone = first_that_starts (plan, SCOPE_HOST), *together = first_that_starts (plan, SCOPE_SLICE);
    bool machine_good = plan->machine.id.len || !draft->slice[SLICE_MACHINE].given;
    if (!draft->profile_good || !machine_good || !text_is (plan->profile.backend, "tpu") || plan->whole < 2)
        return;
    if (alone && !says_grid_of (draft, SCOPE_HOST, 1))
        problem_at (draft->problems, where,
                    "rung %.*s runs alone on each of %u hosts, where the TPU runtime waits for all hosts of the slice, "
                    "expected a machine in the slice file, such as ct6e-standard-4t, from which follows how a host is "
                    "alone, or host_env in the profile with TPU_PROCESS_BOUNDS of '" ALONE "' and what goes with it",
                    TEXT_ARG (alone->id), plan->whole);
    if (together)
        check_part (draft, together);
    if (together && !says_grid_of (draft, SCOPE_SLICE, plan->hosts.n))
        check_pod (draft, together);
    if (together && plan->hosts.n > 1 && says_grid_of (draft, SCOPE_SLICE, 1))
        problem_at (draft->problems, where,
                    "the profile says to programs of scope slice, too, that each host is a TPU slice of its own, so "
                    "rung %.*s would see one host only, expected bounds of '" ALONE "' in host_env alone",
                    TEXT_ARG (together->id));
}
