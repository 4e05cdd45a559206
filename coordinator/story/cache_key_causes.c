#include "coordinator/story/drift.h"

#include <assert.h>

#include "common/frontend/frontend.h"
#include "coordinator/verdict/flag_set.h"

enum { FRONTENDS_MAX = 16, BACKEND_CAUSES = 6, SHOWN_BYTES = 512 };

struct comparison {
    const struct result *here, *there;
    struct arena *arena;
    struct cache_key_cause_list *out;
};

static void cache_key_causes_add (struct comparison *of, struct text what, struct text here, struct text there,
                                  struct text text)
{
    of->out->items[of->out->n++] = (struct cache_key_cause){ what, here, there, text };
}

static struct text cache_key_causes_shown (struct text value, struct arena *arena)
{
    struct text clipped = text_clip (value, SHOWN_BYTES);
    if (value.len && !text_find (value, TEXT_LIT (" "), NULL))
        return clipped;
    return value.len ? text_format (arena, "'%.*s'", TEXT_ARG (clipped)) : TEXT_LIT ("absent");
}

static void add_values (struct comparison *of, struct text what, struct text here, struct text there)
{
    if (text_equal (here, there))
        return;
    struct text mine = cache_key_causes_shown (here, of->arena), theirs = cache_key_causes_shown (there, of->arena);
    cache_key_causes_add (
        of, what, here, there,
        text_format (of->arena, "%.*s: %.*s here, %.*s there", TEXT_ARG (what), TEXT_ARG (mine), TEXT_ARG (theirs)));
}

/* ---- texts that are sets of tokens ---- */

static void add_tokens (struct comparison *of, struct text what, struct text here, struct text there)
{
    struct text mine = flag_set_normalise (here, of->arena), theirs = flag_set_normalise (there, of->arena);
    struct text only_here = flag_set_subtract (mine, theirs, of->arena),
                only_there = flag_set_subtract (theirs, mine, of->arena);
    struct text a = text_clip (only_here, SHOWN_BYTES), b = text_clip (only_there, SHOWN_BYTES);
    struct text only = a.len ? a : b, text;
    if (only.len == 0)
        return;
    if (a.len && b.len)
        text = text_format (of->arena, "%.*s has %.*s here, and %.*s there", TEXT_ARG (what), TEXT_ARG (a),
                            TEXT_ARG (b));
    else
        text = text_format (of->arena, "%.*s has %.*s %s only", TEXT_ARG (what), TEXT_ARG (only),
                            a.len ? "here" : "there");
    cache_key_causes_add (of, what, only_here, only_there, text);
}

/* ---- settings ---- */

static bool is_of_a_role (struct text name, struct text value)
{
    return frontend_sets_for_cache (name, value, true);
}

static void add_setting (struct comparison *of, struct text name, struct text here, struct text there)
{
    if (text_is (name, "XLA_FLAGS") || text_is (name, "LIBTPU_INIT_ARGS"))
        add_tokens (of, name, here, there);
    else if (!text_equal (here, there) && !(is_of_a_role (name, here) && is_of_a_role (name, there)))
        add_values (of, name, here, there);
}

/* ---- lists ---- */

static void add_variable (void *of, struct text name, const struct text *here, const struct text *there)
{
    add_setting (of, name, here ? *here : (struct text){ 0 }, there ? *there : (struct text){ 0 });
}

static void add_package (void *of, struct text name, const struct text *here, const struct text *there)
{
    if (!text_starts (name, RESULT_PACKAGES)) /* no part of a key */
        add_values (of, name, here ? *here : (struct text){ 0 }, there ? *there : (struct text){ 0 });
}

static struct text count_text (uint32_t count, struct arena *arena)
{
    return count ? text_format (arena, "%u", count) : (struct text){ 0 };
}

static void compare_backends (struct comparison *of)
{
    const struct observed_backend *here = &of->here->backend, *there = &of->there->backend;
    add_values (of, TEXT_LIT ("backend"), here->platform, there->platform);
    add_values (of, TEXT_LIT ("backend version"), here->platform_version, there->platform_version);
    add_values (of, TEXT_LIT ("device kind"), here->device_kind, there->device_kind);
    const struct {
        const char *what;
        uint32_t here, there;
    } counts[] = { { "devices", here->devices, there->devices },
                   { "devices of one host", here->local_devices, there->local_devices },
                   { "processes", here->process_count, there->process_count } };
    for (size_t i = 0; i < sizeof (counts) / sizeof (counts[0]); i++) {
        struct text mine = count_text (counts[i].here, of->arena), theirs = count_text (counts[i].there, of->arena);
        add_values (of, text_of (counts[i].what), mine, theirs);
    }
}

