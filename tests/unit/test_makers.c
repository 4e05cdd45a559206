/* links: web */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/web/makers.h"

/* A program in place of sliceup: it notes that it was started, and does as its third word says. */
static const char script[] = "#!/bin/sh\n"
                             "echo \"$$\" >> \"$2/started\"\n"
                             "case $3 in\n"
                             "say) echo \"said $4\"; exit 3;;\n"
                             "fail) exit 0;;\n"
                             "hang) echo begun; exec sleep 1000;;\n"
                             "esac\n";

struct lab {
    char home[64], program[96];
    struct makers *makers;
};

static int make (void **state)
{
    static struct lab lab;
    snprintf (lab.home, sizeof lab.home, "/tmp/makers-test-XXXXXX");
    if (!mkdtemp (lab.home))
        return -1;
    snprintf (lab.program, sizeof lab.program, "%s/program", lab.home);
    if (atomic_file_write (lab.program, script, sizeof script - 1, 0700, NULL) < 0)
        return -1;
    lab.makers = makers_open (lab.program, lab.home);
    *state = &lab;
    return 0;
}

static int clean (void **state)
{
    struct lab *lab = *state;
    makers_close (lab->makers);
    return folder_remove (lab->home, NULL);
}

static uint32_t started (const struct lab *lab)
{
    char path[96];
    struct buf said;
    uint32_t n = 0;
    snprintf (path, sizeof path, "%s/started", lab->home);
    buf_init (&said, 4096);
    if (file_read (path, &said, NULL) == 0)
        for (size_t i = 0; i < said.len; i++)
            n += said.ptr[i] == '\n';
    buf_release (&said);
    return n;
}

static void await_started (const struct lab *lab, uint32_t n)
{
    for (int i = 0; started (lab) < n; i++) {
        assert_true (i < 2000);
        usleep (5000);
    }
}

static pid_t newest (const struct lab *lab)
{
    char path[96], line[32];
    pid_t pid = 0;
    snprintf (path, sizeof path, "%s/started", lab->home);
    FILE *file = fopen (path, "re");
    while (file && fgets (line, sizeof line, file))
        pid = (pid_t) strtol (line, NULL, 10);
    if (file)
        fclose (file);
    return pid;
}

/* Asks until it is made, or cannot be. */
static int ask (struct lab *lab, const char *what, const char *word, bool lasting, uint64_t at_ms, char out[64])
{
    const char *const words[] = { what, word, NULL };
    uint64_t bytes = 0;
    struct err err = { 0 };
    int fd = -1, made = 0;
    for (int i = 0; made == 0 && i < 2000; i++) {
        made = makers_ask (lab->makers, words, lasting, at_ms, &fd, &bytes, &err);
        usleep (made == 0 ? 5000 : 0);
    }
    assert_true (made != 0 && (made > 0 || err.code));
    if (made > 0) {
        assert_true (bytes < 64);
        assert_int_equal (pread (fd, out, bytes, 0), bytes);
        out[bytes] = '\0';
        close (fd);
    }
    return made;
}

static void what_was_made_is_given_to_all_who_ask_the_same (void **state)
{
    struct lab *lab = *state;
    char out[64];
    for (int i = 0; i < 3; i++) {
        assert_int_equal (ask (lab, "say", "this", true, 1000, out), 1);
        assert_string_equal (out, "said this\n");
    }
    assert_int_equal (started (lab), 1);
    assert_int_equal (ask (lab, "say", "that", false, 1000, out), 1);
    assert_string_equal (out, "said that\n");
    assert_int_equal (started (lab), 2);
    /* Of an ended run it is kept; of another one made anew. */
    makers_tick (lab->makers, 1000 + 3 * MAKERS_KEPT_MS);
    assert_int_equal (ask (lab, "say", "this", true, 20000, out), 1);
    assert_int_equal (started (lab), 2);
    assert_int_equal (ask (lab, "say", "that", false, 20000, out), 1);
    assert_int_equal (started (lab), 3);
}

static void what_is_asked_for_all_the_time_gets_newer (void **state)
{
    struct lab *lab = *state;
    char out[64];
    uint64_t at_ms = 1000;
    for (uint32_t i = 0; i < 3 * MAKERS_AGE_MS / 1000; i++, at_ms += 1000) {
        makers_tick (lab->makers, at_ms);
        assert_int_equal (ask (lab, "say", "this", false, at_ms, out), 1);
    }
    assert_int_equal (started (lab), 3);
    /* The run has ended, and what it gave before is not asked for any more. */
    for (uint32_t i = 0; i < 3 * MAKERS_AGE_MS / 1000; i++, at_ms += 1000)
        assert_int_equal (ask (lab, "say", "this", true, at_ms, out), 1);
    assert_int_equal (started (lab), 4);
    /* What could not be made is tried again, also when it is asked for all the time. */
    for (uint32_t i = 0; i <= MAKERS_KEPT_MS / 1000 + 1; i++, at_ms += 1000)
        assert_int_equal (ask (lab, "fail", "x", true, at_ms, out), -1);
    assert_int_equal (started (lab), 6);
}

static void what_cannot_be_made_is_told (void **state)
{
    struct lab *lab = *state;
    char out[64];
    assert_int_equal (ask (lab, "fail", "x", true, 1000, out), -1);
    makers_tick (lab->makers, 1000 + 3 * MAKERS_KEPT_MS);
    assert_int_equal (ask (lab, "fail", "x", true, 20000, out), -1); /* tried again */
    assert_int_equal (started (lab), 2);
}

static void what_takes_too_long_is_ended_and_few_are_at_work (void **state)
{
    struct lab *lab = *state;
    const char *const hang[][3] = { { "hang", "a" }, { "hang", "b" }, { "hang", "c" } };
    uint64_t bytes;
    int fd;
    for (int i = 0; i < 3; i++)
        assert_int_equal (makers_ask (lab->makers, hang[i], true, 1000, &fd, &bytes, NULL), 0);
    await_started (lab, MAKERS_AT_ONCE);
    usleep (50 * 1000); /* a third would have begun */
    assert_int_equal (started (lab), MAKERS_AT_ONCE);
    pid_t pid = newest (lab);
    makers_tick (lab->makers, 1000 + MAKERS_LIMIT_MS - 1);
    assert_int_equal (kill (pid, 0), 0);
    makers_tick (lab->makers, 1001 + MAKERS_LIMIT_MS);
    assert_int_equal (kill (pid, 0), -1);
    /* There is room again, and closing ends what is at work. */
    assert_int_equal (makers_ask (lab->makers, hang[2], true, 70000, &fd, &bytes, NULL), 0);
    await_started (lab, MAKERS_AT_ONCE + 1);
    pid = newest (lab);
    makers_close (lab->makers);
    lab->makers = NULL;
    assert_int_equal (kill (pid, 0), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (what_was_made_is_given_to_all_who_ask_the_same, make, clean),
        cmocka_unit_test_setup_teardown (what_is_asked_for_all_the_time_gets_newer, make, clean),
        cmocka_unit_test_setup_teardown (what_cannot_be_made_is_told, make, clean),
        cmocka_unit_test_setup_teardown (what_takes_too_long_is_ended_and_few_are_at_work, make, clean),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
