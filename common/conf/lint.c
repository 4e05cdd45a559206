/* lint.c - a launch policy that is valid and most likely not meant (launch_lint.h), as warnings of `check`. */
#include "common/conf/draft.h"
#include "common/frontend/launch_lint.h"
#include "common/model/launch_variables.h"

void draft_lint_variable (struct draft *draft, const struct yaml_node *name, const struct text *value)
{
    const char *why = launch_lint_variable (name->text, value, draft->plan.profile.name);
    if (why)
        warning_at (draft->problems, name, "the profile %s %.*s; %s", value ? "sets" : "inherits",
                    TEXT_ARG (name->text), why);
}

/* A scope whose programs get flags that leave one open: once is enough. */
void draft_lint_flags (struct draft *draft)
{
    const struct launch_place place = { 0 };
    const struct profile *plan = &draft->plan.profile;
    struct text flags;
    if (!text_is (plan->backend, "tpu") || !draft->frontend || !frontend_has_cache (draft->frontend))
        return;
    for (enum scope scope = SCOPE_HOST; scope <= SCOPE_SLICE; scope++) {
        var_list vars = launch_variables_of (plan, scope, &place, draft->arena);
        const char *why = var_find (&vars, TEXT_LIT ("LIBTPU_INIT_ARGS"), &flags) ? launch_lint_undecided (flags)
                                                                                  : NULL;
        if (!why)
            continue;
        warning_at (draft->problems, draft->slice[SLICE_PROFILE].node, "the profile sets LIBTPU_INIT_ARGS; %s", why);
        return;
    }
}
