/* ladder.c - the ladder file: rungs in rising order. */
#include <string.h>
#include <unistd.h>

#include "common/conf/draft.h"
#include "common/model/launch_variables.h"

/* The builtin that checks the cache as programs will see it, and the id of the rung that sliceup adds for it. */
#define SURVEY "cache"
enum { SURVEY_TIMEOUT_MS = 60 * 1000 };

static const struct conf_file_kind ladder_kind = { "ladder", "configs/ladders", ".yaml" };

static void check_frontend (struct draft *draft, const struct conf_value *frontend)
{
    if (!frontend->given || !frontend->good)
        return;
    if (!frontend_find (frontend->text))
        problem_at (draft->problems, frontend->node,
                    "the ladder is for the unknown frontend %s, expected one that a profile can name",
                    problem_quote (draft->problems, frontend->text));
    else if (draft->frontend && !text_is (frontend->text, draft->frontend->name))
        problem_at (draft->problems, frontend->node,
                    "the ladder is for the frontend %.*s, expected a ladder for %s, the frontend of the profile %.*s",
                    TEXT_ARG (frontend->text), draft->frontend->name, TEXT_ARG (draft->plan.profile.name));
}

/* Compares the YAML nodes: a rung with another mistake is not in the list of rungs. */
static void check_id_is_new (struct draft *draft, const struct yaml_node *first, const struct yaml_node *rung)
{
    const struct yaml_node *id = yaml_value (rung, "id");
    if (!id || id->kind != YAML_SCALAR)
        return;
    for (const struct yaml_node *other = first; other != rung; other = other->next) {
        const struct yaml_node *taken = yaml_value (other, "id");
        if (taken && taken->kind == YAML_SCALAR && text_equal (taken->text, id->text)) {
            problem_at (draft->problems, id, "the rung %s is given twice, first in line %u; expected once",
                        problem_quote (draft->problems, id->text), taken->line);
            return;
        }
    }
}

static const struct yaml_node *with_text (const struct yaml_node *first, const char *key, const char *text)
{
    for (const struct yaml_node *rung = first; rung; rung = rung->next) {
        const struct yaml_node *value = yaml_value (rung, key);
        if (value && value->kind == YAML_SCALAR && text_is (value->text, text))
            return rung;
    }
    return NULL;
}

/* Each host checks the cache and its protection before the first cold pass. Adds that rung where it is missing. */
static void put_survey (struct draft *draft, const struct conf_value *list, const struct yaml_node *warm)
{
    const struct yaml_node *taken = with_text (list->node->first, "id", SURVEY);
    const struct yaml_node *late = with_text (list->node->first, "builtin", SURVEY);
    if (late)
        problem_at (draft->problems, late,
                    "the rung with builtin: cache comes after the rung in line %u, which has a cold pass; "
                    "expected it before the first rung with a cold pass",
                    warm->line);
    else if (taken)
        problem_at (draft->problems, yaml_value (taken, "id"),
                    "a rung has the id cache, expected another id: sliceup adds a rung of that id before the "
                    "first cold pass, unless the ladder has a rung with builtin: cache");
    else if (list->node->n == RUNGS_MAX)
        problem_at (draft->problems, list->node,
                    "the ladder has %d rungs, and sliceup adds one with builtin: cache before the first cold pass; "
                    "expected at most %d in all",
                    RUNGS_MAX, RUNGS_MAX);
    else
        draft->plan.rungs.items[draft->plan.rungs.n++] = (struct rung){ .id = TEXT_LIT (SURVEY),
                                                                        .kind = PROGRAM_BUILTIN,
                                                                        .builtin = TEXT_LIT (SURVEY),
                                                                        .scope = SCOPE_HOST,
                                                                        .timeout_ms = SURVEY_TIMEOUT_MS };
}

static bool is_needless (struct draft *draft, const struct rung *rung, const struct yaml_node *node)
{
    if (draft->plan.cache.mode != CACHE_OFF || !text_is (rung->builtin, SURVEY))
        return false;
    warning_at (draft->problems, node, "rung %.*s is left out: the slice's cache is off, so there is nothing to check",
                TEXT_ARG (rung->id));
    return true;
}

static void read_rung (struct draft *draft, const struct conf_value *list, const struct yaml_node *node, bool *surveyed)
{
    struct rung rung;
    check_id_is_new (draft, list->node->first, node);
    int result = draft_rung (draft, node, &rung);
    if (result > 0)
        draft->plan.left_out.items[draft->plan.left_out.n++] = rung.id;
    if (result != 0 || is_needless (draft, &rung, node))
        return;
    bool is_first = rung.warm != WARM_NONE && draft->plan.cache.mode > CACHE_OFF && !*surveyed;
    if (is_first)
        put_survey (draft, list, node);
    *surveyed |= is_first || text_is (rung.builtin, SURVEY);
    draft->plan.rungs.items[draft->plan.rungs.n++] = rung;
}

