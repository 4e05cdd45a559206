#include "coordinator/verdict/judge.h"

#include "common/model/launch_variables.h"
#include "coordinator/verdict/agree.h"
#include "coordinator/verdict/flag_set.h"

/* SAME: equal texts, so lists in the same order; WORDS: equal sets; SET: all set or none; SLICES: how many there are; SLICE: its
 * number, of one slice any that all have; PLACE: its rank in its slice;
 * NAMES, GRID: equal, with as many names, or processes, as hosts; OWN: no two hosts have the same; SIZE: equal, a
 * multiple of the number of hosts; both on any backend, also where the profile sets them. */
enum kind { SAME, WORDS, SET, SLICES, SLICE, PLACE, NAMES, GRID, OWN, SIZE };
static const struct decisive {
    const char *name;
    enum kind kind;
    bool cloud; /* a cloud fact about the slice, "tpu."; else a variable */
} decisive[] = { { "worker_id", PLACE, true },
                 { "worker_hostnames", NAMES, true },
                 { "host_bounds", GRID, true },
                 { "TPU_WORKER_ID", PLACE, false },
                 { "CLOUD_TPU_TASK_ID", PLACE, false },
                 { "TPU_WORKER_HOSTNAMES", NAMES, false },
                 { "TPU_PROCESS_ADDRESSES", NAMES, false },
                 { "TPU_PROCESS_PORT", SAME, false },
                 { "TPU_HOST_BOUNDS", GRID, false },
                 { "TPU_PROCESS_BOUNDS", GRID, false },
                 { "TPU_CHIPS_PER_HOST_BOUNDS", SAME, false },
                 { "TPU_CHIPS_PER_PROCESS_BOUNDS", SAME, false },
                 { "TPU_TOPOLOGY", SAME, false },
                 { "TPU_TOPOLOGY_WRAP", SAME, false },
                 { "TPU_ACCELERATOR_TYPE", SAME, false },
                 { "TPU_SKIP_MDS_QUERY", SET, false }, /* jax and torch_xla: any text counts, also "false" */
                 { "MEGASCALE_NUM_SLICES", SLICES, false },
                 { "MEGASCALE_SLICE_ID", SLICE, false },
                 { "MEGASCALE_COORDINATOR_ADDRESS", SAME, false },
                 { "MEGASCALE_PORT", SAME, false },
                 { "LIBTPU_INIT_ARGS", WORDS, false },
                 { "XLA_FLAGS", WORDS, false },
                 { "JAX_PROCESS_ID", OWN, false },
                 { "RANK", OWN, false },
                 { "NODE_RANK", OWN, false },
                 { "SLURM_PROCID", OWN, false },
                 { "OMPI_COMM_WORLD_RANK", OWN, false },
                 { "PMI_RANK", OWN, false },
                 { "PMIX_RANK", OWN, false },
                 { "JOB_COMPLETION_INDEX", OWN, false },
                 { "JAX_NUM_PROCESSES", SIZE, false },
                 { "WORLD_SIZE", SIZE, false },
                 { "SLURM_NTASKS", SIZE, false },
                 { "OMPI_COMM_WORLD_SIZE", SIZE, false } };
enum { SHOWN_BYTES = 400 };
#define EMPTY "set to nothing" /* worker/facts/variable_facts.c */

/* One row of the table for all hosts, by rank. */
struct column {
    const struct plan *plan;
    const struct decisive *of;
    struct text name;      /* with its prefix, if it is the cloud's */
    struct text *values;   /* empty: the host has none */
    struct text *compared; /* the value, "one" for each host's own number, or "none"; empty: not known */
    struct text usual;     /* the majority's; empty: none */
    struct text *shared;   /* OWN: what is said of hosts that have the same; empty: nothing */
    bool divided;          /* no majority, and some do not fit the slice file */
    struct arena *arena;
};

/* Its number differs by host, so that only whether there is one is compared. */
static bool is_numbered (const struct column *column)
{
    return column->of->kind == PLACE || column->of->kind == OWN || (column->of->kind == SLICE && column->plan->slices);
}

/* Variables count hosts of the run; the cloud counts the whole slice. */
static uint32_t slice_variables_place_of (const struct column *column, uint32_t rank)
{
    if (column->of->kind == SLICE)
        return plan_slice_of (column->plan, rank);
    return column->of->cloud ? plan_place (column->plan, rank) : rank;
}

/* Empty: the host has no such variable. */
static struct text variable_of (const struct topology_host *host, const char *prefix, const char *name)
{
    uint32_t start = text_of (prefix).len;
    for (uint32_t i = 0; i < host->facts_n; i++) {
        struct text fact = host->facts[i].name;
        if (text_starts (fact, prefix) && text_is ((struct text){ fact.ptr + start, fact.len - start }, name))
            return host->facts[i].value.len ? host->facts[i].value : TEXT_LIT (EMPTY);
    }
    return (struct text){ 0 };
}

