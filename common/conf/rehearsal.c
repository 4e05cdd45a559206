/* rehearsal.c - turns the plan of a slice file into its rehearsal on this machine: local workers at loopback addresses, with the
 * variables that GKE gives the pods of such a slice and a stand-in in place of libtpu. Settings that would reach a real
 * host, cache or environment are replaced by defaults. docs/spec/rehearsal.md. */
#include "common/conf/draft.h"
#include "common/frontend/frontend.h"

#include <string.h>
#include <unistd.h>

/* As many processes as the stand-in meets (worker/standin/place.c). */
enum { HOSTS_OF_REHEARSAL_MAX = 64 };

void draft_rehearse_slice (struct draft *draft)
{
    static const uint32_t elsewhere[] = { SLICE_SSH, SLICE_SLURM, SLICE_START, SLICE_COORDINATOR, SLICE_ENV_DIR };
    static const char suffix[] = "-rehearsal";
    struct text name = draft->plan.slice;
    if (!draft->options->rehearsal)
        return;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        draft->slice[elsewhere[i]] = (struct conf_value){ .node = draft->root };
    if (name.len > ID_MAX_BYTES - (sizeof suffix - 1))
        name.len = ID_MAX_BYTES - (sizeof suffix - 1);
    draft->plan.slice = text_format (draft->arena, "%.*s%s", TEXT_ARG (name), suffix);
    draft->in_pods = draft->plan.launcher == LAUNCHER_JOIN;
    draft->plan.launcher = LAUNCHER_LOCAL;
}

/* Simultaneous rehearsals get different loopback addresses of 127.0.0.0/8, so each can use the same port. */
void draft_rehearse_hosts (struct draft *draft)
{
    struct plan *plan = &draft->plan;
    unsigned own = (unsigned) getpid ();
    if (!draft->options->rehearsal)
        return;
    if (plan->hosts.n > HOSTS_OF_REHEARSAL_MAX)
        problem_at (
            draft->problems, draft->slice[SLICE_HOSTS].node,
            "the slice has %u hosts, expected at most %d for a rehearsal: each process computes the whole slice",
            plan->hosts.n, HOSTS_OF_REHEARSAL_MAX);
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        struct plan_host *host = &plan->hosts.items[i];
        host->address = text_format (draft->arena, "127.%u.%u.%u", 1 + own % 250, own / 250 % 250, 1 + i % 250);
        host->env_dir = (struct text){ 0 };
    }
}

void draft_rehearse_cache (struct draft *draft, struct conf_value *root)
{
    if (draft->options->rehearsal)
        *root = (struct conf_value){ .node = draft->root, .good = true, .text = text_of ("cache") };
}

/* ---- the pod's variables ---- */

/* What GKE puts into such a pod (AI-Hypercomputer/torchprime:docs/troubleshoot-distributed.md), and the stand-in's own. */
static void fill_variables (struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    const struct profile *profile = &plan->profile;
    struct text hosts = mesh_host_grid (profile->topology, plan->machine.bounds, draft->arena);
    const char *alone = "false,false,false";
    const struct var all[] = {
        { TEXT_LIT ("ALT"), TEXT_LIT ("false") },
        { TEXT_LIT ("CHIPS_PER_HOST_BOUNDS"), plan->machine.bounds },
        { TEXT_LIT ("HOST_BOUNDS"), hosts },
        { TEXT_LIT ("JAX_FORCE_TPU_INIT"), TEXT_LIT ("1") }, /* it looks for chips on the PCI bus */
        { TEXT_LIT ("MEGASCALE_COORDINATOR_ADDRESS"), plan->hosts.items[0].address },
        { TEXT_LIT ("MEGASCALE_NUM_SLICES"), TEXT_LIT ("{slices}") },
        { TEXT_LIT ("MEGASCALE_SLICE_ID"), TEXT_LIT ("{slice}") },
        { TEXT_LIT ("OPENBLAS_NUM_THREADS"), TEXT_LIT ("1") }, /* its threads wait busily, and hosts share cores */
        { TEXT_LIT ("SLICEUP_STANDIN_HOST"), TEXT_LIT ("{address}") },
        { TEXT_LIT ("SLICEUP_STANDIN_PEERS"), TEXT_LIT ("{addresses}") }, /* of all slices */
        { TEXT_LIT ("TPU_ACCELERATOR_TYPE"), profile->accelerator },
        { TEXT_LIT ("TPU_CHIPS_PER_HOST_BOUNDS"), plan->machine.bounds },
        { TEXT_LIT ("TPU_HOST_BOUNDS"), hosts },
        { TEXT_LIT ("TPU_LIBRARY_PATH"), text_of (draft->options->rehearsal) },
        { TEXT_LIT ("TPU_SKIP_MDS_QUERY"), TEXT_LIT ("true") },
        { TEXT_LIT ("TPU_TOPOLOGY"), profile->topology },
        { TEXT_LIT ("TPU_TOPOLOGY_ALT"), TEXT_LIT ("false") },
        { TEXT_LIT ("TPU_TOPOLOGY_WRAP"), text_of (alone) },
        { TEXT_LIT ("TPU_WORKER_HOSTNAMES"), TEXT_LIT ("{workers}") },
        { TEXT_LIT ("TPU_WORKER_ID"), TEXT_LIT ("{worker}") },
        { TEXT_LIT ("WRAP"), text_of (alone) },
        /* For platform tpu jax unrolls its random numbers: fused on the CPU, three keys in one program took over a minute */
        { TEXT_LIT ("XLA_FLAGS"), TEXT_LIT ("--xla_disable_hlo_passes=fusion") },
    };
    var_list *variables = &draft->plan.rehearsal.variables;
    variables->items = arena_copy (draft->arena, all, sizeof all);
    variables->n = sizeof all / sizeof all[0];
}

