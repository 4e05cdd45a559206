/* rung.c - one rung: its program, scope, cold pass, and demands. */
#include <string.h>

#include "common/base/path.h"
#include "common/conf/draft.h"

static const struct conf_file_kind canary_kind = { "canary", "worker/canaries", ".py" };

static int read_kind (struct draft *draft, const struct yaml_node *at, const struct conf_value of[], struct rung *rung)
{
    int given = of[RUNG_BUILTIN].given + of[RUNG_CANARY].given + of[RUNG_COMMAND].given;
    if (given != 1)
        return problem_at (draft->problems, at,
                           "a rung with %d programs, expected exactly one of builtin, canary and command", given);
    rung->kind = of[RUNG_BUILTIN].given ? PROGRAM_BUILTIN : of[RUNG_CANARY].given ? PROGRAM_CANARY : PROGRAM_COMMAND;
    return 0;
}

static void read_canary (struct draft *draft, const struct conf_value *canary, struct rung *rung)
{
    struct source source;
    if (canary->good &&
        source_read (&source, &canary_kind, draft->options->share_dir, canary->node, draft->problems) == 0)
        rung->program = source.ref;
    if (rung->program.path.len)
        draft_note_path (draft, source.shown);
    if (rung->program.path.len)
        (void) draft_kit (draft, canary->node, &source, rung); /* it reports problems itself */
}

/* Of ours it is known what they read before they begin; a probe of the runtime is executed, so that one fresh interpreter is
 * part of every proof. */
static bool is_copied (const struct draft *draft, const struct conf_value of[], const struct rung *rung)
{
    struct text name = of[RUNG_CANARY].text;
    bool ours = name.len && !strchr ("./", name.ptr[0]) && !text_is (path_name (name), "probe.py");
    return rung->kind == PROGRAM_CANARY && !draft->executes &&
           (of[RUNG_PRELOAD].given ? of[RUNG_PRELOAD].number != 0 : ours);
}

static void read_program (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    switch (rung->kind) {
    case PROGRAM_BUILTIN: rung->builtin = of[RUNG_BUILTIN].text; break;
    case PROGRAM_CANARY: read_canary (draft, &of[RUNG_CANARY], rung); break;
    case PROGRAM_COMMAND: /* draft_command */
    case PROGRAM_NONE: break;
    }
}

bool draft_cut_arg (struct text given, struct text *rung, struct text *name, struct text *value)
{
    uint32_t end;
    *value = given;
    if (!text_cut (value, '=', rung))
        return false;
    for (end = rung->len; end && rung->ptr[end - 1] != '.';)
        end--;
    *name = *rung;
    text_skip (name, end);
    *rung = text_clip (*rung, end ? end - 1 : 0);
    return rung->len && name->len;
}

/* What --arg gives this rung: "dense.batch=64". What it gives nobody is reported with the rungs. */
static void read_given_args (struct draft *draft, struct text id, var_list *own)
{
    for (uint32_t i = 0, k; i < RUNG_ARGS_GIVEN_MAX && draft->options->args[i]; i++) {
        struct text rung, name, value;
        var_list one;
        if (!draft_cut_arg (text_of (draft->options->args[i]), &rung, &name, &value) || !text_equal (rung, id))
            continue;
        struct text map = text_format (draft->arena, "{%.*s: %.*s}", TEXT_ARG (name), TEXT_ARG (value));
        const struct yaml_node *node = yaml_parse ("--arg", map, draft->problems);
        if (!node || draft_args (draft, node, &one) != 0)
            continue;
        if (one.n != 1) {
            problem_at (draft->problems, node, "%s sets %u arguments, expected one: RUNG.NAME=VALUE",
                        problem_quote (draft->problems, text_of (draft->options->args[i])), one.n);
            continue;
        }
        for (k = 0; k < own->n && !text_equal (own->items[k].name, one.items[0].name);)
            k++;
        own->items[k] = one.items[0];
        own->n += k == own->n;
    }
}

