#include <assert.h>
#include <string.h>
#include <strings.h>

#include "common/frontend/frontend.h"
#include "common/model/requirements.h"

/* Placeholder for the role's directory; compared by address. */
static const char cache_dir[] = "<cache directory>";

/* The words of the canary protocol (docs/spec/canary.md), whatever the frontend calls them. Miss counters are not used:
 * jax records cache_misses on its write path only (jax-ml/jax:jax/_src/compiler.py), and torch_xla's absent row proves
 * nothing. For torch_xla requests = PersistentCacheHit + UncachedCompile, hits = PersistentCacheHit
 * (pytorch/xla:torch_xla/csrc/xla_graph_executor.cpp). */
static const char requests_counter[] = "compile_requests", hits_counter[] = "cache_hits";

/* Placeholders for the machine's values; compared by address. */
static const char alone_bounds[] = "<bounds>", alone_chips[] = "<chips>", alone_type[] = "<type>",
                  alone_topology[] = "<topology>";
/* Other variables of a pod, or metadata, about the whole slice and other slices. */
#define REST_OF_POD                                                                                                    \
    { "WRAP", "false,false,false" }, { "ALT", NULL }, { "TPU_TOPOLOGY_ALT", NULL }, { "TOPOLOGY", NULL },              \
        { "MEGASCALE_NUM_SLICES", "1" }, { "MEGASCALE_COORDINATOR_ADDRESS", NULL }, { "MEGASCALE_SLICE_ID", NULL },    \
    {                                                                                                                  \
        "MEGASCALE_PORT", NULL                                                                                         \
    }

/* The union of sets that others report to work on one host of a v4-64, a v5litepod-16, a v6e-16 and a 7x slice
 * (martin-marek/picodo-llm-optim:docs/tmux.md; weihaokong/tabfm:tpu_validate_airfoil.py; public notes on sglang-jax).
 * The bounds decide. Sets both names of each pair, because a leftover value of a pod made hosts wait. */
#define ALONE_WITH_BOTH_NAMES                                                                                          \
    { "TPU_PROCESS_BOUNDS", "1,1,1" }, { "TPU_HOST_BOUNDS", "1,1,1" }, { "HOST_BOUNDS", "1,1,1" },                     \
        { "TPU_CHIPS_PER_PROCESS_BOUNDS", alone_bounds }, { "TPU_CHIPS_PER_HOST_BOUNDS", alone_bounds },               \
        { "CHIPS_PER_HOST_BOUNDS", alone_bounds }, { "TPU_VISIBLE_CHIPS", alone_chips }, { "TPU_WORKER_ID", "0" },     \
        { "CLOUD_TPU_TASK_ID", "0" }, { "TPU_WORKER_HOSTNAMES", "localhost" },                                         \
        { "TPU_PROCESS_ADDRESSES", "localhost:8471" }, { "TPU_PROCESS_PORT", "8471" },                                 \
        { "TPU_ACCELERATOR_TYPE", alone_type }, { "TPU_TOPOLOGY", alone_topology },                                    \
        { "TPU_TOPOLOGY_WRAP", "false,false,false" }, { "TPU_SKIP_MDS_QUERY", "1" }, REST_OF_POD

