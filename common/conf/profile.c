/* profile.c - the launch policy: frontend, backend, devices, and the variables set before a program starts. */
#include <inttypes.h>
#include <string.h>

#include "common/conf/draft.h"
#include "common/model/launch_variables.h"

enum { FRONTENDS_MAX = 16, PREMAPPED_UNIT_BYTES = 4096, VAR_NAME_MAX_BYTES = 127 };

static const struct conf_file_kind profile_kind = { "profile", "configs/profiles", ".yaml" };

/* docs.cloud.google.com/tpu/docs/performance-guide: bytes, a multiple of 4096. */
static const char premapped_var[] = "TPU_PREMAPPED_BUFFER_SIZE";

/* Refuses variables that sliceup sets itself, because the recorded policy would differ from the real one. */
static int check_owner (struct draft *draft, const struct yaml_node *key)
{
    if (text_starts (key->text, "SLICEUP_"))
        return problem_at (draft->problems, key, "the worker sets %.*s itself, expected another variable",
                           TEXT_ARG (key->text));
    if (text_is (key->text, "HOME"))
        return problem_at (draft->problems, key,
                           "the worker sets HOME itself, to the folder of the attempt; expected another variable");
    if (text_is (key->text, premapped_var))
        return problem_at (draft->problems, key, "env sets %s, expected the key premapped_buffer_bytes instead",
                           premapped_var);
    const char *why = draft->frontend ? frontend_why_owned (draft->frontend, key->text) : NULL;
    if (why)
        return problem_at (draft->problems, key,
                           "the worker sets %.*s itself, so that the frontend %s %s; expected another variable",
                           TEXT_ARG (key->text), draft->frontend->name, why);
    return 0;
}

static int check_placeholders (struct draft *draft, const struct yaml_node *key)
{
    struct text name;
    if (!launch_find_unknown_placeholder (key->value->text, &name))
        return 0;
    return problem_at (draft->problems, key->value,
                       "the variable %.*s holds {%.*s}, expected a placeholder of these: {rank}, {world}, {host}, "
                       "{address}, {addresses}, {address0}, {port}, {rendezvous}, {slice}, {slices}, {worker}, "
                       "{workers}; {{word}} is the text {word}",
                       TEXT_ARG (key->text), TEXT_ARG (name));
}

/* Refuses to unset what programs need; the worker passes its own if the profile sets none. */
static int check_unset (struct draft *draft, const struct yaml_node *key)
{
    static const char *const always[] = { "PATH", "LANG", "TZ", "TMPDIR" };
    if (!text_is_word (key->text, always, sizeof always / sizeof always[0]))
        return 0;
    return problem_at (draft->problems, key->value, "%.*s is null, but programs always have it, expected a value",
                       TEXT_ARG (key->text));
}

void draft_sort_names (text_list *names)
{
    sort_items (names->items, names->n, sizeof *names->items, text_order);
}

/* Warns of a valid variable that is most likely a mistake. `value` NULL: it is inherited. */
static void lint (struct draft *draft, const struct yaml_node *name, const struct text *value)
{
    const char *why = launch_lint_variable (&draft->plan.profile, name->text, value, draft->arena);
    if (why)
        warning_at (draft->problems, name, "the profile %s %.*s; %s", value ? "sets" : "inherits",
                    TEXT_ARG (name->text), why);
}

static int check_value (struct draft *draft, const struct yaml_node *key)
{
    const struct yaml_node *value = key->value;
    if (value->kind != YAML_SCALAR || yaml_is_null (value))
        return problem_at (draft->problems, value,
                           "the variable %.*s holds %s, expected a single value; \"\" is the empty text",
                           TEXT_ARG (key->text), value->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (value->kind));
    if (memchr (value->text.len ? value->text.ptr : "", '$', value->text.len))
        warning_at (draft->problems, value,
                    "the variable %.*s is set literally to %s: variables in values are not expanded",
                    TEXT_ARG (key->text), problem_quote (draft->problems, value->text));
    lint (draft, key, &value->text);
    return check_placeholders (draft, key);
}

static int profile_check_name (struct draft *draft, const struct yaml_node *name)
{
    if (name->kind != YAML_SCALAR || !identifier_is_good (name->text, VAR_NAME_MAX_BYTES))
        return problem_at (draft->problems, name, "%s is not a variable name, expected letters, digits and '_'",
                           problem_quote_value (draft->problems, name));
    return check_owner (draft, name);
}

/* `unset`: receives the names whose value is null; NULL: each has to have a value. */
static void read_variables (struct draft *draft, const struct conf_value *map, uint32_t room, var_list *env,
                            text_list *unset)
{
    uint32_t n = map->given && map->good ? map->node->n : 0;
    *env = (var_list){ .items = arena_array (draft->arena, n + room, sizeof *env->items) };
    if (unset)
        unset->items = arena_array (draft->arena, n, sizeof *unset->items);
    for (const struct yaml_node *key = n ? map->node->first : NULL; key; key = key->next) {
        if (profile_check_name (draft, key) < 0)
            continue;
        if (unset && key->value->kind == YAML_SCALAR && yaml_is_null (key->value)) {
            if (check_unset (draft, key) == 0)
                unset->items[unset->n++] = key->text;
            continue;
        }
        if (check_value (draft, key) == 0)
            env->items[env->n++] = (struct var){ .name = key->text, .value = key->value->text };
    }
}