static void read_args (struct draft *draft, const struct conf_value *map, struct rung *rung)
{
    var_list own = { 0 };
    if (map->given && (!map->good || draft_args (draft, map->node, &own) != 0))
        return;
    var_list all = { .items = arena_array (draft->arena, own.n + draft->profile_args.n + RUNG_ARGS_GIVEN_MAX,
                                           sizeof *all.items),
                     .n = own.n };
    if (own.n > 0)
        memcpy (all.items, own.items, own.n * sizeof *own.items);
    for (uint32_t i = 0; i < draft->profile_args.n; i++)
        if (!var_find (&own, draft->profile_args.items[i].name, &(struct text){ 0 }))
            all.items[all.n++] = draft->profile_args.items[i];
    read_given_args (draft, rung->id, &all);
    if (all.n > VARS_MAX)
        problem_at (draft->problems, map->node,
                    "the rung has %u arguments with those of the profile, expected at most %d", all.n, VARS_MAX);
    draft_sort_vars (&all);
    rung->args = all;
}

static void read_warm (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    const struct conf_value *warm = &of[RUNG_WARM];
    if (!warm->good || !of[RUNG_SCOPE].good)
        return;
    rung->warm = (enum warm) (warm->number - 1);
    if (rung->warm == WARM_NONE)
        return;
    if (rung->kind == PROGRAM_BUILTIN || (rung->kind == PROGRAM_COMMAND && rung->warm == WARM_AOT))
        problem_at (draft->problems, warm->node, "warm: %.*s for a rung with a %s, expected warm: none%s",
                    TEXT_ARG (warm->text), enum_name_of (&program_kind_names, rung->kind),
                    rung->kind == PROGRAM_COMMAND ? ", solo or gang" : ": it compiles nothing");
    if (rung->warm == WARM_SOLO && rung->scope != SCOPE_HOST)
        problem_at (
            draft->problems, warm->node,
            "warm: solo with scope: slice, expected warm: gang: the writer alone cannot run a slice-wide program");
    if (rung->warm == WARM_GANG && rung->scope != SCOPE_SLICE)
        problem_at (draft->problems, warm->node,
                    "warm: gang with scope: host, expected warm: solo: each host runs the program alone");
    if (draft->frontend && !frontend_has_cache (draft->frontend))
        problem_at (draft->problems, warm->node,
                    "warm: %.*s with the frontend %s, expected warm: none: this frontend keeps no compile cache",
                    TEXT_ARG (warm->text), draft->frontend->name);
}

/* Also those of the profile, which may say `port`. */
static void read_ways (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    const struct yaml_node *key = of[RUNG_ARGS].good ? of[RUNG_ARGS].node->first : NULL;
    uint64_t number;
    rung->scope = SCOPE_SLICE; /* alone it has no peer */
    read_args (draft, &of[RUNG_ARGS], rung);
    bool good = !key || (!key->next && text_is (key->text, "ports") && key->value->kind == YAML_LIST &&
                         key->value->n <= WAYS_PORTS_MAX);
    for (const struct yaml_node *port = good && key ? key->value->first : NULL; port; port = port->next)
        good = good && text_to_u64 (port->text, &number) && number > 0 && number <= UINT16_MAX;
    if (!good)
        problem_at (draft->problems, key, "args of the builtin ways, expected ports: a list of at most %d ports",
                    WAYS_PORTS_MAX);
}

/* The runtime writes the cache on process 0 of a group only, so only the host of rank 0 can be the writer. */
static void check_gang (struct draft *draft, const struct conf_value *warm)
{
    const struct cache_plan *cache = &draft->plan.cache;
    const char *frontend = draft->frontend->name;
    if (cache->mode == CACHE_PER_HOST)
        warning_at (draft->problems, warm->node,
                    "warm: gang with mode: per-host: under %s only rank 0 of a group writes its cache, so the other "
                    "hosts will have nothing to restore",
                    frontend);
    else if (cache->writers.n > 1 || (cache->writers.n == 1 && plan_host_rank (&draft->plan, cache->writer) > 0))
        problem_at (
            draft->problems, warm->node,
            "warm: gang with %s %.*s, expected the writer %.*s%s: under %s only rank 0 of a group writes the cache",
            cache->writers.n > 1 ? "several writers, first" : "the writer", TEXT_ARG (cache->writer),
            TEXT_ARG (draft->plan.hosts.items[0].name), cache->writers.n > 1 ? " alone" : "", frontend);
}

/* A cache that is only warmed, for a topology whose devices need not be there: nothing can execute. docs/guide/aot.md */
static bool compiles_ahead (const struct plan *plan, const struct rung *rung)
{
    struct text key = text_of (rung->scope == SCOPE_SLICE ? "topology" : "host_topology");
    return plan->cache.mode == CACHE_WARM_ONLY && rung->kind == PROGRAM_CANARY &&
           var_find (&rung->args, key, &(struct text){ 0 });
}