static void read_rungs (struct draft *draft, const struct conf_value *list)
{
    uint32_t errors_before = draft->problems->errors;
    bool surveyed = false;
    if (!list->good)
        return;
    if (list->node->n == 0 || list->node->n > RUNGS_MAX) {
        problem_at (draft->problems, list->node, "the ladder has %u rungs, expected 1 to %d", list->node->n, RUNGS_MAX);
        return;
    }
    draft->plan.rungs.items = arena_array (draft->arena, list->node->n + 1, sizeof *draft->plan.rungs.items);
    draft->plan.left_out.items = arena_array (draft->arena, list->node->n, sizeof *draft->plan.left_out.items);
    for (const struct yaml_node *rung = list->node->first; rung; rung = rung->next)
        read_rung (draft, list, rung, &surveyed);
    draft_choose_rungs (draft, list->node->first);
    if (draft->plan.rungs.n == 0 && draft->problems->errors == errors_before)
        problem_at (draft->problems, list->node,
                    "with cache mode: off no rung of the ladder is left, expected at least one that needs no cache");
}

/* "jax-quick" for jax and jax-train. */
static const struct yaml_node *quick_ladder (struct draft *draft, const struct yaml_node *named)
{
    struct text name = named->text;
    while (name.len && !memchr (name.ptr, '/', name.len)) {
        struct text quick = text_format (draft->arena, "%.*s-quick", TEXT_ARG (name));
        struct text path = text_format (draft->arena, "%s/configs/ladders/%.*s.yaml", draft->options->share_dir,
                                        TEXT_ARG (quick));
        if (access (path.ptr, F_OK) == 0) {
            struct yaml_node *node = arena_alloc (draft->arena, sizeof *node);
            *node = draft_make_reference (named, quick);
            return node;
        }
        while (name.len && name.ptr[--name.len] != '-')
            ;
    }
    return named;
}

void draft_ladder (struct draft *draft)
{
    const struct yaml_node *node = draft_choose_reference (draft, SLICE_LADDER, draft->options->ladder, "--ladder");
    if (node && draft->options->quick && !draft->options->ladder)
        node = quick_ladder (draft, node);
    struct source source;
    struct conf_value ladder[LADDER_KEYS];
    const struct yaml_node *root = node ? draft_parse_referenced_file (draft, &ladder_kind, node, &source) : NULL;
    if (!root || section_read (&ladder_section, root, ladder, draft->problems) != 0)
        return;
    draft->plan.ladder = ladder[LADDER_LADDER].text;
    check_frontend (draft, &ladder[LADDER_FRONTEND]);
    read_rungs (draft, &ladder[LADDER_RUNGS]);
    /* No rung uses the environment, so it is not restored. */
    if (!draft->needs_pins)
        draft->plan.pins = (struct pins){ 0 };
}

/* ---- alone ---- */

/* TPU slices of several hosts: the runtime of a program that runs alone on its host waits for all others for ever,
 * unless variables say that the host is a slice of its own. The grid of processes decides: with bounds of 1,1,1 a host
 * of a larger slice started at once, with only shortened lists of addresses it waited (public reports on v4, v5e, v6e
 * and 7x; docs/guide/tpu-vm.md). */

static const char *const bounds[] = { "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS" };
#define ALONE "1,1,1"

/* Does the profile tell programs of the scope that `hosts` hosts are a slice? Both names of a pair must say so, else
 * hosts wait. */
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

/* A probe makes a client unless it is told not to (docs/spec/probe.md). Assume that a slice-wide command starts the
 * runtime. */
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
    struct buf names = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].scope == SCOPE_HOST)
            buf_printf (&names, "%s%.*s", names.len ? ", " : "", TEXT_ARG (plan->rungs.items[i].id));
    return buf_finish (&names, arena);
}

/* The runtime of each host waits for all others, also for those left out of the run. */
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

/* Only a warning, since "join" may be on TPU VMs, where the metadata server gives these values. */
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

static void check_own_numbers (struct draft *draft, const struct rung *together)
{
    static const char *const own[] = { "JAX_PROCESS_ID", "RANK", "NODE_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK" };
    struct launch_place place = launch_place_of (&draft->plan, NULL, 0, 0);
    var_list set = launch_variables_of (&draft->plan.profile, SCOPE_SLICE, &place, draft->arena);
    text_list differing = launch_differing_by_host (&draft->plan, draft->arena);
    for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (var_value (&set, own[i]).len && !text_is_among (text_of (own[i]), differing.items, differing.n))
            warning_at (draft->problems, draft->slice[SLICE_PROFILE].node,
                        "every host gets the same %s in rung %.*s, where each needs a number of its own: \"{rank}\"",
                        own[i], TEXT_ARG (together->id));
}

void draft_check_alone (struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    const struct yaml_node *where = draft->slice[SLICE_PROFILE].node;
    const struct rung *alone = first_that_starts (plan, SCOPE_HOST), *together = first_that_starts (plan, SCOPE_SLICE);
    if (draft->profile_good && plan->hosts.n > 1 && together)
        check_own_numbers (draft, together);
    bool machine_good = plan->machine.id.len || !draft->slice[SLICE_MACHINE].given;
    if (!draft->profile_good || !machine_good || !text_is (plan->profile.backend, "tpu") || plan->whole < 2)
        return;
    if (alone && !says_grid_of (draft, SCOPE_HOST, 1))
        problem_at (draft->problems, where,
                    "rung %.*s runs alone on each of %u hosts, where the TPU runtime waits for all hosts of the slice, "
                    "expected a machine in the slice file, such as ct6e-standard-4t, which sets this for a lone "
                    "host, or host_env in the profile with TPU_PROCESS_BOUNDS of '" ALONE "' and what goes with it",
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
