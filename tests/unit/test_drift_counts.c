/* links: web */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/web/drift_counts.h"

/* A program in place of sliceup, which notes that it was started and prints the series as the file "prints" has it. */
static const char script[] = "#!/bin/sh\n"
                             "echo \"$3 $4\" >> \"$2/started\"\n"
                             "cat \"$2/prints\"\n";
static const char run[] = "00112233445566778899aabbccddeeff";

struct lab {
    char home[64], program[96];
    struct makers *makers;
    struct drift_counts *counts;
};

static void set_prints (const struct lab *lab, const char *text)
{
    char path[96];
    snprintf (path, sizeof path, "%s/prints", lab->home);
    assert_int_equal (atomic_file_write (path, text, strlen (text), 0600, NULL), 0);
}

static int make (void **state)
{
    static struct lab lab;
    snprintf (lab.home, sizeof lab.home, "/tmp/drift-counts-test-XXXXXX");
    if (!mkdtemp (lab.home))
        return -1;
    snprintf (lab.program, sizeof lab.program, "%s/program", lab.home);
    if (atomic_file_write (lab.program, script, sizeof script - 1, 0700, NULL) < 0)
        return -1;
    lab.makers = makers_open (lab.program, lab.home);
    lab.counts = drift_counts_open (lab.makers);
    *state = &lab;
    return 0;
}

static int clean (void **state)
{
    struct lab *lab = *state;
    drift_counts_close (lab->counts);
    makers_close (lab->makers);
    return folder_remove (lab->home, NULL);
}

static uint32_t count_started (const struct lab *lab)
{
    char path[96], line[64];
    uint32_t n = 0;
    snprintf (path, sizeof path, "%s/started", lab->home);
    FILE *file = fopen (path, "re");
    for (; file && fgets (line, sizeof line, file); n++)
        assert_string_equal (line, "metrics 00112233445566778899aabbccddeeff\n");
    if (file)
        fclose (file);
    return n;
}

/* Asks until it tells `wanted`. */
static void await_count (struct lab *lab, uint64_t index, bool ended, uint64_t at_ms, uint32_t wanted)
{
    uint32_t findings = UINT32_MAX;
    for (int i = 0; !drift_counts_find (lab->counts, run, index, ended, at_ms, &findings) || findings != wanted; i++) {
        assert_true (i < 2000);
        usleep (5000);
        makers_tick (lab->makers, at_ms);
        drift_counts_tick (lab->counts, at_ms);
    }
}

static void it_is_counted_anew_when_facts_came_and_not_at_each_scrape (void **state)
{
    struct lab *lab = *state;
    uint32_t findings;
    uint64_t at_ms = 1000;
    set_prints (lab, "sliceup_drift_findings{slice=\"a\"} 2\n");
    assert_false (drift_counts_find (lab->counts, run, 7, false, at_ms, &findings));
    await_count (lab, 7, false, at_ms, 2);
    assert_int_equal (count_started (lab), 1);
    for (; at_ms < 10 * DRIFT_COUNT_MS; at_ms += 15000) /* nothing came */
        await_count (lab, 7, false, at_ms, 2);
    assert_int_equal (count_started (lab), 1);
    set_prints (lab, "sliceup_drift_findings{slice=\"a\"} 3\n");
    await_count (lab, 8, false, at_ms, 3);
    assert_int_equal (count_started (lab), 2);
    for (uint64_t i = 1; i < 4; i++) /* facts come all the time */
        await_count (lab, 8 + i, false, at_ms + i * 15000, 3);
    assert_int_equal (count_started (lab), 2);
    set_prints (lab, "sliceup_drift_findings{slice=\"a\"} 4\n");
    await_count (lab, 20, true, at_ms + 46000, 4); /* its end is counted at once */
    await_count (lab, 20, true, at_ms + 10 * DRIFT_COUNT_MS, 4);
    assert_int_equal (count_started (lab), 3);
}

static void what_cannot_be_counted_is_tried_again_and_not_told (void **state)
{
    struct lab *lab = *state;
    uint32_t findings;
    set_prints (lab, "");
    for (uint64_t at_ms = 1000; count_started (lab) < 3; at_ms += 1000) {
        assert_true (at_ms < 2000 * 1000);
        assert_false (drift_counts_find (lab->counts, run, 7, true, at_ms, &findings));
        usleep (5000);
        makers_tick (lab->makers, at_ms);
        drift_counts_tick (lab->counts, at_ms);
    }
}

static bool reads (const char *metrics, uint32_t wanted)
{
    uint32_t findings = UINT32_MAX;
    return drift_counts_read (text_of (metrics), &findings) && findings == wanted;
}

static void its_series_is_found_among_others (void **state)
{
    (void) state;
    assert_true (
        reads ("# HELP a b.\nsliceup_joins_total{slice=\"a\"} 5\nsliceup_drift_findings{slice=\"a } 9\"} 12\n", 12));
    assert_false (reads ("sliceup_joins_total{slice=\"sliceup_drift_findings{\"} 5\n", 5));
    assert_false (reads ("sliceup_drift_findings{slice=\"a\"} 99999999999\n", 0));
    assert_false (reads ("sliceup_drift_findings{slice=\"a\"} 12", 12)); /* it was cut there */
    assert_false (reads ("", 0));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (it_is_counted_anew_when_facts_came_and_not_at_each_scrape, make, clean),
        cmocka_unit_test_setup_teardown (what_cannot_be_counted_is_tried_again_and_not_told, make, clean),
        cmocka_unit_test (its_series_is_found_among_others),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