static const struct frontend frontends[] = {
    {
        .name = "jax",
        /* Names and defaults: jax-ml/jax:jax/_src/config.py. */
        .cache = {
            { "JAX_ENABLE_COMPILATION_CACHE", { "false", "true", "true" } },
            { "JAX_COMPILATION_CACHE_DIR", { NULL, cache_dir, cache_dir } },
            /* The default of 1 s keeps small canaries out. At 1e9 s a reader never writes: without
             * jax.distributed.initialize every host is process 0 (jax-ml/jax:jax/_src/compiler.py, _cache_write). */
            { "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", { NULL, "1000000000", "0" } },
            /* -1 also switches off overrides that depend on the file system. */
            { "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", { NULL, "-1", "-1" } },
            /* Others bring eviction, lock and -atime files: a reader writes none (jax-ml/jax:jax/_src/lru_cache.py). */
            { "JAX_COMPILATION_CACHE_MAX_SIZE", { NULL, "-1", "-1" } },
            /* A damaged entry is otherwise one warning and a silent recompile. */
            { "JAX_RAISE_PERSISTENT_CACHE_ERRORS", { NULL, "true", "true" } },
            /* The default names a directory of its own inside the cache, outside the manifest. */
            { "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", { NULL, "none", "none" } },
        },
        /* The service, on by default, installs a SIGTERM handler that only records a flag (jax-ml/jax:jax/_src/
         * distributed.py; openxla/xla:xla/pjrt/distributed/preemption/preemption_notifier.cc). */
        .base = { { "JAX_ENABLE_PREEMPTION_SERVICE", "false" } },
        .why_base = "lets SIGTERM end the program",
        .rehearsal_pins = "jax-rehearsal",
        .modules = "jax,numpy", /* jax.devices () makes the client */
        .alone = { ALONE_WITH_BOTH_NAMES },
        .requests = requests_counter,
        .hits = hits_counter,
        .writer_is_rank_0 = true, /* jax-ml/jax:jax/_src/compiler.py, _cache_write: process_id 0 */
        /* Up to 0.5.3 a key that has the topology lacks the version of libtpu (PR #27814). No fault for us: libtpu is
         * in the bundle, whose fingerprint is in the path. */
        .broken = {
            { "jax", NULL, "0.5.1", NULL, /* jax-ml/jax d5d43fc46e: get () touched <key>-atime, size cap or none */
              "writes a file beside each cache entry that it reads, and a reader may not write",
              "use jax 0.5.1 or later, or set cache: {mode: off}" },
        },
        .ladders = "jax", .tpu_profile = "tpu-v6e", .cpu_profile = "cpu-jax", .pins = "jax",
    },
    {
        .name = "torch_xla",
        /* pytorch/xla:torch_xla/csrc/xla_graph_executor.cpp. Without a path the cache is in memory only. */
        .cache = {
            { "XLA_PERSISTENT_CACHE_PATH", { NULL, cache_dir, cache_dir } },
            { "XLA_PERSISTENT_CACHE_READ_ONLY", { NULL, "1", "0" } },
        },
        .rehearsal_pins = "torch-xla-rehearsal",
        /* Its own start of one process a chip sets only what is absent (pytorch/xla:torch_xla/_internal/pjrt.py), and takes
         * the TPU_HOST_ names; TPU_HOST_BOUNDS alone was enough for a plain process (pytorch/xla #7714). */
        .alone = { { "TPU_HOST_BOUNDS", "1,1,1" }, { "HOST_BOUNDS", "1,1,1" },
                   { "TPU_CHIPS_PER_HOST_BOUNDS", alone_bounds }, { "CHIPS_PER_HOST_BOUNDS", alone_bounds },
                   { "TPU_WORKER_ID", "0" }, { "TPU_WORKER_HOSTNAMES", "localhost" },
                   { "TPU_ACCELERATOR_TYPE", alone_type }, { "TPU_TOPOLOGY", alone_topology },
                   { "TPU_TOPOLOGY_WRAP", "false,false,false" }, { "TPU_SKIP_MDS_QUERY", "1" },
                   { "TPU_PROCESS_BOUNDS", NULL }, { "TPU_CHIPS_PER_PROCESS_BOUNDS", NULL },
                   { "TPU_VISIBLE_CHIPS", NULL }, { "CLOUD_TPU_TASK_ID", NULL }, { "TPU_PROCESS_ADDRESSES", NULL },
                   { "TPU_PROCESS_PORT", NULL }, REST_OF_POD },
        .requests = requests_counter,
        .hits = hits_counter,
        /* Present at all, each says that a program was compiled or an entry was of no use: rows of value 0 are left out
         * (torch_xla/csrc/runtime/cache.h; test/test_persistent_cache.py asserts their absence). */
        .spoilers = { "CompileTime", "PersistentCacheMiss", "PersistentCacheDeserializeFailure", "UncachedCompile" },
        .broken = {
            /* pytorch/xla #9094, #8930: the client of the XLA revisions they pin. Seen with 2.9.0 on CPU, where 2.7.0
             * reads its entries back (tests/campaign/torch_xla). */
            { "torch-xla", "2.8", "2.10", NULL,
              "writes its persistent cache but cannot read it back (UNIMPLEMENTED: Deserializing serialized executable not supported): every program is compiled again, and a writer deletes existing entries",
              "use torch_xla 2.7, or set cache: {mode: off}" },
        },
        .no_gpu = "expected cpu or tpu; for GPUs take frontend: jax", /* no program of ours for it has run on one */
        /* pytorch/xla:docs/source/perf/recompilation.md: each new shape of an input is a new graph, which is compiled. */
        .why_shapes = "torch_xla compiles a program again for each shape that it has not seen: give the sizes that "
                      "programs may use, such as shapes: {batch: [8, 16], padding: true}",
        .report = "torch_xla-metrics",
        .fewer_devices = "let the program call torch_xla.runtime.use_spmd() first: without it it uses one device",
        .ladders = "torch-xla", .tpu_profile = "tpu-v6e-torch-xla", .cpu_profile = "cpu-torch-xla", .pins = "torch-xla",
    },
    /* Programs that trace nothing: no cache, nothing to restore. A probe of theirs gives libtpu to the runtime itself. */
    { .name = "plain", .alone = { ALONE_WITH_BOTH_NAMES }, .requests = "", .hits = "", .ladders = "plain",
      .cpu_profile = "plain" },
};
enum { FRONTENDS = sizeof (frontends) / sizeof (frontends[0]) };

