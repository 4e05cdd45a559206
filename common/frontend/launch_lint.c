#include "common/frontend/launch_lint.h"

#include <strings.h>

#include "common/frontend/frontend.h"

/* `flag`: the value must hold it; NULL: any value that does not switch off. */
struct lint {
    const char *name, *flag;
    bool debug; /* fine in a profile for debugging */
    const char *why;
};

#define GONE "it is of a runtime (XRT) that PJRT replaced, and nothing reads it: leave it out"
#define DTYPES "torch_xla is giving it up: let the program choose its dtypes, or torch.autocast"
#define TRACING "it is for debugging: it slows tracing, and is part of the compile cache's key; leave it out"
#define DUMPS                                                                                                          \
    "its --xla_dump_to dumps every program, which is for debugging: it takes time and fills the disk; leave it out"

#define ANALYSIS "it is for debugging: the log tells the cause of each compilation and execution; leave it out"
#define SAVED "it is for debugging: each graph is written to a file, which takes time and fills the disk; leave it out"

/* pytorch/xla:torch_xla/runtime.py, docs/source/learn/troubleshoot.md, torch_xla/csrc/runtime/env_hash.cpp */
static const struct lint lints[] = {
    { "XRT_TPU_CONFIG", NULL, false, GONE },
    { "XRT_WORKERS", NULL, false, GONE },
    { "XLA_USE_SPMD", NULL, false,
      "torch_xla is giving it up: let the program call torch_xla.runtime.use_spmd() first" },
    { "XLA_USE_BF16", NULL, false, DTYPES },
    { "XLA_DOWNCAST_BF16", NULL, false, DTYPES },
    { "XLA_IR_DEBUG", NULL, true, TRACING },
    { "XLA_HLO_DEBUG", NULL, true, TRACING },
    { "PT_XLA_DEBUG", NULL, true, ANALYSIS },
    { "PT_XLA_DEBUG_LEVEL", NULL, true, ANALYSIS },
    { "XLA_SAVE_TENSORS_FILE", NULL, true, SAVED },
    { "XLA_SAVE_HLO_FILE", NULL, true, SAVED },
    { "XLA_FLAGS", "--xla_dump_to", true, DUMPS },
    { "LIBTPU_INIT_ARGS", "--xla_dump_to", true, DUMPS },
    { "JAX_DISABLE_JIT", NULL, true, "it is for debugging: nothing is compiled; leave it out" },
    { "JAX_DEBUG_NANS", NULL, true,
      "it is for debugging: programs that yield a NaN run again, op by op; leave it out" },
};

/* jax-ml/jax:jax/_src/config.py, bool_env; pytorch/xla:torch_xla/csrc/runtime/sys_util.cc, GetEnvBool */
static bool is_off (struct text value)
{
    static const char *const off[] = { "0", "false", "f", "no", "n", "off" };
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++)
        if (value.len == text_of (off[i]).len && strncasecmp (value.ptr, off[i], value.len) == 0)
            return true;
    return value.len == 0;
}

/* Is the flag one of the words, alone or with a value? Its last value counts; frameworks look only for the word. */
static bool has_flag (struct text words, const char *flag, struct text *value)
{
    bool found = false;
    while (words.len) {
        struct text word = text_take_until (&words, ' '), name = text_take_until (&word, '=');
        if (text_is (name, flag)) {
            *value = word;
            found = true;
        }
    }
    return found;
}

static bool is_found (const struct lint *lint, const struct text *value)
{
    struct text path = { 0 };
    if (!value || !lint->flag)
        return value ? !is_off (*value) : !lint->flag;
    return has_flag (*value, lint->flag, &path) && path.len > 0;
}

/* jax-ml/jax:jax/_src/cloud_tpu_init.py appends it with true, pytorch/xla:torch_xla/__init__.py with false. */
static bool leaves_open (const struct profile *profile, struct text name, const struct text *value)
{
    struct text decided;
    const struct frontend *frontend = frontend_find (profile->frontend);
    return value && text_is (name, "LIBTPU_INIT_ARGS") && text_is (profile->backend, "tpu") && frontend &&
           frontend_has_cache (frontend) && !has_flag (*value, "--xla_tpu_use_enhanced_launch_barrier", &decided);
}

const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value)
{
    bool debugging = text_find (profile->name, TEXT_LIT ("debug"), NULL);
    for (size_t i = 0; i < sizeof lints / sizeof lints[0]; i++)
        if (text_is (name, lints[i].name) && is_found (&lints[i], value) && !(lints[i].debug && debugging))
            return lints[i].why;
    return leaves_open (profile, name, value)
               ? "it does not decide on --xla_tpu_use_enhanced_launch_barrier: importing jax adds it with true, "
                 "importing torch_xla with false, and it is part of the compile cache's key; give it the value that "
                 "this frontend adds"
               : NULL;
}

/* pytorch/xla:docs/source/perf/recompilation.md: each new shape of an input is a new graph, which is compiled. */
const char *launch_lint_shapes (const struct profile *profile)
{
    return text_is (profile->frontend, "torch_xla") && text_is (profile->backend, "tpu")
               ? "torch_xla compiles a program again for each shape that it has not seen: give the sizes that programs "
                 "may use, such as shapes: {batch: [8, 16], padding: true}"
               : NULL;
}
