/* links: base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool all_zero (const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void memory_is_zeroed_and_never_null (void **state)
{
    (void) state;
    void *nothing = mem_alloc (0), *none = mem_array (0, 8);
    unsigned char *some = mem_array (100, 7);
    assert_non_null (nothing);
    assert_non_null (none);
    assert_true (all_zero (some, 700));
    mem_free (nothing);
    mem_free (none);
    mem_free (some);
    mem_free (NULL);
}

static void growing_keeps_what_was_there (void **state)
{
    (void) state;
    int *numbers = mem_grow (NULL, 2, sizeof *numbers);
    numbers[0] = 5;
    numbers[1] = 6;
    numbers = mem_grow (numbers, 1000, sizeof *numbers);
    assert_int_equal (numbers[0], 5);
    assert_int_equal (numbers[1], 6);
    mem_free (numbers);
}

static void text_is_copied (void **state)
{
    (void) state;
    char from[] = "abc";
    char *copy = mem_text (from);
    from[0] = 'x';
    assert_string_equal (copy, "abc");
    mem_free (copy);
}

static void use_array (void)
{
    mem_free (mem_array (SIZE_MAX / 2, 3));
}

static void use_grow (void)
{
    mem_free (mem_grow (NULL, SIZE_MAX / 2, 3));
}

static void use_arena_array (void)
{
    struct arena arena = { 0 };
    arena_array (&arena, SIZE_MAX / 2, 3);
    arena_release (&arena);
}

static void use_arena_rounding (void)
{
    struct arena arena = { 0 };
    arena_alloc (&arena, SIZE_MAX - 3);
    arena_release (&arena);
}

static int exit_status_of (void (*attempt) (void))
{
    pid_t child = fork ();
    assert_true (child >= 0);
    if (child == 0) {
        int nowhere = open ("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2 (nowhere, STDERR_FILENO);
        attempt ();
        _exit (0);
    }
    int status;
    assert_int_equal (waitpid (child, &status, 0), child);
    return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void a_size_that_wraps_round_ends_the_process (void **state)
{
    (void) state;
    assert_int_equal (exit_status_of (use_array), 3);
    assert_int_equal (exit_status_of (use_grow), 3);
    assert_int_equal (exit_status_of (use_arena_array), 3);
    assert_int_equal (exit_status_of (use_arena_rounding), 3);
}

static void end_by_last_words (void)
{
    _exit (7);
}

static void use_array_behind_last_words (void)
{
    mem_set_last (end_by_last_words);
    use_array ();
}

static void last_words_come_first (void **state)
{
    (void) state;
    assert_int_equal (exit_status_of (use_array_behind_last_words), 7);
}

static void arena_memory_is_zeroed_aligned_and_apart (void **state)
{
    (void) state;
    static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, 4000, 5000, 300000, 3 };
    enum { N = sizeof sizes / sizeof sizes[0] };
    struct arena arena;
    unsigned char *taken[N];
    arena_init (&arena);
    for (int i = 0; i < N; i++) {
        taken[i] = arena_alloc (&arena, sizes[i]);
        assert_int_equal ((uintptr_t) taken[i] % 16, 0);
        assert_true (all_zero (taken[i], sizes[i]));
        memset (taken[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            assert_int_equal (taken[i][at], i + 1);
    arena_release (&arena);
    assert_null (arena.newest);
    assert_int_equal (arena.used_bytes, 0);
}

static void used_bytes_counts_all_blocks (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    for (int i = 0; i < 1000; i++)
        arena_alloc (&arena, 30);
    assert_int_equal (arena.used_bytes, 32 * 1000);
    arena_release (&arena);
}

static void a_reset_arena_keeps_one_block_and_gives_zeroed_memory (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    memset (arena_alloc (&arena, 100), 0xFF, 100);
    memset (arena_alloc (&arena, 1000000), 0xFF, 1000000);
    memset (arena_alloc (&arena, 10), 0xFF, 10);
    arena_reset (&arena);
    struct arena_block *kept = arena.newest;
    assert_non_null (kept);
    assert_int_equal (arena.used_bytes, 0);
    assert_true (all_zero (arena_alloc (&arena, 1000000), 1000000)); /* fits: the largest one was kept */
    assert_ptr_equal (arena.newest, kept);
    arena_release (&arena);
}

static void resetting_and_releasing_an_empty_arena_is_fine (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    arena_reset (&arena);
    arena_release (&arena);
    arena_release (&arena);
    assert_null (arena.newest);
}

static void copies_are_apart_and_nothing_is_null (void **state)
{
    (void) state;
    struct arena arena = { 0 };
    char from[] = "abc";
    char *copy = arena_copy (&arena, from, sizeof from);
    from[0] = 'x';
    assert_string_equal (copy, "abc");
    assert_null (arena_copy (&arena, from, 0));
    arena_release (&arena);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (memory_is_zeroed_and_never_null),
        cmocka_unit_test (growing_keeps_what_was_there),
        cmocka_unit_test (text_is_copied),
        cmocka_unit_test (a_size_that_wraps_round_ends_the_process),
        cmocka_unit_test (last_words_come_first),
        cmocka_unit_test (arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test (used_bytes_counts_all_blocks),
        cmocka_unit_test (a_reset_arena_keeps_one_block_and_gives_zeroed_memory),
        cmocka_unit_test (resetting_and_releasing_an_empty_arena_is_fine),
        cmocka_unit_test (copies_are_apart_and_nothing_is_null),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