const struct frontend *frontend_find (struct text name)
{
    for (int i = 0; i < FRONTENDS; i++)
        if (text_is (name, frontends[i].name))
            return &frontends[i];
    return NULL;
}

uint32_t frontend_names (const char *out[], uint32_t max)
{
    for (uint32_t i = 0; i < FRONTENDS && i < max; i++)
        out[i] = frontends[i].name;
    return FRONTENDS;
}

const struct frontend *frontend_of_ladder (struct text ladder)
{
    const struct frontend *longest = NULL;
    for (int i = 0; i < FRONTENDS; i++)
        if (frontends[i].ladders && text_starts (ladder, frontends[i].ladders) &&
            (!longest || strlen (frontends[i].ladders) > strlen (longest->ladders)))
            longest = &frontends[i];
    return longest;
}

static void env_add (var_list *env, struct arena *arena, const char *name, struct text value)
{
    struct var *var = list_append (env, sizeof *var, arena);
    *var = (struct var){ .name = text_of (name), .value = value };
}

void frontend_cache_env (const struct frontend *frontend, enum cache_role role, struct text dir, struct arena *arena,
                         var_list *env)
{
    assert ((unsigned) role <= CACHE_ROLE_OWN);
    unsigned column = role == CACHE_ROLE_OWN ? CACHE_ROLE_WRITER : role;
    for (const struct cache_var *var = frontend->cache; var < frontend->cache + CACHE_VARS_MAX && var->name; var++) {
        const char *value = var->by_role[column];
        if (value)
            env_add (env, arena, var->name, value == cache_dir ? text_copy (arena, dir) : text_of (value));
    }
}

void frontend_base_env (const struct frontend *frontend, struct arena *arena, var_list *env)
{
    for (const struct base_var *var = frontend->base; var < frontend->base + BASE_VARS_MAX && var->name; var++)
        env_add (env, arena, var->name, text_of (var->value));
}

/* "0,1,2,3" */
static struct text chip_numbers (uint32_t chips, struct arena *arena)
{
    struct buf numbers = { .max = (size_t) chips * 12 + 1 };
    for (uint32_t i = 0; i < chips; i++)
        buf_printf (&numbers, "%s%u", i ? "," : "", i);
    return buf_finish (&numbers, arena);
}

