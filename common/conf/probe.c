/* probe.c - the arguments of the builtin probe: which plugin, how its client is created, or that none is. */

#include "common/conf/draft.h"
#include "common/conf/yaml_to_json.h"

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
    struct buf buf;
    buf_init (&buf, JSON_MAX_BYTES);
    for (uint32_t i = 0; i < options->n; i++)
        buf_printf (&buf, "%s\"%.*s\":%.*s", i ? "," : "{", TEXT_ARG (options->items[i].name),
                    TEXT_ARG (options->items[i].value));
    buf_puts (&buf, options->n ? "}" : "{}");
    int rc = buf.overflow ? -1 : 0;
    if (rc == 0)
        *json = text_copy (draft->arena, buf_as_text (&buf));
    buf_release (&buf);
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