/* The profile's, filled for the host, else what the host itself has. */
static struct text given_to (const struct column *column, uint32_t rank, struct text own)
{
    struct launch_place place = launch_place_of (column->plan, NULL, 0, rank);
    var_list set = launch_variables_of (&column->plan->profile, SCOPE_SLICE, &place, column->arena);
    text_list inherited = launch_inherited_by (&column->plan->profile, SCOPE_SLICE, column->arena);
    struct text value = { 0 }, name = text_of (column->of->name);
    bool inherits = text_is_among (name, inherited.items, inherited.n) && !text_is (own, EMPTY);
    return var_find (&set, name, &value) || !inherits ? value : own;
}

static void slice_variables_fill (struct column *column, const struct topology_host *hosts, const char *prefix)
{
    uint32_t n = column->plan->hosts.n;
    column->values = arena_array (column->arena, n, sizeof *column->values);
    column->compared = arena_array (column->arena, n, sizeof *column->compared);
    for (uint32_t i = 0; i < n; i++) {
        struct text value = column->of->cloud ? topology_said (&hosts[i], column->name)
                                              : variable_of (&hosts[i], prefix, column->of->name);
        if (column->of->kind >= OWN)
            value = given_to (column, i, value);
        if (column->of->kind == SET && text_is (value, EMPTY))
            value = (struct text){ 0 };
        if (column->of->kind == WORDS) /* no word is as good as no variable */
            value = text_is (value, EMPTY) ? (struct text){ 0 } : flag_set_normalise (value, column->arena);
        column->values[i] = value;
        /* A host that reported nothing, or left facts out, may have the variable. */
        bool known = !column->of->cloud && hosts[i].facts_n > 0 && !variable_of (&hosts[i], prefix, "left_out").len;
        bool any = column->of->kind == SET || is_numbered (column);
        column->compared[i] = value.len && any ? TEXT_LIT ("one") : value.len || !known ? value : TEXT_LIT ("none");
    }
    column->usual = majority_value (column->compared, n);
}

struct owned {
    struct text value;
    uint32_t rank;
};

static int by_value (const void *a, const void *b)
{
    int order = text_order (a, b);
    return order ? order : order_u64 (((const struct owned *) a)->rank, ((const struct owned *) b)->rank);
}

/* All of one value are told the same. */
static void find_shared (struct column *column)
{
    uint32_t n = column->plan->hosts.n, *ranks = arena_array (column->arena, n, sizeof *ranks);
    LOCAL_MEM struct owned *sorted = mem_array (n, sizeof *sorted);
    column->shared = arena_array (column->arena, n, sizeof *column->shared);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct owned){ column->values[i], i };
    sort_items (sorted, n, sizeof *sorted, by_value);
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && text_equal (sorted[to].value, sorted[from].value); to++)
            ranks[to - from] = sorted[to].rank;
        if (!sorted[from].value.len || to - from < 2)
            continue;
        struct text who = plan_fold_hosts (column->plan, ranks, to - from, SHOWN_BYTES, column->arena);
        who = text_format (column->arena, "and so have %.*s all: each process needs one of its own", TEXT_ARG (who));
        for (uint32_t i = from; i < to; i++)
            column->shared[sorted[i].rank] = who;
    }
}

/* ---- why a host's is wrong; empty: it holds ---- */

/* "the 3 others have 0" */
static struct text others (const struct column *column, uint32_t rank)
{
    uint32_t n = column->plan->hosts.n;
    struct text usual = n == 2 ? column->compared[!rank] : column->usual, shown = text_clip (usual, SHOWN_BYTES);
    if (!usual.len)
        return TEXT_LIT ("and no value is shared by most hosts");
    for (uint32_t i = 0; i < n; i++)
        if (i != rank && !text_equal (column->compared[i], usual))
            return text_format (column->arena, "most hosts have %.*s", TEXT_ARG (shown));
    return n == 2 ? text_format (column->arena, "the other has %.*s", TEXT_ARG (shown))
                  : text_format (column->arena, "the %u others have %.*s", n - 1, TEXT_ARG (shown));
}

static struct text number_wrong (const struct column *column, uint32_t rank)
{
    uint64_t number;
    struct text whose = { 0 };
    bool is_number = text_to_u64 (column->values[rank], &number);
    if (is_number && number == slice_variables_place_of (column, rank))
        return whose;
    for (uint32_t i = 0; is_number && i < column->plan->hosts.n; i++)
        if (slice_variables_place_of (column, i) == number)
            whose = column->plan->hosts.items[i].name;
    if (column->of->kind == SLICE)
        return text_format (column->arena, "expected %u, its slice in the slice file",
                            slice_variables_place_of (column, rank));
    return text_format (column->arena, "%s%.*s%sexpected %u, its place in the slice file",
                        whose.len ? "which is the place of " : "", TEXT_ARG (whose), whose.len ? ", " : "",
                        slice_variables_place_of (column, rank));
}