static struct text alone_value (const struct frontend_alone *alone, const char *value, struct arena *arena)
{
    if (value == alone_bounds)
        return alone->bounds;
    if (value == alone_topology)
        return alone->topology;
    if (value == alone_type)
        return alone->type;
    return value == alone_chips ? chip_numbers (alone->chips, arena) : text_of (value);
}

void frontend_alone_env (const struct frontend *frontend, const struct frontend_alone *alone, struct arena *arena,
                         struct scope_env *env)
{
    struct text value;
    for (const struct base_var *var = frontend->alone; var < frontend->alone + ALONE_VARS_MAX && var->name; var++) {
        struct text name = text_of (var->name);
        if (var_find (&env->set, name, &value) || text_is_among (name, env->unset.items, env->unset.n))
            continue;
        if (var->value)
            env_add (&env->set, arena, var->name, alone_value (alone, var->value, arena));
        else
            *(struct text *) list_append (&env->unset, sizeof name, arena) = name;
    }
}

const char *frontend_why_owned (const struct frontend *frontend, struct text name)
{
    for (const struct base_var *var = frontend->base; var < frontend->base + BASE_VARS_MAX && var->name; var++)
        if (text_is (name, var->name))
            return frontend->why_base;
    for (const struct cache_var *var = frontend->cache; var < frontend->cache + CACHE_VARS_MAX && var->name; var++)
        if (text_is (name, var->name))
            return "uses the slice's cache";
    return NULL;
}

static bool sets_for (const struct cache_var *var, enum cache_role role, struct text value)
{
    const char *set = var->by_role[role];
    return set && (set == cache_dir || text_is (value, set));
}

bool frontend_sets_for_cache (struct text name, struct text value, bool cached)
{
    for (int i = 0; i < FRONTENDS; i++)
        for (const struct cache_var *var = frontends[i].cache; var < frontends[i].cache + CACHE_VARS_MAX && var->name;
             var++)
            if (text_is (name, var->name))
                return cached ? sets_for (var, CACHE_ROLE_READER, value) || sets_for (var, CACHE_ROLE_WRITER, value)
                              : sets_for (var, CACHE_ROLE_NONE, value);
    return false;
}

bool frontend_has_cache (const struct frontend *frontend)
{
    return frontend->cache[0].name != NULL;
}

/* ---- frontend cache ---- */

/* Known faults of the persistent cache of a release. */

static bool is_between (struct text version, const char *from, const char *until)
{
    if (!version.len || version.ptr[0] < '0' || version.ptr[0] > '9')
        return false;
    return (!from || package_release_compare (version, text_of (from)) >= 0) &&
           (!until || package_release_compare (version, text_of (until)) < 0);
}

const char *frontend_cache_defect (const struct frontend *frontend, struct text backend, const var_list *bundle,
                                   struct arena *arena)
{
    const struct broken_release *known = frontend->broken, *end = known + BROKEN_MAX;
    for (; known < end && known->what; known++) {
        struct text version = var_value (bundle, known->package);
        if (known->backend && !text_is (backend, known->backend))
            continue;
        if (is_between (version, known->from, known->until))
            return text_format (arena, "%s %.*s %s: %s", known->package, TEXT_ARG (version), known->what, known->next)
                .ptr;
    }
    return NULL;
}

/* ---- likely mistakes ---- */

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

/* ---- flags, as XLA parts them: openxla/xla:xla/parse_flags_from_env.cc, xla/tsl/util/command_line_flags.cc ---- */

enum { FLAG_COLUMNS = 80, FLAG_WHY_BYTES = 1024 };

/* Blanks part flags; a value that begins with a quote ends with it. */
static bool flag_next (struct text *rest, struct text *flag)
{
    const char *end = rest->ptr + rest->len;
    if (!text_next_word (rest, TEXT_LIT (" \t\r\n"), flag))
        return false;
    uint32_t name = text_span (*flag, "-_");
    if (flag->len < name + 2 || flag->ptr[name] != '=' || !strchr ("'\"", flag->ptr[name + 1]))
        return true;
    const char *quote = flag->ptr + name + 1, *at = quote + 1;
    for (; at < end && *at != *quote; at++)
        at += *quote == '"' && *at == '\\' && at + 1 < end;
    at += at < end;
    flag->len = (uint32_t) (at - flag->ptr);
    *rest = (struct text){ at, (uint32_t) (end - at) };
    return true;
}