static void check_cache (struct draft *draft, const struct conf_value *warm, struct rung *rung)
{
    const struct plan *plan = &draft->plan;
    if (rung->warm == WARM_NONE)
        return;
    if (plan->cache.mode == CACHE_OFF) {
        warning_at (draft->problems, warm->node,
                    "rung %.*s runs once: the slice's cache is off, so nothing can be restored", TEXT_ARG (rung->id));
        rung->warm = WARM_NONE;
        return;
    }
    if (compiles_ahead (plan, rung))
        rung->warm = WARM_AOT;
    else if (rung->warm == WARM_GANG && draft->frontend && draft->frontend->writer_is_rank_0)
        check_gang (draft, warm);
}

static void read_parse (struct draft *draft, const struct conf_value *parse, struct rung *rung)
{
    if (!parse->given || !parse->good)
        return;
    if (rung->kind != PROGRAM_COMMAND)
        problem_at (draft->problems, parse->node,
                    "parse is set for a rung without a command, expected it only with a command: %s",
                    rung->kind == PROGRAM_CANARY ? "a canary reports its counters itself"
                                                 : "a builtin has no counters");
    rung->parse = parse->text;
}

static void rung_read_env (struct draft *draft, const struct conf_value *env, struct rung *rung)
{
    bool has_pins = draft->slice[SLICE_PINS].given || draft->options->pins;
    bool restores = text_is (rung->builtin, "restore");
    if (rung->kind == PROGRAM_BUILTIN && env->given && !rung_is_builtin (rung, "probe"))
        problem_at (
            draft->problems, env->node,
            "env is set for a rung with a builtin, expected it only for canaries, commands and the builtin probe");
    rung->needs_env = env->given ? env->good && env->number : rung->kind == PROGRAM_CANARY && has_pins;
    draft->needs_pins |= rung->needs_env || restores;
    if (!has_pins && (rung->needs_env || restores) &&
        !text_is_word (rung->id, draft->options->leave_out, LEFT_OUT_RUNGS_MAX))
        problem_at (draft->problems, env->node,
                    "rung %.*s needs the environment of a pin set, expected the key 'pins' in the slice file%s%.*s%s",
                    TEXT_ARG (rung->id), restores ? ", or --leave-out " : "",
                    TEXT_ARG (restores ? rung->id : TEXT_LIT ("")),
                    restores ? ": programs then run with each host's own Python" : "");
}

static void read_backend (struct draft *draft, const struct conf_value *backend, struct rung *rung)
{
    bool reports = rung->kind != PROGRAM_BUILTIN || rung_is_builtin (rung, "probe");
    rung->any_backend = backend->given && backend->good && backend->number == NEED_ANY;
    bool required = backend->given && backend->good ? backend->number == NEED_REQUIRED : rung->kind == PROGRAM_CANARY;
    if (required && !reports)
        problem_at (draft->problems, backend->node,
                    "backend: required for a builtin other than probe, expected backend: any: it reports no backend");
    else if (required)
        rung->backend = draft->plan.profile.backend;
}

static void read_metrics (struct draft *draft, const struct conf_value of[], struct rung *rung)
{
    struct name_list names;
    const struct conf_value *metrics = &of[RUNG_METRICS];
    if (draft_names (draft, metrics, METRICS_MAX, &names) != 0 || names.n == 0)
        return;
    if (rung->kind == PROGRAM_BUILTIN || rung->scope != SCOPE_SLICE)
        problem_at (draft->problems, metrics->node,
                    "metrics is set, expected it only for a canary or command with scope: slice");
    rung->metrics.items = names.items;
    rung->metrics.n = names.n;
}

static void read_tolerances (struct draft *draft, const struct conf_value *map, struct rung *rung)
{
    if (!map->given || !map->good)
        return;
    rung->tolerances.items = arena_array (draft->arena, map->node->n, sizeof *rung->tolerances.items);
    for (const struct yaml_node *key = map->node->first; key; key = key->next) {
        struct demand *tolerance = &rung->tolerances.items[rung->tolerances.n];
        tolerance->what = key->text;
        if (!text_is_among (key->text, rung->metrics.items, rung->metrics.n))
            problem_at (draft->problems, key, "tolerance is given for %s, expected one of the rung's metrics",
                        problem_quote (draft->problems, key->text));
        else if (draft_number (draft, key->value, "a tolerance", "a relative error from 1e-9 to 0.5, such as 0.01",
                               1e-9, 0.5, &tolerance->most) == 0)
            rung->tolerances.n++;
    }
}