static struct text slices_wrong (const struct column *column, uint32_t rank)
{
    struct text value = column->values[rank];
    uint32_t slices = plan_slices (column->plan);
    uint64_t number;
    if ((slices == 1 && text_is (value, EMPTY)) /* jax: as good as 1 */ ||
        (text_to_u64 (value, &number) && number == slices))
        return (struct text){ 0 };
    return slices == 1 ? TEXT_LIT ("expected 1: the slice file has one slice, and the runtime would wait for others")
                       : text_format (column->arena, "expected %u, as many slices as the slice file has", slices);
}

static struct text shape_of (const struct column *column)
{
    const struct plan *plan = column->plan;
    return mesh_host_grid (plan->profile.topology, plan->machine.bounds, column->arena);
}

/* The right number of hosts in another shape: only where the slice file says which. */
static struct text shape_wrong (const struct column *column, struct text value)
{
    const struct plan *plan = column->plan;
    struct text shape = shape_of (column);
    if (!shape.len || mesh_same_sizes (value, shape))
        return (struct text){ 0 };
    return text_format (column->arena, "expected a grid of the sizes %.*s, which hosts of type %.*s make of %.*s",
                        TEXT_ARG (shape), TEXT_ARG (plan->machine.id), TEXT_ARG (plan->profile.topology));
}

static struct text count_wrong (const struct column *column, uint32_t rank)
{
    struct text value = column->values[rank];
    bool names = column->of->kind == NAMES;
    uint32_t count = 1, hosts = column->of->cloud ? plan_whole (column->plan) : column->plan->hosts.n;
    for (uint32_t i = 0; names && i < value.len; i++)
        count += value.ptr[i] == ',';
    if (column->of->kind == SIZE)
        return mesh_topology_chips (value, &count) && count % hosts == 0
                   ? (struct text){ 0 }
                   : text_format (column->arena, "expected the processes of %u hosts", hosts);
    bool cut = names && text_find (value, TEXT_LIT (" bytes, words "), NULL); /* host_fact_shorten */
    if (cut || ((names || mesh_topology_chips (value, &count)) && count == hosts))
        return names ? (struct text){ 0 } : shape_wrong (column, value);
    return text_format (column->arena, "expected %s %u hosts",
                        names ? "the names of" : "a grid such as 2,2,1 that makes", hosts);
}

/* The slice file's value; empty: none. */
static struct text expected_of (const struct column *column)
{
    const struct plan *plan = column->plan;
    const struct var known[] = { { TEXT_LIT ("TPU_ACCELERATOR_TYPE"), plan->profile.accelerator },
                                 { TEXT_LIT ("TPU_TOPOLOGY"), plan->profile.topology },
                                 { TEXT_LIT ("TPU_CHIPS_PER_HOST_BOUNDS"), plan->machine.bounds },
                                 { TEXT_LIT ("TPU_CHIPS_PER_PROCESS_BOUNDS"), plan->machine.bounds } };
    const var_list all = { (struct var *) known, sizeof known / sizeof known[0] };
    struct text expected = { 0 };
    (void) var_find (&all, text_of (column->of->name), &expected);
    return expected;
}

static bool may_hold (const struct column *column, uint32_t rank)
{
    struct text expected = expected_of (column);
    bool counted = column->of->kind >= NAMES, missing = !column->values[rank].len;
    if (column->of->kind == GRID && !missing && shape_of (column).len)
        return text_equal (column->values[rank], shape_of (column));
    if (missing && text_is (text_of (column->of->name), "TPU_PROCESS_ADDRESSES"))
        return true; /* TPU_WORKER_HOSTNAMES is enough */
    if (missing && !expected.len && !counted && !is_numbered (column))
        return true; /* who knows */
    return !missing && (!expected.len || text_equal (column->values[rank], expected)) &&
           (!counted || !count_wrong (column, rank).len);
}

/* Those that fit the slice file are right then, unless all fit. */
static bool are_divided (const struct column *column)
{
    bool all = true;
    for (uint32_t i = 0; i < column->plan->hosts.n && all && !column->usual.len; i++)
        all = !column->compared[i].len || may_hold (column, i);
    return !all;
}

static struct text why_wrong (const struct column *column, uint32_t rank)
{
    struct text mine = column->compared[rank];
    if (column->of->kind == OWN)
        return column->shared[rank];
    if (column->divided && may_hold (column, rank))
        return (struct text){ 0 };
    if (mine.len && !text_equal (mine, column->usual))
        return others (column, rank);
    if (!column->values[rank].len || column->of->kind < SLICES || (column->of->kind == SLICE && !is_numbered (column)))
        return (struct text){ 0 };
    if (column->of->kind == SLICES)
        return slices_wrong (column, rank);
    return is_numbered (column) ? number_wrong (column, rank) : count_wrong (column, rank);
}