static void profile_read_env (struct draft *draft, const struct conf_value values[PROFILE_KEYS])
{
    struct profile *plan = &draft->plan.profile;
    const struct conf_value *premapped = &values[PROFILE_PREMAPPED];
    read_variables (draft, &values[PROFILE_ENV], 1, &plan->env, NULL);
    read_variables (draft, &values[PROFILE_HOST_ENV], 0, &plan->host_env.set, &plan->host_env.unset);
    read_variables (draft, &values[PROFILE_SLICE_ENV], 0, &plan->slice_env.set, &plan->slice_env.unset);
    if (premapped->given && premapped->good)
        plan->env.items[plan->env.n++] = (struct var){
            .name = text_of (premapped_var), .value = text_format (draft->arena, "%" PRIu64, premapped->number)
        };
    draft_sort_vars (&plan->env);
    draft_sort_vars (&plan->host_env.set);
    draft_sort_vars (&plan->slice_env.set);
}

static void read_inherit (struct draft *draft, const struct conf_value *list)
{
    struct profile *plan = &draft->plan.profile;
    struct text value;
    const struct yaml_node *name;
    if (section_list (list, VARS_MAX, "inherit names", "variables", draft->problems, &name) != 0)
        return;
    plan->inherit.items = arena_array (draft->arena, name ? list->node->n : 0, sizeof *plan->inherit.items);
    for (; name; name = name->next) {
        if (profile_check_name (draft, name) < 0)
            continue;
        lint (draft, name, NULL);
        if (var_find (&plan->env, name->text, &value))
            problem_at (draft->problems, name, "%.*s is set by env and inherited, expected one of the two",
                        TEXT_ARG (name->text));
        else if (!text_is_among (name->text, plan->inherit.items, plan->inherit.n))
            plan->inherit.items[plan->inherit.n++] = name->text;
    }
}

/* Checks the number of one program's variables: those of all programs and of its scope. */
static void check_count (struct draft *draft, const struct conf_value *map, const char *names, uint32_t n)
{
    if (n > VARS_MAX)
        problem_at (draft->problems, map->node, "%s %u variables, expected at most %d", names, n, VARS_MAX);
}

/* After the machine type has added its own. */
static void check_counts (struct draft *draft, const struct conf_value values[PROFILE_KEYS])
{
    const struct profile *plan = &draft->plan.profile;
    check_count (draft, &values[PROFILE_ENV], "env sets", plan->env.n);
    if (plan->env.n > VARS_MAX)
        return;
    check_count (draft, &values[PROFILE_HOST_ENV], "env and host_env set", plan->env.n + plan->host_env.set.n);
    check_count (draft, &values[PROFILE_SLICE_ENV], "env and slice_env set", plan->env.n + plan->slice_env.set.n);
}

static void check_premapped (struct draft *draft, const struct conf_value *premapped, struct text backend)
{
    if (!premapped->given || !premapped->good)
        return;
    if (premapped->number % PREMAPPED_UNIT_BYTES != 0)
        problem_at (draft->problems, premapped->node,
                    "premapped_buffer_bytes is %" PRIu64 ", expected a multiple of %d", premapped->number,
                    PREMAPPED_UNIT_BYTES);
    if (backend.len > 0 && !text_is (backend, "tpu"))
        problem_at (draft->problems, premapped->node,
                    "premapped_buffer_bytes is set with backend: %.*s, expected it with backend: tpu only",
                    TEXT_ARG (backend));
}

static void find_frontend (struct draft *draft, const struct conf_value *name)
{
    const char *known[FRONTENDS_MAX];
    if (!name->good)
        return;
    draft->frontend = frontend_find (name->text);
    if (draft->frontend)
        return;
    problem_unknown (draft->problems, name->node, "frontend", "", known, frontend_names (known, FRONTENDS_MAX));
}

static void check_backend (struct draft *draft, const struct conf_value *backend)
{
    const struct frontend *frontend = frontend_find (draft->plan.profile.frontend);
    if (backend->good && text_is (backend->text, "gpu") && frontend && frontend->no_gpu)
        problem_at (draft->problems, backend->node, "backend is gpu with frontend: %s, %s", frontend->name,
                    frontend->no_gpu);
}

/* ---- the sizes that programs may give the dimensions of their arrays ---- */