/* Of the floors of the profile those of another name come with them. */
static void read_floors (struct draft *draft, const struct conf_value *min, struct rung *rung)
{
    floor_list own = { 0 };
    const floor_list *usual = &draft->profile_floors;
    draft_floors (draft, min, text_format (draft->arena, "rung %.*s", TEXT_ARG (rung->id)), &own);
    if (min->given && rung->kind == PROGRAM_BUILTIN)
        problem_at (draft->problems, min->node, "min is set for a rung with a builtin, expected a canary or command");
    if (draft->options->rehearsal) /* no floor is of the processors of this machine */
        return;
    rung->floors.items = arena_array (draft->arena, own.n + usual->n, sizeof *own.items);
    for (; rung->floors.n < own.n; rung->floors.n++)
        rung->floors.items[rung->floors.n] = own.items[rung->floors.n];
    for (uint32_t i = 0; i < usual->n && rung->kind != PROGRAM_BUILTIN; i++) {
        if (LIST_FIND (own, struct floor, name, usual->items[i].name))
            continue;
        rung->floors.items[rung->floors.n] = usual->items[i];
        rung->floors.items[rung->floors.n++].may_be_left = true;
    }
}

int draft_rung (struct draft *draft, const struct yaml_node *node, struct rung *rung)
{
    struct conf_value of[RUNG_KEYS];
    uint32_t errors_before = draft->problems->errors;
    *rung = (struct rung){ 0 };
    if (section_read (&rung_section, node, of, draft->problems) != 0 || read_kind (draft, node, of, rung) != 0)
        return -1;
    rung->id = of[RUNG_ID].text;
    rung->scope = (enum scope) of[RUNG_SCOPE].number;
    rung->hold_ms = of[RUNG_HOLD].number;
    rung->timeout_ms = of[RUNG_TIMEOUT].number + rung->hold_ms;
    if (rung->kind == PROGRAM_BUILTIN && rung->hold_ms)
        problem_at (draft->problems, of[RUNG_HOLD].node,
                    "hold is set for a rung with a builtin, expected it only for canaries and commands");
    read_program (draft, of, rung);
    if (rung->kind == PROGRAM_CANARY)
        read_args (draft, &of[RUNG_ARGS], rung);
    else if (rung_is_builtin (rung, "ways"))
        read_ways (draft, of, rung);
    else if (of[RUNG_ARGS].given && !rung_is_builtin (rung, "probe"))
        problem_at (draft->problems, of[RUNG_ARGS].node,
                    "args is set for a rung without a canary, probe or ways, expected it only for these");
    read_warm (draft, of, rung);
    check_cache (draft, &of[RUNG_WARM], rung);
    rung_read_env (draft, &of[RUNG_ENV], rung);
    read_backend (draft, &of[RUNG_BACKEND], rung);
    if (rung_is_builtin (rung, "probe"))
        draft_probe_args (draft, node, &of[RUNG_ARGS], rung);
    rung->copies = is_copied (draft, of, rung);
    read_metrics (draft, of, rung);
    read_tolerances (draft, &of[RUNG_TOLERANCE], rung);
    read_floors (draft, &of[RUNG_MIN], rung);
    read_parse (draft, &of[RUNG_PARSE], rung);
    draft_command (draft, of, rung);
    if (draft->problems->errors != errors_before)
        return -1;
    return text_is_word (rung->id, draft->options->leave_out, LEFT_OUT_RUNGS_MAX) ||
           (rung->warm == WARM_NONE && compiles_ahead (&draft->plan, rung)) ||
           draft_rehearse_leaves_out (draft, &of[RUNG_REHEARSE], rung->warm);
}

/* ---- probe ---- */

/* The arguments of the builtin probe: which plugin, how its client is created, or that none is. */

enum { PROBE_OPTIONS_MAX = 64 };

static int read_plugin (struct draft *draft, const struct yaml_node *value, bool has_env)
{
    if (value->kind != YAML_SCALAR || yaml_is_null (value) || !value->text.len || value->text.len > PATH_MAX_BYTES)
        return problem_at (draft->problems, value,
                           "the probe's plugin is not usable, expected the path of a PJRT plugin, at most %d bytes",
                           PATH_MAX_BYTES);
    if (value->text.ptr[0] == '/')
        return 0;
    if (draft_has_dotdot (value->text))
        return problem_at (draft->problems, value,
                           "the path of the plugin %s leads out of the packages of the environment with \"..\"",
                           problem_quote (draft->problems, value->text));
    if (!has_env)
        return problem_at (draft->problems, value,
                           "the path of the plugin %s is relative, expected an absolute path, or env: true with a path "
                           "relative to the packages of the environment",
                           problem_quote (draft->problems, value->text));
    return 0;
}

