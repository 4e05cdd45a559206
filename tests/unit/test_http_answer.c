/* links: facts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/facts/http_answer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static enum http_reading reading (const char *bytes, bool ended, struct http_answer *out)
{
    /* A copy of just this size: reading past its end is seen by the sanitizer. */
    struct text copy = { arena_copy (&arena, bytes, strlen (bytes)), (uint32_t) strlen (bytes) };
    return http_answer_read (copy, ended, &arena, out);
}

static int release (void **state)
{
    (void) state;
    arena_release (&arena);
    arena = (struct arena){ 0 };
    return 0;
}

static void an_answer_of_known_length_is_whole_when_it_is_there (void **state)
{
    static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length:  5 \r\nMETADATA-Flavor: Google\r\n\r\nv6e-8";
    struct http_answer answer = { 0 };
    struct text flavor;
    (void) state;
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char part[sizeof whole] = { 0 };
        memcpy (part, whole, n);
        assert_int_equal (reading (part, false, &answer), HTTP_MORE);
        assert_int_equal (reading (part, true, &answer), HTTP_BAD);
        assert_int_equal (answer.status, 0);
    }
    assert_int_equal (reading (whole, false, &answer), HTTP_WHOLE);
    assert_int_equal (answer.status, 200);
    assert_true (text_is (answer.body, "v6e-8"));
    assert_true (http_field (&answer, "metadata-flavor", &flavor) && text_is (flavor, "Google"));
    assert_false (http_field (&answer, "metadata", &flavor));
}

static void chunks_are_joined (void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
    static const char chunks[] = "3\r\nv6e\r\nA;x=y\r\n-160123456\r\n0\r\n\r\n";
    struct http_answer answer = { 0 };
    char bytes[256];
    (void) state;
    snprintf (bytes, sizeof bytes, "%s%s", head, chunks);
    assert_int_equal (reading (bytes, false, &answer), HTTP_WHOLE);
    assert_true (text_is (answer.body, "v6e-160123456"));
    for (size_t n = strlen (head); n < strlen (head) + strlen (chunks) - 4; n++) {
        char part[256] = { 0 };
        memcpy (part, bytes, n);
        assert_int_equal (reading (part, false, &answer), HTTP_MORE);
    }
}

static void without_a_length_the_end_of_the_stream_ends_it (void **state)
{
    struct http_answer answer = { 0 };
    (void) state;
    assert_int_equal (reading ("HTTP/1.0 404 Not Found\r\n\r\nno", false, &answer), HTTP_MORE);
    assert_int_equal (reading ("HTTP/1.0 404 Not Found\r\n\r\nno", true, &answer), HTTP_WHOLE);
    assert_int_equal (answer.status, 404);
    assert_true (text_is (answer.body, "no"));
    assert_int_equal (reading ("HTTP/1.1 204 None\r\n\r\n", false, &answer), HTTP_WHOLE);
}

static void nonsense_is_refused (void **state)
{
    static const char *const bad[] = {
        "SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 999 X\r\n\r\n",
        "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
    };
    struct http_answer answer = { 0 };
    (void) state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reading (bad[i], false, &answer) != HTTP_BAD)
            fail_msg ("\"%s\" is not refused", bad[i]);
    assert_int_equal (answer.status, 0);
}

static void what_never_ends_is_refused (void **state)
{
    char *bytes = mem_alloc (HTTP_BYTES_MAX + 2);
    struct http_answer answer = { 0 };
    (void) state;
    memset (bytes, 'a', HTTP_BYTES_MAX + 1);
    assert_int_equal (http_answer_read ((struct text){ bytes, HTTP_HEAD_BYTES_MAX + 1 }, false, &arena, &answer),
                      HTTP_BAD);
    memcpy (bytes, "HTTP/1.1 200 OK\r\n\r\n", 19);
    assert_int_equal (http_answer_read ((struct text){ bytes, HTTP_BYTES_MAX }, false, &arena, &answer), HTTP_MORE);
    assert_int_equal (http_answer_read ((struct text){ bytes, HTTP_BYTES_MAX + 1 }, false, &arena, &answer), HTTP_BAD);
    mem_free (bytes);
}

/* A server that drips one byte after another must not make us collect memory. */
static void parts_cost_no_memory (void **state)
{
    char bytes[4096] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf00\r\n";
    struct http_answer answer = { 0 };
    (void) state;
    size_t at = strlen (bytes), before = arena.used_bytes;
    memset (bytes + at, 'x', 3000);
    for (size_t n = at; n < at + 3000; n++)
        assert_int_equal (http_answer_read ((struct text){ bytes, (uint32_t) n }, false, &arena, &answer), HTTP_MORE);
    assert_int_equal (arena.used_bytes, before);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown (an_answer_of_known_length_is_whole_when_it_is_there, release),
        cmocka_unit_test_teardown (chunks_are_joined, release),
        cmocka_unit_test_teardown (without_a_length_the_end_of_the_stream_ends_it, release),
        cmocka_unit_test_teardown (nonsense_is_refused, release),
        cmocka_unit_test_teardown (what_never_ends_is_refused, release),
        cmocka_unit_test_teardown (parts_cost_no_memory, release),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
