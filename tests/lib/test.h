/* test.h - a test program. Each TEST registers itself; main (test.c) runs them file by file, in their order. A word behind
 * the program's name runs the tests or the file whose name it matches: `unit_view 'two_*'`, `unit_view test_burst`.
 *
 *   TEST (a_host_that_is_lost_is_named)
 *   {
 *       struct text said = sentence_of (&t->arena, LOST);
 *       assert_text (said, "h3 lost: silent for 5 s");
 *   }
 */
#ifndef SLICEUP_TESTS_LIB_TEST_H
#define SLICEUP_TESTS_LIB_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/base/text.h"

/* What every test has: empty at its begin, released at its end, also when it fails. */
struct test {
    struct arena arena;
    struct err err;
    char folder[64]; /* "": none was asked for */
    struct buf bufs[4];
    uint32_t bufs_n;
    void *fixture; /* see TEST_ON */
};

/* A folder of its own below /tmp, without a slash at its end; goes with all that is in it. */
const char *test_folder (struct test *t);
/* `name` in test_folder, in the test's arena. */
const char *test_path (struct test *t, const char *name);

/* One more empty buffer of up to 64 MiB; at most four. */
struct buf *test_buf (struct test *t);

void test_add (const char *file, struct CMUnitTest test);
int test_set_up (void **state);
int test_tear_down (void **state);
/* Before the first and after the last test of the file. */
void test_group (const char *file, CMFixtureFunction set_up, CMFixtureFunction tear_down);
/* For a program that has a main of its own: its exit status. */
int test_run (int argc, char **argv);

#define TEST_REGISTERED(name, call, set_up, tear_down)                                                                 \
    __attribute__ ((constructor)) static void name##_is_registered (void)                                              \
    {                                                                                                                  \
        test_add (__FILE__, (struct CMUnitTest){ #name, call, set_up, tear_down, NULL });                              \
    }

#define TEST(name)                                                                                                     \
    static void name (struct test *t);                                                                                 \
    static void name##_is_called (void **state)                                                                        \
    {                                                                                                                  \
        name (*state);                                                                                                 \
    }                                                                                                                  \
    TEST_REGISTERED (name, name##_is_called, test_set_up, test_tear_down)                                              \
    static void name (__attribute__ ((unused)) struct test *t)

/* What the tests of a file begin with. TEST_ON (it, name) has `it`, a `type`: all zero before `open (it)`; `close (it)`
 * follows, also if the test failed. Where one of them has nothing to do: TEST_NOTHING, or TEST_ARENA for an arena that it has.
 *
 *   TEST_FIXTURE (struct bench, bench_open, bench_close)
 *   TEST_ON (bench, a_host_that_is_lost_is_named)
 *   {
 *       assert_text (bench_sentence (bench, LOST), "h3 lost: silent for 5 s");
 *   }
 */
#define TEST_FIXTURE(type, open, close)                                                                                \
    typedef type test_fixture;                                                                                         \
    __attribute__ ((unused)) static int fixture_is_opened (void **state)                                               \
    {                                                                                                                  \
        test_set_up (state);                                                                                           \
        test_fixture *it = ((struct test *) *state)->fixture = mem_alloc (sizeof (type));                              \
        open (it);                                                                                                     \
        return 0;                                                                                                      \
    }                                                                                                                  \
    __attribute__ ((unused)) static int fixture_is_closed (void **state)                                               \
    {                                                                                                                  \
        test_fixture *it = ((struct test *) *state)->fixture;                                                          \
        close (it);                                                                                                    \
        return test_tear_down (state);                                                                                 \
    }
#define TEST_NOTHING(it) ((void) (it))
#define TEST_ARENA(it) arena_release (&(it)->arena)

#define TEST_ON(it, name)                                                                                              \
    static void name (struct test *t, test_fixture *it);                                                               \
    static void name##_is_called (void **state)                                                                        \
    {                                                                                                                  \
        struct test *t = *state;                                                                                       \
        name (t, t->fixture);                                                                                          \
    }                                                                                                                  \
    TEST_REGISTERED (name, name##_is_called, fixture_is_opened, fixture_is_closed)                                     \
    static void name (__attribute__ ((unused)) struct test *t, __attribute__ ((unused)) test_fixture *it)

/* A test in a state of its file's own, which `set_up` makes and `tear_down` takes away; either may be NULL. */
#define TEST_IN(name, set_up, tear_down)                                                                               \
    static void name (void **state);                                                                                   \
    TEST_REGISTERED (name, name, set_up, tear_down)                                                                    \
    static void name (__attribute__ ((unused)) void **state)

#define TEST_GROUP(set_up, tear_down)                                                                                  \
    __attribute__ ((constructor)) static void group_is_set (void)                                                      \
    {                                                                                                                  \
        test_group (__FILE__, set_up, tear_down);                                                                      \
    }

/* Texts: struct text, struct buf *, char *. A failure prints what was found and what was wanted. */
static inline struct text test_text_of_text (struct text text)
{
    return text;
}
static inline struct text test_text_of_buf (const struct buf *buf)
{
    return buf_as_text (buf);
}
#define TEST_TEXT(it)                                                                                                  \
    _Generic ((it),                            \
        struct text: test_text_of_text,        \
        struct buf *: test_text_of_buf,        \
        const struct buf *: test_text_of_buf,  \
        default: text_of) (it)

void test_text (struct text got, struct text want, const char *file, int line);
void test_has (struct text got, struct text part, bool wanted, const char *file, int line);
#define assert_text(got, want) test_text (TEST_TEXT (got), TEST_TEXT (want), __FILE__, __LINE__)
#define assert_has(got, part) test_has (TEST_TEXT (got), TEST_TEXT (part), true, __FILE__, __LINE__)
#define assert_has_not(got, part) test_has (TEST_TEXT (got), TEST_TEXT (part), false, __FILE__, __LINE__)

#endif