static bool is_wrong (const struct column *column, uint32_t rank, struct topology_finding *out)
{
    struct text why = why_wrong (column, rank), shown = text_clip (column->values[rank], SHOWN_BYTES);
    *out = (struct topology_finding){
        .host = rank,
        .owner = OWNER_LAUNCH,
        .fact = column->name,
        .what = text_format (column->arena, "has %s%.*s%s%.*s, %.*s", shown.len ? "" : "no ", TEXT_ARG (column->name),
                             shown.len ? " " : "", TEXT_ARG (shown), TEXT_ARG (why)),
        .next = column->of->kind >= OWN
                    ? TEXT_LIT ("give each host its own number, such as \"{rank}\" in env of the profile, or all "
                                "\"{world}\", how many they are, and see what sets it on these hosts")
                    : TEXT_LIT (
                          "all hosts wait for what it says: see whether a variable of the worker is left over from "
                          "another job, or whether the slice file lacks hosts, has them in another order than their "
                          "numbers (`from: tpu` has it), or mixes two slices")
    };
    return why.len > 0;
}

/* ---- all of them ---- */

/* Programs of scope slice that may start the runtime. */
static bool has_slice_programs (const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].scope == SCOPE_SLICE && plan->rungs.items[i].kind != PROGRAM_BUILTIN)
            return true;
    return false;
}

static bool is_judged (const struct plan *plan, const struct decisive *row, const char *prefix,
                       const text_list *inherited)
{
    if (text_is (text_of (prefix), "tpu."))
        return row->cloud;
    return !row->cloud && plan->hosts.n > 1 && has_slice_programs (plan) &&
           (row->kind >= OWN ? text_is (text_of (prefix), "env.")
                             : text_is_among (text_of (row->name), inherited->items, inherited->n));
}

/* Said of a host among all slices; else of one among those of its slice. */
static bool is_across (const struct decisive *row)
{
    return row->kind == SLICES || row->kind == SLICE || row->kind >= OWN || strncmp (row->name, "MEGASCALE_", 10) == 0;
}

/* `plan`: all hosts, or those of one slice, whose first one is host `first` of all; a host that was found is not judged again. */
static void judge_rows (const struct plan *plan, const struct topology_host *hosts, const char *prefix, uint32_t first,
                        bool across, bool *found, struct arena *arena, struct topology_findings *out)
{
    text_list inherited = launch_inherited_by (&plan->profile, SCOPE_SLICE, arena);
    bool tpu = text_is (plan->profile.backend, "tpu");
    for (size_t i = 0; i < sizeof decisive / sizeof decisive[0]; i++) {
        struct column column = { .plan = plan, .of = &decisive[i], .arena = arena };
        if ((!tpu && decisive[i].kind < OWN) || is_across (&decisive[i]) != across ||
            !is_judged (plan, &decisive[i], prefix, &inherited))
            continue;
        column.name = text_format (arena, "%s%s", decisive[i].cloud ? prefix : "", decisive[i].name);
        slice_variables_fill (&column, hosts, prefix);
        if (decisive[i].kind == OWN)
            find_shared (&column);
        else
            column.divided = are_divided (&column);
        for (uint32_t rank = 0; rank < plan->hosts.n; rank++)
            if (!found[first + rank] && is_wrong (&column, rank, &out->items[out->n])) {
                out->items[out->n].host += first;
                out->n += found[first + rank] = true;
            }
    }
}

void slice_variables_judge_hosts (const struct plan *plan, const struct topology_host *hosts, const char *prefix,
                                  struct arena *arena, struct topology_findings *out)
{
    bool *found = arena_array (arena, plan->hosts.n, sizeof *found);
    for (uint32_t i = 0; i < out->n; i++)
        found[out->items[i].host] = true;
    uint32_t n = plan_hosts_of_slice (plan);
    bool several = plan->slices && plan->hosts.n == plan->slices * n; /* a journal may say otherwise */
    if (several)
        judge_rows (plan, hosts, prefix, 0, true, found, arena, out);
    for (uint32_t slice = 0; several && slice < plan->slices; slice++) {
        struct plan one = *plan; /* no host of several slices is left out: conf/slice.c */
        one.slices = one.whole = 0;
        one.hosts.items += slice * n;
        one.hosts.n = n;
        judge_rows (&one, hosts + slice * n, prefix, slice * n, false, found, arena, out);
    }
    for (int across = 0; across < 2 && !plan->slices; across++)
        judge_rows (plan, hosts, prefix, 0, across, found, arena, out);
}