/* {"name":value,...}: what draft_args makes of the map, as one object. -1: it is too long. */
static int write_options (struct draft *draft, const var_list *options, struct text *json)
{
    LOCAL_BUF buf = { .max = JSON_MAX_BYTES };
    for (uint32_t i = 0; i < options->n; i++)
        buf_printf (&buf, "%s\"%.*s\":%.*s", i ? "," : "{", TEXT_ARG (options->items[i].name),
                    TEXT_ARG (options->items[i].value));
    buf_puts (&buf, options->n ? "}" : "{}");
    int rc = buf.overflow ? -1 : 0;
    if (rc == 0)
        *json = text_copy (draft->arena, buf_as_text (&buf));
    return rc;
}

static int probe_read_options (struct draft *draft, const struct yaml_node *map, struct text *json)
{
    var_list options = { 0 };
    if (map->kind != YAML_MAP)
        return problem_at (draft->problems, map, "the probe's options are %s, expected a map of names to single values",
                           yaml_kind_name (map->kind));
    for (const struct yaml_node *key = map->first; key; key = key->next)
        if (key->value->kind == YAML_LIST)
            return problem_at (draft->problems, key, "the value of an option is a list, expected a single value");
    if (draft_args (draft, map, &options) != 0)
        return -1;
    if (options.n > PROBE_OPTIONS_MAX)
        return problem_at (draft->problems, map, "the probe has %u options, expected at most %d", options.n,
                           PROBE_OPTIONS_MAX);
    if (write_options (draft, &options, json) < 0)
        return problem_at (draft->problems, map, "the probe's options are longer than %d bytes as JSON",
                           JSON_MAX_BYTES);
    return 0;
}

static int read_client (struct draft *draft, const struct yaml_node *value, bool needs_client)
{
    if (value->kind != YAML_SCALAR || !(text_is (value->text, "true") || text_is (value->text, "false")))
        return problem_at (draft->problems, value, "the probe's client is another value, expected true or false");
    if (needs_client && text_is (value->text, "false"))
        return problem_at (draft->problems, value,
                           "client: false with backend: required, expected backend: any: a probe without a client "
                           "cannot observe the backend");
    return 0;
}

static int read_arg (struct draft *draft, const struct yaml_node *key, const struct rung *rung, struct text *json)
{
    if (text_is (key->text, "options"))
        return probe_read_options (draft, key->value, json);
    int rc = -1;
    if (text_is (key->text, "plugin"))
        rc = read_plugin (draft, key->value, rung->needs_env);
    else if (text_is (key->text, "client"))
        rc = read_client (draft, key->value, rung->backend.len > 0);
    else
        problem_at (draft->problems, key, "%s is not an argument of a probe, expected plugin, options or client",
                    problem_quote (draft->problems, key->text));
    return rc == 0 ? yaml_to_json (key->value, key->text, json, draft->problems) : -1;
}

void draft_probe_args (struct draft *draft, const struct yaml_node *node, const struct conf_value *args,
                       struct rung *rung)
{
    bool has_plugin = false;
    uint32_t n = args->given && args->good ? args->node->n : 0;
    if (rung->scope == SCOPE_SLICE)
        problem_at (draft->problems, node,
                    "a probe with scope: slice, expected scope: host: a probe runs alone on its host");
    if (args->given && !args->good)
        return; /* reported */
    rung->args.items = arena_array (draft->arena, n, sizeof *rung->args.items);
    for (const struct yaml_node *key = n ? args->node->first : NULL; key; key = key->next) {
        struct text json = { 0 };
        has_plugin = has_plugin || text_is (key->text, "plugin");
        if (read_arg (draft, key, rung, &json) == 0)
            rung->args.items[rung->args.n++] = (struct var){ key->text, json };
    }
    draft_sort_vars (&rung->args);
    if (!has_plugin)
        problem_at (draft->problems, args->given ? args->node : node,
                    "a probe without a plugin, expected args: {plugin: ...}, the path of a PJRT plugin");
}
