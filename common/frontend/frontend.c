#include "common/frontend/frontend_row.h"

#include <assert.h>
#include <string.h>

/* Stands for the directory of the role; compared by address. */
static const char cache_dir[] = "<cache directory>";

/* The words of the canary protocol (docs/spec/canary.md), whatever the frontend calls them. Miss counters are not used:
 * jax records cache_misses on its write path only (jax-ml/jax:jax/_src/compiler.py), and torch_xla's absent row proves
 * nothing. For torch_xla requests = PersistentCacheHit + UncachedCompile, hits = PersistentCacheHit
 * (pytorch/xla:torch_xla/csrc/xla_graph_executor.cpp). */
static const char requests_counter[] = "compile_requests", hits_counter[] = "cache_hits";

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
    },
    {
        .name = "torch_xla",
        /* pytorch/xla:torch_xla/csrc/xla_graph_executor.cpp. Without a path the cache is in memory only. */
        .cache = {
            { "XLA_PERSISTENT_CACHE_PATH", { NULL, cache_dir, cache_dir } },
            { "XLA_PERSISTENT_CACHE_READ_ONLY", { NULL, "1", "0" } },
        },
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
    },
    /* Programs that trace nothing: no variables, no cache, nothing to restore. */
    { .name = "plain", .requests = "", .hits = "" },
};
enum { FRONTENDS = sizeof (frontends) / sizeof (frontends[0]) };

const struct frontend *frontend_find (struct text name)
{
    for (int i = 0; i < FRONTENDS; i++)
        if (text_is (name, frontends[i].name))
            return &frontends[i];
    return NULL;
}

const char *frontend_name (const struct frontend *frontend)
{
    return frontend->name;
}

uint32_t frontend_names (const char *out[], uint32_t max)
{
    for (uint32_t i = 0; i < FRONTENDS && i < max; i++)
        out[i] = frontends[i].name;
    return FRONTENDS;
}

static void env_add (var_list *env, struct arena *arena, const char *name, struct text value)
{
    struct var *grown = arena_array (arena, env->n + 1, sizeof *grown);
    if (env->n > 0)
        memcpy (grown, env->items, env->n * sizeof *grown);
    grown[env->n] = (struct var){ .name = text_of (name), .value = value };
    env->items = grown;
    env->n++;
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

const char *frontend_requests_counter (const struct frontend *frontend)
{
    return frontend->requests;
}

const char *frontend_hits_counter (const struct frontend *frontend)
{
    return frontend->hits;
}

uint32_t frontend_recompile_counters (const struct frontend *frontend, const char *out[], uint32_t max)
{
    uint32_t n = 0;
    for (; n < SPOILERS_MAX && frontend->spoilers[n]; n++)
        if (n < max)
            out[n] = frontend->spoilers[n];
    return n;
}

bool frontend_owns_var (const struct frontend *frontend, struct text name)
{
    for (const struct base_var *var = frontend->base; var < frontend->base + BASE_VARS_MAX && var->name; var++)
        if (text_is (name, var->name))
            return true;
    for (const struct cache_var *var = frontend->cache; var < frontend->cache + CACHE_VARS_MAX && var->name; var++)
        if (text_is (name, var->name))
            return true;
    return false;
}

bool frontend_has_cache (const struct frontend *frontend)
{
    return frontend->cache[0].name != NULL;
}

bool frontend_writer_is_rank_0 (const struct frontend *frontend)
{
    return frontend->writer_is_rank_0;
}
