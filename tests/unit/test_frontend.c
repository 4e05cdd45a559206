/* links: frontend model base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/frontend/frontend.h"

enum { NAMES_MAX = 16 };

static const char *value_of (const var_list *env, const char *name)
{
    for (uint32_t i = 0; i < env->n; i++)
        if (text_is (env->items[i].name, name))
            return env->items[i].value.ptr;
    return NULL;
}

static void every_name_finds_its_row (void **state)
{
    const char *names[NAMES_MAX];
    uint32_t n = frontend_names (names, NAMES_MAX);
    (void) state;
    assert_in_range (n, 2, NAMES_MAX);
    for (uint32_t i = 0; i < n; i++)
        assert_string_equal (frontend_name (frontend_find (text_of (names[i]))), names[i]);
    assert_null (frontend_find (TEXT_LIT ("torch_tp")));
    assert_null (frontend_find ((struct text) { 0 }));
    names[1] = NULL;
    assert_int_equal (frontend_names (names, 1), n);
    assert_null (names[1]);
}

struct env_case { const char *frontend; enum cache_role role; const char *name, *value; };
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
};

static void roles_set_the_cache_variables (void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof env_cases / sizeof env_cases[0]; i++) {
        const struct env_case *c = &env_cases[i];
        struct arena arena = { 0 };
        var_list env = { 0 };
        frontend_cache_env (frontend_find (text_of (c->frontend)), c->role, TEXT_LIT ("/c/gen"), &arena, &env);
        const char *value = value_of (&env, c->name);
        if (c->value)
            assert_string_equal (value, c->value);
        else
            assert_null (value);
        arena_release (&arena);
    }
}

static void variables_are_appended_to_those_already_there (void **state)
{
    struct arena arena = { 0 };
    struct var first = { .name = TEXT_LIT ("A"), .value = TEXT_LIT ("1") };
    var_list env = { .items = &first, .n = 1 };
    (void) state;
    frontend_base_env (frontend_find (TEXT_LIT ("jax")), &arena, &env);
    assert_int_equal (env.n, 2);
    assert_string_equal (value_of (&env, "A"), "1");
    assert_string_equal (value_of (&env, "JAX_ENABLE_PREEMPTION_SERVICE"), "false");
    arena_release (&arena);
}

static void a_plain_program_is_left_alone (void **state)
{
    const struct frontend *plain = frontend_find (TEXT_LIT ("plain"));
    struct arena arena = { 0 };
    var_list env = { 0 };
    (void) state;
    for (int role = CACHE_ROLE_NONE; role <= CACHE_ROLE_WRITER; role++)
        frontend_cache_env (plain, (enum cache_role) role, TEXT_LIT ("/c"), &arena, &env);
    frontend_base_env (plain, &arena, &env);
    assert_int_equal (env.n, 0);
    assert_false (frontend_has_cache (plain));
    assert_string_equal (frontend_hits_counter (plain), "");
    arena_release (&arena);
}

static void what_the_roles_set_is_owned_and_is_no_policy (void **state)
{
    const char *names[NAMES_MAX];
    uint32_t n = frontend_names (names, NAMES_MAX);
    (void) state;
    for (uint32_t i = 0; i < n; i++) {
        const struct frontend *frontend = frontend_find (text_of (names[i]));
        struct arena arena = { 0 };
        var_list env = { 0 };
        frontend_cache_env (frontend, CACHE_ROLE_WRITER, TEXT_LIT ("/c"), &arena, &env);
        assert_int_equal (env.n > 0, frontend_has_cache (frontend));
        for (uint32_t k = 0; k < env.n; k++) {
            assert_true (frontend_owns_var (frontend, env.items[k].name));
            assert_false (frontend_policy_var (frontend, env.items[k].name));
        }
        arena_release (&arena);
    }
}

static void policy_is_what_is_read_before_import (void **state)
{
    const struct frontend *jax = frontend_find (TEXT_LIT ("jax"));
    (void) state;
    assert_true (frontend_policy_var (jax, TEXT_LIT ("XLA_FLAGS")));
    assert_true (frontend_policy_var (jax, TEXT_LIT ("LIBTPU_INIT_ARGS")));
    assert_true (frontend_policy_var (jax, TEXT_LIT ("JAX_PLATFORMS")));
    assert_true (frontend_policy_var (jax, TEXT_LIT ("JAX_ENABLE_PREEMPTION_SERVICE")));
    assert_false (frontend_policy_var (jax, TEXT_LIT ("PATH")));
    assert_false (frontend_policy_var (jax, TEXT_LIT ("XLA")));
    assert_true (frontend_owns_var (jax, TEXT_LIT ("JAX_ENABLE_PREEMPTION_SERVICE")));
    assert_false (frontend_owns_var (jax, TEXT_LIT ("JAX_PLATFORMS")));
}

static void a_bundle_names_frontend_and_python (void **state)
{
    const char *packages[NAMES_MAX];
    const struct frontend *jax = frontend_find (TEXT_LIT ("jax"));
    uint32_t n = frontend_bundle_packages (jax, packages, NAMES_MAX), found = 0;
    (void) state;
    assert_in_range (n, 3, NAMES_MAX);
    for (uint32_t i = 0; i < n; i++)
        found += text_is (text_of (packages[i]), "jax") || text_is (text_of (packages[i]), "jaxlib")
                 || text_is (text_of (packages[i]), "libtpu") || text_is (text_of (packages[i]), "python");
    assert_int_equal (found, 4);
    packages[1] = NULL;
    assert_int_equal (frontend_bundle_packages (jax, packages, 1), n);
    assert_null (packages[1]);
    assert_string_equal (frontend_requests_counter (jax), "compile_requests");
    assert_string_equal (frontend_hits_counter (jax), "cache_hits");
    assert_true (frontend_writer_is_rank_0 (jax));
    assert_false (frontend_writer_is_rank_0 (frontend_find (TEXT_LIT ("torch_xla"))));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_name_finds_its_row),
        cmocka_unit_test (roles_set_the_cache_variables),
        cmocka_unit_test (variables_are_appended_to_those_already_there),
        cmocka_unit_test (a_plain_program_is_left_alone),
        cmocka_unit_test (what_the_roles_set_is_owned_and_is_no_policy),
        cmocka_unit_test (policy_is_what_is_read_before_import),
        cmocka_unit_test (a_bundle_names_frontend_and_python),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
