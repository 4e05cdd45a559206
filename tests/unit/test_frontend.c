/* links: frontend model base */
#include "common/frontend/frontend.h"
#include "common/model/requirements.h"
#include "test.h"

enum { NAMES_MAX = 16 };

static const char *value_of (const var_list *env, const char *name)
{
    for (uint32_t i = 0; i < env->n; i++)
        if (text_is (env->items[i].name, name))
            return env->items[i].value.ptr;
    return NULL;
}

TEST (every_name_finds_its_row)
{
    const char *names[NAMES_MAX];
    uint32_t n = frontend_names (names, NAMES_MAX);
    assert_in_range (n, 2, NAMES_MAX);
    for (uint32_t i = 0; i < n; i++)
        assert_string_equal (frontend_find (text_of (names[i]))->name, names[i]);
    assert_null (frontend_find (TEXT_LIT ("torch_tp")));
    assert_null (frontend_find ((struct text){ 0 }));
    names[1] = NULL;
    assert_int_equal (frontend_names (names, 1), n);
    assert_null (names[1]);
}

struct env_case {
    const char *frontend;
    enum cache_role role;
    const char *name, *value;
};
static const struct env_case env_cases[] = {
    { "jax", CACHE_ROLE_NONE, "JAX_ENABLE_COMPILATION_CACHE", "false" },
    { "jax", CACHE_ROLE_NONE, "JAX_COMPILATION_CACHE_DIR", NULL },
    { "jax", CACHE_ROLE_READER, "JAX_ENABLE_COMPILATION_CACHE", "true" },
    { "jax", CACHE_ROLE_READER, "JAX_COMPILATION_CACHE_DIR", "/c/gen" },
    { "jax", CACHE_ROLE_READER, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "1000000000" },
    { "jax", CACHE_ROLE_WRITER, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0" },
    { "jax", CACHE_ROLE_WRITER, "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1" },
    { "jax", CACHE_ROLE_WRITER, "JAX_COMPILATION_CACHE_MAX_SIZE", "-1" },
    { "jax", CACHE_ROLE_READER, "JAX_RAISE_PERSISTENT_CACHE_ERRORS", "true" },
    { "jax", CACHE_ROLE_READER, "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none" },
    { "torch_xla", CACHE_ROLE_NONE, "XLA_PERSISTENT_CACHE_PATH", NULL },
    { "torch_xla", CACHE_ROLE_READER, "XLA_PERSISTENT_CACHE_PATH", "/c/gen" },
    { "torch_xla", CACHE_ROLE_READER, "XLA_PERSISTENT_CACHE_READ_ONLY", "1" },
    { "torch_xla", CACHE_ROLE_WRITER, "XLA_PERSISTENT_CACHE_READ_ONLY", "0" },
    { "torch_xla", CACHE_ROLE_OWN, "XLA_PERSISTENT_CACHE_READ_ONLY", "0" },
    { "torch_xla", CACHE_ROLE_OWN, "XLA_PERSISTENT_CACHE_PATH", "/c/gen" },
    { "jax", CACHE_ROLE_OWN, "JAX_COMPILATION_CACHE_DIR", "/c/gen" },
    { "jax", CACHE_ROLE_OWN, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0" },
    { "jax", CACHE_ROLE_OWN, "JAX_RAISE_PERSISTENT_CACHE_ERRORS", "true" },
    { "jax", CACHE_ROLE_WRITER, "JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none" },
};

TEST (roles_set_the_cache_variables)
{
    for (size_t i = 0; i < sizeof env_cases / sizeof env_cases[0]; i++) {
        const struct env_case *c = &env_cases[i];
        struct arena arena = { 0 };
        var_list env = { 0 };
        frontend_cache_env (frontend_find (text_of (c->frontend)), c->role, TEXT_LIT ("/c/gen"), &arena, &env);
        const char *value = value_of (&env, c->name);
        if (c->value) {
            assert_string_equal (value, c->value);
            assert_true (frontend_sets_for_cache (text_of (c->name), text_of (value), c->role != CACHE_ROLE_NONE));
            assert_false (frontend_sets_for_cache (text_of (c->name), text_of (value), c->role == CACHE_ROLE_NONE));
            assert_false (frontend_sets_for_cache (TEXT_LIT ("JAX_PLATFORMS"), text_of (value), true));
        } else
            assert_null (value);
        arena_release (&arena);
    }
}

TEST (variables_are_appended_to_those_already_there)
{
    struct var first = { .name = TEXT_LIT ("A"), .value = TEXT_LIT ("1") };
    var_list env = { .items = &first, .n = 1 };
    frontend_base_env (frontend_find (TEXT_LIT ("jax")), &t->arena, &env);
    assert_int_equal (env.n, 2);
    assert_string_equal (value_of (&env, "A"), "1");
    assert_string_equal (value_of (&env, "JAX_ENABLE_PREEMPTION_SERVICE"), "false");
}

TEST (a_plain_program_is_left_alone)
{
    const struct frontend *plain = frontend_find (TEXT_LIT ("plain"));
    var_list env = { 0 };
    for (int role = CACHE_ROLE_NONE; role <= CACHE_ROLE_OWN; role++)
        frontend_cache_env (plain, (enum cache_role) role, TEXT_LIT ("/c"), &t->arena, &env);
    frontend_base_env (plain, &t->arena, &env);
    assert_int_equal (env.n, 0);
    assert_false (frontend_has_cache (plain));
    assert_string_equal (plain->hits, "");
}

TEST (what_the_roles_set_is_owned)
{
    const char *names[NAMES_MAX];
    uint32_t n = frontend_names (names, NAMES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const struct frontend *frontend = frontend_find (text_of (names[i]));
        struct arena arena = { 0 };
        var_list env = { 0 };
        frontend_cache_env (frontend, CACHE_ROLE_WRITER, TEXT_LIT ("/c"), &arena, &env);
        assert_int_equal (env.n > 0, frontend_has_cache (frontend));
        for (uint32_t k = 0; k < env.n; k++)
            assert_true (frontend_why_owned (frontend, env.items[k].name));
        arena_release (&arena);
    }
}

TEST (what_a_program_needs_of_jax_is_owned)
{
    const struct frontend *jax = frontend_find (TEXT_LIT ("jax"));
    assert_string_equal (frontend_why_owned (jax, TEXT_LIT ("JAX_ENABLE_PREEMPTION_SERVICE")),
                         "lets SIGTERM end the program");
    assert_null (frontend_why_owned (jax, TEXT_LIT ("JAX_PLATFORMS")));
}

TEST (jax_has_its_counters_and_its_writer)
{
    const struct frontend *jax = frontend_find (TEXT_LIT ("jax"));
    assert_string_equal (jax->requests, "compile_requests");
    assert_string_equal (jax->hits, "cache_hits");
    assert_true (jax->writer_is_rank_0);
    assert_false (frontend_find (TEXT_LIT ("torch_xla"))->writer_is_rank_0);
}

struct problem_case {
    const char *frontend, *package, *version, *backend, *says;
}; /* says NULL: nothing against it */
static const struct problem_case problem_cases[] = {
    { "torch_xla", "torch_xla", "2.9.0", "tpu", "torch-xla 2.9.0 writes its persistent cache but cannot read it back" },
    { "torch_xla", "torch-xla", "2.8.1+libtpu", "cpu", "use torch_xla 2.7" },
    { "torch_xla", "Torch.XLA", "2.8", "tpu", "torch-xla 2.8 " },
    { "torch_xla", "torch__xla", "2.8.0.dev20250601", "tpu", "2.8.0.dev20250601" },
    { "torch_xla", "torch_xla", "2.7.0", "tpu", NULL },
    { "torch_xla", "torch_xla", "2.10.0", "tpu", NULL },
    { "torch_xla", "torch_xla", "2.10.0rc1", "tpu", NULL },
    { "torch_xla", "torch_xla", "3.0", "tpu", NULL },
    { "torch_xla", "torch_xla", "", "tpu", NULL },
    { "torch_xla", "torch_xla", "main", "tpu", NULL },
    { "torch_xla", "torch", "2.9.0", "tpu", NULL },
    { "torch_xla", "torch_xlaz", "2.9.0", "tpu", NULL },
    { "torch_xla", "torchxla", "2.9.0", "tpu", NULL },
    { "torch_xla", "torch_xla_", "2.9.0", "tpu", NULL },
    { "torch_xla", "jax", "0.4.38", "tpu", NULL },
    { "jax", "jax", "0.5.0", "cpu", "jax 0.5.0 writes a file beside each cache entry that it reads" },
    { "jax", "JAX", "0.4.38", "tpu", "use jax 0.5.1 or later" },
    { "jax", "jax", "0.5.1", "tpu", NULL },
    { "jax", "jax", "0.10.2", "tpu", NULL },
    { "jax", "jax", "1.0", "tpu", NULL },
    { "jax", "jaxlib", "0.4.38", "tpu", NULL },
    { "jax", "torch_xla", "2.9.0", "tpu", NULL },
    { "plain", "jax", "0.4.38", "cpu", NULL },
};

TEST (releases_whose_cache_is_broken_are_told)
{
    for (size_t i = 0; i < sizeof problem_cases / sizeof problem_cases[0]; i++) {
        const struct problem_case *c = &problem_cases[i];
        struct arena arena = { 0 };
        struct var items[] = { { TEXT_LIT ("python"), TEXT_LIT ("2.9.0") },
                               { requirement_normal_name (text_of (c->package), &arena), text_of (c->version) } };
        const var_list bundle = { .items = items, .n = 2 };
        const char *said = frontend_cache_defect (frontend_find (text_of (c->frontend)), text_of (c->backend), &bundle,
                                                  &arena);
        if (!c->says != !said || (said && !text_find (text_of (said), text_of (c->says), NULL)))
            fail_msg ("%s with %s %s: %s", c->frontend, c->package, c->version, said ? said : "nothing");
        arena_release (&arena);
    }
}

TEST (a_release_may_be_broken_on_one_backend_only)
{
    static const struct frontend row = { .name = "made-up",
                                         .broken = { { "p", "1.2", NULL, "tpu", "fails", "use 1.1" } } };
    struct var item = { TEXT_LIT ("p"), TEXT_LIT ("1.10") };
    const var_list bundle = { .items = &item, .n = 1 };
    assert_string_equal (frontend_cache_defect (&row, TEXT_LIT ("tpu"), &bundle, &t->arena), "p 1.10 fails: use 1.1");
    assert_null (frontend_cache_defect (&row, TEXT_LIT ("cpu"), &bundle, &t->arena));
}

TEST (an_empty_bundle_has_no_problem)
{
    const var_list none = { 0 };
    assert_null (frontend_cache_defect (frontend_find (TEXT_LIT ("torch_xla")), TEXT_LIT ("tpu"), &none, NULL));
}

TEST (what_a_restored_run_may_not_count_is_named)
{
    const char *const *names = frontend_find (TEXT_LIT ("torch_xla"))->spoilers;
    uint32_t found = 0;
    for (uint32_t i = 0; i < SPOILERS_MAX && names[i]; i++)
        found += text_is (text_of (names[i]), "CompileTime") || text_is (text_of (names[i]), "PersistentCacheMiss") ||
                 text_is (text_of (names[i]), "PersistentCacheDeserializeFailure") ||
                 text_is (text_of (names[i]), "UncachedCompile");
    assert_int_equal (found, 4);
    assert_null (frontend_find (TEXT_LIT ("plain"))->spoilers[0]);
}