/* libtpu knows one dash as well. Pages are set with U+00A0, U+2010 to 203F, U+2212. */
static const char *flag_form (bool xla, struct text flag)
{
    static const char *const printed[] = { "\xc2\xa0", "\xe2\x80", "\xe2\x88\x92" };
    struct text value = flag, name = text_take_until (&value, '=');
    bool quoted = value.len && strchr ("'\"", value.ptr[0]);
    uint32_t plain = text_span (name, "-_.");
    bool odd = plain < name.len && (unsigned char) name.ptr[plain] > 0x7F;
    for (size_t i = 0; i < sizeof printed / sizeof printed[0] && !quoted; i++)
        odd |= text_find (value, text_of (printed[i]), NULL);
    if (odd)
        return "has a dash, quote or blank of print, such as U+2212, not a plain one: type it anew";
    if (xla && text_starts (flag, "-") && !text_starts (flag, "--"))
        return "begins with one dash, and XLA ends the program for it: begin each flag with two";
    if (!text_starts (flag, "-"))
        return xla ? "begins with no --, so XLA passes over it and all behind it: begin each flag with two plain "
                     "dashes, without blanks around its ="
                   : "is no flag: begin each with two plain dashes, without blanks around its =";
    if (!quoted && (text_find (flag, TEXT_LIT (",--"), NULL) || text_find (flag, TEXT_LIT (";--"), NULL) ||
                    text_ends (flag, ",") || text_ends (flag, ";")))
        return "is read as one flag up to the next blank: part flags with blanks, not with a comma or semicolon";
    return plain == name.len ? NULL : "has a name that no flag has: write it as --name=value";
}

static const char *flag_home (bool xla, struct text flag)
{
    if (xla)
        return text_starts (flag, "--xla_tpu_") && !text_starts (flag, "--xla_tpu_detect_")
                   ? "is of libtpu, and XLA ends the program for it: it belongs into LIBTPU_INIT_ARGS"
                   : NULL;
    return text_starts (flag, "--xla_gpu_") || text_starts (flag, "--xla_cpu_") ||
                   text_starts (flag, "--xla_force_host_")
               ? "is of XLA for GPUs and CPUs, which reads XLA_FLAGS: move it there"
               : NULL;
}

/* NULL: all are flags. `flag` is the one that is none. */
static const char *why_no_flags (struct text name, struct text value, struct text *flag)
{
    bool xla = text_is (name, "XLA_FLAGS"), first = true;
    if (!xla && !text_is (name, "LIBTPU_INIT_ARGS"))
        return NULL;
    for (const char *why; flag_next (&value, flag); first = false) {
        struct text rest = *flag;
        if (xla && first && flag->ptr[0] != '-')
            return text_find (text_take_until (&rest, '='), TEXT_LIT ("/"), NULL)
                       ? NULL /* a file of flags */
                       : "does not begin with --, so XLA takes the value for the name of a file and ends the program: "
                         "begin each flag with two plain dashes (copied pages may have others, and quotes)";
        if ((why = flag_form (xla, *flag)) || (why = flag_home (xla, *flag)))
            return why;
    }
    return NULL;
}

const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value,
                                  struct arena *arena)
{
    struct text flag;
    const char *why = value ? why_no_flags (name, *value, &flag) : NULL;
    if (why) {
        LOCAL_BUF told = { .max = FLAG_WHY_BYTES };
        buf_escaped_after (&told, "'", flag, FLAG_COLUMNS);
        buf_printf (&told, "' of it %s", why);
        return text_copy (arena, buf_as_text (&told)).ptr;
    }
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

const char *launch_lint_shapes (const struct profile *profile)
{
    const struct frontend *frontend = frontend_find (profile->frontend);
    return frontend && text_is (profile->backend, "tpu") ? frontend->why_shapes : NULL;
}
