/* lint.c - a launch policy that is valid and most likely not meant: variables that nothing reads any more, debugging left
 * on, flags that frameworks add in opposite senses. Warnings, each with its reason and what to do. */
#include "common/conf/draft.h"

#include <string.h>

/* `holds`: what the value has to hold; NULL: any value counts. */
struct lint {
    const char *name, *holds;
    bool debug; /* fine in a profile for debugging */
    const char *why;
};

/* pytorch/xla:torch_xla/runtime.py, docs/source/learn/troubleshoot.md, torch_xla/csrc/runtime/env_hash.cpp */
static const struct lint lints[] = {
    { "XRT_TPU_CONFIG", NULL, false,
      "it is of a runtime (XRT) that PJRT replaced, and nothing reads it: leave it out" },
    { "XRT_WORKERS", NULL, false, "it is of a runtime (XRT) that PJRT replaced, and nothing reads it: leave it out" },
    { "XLA_USE_SPMD", NULL, false,
      "torch_xla is giving it up: let the program call torch_xla.runtime.use_spmd() first" },
    { "XLA_USE_BF16", NULL, false, "torch_xla is giving it up: let the program choose its dtypes, or torch.autocast" },
    { "XLA_DOWNCAST_BF16", NULL, false,
      "torch_xla is giving it up: let the program choose its dtypes, or torch.autocast" },
    { "XLA_IR_DEBUG", NULL, true, "it is for debugging: it slows tracing, and is part of the compile cache's key" },
    { "XLA_HLO_DEBUG", NULL, true, "it is for debugging: it slows tracing, and is part of the compile cache's key" },
    { "XLA_FLAGS", "--xla_dump_to", true,
      "it dumps every program, which is for debugging: it takes time and fills the disk" },
    { "LIBTPU_INIT_ARGS", "--xla_dump_to", true,
      "it dumps every program, which is for debugging: it takes time and fills the disk" },
    { "JAX_DISABLE_JIT", NULL, true, "it is for debugging: nothing is compiled" },
    { "JAX_DEBUG_NANS", NULL, true, "it is for debugging: programs that yield a NaN run again, op by op" },
};

/* A profile for debugging has the word in its name. */
static bool is_for_debugging (const struct draft *draft)
{
    return text_find (draft->plan.profile.name, TEXT_LIT ("debug"), NULL);
}

void draft_lint_variable (struct draft *draft, const struct yaml_node *key)
{
    for (size_t i = 0; i < sizeof lints / sizeof lints[0]; i++) {
        const struct lint *lint = &lints[i];
        bool meant = lint->debug && is_for_debugging (draft);
        bool found = text_is (key->text, lint->name) &&
                     (!lint->holds || text_find (key->value->text, text_of (lint->holds), NULL));
        if (found && !meant)
            warning_at (draft->problems, key, "the profile sets %s; %s", lint->name, lint->why);
    }
}

/* jax-ml/jax:jax/_src/cloud_tpu_init.py appends it with true, pytorch/xla:torch_xla/__init__.py with false. */
void draft_lint_flags (struct draft *draft)
{
    static const char flag[] = "--xla_tpu_use_enhanced_launch_barrier";
    const struct profile *plan = &draft->plan.profile;
    struct text flags = { 0 };
    bool traces = draft->frontend && frontend_has_cache (draft->frontend);
    if (!text_is (plan->backend, "tpu") || !traces)
        return;
    if (var_find (&plan->env, TEXT_LIT ("LIBTPU_INIT_ARGS"), &flags) && !text_find (flags, text_of (flag), NULL))
        warning_at (draft->problems, draft->slice[SLICE_PROFILE].node,
                    "LIBTPU_INIT_ARGS of the profile does not decide on %s: importing jax adds it with true, importing "
                    "torch_xla with false, and it is part of the compile cache's key; give it the value that this "
                    "frontend adds",
                    flag);
}
