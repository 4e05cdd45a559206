/* alone: base */
#include "test.h"

static bool all_zero (const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

TEST (memory_is_zeroed_and_never_null)
{
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

TEST (growing_keeps_what_was_there)
{
    int *numbers = mem_grow (NULL, 2, sizeof *numbers);
    numbers[0] = 5;
    numbers[1] = 6;
    numbers = mem_grow (numbers, 1000, sizeof *numbers);
    assert_int_equal (numbers[0], 5);
    assert_int_equal (numbers[1], 6);
    mem_free (numbers);
}

TEST (text_is_copied)
{
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

TEST (a_size_that_wraps_round_ends_the_process)
{
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

TEST (last_words_come_first)
{
    assert_int_equal (exit_status_of (use_array_behind_last_words), 7);
}

TEST (arena_memory_is_zeroed_aligned_and_apart)
{
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

TEST (used_bytes_counts_all_blocks)
{
    for (int i = 0; i < 1000; i++)
        arena_alloc (&t->arena, 30);
    assert_int_equal (t->arena.used_bytes, 32 * 1000);
}

TEST (a_reset_arena_keeps_one_block_and_gives_zeroed_memory)
{
    memset (arena_alloc (&t->arena, 100), 0xFF, 100);
    memset (arena_alloc (&t->arena, 1000000), 0xFF, 1000000);
    memset (arena_alloc (&t->arena, 10), 0xFF, 10);
    arena_reset (&t->arena);
    struct arena_block *kept = t->arena.newest;
    assert_non_null (kept);
    assert_int_equal (t->arena.used_bytes, 0);
    assert_true (all_zero (arena_alloc (&t->arena, 1000000), 1000000)); /* fits: the largest one was kept */
    assert_ptr_equal (t->arena.newest, kept);
}

TEST (resetting_and_releasing_an_empty_arena_is_fine)
{
    struct arena arena = { 0 };
    arena_reset (&arena);
    arena_release (&arena);
    arena_release (&arena);
    assert_null (arena.newest);
}

TEST (copies_are_apart_and_nothing_is_null)
{
    char from[] = "abc";
    char *copy = arena_copy (&t->arena, from, sizeof from);
    from[0] = 'x';
    assert_string_equal (copy, "abc");
    assert_null (arena_copy (&t->arena, from, 0));
}
