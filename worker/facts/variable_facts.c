/* variable_facts.c - variables and flags as facts: docs/spec/facts.md, Variables. */
#include "common/model/secret.h"
#include "worker/facts/host_fact_list.h"

/* AMPLE: below it, values are shortened; KEPT: reserved for facts after the variables. */
enum { AMPLE_BYTES = 10 * 1024, LIST_KEPT_BYTES = 8 * 1024 };

/* Equal names stay in their order: the first is what getenv finds. */
static int variable_facts_by_name (const void *a, const void *b)
{
    const struct var *x = a, *y = b;
    int order = text_compare (x->name, y->name);
    return order ? order : (x->name.ptr > y->name.ptr) - (x->name.ptr < y->name.ptr);
}

static var_list of_family (struct host_fact_list *list, const var_list *vars, const var_list *named, uint32_t *left_out)
{
    var_list found = { arena_array (&list->arena, vars->n, sizeof *vars->items), 0 };
    uint32_t all = 0;
    for (uint32_t i = 0; i < vars->n; i++) {
        struct text value;
        bool counts = runtime_variables_contain (vars->items[i].name) ||
                      (named && var_find (named, vars->items[i].name, &value));
        all += counts;
        if (counts && (text_span (vars->items[i].name, "_") == vars->items[i].name.len && vars->items[i].name.len > 0 &&
                       vars->items[i].name.len < WORD_MAX_BYTES))
            found.items[found.n++] = vars->items[i];
    }
    sort_items (found.items, found.n, sizeof *found.items, variable_facts_by_name);
    *left_out = all - found.n;
    return found;
}

static struct text variable_facts_told (struct host_fact_list *list, const struct var *var, size_t left_bytes)
{
    struct text value = host_fact_one_line (&list->arena, secret_redact_var (&list->arena, var));
    if (!value.len)
        return TEXT_LIT ("set to nothing");
    return host_fact_shorten (&list->arena, value,
                              left_bytes < AMPLE_BYTES ? FACT_BRIEF_BYTES : host_fact_value_room (list));
}

static bool variable_facts_add_one (struct host_fact_list *list, const char *prefix, const struct var *var,
                                    size_t *left_bytes)
{
    struct text name = text_format (&list->arena, "%s.%.*s", prefix, TEXT_ARG (var->name));
    struct text value = variable_facts_told (list, var, *left_bytes);
    size_t cost_bytes = name.len + value.len + FACT_COST_BYTES;
    if (cost_bytes > *left_bytes || cost_bytes + LIST_KEPT_BYTES > list->left_bytes)
        return false;
    *left_bytes -= cost_bytes;
    host_fact_add (list, name.ptr, value);
    return true;
}

void variable_add_facts (struct host_fact_list *list, const char *prefix, const var_list *vars, const var_list *named,
                         uint32_t most, size_t *left_bytes)
{
    uint32_t left_out, added = 0;
    var_list found = of_family (list, vars, named, &left_out);
    for (uint32_t i = 0; i < found.n; i++) {
        if (i && text_equal (found.items[i].name, found.items[i - 1].name))
            continue;
        if (added < most && variable_facts_add_one (list, prefix, &found.items[i], left_bytes))
            added++;
        else
            left_out++;
    }
    if (left_out)
        host_fact_add_number (list, text_format (&list->arena, "%s.left_out", prefix).ptr, left_out);
}

/* ---- which variables matter ---- */

/* Sources: openxla/xla:docs/errors/error_0200.md (all hosts need the same flags); the variables that torch_xla, jax and
 * libtpu read (pytorch/xla:configuration.yaml, torch_xla/_internal/tpu.py; jax-ml/jax:jax/_src/cloud_tpu_init.py). */
static const char *const beginnings[] = {
    "XLA_",       "LIBTPU_", "TPU_",  "PJRT_",         "PT_XLA_", "PTXLA_",  "JAX_",  "MEGASCALE_",
    "CLOUD_TPU_", "TF_CPP_", "GRPC_", "DIST_SERVICE_", "CUDA_",   "NVIDIA_", "NCCL_",
};
static const char *const names[] = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "ALLOW_MULTIPLE_LIBTPU_LOAD", "MASTER_ADDR", "MASTER_PORT",
};

bool runtime_variables_contain (struct text name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (text_starts (name, beginnings[i]))
            return true;
    return text_is_word (name, names, sizeof names / sizeof *names) || name_is_of_proxy (name);
}