/* Programs of one name that were lowered to different code: other code, shapes or constants. */
static void compare_programs (struct comparison *of)
{
    for (uint32_t i = 0; i < of->here->programs.n; i++) {
        const struct program_fingerprint *here = &of->here->programs.items[i];
        for (uint32_t j = 0; j < of->there->programs.n; j++) {
            const struct program_fingerprint *there = &of->there->programs.items[j];
            if (!text_equal (here->name, there->name) || text_equal (here->fingerprint, there->fingerprint))
                continue;
            struct text what = text_format (of->arena, "program %.*s", TEXT_ARG (here->name));
            static const char words[] = "%.*s was lowered to different code: its source, shapes or constants differ";
            cache_key_causes_add (of, what, here->fingerprint, there->fingerprint,
                                  text_format (of->arena, words, TEXT_ARG (what)));
            break;
        }
    }
}

void cache_key_causes_find (const struct result *here, const struct result *there, struct arena *arena,
                            struct cache_key_cause_list *out)
{
    /* docs/spec/canary.md: arguments that are flags; no variable shows them */
    struct text arguments = TEXT_LIT ("xla.arguments");
    size_t lists = (size_t) here->bundle.n + there->bundle.n + here->policy.n + there->policy.n + here->programs.n;
    *out = (struct cache_key_cause_list){
        arena_array (arena, lists + BACKEND_CAUSES + 1, sizeof (struct cache_key_cause)), 0
    };
    struct comparison of = { here, there, arena, out };
    struct text mine = { 0 }, theirs = { 0 };
    var_find (&here->facts, arguments, &mine);
    var_find (&there->facts, arguments, &theirs);
    add_tokens (&of, TEXT_LIT ("argument list"), mine, theirs);
    var_lists_walk (&here->policy, &there->policy, add_variable, &of);
    var_lists_walk (&here->bundle, &there->bundle, add_package, &of);
    compare_backends (&of);
    compare_programs (&of);
}

/* ---- policy changes ---- */

enum { SCOPES = 3 };

/* A program of one scope has that scope's own value, and else that of all. */
static uint32_t values_set (const struct policy_receipt *policy, struct text name, struct text values[SCOPES])
{
    const var_list *lists[SCOPES] = { &policy->slice_scope, &policy->host_scope, &policy->launched };
    uint32_t n = 0;
    for (size_t i = 0; i < SCOPES; i++)
        n += var_find (lists[i], name, &values[n]);
    return n;
}

bool policy_is_as_launched (const struct policy_receipt *policy, const struct var *seen, struct arena *arena)
{
    struct text values[SCOPES], is = flag_set_normalise (seen->value, arena);
    uint32_t n = values_set (policy, seen->name, values);
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (flag_set_normalise (values[i], arena), is))
            return true;
    return false;
}

/* Of one that is set for programs of one scope alone, those of the other have what their worker has: host-facts tells it. */
static bool may_be_inherited (const struct policy_receipt *policy, const var_list *facts, const struct var *seen)
{
    struct text values[SCOPES], own;
    LOCAL_BUF name = { .max = NAME_MAX_BYTES + 8 };
    if (var_find (&policy->launched, seen->name, values) || values_set (policy, seen->name, values) > 1 ||
        !text_is_among (seen->name, policy->inherited.items, policy->inherited.n))
        return false;
    buf_printf (&name, "env.%.*s", TEXT_ARG (seen->name));
    return !var_find (facts, buf_as_text (&name), &own) || text_equal (own, seen->value) ||
           values_set (policy, seen->name, values) == 0;
}

static bool is_of_frontend (struct text name)
{
    const char *names[FRONTENDS_MAX];
    uint32_t n = frontend_names (names, FRONTENDS_MAX);
    for (uint32_t i = 0; i < n && i < FRONTENDS_MAX; i++)
        if (frontend_why_owned (frontend_find (text_of (names[i])), name))
            return true;
    return false;
}

static uint32_t count_set (const struct policy_receipt *policy)
{
    const var_list *lists[SCOPES] = { &policy->launched, &policy->host_scope, &policy->slice_scope };
    struct text value;
    uint32_t n = 0;
    for (size_t i = 0; i < SCOPES; i++)
        for (uint32_t k = 0; k < lists[i]->n; k++) {
            bool before = false;
            for (size_t other = 0; other < i; other++)
                before |= var_find (lists[other], lists[i]->items[k].name, &value);
            n += !before;
        }
    return n;
}

void policy_changes_find (const struct policy_receipt *policy, const var_list *facts, struct arena *arena,
                          struct policy_changes *out)
{
    *out = (struct policy_changes){ .set_n = count_set (policy),
                                    .edited = arena_array (arena, policy->observed.n, sizeof *out->edited),
                                    .added = arena_array (arena, policy->observed.n, sizeof *out->added) };
    for (uint32_t i = 0; i < policy->observed.n; i++) {
        const struct var *seen = &policy->observed.items[i];
        struct text values[SCOPES];
        if (text_is (seen->value, FACT_NOT_REPORTED))
            continue;
        uint32_t n = values_set (policy, seen->name, values);
        out->told_n += n > 0;
        if (n > 0 && !may_be_inherited (policy, facts, seen) && !policy_is_as_launched (policy, seen, arena))
            out->edited[out->edited_n++] = (struct policy_edit){ seen->name, values[0], seen->value };
        else if (n == 0 && !may_be_inherited (policy, facts, seen) && !is_of_frontend (seen->name))
            out->added[out->added_n++] = *seen;
    }
}