/* A rehearsal is that of a pod, whose profile lists what programs inherit; a TPU VM would ask its metadata server,
 * which does not exist here. */
static void extend_inherit (struct draft *draft)
{
    struct profile *profile = &draft->plan.profile;
    const var_list *variables = &draft->plan.rehearsal.variables;
    text_list all = { .items = arena_array (draft->arena, profile->inherit.n + variables->n, sizeof *all.items) };
    struct text value;
    for (uint32_t i = 0; i < profile->inherit.n; i++)
        all.items[all.n++] = profile->inherit.items[i];
    for (uint32_t i = 0; i < variables->n; i++) {
        struct text name = variables->items[i].name;
        bool own = text_is (name, "TPU_LIBRARY_PATH") || text_starts (name, "SLICEUP_") ||
                   text_is (name, "OPENBLAS_NUM_THREADS") || text_is (name, "XLA_FLAGS");
        if ((own || !draft->in_pods) && !text_is_among (name, all.items, all.n) &&
            !var_find (&profile->env, name, &value))
            all.items[all.n++] = name;
    }
    profile->inherit = all;
    draft_sort_names (&profile->inherit);
}

/* "HOST:NAME=VALUE": this host has another value; "HOST:NAME": it has none. */
static void read_wrong (struct draft *draft, const char *given)
{
    const struct yaml_node at = { .file = "--wrong", .kind = YAML_SCALAR, .text = text_of (given) };
    struct rehearsal *rehearsal = &draft->plan.rehearsal;
    struct text rest = at.text, host = text_take_until (&rest, ':');
    bool unset = !memchr (rest.len ? rest.ptr : "", '=', rest.len);
    struct text name = text_take_until (&rest, '=');
    int rank = plan_host_rank (&draft->plan, host);
    if (rank < 0 || !identifier_is_good (name, NAME_MAX_BYTES) || rest.len > TEXT_MAX_BYTES)
        problem_at (
            draft->problems, &at,
            "%s names no variable of a host of this slice, expected HOST:NAME=VALUE, or HOST:NAME for one that it "
            "does not have, such as %.*s:TPU_WORKER_ID=0",
            problem_quote (draft->problems, at.text), TEXT_ARG (draft->plan.hosts.items[0].name));
    else if (!text_is_among (name, draft->plan.profile.inherit.items, draft->plan.profile.inherit.n))
        problem_at (draft->problems, &at, "%s: no program would notice, expected a variable that the profile inherits",
                    problem_quote (draft->problems, at.text));
    else
        rehearsal->wrong.items[rehearsal->wrong.n++] = (struct wrong_variable){ (uint32_t) rank, name, rest, unset };
}

static void read_all_wrong (struct draft *draft)
{
    draft->plan.rehearsal.wrong.items = arena_array (draft->arena, WRONG_VARIABLES_MAX, sizeof (struct wrong_variable));
    for (int i = 0; i < WRONG_VARIABLES_MAX && draft->options->wrong[i]; i++)
        read_wrong (draft, draft->options->wrong[i]);
}

void draft_rehearse_profile (struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    const struct yaml_node *where = draft->slice[SLICE_PROFILE].node;
    if (!draft->options->rehearsal || !draft->profile_good)
        return;
    const struct frontend *frontend = frontend_find (plan->profile.frontend);
    if (!text_is (plan->profile.backend, "tpu") || !frontend || !frontend->rehearsal_pins)
        problem_at (draft->problems, where,
                    "the profile %.*s is for %.*s with backend %.*s, expected jax or torch_xla with backend tpu: these "
                    "see the stand-in for libtpu",
                    TEXT_ARG (plan->profile.name), TEXT_ARG (plan->profile.frontend), TEXT_ARG (plan->profile.backend));
    else if (!plan->machine.id.len || !plan->profile.topology.len)
        problem_at (draft->problems, draft->root,
                    "the slice file has no machine and topology, expected both, such as ct6e-standard-4t and 4x4: the "
                    "stand-in shows "
                    "such devices");
    else if (plan->hosts.n < plan->whole)
        problem_at (draft->problems, draft->slice[SLICE_HOSTS].node,
                    "hosts are excluded, expected all hosts of the slice: its runtime waits for each of them");
    else if (plan->hosts.n > 0) {
        fill_variables (draft);
        extend_inherit (draft);
        read_all_wrong (draft);
    }
}

/* A program that is compiled ahead asks libtpu for a topology, which the stand-in does not have. */
bool draft_rehearse_leaves_out (const struct draft *draft, const struct conf_value *rehearse, enum warm warm)
{
    bool never = (rehearse->given && !rehearse->number) || warm == WARM_AOT;
    return draft->options->rehearsal && !draft->options->rehearse_all && never;
}