static int read_sizes (struct draft *draft, const struct yaml_node *key, struct dimension *dimension)
{
    const struct yaml_node *list = key->value;
    uint64_t size = 0, last = 0;
    if (list->kind != YAML_LIST || list->n == 0 || list->n > SHAPE_SIZES_MAX)
        return problem_at (draft->problems, list, "the dimension %.*s has no list of sizes, expected 1 to %d of them",
                           TEXT_ARG (key->text), SHAPE_SIZES_MAX);
    dimension->sizes.items = arena_array (draft->arena, list->n, sizeof *dimension->sizes.items);
    for (const struct yaml_node *item = list->first; item; item = item->next, last = size) {
        bool good = item->kind == YAML_SCALAR && item->plain && text_to_u64 (item->text, &size);
        if (!good || size <= last || size > SHAPE_SIZE_MAX)
            return problem_at (
                draft->problems, item,
                "%s is no size of the dimension %.*s here, expected a whole number above the one before, "
                "from 1 to %d",
                problem_quote_value (draft->problems, item), TEXT_ARG (key->text), SHAPE_SIZE_MAX);
        dimension->sizes.items[dimension->sizes.n++] = (uint32_t) size;
    }
    return 0;
}

static int read_padding (struct draft *draft, const struct yaml_node *value)
{
    bool is_word = value->kind == YAML_SCALAR && value->plain;
    draft->plan.profile.padding = is_word && text_is (value->text, "true");
    if (draft->plan.profile.padding || (is_word && text_is (value->text, "false")))
        return 0;
    return problem_at (draft->problems, value, "padding is %s, expected true or false",
                       problem_quote_value (draft->problems, value));
}

static int read_dimension (struct draft *draft, const struct yaml_node *key)
{
    struct profile *profile = &draft->plan.profile;
    if (!identifier_is_good (key->text, AXIS_NAME_MAX_BYTES))
        return problem_at (draft->problems, key,
                           "%s is not the name of a dimension, expected letters, digits and '_', "
                           "at most %d bytes",
                           problem_quote (draft->problems, key->text), AXIS_NAME_MAX_BYTES);
    if (profile->shapes.n == SHAPES_MAX)
        return problem_at (draft->problems, key, "a dimension too many, expected at most %d", SHAPES_MAX);
    struct dimension *dimension = &profile->shapes.items[profile->shapes.n++];
    dimension->name = key->text;
    return read_sizes (draft, key, dimension);
}

static void read_shapes (struct draft *draft, const struct yaml_node *root, const struct conf_value *map)
{
    struct profile *profile = &draft->plan.profile;
    const char *why = map->given ? NULL : launch_lint_shapes (profile);
    if (why)
        warning_at (draft->problems, root, "the profile gives no shapes; %s", why);
    if (!map->given || !map->good)
        return;
    profile->shapes.items = arena_array (draft->arena, SHAPES_MAX, sizeof *profile->shapes.items);
    for (const struct yaml_node *key = map->node->first; key; key = key->next)
        if (text_is (key->text, "padding") ? read_padding (draft, key->value) : read_dimension (draft, key))
            return;
    if (profile->shapes.n == 0)
        problem_at (draft->problems, map->node, "shapes without a dimension, expected one, such as batch: [8, 16]");
}

/* ---- profile ---- */

void draft_profile (struct draft *draft)
{
    const struct yaml_node *node = draft_choose_reference (draft, SLICE_PROFILE, draft->options->profile, "--profile");
    struct source source;
    struct conf_value profile[PROFILE_KEYS];
    uint32_t errors_before = draft->problems->errors;
    const struct yaml_node *root = node ? draft_parse_referenced_file (draft, &profile_kind, node, &source) : NULL;
    if (!root || section_read (&profile_section, root, profile, draft->problems) != 0)
        return;
    find_frontend (draft, &profile[PROFILE_FRONTEND]);
    struct profile *plan = &draft->plan.profile;
    plan->name = profile[PROFILE_PROFILE].text;
    plan->frontend = profile[PROFILE_FRONTEND].text;
    plan->backend = profile[PROFILE_BACKEND].good ? profile[PROFILE_BACKEND].text : (struct text){ 0 };
    plan->accelerator = profile[PROFILE_ACCELERATOR].text;
    plan->splits = profile[PROFILE_SPLITS].given ? profile[PROFILE_SPLITS].number : !text_is (plan->backend, "tpu");
    draft->executes = profile[PROFILE_PRELOAD].given && !profile[PROFILE_PRELOAD].number;
    check_backend (draft, &profile[PROFILE_BACKEND]);
    check_premapped (draft, &profile[PROFILE_PREMAPPED], plan->backend);
    profile_read_env (draft, profile);
    if (launch_uses_port (plan))
        plan->port = (uint32_t) profile[PROFILE_PORT].number;
    read_inherit (draft, &profile[PROFILE_INHERIT]);
    read_shapes (draft, root, &profile[PROFILE_SHAPES]);
    draft_take_machine (draft, profile);
    draft_sort_vars (&plan->host_env.set);
    draft_sort_names (&plan->host_env.unset);
    draft_sort_names (&plan->slice_env.unset);
    draft_sort_names (&plan->inherit);
    check_counts (draft, profile);
    if (profile[PROFILE_ARGS].given && profile[PROFILE_ARGS].good)
        (void) draft_args (draft, profile[PROFILE_ARGS].node, &draft->profile_args); /* reported; the load fails */
    draft_floors (draft, &profile[PROFILE_MIN], text_format (draft->arena, "profile %.*s", TEXT_ARG (plan->name)),
                  &draft->profile_floors);
    draft->profile_good = draft->problems->errors == errors_before;
}
